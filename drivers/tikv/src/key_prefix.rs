//! Key prefix of the records of one table.

use assay_model::{Reason, Table};
use assay_store::{Request, Values, row};

use super::failure::Failure;

/// How many records a scan requests at once: the client library refuses more than 10,240.
pub(super) const MOST_AT_ONCE: u32 = 10_000;

/// The keys and fields of one table. Keys are `table:key`, as go-ycsb has them.
#[derive(Clone, Debug)]
pub(super) struct KeyPrefix {
    /// What every key of the table begins with.
    pub(super) begin: Vec<u8>,
    /// The first key behind all of them.
    pub(super) end: Vec<u8>,
    fields: Vec<String>,
}

/// The tables of a layout by number.
pub(super) type Plan = Vec<KeyPrefix>;

impl KeyPrefix {
    /// The key prefix of a table, whose name has no colon.
    pub(super) fn new(table: &Table) -> KeyPrefix {
        let begin = format!("{}:", table.name).into_bytes();
        let mut end = begin.clone();
        // The colon at the end becomes what follows it.
        end.pop();
        end.push(b':' + 1);
        KeyPrefix { begin, end, fields: table.fields.clone() }
    }

    /// The record's key in the store.
    pub(super) fn key(&self, key: &[u8]) -> Vec<u8> {
        [&self.begin, key].concat()
    }

    /// The value of a new record.
    pub(super) fn make(&self, values: &Values<'_>) -> Result<Vec<u8>, Failure> {
        let mut made = Vec::new();
        row::make(values, &self.fields, &mut made).map_err(Failure::refused)?;
        Ok(made)
    }

    /// The value of a record that was `old`, with these values changed.
    pub(super) fn merge(&self, old: &[u8], values: &Values<'_>) -> Result<Vec<u8>, Failure> {
        if !row::is_whole(old) {
            return Err(Failure::refused(Reason::WrongType));
        }
        let mut new = Vec::with_capacity(old.len());
        row::merge(old, values, &self.fields, &mut new).map_err(Failure::refused)?;
        Ok(new)
    }

    /// Appends what a read or scan wants of a record.
    pub(super) fn hand_out(
        &self,
        value: &[u8],
        request: &Request<'_>,
        rows: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        if !row::is_whole(value) {
            return Err(Failure::refused(Reason::WrongType));
        }
        row::copy(value, request.fields, &self.fields, rows).map_err(Failure::refused)
    }
}

/// Where the next piece of a scan begins, and which one that is.
pub(super) struct Piece {
    pub(super) from: Vec<u8>,
    pub(super) to: Vec<u8>,
    pub(super) limit: u32,
}

/// How far a scan has come.
pub(super) struct Progress {
    from: Vec<u8>,
    end: Vec<u8>,
    left: u32,
}

impl Progress {
    /// At the beginning.
    pub(super) fn new(key_prefix: &KeyPrefix, request: &Request<'_>) -> Progress {
        let end = match request.end {
            [] => key_prefix.end.clone(),
            end => key_prefix.key(end),
        };
        Progress { from: key_prefix.key(request.key), end, left: request.limit }
    }

    /// Where it goes on; none if it is over.
    pub(super) fn from(&self) -> Option<&[u8]> {
        (self.left > 0 && self.from < self.end).then_some(&self.from)
    }

    /// The next piece, which does not go beyond `region_end`.
    pub(super) fn piece(&self, region_end: Option<Vec<u8>>) -> Piece {
        let end = &self.end;
        let to = region_end.filter(|region_end| region_end < end).unwrap_or_else(|| end.clone());
        Piece { from: self.from.clone(), to, limit: self.left.min(MOST_AT_ONCE) }
    }

    /// Goes on behind `piece`, which had so many records, the last of them under `last`.
    pub(super) fn go_on(&mut self, piece: Piece, count: u32, last: Option<Vec<u8>>) {
        self.left = self.left.saturating_sub(count);
        self.from = match last {
            // There may be more in it.
            Some(mut last) if count >= piece.limit => {
                last.push(0);
                last
            }
            _ => piece.to,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_prefix() -> KeyPrefix {
        let fields = vec!["a".to_owned(), "b".to_owned()];
        KeyPrefix::new(&Table { name: "t".into(), fields, needs_key_order: false })
    }

    #[test]
    fn keys_of_a_table_lie_between_its_begin_and_its_end() {
        let key_prefix = key_prefix();
        assert_eq!(key_prefix.key(b"user1"), b"t:user1");
        for key in [&b""[..], b":", &[0], &[0xFF; 9]] {
            let key = key_prefix.key(key);
            assert!(key >= key_prefix.begin && key < key_prefix.end, "{key:?}");
        }
        assert!(b"tt:a".to_vec() > key_prefix.end && b"t".to_vec() < key_prefix.begin);
    }

    #[test]
    fn a_scan_goes_on_behind_what_it_has() {
        let key_prefix = key_prefix();
        let mut progress = Progress { from: key_prefix.key(b"a"), end: key_prefix.end, left: 5 };
        let piece = progress.piece(Some(b"t:m".to_vec()));
        assert_eq!((&piece.from[..], &piece.to[..], piece.limit), (&b"t:a"[..], &b"t:m"[..], 5));
        // The region had less than was wanted.
        progress.go_on(piece, 2, Some(b"t:c".to_vec()));
        assert_eq!(progress.from(), Some(&b"t:m"[..]));
        let piece = progress.piece(None);
        assert_eq!((&piece.to[..], piece.limit), (&b"t;"[..], 3));
        progress.go_on(piece, 1, Some(b"t:x".to_vec()));
        assert_eq!(progress.from(), None);
    }

    #[test]
    fn a_long_scan_comes_in_pieces() {
        let key_prefix = key_prefix();
        let mut progress =
            Progress { from: key_prefix.key(b""), end: key_prefix.end, left: MOST_AT_ONCE + 1 };
        let piece = progress.piece(None);
        assert_eq!(piece.limit, MOST_AT_ONCE);
        progress.go_on(piece, MOST_AT_ONCE, Some(b"t:k".to_vec()));
        assert_eq!(progress.from(), Some(&b"t:k\0"[..]));
        assert_eq!(progress.piece(None).limit, 1);
    }
}
