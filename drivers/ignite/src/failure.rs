//! Failures of Ignite, or of the connection to it, as outcomes of requests.

use assay_driver_kit::task::{Completion, Context};
use assay_model::Reason;

use super::socket::Trouble;

/// What was under way as something failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// A single request, which changes nothing.
    Read,
    /// A request that changes nothing, of an operation whose change was not sent yet; or any within
    /// a transaction, which is undone when it fails.
    BeforeWrite,
    /// A change.
    Write,
    /// Changes of several records, some of which may be done though another one fails.
    Writes,
    /// The end of a transaction, which makes its changes final.
    Commit,
}

impl Stage {
    /// The stage of a request that stands so to a transaction.
    pub(super) fn within(self, context: Context) -> Stage {
        match (self, context) {
            (Stage::Commit, _) | (_, Context::Alone) => self,
            (_, Context::Begins | Context::Within) => Stage::BeforeWrite,
        }
    }
}

/// The statuses that certainly refuse. Source: `ClientStatus` of Ignite 2.17.
const REFUSALS: &[(i32, Reason)] = &[
    // Invalid operation; a node in recovery; functionality that is switched off.
    (2, Reason::Unsupported),
    (11, Reason::Busy),
    (100, Reason::Unsupported),
    // No such cache, one of that name, a configuration that is invalid.
    (1000, Reason::Malformed),
    (1001, Reason::Exists),
    (1002, Reason::Malformed),
    // Too many cursors; no such cursor.
    (1010, Reason::Busy),
    (1011, Reason::StoreError),
    (1012, Reason::NotPermitted),
    // Too many transactions; no such transaction; too many tasks.
    (1020, Reason::Busy),
    (1021, Reason::StoreError),
    (1030, Reason::Busy),
    (2000, Reason::NotPermitted),
];

/// The node is stopping or not ready: some of its parts may have worked already.
const INVALID_NODE_STATE: i32 = 10;

/// Parts of messages with which Ignite refuses before it changes anything.
const REFUSING_WORDS: &[(&str, Reason)] = &[
    ("cluster is inactive", Reason::Busy),
    ("cache is stopped", Reason::Busy),
    ("cluster is in a read-only mode", Reason::ReadOnly),
    ("read-only mode", Reason::ReadOnly),
    ("partition data has been lost", Reason::Busy),
    ("all partition owners have left", Reason::Busy),
    ("Failed to map keys for cache", Reason::Busy),
    ("ignite-indexing", Reason::Unsupported),
];

/// The status of a transaction that its node does not know.
const NO_SUCH_TRANSACTION: i32 = 1021;

/// Parts of messages that say of a transaction that it was undone, whole, before any of it became
/// final: a commit prepares all nodes first, and that failed. Source: `IgniteTxLocalAdapter`,
/// `IgniteTxManager`, `GridDhtTxPrepareFuture`, `GridNearTxLocal` of Ignite 2.17. "Rolled back on
/// backup node" is none of them: it comes when others may have made it final already.
const UNDONE_WORDS: &[(&str, Reason)] = &[
    ("read/write conflict", Reason::Conflict),
    ("(lock conflict)", Reason::Conflict),
    ("on outdated topology", Reason::Busy),
    ("within provided timeout", Reason::Timeout),
    ("ransaction timed out", Reason::Timeout),
    ("ransaction has been timed out", Reason::Timeout),
    ("rolled back on timeout", Reason::Timeout),
    ("concurrently rolled back", Reason::Busy),
    ("because it has been rolled back", Reason::Busy),
    ("marked as rolled back", Reason::Busy),
    ("marked as rollback-only", Reason::Busy),
    ("marked for rollback", Reason::Busy),
];

/// Parts of messages that tell more than that it failed, but leave open what happened.
const OPEN_WORDS: &[(&str, Reason)] = &[
    ("Out of memory in data region", Reason::Full),
    ("IgniteOutOfMemoryException", Reason::Full),
    ("timed out", Reason::Timeout),
    ("Node is stopping", Reason::Busy),
    ("node is stopping", Reason::Busy),
    ("Grid is stopping", Reason::Busy),
];

/// What `trouble` means for an operation that was in `stage`.
pub(super) fn ending(trouble: &Trouble, stage: Stage) -> Completion {
    match trouble {
        Trouble::Unreachable => Completion::Refused(Reason::Unreachable),
        Trouble::Lost => broken(Reason::ConnectionLost, stage),
        Trouble::Garbled => broken(Reason::Garbled, stage),
        Trouble::Said(status, message) => said(*status, message, stage),
    }
}

/// The connection is of no use any more.
fn broken(reason: Reason, stage: Stage) -> Completion {
    match stage {
        Stage::Read | Stage::Write | Stage::Writes | Stage::Commit => Completion::Unknown(reason),
        Stage::BeforeWrite => Completion::Refused(reason),
    }
}

fn said(status: i32, message: &str, stage: Stage) -> Completion {
    let by_words = |words: &[(&str, Reason)]| {
        words.iter().find(|(word, _)| message.contains(word)).map(|(_, reason)| *reason)
    };
    let undone = by_words(UNDONE_WORDS);
    let by_status = || REFUSALS.iter().find(|(other, _)| *other == status);
    let by_status = || by_status().map(|(_, reason)| *reason);
    let refusal = match stage {
        // Whatever else it says, some nodes may have made their part final.
        Stage::Commit if status == NO_SUCH_TRANSACTION => Some(Reason::TransactionFailed),
        Stage::Commit => undone,
        // Words may be about one of the records.
        Stage::Writes => by_status(),
        Stage::Read | Stage::BeforeWrite | Stage::Write => {
            by_status().or_else(|| by_words(REFUSING_WORDS))
        }
    };
    if let Some(reason) = refusal {
        return Completion::Refused(reason);
    }
    let busy = (status == INVALID_NODE_STATE).then_some(Reason::Busy);
    let reported = busy.or(undone).or_else(|| by_words(OPEN_WORDS));
    let reason = reported.or_else(|| by_words(REFUSING_WORDS)).unwrap_or(Reason::StoreError);
    match stage {
        // A change that failed may have reached some copies.
        Stage::Write | Stage::Writes | Stage::Commit => Completion::Unknown(reason),
        Stage::Read | Stage::BeforeWrite => Completion::Refused(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(status: i32, message: &str, stage: Stage) -> Completion {
        ending(&Trouble::Said(status, message.into()), stage)
    }

    #[test]
    fn a_connection_that_breaks_leaves_open_what_was_sent() {
        let lost = Reason::ConnectionLost;
        assert_eq!(ending(&Trouble::Lost, Stage::Write), Completion::Unknown(lost));
        assert_eq!(ending(&Trouble::Lost, Stage::Read), Completion::Unknown(lost));
        assert_eq!(ending(&Trouble::Garbled, Stage::Write), Completion::Unknown(Reason::Garbled));
        // The change itself was never sent.
        assert_eq!(ending(&Trouble::Lost, Stage::BeforeWrite), Completion::Refused(lost));
        assert_eq!(
            ending(&Trouble::Garbled, Stage::BeforeWrite),
            Completion::Refused(Reason::Garbled)
        );
    }

    #[test]
    fn requests_that_were_never_sent_are_refused() {
        for stage in [Stage::Read, Stage::BeforeWrite, Stage::Write] {
            let refused = Completion::Refused(Reason::Unreachable);
            assert_eq!(ending(&Trouble::Unreachable, stage), refused);
        }
    }

    #[test]
    fn statuses_with_a_name_refuse() {
        for (status, reason) in REFUSALS {
            assert_eq!(said(*status, "", Stage::Write), Completion::Refused(*reason), "{status}");
        }
        assert!(REFUSALS.is_sorted_by(|one, next| one.0 < next.0), "each has one meaning");
    }

    #[test]
    fn words_that_refuse_before_anything_changes_refuse() {
        for (message, reason) in [
            ("Can not perform the operation because the cluster is inactive.", Reason::Busy),
            ("Failed to perform cache operation (cache is stopped): usertable", Reason::Busy),
            (
                "Failed to perform cache operation (cluster is in a read-only mode)",
                Reason::ReadOnly,
            ),
            ("Failed: all partition owners have left the grid", Reason::Busy),
            ("partition data has been lost [cacheName=usertable]", Reason::Busy),
            ("Failed to map keys for cache (all partition nodes left the grid)", Reason::Busy),
            ("ignite-indexing module should be added to classpath", Reason::Unsupported),
        ] {
            assert_eq!(said(1, message, Stage::Write), Completion::Refused(reason), "{message}");
        }
    }

    #[test]
    fn what_fails_within_a_transaction_did_not_happen() {
        let lost = |stage: Stage, context| ending(&Trouble::Lost, stage.within(context));
        let refused = Completion::Refused(Reason::ConnectionLost);
        let unknown = Completion::Unknown(Reason::ConnectionLost);
        for stage in [Stage::Read, Stage::BeforeWrite, Stage::Write] {
            assert_eq!(lost(stage, Context::Begins), refused);
            assert_eq!(lost(stage, Context::Within), refused);
        }
        assert_eq!(lost(Stage::Write, Context::Alone), unknown);
        assert_eq!(lost(Stage::Commit, Context::Within), unknown);
    }

    #[test]
    fn a_commit_is_refused_only_if_all_of_it_was_undone() {
        for (message, reason) in [
            ("Failed to prepare transaction, read/write conflict [key=a]", Reason::Conflict),
            ("Failed to prepare transaction (lock conflict): tx", Reason::Conflict),
            ("Failed to prepare a transaction on outdated topology, please try", Reason::Busy),
            (
                "Failed to acquire lock within provided timeout for transaction [timeout=9]",
                Reason::Timeout,
            ),
            ("Cache transaction timed out: GridNearTxLocal", Reason::Timeout),
            ("Transaction timed out: IgniteTxManager", Reason::Timeout),
            ("Transaction has been timed out: GridNearTxLocal", Reason::Timeout),
            ("transaction is concurrently rolled back on timeout: tx", Reason::Timeout),
            ("transaction is concurrently rolled back: tx", Reason::Busy),
            ("Failed to finish transaction because it has been rolled back", Reason::Busy),
            ("the transaction is marked as rolled back [tx=a]", Reason::Busy),
            ("Cache transaction is marked as rollback-only (will be", Reason::Busy),
            ("Transaction is marked for rollback: tx", Reason::Busy),
        ] {
            assert_eq!(said(1, message, Stage::Commit), Completion::Refused(reason), "{message}");
            assert_eq!(
                said(1, message, Stage::BeforeWrite),
                Completion::Refused(reason),
                "{message}"
            );
            assert_eq!(said(1, message, Stage::Write), Completion::Unknown(reason), "{message}");
        }
        let refused = Completion::Refused(Reason::TransactionFailed);
        assert_eq!(said(1021, "Transaction with id 1 not found.", Stage::Commit), refused);
    }

    #[test]
    fn any_other_failure_of_a_commit_leaves_it_open() {
        for (status, message, reason) in [
            (
                1,
                "Failed to commit transaction (transaction has been rolled back on backup node): 1",
                Reason::StoreError,
            ),
            (1, "Committing a transaction has produced runtime exception", Reason::StoreError),
            (1, "all partition owners have left the grid, partition data has been", Reason::Busy),
            (1, "Out of memory in data region [name=default]", Reason::Full),
            (1, "Remote node left grid: 1", Reason::StoreError),
            (10, "Grid is in invalid state", Reason::Busy),
            (1012, "", Reason::StoreError),
        ] {
            assert_eq!(
                said(status, message, Stage::Commit),
                Completion::Unknown(reason),
                "{message}"
            );
        }
        for (trouble, reason) in
            [(Trouble::Lost, Reason::ConnectionLost), (Trouble::Garbled, Reason::Garbled)]
        {
            assert_eq!(ending(&trouble, Stage::Commit), Completion::Unknown(reason));
        }
        let refused = Completion::Refused(Reason::Unreachable);
        assert_eq!(ending(&Trouble::Unreachable, Stage::Commit), refused);
    }

    #[test]
    fn of_several_changes_some_may_be_done_whatever_words_say() {
        for (message, reason) in [
            ("Failed to map keys for cache (all partition nodes left the grid)", Reason::Busy),
            (
                "Failed to perform cache operation (cluster is in a read-only mode)",
                Reason::ReadOnly,
            ),
            ("Failed to update keys (retry update if possible).", Reason::StoreError),
        ] {
            assert_eq!(said(1, message, Stage::Writes), Completion::Unknown(reason), "{message}");
        }
        assert_eq!(said(1000, "", Stage::Writes), Completion::Refused(Reason::Malformed));
        let lost = Reason::ConnectionLost;
        assert_eq!(ending(&Trouble::Lost, Stage::Writes), Completion::Unknown(lost));
        let unreachable = Completion::Refused(Reason::Unreachable);
        assert_eq!(ending(&Trouble::Unreachable, Stage::Writes), unreachable);
    }

    #[test]
    fn any_other_failure_leaves_a_change_open_and_refuses_a_read() {
        for (status, message, reason) in [
            (1, "Failed to update keys (retry update if possible).", Reason::StoreError),
            (1, "Out of memory in data region [name=default]", Reason::Full),
            (1, "Cache transaction timed out", Reason::Timeout),
            (1, "Operation has been cancelled (node is stopping).", Reason::Busy),
            (10, "Grid is in invalid state", Reason::Busy),
            (77, "", Reason::StoreError),
        ] {
            assert_eq!(
                said(status, message, Stage::Write),
                Completion::Unknown(reason),
                "{message}"
            );
            assert_eq!(
                said(status, message, Stage::Read),
                Completion::Refused(reason),
                "{message}"
            );
        }
    }
}
