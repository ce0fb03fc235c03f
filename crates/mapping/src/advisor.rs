//! Chooses the tables in which a store without queries keeps a logical schema.
//!
//! After Bermbach, Müller, Eberhardt, Tai: "Informed schema design for column store-based database
//! services" (SOCA 2015), as far as BenchFoundry's code shows it, with what that leaves open
//! filled in (`docs/mapping.md`):
//!
//! 1. every query has *variants*, sets of tables that answer it;
//! 2. an *option* takes one variant for each query; options are built query by query, the
//!    [`BEAM`] cheapest are kept;
//! 3. tables of an option that have the same key are merged, pair by pair, each state on the way
//!    being an option of its own;
//! 4. options are ranked by what all queries cost together, writes to every copy included.
//!
//! Every relation that is used has a base table, so writes by primary key, checks of keys and the
//! rows of joins are always within reach.

mod merge;
mod name;
mod option;
mod variant;

use std::collections::BTreeMap;

use assay_model::Catalogue;

use crate::key_value::estimate::Estimate;
use crate::physical::{Class, FitError, Keys, Physical, PhysicalTable};
use option::{Choice, Ranking};

/// How many options are kept while queries are gone through: TPC-C's best is among the first few,
/// and ranking an option takes less than a millisecond.
pub const BEAM: usize = 16;

/// What is expected of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// How often each query is executed, by its place in the catalogue, in any unit. Queries beyond
    /// the end are never executed.
    pub frequencies: &'a [f64],
    /// How many rows each relation has, by its number; 0 or nothing if unknown.
    pub rows: &'a [f64],
    /// Whether an INSERT checks its key.
    pub keys: Keys,
    /// Whether each relation is to be one table, without others beside them.
    pub keeps_relations: bool,
}

/// What the advisor recommends, and what it has left aside.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// The cheapest physical schema.
    pub best: Physical,
    /// What one unit of the frequencies costs with it, in gets.
    pub cost: f64,
    /// The next best, the cheapest first, at most [`OTHERS`].
    pub others: Vec<(f64, Physical)>,
    /// What the base tables alone would cost.
    pub plain_cost: f64,
    /// How many options were ranked.
    pub options: usize,
    /// Whether options were left out because there were more than [`BEAM`] at a time.
    pub is_cut: bool,
}

/// How many options besides the best are handed out.
pub const OTHERS: usize = 4;

/// The physical schema that answers the queries of `catalogue` at the least expected cost.
///
/// # Errors
/// If a query cannot be answered from records at all.
pub fn advise(
    catalogue: &Catalogue,
    class: Class,
    expected: &Expected<'_>,
) -> Result<Advice, FitError> {
    let estimate = Estimate::new(&catalogue.schema, expected.rows);
    let mut ranking = Ranking::new(catalogue, class, expected, &estimate);
    let plain = Choice::default();
    let plain_cost = ranking.cost(&plain)?;
    let mut is_cut = false;
    let mut beam = vec![(plain_cost, plain)];
    let queries = match expected.keeps_relations {
        true => Vec::new(),
        false => ranking.queries_by_weight(&beam[0].1)?,
    };
    for query in queries {
        let variants = variant::variants(&catalogue.schema, &catalogue.queries[query].statement);
        let mut next = beam.clone();
        for (_, choice) in &beam {
            for variant in &variants {
                let Some(choice) = ranking.extended(choice, variant) else { continue };
                if next.iter().all(|(_, known)| *known != choice) {
                    next.push((ranking.cost(&choice)?, choice));
                }
            }
        }
        next.sort_by(|one, other| one.0.total_cmp(&other.0).then_with(|| one.1.cmp(&other.1)));
        is_cut |= next.len() > BEAM;
        next.truncate(BEAM);
        beam = next;
    }
    let mut options = beam.clone();
    for (_, choice) in beam.iter().filter(|_| !expected.keeps_relations) {
        for merged in ranking.merged(choice) {
            if options.iter().all(|(_, known)| *known != merged) {
                options.push((ranking.cost(&merged)?, merged));
            }
        }
    }
    let count = ranking.count();
    options.sort_by(|one, other| one.0.total_cmp(&other.0).then_with(|| one.1.cmp(&other.1)));
    let mut named: Vec<(f64, Physical)> = Vec::new();
    for (cost, choice) in options {
        let choice = ranking.without_unused(&choice)?;
        let physical = finished(catalogue, class, expected, ranking.views(&choice))?;
        if named.len() <= OTHERS && named.iter().all(|(_, known)| *known != physical) {
            named.push((cost, physical));
        }
    }
    let (cost, best) = named.remove(0);
    Ok(Advice { best, cost, others: named, plain_cost, options: count, is_cut })
}

/// The tables with names, and with what they serve.
fn finished(
    catalogue: &Catalogue,
    class: Class,
    expected: &Expected<'_>,
    views: Vec<crate::physical::view::View>,
) -> Result<Physical, FitError> {
    let schema = &catalogue.schema;
    let mut tables: Vec<PhysicalTable> = Vec::new();
    for view in &views {
        let target = name::name(schema, view);
        let is_taken = |name: &str| tables.iter().any(|table| table.name == name);
        let mut names =
            std::iter::once(target.clone()).chain((2..).map(|n| format!("{target}_{n}")));
        let name = names.find(|name| !is_taken(name)).unwrap_or(target);
        tables.push(PhysicalTable::named(schema, &name, view, view.key.len() as u16));
    }
    let known = schema.relations.iter().zip(expected.rows).filter(|(_, rows)| **rows > 0.0);
    let rows: BTreeMap<String, f64> =
        known.map(|(relation, rows)| (relation.name.clone(), *rows)).collect();
    let mut physical = Physical { class, keys: expected.keys, rows, tables };
    name::tell_uses(catalogue, &mut physical)?;
    Ok(physical)
}
