//! Batches of requests, for both of TiKV's interfaces.

use std::collections::HashMap;

use assay_driver_kit::task::{BatchOutcome, Completion};
use assay_model::Kind;
use assay_store::OwnedRequest;
use tikv_client::KvPair;

use super::key_prefix::KeyPrefix;

/// The kinds that are gathered.
pub(super) const KINDS: &[Kind] = &[Kind::Read, Kind::Insert];

/// A key with its value.
pub(super) type Pair = (Vec<u8>, Vec<u8>);

/// A batch on its key prefix.
#[derive(Clone, Copy)]
pub(super) struct Batch<'a> {
    key_prefix: &'a KeyPrefix,
    requests: &'a [OwnedRequest],
}

impl<'a> Batch<'a> {
    /// These requests, of one kind.
    pub(super) fn new(key_prefix: &'a KeyPrefix, requests: &'a [OwnedRequest]) -> Batch<'a> {
        Batch { key_prefix, requests }
    }

    /// Whether it writes.
    pub(super) fn is_insert(self) -> bool {
        self.requests.iter().all(|own| own.request().kind == Kind::Insert)
    }

    /// The session of the first request.
    pub(super) fn session(self) -> u32 {
        self.requests.first().map_or(0, |own| own.request().session)
    }

    /// The keys that it is about.
    pub(super) fn keys(self) -> Vec<Vec<u8>> {
        self.requests.iter().map(|own| self.key_prefix.key(own.request().key)).collect()
    }

    /// The records to write, in the order of their keys, and how each request ends when they are
    /// written: one whose record cannot be made is refused.
    pub(super) fn records(self) -> (Vec<Pair>, Vec<BatchOutcome>) {
        let (mut pairs, mut outcomes) = (Vec::new(), Vec::new());
        for own in self.requests {
            let request = own.request();
            let ending = match self.key_prefix.make(&request.values) {
                Ok(value) => {
                    pairs.push((self.key_prefix.key(request.key), value));
                    Completion::Done { found: true }
                }
                Err(reason) => Completion::Refused(reason),
            };
            outcomes.push(BatchOutcome { ending, rows_end: 0 });
        }
        pairs.sort_unstable();
        (pairs, outcomes)
    }

    /// Gives each read what was found of its record.
    pub(super) fn hand_out(
        self,
        found: impl IntoIterator<Item = KvPair>,
        rows: &mut Vec<u8>,
    ) -> Vec<BatchOutcome> {
        let pairs = found.into_iter().map(|KvPair(key, value)| (Vec::from(key), value));
        let found: HashMap<Vec<u8>, Vec<u8>> = pairs.collect();
        let outcome = |own: &OwnedRequest| {
            let (request, begin) = (own.request(), rows.len());
            let ended = match found.get(&self.key_prefix.key(request.key)) {
                None => Ok(false),
                Some(value) => self.key_prefix.hand_out(value, &request, rows).map(|()| true),
            };
            BatchOutcome::of(ended.map_err(Completion::Refused), begin, rows)
        };
        self.requests.iter().map(outcome).collect()
    }
}

#[cfg(test)]
mod tests {
    use assay_model::{Fields, Reason, Table};
    use assay_store::{Request, Values};

    use super::*;

    fn key_prefix() -> KeyPrefix {
        let fields = vec!["a".to_owned()];
        let table = Table { name: "t".into(), fields, needs_key_order: false };
        KeyPrefix::new("t:".into(), &table)
    }

    /// Requests for these keys, each with a value for a field of this number.
    fn requests(kind: Kind, requested: &[(&str, u16)]) -> Vec<OwnedRequest> {
        let own = |(key, field): &(&str, u16)| {
            let (spans, fields) = ([(*field, 0..1)], Fields::All);
            let values = Values::new(&spans, b"x");
            let key = key.as_bytes();
            let mut own = OwnedRequest::default();
            own.fill(&Request { session: 7, fields, values, ..Request::new(kind, key) });
            own
        };
        requested.iter().map(own).collect()
    }

    const DONE: Completion = Completion::Done { found: true };

    #[test]
    fn records_go_in_the_order_of_their_keys_without_what_cannot_be_made() {
        let key_prefix = key_prefix();
        let inserts = requests(Kind::Insert, &[("b", 0), ("wrong", 9), ("a", 0)]);
        let batch = Batch::new(&key_prefix, &inserts);
        assert!(batch.is_insert());
        let (pairs, outcomes) = batch.records();
        let keys: Vec<&[u8]> = pairs.iter().map(|(key, _)| &key[..]).collect();
        assert_eq!(keys, [b"t:a", b"t:b"]);
        let endings: Vec<Completion> = outcomes.iter().map(|outcome| outcome.ending).collect();
        assert_eq!(endings, [DONE, Completion::Refused(Reason::Malformed), DONE]);
    }

    #[test]
    fn each_read_gets_its_own_record() {
        let key_prefix = key_prefix();
        let inserts = requests(Kind::Insert, &[("a", 0), ("b", 0)]);
        let (mut pairs, _) = Batch::new(&key_prefix, &inserts).records();
        pairs[0].1 = b"no record".to_vec();
        pairs.reverse();
        let reads = requests(Kind::Read, &[("a", 0), ("b", 0), ("c", 0)]);
        let mut rows = Vec::new();
        let batch = Batch::new(&key_prefix, &reads);
        assert!(!batch.is_insert());
        let outcomes = batch.hand_out(pairs.into_iter().map(KvPair::from), &mut rows);
        let wrong = Completion::Refused(Reason::WrongType);
        let endings: Vec<Completion> = outcomes.iter().map(|outcome| outcome.ending).collect();
        assert_eq!(endings, [wrong, DONE, Completion::Done { found: false }]);
        let ends: Vec<usize> = outcomes.iter().map(|outcome| outcome.rows_end).collect();
        assert_eq!(ends, [0, rows.len(), rows.len()]);
        assert_eq!(assay_store::Rows::Encoded(&rows).count(), 1);
    }
}
