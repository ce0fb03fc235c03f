//! A logical query: an SQL statement, checked against a schema, as plain numbers.

use crate::operation::Kind;
use crate::schema::{ColumnType, Schema};

/// A piece of SQL with a name: a table of the schema, or a query, before anybody has parsed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// A name for reports and messages, unique among its like.
    pub name: String,
    /// The SQL as its author wrote it.
    pub text: String,
}

/// The schema with every query of a workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalogue {
    /// What the queries are about.
    pub schema: Schema,
    /// The queries. An operation's `statement` is the place here plus one.
    pub queries: Vec<Query>,
}

/// One query with places for arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// A name for reports, unique in its catalogue.
    pub name: String,
    /// The SQL as its author wrote it, `?` for each argument.
    pub text: String,
    /// What it means.
    pub statement: Statement,
    /// The type of the column that each argument is compared with or written to.
    pub parameters: Vec<ColumnType>,
}

/// What a query means.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// Rows that match.
    Select(Select),
    /// A new row.
    Insert(Insert),
    /// Changes to rows that match.
    Update(Update),
    /// Rows that match, to be removed.
    Delete(Delete),
}

/// `SELECT output FROM relations WHERE filters ORDER BY order LIMIT limit`.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// The relations' numbers; the second and later ones are joined.
    pub from: Vec<u16>,
    /// Pairs of columns that must be equal; each connects a relation with an earlier one.
    pub joins: Vec<Join>,
    /// The columns returned, in order; never empty.
    pub output: Vec<ColumnRef>,
    /// All of these must hold.
    pub filters: Vec<Filter>,
    /// The order of the rows, the first column counting most.
    pub order: Vec<(ColumnRef, Direction)>,
    /// The most rows returned.
    pub limit: Option<Term>,
    /// Whether the rows are to be locked until the transaction ends (`FOR UPDATE`).
    pub locks: bool,
}

/// `left = right`, between two relations of a `Select`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Join {
    /// A column of the relation that comes earlier in `from`.
    pub left: ColumnRef,
    /// A column of the later one.
    pub right: ColumnRef,
}

/// A column within a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColumnRef {
    /// The place of its relation in the statement's `from`; 0 where there is one relation only.
    pub relation: u16,
    /// Its number in the relation.
    pub column: u16,
}

/// `column comparison term`.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    /// The column.
    pub column: ColumnRef,
    /// How it must compare.
    pub comparison: Comparison,
    /// What with.
    pub term: Term,
}

/// How a column must compare with a term. A column without a value compares with nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// The order of rows by one column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Smallest first.
    Ascending,
    /// Greatest first.
    Descending,
}

/// A value that a statement needs.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// The argument with this number.
    Parameter(u16),
    /// A value in the text itself, encoded as [`Datum::encode`](crate::Datum::encode) does.
    Literal(Vec<u8>),
}

/// `INSERT INTO relation (columns) VALUES (terms)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    /// The relation's number.
    pub relation: u16,
    /// The columns written; the others hold no value. All columns of the key are among them.
    pub columns: Vec<u16>,
    /// The value of each.
    pub terms: Vec<Term>,
}

/// `UPDATE relation SET changes WHERE filters`.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// The relation's number.
    pub relation: u16,
    /// What becomes of which column; no column of the key is among them.
    pub changes: Vec<(u16, Change)>,
    /// All of these must hold; `relation` is 0 in their columns.
    pub filters: Vec<Filter>,
}

/// What becomes of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// `column = term`
    Set(Term),
    /// `column = column + term`
    Add(Term),
    /// `column = column - term`
    Subtract(Term),
    /// `column = column || term`, of texts
    Append(Term),
}

/// `DELETE FROM relation WHERE filters`.
#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    /// The relation's number.
    pub relation: u16,
    /// All of these must hold; `relation` is 0 in their columns.
    pub filters: Vec<Filter>,
}

impl Catalogue {
    /// The query that an operation's `statement` names.
    ///
    /// # Panics
    /// If it names none; 0 is no query.
    pub fn query(&self, statement: u16) -> &Query {
        &self.queries[usize::from(statement) - 1]
    }
}

impl Statement {
    /// The kind of operation that it is: a select whose filters are all equalities, without an
    /// order, is a read, any other a scan.
    pub fn kind(&self) -> Kind {
        match self {
            Statement::Select(select) => {
                let is_equal = |filter: &Filter| filter.comparison == Comparison::Equal;
                match select.order.is_empty() && select.filters.iter().all(is_equal) {
                    true => Kind::Read,
                    false => Kind::Scan,
                }
            }
            Statement::Insert(_) => Kind::Insert,
            Statement::Update(_) => Kind::Update,
            Statement::Delete(_) => Kind::Delete,
        }
    }
}
