//! A mapping as one JSON object.

use super::{Choice, MappedQuery, Mapping, Stored};
use crate::object::{objects, pretty};

/// The version of the object.
pub const SCHEMA: &str = "assay/mapping/v2";

/// The mapping as one JSON object, indented.
pub fn json(mapping: &Mapping) -> String {
    pretty(&MappingObject::new(mapping))
}

objects! {
/// The requests of a workload's queries on stored tables.
#[schemars(title = "The requests of a workload's queries")]
pub struct MappingObject<'a>(mapping: &'a Mapping) {
    /// The version of this object.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str = SCHEMA,
    /// The workload's name.
    workload: &'a str = &mapping.workload,
    /// The class of store: `relational`, `column`, `key-value`.
    class: &'a str = &mapping.class,
    /// Where the physical schema comes from, in words.
    origin: &'a str = &mapping.origin,
    /// The unit of the figures: `transaction`, or `query` if it is unknown how often each is
    /// executed.
    per: &'a str = &mapping.per,
    /// The expected cost of a transaction in gets; null if that of a query is not known.
    cost: Option<f64> = mapping.cost(),
    /// The number of requests that a transaction is expected to take.
    requests: f64 = mapping.requests(),
    /// The options, the best first; none if nothing was chosen from.
    options: &'a [Choice] = &mapping.options,
    /// The stored tables.
    tables: &'a [Stored] = &mapping.tables,
    /// The queries.
    queries: &'a [MappedQuery] = &mapping.queries,
    /// What must be known besides, one sentence each.
    warnings: &'a [String] = &mapping.warnings,
}
}
