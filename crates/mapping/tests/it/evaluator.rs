//! The plainest possible evaluation of statements: every row of every relation is looked at.
//!
//! A third opinion beside SQLite's and the mappings': it shares no code with either.

use std::cmp::Ordering;

use assay_model::query::{Change, Comparison, Direction, Filter, Select, Term};
use assay_model::{Catalogue, ColumnType, Datum, Decimal, Statement};

use crate::answer::{Expected, Row};

/// A value in a form that compares.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Null,
    /// An exact number in units of 10^-18.
    Exact(i128),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
    Moment(i64),
    Bool(bool),
}

const UNIT: i128 = 10i128.pow(18);

impl Value {
    /// What a column of `kind` makes of `datum`.
    fn new(datum: Datum<'_>, kind: ColumnType) -> Value {
        match (datum, kind) {
            (Datum::Null, _) => Value::Null,
            (Datum::Int(number), ColumnType::Double) => Value::Double(number as f64),
            (Datum::Int(number), _) => Value::Exact(i128::from(number) * UNIT),
            (Datum::Decimal(decimal), _) => Value::Exact(
                i128::from(decimal.mantissa) * 10i128.pow(18 - u32::from(decimal.scale)),
            ),
            (Datum::Double(number), _) => Value::Double(number),
            (Datum::Text(text), _) => Value::Text(text.into()),
            (Datum::Bytes(bytes), _) => Value::Bytes(bytes.into()),
            (Datum::Timestamp(micros), _) => Value::Moment(micros),
            (Datum::Bool(truth), _) => Value::Bool(truth),
        }
    }

    fn encoded(&self, kind: ColumnType) -> Vec<u8> {
        let mut bytes = Vec::new();
        let datum = match (self, kind) {
            (Value::Null, _) => Datum::Null,
            (Value::Exact(number), ColumnType::Decimal { scale, .. }) => {
                let mantissa = (number / 10i128.pow(18 - u32::from(scale))) as i64;
                Datum::Decimal(Decimal { mantissa, scale })
            }
            (Value::Exact(number), _) => Datum::Int((number / UNIT) as i64),
            (Value::Double(number), _) => Datum::Double(*number),
            (Value::Text(text), _) => Datum::Text(text),
            (Value::Bytes(bytes), _) => Datum::Bytes(bytes),
            (Value::Moment(micros), _) => Datum::Timestamp(*micros),
            (Value::Bool(truth), _) => Datum::Bool(*truth),
        };
        datum.encode(&mut bytes);
        bytes
    }

    /// No value comes first.
    fn order(&self, other: &Value) -> Ordering {
        match (self, other) {
            (Value::Null, Value::Null) => Ordering::Equal,
            (Value::Null, _) => Ordering::Less,
            (_, Value::Null) => Ordering::Greater,
            (Value::Exact(one), Value::Exact(other)) => one.cmp(other),
            (Value::Double(one), Value::Double(other)) => one.total_cmp(other),
            (Value::Text(one), Value::Text(other)) => one.as_bytes().cmp(other.as_bytes()),
            (Value::Bytes(one), Value::Bytes(other)) => one.cmp(other),
            (Value::Moment(one), Value::Moment(other)) => one.cmp(other),
            (Value::Bool(one), Value::Bool(other)) => one.cmp(other),
            (one, other) => panic!("{one:?} and {other:?} are in one column"),
        }
    }

    fn holds(&self, comparison: Comparison, other: &Value) -> bool {
        if *self == Value::Null || *other == Value::Null {
            return false;
        }
        let order = self.order(other);
        match comparison {
            Comparison::Equal => order.is_eq(),
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
            Comparison::Greater => order.is_gt(),
            Comparison::GreaterOrEqual => order.is_ge(),
        }
    }

    fn followed_by(&self, other: &Value) -> Value {
        match (self, other) {
            (Value::Text(one), Value::Text(other)) => Value::Text(format!("{one}{other}")),
            _ => Value::Null,
        }
    }

    fn plus(&self, other: &Value, sign: i8) -> Value {
        match (self, other) {
            (Value::Exact(one), Value::Exact(other)) => {
                Value::Exact(one + i128::from(sign) * other)
            }
            (Value::Double(one), Value::Double(other)) => {
                Value::Double(one + f64::from(sign) * other)
            }
            _ => Value::Null,
        }
    }
}

/// Relations with their rows, in no order.
pub struct Evaluator<'a> {
    catalogue: &'a Catalogue,
    rows: Vec<Vec<Vec<Value>>>,
}

impl<'a> Evaluator<'a> {
    pub fn new(catalogue: &'a Catalogue) -> Evaluator<'a> {
        Evaluator { catalogue, rows: vec![Vec::new(); catalogue.schema.relations.len()] }
    }

    /// Does the query at `place` with these arguments.
    pub fn send(&mut self, place: usize, arguments: &[Datum<'_>]) -> Expected {
        let catalogue = self.catalogue;
        match &catalogue.queries[place].statement {
            Statement::Select(select) => self.select(select, arguments),
            Statement::Insert(insert) => {
                let relation = catalogue.schema.relation(insert.relation);
                let mut row = vec![Value::Null; relation.columns.len()];
                for (column, term) in insert.columns.iter().zip(&insert.terms) {
                    let kind = relation.column(*column).kind;
                    row[usize::from(*column)] = value(term, kind, arguments);
                }
                let is_same = |other: &Vec<Value>| {
                    let mut key = relation.primary_key.iter().map(|column| usize::from(*column));
                    key.all(|column| other[column] == row[column])
                };
                let rows = &mut self.rows[usize::from(insert.relation)];
                if !is_whole(relation, &row) || rows.iter().any(is_same) {
                    return Expected::Refused;
                }
                rows.push(row);
                Expected::Written { found: true }
            }
            Statement::Update(update) => {
                let relation = catalogue.schema.relation(update.relation);
                let mut after = self.rows[usize::from(update.relation)].clone();
                let mut found = false;
                for row in &mut after {
                    if !self.matches(&[update.relation], &[row], &update.filters, arguments) {
                        continue;
                    }
                    found = true;
                    for (column, change) in &update.changes {
                        let kind = relation.column(*column).kind;
                        let cell = &mut row[usize::from(*column)];
                        *cell = match change {
                            Change::Set(term) => value(term, kind, arguments),
                            Change::Add(term) => cell.plus(&value(term, kind, arguments), 1),
                            Change::Subtract(term) => cell.plus(&value(term, kind, arguments), -1),
                            Change::Append(term) => cell.followed_by(&value(term, kind, arguments)),
                        };
                    }
                    if !is_whole(relation, row) {
                        return Expected::Refused;
                    }
                }
                self.rows[usize::from(update.relation)] = after;
                Expected::Written { found }
            }
            Statement::Delete(delete) => {
                let mut rows = std::mem::take(&mut self.rows[usize::from(delete.relation)]);
                let before = rows.len();
                rows.retain(|row| {
                    !self.matches(&[delete.relation], &[row], &delete.filters, arguments)
                });
                let found = rows.len() < before;
                self.rows[usize::from(delete.relation)] = rows;
                Expected::Written { found }
            }
        }
    }

    fn select(&self, select: &Select, arguments: &[Datum<'_>]) -> Expected {
        let mut found: Vec<Vec<&Vec<Value>>> = vec![Vec::new()];
        for number in &select.from {
            let rows = &self.rows[usize::from(*number)];
            found = found
                .iter()
                .flat_map(|line| rows.iter().map(|row| [&line[..], &[row]].concat()))
                .collect();
        }
        found.retain(|line| {
            let cell = |column: assay_model::query::ColumnRef| {
                &line[usize::from(column.relation)][usize::from(column.column)]
            };
            let joins = |join: &assay_model::query::Join| {
                cell(join.left).holds(Comparison::Equal, cell(join.right))
            };
            select.joins.iter().all(joins)
                && self.matches(&select.from, line, &select.filters, arguments)
        });
        let order = |one: &Vec<&Vec<Value>>, other: &Vec<&Vec<Value>>| {
            let mut order = Ordering::Equal;
            for (column, direction) in &select.order {
                let of = |line: &Vec<&Vec<Value>>| {
                    line[usize::from(column.relation)][usize::from(column.column)].clone()
                };
                let here = of(one).order(&of(other));
                let here = if *direction == Direction::Ascending { here } else { here.reverse() };
                order = order.then(here);
            }
            order
        };
        found.sort_by(order);
        let output = |line: &Vec<&Vec<Value>>| -> Row {
            let columns = select.output.iter().map(|column| {
                let number = select.from[usize::from(column.relation)];
                let kind = self.catalogue.schema.relation(number).column(column.column).kind;
                line[usize::from(column.relation)][usize::from(column.column)].encoded(kind)
            });
            columns.collect()
        };
        let groups = found.chunk_by(|one, other| order(one, other).is_eq());
        let groups = groups.map(|group| group.iter().map(output).collect()).collect();
        let limit = select.limit.as_ref().map_or(usize::MAX, |term| {
            match value(term, ColumnType::Integer { bits: 64 }, arguments) {
                Value::Exact(number) => (number / UNIT) as usize,
                other => panic!("LIMIT {other:?}"),
            }
        });
        Expected::Rows { groups, limit }
    }

    fn matches(
        &self,
        from: &[u16],
        line: &[&Vec<Value>],
        filters: &[Filter],
        arguments: &[Datum<'_>],
    ) -> bool {
        filters.iter().all(|filter| {
            let place = usize::from(filter.column.relation);
            let relation = self.catalogue.schema.relation(from[place]);
            let kind = relation.column(filter.column.column).kind;
            let cell = &line[place][usize::from(filter.column.column)];
            cell.holds(filter.comparison, &value(&filter.term, kind, arguments))
        })
    }
}

fn is_whole(relation: &assay_model::Relation, row: &[Value]) -> bool {
    relation
        .columns
        .iter()
        .zip(row)
        .all(|(column, cell)| column.is_nullable || *cell != Value::Null)
}

fn value(term: &Term, kind: ColumnType, arguments: &[Datum<'_>]) -> Value {
    match term {
        Term::Parameter(number) => Value::new(arguments[usize::from(*number)], kind),
        Term::Literal(bytes) => {
            let (datum, _) = Datum::decode(bytes).expect("the parser encodes literals");
            Value::new(datum, kind)
        }
    }
}
