//! What a lane's connections are: handles on one client, each with one request at a time.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use assay_model::Reason;
use assay_store::OpenError;

use super::dialer::{Clients, Shared, Watch, Way};
use super::failure::{Failure, Whose};
use super::options::{Mode, Update};
use super::shelf::Plan;
use super::{raw, transaction};
use crate::task::{After, Ending, Fate, Library, Lost, RecordJob};

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

impl Library for TiKv {
    type Connection = Rc<Shared>;
    type Job = RecordJob;

    async fn connect(&self) -> Result<Rc<Shared>, OpenError> {
        self.way.reach().await
    }

    async fn perform(
        &self,
        shared: &mut Rc<Shared>,
        job: &mut RecordJob,
        rows: &mut Vec<u8>,
    ) -> Fate {
        let Some(shelf) = self.plan.get(usize::from(job.table())) else {
            return Fate::new(Ending::Refused(Reason::Malformed), After::Free);
        };
        let watch = Watch::new(shared);
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
                let patience = self.patience;
                let mut turn = transaction::Turn::new(shared, shelf, client, self.mode, patience);
                let ended = match job.batch.is_empty() {
                    true => turn.carry_out(&job.request.request(), rows).await,
                    false => turn.carry_out_batch(job, rows).await,
                };
                (ended, turn.requests)
            }
        };
        watch.end();
        let requests = requests.max(1);
        match ended {
            Ok(found) => Fate { ending: Ending::Done { found }, after: After::Free, requests },
            Err(Failure { ending, whose }) => {
                rows.clear();
                Fate { ending, after: after(shared, whose), requests }
            }
        }
    }

    async fn undo(&self, _shared: &mut Rc<Shared>) -> Result<(), Lost> {
        Ok(())
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
