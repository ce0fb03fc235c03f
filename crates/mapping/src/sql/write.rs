//! A statement written back as SQL, each in one form only.

use std::fmt::Write;

use assay_model::query::{
    Change, ColumnRef, Comparison, Delete, Direction, Filter, Insert, Join, Select, Term, Update,
};
use assay_model::{Datum, Schema, Statement};
use sqlparser::ast::{self, Expr, Query, SelectItem, SetExpr};
use sqlparser::keywords::{
    ALL_KEYWORDS, ALL_KEYWORDS_INDEX, RESERVED_FOR_COLUMN_ALIAS, RESERVED_FOR_TABLE_ALIAS,
};
use sqlparser::parser::Parser;

use super::text::DIALECT;

/// The statement as SQL, in one form for all that mean the same: joins by commas, columns
/// qualified where there are two relations, `?` for arguments.
///
/// Two statements that differ only in the numbers of their arguments are written alike.
///
/// # Panics
/// If the statement is not of this schema.
pub fn canonical(schema: &Schema, statement: &Statement) -> String {
    match statement {
        Statement::Select(select) => write_select(schema, select),
        Statement::Insert(insert) => write_insert(schema, insert),
        Statement::Update(update) => write_update(schema, update),
        Statement::Delete(Delete { relation, filters }) => {
            let names = Names { schema, from: &[*relation] };
            let name = quoted(&schema.relation(*relation).name);
            format!("DELETE FROM {name}{}", names.conditions(&[], filters))
        }
    }
}

struct Names<'a> {
    schema: &'a Schema,
    from: &'a [u16],
}

impl Names<'_> {
    fn column(&self, column: ColumnRef) -> String {
        let relation = self.schema.relation(self.from[usize::from(column.relation)]);
        let name = quoted(&relation.column(column.column).name);
        match self.from.len() {
            1 => name,
            _ => format!("{}.{name}", quoted(&relation.name)),
        }
    }

    fn conditions(&self, joins: &[Join], filters: &[Filter]) -> String {
        let joins = joins
            .iter()
            .map(|join| format!("{} = {}", self.column(join.left), self.column(join.right)));
        let filters = filters.iter().map(|filter| {
            let sign = sign(filter.comparison);
            format!("{} {sign} {}", self.column(filter.column), term(&filter.term))
        });
        let all: Vec<String> = joins.chain(filters).collect();
        if all.is_empty() { String::new() } else { format!(" WHERE {}", all.join(" AND ")) }
    }
}

fn write_select(schema: &Schema, select: &Select) -> String {
    let names = Names { schema, from: &select.from };
    let list = |columns: &[ColumnRef]| {
        columns.iter().map(|column| names.column(*column)).collect::<Vec<_>>().join(", ")
    };
    let from: Vec<String> =
        select.from.iter().map(|number| quoted(&schema.relation(*number).name)).collect();
    let mut sql = format!("SELECT {} FROM {}", list(&select.output), from.join(", "));
    sql.push_str(&names.conditions(&select.joins, &select.filters));
    for (place, (column, direction)) in select.order.iter().enumerate() {
        sql.push_str(if place == 0 { " ORDER BY " } else { ", " });
        sql.push_str(&names.column(*column));
        if *direction == Direction::Descending {
            sql.push_str(" DESC");
        }
    }
    if let Some(limit) = &select.limit {
        write!(sql, " LIMIT {}", term(limit)).expect("a String takes everything");
    }
    if select.locks {
        sql.push_str(" FOR UPDATE");
    }
    sql
}

fn write_insert(schema: &Schema, insert: &Insert) -> String {
    let relation = schema.relation(insert.relation);
    let columns: Vec<String> =
        insert.columns.iter().map(|column| quoted(&relation.column(*column).name)).collect();
    let terms: Vec<String> = insert.terms.iter().map(term).collect();
    format!(
        "INSERT INTO {} ({}) VALUES ({})",
        quoted(&relation.name),
        columns.join(", "),
        terms.join(", ")
    )
}

fn write_update(schema: &Schema, update: &Update) -> String {
    let relation = schema.relation(update.relation);
    let changes: Vec<String> = update
        .changes
        .iter()
        .map(|(column, change)| {
            let name = quoted(&relation.column(*column).name);
            match change {
                Change::Set(value) => format!("{name} = {}", term(value)),
                Change::Add(value) => format!("{name} = {name} + {}", term(value)),
                Change::Subtract(value) => format!("{name} = {name} - {}", term(value)),
                Change::Append(value) => format!("{name} = {name} || {}", term(value)),
            }
        })
        .collect();
    let names = Names { schema, from: &[update.relation] };
    let conditions = names.conditions(&[], &update.filters);
    format!("UPDATE {} SET {}{conditions}", quoted(&relation.name), changes.join(", "))
}

fn term(term: &Term) -> String {
    match term {
        Term::Parameter(_) => "?".into(),
        Term::Literal(bytes) => match Datum::decode(bytes) {
            Some((datum, _)) => datum.to_string(),
            None => "NULL".into(),
        },
    }
}

fn sign(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "=",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
    }
}

/// The name as SQL takes it: within quotes unless it is read as a name without them.
fn quoted(name: &str) -> String {
    let sql = format!("SELECT {name} FROM {name} WHERE {name} = 1 ORDER BY {name}");
    let is_name = |query: &Query| match &*query.body {
        SetExpr::Select(select) => matches!(
            select.projection.as_slice(),
            [SelectItem::UnnamedExpr(Expr::Identifier(ident))]
                if ident.value == name && ident.quote_style.is_none()
        ),
        _ => false,
    };
    match Parser::parse_sql(&DIALECT, &sql).as_deref() {
        Ok([ast::Statement::Query(query)]) if is_name(query) && !is_reserved(name) => name.into(),
        _ => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

/// Whether a name is a word that opens a clause; most dialects take it as a name in quotes only.
fn is_reserved(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let Ok(place) = ALL_KEYWORDS.binary_search(&upper.as_str()) else { return false };
    let keyword = ALL_KEYWORDS_INDEX[place];
    [RESERVED_FOR_TABLE_ALIAS, RESERVED_FOR_COLUMN_ALIAS].iter().any(|all| all.contains(&keyword))
}
