//! A transaction under way, with what it knows of records.

use std::collections::HashMap;

use tikv_client::Transaction;

/// How many requests the library makes to commit one record: prewrite, timestamp, commit.
const COMMIT_REQUESTS: u16 = 3;

/// One of the library's transactions until it ends.
pub(super) struct Open {
    pub(super) transaction: Transaction,
    pub(super) records: Records,
}

/// What a transaction has done to records, by their keys.
#[derive(Debug)]
pub(super) struct Records {
    known: HashMap<Vec<u8>, Known>,
    remembers: Remembers,
    is_ending: bool,
}

/// What is remembered of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remembers {
    /// What was locked or written: there is but one request.
    Writes,
    /// What was read as well: other requests follow.
    Everything,
}

#[derive(Clone, Copy, Debug, Default)]
struct Known {
    is_read: bool,
    is_locked: bool,
    is_written: bool,
}

impl Open {
    /// Nothing was done in it yet.
    pub(super) fn new(transaction: Transaction, remembers: Remembers) -> Open {
        Open { transaction, records: Records::new(remembers) }
    }
}

impl Records {
    fn new(remembers: Remembers) -> Records {
        Records { known: HashMap::new(), remembers, is_ending: false }
    }

    /// Whether the library, which keeps what it has read and buffers what it writes, reads the
    /// record without a request.
    pub(super) fn sees(&self, key: &[u8]) -> bool {
        self.known.get(key).is_some_and(|known| known.is_read || known.is_written)
    }

    /// Whether the transaction wrote or removed the record itself.
    pub(super) fn has_written(&self, key: &[u8]) -> bool {
        self.known.get(key).is_some_and(|known| known.is_written)
    }

    /// The record was read, or found missing.
    pub(super) fn note_read(&mut self, key: &[u8]) {
        if self.remembers == Remembers::Everything && !self.sees(key) {
            self.of(key).is_read = true;
        }
    }

    /// The record was locked.
    pub(super) fn note_locked(&mut self, key: &[u8]) {
        self.of(key).is_locked = true;
    }

    /// The record was written or removed.
    pub(super) fn note_written(&mut self, key: &[u8]) {
        self.of(key).is_written = true;
    }

    /// The transaction is being committed.
    pub(super) fn note_ending(&mut self) {
        self.is_ending = true;
    }

    /// Whether it was tried to commit the transaction.
    pub(super) fn is_ending(&self) -> bool {
        self.is_ending
    }

    fn of(&mut self, key: &[u8]) -> &mut Known {
        self.known.entry(key.to_vec()).or_default()
    }

    /// Whether anything was written or removed.
    pub(super) fn has_changes(&self) -> bool {
        self.known.values().any(|known| known.is_written)
    }

    /// The records that a commit is about, those included that are locked and left as they are.
    pub(super) fn concerned(&self) -> impl Iterator<Item = &[u8]> {
        let concerned = self.known.iter().filter(|(_, it)| it.is_locked || it.is_written);
        concerned.map(|(key, _)| key.as_slice())
    }

    /// How many requests a commit takes, if each phase finds all records in one region: all but the
    /// first one are committed after it, by one request more.
    pub(super) fn commit_requests(&self) -> u16 {
        match self.concerned().count() {
            0 => 0,
            1 => COMMIT_REQUESTS,
            _ => COMMIT_REQUESTS + 1,
        }
    }

    /// Whether there may be locks, which somebody else would have to wait for: those that were
    /// taken before, or those of a commit.
    pub(super) fn may_be_locked(&self) -> bool {
        self.known.values().any(|known| known.is_locked || (self.is_ending && known.is_written))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_or_written_is_seen_without_a_request() {
        let mut records = Records::new(Remembers::Everything);
        assert!(!records.sees(b"a"));
        records.note_read(b"a");
        records.note_locked(b"b");
        records.note_written(b"c");
        assert_eq!([b"a", b"b", b"c"].map(|key| records.sees(key)), [true, false, true]);
        assert_eq!([b"a", b"b", b"c"].map(|key| records.has_written(key)), [false, false, true]);
    }

    #[test]
    fn reads_are_forgotten_where_no_other_request_follows() {
        let mut records = Records::new(Remembers::Writes);
        records.note_read(b"a");
        records.note_written(b"b");
        assert_eq!([b"a", b"b"].map(|key| records.sees(key)), [false, true]);
    }

    #[test]
    fn a_commit_is_about_what_was_written_or_locked() {
        let mut records = Records::new(Remembers::Everything);
        records.note_read(b"a");
        assert_eq!((records.commit_requests(), records.has_changes()), (0, false));
        records.note_locked(b"b");
        assert_eq!((records.commit_requests(), records.has_changes()), (3, false));
        records.note_locked(b"c");
        records.note_written(b"c");
        assert_eq!((records.commit_requests(), records.has_changes()), (4, true));
        let mut concerned: Vec<_> = records.concerned().collect();
        concerned.sort_unstable();
        assert_eq!(concerned, [b"b", b"c"]);
    }

    #[test]
    fn locks_are_there_once_they_are_taken_or_a_commit_takes_them() {
        let mut records = Records::new(Remembers::Everything);
        records.note_read(b"a");
        records.note_written(b"b");
        assert!(!records.may_be_locked());
        records.note_ending();
        assert!(records.may_be_locked());
        let mut records = Records::new(Remembers::Everything);
        records.note_locked(b"a");
        assert!(records.may_be_locked());
    }
}
