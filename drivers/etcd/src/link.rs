//! Requests for records as requests to etcd: one each, or several.

pub(super) mod batch;

use std::sync::Arc;

use assay_driver_kit::task::{
    Completion, ConnectionState, Context, JobCompletion, Library, Lost, RecordJob,
};
use assay_model::{Kind, Reason, Table};
use assay_store::{OpenError, Request, Values, number_of, row};
use bytes::Bytes;

use super::connector::Endpoints;
use super::failure::{Doing, Failure, FailureSource, failure};
use super::messages::{
    Compare, DeleteRangeRequest, DeleteRangeResponse, KeyValue, PutRequest, PutResponse,
    RangeRequest, RangeResponse, RequestOp, ResponseHeader, TxnRequest, TxnResponse, method,
};
use super::options::Read;
use super::transaction::Transaction;
use super::wire::Wire;

/// How often an update is tried while others write the same record.
pub(super) const ATTEMPTS: u16 = 8;

/// Where the records of one table are.
#[derive(Clone, Debug)]
pub(super) struct KeyPrefix {
    /// What every key of the table begins with.
    begin: Vec<u8>,
    /// The first key behind all of them.
    pub(super) end: Bytes,
    fields: Vec<String>,
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
    fn has_every_field(&self, values: &Values<'_>) -> bool {
        (0..self.fields.len()).all(|number| values.get(number as u16).is_some())
    }
}

/// The tables of a layout by number.
pub(super) type Plan = Vec<KeyPrefix>;

/// A worker's etcd.
pub(super) struct Etcd {
    pub(super) endpoints: Endpoints,
    pub(super) plan: Arc<Plan>,
    pub(super) read: Read,
}

/// A handle on a member, with the transaction that is open on it.
pub(super) struct Link {
    wire: Wire,
    /// The place of the member among the endpoints.
    place: usize,
    transaction: Transaction,
}

impl Library for Etcd {
    type Connection = Link;
    type Job = RecordJob;

    async fn connect(&self) -> Result<Link, OpenError> {
        let (wire, place) = self.endpoints.connect().await?;
        Ok(Link { wire, place, transaction: Transaction::default() })
    }

    fn node(&self, link: &Link, _host: usize) -> u8 {
        if self.endpoints.len() > 1 { number_of(link.place) } else { 0 }
    }

    async fn perform(
        &self,
        link: &mut Link,
        job: &mut RecordJob,
        rows: &mut Vec<u8>,
    ) -> JobCompletion {
        let (kind, context) = (job.kind(), job.context);
        if context == Context::Begins {
            link.transaction = Transaction::default();
        }
        // The end of a transaction is none of any table's.
        let number = if kind.ends_transaction() { 0 } else { usize::from(job.table()) };
        let Some(key_prefix) = self.plan.get(number) else {
            return JobCompletion::new(
                Completion::Refused(Reason::Malformed),
                undone(ConnectionState::Free, context),
            );
        };
        let Link { wire, transaction, .. } = link;
        let watch = wire.watch();
        let mut turn = Turn { wire, key_prefix, read: self.read, requests: 0, revision: 0 };
        let ended = match (kind, context) {
            (Kind::Commit, _) => turn.commit(&std::mem::take(transaction)).await,
            (Kind::Rollback, _) => Ok(true),
            (_, Context::Alone) if !job.batch.is_empty() => turn.carry_out_batch(job, rows).await,
            (_, Context::Alone) => turn.carry_out(&job.request.request(), rows).await,
            (_, Context::Begins | Context::Within) => {
                turn.step(transaction, &job.request.request(), rows).await
            }
        };
        let requests = match context {
            Context::Alone => turn.requests.max(1),
            // What waits for the commit has sent nothing yet.
            Context::Begins | Context::Within => turn.requests,
        };
        watch.end();
        // A step of a transaction waits for its commit.
        let version = if context == Context::Alone { turn.revision } else { 0 };
        let goes_on = context != Context::Alone && !kind.ends_transaction();
        match ended {
            Ok(found) => {
                let after = if goes_on { ConnectionState::Held } else { ConnectionState::Free };
                JobCompletion {
                    ending: Completion::Done { found },
                    after,
                    requests,
                    node: 0,
                    version,
                }
            }
            Err(Failure { ending, source }) => {
                rows.clear();
                let after = undone(self.after(&link.wire, source), context);
                JobCompletion { ending, after, requests, node: 0, version: 0 }
            }
        }
    }

    /// Nothing of a transaction has left us before its commit.
    async fn undo(&self, link: &mut Link) -> Result<(), Lost> {
        link.transaction = Transaction::default();
        Ok(())
    }

    async fn lost(&self, link: &mut Link) {
        link.wire.ended().await;
    }
}

/// What becomes of a connection whose transaction, if there was one, has failed.
fn undone(after: ConnectionState, context: Context) -> ConnectionState {
    match (after, context) {
        (ConnectionState::Free, Context::Begins | Context::Within) => ConnectionState::Undo,
        (other, _) => other,
    }
}

impl Etcd {
    fn after(&self, wire: &Wire, source: FailureSource) -> ConnectionState {
        match source {
            FailureSource::Nobodys => ConnectionState::Free,
            FailureSource::Members if self.endpoints.len() == 1 => ConnectionState::Free,
            FailureSource::Members => ConnectionState::Lost,
            FailureSource::Connections => {
                wire.retire();
                ConnectionState::Lost
            }
        }
    }
}

/// One request for a record on its way.
pub(super) struct Turn<'a> {
    wire: &'a mut Wire,
    pub(super) key_prefix: &'a KeyPrefix,
    read: Read,
    /// How many requests to etcd it took until now.
    requests: u16,
    /// The revision of the record that it has read or written by its key; 0 of others.
    revision: u64,
}

impl Turn<'_> {
    /// Tells whether the record was there.
    async fn carry_out(
        &mut self,
        request: &Request<'_>,
        rows: &mut Vec<u8>,
    ) -> Result<bool, Failure> {
        match request.kind {
            Kind::Read => self.read(request, rows).await,
            Kind::Scan => self.scan(request, rows).await,
            Kind::Update => self.update(request).await,
            Kind::Insert => self.insert(request).await,
            Kind::Delete => self.delete(request).await,
            Kind::Commit | Kind::Rollback => Err(refused(Reason::Unsupported)),
        }
    }

    async fn read(&mut self, request: &Request<'_>, rows: &mut Vec<u8>) -> Result<bool, Failure> {
        let serializable = self.read == Read::Serializable;
        let key = self.key_prefix.key(request.key);
        let question = RangeRequest { key, serializable, ..RangeRequest::default() };
        let found = self.range(question, Doing::Reading).await?;
        self.revision = found.first().map_or(0, |record| record.mod_revision.unsigned_abs());
        self.hand_out(&found, request, rows)
    }

    async fn scan(&mut self, request: &Request<'_>, rows: &mut Vec<u8>) -> Result<bool, Failure> {
        if request.limit == 0 {
            // To etcd that would mean all of them.
            return Ok(false);
        }
        let question = RangeRequest {
            key: self.key_prefix.key(request.key),
            range_end: self.key_prefix.end_of(request),
            limit: request.limit.into(),
            serializable: self.read == Read::Serializable,
            ..RangeRequest::default()
        };
        let found = self.range(question, Doing::Reading).await?;
        self.hand_out(&found, request, rows)
    }

    pub(super) fn hand_out(
        &self,
        found: &[KeyValue],
        request: &Request<'_>,
        rows: &mut Vec<u8>,
    ) -> Result<bool, Failure> {
        for KeyValue { value, .. } in found {
            if !row::is_whole(value) {
                return Err(refused(Reason::WrongType));
            }
            row::copy(value, request.fields, &self.key_prefix.fields, rows).map_err(refused)?;
        }
        Ok(!found.is_empty())
    }

    async fn insert(&mut self, request: &Request<'_>) -> Result<bool, Failure> {
        let put = self.put(request.key, self.make(&request.values)?);
        let answer: PutResponse = self.send(method::PUT, put, Doing::Writing).await?;
        self.revision = revision(answer.header);
        Ok(true)
    }

    async fn delete(&mut self, request: &Request<'_>) -> Result<bool, Failure> {
        let key = self.key_prefix.key(request.key);
        let question = DeleteRangeRequest { key, range_end: Bytes::new() };
        let gone: DeleteRangeResponse =
            self.send(method::DELETE_RANGE, question, Doing::Writing).await?;
        Ok(gone.deleted > 0)
    }

    async fn update(&mut self, request: &Request<'_>) -> Result<bool, Failure> {
        let key = self.key_prefix.key(request.key);
        if self.key_prefix.has_every_field(&request.values) {
            return self.replace(key, request).await;
        }
        // A record that is reported as missing must be missing, so this is a linearizable read,
        // whatever the option for reads.
        let question = RangeRequest { key: key.clone(), ..RangeRequest::default() };
        let mut found = self.range(question, Doing::ReadingToWrite).await?.pop();
        for _ in 0..ATTEMPTS {
            let Some(old) = found else { return Ok(false) };
            let new = self.merge(&old, &request.values)?;
            let unchanged = Compare::is_unchanged(key.clone(), old.mod_revision);
            let put = self.put(request.key, new);
            match self.put_if(unchanged, put, Some(key.clone())).await? {
                Swap::Done => return Ok(true),
                Swap::Found(newer) => found = newer,
            }
        }
        Err(refused(Reason::Conflict))
    }

    /// An update that leaves nothing of the old record needs not know it.
    async fn replace(&mut self, key: Bytes, request: &Request<'_>) -> Result<bool, Failure> {
        let put = self.put(request.key, self.make(&request.values)?);
        let swap = self.put_if(Compare::is_there(key), put, None).await?;
        Ok(matches!(swap, Swap::Done))
    }

    /// Writes if `compare` holds, else reads what is there under `otherwise`.
    async fn put_if(
        &mut self,
        compare: Compare,
        put: PutRequest,
        otherwise: Option<Bytes>,
    ) -> Result<Swap, Failure> {
        let read = otherwise.map(|key| RequestOp {
            request_range: Some(RangeRequest { key, ..RangeRequest::default() }),
            ..RequestOp::default()
        });
        let question = TxnRequest {
            compare: vec![compare],
            success: vec![RequestOp::put(put)],
            failure: read.into_iter().collect(),
        };
        let answer: TxnResponse = self.send(method::TXN, question, Doing::Writing).await?;
        if answer.succeeded {
            self.revision = revision(answer.header);
            return Ok(Swap::Done);
        }
        let read = answer.responses.into_iter().find_map(|response| response.response_range);
        Ok(Swap::Found(read.and_then(|mut range| range.kvs.pop())))
    }

    pub(super) fn make(&self, values: &Values<'_>) -> Result<Vec<u8>, Failure> {
        let mut made = Vec::new();
        row::make(values, &self.key_prefix.fields, &mut made).map_err(refused)?;
        Ok(made)
    }

    /// The record `old` with these fields changed.
    pub(super) fn merge(&self, old: &KeyValue, values: &Values<'_>) -> Result<Vec<u8>, Failure> {
        if !row::is_whole(&old.value) {
            return Err(refused(Reason::WrongType));
        }
        let mut new = Vec::with_capacity(old.value.len());
        row::merge(&old.value, values, &self.key_prefix.fields, &mut new).map_err(refused)?;
        Ok(new)
    }

    fn put(&self, key: &[u8], value: Vec<u8>) -> PutRequest {
        PutRequest { key: self.key_prefix.key(key), value: value.into() }
    }

    async fn range(
        &mut self,
        question: RangeRequest,
        doing: Doing,
    ) -> Result<Vec<KeyValue>, Failure> {
        let answer: RangeResponse = self.send(method::RANGE, question, doing).await?;
        Ok(answer.kvs)
    }

    pub(super) async fn send<Q, A>(
        &mut self,
        path: &'static str,
        question: Q,
        doing: Doing,
    ) -> Result<A, Failure>
    where
        Q: prost::Message + 'static,
        A: prost::Message + Default + 'static,
    {
        self.requests += 1;
        self.wire.send(path, question).await.map_err(|error| failure(&error, doing))
    }
}

/// The revision that a write has made.
fn revision(header: Option<ResponseHeader>) -> u64 {
    header.map_or(0, |header| header.revision.unsigned_abs())
}

/// What became of a write with a condition.
enum Swap {
    Done,
    /// The condition did not hold; this is there instead.
    Found(Option<KeyValue>),
}

pub(super) fn refused(reason: Reason) -> Failure {
    Failure { ending: Completion::Refused(reason), source: FailureSource::Nobodys }
}

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
