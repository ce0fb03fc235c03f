//! Handles of a worker on the members, each with one request or transaction.

use std::sync::Arc;

use assay_driver_kit::task::{
    Completion, ConnectionState, Context, JobCompletion, Library, Lost, RecordJob,
};
use assay_model::{Kind, Reason};
use assay_store::{OpenError, number_of};

use super::connector::Endpoints;
use super::failure::{Failure, FailureSource};
use super::key_prefix::Plan;
use super::options::Read;
use super::transaction::Transaction;
use super::turn::Turn;
use super::wire::Wire;

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
                let ending = Completion::Done { found };
                JobCompletion { requests, version, ..JobCompletion::new(ending, after) }
            }
            Err(Failure { ending, source }) => {
                rows.clear();
                let after = undone(self.after(&link.wire, source), context);
                JobCompletion { requests, ..JobCompletion::new(ending, after) }
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
