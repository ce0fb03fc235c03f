//! A transaction of requests, after that of etcd's own client.
//!
//! The source is `client/v3/concurrency/stm.go` of etcd 3.5, isolation `SerializableSnapshot`. The
//! first read is linearizable, later ones ask the same member as of the revision of the first; what
//! was read is remembered. Writes are kept here until the commit, which is a single request: if
//! nobody has changed since what was read, write everything. That client tries again when somebody
//! has; this one is refused (conflict).
//!
//! What it does beside that:
//! * A scan is read within its range. The commit demands of each record found that it is as it was,
//!   and of the range that nothing in it is newer than the revision of the first read.
//! * A transaction that wrote nothing sends nothing at its commit: all it read was there at once.
//! * A write reads before it only what its answer needs: an update the old record, a delete whether
//!   there is one, an insert nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use assay_model::{Kind, Reason};
use assay_store::Request;
use bytes::Bytes;

use super::failure::{Doing, Failure};
use super::messages::{
    Compare, DeleteRangeRequest, KeyValue, PutRequest, RangeRequest, RangeResponse, RequestOp,
    TxnRequest, TxnResponse, method,
};
use super::turn::{Turn, refused};

/// What an open transaction has read, and is to write.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    /// The store's revision at the first read; none before it.
    revision: Option<i64>,
    /// What was there for each key that was read.
    found: HashMap<Bytes, Option<KeyValue>>,
    /// The ranges that were scanned: first key, first key behind.
    scanned: BTreeSet<(Bytes, Bytes)>,
    /// What is to be written: a value, or nothing where the record is to be deleted.
    written: BTreeMap<Bytes, Option<Bytes>>,
}

/// The records from `begin` up to `end`, of which a scan wants the first `limit`.
#[derive(Clone, Debug)]
struct Stretch {
    begin: Bytes,
    end: Bytes,
    limit: usize,
}

impl Transaction {
    /// Sends `question` as of the transaction's read revision.
    fn at_revision(&self, question: RangeRequest) -> RangeRequest {
        match self.revision {
            None => question,
            // The member has shown that it has this revision: it need not ask the others again.
            Some(revision) => RangeRequest { revision, serializable: true, ..question },
        }
    }

    fn take_revision(&mut self, answer: &RangeResponse) {
        let reported = answer.header.as_ref().map(|header| header.revision);
        self.revision = self.revision.or(reported);
    }

    /// The record under `key` as far as it is known without a request.
    fn known(&self, key: &Bytes) -> Option<Option<KeyValue>> {
        if let Some(written) = self.written.get(key) {
            return Some(written.as_ref().map(|value| own(key, value)));
        }
        self.found.get(key).cloned()
    }

    fn write(&mut self, key: Bytes, value: Option<Bytes>) {
        self.written.insert(key, value);
    }

    fn written_in(&self, stretch: &Stretch) -> impl Iterator<Item = (&Bytes, &Option<Bytes>)> {
        self.written.range(stretch.begin.clone()..stretch.end.clone())
    }

    /// How many records must be fetched so that enough are left without those deleted here.
    fn fetched(&self, stretch: &Stretch) -> usize {
        let deleted = self.written_in(stretch).filter(|(_, value)| value.is_none());
        stretch.limit + deleted.count()
    }

    /// What a scan shows, given what the store has; remembers what that depends on.
    fn scan(&mut self, stretch: &Stretch, stored: Vec<KeyValue>) -> Vec<KeyValue> {
        let is_cut = stored.len() >= self.fetched(stretch);
        let mut observed: BTreeMap<Bytes, KeyValue> = BTreeMap::new();
        for (key, value) in self.written_in(stretch) {
            if let Some(value) = value {
                observed.insert(key.clone(), own(key, value));
            }
        }
        let is_covered = |record: &KeyValue| self.written.contains_key(&record.key);
        for record in stored.iter().filter(|record| !is_covered(record)) {
            observed.insert(record.key.clone(), record.clone());
        }
        let displayed: Vec<KeyValue> = observed.into_values().take(stretch.limit).collect();
        // Keys behind the last one that is shown, or was fetched, were not read.
        let last = match displayed.len() < stretch.limit {
            true if is_cut => stored.last(),
            true => None,
            false => displayed.last(),
        };
        let end = last.map_or_else(|| stretch.end.clone(), |last| behind(&last.key));
        for record in stored.into_iter().filter(|record| record.key < end) {
            self.found.entry(record.key.clone()).or_insert(Some(record));
        }
        self.scanned.insert((stretch.begin.clone(), end));
        displayed
    }

    /// The request that commits; none if there is nothing to write.
    fn commit(&self) -> Option<TxnRequest> {
        if self.written.is_empty() {
            return None;
        }
        // What is not there has never been changed.
        let found = self.found.iter().map(|(key, record)| {
            let revision = record.as_ref().map_or(0, |record| record.mod_revision);
            Compare::is_unchanged(key.clone(), revision)
        });
        let revision = self.revision.unwrap_or_default();
        let scanned = self.scanned.iter();
        let scanned =
            scanned.map(|(begin, end)| Compare::is_no_newer(begin.clone(), end.clone(), revision));
        let success = self.written.iter().map(|(key, value)| match value {
            Some(value) => RequestOp::put(PutRequest { key: key.clone(), value: value.clone() }),
            None => RequestOp {
                request_delete_range: Some(DeleteRangeRequest {
                    key: key.clone(),
                    range_end: Bytes::new(),
                }),
                ..RequestOp::default()
            },
        });
        Some(TxnRequest {
            compare: found.chain(scanned).collect(),
            success: success.collect(),
            failure: Vec::new(),
        })
    }
}

/// A record as the transaction itself has written it.
fn own(key: &Bytes, value: &Bytes) -> KeyValue {
    KeyValue { key: key.clone(), value: value.clone(), ..KeyValue::default() }
}

/// The first key behind `key`.
fn behind(key: &[u8]) -> Bytes {
    [key, &[0]].concat().into()
}

impl Turn<'_> {
    /// Carries out one request of `transaction`; tells whether the record was there.
    pub(super) async fn step(
        &mut self,
        transaction: &mut Transaction,
        request: &Request<'_>,
        rows: &mut Vec<u8>,
    ) -> Result<bool, Failure> {
        let key = self.key_prefix.key(request.key);
        match request.kind {
            Kind::Read => {
                let found = self.fetch(transaction, key, Doing::Reading).await?;
                self.hand_out(found.as_slice(), request, rows)
            }
            Kind::Scan => self.scan_within(transaction, request, rows).await,
            Kind::Insert => {
                transaction.write(key, Some(self.key_prefix.make(&request.values)?.into()));
                Ok(true)
            }
            Kind::Update => {
                let old = self.fetch(transaction, key.clone(), Doing::ReadingToWrite).await?;
                let Some(old) = old else { return Ok(false) };
                let new = self.key_prefix.merge(&old.value, &request.values)?;
                transaction.write(key, Some(new.into()));
                Ok(true)
            }
            Kind::Delete => {
                let old = self.fetch(transaction, key.clone(), Doing::ReadingToWrite).await?;
                if old.is_some() {
                    transaction.write(key, None);
                }
                Ok(old.is_some())
            }
            Kind::Commit | Kind::Rollback => Err(refused(Reason::Unsupported)),
        }
    }

    /// The record under `key`, from the cache or from the server.
    async fn fetch(
        &mut self,
        transaction: &mut Transaction,
        key: Bytes,
        doing: Doing,
    ) -> Result<Option<KeyValue>, Failure> {
        if let Some(known) = transaction.known(&key) {
            return Ok(known);
        }
        let question = RangeRequest { key: key.clone(), ..RangeRequest::default() };
        let question = transaction.at_revision(question);
        let mut answer: RangeResponse = self.send(method::RANGE, question, doing).await?;
        transaction.take_revision(&answer);
        let found = answer.kvs.pop();
        transaction.found.insert(key, found.clone());
        Ok(found)
    }

    async fn scan_within(
        &mut self,
        transaction: &mut Transaction,
        request: &Request<'_>,
        rows: &mut Vec<u8>,
    ) -> Result<bool, Failure> {
        let (begin, end) = (self.key_prefix.key(request.key), self.key_prefix.end_of(request));
        // To etcd a limit of zero would mean all of them; keys behind the table are none of it.
        if request.limit == 0 || begin >= end {
            return Ok(false);
        }
        let stretch = Stretch { begin, end, limit: request.limit as usize };
        let question = RangeRequest {
            key: stretch.begin.clone(),
            range_end: stretch.end.clone(),
            limit: transaction.fetched(&stretch) as i64,
            ..RangeRequest::default()
        };
        let question = transaction.at_revision(question);
        let answer: RangeResponse = self.send(method::RANGE, question, Doing::Reading).await?;
        transaction.take_revision(&answer);
        let displayed = transaction.scan(&stretch, answer.kvs);
        self.hand_out(&displayed, request, rows)
    }

    /// Commits `transaction`, unless another one has changed the records that it read.
    pub(super) async fn commit(&mut self, transaction: &Transaction) -> Result<bool, Failure> {
        let Some(question) = transaction.commit() else { return Ok(true) };
        let answer: TxnResponse = self.send(method::TXN, question, Doing::Writing).await?;
        match answer.succeeded {
            true => Ok(true),
            false => Err(refused(Reason::Conflict)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::ResponseHeader;

    fn bytes(text: &str) -> Bytes {
        Bytes::copy_from_slice(text.as_bytes())
    }

    fn record(key: &str, mod_revision: i64) -> KeyValue {
        KeyValue { key: bytes(key), mod_revision, value: bytes("stored") }
    }

    fn stretch(begin: &str, limit: usize) -> Stretch {
        Stretch { begin: bytes(begin), end: bytes("z"), limit }
    }

    /// One that reads at revision 7.
    fn begun() -> Transaction {
        let header = Some(ResponseHeader { revision: 7, ..ResponseHeader::default() });
        let mut transaction = Transaction::default();
        transaction.take_revision(&RangeResponse { header, kvs: Vec::new() });
        transaction
    }

    /// What the commit demands, then what it writes, in one line.
    fn committed(transaction: &Transaction) -> String {
        let request = transaction.commit().unwrap();
        let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).replace('\0', "+");
        let demand = |compare: &Compare| {
            let revision = compare.mod_revision.unwrap();
            match compare.range_end.is_empty() {
                true => format!("{}@{revision}", text(&compare.key)),
                false => {
                    format!("{}..{}<{revision}", text(&compare.key), text(&compare.range_end))
                }
            }
        };
        let write = |op: &RequestOp| match (&op.request_put, &op.request_delete_range) {
            (Some(put), None) => format!("{}={}", text(&put.key), text(&put.value)),
            (None, Some(delete)) => format!("-{}", text(&delete.key)),
            other => panic!("{other:?}"),
        };
        let mut demands: Vec<String> = request.compare.iter().map(demand).collect();
        demands.sort_unstable();
        let writes: Vec<String> = request.success.iter().map(write).collect();
        assert!(request.failure.is_empty());
        format!("{}: {}", demands.join(" "), writes.join(" "))
    }

    fn keys(records: &[KeyValue]) -> String {
        let name = |record: &KeyValue| {
            let mark = if record.mod_revision == 0 { "!" } else { "" };
            format!("{}{mark}", String::from_utf8_lossy(&record.key))
        };
        records.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn later_reads_query_one_member_for_the_revision_of_the_first() {
        let first = Transaction::default().at_revision(RangeRequest::default());
        assert_eq!((first.revision, first.serializable), (0, false));
        let mut transaction = begun();
        let header = Some(ResponseHeader { revision: 9, ..ResponseHeader::default() });
        transaction.take_revision(&RangeResponse { header, kvs: Vec::new() });
        let later = transaction.at_revision(RangeRequest::default());
        assert_eq!((later.revision, later.serializable), (7, true));
    }

    #[test]
    fn a_commit_demands_what_was_read_and_writes_what_was_written() {
        let mut transaction = begun();
        assert_eq!(transaction.commit(), None);
        transaction.found.insert(bytes("a"), Some(record("a", 3)));
        transaction.found.insert(bytes("b"), None);
        assert_eq!(transaction.commit(), None);
        transaction.write(bytes("b"), Some(bytes("new")));
        transaction.write(bytes("c"), None);
        transaction.write(bytes("b"), Some(bytes("newer")));
        assert_eq!(committed(&transaction), "a@3 b@0: b=newer -c");
    }

    #[test]
    fn what_was_written_is_known_before_what_was_read() {
        let mut transaction = begun();
        transaction.found.insert(bytes("a"), Some(record("a", 3)));
        assert_eq!(transaction.known(&bytes("a")), Some(Some(record("a", 3))));
        assert_eq!(transaction.known(&bytes("b")), None);
        transaction.write(bytes("a"), Some(bytes("new")));
        assert_eq!(transaction.known(&bytes("a")).flatten().unwrap().value, "new");
        transaction.write(bytes("a"), None);
        assert_eq!(transaction.known(&bytes("a")), Some(None));
    }

    #[test]
    fn a_scan_shows_its_own_writes_among_what_is_stored() {
        let mut transaction = begun();
        for (key, value) in [("b", None), ("c", Some("new")), ("d", Some("new")), ("x", None)] {
            transaction.write(bytes(key), value.map(bytes));
        }
        let scanned = stretch("b", 2);
        // Two are shown, two might be deleted here.
        assert_eq!(transaction.fetched(&scanned), 4);
        let stored = ["b", "c", "e", "f"].map(|key| record(key, 5)).to_vec();
        assert_eq!(keys(&transaction.scan(&scanned, stored)), "c! d!");
        // What lies behind the last that was shown does not matter.
        assert_eq!(committed(&transaction), "b..d+<8 b@5 c@5: -b c=new d=new -x");
    }

    #[test]
    fn a_scan_depends_on_the_range_up_to_where_it_has_looked() {
        let check = |limit, stored: &[&str], displayed: &str, expected: &str| {
            let mut transaction = begun();
            transaction.write(bytes("k"), Some(bytes("new")));
            let stored = stored.iter().map(|key| record(key, 5)).collect();
            assert_eq!(keys(&transaction.scan(&stretch("j", limit), stored)), displayed);
            assert_eq!(committed(&transaction), format!("{expected}: k=new"));
        };
        // It came to the end of the table.
        check(3, &["l"], "k! l", "j..z<8 l@5");
        check(3, &[], "k!", "j..z<8");
        // It came to its limit.
        check(2, &["l", "m"], "k! l", "j..l+<8 l@5");
        check(1, &["l"], "k!", "j..k+<8");
        check(2, &["j", "l"], "j k!", "j..k+<8 j@5");
    }
}
