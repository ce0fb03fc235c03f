//! YCSB's values that follow from key with field, so that every read can be checked.

use super::decimal::Decimal;
use super::key::KeyForm;

/// Gives the bytes of the value of `field` of record `number` to `visit`, `size` of them.
///
/// The value begins with key, colon, field name; then, until it is long enough, a colon follows
/// with the decimal form of Java's hash of everything so far, that colon included. That hash is a
/// running polynomial, so it is carried along instead of computed anew.
fn each_byte(key: &KeyForm, number: u64, field: &[u8], size: usize, mut visit: impl FnMut(u8)) {
    let mut hash = 0i32;
    let mut length = 0;
    let mut emit = |byte: u8| {
        hash = hash.wrapping_mul(31).wrapping_add(i32::from(byte));
        if length < size {
            visit(byte);
        }
        length += 1;
        (hash, length)
    };
    key.each_byte(number, |byte| _ = emit(byte));
    let mut state = emit(b':');
    for &byte in field {
        state = emit(byte);
    }
    while state.1 < size {
        state = emit(b':');
        let so_far = state.0;
        if so_far < 0 {
            emit(b'-');
        }
        for digit in Decimal::new(u64::from(so_far.unsigned_abs())).bytes() {
            state = emit(digit);
        }
    }
}

/// Appends the value of `field` of record `number`.
pub(crate) fn append(key: &KeyForm, number: u64, field: &[u8], size: usize, into: &mut Vec<u8>) {
    into.reserve(size);
    each_byte(key, number, field, size, |byte| into.push(byte));
}

/// Whether `value` is the value of `field` of record `number`.
pub(crate) fn is_expected(
    key: &KeyForm,
    number: u64,
    field: &[u8],
    size: usize,
    value: &[u8],
) -> bool {
    let mut bytes = value.iter();
    let mut same = value.len() == size;
    if same {
        each_byte(key, number, field, size, |byte| same &= bytes.next() == Some(&byte));
    }
    same
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::KeyOrder;

    fn form() -> KeyForm {
        KeyForm::new(b"user", 1, KeyOrder::Hashed, None)
    }

    fn value(number: u64, field: &str, size: usize) -> String {
        let mut bytes = Vec::new();
        append(&form(), number, field.as_bytes(), size, &mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn values_equal_those_of_ycsb() {
        let expected = "user6284781860667377211:field0:-56807877:2032869390:-1654881";
        assert_eq!(value(0, "field0", 60), expected);
    }

    #[test]
    fn values_of_every_size_are_the_start_of_the_longest() {
        let longest = value(0, "field0", 200);
        for size in 0..200 {
            assert_eq!(value(0, "field0", size), longest[..size]);
        }
    }

    #[test]
    fn only_the_right_value_is_expected() {
        let right = value(3, "field1", 50);
        let check = |number, field: &str, value: &str| {
            is_expected(&form(), number, field.as_bytes(), 50, value.as_bytes())
        };
        assert!(check(3, "field1", &right));
        assert!(!check(4, "field1", &right));
        assert!(!check(3, "field2", &right));
        assert!(!check(3, "field1", &right[..49]));
        assert!(!check(3, "field1", &format!("{right}0")));
        assert!(!check(3, "field1", ""));
    }
}
