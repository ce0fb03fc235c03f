//! A mapping as one JSON object.

use serde::Serialize;

use super::{MappedQuery, Mapping, Requested, Stored};

/// The version of the object.
pub const SCHEMA: &str = "assay/mapping/v2";

#[derive(Serialize)]
struct MappingObject<'a> {
    schema: &'static str,
    workload: &'a str,
    class: &'a str,
    origin: &'a str,
    per: &'a str,
    /// In gets.
    cost: Option<f64>,
    requests: f64,
    options: Vec<OptionObject<'a>>,
    tables: Vec<TableObject<'a>>,
    queries: Vec<QueryObject<'a>>,
    warnings: &'a [String],
}

#[derive(Serialize)]
struct OptionObject<'a> {
    cost: f64,
    tables: &'a [String],
    is_shown: bool,
}

#[derive(Serialize)]
struct TableObject<'a> {
    name: &'a str,
    role: &'a str,
    key: &'a [String],
    partition: Option<usize>,
    columns: &'a [String],
}

#[derive(Serialize)]
struct QueryObject<'a> {
    name: &'a str,
    sql: &'a str,
    frequency: f64,
    rows: Option<f64>,
    cost: Option<f64>,
    requests: Vec<RequestObject<'a>>,
    sorted: &'a [String],
}

#[derive(Serialize)]
struct RequestObject<'a> {
    count: f64,
    verb: &'a str,
    table: &'a str,
    key: &'a [String],
    sifted: &'a [String],
}

/// The mapping as one JSON object, indented.
///
/// # Panics
/// Never: texts and numbers have a place in JSON.
pub fn json(mapping: &Mapping) -> String {
    let object = MappingObject {
        schema: SCHEMA,
        workload: &mapping.workload,
        class: &mapping.class,
        origin: &mapping.origin,
        per: &mapping.per,
        cost: mapping.cost(),
        requests: mapping.requests(),
        options: mapping
            .options
            .iter()
            .map(|one| OptionObject { cost: one.cost, tables: &one.tables, is_shown: one.is_shown })
            .collect(),
        tables: mapping.tables.iter().map(table).collect(),
        queries: mapping.queries.iter().map(query).collect(),
        warnings: &mapping.warnings,
    };
    let mut text = serde_json::to_string_pretty(&object).expect("texts and numbers are JSON");
    text.push('\n');
    text
}

fn table(stored: &Stored) -> TableObject<'_> {
    let Stored { name, role, key, partition, columns } = stored;
    TableObject { name, role, key, partition: *partition, columns }
}

fn query(mapped_query: &MappedQuery) -> QueryObject<'_> {
    QueryObject {
        name: &mapped_query.name,
        sql: &mapped_query.sql,
        frequency: mapped_query.frequency,
        rows: mapped_query.rows,
        cost: mapped_query.cost,
        requests: mapped_query.requests.iter().map(request).collect(),
        sorted: &mapped_query.sorted,
    }
}

fn request(requested: &Requested) -> RequestObject<'_> {
    let Requested { count, verb, table, key, sifted } = requested;
    RequestObject { count: *count, verb, table, key, sifted }
}
