//! Key prefix of a table: where a store of keys with values keeps its records.

use assay_model::{Reason, Table};
use assay_store::{Request, Values, row};

/// The keys of the records of one table, of type `K`, and its fields. A record is one value in the
/// encoding of [`row`].
#[derive(Clone, Debug)]
pub struct KeyPrefix<K = Vec<u8>> {
    /// What every key of the table begins with.
    pub begin: Vec<u8>,
    /// The first key behind all of them.
    pub end: K,
    fields: Vec<String>,
}

impl<K: From<Vec<u8>> + Clone> KeyPrefix<K> {
    /// Keys of `table` begin with `begin`, whose last sign ends names and is in none of them.
    ///
    /// # Panics
    /// If `begin` is empty.
    pub fn new(begin: String, table: &Table) -> KeyPrefix<K> {
        let begin = begin.into_bytes();
        let mut end = begin.clone();
        // The sign at the end becomes what follows it.
        *end.last_mut().expect("a prefix has a sign at its end") += 1;
        KeyPrefix { begin, end: end.into(), fields: table.fields.clone() }
    }

    /// The record's key in the store.
    pub fn key(&self, key: &[u8]) -> K {
        [&self.begin, key].concat().into()
    }

    /// The first key behind those of a scan.
    pub fn end_of(&self, request: &Request<'_>) -> K {
        match request.end {
            [] => self.end.clone(),
            end => self.key(end),
        }
    }

    /// Whether no field of the table is left out.
    pub fn has_every_field(&self, values: &Values<'_>) -> bool {
        (0..self.fields.len()).all(|number| values.get(number as u16).is_some())
    }

    /// The value of a new record.
    ///
    /// # Errors
    /// [`Reason::Malformed`] if the table has no such field.
    pub fn make(&self, values: &Values<'_>) -> Result<Vec<u8>, Reason> {
        let mut made = Vec::new();
        row::make(values, &self.fields, &mut made)?;
        Ok(made)
    }

    /// The value of a record that was `old`, with these values changed.
    ///
    /// # Errors
    /// [`Reason::WrongType`] if `old` is no record, [`Reason::Malformed`] if the table has no such
    /// field.
    pub fn merge(&self, old: &[u8], values: &Values<'_>) -> Result<Vec<u8>, Reason> {
        check(old)?;
        let mut new = Vec::with_capacity(old.len());
        row::merge(old, values, &self.fields, &mut new)?;
        Ok(new)
    }

    /// Appends what a read or scan wants of a record.
    ///
    /// # Errors
    /// As [`KeyPrefix::merge`].
    pub fn hand_out(
        &self,
        value: &[u8],
        request: &Request<'_>,
        rows: &mut Vec<u8>,
    ) -> Result<(), Reason> {
        check(value)?;
        row::copy(value, request.fields, &self.fields, rows)
    }
}

fn check(value: &[u8]) -> Result<(), Reason> {
    if row::is_whole(value) { Ok(()) } else { Err(Reason::WrongType) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_prefix(begin: &str) -> KeyPrefix {
        let fields = vec!["a".to_owned(), "b".to_owned()];
        KeyPrefix::new(begin.into(), &Table { name: "t".into(), fields, needs_key_order: false })
    }

    #[test]
    fn keys_of_a_table_lie_between_its_begin_and_its_end() {
        for (begin, key, before, behind) in
            [("t:", "t:user1", "t", "tt:a"), ("p/t/", "p/t/user1", "p/t", "p/tt/a")]
        {
            let key_prefix = key_prefix(begin);
            assert_eq!(key_prefix.key(b"user1"), key.as_bytes(), "{begin}");
            for key in [&b""[..], b":", b"/", &[0], &[0xFF; 9]] {
                let key = key_prefix.key(key);
                assert!(key >= key_prefix.begin && key < key_prefix.end, "{begin}: {key:?}");
            }
            assert!(before.as_bytes() < &*key_prefix.begin, "{begin}");
            assert!(behind.as_bytes() > &*key_prefix.end, "{begin}");
        }
    }

    #[test]
    fn only_an_update_of_every_field_needs_not_know_the_old_record() {
        let key_prefix = key_prefix("p/t/");
        let has = |spans: &[(u16, std::ops::Range<u32>)]| {
            key_prefix.has_every_field(&Values::new(spans, b"xy"))
        };
        assert!(has(&[(1, 0..1), (0, 1..2)]));
        assert!(!has(&[(1, 0..1)]));
        assert!(!has(&[(1, 0..1), (1, 1..2)]));
    }
}
