//! Queries as text with places for their arguments.

use assay_model::query::{
    Change, ColumnRef, Comparison, Delete, Direction, Filter, Insert, Join, Select, Term, Update,
};
use assay_model::{ColumnType, Datum, Relation, Schema, Statement};

use super::Dialect;
use super::literal::literal;

/// A query in the SQL of one dialect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SqlQuery {
    /// The SQL.
    pub text: String,
    /// Which argument stands at each place of the text, in order: a number from 0.
    pub arguments: Vec<u16>,
    /// The type of the column that each place is compared with or written to.
    pub kinds: Vec<ColumnType>,
    /// Whether each place is compared with its column; otherwise the column is to hold it.
    pub compares: Vec<bool>,
    /// The types of the columns of each row that comes back; empty for what changes rows.
    pub output: Vec<ColumnType>,
}

/// The type of the number of rows that are wanted.
const LIMIT: ColumnType = ColumnType::Integer { bits: 64 };

/// Writes `statement`, which is about the relations of `schema`: joins by commas, columns qualified
/// where there are several relations.
///
/// # Panics
/// If the statement is not of this schema.
pub fn query_text(dialect: Dialect, schema: &Schema, statement: &Statement) -> SqlQuery {
    let mut writer = Writer { dialect, schema, from: &[], requested: SqlQuery::default() };
    match statement {
        Statement::Select(select) => writer.select(select),
        Statement::Insert(insert) => writer.insert(insert),
        Statement::Update(update) => writer.update(update),
        Statement::Delete(delete) => writer.delete(delete),
    }
    writer.requested
}

struct Writer<'a> {
    dialect: Dialect,
    schema: &'a Schema,
    /// The relations that columns are of.
    from: &'a [u16],
    requested: SqlQuery,
}

impl<'a> Writer<'a> {
    fn select(&mut self, select: &'a Select) {
        self.from = &select.from;
        let output: Vec<String> = select.output.iter().map(|&column| self.column(column)).collect();
        self.requested.output = select.output.iter().map(|&column| self.kind(column)).collect();
        self.add(&format!("SELECT {} FROM ", output.join(", ")));
        let from: Vec<String> =
            (0..select.from.len()).map(|place| self.joined_table(place)).collect();
        self.add(&from.join(", "));
        self.conditions(&select.joins, &select.filters);
        self.order(&select.order);
        if let Some(limit) = &select.limit {
            self.add(" LIMIT ");
            self.term(limit, LIMIT);
        }
        if select.locks && self.dialect != Dialect::Sqlite {
            self.add(" FOR UPDATE");
        }
    }

    /// Relation `place` with the name that columns have it by.
    fn joined_table(&self, place: usize) -> String {
        let table = self.table(self.from[place]);
        match self.name_in_join(place) {
            name if name == table => table,
            name => format!("{table} AS {name}"),
        }
    }

    /// The name of relation `place` among those that are joined: its own, unless it is there twice.
    fn name_in_join(&self, place: usize) -> String {
        match self.from[..place].contains(&self.from[place]) {
            true => format!("r{place}"),
            false => self.table(self.from[place]),
        }
    }

    fn insert(&mut self, insert: &'a Insert) {
        self.from = std::slice::from_ref(&insert.relation);
        let of = |column| ColumnRef { relation: 0, column };
        let names: Vec<String> =
            insert.columns.iter().map(|&column| self.column(of(column))).collect();
        let table = self.table(insert.relation);
        self.add(&format!("INSERT INTO {table} ({}) VALUES (", names.join(", ")));
        for (place, (&column, term)) in insert.columns.iter().zip(&insert.terms).enumerate() {
            self.add(if place == 0 { "" } else { ", " });
            self.term(term, self.kind(of(column)));
        }
        self.add(")");
    }

    fn update(&mut self, update: &'a Update) {
        self.from = std::slice::from_ref(&update.relation);
        let table = self.table(update.relation);
        self.add(&format!("UPDATE {table} SET "));
        for (place, (column, change)) in update.changes.iter().enumerate() {
            let column = ColumnRef { relation: 0, column: *column };
            let (name, kind) = (self.column(column), self.kind(column));
            self.add(if place == 0 { "" } else { ", " });
            match change {
                Change::Set(term) => {
                    self.add(&format!("{name} = "));
                    self.term(term, kind);
                }
                Change::Add(term) => {
                    self.add(&format!("{name} = {name} + "));
                    self.operand(term, kind);
                }
                Change::Subtract(term) => {
                    self.add(&format!("{name} = {name} - "));
                    self.operand(term, kind);
                }
                // To MariaDB, `||` means OR.
                Change::Append(term) if self.dialect == Dialect::MySql => {
                    self.add(&format!("{name} = CONCAT({name}, "));
                    self.term(term, kind);
                    self.add(")");
                }
                Change::Append(term) => {
                    self.add(&format!("{name} = {name} || "));
                    self.term(term, kind);
                }
            }
        }
        self.conditions(&[], &update.filters);
    }

    fn delete(&mut self, delete: &'a Delete) {
        self.from = std::slice::from_ref(&delete.relation);
        let table = self.table(delete.relation);
        self.add(&format!("DELETE FROM {table}"));
        self.conditions(&[], &delete.filters);
    }

    fn conditions(&mut self, joins: &[Join], filters: &[Filter]) {
        let mut begins = std::iter::once(" WHERE ").chain(std::iter::repeat(" AND "));
        let mut begin = || begins.next().unwrap_or_default();
        for join in joins {
            self.add(begin());
            self.add(&format!("{} = {}", self.column(join.left), self.column(join.right)));
        }
        for filter in filters {
            self.add(begin());
            let comparison = match filter.comparison {
                Comparison::Equal => "=",
                Comparison::Less => "<",
                Comparison::LessOrEqual => "<=",
                Comparison::Greater => ">",
                Comparison::GreaterOrEqual => ">=",
            };
            self.add(&format!("{} {comparison} ", self.column(filter.column)));
            self.operand(&filter.term, self.kind(filter.column));
            if let (Term::Parameter(_), Some(compares)) =
                (&filter.term, self.requested.compares.last_mut())
            {
                *compares = true;
            }
        }
    }

    fn order(&mut self, order: &[(ColumnRef, Direction)]) {
        for (place, &(column, direction)) in order.iter().enumerate() {
            self.add(if place == 0 { " ORDER BY " } else { ", " });
            let is_nullable = self.relation(column).column(column.column).is_nullable;
            // PostgreSQL puts what has no value last by itself, and could use an index for that
            // only: where every row has a value, nothing is to be said.
            let rest = match (direction, self.dialect, is_nullable) {
                (Direction::Ascending, Dialect::Postgres, true) => " NULLS FIRST",
                (Direction::Descending, Dialect::Postgres, true) => " DESC NULLS LAST",
                (Direction::Ascending, _, _) => "",
                (Direction::Descending, _, _) => " DESC",
            };
            self.add(&format!("{}{rest}", self.column(column)));
        }
    }

    /// A term that is calculated or compared with.
    ///
    /// Decimals reach MariaDB as text, and what it calculates or compares with text is binary
    /// floating point: it is declared with as many digits as a datum can have.
    fn operand(&mut self, term: &Term, kind: ColumnType) {
        let is_cast = self.dialect == Dialect::MySql
            && matches!((term, kind), (Term::Parameter(_), ColumnType::Decimal { .. }));
        self.add(if is_cast { "CAST(" } else { "" });
        self.term(term, kind);
        self.add(if is_cast { " AS DECIMAL(38, 18))" } else { "" });
    }

    fn term(&mut self, term: &Term, kind: ColumnType) {
        match term {
            Term::Parameter(number) => {
                self.requested.arguments.push(*number);
                self.requested.kinds.push(kind);
                self.requested.compares.push(false);
                self.add(&self.dialect.place(self.requested.arguments.len()));
            }
            Term::Literal(encoded) => {
                let datum = Datum::decode(encoded).map_or(Datum::Null, |(datum, _)| datum);
                self.add(&literal(self.dialect, datum, kind));
            }
        }
    }

    fn add(&mut self, text: &str) {
        self.requested.text.push_str(text);
    }

    fn relation(&self, column: ColumnRef) -> &'a Relation {
        self.schema.relation(self.from[usize::from(column.relation)])
    }

    fn kind(&self, column: ColumnRef) -> ColumnType {
        self.relation(column).column(column.column).kind
    }

    fn table(&self, relation: u16) -> String {
        self.dialect.name(&self.schema.relation(relation).name)
    }

    fn column(&self, column: ColumnRef) -> String {
        let name = self.dialect.name(&self.relation(column).column(column.column).name);
        match self.from.len() {
            1 => name,
            _ => format!("{}.{name}", self.name_in_join(usize::from(column.relation))),
        }
    }
}
