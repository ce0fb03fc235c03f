//! Failures of etcd, or of the connection to it, as outcomes of requests.

use assay_driver_kit::task::Completion;
use assay_model::Reason;
use tonic::Code;

use super::wire::CallError;

/// What the request that failed was to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// To read, and nothing more.
    Reading,
    /// To read what is changed afterwards: nothing was written yet.
    ReadingToWrite,
    /// To write.
    Writing,
}

/// What a failure means, and what is to become of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) ending: Completion,
    pub(super) source: FailureSource,
}

/// The failed part, so that the next request goes elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailureSource {
    /// The request or the whole cluster: another member would say the same.
    Nobodys,
    /// This member, which may be cut off from the others.
    Members,
    /// This connection, or its token, which must not be used again.
    Connections,
}

/// Whether a write that a member answered in this way may have happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Write {
    /// It was turned away before it was proposed to the cluster, or by every member alike.
    Never,
    /// It was proposed and timed out, or it was applied all the same.
    Perhaps,
}

use FailureSource::{Connections, Members, Nobodys};
use Write::{Never, Perhaps};

/// What etcd says, by the beginning of its messages. They are those of `rpctypes/error.go` in etcd
/// 3.4 to 3.6; codes alone do not tell them apart.
const SAID: &[(&str, Reason, Write, FailureSource)] = &[
    // The write that crosses the quota is applied, yet gets this error; only later writes are not
    // applied.
    ("etcdserver: mvcc: database space exceeded", Reason::Full, Perhaps, Nobodys),
    // More is waiting to be applied than the server likes; said before the proposal.
    ("etcdserver: too many requests", Reason::Busy, Never, Nobodys),
    // The member checks for a leader before it proposes.
    ("etcdserver: no leader", Reason::Busy, Never, Members),
    ("raft proposal dropped", Reason::Busy, Never, Members),
    ("etcdserver: rpc not supported for learner", Reason::Busy, Never, Members),
    ("etcdserver: not capable", Reason::Unsupported, Never, Members),
    // "request timed out", "… possibly due to previous leader failure", "… connection lost".
    ("etcdserver: request timed out", Reason::Timeout, Perhaps, Members),
    ("etcdserver: request cancelled", Reason::Timeout, Perhaps, Members),
    ("context deadline exceeded", Reason::Timeout, Perhaps, Members),
    ("etcdserver: leader changed", Reason::Busy, Perhaps, Nobodys),
    ("etcdserver: server stopped", Reason::Busy, Perhaps, Connections),
    ("etcdserver: corrupt cluster", Reason::StoreError, Perhaps, Nobodys),
    ("etcdserver: request is too large", Reason::Malformed, Never, Nobodys),
    // More records in one transaction than the server's --max-txn-ops.
    ("etcdserver: too many operations in txn request", Reason::Unsupported, Never, Nobodys),
    // A transaction's revision: forgotten while it went on, or not yet known to this member.
    ("etcdserver: mvcc: required revision has been compacted", Reason::Conflict, Never, Nobodys),
    ("etcdserver: mvcc: required revision is a future revision", Reason::Busy, Never, Members),
    ("grpc: received message larger than max", Reason::Malformed, Never, Nobodys),
    ("etcdserver: permission denied", Reason::NotPermitted, Never, Nobodys),
    ("etcdserver: user name is empty", Reason::NotPermitted, Never, Nobodys),
    ("etcdserver: user name not found", Reason::NotPermitted, Never, Connections),
    ("etcdserver: authentication failed", Reason::NotPermitted, Never, Nobodys),
    // A token ends with the member that gave it, or when rights change: request a new one.
    ("etcdserver: invalid auth token", Reason::NotPermitted, Never, Connections),
    ("etcdserver: revision of auth store is old", Reason::NotPermitted, Never, Connections),
    ("auth: revision in header is old", Reason::NotPermitted, Never, Connections),
];

/// What a message that is not among [`SAID`] means by its code.
fn of_code(code: Code) -> (Reason, Write, FailureSource) {
    match code {
        Code::InvalidArgument | Code::OutOfRange | Code::NotFound | Code::AlreadyExists => {
            (Reason::Malformed, Never, Nobodys)
        }
        Code::FailedPrecondition => (Reason::StoreError, Never, Nobodys),
        Code::PermissionDenied => (Reason::NotPermitted, Never, Nobodys),
        Code::Unauthenticated => (Reason::NotPermitted, Never, Connections),
        Code::Unimplemented => (Reason::Unsupported, Never, Nobodys),
        Code::ResourceExhausted => (Reason::Busy, Never, Nobodys),
        Code::Unavailable => (Reason::Busy, Perhaps, Members),
        Code::DeadlineExceeded | Code::Cancelled => (Reason::Timeout, Perhaps, Members),
        Code::Ok | Code::Unknown | Code::Aborted | Code::Internal | Code::DataLoss => {
            (Reason::StoreError, Perhaps, Nobodys)
        }
    }
}

/// What `error` means for a request that was `doing` something.
pub(super) fn failure(error: &CallError, doing: Doing) -> Failure {
    let lost = match doing {
        // A read without an answer is as open as the connection left it.
        Doing::Reading | Doing::Writing => Completion::Unknown,
        Doing::ReadingToWrite => Completion::Refused,
    };
    let (ending, source) = match error {
        CallError::Unsent(_) => (Completion::Refused(Reason::Unreachable), Connections),
        CallError::Broken(_) => (lost(Reason::ConnectionLost), Connections),
        CallError::Garbled(_) => (lost(Reason::Garbled), Connections),
        CallError::Told(code, message) => {
            let said = SAID.iter().find(|(begin, ..)| message.starts_with(begin));
            let (reason, write, source) = said.map_or_else(
                || of_code(*code),
                |&(_, reason, write, source)| (reason, write, source),
            );
            let ending = match (doing, write) {
                (Doing::Writing, Perhaps) => Completion::Unknown(reason),
                _ => Completion::Refused(reason),
            };
            (ending, source)
        }
    };
    Failure { ending, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(code: Code, message: &str, doing: Doing) -> (Completion, FailureSource) {
        let Failure { ending, source } = failure(&CallError::Told(code, message.into()), doing);
        (ending, source)
    }

    /// Refused, whether it was to read or to write.
    fn check_refused(code: Code, message: &str, reason: Reason) {
        for doing in [Doing::Reading, Doing::ReadingToWrite, Doing::Writing] {
            assert_eq!(said(code, message, doing).0, Completion::Refused(reason), "{message}");
        }
    }

    /// A write may have happened; a read certainly returned nothing.
    fn check_open(code: Code, message: &str, reason: Reason) {
        assert_eq!(said(code, message, Doing::Writing).0, Completion::Unknown(reason), "{message}");
        for doing in [Doing::Reading, Doing::ReadingToWrite] {
            assert_eq!(said(code, message, doing).0, Completion::Refused(reason), "{message}");
        }
    }

    #[test]
    fn a_database_at_its_quota_is_full() {
        let message = "etcdserver: mvcc: database space exceeded";
        check_open(Code::ResourceExhausted, message, Reason::Full);
    }

    #[test]
    fn what_is_turned_away_before_the_proposal_never_happens() {
        let code = Code::ResourceExhausted;
        check_refused(code, "etcdserver: too many requests", Reason::Busy);
        check_refused(Code::Unavailable, "etcdserver: no leader", Reason::Busy);
        check_refused(Code::Unknown, "raft proposal dropped", Reason::Busy);
        let learner = "etcdserver: rpc not supported for learner";
        check_refused(Code::Unavailable, learner, Reason::Busy);
        check_refused(Code::Unavailable, "etcdserver: not capable", Reason::Unsupported);
    }

    #[test]
    fn a_proposal_that_timed_out_is_unknown() {
        let timeouts = [
            "etcdserver: request timed out",
            "etcdserver: request timed out, possibly due to previous leader failure",
            "etcdserver: request timed out, possibly due to connection lost",
        ];
        for message in timeouts {
            check_open(Code::Unavailable, message, Reason::Timeout);
        }
        check_open(Code::DeadlineExceeded, "context deadline exceeded", Reason::Timeout);
        check_open(Code::Unavailable, "etcdserver: leader changed", Reason::Busy);
        check_open(Code::Unavailable, "etcdserver: server stopped", Reason::Busy);
        check_open(Code::DataLoss, "etcdserver: corrupt cluster", Reason::StoreError);
    }

    #[test]
    fn too_much_at_once_is_invalid_to_the_server() {
        let code = Code::InvalidArgument;
        check_refused(code, "etcdserver: request is too large", Reason::Malformed);
        let message = "grpc: received message larger than max (4000000 vs. 2097152)";
        check_refused(Code::ResourceExhausted, message, Reason::Malformed);
        check_refused(code, "etcdserver: key is not provided", Reason::Malformed);
    }

    #[test]
    fn a_transaction_may_be_too_large_or_too_old() {
        let many = "etcdserver: too many operations in txn request";
        check_refused(Code::InvalidArgument, many, Reason::Unsupported);
        let code = Code::OutOfRange;
        let compacted = "etcdserver: mvcc: required revision has been compacted";
        check_refused(code, compacted, Reason::Conflict);
        let future = "etcdserver: mvcc: required revision is a future revision";
        check_refused(code, future, Reason::Busy);
        assert_eq!(said(code, future, Doing::Reading).1, Members);
    }

    #[test]
    fn clients_without_permission_are_refused() {
        check_refused(
            Code::PermissionDenied,
            "etcdserver: permission denied",
            Reason::NotPermitted,
        );
        let code = Code::InvalidArgument;
        check_refused(code, "etcdserver: user name is empty", Reason::NotPermitted);
        let old = "etcdserver: revision of auth store is old";
        check_refused(code, old, Reason::NotPermitted);
        let token = "etcdserver: invalid auth token";
        check_refused(Code::Unauthenticated, token, Reason::NotPermitted);
        assert_eq!(said(Code::Unauthenticated, token, Doing::Reading).1, Connections);
    }

    #[test]
    fn unknown_messages_are_classified_by_their_code() {
        check_refused(Code::Unimplemented, "unknown service", Reason::Unsupported);
        check_refused(Code::FailedPrecondition, "something", Reason::StoreError);
        check_open(Code::Unavailable, "something", Reason::Busy);
        check_open(Code::Unknown, "something", Reason::StoreError);
    }

    #[test]
    fn a_member_that_may_be_cut_off_is_left() {
        let timed_out = "etcdserver: request timed out";
        assert_eq!(said(Code::Unavailable, timed_out, Doing::Writing).1, Members);
        let changed = "etcdserver: leader changed";
        assert_eq!(said(Code::Unavailable, changed, Doing::Writing).1, Nobodys);
    }

    #[test]
    fn a_broken_connection_leaves_open_what_was_sent() {
        let broken = CallError::Broken("reset".into());
        let unsent = CallError::Unsent("closed".into());
        let garbled = CallError::Garbled("what?".into());
        let lost = Completion::Unknown(Reason::ConnectionLost);
        for doing in [Doing::Reading, Doing::Writing] {
            assert_eq!(failure(&broken, doing), Failure { ending: lost, source: Connections });
            let ending = Completion::Unknown(Reason::Garbled);
            assert_eq!(failure(&garbled, doing), Failure { ending, source: Connections });
        }
        // What was to be written afterwards certainly was not.
        let ending = Completion::Refused(Reason::ConnectionLost);
        assert_eq!(failure(&broken, Doing::ReadingToWrite).ending, ending);
        let ending = Completion::Refused(Reason::Unreachable);
        assert_eq!(failure(&unsent, Doing::Writing), Failure { ending, source: Connections });
    }
}
