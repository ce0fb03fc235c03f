//! The columns of a trace: their names, their types, the rows of one row group.

use assay_model::{Kind, Nanos, Operation};
use parquet::basic::Type;
use parquet::errors::ParquetError;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::TypePtr;

use crate::header::Header;
use crate::script::Origins;

/// The columns in file order, with their types and what these stand for. Those from [`INTENDED`]
/// on need not be there.
pub(crate) const COLUMNS: [(&str, Type, &str); 16] = [
    ("index", Type::INT64, "(integer(64,false))"),
    ("process", Type::INT64, "(integer(64,false))"),
    ("transaction", Type::INT32, "(integer(16,false))"),
    ("transaction_type", Type::INT32, "(integer(16,false))"),
    ("ends_transaction", Type::BOOLEAN, ""),
    ("kind", Type::BYTE_ARRAY, "(string)"),
    ("fields", Type::INT32, "(integer(32,false))"),
    ("key", Type::INT64, "(integer(64,false))"),
    ("limit", Type::INT32, "(integer(32,false))"),
    ("bytes", Type::INT32, "(integer(32,false))"),
    ("think", Type::INT64, "(integer(64,false))"),
    ("intended", Type::INT64, "(integer(64,false))"),
    ("statement", Type::INT32, "(integer(16,false))"),
    ("arguments", Type::BYTE_ARRAY, ""),
    ("origin", Type::INT64, ""),
    ("hint", Type::INT32, "(integer(32,false))"),
];

/// The names of the columns.
pub(crate) const NAMES: [&str; COLUMNS.len()] = {
    let mut names = [""; COLUMNS.len()];
    let mut column = 0;
    while column < names.len() {
        names[column] = COLUMNS[column].0;
        column += 1;
    }
    names
};

/// The place of the schedule's column.
pub(crate) const INTENDED: usize = 11;
/// The place of the queries' column.
pub(crate) const STATEMENT: usize = 12;
/// The place of the column of the queries' arguments.
pub(crate) const ARGUMENTS: usize = 13;
/// The place of the column of the numbers that processes had elsewhere.
pub(crate) const ORIGIN: usize = 14;
/// The place of the column of hints.
pub(crate) const HINT: usize = 15;

/// Whether a load model's schedule is recorded into a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedules {
    /// Every process has an intended offset.
    Recorded,
    /// The load model decides when a run begins.
    Absent,
}

/// Which of the columns that need not be there a trace has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub schedules: Schedules,
    pub has_statements: bool,
    pub has_origins: bool,
    pub has_hints: bool,
}

impl Shape {
    /// The shape of a trace with this header.
    pub fn of(header: &Header, schedules: Schedules) -> Shape {
        let script = header.script.as_ref();
        Shape {
            schedules,
            has_statements: script.is_some(),
            has_origins: script.is_some_and(|script| script.origins == Origins::Kept),
            has_hints: script.is_some_and(|script| !script.hints.is_empty()),
        }
    }

    /// Whether the column at this place of [`NAMES`] is there.
    pub fn has(self, column: usize) -> bool {
        match column {
            INTENDED => self.schedules == Schedules::Recorded,
            STATEMENT | ARGUMENTS => self.has_statements,
            ORIGIN => self.has_origins,
            HINT => self.has_hints,
            _ => true,
        }
    }
}

/// The Parquet schema of a trace.
pub(crate) fn schema(shape: Shape) -> Result<TypePtr, ParquetError> {
    let columns = COLUMNS.into_iter().enumerate().filter(|(column, _)| shape.has(*column));
    let declare = |(_, (name, kind, meaning))| format!("required {kind} {name} {meaning};");
    let declarations: String = columns.map(declare).collect();
    parse_message_type(&format!("message trace {{ {declarations} }}")).map(TypePtr::new)
}

/// The rows of one row group, column by column.
///
/// Parquet stores unsigned numbers in signed ones of the same width, bit for bit.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub index: Vec<i64>,
    pub process: Vec<i64>,
    pub transaction: Vec<i32>,
    pub transaction_type: Vec<i32>,
    pub ends_transaction: Vec<bool>,
    pub kind: Vec<Kind>,
    pub fields: Vec<i32>,
    pub key: Vec<i64>,
    pub limit: Vec<i32>,
    pub bytes: Vec<i32>,
    pub think: Vec<i64>,
    pub intended: Vec<i64>,
    pub statement: Vec<i32>,
    pub arguments: Vec<u8>,
    /// Where the arguments of each row end in `arguments`.
    pub argument_ends: Vec<usize>,
    pub origin: Vec<i64>,
    pub hint: Vec<i32>,
}

impl Rows {
    pub fn with_capacity(rows: usize) -> Rows {
        Rows {
            index: Vec::with_capacity(rows),
            process: Vec::with_capacity(rows),
            transaction: Vec::with_capacity(rows),
            transaction_type: Vec::with_capacity(rows),
            ends_transaction: Vec::with_capacity(rows),
            kind: Vec::with_capacity(rows),
            fields: Vec::with_capacity(rows),
            key: Vec::with_capacity(rows),
            limit: Vec::with_capacity(rows),
            bytes: Vec::with_capacity(rows),
            think: Vec::with_capacity(rows),
            ..Rows::default()
        }
    }

    pub fn len(&self) -> usize {
        self.index.len()
    }

    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    #[inline]
    pub fn push(&mut self, process: u64, operation: &Operation) {
        self.index.push(operation.index as i64);
        self.process.push(process as i64);
        self.transaction.push(i32::from(operation.transaction));
        self.transaction_type.push(i32::from(operation.transaction_type));
        self.ends_transaction.push(operation.ends_transaction);
        self.kind.push(operation.kind);
        self.fields.push(operation.fields.code() as i32);
        self.key.push(operation.key as i64);
        self.limit.push(operation.limit as i32);
        self.bytes.push(operation.bytes as i32);
        self.think.push(operation.think.0 as i64);
    }

    pub fn push_intended(&mut self, intended: Nanos) {
        self.intended.push(intended.0 as i64);
    }

    pub fn push_statement(&mut self, statement: u16, arguments: &[u8]) {
        self.statement.push(i32::from(statement));
        self.arguments.extend_from_slice(arguments);
        self.argument_ends.push(self.arguments.len());
    }

    pub fn clear(&mut self) {
        self.index.clear();
        self.process.clear();
        self.transaction.clear();
        self.transaction_type.clear();
        self.ends_transaction.clear();
        self.kind.clear();
        self.fields.clear();
        self.key.clear();
        self.limit.clear();
        self.bytes.clear();
        self.think.clear();
        self.intended.clear();
        self.statement.clear();
        self.arguments.clear();
        self.argument_ends.clear();
        self.origin.clear();
        self.hint.clear();
    }
}
