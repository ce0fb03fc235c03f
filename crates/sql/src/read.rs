//! SQL as workloads write it, read into a catalogue.
//!
//! The text is split and parsed by `sqlparser`; this module takes the part of SQL that every class
//! of store can answer alike (`docs/queries.md`), checks it against the schema, and refuses
//! everything else by the name of its clause, with its place. Nothing is left to be found out
//! during a run.

mod bare;
mod condition;
mod declare;
mod error;
mod joined;
mod literal;
mod scope;
mod statement;
mod text;

#[cfg(test)]
mod tests;

pub use error::{ParseError, Place};

use assay_model::{Catalogue, Named, Query};

use text::Text;

/// The most queries of a catalogue: an operation numbers them with 16 bits.
pub const QUERIES_MAX: usize = u16::MAX as usize - 1;

/// The stack that long chains of operators need: `sqlparser` walks and drops them by recursion,
/// with large frames where it is not optimized. Only what is used of it takes memory.
const STACK_BYTES: usize = 64 << 20;

/// Reads relations and the queries on them.
///
/// A text of the schema may hold several statements, a query is one. Semicolons at the end are
/// optional.
///
/// # Errors
/// If a text is no SQL, is outside the common subset, or disagrees with the
/// schema; if two queries have one name.
pub fn catalogue(schema: &[Named], queries: &[Named]) -> Result<Catalogue, ParseError> {
    std::thread::scope(|scope| {
        let reader = std::thread::Builder::new().stack_size(STACK_BYTES);
        match reader.spawn_scoped(scope, || read_catalogue(schema, queries)) {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(_) => read_catalogue(schema, queries),
        }
    })
}

fn read_catalogue(schema: &[Named], queries: &[Named]) -> Result<Catalogue, ParseError> {
    let declared = declare::read(schema)?;
    if let Some(query) = queries.get(QUERIES_MAX) {
        let place = Place::start(format!("query {}", query.name));
        let reason = format!("there are more than {QUERIES_MAX} queries: leave some out");
        return Err(ParseError::Wrong { place, reason });
    }
    let mut read: Vec<Query> = Vec::with_capacity(queries.len());
    for query in queries {
        let text = Text::read(format!("query {}", query.name), &query.text)?;
        if read.iter().any(|earlier| earlier.name == query.name) {
            let reason = "another query has the same name: give each its own".into();
            return Err(ParseError::Wrong { place: text.start(), reason });
        }
        let (statement, parameters) = statement::read(&text, &declared)?;
        read.push(Query {
            name: query.name.clone(),
            text: query.text.trim().trim_end_matches(';').trim_end().into(),
            statement,
            parameters,
        });
    }
    Ok(Catalogue { schema: declared.schema, queries: read })
}
