//! What a lane's connections are: handles on one client, each with one request or transaction.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use assay_model::Reason;
use assay_store::OpenError;

use super::conversation::{self, Step};
use super::dialer::{Clients, Shared, Watch, Way};
use super::failure::{Failure, Whose};
use super::open::Open;
use super::options::{Mode, Update};
use super::raw;
use super::shelf::Plan;
use super::transaction::{Asked, Turn};
use crate::task::{After, Context, Ending, Fate, Library, Lost, RecordJob};

/// How often an update is tried while others write the same record, or its region moves.
pub(super) const ATTEMPTS: u16 = 8;

/// A lane's TiKV.
pub(super) struct TiKv {
    pub(super) way: Way,
    pub(super) plan: Arc<Plan>,
    pub(super) mode: Mode,
    pub(super) update: Update,
    /// Patience for a timestamp, before which a transaction cannot begin.
    pub(super) patience: Duration,
}

/// A handle on what the lane's connections share.
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

    async fn perform(&self, link: &mut Link, job: &mut RecordJob, rows: &mut Vec<u8>) -> Fate {
        let watch = Watch::new(&link.shared);
        let (ended, requests) = match job.context {
            Context::Alone => self.alone(&link.shared, job, rows).await,
            Context::Begins | Context::Within => self.within(link, job, rows).await,
        };
        watch.end();
        match ended {
            Ok((found, after)) => Fate { ending: Ending::Done { found }, after, requests },
            Err(Failure { ending, whose }) => {
                rows.clear();
                let after = match after(&link.shared, whose) {
                    After::Free if link.open.is_some() => After::Undo,
                    after => after,
                };
                Fate { ending, after, requests }
            }
        }
    }

    async fn undo(&self, link: &mut Link) -> Result<(), Lost> {
        let Some(open) = link.open.take() else { return Ok(()) };
        let watch = Watch::new(&link.shared);
        let undone = conversation::undo(open, self.patience).await;
        watch.end();
        match undone.map_err(|whose| after(&link.shared, whose)) {
            Err(After::Lost) => Err(Lost),
            _ => Ok(()),
        }
    }
}

/// How a job ended, with the requests that it took.
type Ended = (Result<(bool, After), Failure>, u16);

impl TiKv {
    /// Carries out a request that belongs to no other, or a batch of them.
    async fn alone(&self, shared: &Shared, job: &mut RecordJob, rows: &mut Vec<u8>) -> Ended {
        let Some(shelf) = self.plan.get(usize::from(job.table())) else {
            return (Err(Failure::refused(Reason::Malformed)), 1);
        };
        let (ended, requests) = match &shared.clients {
            Clients::Raw { swift, patient } => {
                let mut turn = raw::Turn::new(shared, shelf, swift, patient, self.update);
                let ended = match job.batch.is_empty() {
                    true => turn.carry_out(&job.request.request(), rows).await,
                    false => turn.carry_out_batch(job, rows).await,
                };
                (ended, turn.requests)
            }
            Clients::Transactions(client) => {
                let mut turn = Turn::new(shared, client, self.mode, self.patience);
                let ended = match job.batch.is_empty() {
                    true => {
                        let asked = Asked { shelf, request: job.request.request() };
                        turn.carry_out(&asked, rows).await
                    }
                    false => turn.carry_out_batch(shelf, job, rows).await,
                };
                (ended, turn.requests)
            }
        };
        (ended.map(|found| (found, After::Free)), requests.max(1))
    }

    /// Carries out a request of a transaction. What the library has buffered takes none.
    async fn within(&self, link: &mut Link, job: &RecordJob, rows: &mut Vec<u8>) -> Ended {
        let Clients::Transactions(client) = &link.shared.clients else {
            return (Err(Failure::refused(Reason::Unsupported)), 0);
        };
        let mut turn = Turn::new(&link.shared, client, self.mode, self.patience);
        let step = Step { context: job.context, request: job.request.request() };
        let ended =
            conversation::carry_out(&mut turn, &mut link.open, &self.plan, step, rows).await;
        (ended, turn.requests)
    }
}

/// What becomes of a handle whose request has failed.
fn after(shared: &Shared, whose: Whose) -> After {
    match whose {
        Whose::Nobodys => After::Free,
        // The library looks for the region anew, which may be on another one by then.
        Whose::Nodes if shared.nodes > 1 => After::Free,
        Whose::Nodes | Whose::Drivers => {
            shared.retire();
            After::Lost
        }
    }
}
