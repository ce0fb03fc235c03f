//! Handles of a worker on one client, each with one request or transaction.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use assay_driver_kit::task::{
    Completion, ConnectionState, Context, JobCompletion, Library, Lost, RecordJob,
};
use assay_model::Reason;
use assay_store::OpenError;

use super::connector::{Clients, ClusterConnection, Shared, Watch};
use super::conversation::{self, Step};
use super::failure::{Failure, FailureSource};
use super::key_prefix::Plan;
use super::open::Open;
use super::options::{Mode, Update};
use super::raw;
use super::transaction::{RecordRequest, Turn};

/// A worker's TiKV.
pub(super) struct TiKv {
    pub(super) way: ClusterConnection,
    pub(super) plan: Arc<Plan>,
    pub(super) mode: Mode,
    pub(super) update: Update,
    /// Timeout for a timestamp, before which a transaction cannot begin.
    pub(super) timeout: Duration,
}

/// A handle on the shared client of the worker's connections.
pub(super) struct Link {
    shared: Rc<Shared>,
    /// The transaction of several requests that is under way on it.
    open: Option<Open>,
}

impl Library for TiKv {
    type Connection = Link;
    type Job = RecordJob;

    async fn connect(&self) -> Result<Link, OpenError> {
        Ok(Link { shared: self.way.reach().await?, open: None })
    }

    async fn perform(
        &self,
        link: &mut Link,
        job: &mut RecordJob,
        rows: &mut Vec<u8>,
    ) -> JobCompletion {
        let watch = Watch::new(&link.shared);
        let (ended, requests) = match job.context {
            Context::Alone => self.alone(&link.shared, job, rows).await,
            Context::Begins | Context::Within => self.within(link, job, rows).await,
        };
        watch.end();
        match ended {
            Ok((found, after)) => {
                let ending = Completion::Done { found };
                JobCompletion { requests, ..JobCompletion::new(ending, after) }
            }
            Err(Failure { ending, source }) => {
                rows.clear();
                let after = match after(&link.shared, source) {
                    ConnectionState::Free if link.open.is_some() => ConnectionState::Undo,
                    after => after,
                };
                JobCompletion { requests, ..JobCompletion::new(ending, after) }
            }
        }
    }

    async fn undo(&self, link: &mut Link) -> Result<(), Lost> {
        let Some(open) = link.open.take() else { return Ok(()) };
        let watch = Watch::new(&link.shared);
        let undone = conversation::undo(open, self.timeout).await;
        watch.end();
        match undone.map_err(|source| after(&link.shared, source)) {
            Err(ConnectionState::Lost) => Err(Lost),
            _ => Ok(()),
        }
    }
}

/// How a job ended, with the requests that it took.
type Ended = (Result<(bool, ConnectionState), Failure>, u16);

impl TiKv {
    /// Carries out a request that belongs to no other, or a batch of them.
    async fn alone(&self, shared: &Shared, job: &mut RecordJob, rows: &mut Vec<u8>) -> Ended {
        let Some(key_prefix) = self.plan.get(usize::from(job.table())) else {
            return (Err(Failure::refused(Reason::Malformed)), 1);
        };
        let (ended, requests) = match &shared.clients {
            Clients::Raw { swift, patient } => {
                let mut turn = raw::Turn::new(shared, key_prefix, swift, patient, self.update);
                let ended = match job.batch.is_empty() {
                    true => turn.carry_out(&job.request.request(), rows).await,
                    false => turn.carry_out_batch(job, rows).await,
                };
                (ended, turn.requests)
            }
            Clients::Transactions(client) => {
                let mut turn = Turn::new(shared, client, self.mode, self.timeout);
                let ended = match job.batch.is_empty() {
                    true => {
                        let requested =
                            RecordRequest { key_prefix, request: job.request.request() };
                        turn.carry_out(&requested, rows).await
                    }
                    false => turn.carry_out_batch(key_prefix, job, rows).await,
                };
                (ended, turn.requests)
            }
        };
        (ended.map(|found| (found, ConnectionState::Free)), requests.max(1))
    }

    /// Carries out a request of a transaction. What the library has buffered takes none.
    async fn within(&self, link: &mut Link, job: &RecordJob, rows: &mut Vec<u8>) -> Ended {
        let Clients::Transactions(client) = &link.shared.clients else {
            return (Err(Failure::refused(Reason::Unsupported)), 0);
        };
        let mut turn = Turn::new(&link.shared, client, self.mode, self.timeout);
        let step = Step { context: job.context, request: job.request.request() };
        let ended =
            conversation::carry_out(&mut turn, &mut link.open, &self.plan, step, rows).await;
        (ended, turn.requests)
    }
}

/// What becomes of a handle whose request has failed.
fn after(shared: &Shared, source: FailureSource) -> ConnectionState {
    match source {
        FailureSource::Nobodys => ConnectionState::Free,
        // The library looks for the region anew, which may be on another one by then.
        FailureSource::Nodes if shared.nodes > 1 => ConnectionState::Free,
        FailureSource::Nodes | FailureSource::Drivers => {
            shared.retire();
            ConnectionState::Lost
        }
    }
}
