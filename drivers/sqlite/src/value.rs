//! Typed values of the logical schema as SQLite keeps them.
//!
//! SQLite has no exact decimals: what it calls so is a binary floating-point number. A decimal is
//! therefore kept as the whole number of its smallest units (`12.50` with scale 2 as 1250), which
//! adds, compares and sorts exactly. A moment is kept as its microseconds since 1970, a truth value
//! as 0 or 1. The text of queries, which [`assay_sql`] writes, follows the same rules.

use assay_driver_kit::embedded::failure::EngineFailure;
use assay_model::datum::Moment;
use assay_model::{ColumnType, Datum, Decimal, Reason};
use rusqlite::types::{ToSqlOutput, ValueRef};

/// `datum` as it is compared with a column of this type. A decimal with more digits than the
/// column has equals no value there, but lies between two.
pub(super) fn compared<'a>(
    datum: Datum<'a>,
    kind: ColumnType,
) -> Result<ToSqlOutput<'a>, EngineFailure> {
    let real = |number| Ok(ToSqlOutput::Borrowed(ValueRef::Real(number)));
    match (datum, kind) {
        (Datum::Int(_) | Datum::Decimal(_), ColumnType::Decimal { scale, .. }) => {
            match datum.exact() {
                Some(exact) if !fits(exact, scale) => {
                    real(double(exact) * 10f64.powi(i32::from(scale)))
                }
                _ => bound(datum, kind),
            }
        }
        (Datum::Double(number), ColumnType::Decimal { scale, .. }) => {
            // Display writes the shortest digits that mean this number.
            match number.to_string().parse() {
                Ok(digits) => compared(Datum::Decimal(digits), kind),
                Err(_) => real(number * 10f64.powi(i32::from(scale))),
            }
        }
        (Datum::Decimal(decimal), ColumnType::Integer { .. }) if !fits(decimal, 0) => {
            real(double(decimal))
        }
        (Datum::Double(number), ColumnType::Integer { .. }) => real(number),
        _ => bound(datum, kind),
    }
}

/// Whether a number has no digits behind so many places.
fn fits(number: Decimal, scale: u8) -> bool {
    let kept = number.rescaled(scale);
    kept.is_some_and(|kept| kept.partial_cmp(&number).is_some_and(|order| order.is_eq()))
}

/// `datum` as it is written to a column of this type.
pub(super) fn bound<'a>(
    datum: Datum<'a>,
    kind: ColumnType,
) -> Result<ToSqlOutput<'a>, EngineFailure> {
    use ToSqlOutput::Borrowed;
    let wrong = || EngineFailure {
        text: format!("{datum} does not fit a column of type {kind:?}"),
        ..EngineFailure::refused(Reason::Malformed)
    };
    let borrowed = |value: ValueRef<'a>| Ok(Borrowed(value));
    match (datum, kind) {
        (Datum::Null, _) => borrowed(ValueRef::Null),
        (Datum::Int(_) | Datum::Decimal(_), ColumnType::Decimal { scale, .. }) => {
            let units = datum.exact().and_then(|number| number.rescaled(scale));
            borrowed(ValueRef::Integer(units.ok_or_else(wrong)?.mantissa))
        }
        (Datum::Double(number), ColumnType::Decimal { scale, .. }) => {
            let number: Decimal =
                format!("{number:.0$}", usize::from(scale)).parse().map_err(|_| wrong())?;
            borrowed(ValueRef::Integer(number.mantissa))
        }
        (Datum::Text(text), ColumnType::Decimal { scale, .. }) => {
            let number: Option<Decimal> = text.parse().ok();
            let units = number.and_then(|number| number.rescaled(scale)).ok_or_else(wrong)?;
            borrowed(ValueRef::Integer(units.mantissa))
        }
        (Datum::Timestamp(micros), _) => borrowed(ValueRef::Integer(micros)),
        (Datum::Text(text), ColumnType::Timestamp) => {
            borrowed(ValueRef::Integer(Moment::parse(text).ok_or_else(wrong)?.0))
        }
        (Datum::Int(number), ColumnType::Double) => borrowed(ValueRef::Real(number as f64)),
        (Datum::Int(number), _) => borrowed(ValueRef::Integer(number)),
        // What is no whole number could be kept, but not read back.
        (Datum::Decimal(decimal), ColumnType::Integer { .. }) if !fits(decimal, 0) => Err(wrong()),
        (Datum::Double(_), ColumnType::Integer { .. }) => Err(wrong()),
        (Datum::Decimal(decimal), _) => match decimal.rescaled(0) {
            Some(whole) if whole.partial_cmp(&decimal).is_some_and(|order| order.is_eq()) => {
                borrowed(ValueRef::Integer(whole.mantissa))
            }
            _ => borrowed(ValueRef::Real(double(decimal))),
        },
        (Datum::Double(number), _) => borrowed(ValueRef::Real(number)),
        (Datum::Text(text), ColumnType::Bytes) => borrowed(ValueRef::Blob(text.as_bytes())),
        (Datum::Text(text), _) => borrowed(ValueRef::Text(text.as_bytes())),
        (Datum::Bytes(bytes), _) => borrowed(ValueRef::Blob(bytes)),
        (Datum::Bool(truth), _) => borrowed(ValueRef::Integer(i64::from(truth))),
    }
}

fn double(decimal: Decimal) -> f64 {
    decimal.mantissa as f64 / 10f64.powi(i32::from(decimal.scale))
}

/// What a column of this type holds; `None` if that cannot be.
pub(super) fn found(value: ValueRef<'_>, kind: ColumnType) -> Option<Datum<'_>> {
    match (value, kind) {
        (ValueRef::Null, _) => Some(Datum::Null),
        (ValueRef::Integer(mantissa), ColumnType::Decimal { scale, .. }) => {
            Some(Datum::Decimal(Decimal { mantissa, scale }))
        }
        (ValueRef::Integer(number), ColumnType::Double) => Some(Datum::Double(number as f64)),
        (ValueRef::Integer(number), ColumnType::Boolean) => Some(Datum::Bool(number != 0)),
        (ValueRef::Integer(number), ColumnType::Integer { .. }) => Some(Datum::Int(number)),
        (ValueRef::Real(number), ColumnType::Double) => Some(Datum::Double(number)),
        (ValueRef::Text(text), ColumnType::Text { .. }) => {
            str::from_utf8(text).ok().map(Datum::Text)
        }
        (ValueRef::Integer(micros), ColumnType::Timestamp) => Some(Datum::Timestamp(micros)),
        (ValueRef::Blob(bytes) | ValueRef::Text(bytes), ColumnType::Bytes) => {
            Some(Datum::Bytes(bytes))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MONEY: ColumnType = ColumnType::Decimal { precision: 12, scale: 2 };
    const COUNT: ColumnType = ColumnType::Integer { bits: 64 };

    fn decimal(text: &str) -> Datum<'static> {
        Datum::Decimal(text.parse().unwrap())
    }

    fn kept(datum: Datum<'_>, kind: ColumnType) -> String {
        display(bound(datum, kind))
    }

    fn display(bound: Result<ToSqlOutput<'_>, EngineFailure>) -> String {
        match bound {
            Ok(ToSqlOutput::Borrowed(value)) => format!("{value:?}"),
            Ok(ToSqlOutput::Owned(value)) => format!("{value:?}"),
            Ok(_) => "something else".into(),
            Err(failure) => format!("refused {}: {}", failure.reason.name(), failure.text),
        }
    }

    #[test]
    fn a_decimal_is_kept_as_its_smallest_units() {
        assert_eq!(kept(decimal("12.5"), MONEY), "Integer(1250)");
        assert_eq!(kept(decimal("-0.005"), MONEY), "Integer(-1)");
        assert_eq!(kept(Datum::Int(7), MONEY), "Integer(700)");
        assert_eq!(kept(Datum::Double(0.1), MONEY), "Integer(10)");
        assert_eq!(kept(Datum::Text("3.21"), MONEY), "Integer(321)");
        let reported = kept(Datum::Int(i64::MAX), MONEY);
        assert!(
            reported.starts_with("refused malformed: 9223372036854775807 does not fit"),
            "{reported}"
        );
        assert_eq!(found(ValueRef::Integer(1250), MONEY), Some(decimal("12.50")));
    }

    #[test]
    fn a_number_with_more_digits_than_the_column_equals_none_there() {
        let requested = |datum, kind| display(compared(datum, kind));
        assert_eq!(requested(decimal("12.345"), MONEY), "Real(1234.5)");
        assert_eq!(requested(decimal("12.340"), MONEY), "Integer(1234)");
        assert_eq!(requested(Datum::Int(i64::MAX), MONEY), "Real(9.223372036854776e20)");
        assert_eq!(requested(Datum::Double(0.29), MONEY), "Integer(29)");
        assert_eq!(requested(decimal("3.50"), COUNT), "Real(3.5)");
        assert_eq!(requested(decimal("3.00"), COUNT), "Integer(3)");
        assert_eq!(requested(Datum::Text("a"), COUNT), "Text([97])");
    }

    #[test]
    fn numbers_become_what_their_column_holds() {
        assert_eq!(kept(decimal("3.00"), COUNT), "Integer(3)");
        assert!(kept(decimal("3.50"), COUNT).starts_with("refused malformed: 3.50"));
        assert_eq!(kept(Datum::Int(3), ColumnType::Double), "Real(3.0)");
        assert_eq!(found(ValueRef::Integer(3), ColumnType::Double), Some(Datum::Double(3.0)));
        assert_eq!(kept(Datum::Bool(true), ColumnType::Boolean), "Integer(1)");
        assert_eq!(found(ValueRef::Integer(1), ColumnType::Boolean), Some(Datum::Bool(true)));
    }

    #[test]
    fn a_moment_is_kept_as_its_microseconds() {
        assert_eq!(kept(Datum::Timestamp(-1), ColumnType::Timestamp), "Integer(-1)");
        let text = Datum::Text("1970-01-01 00:00:01.5");
        assert_eq!(kept(text, ColumnType::Timestamp), "Integer(1500000)");
        let moment = found(ValueRef::Integer(450_000), ColumnType::Timestamp);
        assert_eq!(moment, Some(Datum::Timestamp(450_000)));
    }

    #[test]
    fn what_a_column_cannot_hold_is_nothing() {
        let text = ColumnType::Text { length: None, is_padded: false };
        assert_eq!(found(ValueRef::Text(b"\xFF"), text), None);
        assert_eq!(found(ValueRef::Real(0.5), COUNT), None);
        assert_eq!(found(ValueRef::Text(b"x"), MONEY), None);
        assert_eq!(found(ValueRef::Text(b"1970-01-01"), ColumnType::Timestamp), None);
        assert_eq!(found(ValueRef::Null, COUNT), Some(Datum::Null));
    }
}
