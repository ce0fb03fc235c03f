//! Tests of the order of keys.

use std::cmp::Ordering;

use assay_model::{Datum, Seed};

use super::*;

fn encoded(datum: Datum<'_>, direction: Direction) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(&datum, direction, &mut bytes);
    bytes
}

/// Every pair of `rising` sorts as its places do, in both directions.
fn check(rising: &[Datum<'_>]) {
    for (left, one) in rising.iter().enumerate() {
        for (right, other) in rising.iter().enumerate() {
            let up = Direction::Ascending;
            let order = encoded(*one, up).cmp(&encoded(*other, up));
            assert_eq!(order, left.cmp(&right), "{one} against {other}");
            let down = Direction::Descending;
            let turned = encoded(*one, down).cmp(&encoded(*other, down));
            assert_eq!(turned, right.cmp(&left), "{one} against {other}, descending");
        }
    }
}

fn decimal(text: &str) -> Datum<'static> {
    Datum::Decimal(text.parse().unwrap())
}

#[test]
fn numbers_sort_by_value_whatever_their_size_or_scale() {
    check(&[
        Datum::Null,
        Datum::Int(i64::MIN),
        Datum::Int(-65_537),
        Datum::Int(-65_536),
        Datum::Int(-256),
        Datum::Int(-255),
        Datum::Int(-2),
        decimal("-1.5"),
        Datum::Int(-1),
        decimal("-0.000000000000000001"),
        Datum::Int(0),
        decimal("0.000000000000000001"),
        decimal("0.5"),
        Datum::Int(1),
        decimal("1.01"),
        decimal("1.1"),
        Datum::Int(255),
        decimal("255.99"),
        Datum::Int(256),
        Datum::Int(i64::MAX),
    ]);
    let up = Direction::Ascending;
    assert_eq!(encoded(decimal("1.50"), up), encoded(decimal("1.5"), up));
    assert_eq!(encoded(decimal("3.00"), up), encoded(Datum::Int(3), up));
}

#[test]
fn texts_sort_by_their_bytes_and_none_hides_another() {
    check(&[
        Datum::Null,
        Datum::Text(""),
        Datum::Text("\0"),
        Datum::Text("\0\0"),
        Datum::Text("\0\u{1}"),
        Datum::Text("\u{1}"),
        Datum::Text("a"),
        Datum::Text("a\0"),
        Datum::Text("a\0b"),
        Datum::Text("ab"),
        Datum::Text("b"),
        Datum::Text("ä"),
    ]);
    check(&[Datum::Bytes(&[]), Datum::Bytes(&[0xFE]), Datum::Bytes(&[0xFF])]);
}

#[test]
fn floating_points_moments_and_truths_sort_by_value() {
    let doubles = [f64::NEG_INFINITY, -2.5, -1e-300, 0.0, 1e-300, 2.5, f64::INFINITY];
    check(&doubles.map(Datum::Double));
    let up = Direction::Ascending;
    assert_eq!(encoded(Datum::Double(-0.0), up), encoded(Datum::Double(0.0), up));
    check(&[Datum::Null, Datum::Timestamp(-1), Datum::Timestamp(0), Datum::Timestamp(1 << 40)]);
    check(&[Datum::Null, Datum::Bool(false), Datum::Bool(true)]);
}

/// Random keys of three columns: the middle one descends.
#[test]
fn compound_keys_sort_column_by_column() {
    let mut draws = Seed(4).draws(77, 0);
    let texts = ["", "a", "a\0", "ab", "b"];
    let mut keys = Vec::new();
    for _ in 0..300 {
        let text = texts[draws.below(5) as usize];
        let (number, last) = (draws.below(7) as i64 * 100 - 300, draws.below(3) as i64);
        let mut key = Vec::new();
        encode(&Datum::Text(text), Direction::Ascending, &mut key);
        encode(&Datum::Int(number), Direction::Descending, &mut key);
        let prefix = key.clone();
        encode(&Datum::Int(last), Direction::Ascending, &mut key);
        keys.push(((text, std::cmp::Reverse(number), last), prefix, key));
    }
    for (values, prefix, key) in &keys {
        for (other, other_prefix, other_key) in &keys {
            assert_eq!(key.cmp(other_key), values.cmp(other), "{values:?} against {other:?}");
            let same = (values.0, values.1) == (other.0, other.1);
            assert_eq!(other_key.starts_with(prefix), same);
            let mut end = prefix.clone();
            assert!(step_over(&mut end));
            let behind = (values.0, values.1).cmp(&(other.0, other.1)) == Ordering::Less;
            assert_eq!(*other_key >= end, behind, "{prefix:x?} {other_prefix:x?}");
        }
    }
}

#[test]
fn nothing_is_behind_the_last_key() {
    let mut last = vec![0xFF, 0xFF];
    assert!(!step_over(&mut last));
    let mut key = vec![1, 0xFF];
    assert!(step_over(&mut key));
    assert_eq!(key, [2]);
}

#[test]
fn whole_numbers_come_out_of_keys_as_they_went_in() {
    let bytes =
        (0..63).flat_map(|bit| [1_i64 << bit, (1 << bit) - 1, -(1 << bit), -(1 << bit) - 1]);
    for number in bytes.chain([i64::MIN, i64::MAX]) {
        for direction in [Direction::Ascending, Direction::Descending] {
            let mut key = Vec::new();
            encode(&Datum::Int(number), direction, &mut key);
            key.extend(b"rest");
            assert_eq!(decode_whole(&key, direction), Some((number, &b"rest"[..])));
        }
    }
}

#[test]
fn what_is_no_whole_number_is_none() {
    let mut half = Vec::new();
    encode(&Datum::Decimal(Decimal { mantissa: 5, scale: 1 }), Direction::Ascending, &mut half);
    let mut text = Vec::new();
    encode(&Datum::Text("a"), Direction::Ascending, &mut text);
    for key in [&half[..], &text, &[], &[0], &[ZERO], &[ZERO + 2, 1], &[ZERO + 9, 1, 1, 1, 1, 1]] {
        assert_eq!(decode_whole(key, Direction::Ascending), None, "{key:?}");
    }
}
