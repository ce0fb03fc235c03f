//! A mapping as one JSON object.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Choice, MappedQuery, Mapping, Stored};
use crate::object::pretty;

/// The version of the object.
pub const SCHEMA: &str = "assay/mapping/v2";

/// The requests of a workload's queries on stored tables.
#[derive(JsonSchema, Serialize)]
#[schemars(title = "The requests of a workload's queries")]
pub struct MappingObject<'a> {
    /// The version of this object.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// The workload's name.
    workload: &'a str,
    /// The class of store: `relational`, `column`, `key-value`.
    class: &'a str,
    /// Where the physical schema comes from, in words.
    origin: &'a str,
    /// The unit of the figures: `transaction`, or `query` if it is unknown how often each is
    /// executed.
    per: &'a str,
    /// The expected cost of a transaction in gets; null if that of a query is not known.
    cost: Option<f64>,
    /// The number of requests that a transaction is expected to take.
    requests: f64,
    /// The options, the best first; none if nothing was chosen from.
    options: &'a [Choice],
    /// The stored tables.
    tables: &'a [Stored],
    /// The queries.
    queries: &'a [MappedQuery],
    /// What must be known besides, one sentence each.
    warnings: &'a [String],
}

/// The mapping as one JSON object, indented.
pub fn json(mapping: &Mapping) -> String {
    pretty(&MappingObject {
        schema: SCHEMA,
        workload: &mapping.workload,
        class: &mapping.class,
        origin: &mapping.origin,
        per: &mapping.per,
        cost: mapping.cost(),
        requests: mapping.requests(),
        options: &mapping.options,
        tables: &mapping.tables,
        queries: &mapping.queries,
        warnings: &mapping.warnings,
    })
}
