//! Comparison of SQL values, with their arithmetic.

use std::cmp::Ordering;

use assay_model::datum::Moment;
use assay_model::datum::SCALE_MAX;
use assay_model::query::Comparison;
use assay_model::{ColumnType, Datum, Decimal};

/// `datum` as a value to compare a column of type `kind` with; `None` if the two never compare.
pub(crate) fn compared(datum: Datum<'_>, kind: ColumnType) -> Option<Datum<'_>> {
    match (kind, datum) {
        (_, Datum::Null) => Some(Datum::Null),
        (ColumnType::Integer { .. } | ColumnType::Decimal { .. }, Datum::Double(number)) => {
            near(number).map(Datum::Decimal)
        }
        (ColumnType::Integer { .. } | ColumnType::Decimal { .. }, _) => {
            datum.exact().map(|_| datum)
        }
        (ColumnType::Double, Datum::Double(_)) => Some(datum),
        (ColumnType::Double, _) => datum.exact().map(|exact| Datum::Double(as_double(exact))),
        (ColumnType::Text { .. }, Datum::Text(_)) => Some(datum),
        (ColumnType::Bytes, Datum::Bytes(_)) => Some(datum),
        (ColumnType::Bytes, Datum::Text(text)) => Some(Datum::Bytes(text.as_bytes())),
        (ColumnType::Timestamp, Datum::Timestamp(_)) => Some(datum),
        (ColumnType::Timestamp, Datum::Text(text)) => {
            Moment::parse(text).map(|moment| Datum::Timestamp(moment.0))
        }
        (ColumnType::Boolean, Datum::Bool(_)) => Some(datum),
        (ColumnType::Boolean, Datum::Int(number)) => Some(Datum::Bool(number != 0)),
        _ => None,
    }
}

/// The decimal that stands for `number` among those that a column can hold; `None` if it is none.
///
/// A number beyond them all becomes the last one on its side, so that `< 1e300` still holds for
/// every value; one too close to zero becomes the closest to zero that is not zero.
fn near(number: f64) -> Option<Decimal> {
    // Display writes the shortest digits that mean this number.
    if let Ok(exact) = number.to_string().parse() {
        return Some(exact);
    }
    let is_positive = number > 0.0;
    if number.is_nan() {
        return None;
    }
    if number.abs() >= 1.0 {
        let mantissa = if is_positive { i64::MAX } else { i64::MIN };
        return Some(Decimal { mantissa, scale: 0 });
    }
    let rounded: Decimal = format!("{number:.18}").parse().ok()?;
    Some(match rounded.mantissa {
        0 => Decimal { mantissa: if is_positive { 1 } else { -1 }, scale: SCALE_MAX },
        _ => rounded,
    })
}

/// `datum` in the type of `other`, as a comparison of the two takes it.
pub(crate) fn alike<'a>(datum: Datum<'a>, other: &Datum<'_>) -> Option<Datum<'a>> {
    let kind = match other {
        Datum::Timestamp(_) => ColumnType::Timestamp,
        Datum::Bytes(_) => ColumnType::Bytes,
        Datum::Bool(_) => ColumnType::Boolean,
        _ => return Some(datum),
    };
    compared(datum, kind)
}

fn as_double(decimal: Decimal) -> f64 {
    // Reading the digits rounds once; dividing by a power of ten would round twice.
    decimal.to_string().parse().expect("digits with a point are a number")
}

/// Whether `left comparison right` holds; with no value on either side it does not.
pub(crate) fn holds(left: &Datum<'_>, comparison: Comparison, right: &Datum<'_>) -> bool {
    let Some(order) = order(left, right) else { return false };
    match comparison {
        Comparison::Equal => order == Ordering::Equal,
        Comparison::Less => order == Ordering::Less,
        Comparison::LessOrEqual => order != Ordering::Greater,
        Comparison::Greater => order == Ordering::Greater,
        Comparison::GreaterOrEqual => order != Ordering::Less,
    }
}

fn order(left: &Datum<'_>, right: &Datum<'_>) -> Option<Ordering> {
    match (left, right) {
        (Datum::Text(left), Datum::Text(right)) => Some(left.as_bytes().cmp(right.as_bytes())),
        (Datum::Bytes(left), Datum::Bytes(right)) => Some(left.cmp(right)),
        (Datum::Timestamp(left), Datum::Timestamp(right)) => Some(left.cmp(right)),
        (Datum::Bool(left), Datum::Bool(right)) => Some(left.cmp(right)),
        (Datum::Double(left), Datum::Double(right)) => left.partial_cmp(right),
        (Datum::Double(left), _) => left.partial_cmp(&as_double(right.exact()?)),
        (_, Datum::Double(right)) => as_double(left.exact()?).partial_cmp(right),
        _ => left.exact()?.partial_cmp(&right.exact()?),
    }
}

/// `left + right`, or `left - right` if `is_subtracted`; `None` if the sum has no such number.
pub(crate) fn sum<'a>(left: Datum<'a>, right: Datum<'_>, is_subtracted: bool) -> Option<Datum<'a>> {
    if left.is_null() || right.is_null() {
        return Some(Datum::Null);
    }
    if let (Some(left), Some(right)) = (left.exact(), right.exact()) {
        let right = if is_subtracted { right.times(-1)? } else { right };
        return left.plus(right).map(Datum::Decimal);
    }
    let double = |datum: Datum<'_>| match datum {
        Datum::Double(number) => Some(number),
        other => other.exact().map(as_double),
    };
    let (left, right) = (double(left)?, double(right)?);
    Some(Datum::Double(if is_subtracted { left - right } else { left + right }))
}

/// `left || right`, no value if either has none; `None` if one is no text.
pub(crate) fn appended(left: Datum<'_>, right: Datum<'_>) -> Option<Option<String>> {
    match (left, right) {
        (Datum::Null, _) | (_, Datum::Null) => Some(None),
        (Datum::Text(left), Datum::Text(right)) => Some(Some(format!("{left}{right}"))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Datum<'static> {
        Datum::Decimal(text.parse().unwrap())
    }

    #[test]
    fn nothing_compares_with_no_value() {
        for comparison in [Comparison::Equal, Comparison::Less, Comparison::GreaterOrEqual] {
            assert!(!holds(&Datum::Null, comparison, &Datum::Null));
        }
        assert!(holds(&Datum::Int(1), Comparison::Less, &decimal("1.5")));
        assert!(holds(&decimal("1.50"), Comparison::Equal, &decimal("1.5")));
        assert!(!holds(&Datum::Text("1"), Comparison::Equal, &Datum::Int(1)));
    }

    #[test]
    fn a_double_beyond_every_decimal_still_has_a_side() {
        let money = ColumnType::Decimal { precision: 12, scale: 2 };
        let holds = |left: &str, comparison, right: f64| {
            let right = compared(Datum::Double(right), money).unwrap();
            holds(&decimal(left), comparison, &right)
        };
        for (side, comparison) in [(1e300, Comparison::Less), (-1e300, Comparison::Greater)] {
            assert!(holds("0", comparison, side) && holds("-9999999999.99", comparison, side));
        }
        assert!(holds("9999999999.99", Comparison::Less, f64::INFINITY));
        assert!(holds("0", Comparison::Less, 1e-30) && holds("0.01", Comparison::Greater, 1e-30));
        assert!(holds("0", Comparison::Greater, -1e-30));
        assert_eq!(compared(Datum::Double(f64::NAN), money), None);
    }

    #[test]
    fn text_is_appended_to_text_only() {
        let both = Some(Some("1 2".to_owned()));
        assert_eq!(appended(Datum::Text("1"), Datum::Text(" 2")), both);
        assert_eq!(appended(Datum::Null, Datum::Text(" 2")), Some(None));
        assert_eq!(appended(Datum::Text("1"), Datum::Int(2)), None);
    }

    #[test]
    fn sums_are_exact_where_they_can_be() {
        assert_eq!(sum(decimal("1.10"), Datum::Int(2), true), Some(decimal("-0.90")));
        assert_eq!(sum(Datum::Int(i64::MAX), Datum::Int(1), false), None);
        assert_eq!(sum(Datum::Null, Datum::Int(1), false), Some(Datum::Null));
        assert_eq!(sum(Datum::Double(0.5), Datum::Int(1), false), Some(Datum::Double(1.5)));
    }
}
