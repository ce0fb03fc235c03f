//! A logical query as requests of a store that knows records under keys.

pub(crate) mod estimate;
pub(crate) mod path;
pub(crate) mod program;

use assay_model::Catalogue;

use crate::physical::view::{self, View};
use crate::physical::{FitError, Physical, Role, attribute_name};
use estimate::Estimate;
use path::Stock;
use program::{Costed, compile};

/// A physical schema with what each query does to it.
pub(crate) struct Compiled {
    /// The stored tables with their names: the schema's own, then the entries of their indexes.
    pub(crate) tables: Vec<(String, View)>,
    /// What answers each query, by its place in the catalogue.
    pub(crate) queries: Vec<Costed>,
}

impl Compiled {
    /// What `physical` means for `catalogue`.
    ///
    /// # Errors
    /// If the two do not fit together.
    pub(crate) fn new(catalogue: &Catalogue, physical: &Physical) -> Result<Compiled, FitError> {
        let schema = &catalogue.schema;
        let views = physical.views(schema)?;
        let stored = view::stored(&views);
        let estimate = Estimate::new(schema, &physical.expected_rows(schema));
        let stock = Stock { schema, stored: &stored, estimate: &estimate, class: physical.class };
        let queries: Result<Vec<Costed>, FitError> =
            catalogue.queries.iter().map(|query| compile(query, stock, physical.keys)).collect();
        let queries = queries?;
        let plain = physical.tables.iter().map(|table| table.name.clone());
        let indexed = physical.tables.iter().zip(&views).filter_map(|(table, view)| {
            let index = attribute_name(schema, view.index?);
            let column = index.rsplit('.').next().unwrap_or(&index).to_owned();
            Some(format!("{}_by_{column}", table.name))
        });
        let names: Vec<String> = plain.chain(indexed).collect();
        debug_assert!(stored.iter().skip(views.len()).all(|view| view.role == Role::Entries));
        Ok(Compiled { tables: names.into_iter().zip(stored).collect(), queries })
    }
}
