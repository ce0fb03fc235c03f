//! A value made to fit a column, as stores of SQL do it.

use assay_model::datum::Moment;
use assay_model::{ColumnType, Datum, Decimal};

/// The value as a column of type `kind` keeps it; `None` if it cannot.
///
/// No value fits everywhere. Whole numbers become decimals or doubles, decimals are rounded half
/// away from zero to the column's digits but fit a column of whole numbers only if they are whole,
/// texts that name a moment become one, and 0 or 1 a truth
/// value. A value that fits already stays as it is.
pub fn fit(datum: Datum<'_>, kind: ColumnType) -> Option<Datum<'_>> {
    match (kind, datum) {
        (_, Datum::Null) => Some(Datum::Null),
        (ColumnType::Integer { bits }, Datum::Int(number)) => {
            let unused = 64 - u32::from(bits);
            (number << unused >> unused == number).then_some(datum)
        }
        (ColumnType::Integer { .. }, Datum::Decimal(decimal)) => {
            let whole = decimal.rescaled(0)?;
            let is_whole = whole.partial_cmp(&decimal) == Some(std::cmp::Ordering::Equal);
            is_whole.then(|| fit(Datum::Int(whole.mantissa), kind)).flatten()
        }
        (ColumnType::Decimal { precision, scale }, Datum::Int(_) | Datum::Decimal(_)) => {
            let decimal = datum.exact()?.rescaled(scale)?;
            let bound = 10u64.checked_pow(u32::from(precision))?;
            (decimal.mantissa.unsigned_abs() < bound).then_some(Datum::Decimal(decimal))
        }
        (ColumnType::Double, Datum::Double(_)) => Some(datum),
        (ColumnType::Double, Datum::Int(number)) => Some(Datum::Double(number as f64)),
        (ColumnType::Double, Datum::Decimal(decimal)) => Some(Datum::Double(double(decimal))),
        (ColumnType::Text { length, .. }, Datum::Text(text)) => {
            let fits = length.is_none_or(|length| text.chars().count() <= length as usize);
            fits.then_some(datum)
        }
        (ColumnType::Bytes, Datum::Bytes(_)) => Some(datum),
        (ColumnType::Timestamp, Datum::Timestamp(_)) => Some(datum),
        (ColumnType::Timestamp, Datum::Text(text)) => {
            Moment::parse(text).map(|moment| Datum::Timestamp(moment.0))
        }
        (ColumnType::Boolean, Datum::Bool(_)) => Some(datum),
        (ColumnType::Boolean, Datum::Int(number @ (0 | 1))) => Some(Datum::Bool(number == 1)),
        _ => None,
    }
}

fn double(decimal: Decimal) -> f64 {
    // Through its text, so that 0.1 becomes the double that is nearest to it.
    decimal.to_string().parse().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Datum<'static> {
        Datum::Decimal(text.parse().unwrap())
    }

    #[test]
    fn numbers_fit_if_the_column_has_room() {
        let short = ColumnType::Integer { bits: 16 };
        assert_eq!(fit(Datum::Int(-32_768), short), Some(Datum::Int(-32_768)));
        assert_eq!(fit(Datum::Int(32_768), short), None);
        let long = ColumnType::Integer { bits: 64 };
        assert_eq!(fit(Datum::Int(i64::MIN), long), Some(Datum::Int(i64::MIN)));
        let money = ColumnType::Decimal { precision: 4, scale: 2 };
        assert_eq!(fit(number("12.345"), money), Some(number("12.35")));
        assert_eq!(fit(Datum::Int(7), money), Some(number("7.00")));
        assert_eq!(fit(number("99.996"), money), None);
        assert_eq!(fit(number("3.00"), long), Some(Datum::Int(3)));
        assert_eq!(fit(number("3.5"), long), None, "as PostgreSQL and SQLite refuse it");
        assert_eq!(fit(number("0.1"), ColumnType::Double), Some(Datum::Double(0.1)));
    }

    #[test]
    fn texts_fit_by_their_characters() {
        let text = ColumnType::Text { length: Some(2), is_padded: false };
        assert_eq!(fit(Datum::Text("äö"), text), Some(Datum::Text("äö")));
        assert_eq!(fit(Datum::Text("abc"), text), None);
        assert_eq!(fit(Datum::Int(1), text), None);
        let moment = fit(Datum::Text("1970-01-01 00:00:01"), ColumnType::Timestamp);
        assert_eq!(moment, Some(Datum::Timestamp(1_000_000)));
        assert_eq!(fit(Datum::Text("noon"), ColumnType::Timestamp), None);
        assert_eq!(fit(Datum::Int(1), ColumnType::Boolean), Some(Datum::Bool(true)));
        assert_eq!(fit(Datum::Null, ColumnType::Boolean), Some(Datum::Null));
    }
}
