//! Rows in our own encoding, put together field by field.

use std::collections::BTreeMap;

use assay_store::answer::{Rows, encode_field, encode_row};

/// How many fields `row` has.
pub fn fields(row: &[u8]) -> u16 {
    row.first_chunk().map_or(0, |bytes| u16::from_le_bytes(*bytes))
}

/// The values of `row` by the names of their fields.
pub fn by_name(row: &[u8]) -> BTreeMap<&[u8], &[u8]> {
    let mut values = BTreeMap::new();
    Rows::Encoded(row).each(|field| {
        values.insert(field.name, field.value);
    });
    values
}

/// `old` with the fields of `patch` put in place of its own, or behind them if they are new.
///
/// # Panics
/// If there would be more than 65,535 fields.
pub fn merge(old: &[u8], patch: &[u8]) -> Vec<u8> {
    let mut into = Vec::with_capacity(old.len() + patch.len());
    encode_row(0, &mut into);
    let mut count: u16 = 0;
    let mut more = |name: &[u8], value: &[u8]| {
        encode_field(name, value, &mut into);
        count = count.checked_add(1).expect("a record has fewer fields");
    };
    let mut left = by_name(patch);
    Rows::Encoded(old).each(|field| {
        more(field.name, left.remove(field.name).unwrap_or(field.value));
    });
    Rows::Encoded(patch).each(|field| {
        if let Some(value) = left.remove(field.name) {
            more(field.name, value);
        }
    });
    into[..2].copy_from_slice(&count.to_le_bytes());
    into
}

/// The first half of the fields of `row`, the smaller half if they are odd.
pub fn first_half(row: &[u8]) -> Vec<u8> {
    let half = fields(row) / 2;
    let mut into = Vec::with_capacity(row.len());
    encode_row(half, &mut into);
    let mut place = 0;
    Rows::Encoded(row).each(|field| {
        if place < half {
            encode_field(field.name, field.value, &mut into);
        }
        place += 1;
    });
    into
}

/// The value of the field of this name.
pub fn get<'a>(row: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut found = None;
    Rows::Encoded(row).each(|field| {
        if field.name == name {
            found = Some(field.value);
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(fields: &[(&str, &str)]) -> Vec<u8> {
        let mut row = Vec::new();
        encode_row(fields.len() as u16, &mut row);
        for (name, value) in fields {
            encode_field(name.as_bytes(), value.as_bytes(), &mut row);
        }
        row
    }

    #[test]
    fn a_patch_replaces_and_adds() {
        let merged = merge(&row(&[("a", "1"), ("b", "2")]), &row(&[("b", "three"), ("c", "4")]));
        assert_eq!(merged, row(&[("a", "1"), ("b", "three"), ("c", "4")]));
        assert_eq!(merge(&row(&[]), &row(&[("a", "1")])), row(&[("a", "1")]));
    }

    #[test]
    fn the_first_half_leaves_the_middle_to_the_second() {
        let of_three = first_half(&row(&[("a", "1"), ("b", "2"), ("c", "3")]));
        assert_eq!(of_three, row(&[("a", "1")]));
        assert_eq!(get(&of_three, b"b"), None);
    }
}
