//! Several requests for records as one request to etcd: a transaction without a condition.
//!
//! So inserts of a batch become final together or not at all, and its reads are of one moment:
//! more than is needed, but etcd has no other way to take several at once.

use assay_driver_kit::task::{BatchOutcome, RecordJob};
use assay_model::{Kind, Reason};
use assay_store::{OwnedRequest, Request};

use super::{Turn, refused};
use crate::failure::{Doing, Failure, failure};
use crate::messages::{RangeRequest, RequestOp, ResponseOp, TxnRequest, TxnResponse, method};
use crate::options::Read;
use crate::wire::CallError;

/// The kinds that are gathered.
pub(crate) const KINDS: &[Kind] = &[Kind::Read, Kind::Insert];

impl Turn<'_> {
    /// Carries out a batch. An invalid part is refused, and the others are sent without it.
    pub(crate) async fn carry_out_batch(
        &mut self,
        job: &mut RecordJob,
        rows: &mut Vec<u8>,
    ) -> Result<bool, Failure> {
        let RecordJob { batch, outcomes, .. } = job;
        let requests = || batch.iter().map(OwnedRequest::request);
        let requested: Vec<Result<RequestOp, Failure>> =
            requests().map(|request| self.operation(&request)).collect();
        let operations = requested.iter().flatten().cloned().collect();
        let is_read = requests().all(|request| request.kind == Kind::Read);
        let doing = if is_read { Doing::Reading } else { Doing::Writing };
        let mut reported = self.transact(operations, doing).await?.into_iter();
        for (request, requested) in requests().zip(requested) {
            let begin = rows.len();
            let answered = requested.map(|_| reported.next().unwrap_or_default());
            let ended = answered.and_then(|answered| match answered.response_range {
                Some(range) => self.hand_out(&range.kvs, &request, rows),
                None => Ok(true),
            });
            outcomes.push(BatchOutcome::of(ended.map_err(|failure| failure.ending), begin, rows));
        }
        Ok(true)
    }

    /// The answers to these operations, in order.
    async fn transact(
        &mut self,
        success: Vec<RequestOp>,
        doing: Doing,
    ) -> Result<Vec<ResponseOp>, Failure> {
        let count = success.len();
        if count == 0 {
            return Ok(Vec::new());
        }
        let question = TxnRequest { success, ..TxnRequest::default() };
        let answer: TxnResponse = self.send(method::TXN, question, doing).await?;
        let is_read =
            |reported: &ResponseOp| reported.response_range.is_some() == (doing == Doing::Reading);
        if answer.responses.len() != count || !answer.responses.iter().all(is_read) {
            let error = CallError::Garbled("an answer to something else".into());
            return Err(failure(&error, doing));
        }
        Ok(answer.responses)
    }

    /// What a request is within a transaction.
    fn operation(&self, request: &Request<'_>) -> Result<RequestOp, Failure> {
        let mut operation = RequestOp::default();
        match request.kind {
            Kind::Insert => {
                let put = self.put(request.key, self.key_prefix.make(&request.values)?);
                operation.request_put = Some(put);
            }
            Kind::Read => {
                let serializable = self.read == Read::Serializable;
                let key = self.key_prefix.key(request.key);
                let range = RangeRequest { key, serializable, ..RangeRequest::default() };
                operation.request_range = Some(range);
            }
            _ => return Err(refused(Reason::Unsupported)),
        }
        Ok(operation)
    }
}
