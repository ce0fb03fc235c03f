//! Failures of AntidoteDB, or of the connection to it, as outcomes of requests.

use assay_driver_kit::task::{Completion, ConnectionState};
use assay_model::Reason;

use super::socket::Trouble;

/// What the request that failed was to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// To read, and nothing more.
    Reading,
    /// To open a transaction, or to write in one: nothing of it is there before its commit.
    Preparing,
    /// To commit, or to write in a request that is a transaction by itself.
    Committing,
}

/// What a failure means, and what is to become of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) ending: Completion,
    pub(super) after: ConnectionState,
}

/// A failure that the request itself brought.
pub(super) fn refused(reason: Reason) -> Failure {
    Failure { ending: Completion::Refused(reason), after: ConnectionState::Free }
}

/// What an answer with `success = false` means, by its error code.
pub(super) fn denied(code: Option<u32>, doing: Doing) -> Failure {
    let (reason, is_certain) = match code.unwrap_or_default() {
        1 => (Reason::Timeout, false),
        2 => (Reason::NotPermitted, true),
        // Another transaction was first: nothing of this one was written.
        3 => (Reason::Conflict, true),
        _ => (Reason::StoreError, false),
    };
    let ending = match doing == Doing::Committing && !is_certain {
        true => Completion::Unknown(reason),
        false => Completion::Refused(reason),
    };
    Failure { ending, after: ConnectionState::Free }
}

/// What no answer, or an error in its place, means.
pub(super) fn failure(trouble: &Trouble, doing: Doing) -> Failure {
    let (reason, after) = match trouble {
        Trouble::Said(_) => (Reason::StoreError, ConnectionState::Free),
        Trouble::Lost(_) => (Reason::ConnectionLost, ConnectionState::Lost),
        Trouble::Garbled(_) => (Reason::Garbled, ConnectionState::Lost),
    };
    let is_told = matches!(trouble, Trouble::Said(_));
    let ending = match doing {
        Doing::Preparing => Completion::Refused(reason),
        Doing::Reading if is_told => Completion::Refused(reason),
        // A read without an answer is as open as the connection left it.
        Doing::Reading | Doing::Committing => Completion::Unknown(reason),
    };
    Failure { ending, after }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Doing; 3] = [Doing::Reading, Doing::Preparing, Doing::Committing];

    fn endings(of: impl Fn(Doing) -> Failure) -> [Completion; 3] {
        ALL.map(|doing| of(doing).ending)
    }

    #[test]
    fn an_aborted_transaction_is_a_conflict() {
        let refused = Completion::Refused(Reason::Conflict);
        assert_eq!(endings(|doing| denied(Some(3), doing)), [refused; 3]);
        let refused = Completion::Refused(Reason::NotPermitted);
        assert_eq!(endings(|doing| denied(Some(2), doing)), [refused; 3]);
    }

    #[test]
    fn a_commit_that_failed_otherwise_is_unknown() {
        for (code, reason) in [
            (None, Reason::StoreError),
            (Some(0), Reason::StoreError),
            (Some(1), Reason::Timeout),
            (Some(77), Reason::StoreError),
        ] {
            let refused = Completion::Refused(reason);
            let expected = [refused, refused, Completion::Unknown(reason)];
            assert_eq!(endings(|doing| denied(code, doing)), expected, "{code:?}");
        }
    }

    #[test]
    fn an_error_in_place_of_an_answer_leaves_a_commit_open() {
        let said = Trouble::Said("{badmatch,x}".into());
        let refused = Completion::Refused(Reason::StoreError);
        let expected = [refused, refused, Completion::Unknown(Reason::StoreError)];
        assert_eq!(endings(|doing| failure(&said, doing)), expected);
        assert!(ALL.iter().all(|&doing| failure(&said, doing).after == ConnectionState::Free));
    }

    #[test]
    fn a_broken_connection_leaves_open_what_was_not_within_a_transaction() {
        for (trouble, reason) in [
            (Trouble::Lost("reset".into()), Reason::ConnectionLost),
            (Trouble::Garbled("what?".into()), Reason::Garbled),
        ] {
            let unknown = Completion::Unknown(reason);
            let expected = [unknown, Completion::Refused(reason), unknown];
            assert_eq!(endings(|doing| failure(&trouble, doing)), expected);
            let is_lost = |doing: &Doing| failure(&trouble, *doing).after == ConnectionState::Lost;
            assert!(ALL.iter().all(is_lost));
        }
    }
}
