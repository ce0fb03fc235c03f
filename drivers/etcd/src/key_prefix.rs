//! Key prefix of a table: where its records are.

use assay_model::Table;
use assay_store::{Request, Values};
use bytes::Bytes;

/// Where the records of one table are.
#[derive(Clone, Debug)]
pub(super) struct KeyPrefix {
    /// What every key of the table begins with.
    begin: Vec<u8>,
    /// The first key behind all of them.
    pub(super) end: Bytes,
    /// The names of the fields.
    pub(super) fields: Vec<String>,
}

impl KeyPrefix {
    /// Keys are `PREFIX/table/key`.
    pub(super) fn new(prefix: &str, table: &Table) -> KeyPrefix {
        let begin = format!("{prefix}/{}/", table.name).into_bytes();
        let mut end = begin.clone();
        // The slash at the end becomes what follows it.
        end.pop();
        end.push(b'/' + 1);
        KeyPrefix { begin, end: end.into(), fields: table.fields.clone() }
    }

    /// The record's key in the store.
    pub(super) fn key(&self, key: &[u8]) -> Bytes {
        [&self.begin, key].concat().into()
    }

    /// The first key behind those of a scan.
    pub(super) fn end_of(&self, request: &Request<'_>) -> Bytes {
        match request.end {
            [] => self.end.clone(),
            end => self.key(end),
        }
    }

    /// Whether no field of the layout is left out.
    pub(super) fn has_every_field(&self, values: &Values<'_>) -> bool {
        (0..self.fields.len()).all(|number| values.get(number as u16).is_some())
    }
}

/// The tables of a layout by number.
pub(super) type Plan = Vec<KeyPrefix>;

#[cfg(test)]
mod tests {
    use super::*;

    fn key_prefix() -> KeyPrefix {
        let fields = vec!["a".to_owned(), "b".to_owned()];
        KeyPrefix::new("p", &Table { name: "t".into(), fields, needs_key_order: false })
    }

    #[test]
    fn keys_of_a_table_lie_between_its_begin_and_its_end() {
        let key_prefix = key_prefix();
        assert_eq!(key_prefix.key(b"user1"), "p/t/user1");
        for key in [&b""[..], b"/", &[0], &[0xFF; 9]] {
            let key = key_prefix.key(key);
            assert!(key >= key_prefix.begin && key < key_prefix.end, "{key:?}");
        }
        assert!(Bytes::from_static(b"p/tt/a") > key_prefix.end);
        assert!(Bytes::from_static(b"p/t") < key_prefix.begin);
    }

    #[test]
    fn only_an_update_of_every_field_needs_not_know_the_old_record() {
        let key_prefix = key_prefix();
        let has = |spans: &[(u16, std::ops::Range<u32>)]| {
            key_prefix.has_every_field(&Values::new(spans, b"xy"))
        };
        assert!(has(&[(1, 0..1), (0, 1..2)]));
        assert!(!has(&[(1, 0..1)]));
        assert!(!has(&[(1, 0..1), (1, 1..2)]));
    }
}
