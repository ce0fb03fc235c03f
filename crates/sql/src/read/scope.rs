//! The names that a statement may use: its relations with their columns.

use assay_model::query::ColumnRef;
use assay_model::{ColumnType, Relation, Schema};
use sqlparser::ast::{Expr, Ident, TableAlias, TableFactor, TableWithJoins};
use sqlparser::tokenizer::Location;

use super::declare::{find_column, find_relation};
use super::error::ParseError;
use super::text::{Text, meant};

/// The most relations of one query.
const RELATIONS_MAX: usize = 8;

/// The relations of one statement.
pub(super) struct Scope<'a> {
    schema: &'a Schema,
    members: Vec<Member>,
}

struct Member {
    relation: u16,
    /// What the statement calls it.
    name: String,
}

impl<'a> Scope<'a> {
    pub(super) fn new(schema: &'a Schema) -> Scope<'a> {
        Scope { schema, members: Vec::new() }
    }

    /// Adds the relation that `factor` names.
    pub(super) fn add(&mut self, text: &Text, factor: &TableFactor) -> Result<(), ParseError> {
        let TableFactor::Table { name, alias, .. } = factor else {
            return Err(self.no_relation(text));
        };
        let name = text.plain(name)?;
        let called = match alias {
            Some(TableAlias { name, columns, .. }) if columns.is_empty() => name,
            Some(_) => return Err(self.no_relation(text)),
            None => name,
        };
        if !is_plain(factor) {
            return Err(text.clause("relation's name", &["ON", "FROM", "ORDER", "LIMIT"]));
        }
        let location = name.span.start;
        let relation = find_relation(text, self.schema, name)?;
        if self.members.iter().any(|member| member.relation == relation) {
            let advice = "make it two queries";
            return Err(text.outside(location, "a relation joined with itself", advice));
        }
        if self.members.iter().any(|member| member.name.eq_ignore_ascii_case(&called.value)) {
            let reason = format!("two relations are called {}: rename one", called.value);
            return Err(text.wrong(called.span.start, reason));
        }
        if self.members.len() == RELATIONS_MAX {
            let reason = format!("more than {RELATIONS_MAX} relations are joined");
            return Err(text.wrong(location, reason));
        }
        self.members.push(Member { relation, name: called.value.clone() });
        Ok(())
    }

    /// A scope with the one relation of a statement that changes it.
    pub(super) fn single(
        schema: &'a Schema,
        text: &Text,
        table: &TableWithJoins,
    ) -> Result<Scope<'a>, ParseError> {
        let mut scope = Scope::new(schema);
        scope.add(text, &table.relation)?;
        if table.joins.is_empty() {
            return Ok(scope);
        }
        Err(text.outside(Location::empty(), "changing a join", "make it a query for each relation"))
    }

    fn no_relation(&self, text: &Text) -> ParseError {
        ParseError::Outside {
            place: text.start(),
            clause: "a FROM that is no list of relations".into(),
            advice: "name relations only".into(),
        }
    }

    /// The relations' numbers in the order of the statement.
    pub(super) fn relations(&self) -> Vec<u16> {
        self.members.iter().map(|member| member.relation).collect()
    }

    /// The relation at a place of the statement.
    pub(super) fn relation(&self, place: u16) -> &'a Relation {
        self.schema.relation(self.members[usize::from(place)].relation)
    }

    /// What a column holds.
    pub(super) fn kind(&self, column: ColumnRef) -> ColumnType {
        self.relation(column.relation).column(column.column).kind
    }

    /// The column as messages call it.
    pub(super) fn name(&self, column: ColumnRef) -> String {
        let relation = self.relation(column.relation);
        format!("{}.{}", relation.name, relation.column(column.column).name)
    }

    /// Every column of every relation, in order.
    pub(super) fn all(&self) -> Vec<ColumnRef> {
        (0..self.members.len() as u16).flat_map(|place| self.all_of(place)).collect()
    }

    /// Every column of one relation, in order.
    pub(super) fn all_of(&self, place: u16) -> Vec<ColumnRef> {
        let count = self.relation(place).columns.len() as u16;
        (0..count).map(|column| ColumnRef { relation: place, column }).collect()
    }

    /// The place of the relation that the statement calls `name`.
    pub(super) fn member(&self, text: &Text, name: &Ident) -> Result<u16, ParseError> {
        let is_called = |member: &Member| member.name.eq_ignore_ascii_case(&name.value);
        match self.members.iter().position(is_called) {
            Some(place) => Ok(place as u16),
            None => {
                let known = self.members.iter().map(|member| member.name.as_str());
                let meant = meant(&name.value, known);
                let reason = format!("no relation is called {} here; {meant}", name.value);
                Err(text.wrong(name.span.start, reason))
            }
        }
    }

    /// The column that `expr` names; `None` if it is no name.
    pub(super) fn column(&self, text: &Text, expr: &Expr) -> Result<Option<ColumnRef>, ParseError> {
        match expr {
            Expr::Identifier(name) => self.unqualified(text, name).map(Some),
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [relation, name] => {
                    let relation = self.member(text, relation)?;
                    let column = find_column(text, self.relation(relation), name)?;
                    Ok(Some(ColumnRef { relation, column }))
                }
                _ => {
                    let location = parts.first().map_or(Location::empty(), |p| p.span.start);
                    let advice = "write relation.column";
                    Err(text.outside(location, format!("the name {expr}"), advice))
                }
            },
            _ => Ok(None),
        }
    }

    pub(super) fn unqualified(&self, text: &Text, name: &Ident) -> Result<ColumnRef, ParseError> {
        let mut found = (0..self.members.len() as u16).filter_map(|relation| {
            let column = self.relation(relation).find(&name.value)?;
            Some(ColumnRef { relation, column })
        });
        let location = name.span.start;
        match (found.next(), found.next()) {
            (Some(column), None) => Ok(column),
            (Some(one), Some(other)) => {
                let reason = format!(
                    "{} may be {} or {}: write which",
                    name.value,
                    self.name(one),
                    self.name(other)
                );
                Err(text.wrong(location, reason))
            }
            (None, _) if self.members.len() == 1 => {
                Err(find_column(text, self.relation(0), name).expect_err("it was not found"))
            }
            (None, _) => {
                let known = (0..self.members.len() as u16).flat_map(|place| {
                    self.relation(place).columns.iter().map(|column| column.name.as_str())
                });
                let meant = meant(&name.value, known);
                let reason = format!("no relation here has a column {}; {meant}", name.value);
                Err(text.wrong(location, reason))
            }
        }
    }
}

/// Whether a relation is named without samples, hints, versions and the like.
fn is_plain(factor: &TableFactor) -> bool {
    let TableFactor::Table {
        name: _,
        alias: _,
        args: None,
        with_hints,
        version: None,
        with_ordinality: false,
        partitions,
        json_path: None,
        sample: None,
        index_hints,
    } = factor
    else {
        return false;
    };
    with_hints.is_empty() && partitions.is_empty() && index_hints.is_empty()
}
