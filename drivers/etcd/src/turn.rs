//! Turn of one request for a record: its requests to etcd, one each or several.

pub(super) mod batch;

use assay_driver_kit::task::Completion;
use assay_model::{Kind, Reason};
use assay_store::Request;
use bytes::Bytes;

use super::failure::{Doing, Failure, FailureSource, failure};
use super::key_prefix::KeyPrefix;
use super::messages::{
    Compare, DeleteRangeRequest, DeleteRangeResponse, KeyValue, PutRequest, PutResponse,
    RangeRequest, RangeResponse, RequestOp, ResponseHeader, TxnRequest, TxnResponse, method,
};
use super::options::Read;
use super::wire::Wire;

/// How often an update is tried while others write the same record.
const ATTEMPTS: u16 = 8;

/// One request for a record on its way.
pub(super) struct Turn<'a> {
    pub(super) wire: &'a mut Wire,
    pub(super) key_prefix: &'a KeyPrefix,
    pub(super) read: Read,
    /// How many requests to etcd it took until now.
    pub(super) requests: u16,
    /// The revision of the record that it has read or written by its key; 0 of others.
    pub(super) revision: u64,
}

impl Turn<'_> {
    /// Tells whether the record was there.
    pub(super) async fn carry_out(
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
            self.key_prefix.hand_out(value, request, rows)?;
        }
        Ok(!found.is_empty())
    }

    async fn insert(&mut self, request: &Request<'_>) -> Result<bool, Failure> {
        let put = self.put(request.key, self.key_prefix.make(&request.values)?);
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
            let new = self.key_prefix.merge(&old.value, &request.values)?;
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
        let put = self.put(request.key, self.key_prefix.make(&request.values)?);
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

impl From<Reason> for Failure {
    fn from(reason: Reason) -> Failure {
        refused(reason)
    }
}

pub(super) fn refused(reason: Reason) -> Failure {
    Failure { ending: Completion::Refused(reason), source: FailureSource::Nobodys }
}
