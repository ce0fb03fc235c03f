//! Key prefixes of tables, and scans piece by piece.

pub(super) use assay_driver_kit::key_prefix::KeyPrefix;
use assay_store::Request;

/// How many records a scan requests at once: the client library refuses more than 10,240.
pub(super) const MOST_AT_ONCE: u32 = 10_000;

/// The tables of a layout by number. Keys are `table:key`, as go-ycsb has them.
pub(super) type Plan = Vec<KeyPrefix>;

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
        let (from, end) = (key_prefix.key(request.key), key_prefix.end_of(request));
        Progress { from, end, left: request.limit }
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
    use assay_model::Table;

    use super::*;

    fn key_prefix() -> KeyPrefix {
        let fields = vec!["a".to_owned(), "b".to_owned()];
        let table = Table { name: "t".into(), fields, needs_key_order: false };
        KeyPrefix::new("t:".into(), &table)
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
