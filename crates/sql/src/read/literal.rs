//! Values within the text of a query.

use assay_model::query::Term;
use assay_model::{ColumnType, Datum, Decimal};
use sqlparser::ast::{DataType, Expr, UnaryOperator, Value};

use super::error::ParseError;
use super::text::{Text, begin, display};
use crate::fit;
use crate::write::{Dialect, column_type};

/// What a term is compared with, or written to.
pub(super) struct Target<'a> {
    pub name: &'a str,
    pub kind: ColumnType,
}

/// The types of a query's arguments, as far as they are known.
pub(super) type Parameters = Vec<Option<ColumnType>>;

/// The term that `expr` is; `None` if it is none.
pub(super) fn term(
    text: &Text,
    expr: &Expr,
    target: &Target<'_>,
    parameters: &mut Parameters,
) -> Result<Option<Term>, ParseError> {
    if let Expr::Value(value) = expr
        && let Value::Placeholder(_) = value.value
    {
        let Some(number) = text.question(value.span.start) else { return Ok(None) };
        parameters[usize::from(number)] = Some(target.kind);
        return Ok(Some(Term::Parameter(number)));
    }
    let Some(literal) = literal(expr) else { return Ok(None) };
    let mut encoded = Vec::new();
    match fit_exactly(literal.datum(), target.kind) {
        Some(datum) => datum.encode(&mut encoded),
        None => {
            let Target { name, kind } = target;
            let kind = column_type(Dialect::Logical, *kind);
            let reason = format!("{} does not fit column {name}, which is {kind}", display(expr));
            return Err(text.wrong(begin(expr), reason));
        }
    }
    Ok(Some(Term::Literal(encoded)))
}

/// Whether the expression says NULL.
pub(super) fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if value.value == Value::Null)
}

enum Literal {
    Null,
    Int(i64),
    Decimal(Decimal),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
    Bool(bool),
}

impl Literal {
    fn datum(&self) -> Datum<'_> {
        match self {
            Literal::Null => Datum::Null,
            Literal::Int(number) => Datum::Int(*number),
            Literal::Decimal(decimal) => Datum::Decimal(*decimal),
            Literal::Double(number) => Datum::Double(*number),
            Literal::Text(text) => Datum::Text(text),
            Literal::Bytes(bytes) => Datum::Bytes(bytes),
            Literal::Bool(truth) => Datum::Bool(*truth),
        }
    }
}

fn literal(expr: &Expr) -> Option<Literal> {
    match expr {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match &**expr {
            Expr::Value(value) => match &value.value {
                Value::Number(digits, _) => number(&format!("-{digits}")),
                _ => None,
            },
            _ => None,
        },
        Expr::TypedString(typed) => match typed.data_type {
            DataType::Date | DataType::Timestamp(..) | DataType::Datetime(_) => {
                typed.value.value.clone().into_string().map(Literal::Text)
            }
            _ => None,
        },
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => number(digits),
            Value::SingleQuotedString(text) => Some(Literal::Text(text.clone())),
            Value::HexStringLiteral(digits) => bytes(digits).map(Literal::Bytes),
            Value::Boolean(truth) => Some(Literal::Bool(*truth)),
            Value::Null => Some(Literal::Null),
            _ => None,
        },
        _ => None,
    }
}

fn number(digits: &str) -> Option<Literal> {
    if let Ok(number) = digits.parse() {
        return Some(Literal::Int(number));
    }
    if let Ok(decimal) = digits.parse() {
        return Some(Literal::Decimal(decimal));
    }
    digits.parse().ok().filter(|number: &f64| number.is_finite()).map(Literal::Double)
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    let pair = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|two| pair(two)).collect())?
}

/// The value as the column keeps it, if nothing of it is lost by rounding.
fn fit_exactly(datum: Datum<'_>, kind: ColumnType) -> Option<Datum<'_>> {
    let fitted = fit(datum, kind)?;
    match (datum.exact(), fitted.exact()) {
        (Some(before), Some(after)) if before.partial_cmp(&after)?.is_ne() => None,
        _ => Some(fitted),
    }
}
