//! A transaction of several requests: what each of them does to it.

use std::time::Duration;

use assay_driver_kit::task::{ConnectionState, Context};
use assay_model::{Kind, Reason};
use assay_store::Request;

use super::failure::{Doing, Failure, FailureSource, Verdict, verdict};
use super::key_prefix::Plan;
use super::open::{Open, Remembers};
use super::transaction::{RecordRequest, Turn};

/// One of its requests.
pub(super) struct Step<'a> {
    /// Whether it is the first.
    pub(super) context: Context,
    pub(super) request: Request<'a>,
}

/// Carries out a request of the transaction that `open` is, or begins it. Tells whether the record
/// was there, and what is to become of the connection.
///
/// No request is retried: others may have changed the data that the transaction read.
/// One that has failed stays in `open` if it may have locks, because these must be released.
pub(super) async fn carry_out(
    turn: &mut Turn<'_>,
    open: &mut Option<Open>,
    plan: &Plan,
    step: Step<'_>,
    rows: &mut Vec<u8>,
) -> Result<(bool, ConnectionState), Failure> {
    let Step { context, request } = step;
    if context == Context::Begins {
        let begun = turn.begin_to_write().await.map_err(Verdict::failure)?;
        *open = Some(Open::new(begun, Remembers::Everything));
    }
    let Some(mut current) = open.take() else {
        return Err(Failure::refused(Reason::TransactionFailed));
    };
    let ended = match (request.kind, plan.get(usize::from(request.table))) {
        // A transaction that is not committed is undone, whatever becomes of its locks.
        (Kind::Rollback, _) => {
            turn.release(&mut current).await;
            return Ok((true, ConnectionState::Free));
        }
        (Kind::Commit, _) => {
            turn.commit(&mut current).await.map(|()| (true, ConnectionState::Free))
        }
        (_, Some(key_prefix)) => {
            let requested = RecordRequest { key_prefix, request };
            turn.send(&mut current, &requested, rows)
                .await
                .map(|found| (found, ConnectionState::Held))
        }
        (_, None) => Err(Failure::refused(Reason::Malformed).into()),
    };
    match ended {
        Ok((_, ConnectionState::Held)) => *open = Some(current),
        Err(reported) if is_to_undo(turn, &current, &reported) => *open = Some(current),
        _ => {}
    }
    ended.map_err(Verdict::failure)
}

/// Whether a transaction that failed so has to be undone.
fn is_to_undo(turn: &Turn<'_>, open: &Open, reported: &Verdict) -> bool {
    match open.records.is_ending() {
        true => turn.leaves_locks(open, reported),
        // Whatever became of this step, others of it may have taken locks.
        false => open.records.may_be_locked(),
    }
}

/// Gives back what locks a transaction may have that nobody goes on with; tells who is to blame if
/// that fails. They end by themselves then.
pub(super) async fn undo(mut open: Open, timeout: Duration) -> Result<(), FailureSource> {
    if !open.records.may_be_locked() {
        return Ok(());
    }
    match tokio::time::timeout(timeout, open.transaction.rollback()).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(verdict(&error, Doing::Preparing).failure().source),
        Err(_) => Err(FailureSource::Nodes),
    }
}
