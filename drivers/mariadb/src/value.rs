//! Values of the logical schema as MariaDB's binary protocol carries them.

use assay_model::datum::Moment;
use assay_model::{ColumnType, Datum, Decimal};
use mysql_async::Value;

/// `datum` as an argument of a statement.
///
/// The library has no decimals, so they travel as text; where a statement calculates or compares
/// with one, its text says that it is a number.
pub(super) fn bound(datum: Datum<'_>) -> Value {
    match datum {
        Datum::Null => Value::NULL,
        Datum::Int(number) => Value::Int(number),
        Datum::Decimal(decimal) => Value::Bytes(decimal.to_string().into_bytes()),
        Datum::Double(number) => Value::Double(number),
        Datum::Text(text) => Value::Bytes(text.into()),
        Datum::Bytes(bytes) => Value::Bytes(bytes.into()),
        Datum::Timestamp(micros) => Value::Bytes(Moment(micros).to_string().into_bytes()),
        Datum::Bool(truth) => Value::Int(i64::from(truth)),
    }
}

/// What a column of this type holds; `None` if that cannot be.
pub(super) fn found(value: &Value, kind: ColumnType) -> Option<Datum<'_>> {
    match (value, kind) {
        (Value::NULL, _) => Some(Datum::Null),
        (_, ColumnType::Integer { .. }) => whole(value).map(Datum::Int),
        (_, ColumnType::Boolean) => whole(value).map(|number| Datum::Bool(number != 0)),
        (Value::Bytes(digits), ColumnType::Decimal { .. }) => {
            let decimal: Decimal = str::from_utf8(digits).ok()?.parse().ok()?;
            Some(Datum::Decimal(decimal))
        }
        (_, ColumnType::Decimal { .. }) => {
            whole(value).map(|mantissa| Datum::Decimal(Decimal { mantissa, scale: 0 }))
        }
        (Value::Double(number), ColumnType::Double) => Some(Datum::Double(*number)),
        (Value::Float(number), ColumnType::Double) => Some(Datum::Double(f64::from(*number))),
        (Value::Bytes(text), ColumnType::Text { .. }) => str::from_utf8(text).ok().map(Datum::Text),
        (Value::Bytes(bytes), ColumnType::Bytes) => Some(Datum::Bytes(bytes)),
        (&Value::Date(year, month, day, hour, minute, second, micros), ColumnType::Timestamp) => {
            let text = format!(
                "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{micros:06}"
            );
            Moment::parse(&text).map(|moment| Datum::Timestamp(moment.0))
        }
        _ => None,
    }
}

fn whole(value: &Value) -> Option<i64> {
    match *value {
        Value::Int(number) => Some(number),
        Value::UInt(number) => i64::try_from(number).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MONEY: ColumnType = ColumnType::Decimal { precision: 12, scale: 2 };
    const COUNT: ColumnType = ColumnType::Integer { bits: 64 };
    const TEXT: ColumnType = ColumnType::Text { length: None, is_padded: false };

    fn decimal(text: &str) -> Datum<'static> {
        Datum::Decimal(text.parse().unwrap())
    }

    #[test]
    fn values_come_back_as_they_went() {
        for (datum, kind) in [
            (Datum::Int(-7), COUNT),
            (decimal("-12.50"), MONEY),
            (Datum::Double(0.1), ColumnType::Double),
            (Datum::Text("ä'\\"), TEXT),
            (Datum::Bytes(&[0, 255]), ColumnType::Bytes),
            (Datum::Bool(true), ColumnType::Boolean),
            (Datum::Null, COUNT),
        ] {
            assert_eq!(found(&bound(datum), kind), Some(datum));
        }
    }

    #[test]
    fn a_moment_goes_as_text_with_its_fraction() {
        let sent = bound(Datum::Timestamp(1_500_000));
        assert_eq!(sent, Value::Bytes(b"1970-01-01 00:00:01.5".to_vec()));
        let come = Value::Date(1970, 1, 1, 0, 0, 1, 500_000);
        assert_eq!(found(&come, ColumnType::Timestamp), Some(Datum::Timestamp(1_500_000)));
    }

    #[test]
    fn what_a_column_cannot_hold_is_nothing() {
        assert_eq!(found(&Value::Bytes(vec![0xFF]), TEXT), None);
        assert_eq!(found(&Value::UInt(u64::MAX), COUNT), None);
        assert_eq!(found(&Value::Bytes(b"1e3".to_vec()), MONEY), None);
        assert_eq!(found(&Value::Date(0, 0, 0, 0, 0, 0, 0), ColumnType::Timestamp), None);
    }
}
