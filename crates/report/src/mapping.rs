//! Report of a mapping: its tables, the requests of each query, the options it was chosen from.

mod json;
#[cfg(test)]
pub(crate) mod tests;

use schemars::JsonSchema;
use serde::Serialize;

use crate::table::Table;
use crate::units::three_digits;

pub(crate) use json::MappingObject;
pub use json::{SCHEMA, json};

/// A mapping with all facts of its report.
#[derive(Clone, Debug, PartialEq)]
pub struct Mapping {
    /// The workload's name.
    pub workload: String,
    /// The class of store: `relational`, `column`, `key-value`.
    pub class: String,
    /// Where the physical schema comes from, in words.
    pub origin: String,
    /// The unit of the figures: `transaction`, or `query` if it is unknown how often each is
    /// executed.
    pub per: String,
    /// The options, the best first; none if nothing was chosen from.
    pub options: Vec<Choice>,
    /// The stored tables.
    pub tables: Vec<Stored>,
    /// The queries.
    pub queries: Vec<MappedQuery>,
    /// What a reader must know besides, one sentence each.
    pub warnings: Vec<String>,
}

/// One option of the advisor.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Choice {
    /// The expected cost, in gets.
    pub cost: f64,
    /// The names of its tables.
    pub tables: Vec<String>,
    /// Whether it is the one shown.
    pub is_shown: bool,
}

/// One stored table.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Stored {
    /// Its name.
    pub name: String,
    /// What it is there for.
    pub role: String,
    /// The columns of its key; those that choose the partition come first.
    pub key: Vec<String>,
    /// How many of them choose the partition; null if there are no partitions.
    pub partition: Option<usize>,
    /// The other columns.
    pub columns: Vec<String>,
}

/// One query.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct MappedQuery {
    /// Its name.
    pub name: String,
    /// Its SQL.
    pub sql: String,
    /// How often it is executed, relative to the others.
    pub frequency: f64,
    /// How many rows it is expected to return or write; null if that is not known.
    pub rows: Option<f64>,
    /// What it is expected to cost once, in gets; null if that is not known.
    pub cost: Option<f64>,
    /// Its requests.
    pub requests: Vec<Requested>,
    /// What the rows are sorted by on our side.
    pub sorted: Vec<String>,
}

/// One kind of request.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Requested {
    /// How often it is expected for one query.
    pub count: f64,
    /// `get`, `scan`, `insert`, `update`, `delete`; or `statement` where the store takes SQL.
    pub verb: String,
    /// The table.
    pub table: String,
    /// What its key is.
    pub key: Vec<String>,
    /// What is checked of the rows that come back.
    pub sifted: Vec<String>,
}

impl Mapping {
    /// The expected cost of one transaction, in gets; `None` if that of a query is not known.
    pub fn cost(&self) -> Option<f64> {
        let costs = self.queries.iter().map(|one| one.cost.map(|cost| cost * one.frequency));
        costs.sum()
    }

    /// The requests that one transaction is expected to take.
    pub fn requests(&self) -> f64 {
        self.queries.iter().map(|one| one.requests() * one.frequency).sum()
    }

    fn opening(&self) -> String {
        let (tables, queries) = (self.tables.len(), self.queries.len());
        let requests = figure(self.requests());
        let cost =
            self.cost().map_or(String::new(), |cost| format!(", cost {} gets", figure(cost)));
        format!(
            "{} on a {} store: {tables} {}, {queries} {}\n\
             {}: {requests} requests{cost} for each {}\n",
            self.workload,
            self.class,
            plural("table", tables as f64),
            if queries == 1 { "query" } else { "queries" },
            self.origin,
            self.per,
        )
    }

    fn options_table(&self) -> Table {
        Table::of(self.options.iter().enumerate())
            .right("option", |(number, _)| number + 1)
            .right("cost", |(_, choice)| figure(choice.cost))
            .right("tables", |(_, choice)| choice.tables.len())
            .left("", |(_, choice)| if choice.is_shown { "shown here" } else { "" })
            .build()
    }

    fn tables_table(&self) -> Table {
        Table::of(&self.tables)
            .left("table", |stored| &stored.name)
            .left("role", |stored| &stored.role)
            .left("key", |stored| stored.key_text())
            .right("columns", |stored| stored.columns.len())
            .build()
    }
}

impl Stored {
    /// The key; the columns that choose the partition within brackets of their own.
    fn key_text(&self) -> String {
        match self.partition {
            Some(count) if count > 0 && count < self.key.len() => {
                let (chosen, rest) = self.key.split_at(count);
                format!("({}), {}", chosen.join(", "), rest.join(", "))
            }
            _ => self.key.join(", "),
        }
    }
}

impl MappedQuery {
    fn requests(&self) -> f64 {
        self.requests.iter().map(|request| request.count).sum()
    }

    /// Frequency, cost, rows in words.
    fn summary(&self, per: &str) -> String {
        let mut text = format!("{} for each {per}", figure(self.frequency));
        let requests = self.requests();
        text += &format!("; {} {}", figure(requests), plural("request", requests));
        if let (Some(cost), Some(rows)) = (self.cost, self.rows) {
            let rows = format!("{} {}", figure(rows), plural("row", rows));
            text += &format!(", cost {}, {rows}", figure(cost));
        }
        text
    }

    fn lines(&self) -> Vec<String> {
        let widest = |of: fn(&Requested) -> String| {
            self.requests.iter().map(|one| of(one).chars().count()).max().unwrap_or(0)
        };
        let count = widest(|one| figure(one.count));
        let verb = widest(|one| one.verb.clone());
        let line = |request: &Requested| {
            let number = figure(request.count);
            format!("{number:>count$} {:verb$} {}", request.verb, request.target())
        };
        let mut lines: Vec<String> = self.requests.iter().map(line).collect();
        if !self.sorted.is_empty() {
            lines.push(format!("{:count$} sort by {}", "", self.sorted.join(", ")));
        }
        lines
    }
}

impl Requested {
    fn target(&self) -> String {
        let mut text = self.table.clone();
        if !self.key.is_empty() {
            text += &format!(" ({})", self.key.join(", "));
        }
        if !self.sifted.is_empty() {
            text += &format!(", sift {}", self.sifted.join(", "));
        }
        text
    }
}

/// The mapping for a person at a terminal.
pub fn text(mapping: &Mapping) -> String {
    let mut out = mapping.opening();
    for notice in &mapping.warnings {
        out.push_str(&format!("{notice}\n"));
    }
    if !mapping.options.is_empty() {
        out.push_str("\nOptions\n");
        out.push_str(&lines(&mapping.options_table()));
    }
    out.push_str("\nTables\n");
    out.push_str(&lines(&mapping.tables_table()));
    out.push_str("\nQueries\n");
    for query in &mapping.queries {
        out.push_str(&format!("  {}: {}\n", query.name, query.summary(&mapping.per)));
        out.push_str(&format!("    {}\n", query.sql));
        for line in query.lines() {
            out.push_str(&format!("      {line}\n"));
        }
    }
    out
}

fn lines(table: &Table) -> String {
    table.lines().iter().map(|line| format!("  {line}\n")).collect()
}

/// The mapping as Markdown.
pub fn markdown(mapping: &Mapping) -> String {
    let mut out = format!("# {} on a {} store\n\n", mapping.workload, mapping.class);
    let opening = mapping.opening();
    out.push_str(opening.lines().last().unwrap_or_default());
    out.push('\n');
    for notice in &mapping.warnings {
        out.push_str(&format!("\n{notice}\n"));
    }
    if !mapping.options.is_empty() {
        out.push_str(&format!("\n## Options\n\n{}", mapping.options_table().markdown()));
    }
    out.push_str(&format!("\n## Tables\n\n{}", mapping.tables_table().markdown()));
    out.push_str("\n## Queries\n");
    for query in &mapping.queries {
        out.push_str(&format!("\n### {}\n\n", query.name));
        out.push_str(&format!("{}.\n\n", query.summary(&mapping.per)));
        out.push_str(&format!("```sql\n{}\n```\n\n", query.sql));
        for request in &query.requests {
            let (verb, target) = (&request.verb, request.target());
            out.push_str(&format!("* {} × {verb} `{target}`\n", figure(request.count)));
        }
        if !query.sorted.is_empty() {
            out.push_str(&format!("* then sort by `{}`\n", query.sorted.join(", ")));
        }
    }
    out
}

/// A number that is expected, not measured: whole if it is, else with three digits.
fn figure(number: f64) -> String {
    match number.fract() == 0.0 && number.abs() < 1e15 {
        true => format!("{number:.0}"),
        false => three_digits(number),
    }
}

fn plural(word: &str, count: f64) -> String {
    if count == 1.0 { word.into() } else { format!("{word}s") }
}
