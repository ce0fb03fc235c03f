//! Failures of Cassandra, or of the library, as outcomes of requests.

use assay_driver_kit::task::Completion;
use assay_model::Reason;
use scylla::errors::{
    BrokenConnectionError, BrokenConnectionErrorKind, DbError, ExecutionError,
    FrameHeaderParseError, PrepareError, RequestAttemptError,
};

/// What was on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestKind {
    /// A read or scan.
    Look,
    /// A write that the replicas take as it is.
    Write,
    /// Writes of several records, each as it is: one may fail when others are written.
    Unlogged,
    /// The same, once they are all in a log of the coordinator's.
    Logged,
    /// A write on a condition: agreed on first, then committed, and both may fail.
    Condition,
}

/// It certainly did not happen; the request itself was at fault.
pub(super) const MALFORMED: Completion = Completion::Refused(Reason::Malformed);
/// The response is invalid.
pub(super) const GARBLED: Completion = Completion::Unknown(Reason::Garbled);
/// No node could be reached.
const UNREACHABLE: Completion = Completion::Refused(Reason::Unreachable);
/// The connection broke while an answer was awaited.
const LOST: Completion = Completion::Unknown(Reason::ConnectionLost);
/// The store's own error, with an unknown outcome.
const OPEN: Completion = Completion::Unknown(Reason::StoreError);

/// The server lost count of a conditional write; a later version of the protocol says so.
const CAS_WRITE_UNKNOWN: i32 = 0x1700;

/// The completion that `error` means for a request that was sent.
pub(super) fn failure(error: &ExecutionError, requested: RequestKind) -> Completion {
    match error {
        ExecutionError::BadQuery(_) => MALFORMED,
        ExecutionError::EmptyPlan | ExecutionError::ConnectionPoolError(_) => UNREACHABLE,
        ExecutionError::PrepareError(error) => of_prepare(error),
        ExecutionError::LastAttemptError(error) => of_attempt(error, requested),
        ExecutionError::RequestTimeout(_) => Completion::Unknown(Reason::Timeout),
        ExecutionError::UseKeyspaceError(_)
        | ExecutionError::SchemaAgreementError(_)
        | ExecutionError::MetadataError(_) => OPEN,
        // The library may get new errors; their outcome is unknown.
        _ => OPEN,
    }
}

/// What `error` means for a request whose statement could not be prepared: nothing happened.
pub(super) fn of_prepare(error: &PrepareError) -> Completion {
    let attempt = match error {
        PrepareError::ConnectionPoolError(_) => return UNREACHABLE,
        PrepareError::AllAttemptsFailed { first_attempt } => first_attempt,
        PrepareError::PreparedStatementIdsMismatch => {
            return Completion::Refused(Reason::StoreError);
        }
        _ => return Completion::Refused(Reason::StoreError),
    };
    match of_attempt(attempt, RequestKind::Look) {
        Completion::Unknown(Reason::ConnectionLost) => UNREACHABLE,
        Completion::Unknown(reason) | Completion::Refused(reason) => Completion::Refused(reason),
        Completion::Done { .. } => Completion::Refused(Reason::StoreError),
    }
}

fn of_attempt(error: &RequestAttemptError, requested: RequestKind) -> Completion {
    match error {
        RequestAttemptError::SerializationError(_)
        | RequestAttemptError::CqlRequestSerialization(_) => MALFORMED,
        RequestAttemptError::UnableToAllocStreamId => Completion::Refused(Reason::InFlightLimit),
        RequestAttemptError::BrokenConnectionError(error) => of_broken(error),
        RequestAttemptError::BodyExtensionsParseError(_)
        | RequestAttemptError::CqlResultParseError(_)
        | RequestAttemptError::CqlErrorParseError(_)
        | RequestAttemptError::UnexpectedResponse(_)
        | RequestAttemptError::NonfinishedPagingState => GARBLED,
        RequestAttemptError::DbError(error, _) => of_server(error, requested),
        // The server did not know the statement, so it was not carried out.
        RequestAttemptError::RepreparedIdChanged { .. }
        | RequestAttemptError::RepreparedIdMissingInBatch => {
            Completion::Refused(Reason::StoreError)
        }
        _ => OPEN,
    }
}

/// A connection that breaks may have carried the request, or its answer.
fn of_broken(error: &BrokenConnectionError) -> Completion {
    let Some(kind) = error.downcast_ref() else { return LOST };
    match kind {
        BrokenConnectionErrorKind::FrameHeaderParseError(
            FrameHeaderParseError::HeaderIoError(_)
            | FrameHeaderParseError::BodyChunkIoError(..)
            | FrameHeaderParseError::ConnectionClosed(..),
        ) => LOST,
        BrokenConnectionErrorKind::FrameHeaderParseError(_)
        | BrokenConnectionErrorKind::UnexpectedStreamId(_)
        | BrokenConnectionErrorKind::CqlEventHandlingError(_) => GARBLED,
        BrokenConnectionErrorKind::KeepaliveTimeout(_)
        | BrokenConnectionErrorKind::KeepaliveRequestError(_)
        | BrokenConnectionErrorKind::WriteError(_)
        | BrokenConnectionErrorKind::TooManyOrphanedStreamIds(_)
        | BrokenConnectionErrorKind::ChannelError => LOST,
        _ => LOST,
    }
}

/// Source: the errors of Cassandra's native protocol, version 4, section 9.
fn of_server(error: &DbError, requested: RequestKind) -> Completion {
    match error {
        DbError::SyntaxError | DbError::Invalid | DbError::ConfigError | DbError::ProtocolError => {
            MALFORMED
        }
        DbError::AlreadyExists { .. } => Completion::Refused(Reason::Exists),
        DbError::AuthenticationError | DbError::Unauthorized => {
            Completion::Refused(Reason::NotPermitted)
        }
        // Reported before any replica is involved. A conditional write has two phases: what is
        // lacking for the commit, at the level of the write, is lacking after it was agreed on.
        // Writes of a batch are sent one after the other; those that were logged first are looked
        // at first.
        DbError::Unavailable { consistency, .. } => match requested {
            RequestKind::Condition if !consistency.is_serial() => Completion::Unknown(Reason::Busy),
            RequestKind::Unlogged => Completion::Unknown(Reason::Busy),
            _ => Completion::Refused(Reason::Busy),
        },
        DbError::Overloaded => match requested {
            RequestKind::Condition | RequestKind::Unlogged | RequestKind::Logged => {
                Completion::Unknown(Reason::Busy)
            }
            RequestKind::Look | RequestKind::Write => Completion::Refused(Reason::Busy),
        },
        DbError::IsBootstrapping => Completion::Refused(Reason::Busy),
        DbError::RateLimitReached { rejected_by_coordinator, .. } => {
            let is_batch = matches!(requested, RequestKind::Unlogged | RequestKind::Logged);
            match requested == RequestKind::Look || (*rejected_by_coordinator && !is_batch) {
                true => Completion::Refused(Reason::Busy),
                false => Completion::Unknown(Reason::Busy),
            }
        }
        // Some replicas may have taken it, and hints may bring it to others later.
        DbError::WriteTimeout { .. }
        | DbError::ReadTimeout { .. }
        | DbError::Other(CAS_WRITE_UNKNOWN) => Completion::Unknown(Reason::Timeout),
        DbError::WriteFailure { .. }
        | DbError::ReadFailure { .. }
        | DbError::FunctionFailure { .. }
        | DbError::TruncateError
        | DbError::ServerError
        | DbError::Other(_) => OPEN,
        DbError::Unprepared { .. } => Completion::Refused(Reason::StoreError),
        _ => OPEN,
    }
}

#[cfg(test)]
mod tests {
    use scylla::errors::{BadQuery, OperationType, WriteType};
    use scylla::frame::types::Consistency;

    use super::*;

    const EVERYTHING: [RequestKind; 5] = [
        RequestKind::Look,
        RequestKind::Write,
        RequestKind::Unlogged,
        RequestKind::Logged,
        RequestKind::Condition,
    ];

    fn of(error: DbError, requested: RequestKind) -> Completion {
        let attempt = RequestAttemptError::DbError(error, String::new());
        failure(&ExecutionError::LastAttemptError(attempt), requested)
    }

    fn check(error: DbError, expected: Completion) {
        for requested in EVERYTHING {
            assert_eq!(of(error.clone(), requested), expected, "{error:?} {requested:?}");
        }
    }

    fn refused(reason: Reason) -> Completion {
        Completion::Refused(reason)
    }

    fn unknown(reason: Reason) -> Completion {
        Completion::Unknown(reason)
    }

    #[test]
    fn too_few_nodes_are_reported_before_anything_is_done() {
        let lacking = |consistency| DbError::Unavailable { consistency, required: 2, alive: 1 };
        let quorum = || lacking(Consistency::Quorum);
        assert_eq!(of(quorum(), RequestKind::Write), refused(Reason::Busy));
        assert_eq!(of(quorum(), RequestKind::Look), refused(Reason::Busy));
        let serial = lacking(Consistency::Serial);
        assert_eq!(of(serial, RequestKind::Condition), refused(Reason::Busy));
        // Agreed on already; the commit is what too few nodes are there for.
        assert_eq!(of(quorum(), RequestKind::Condition), unknown(Reason::Busy));
    }

    #[test]
    fn of_a_batch_some_may_be_written_when_another_is_refused() {
        let consistency = Consistency::Quorum;
        let lacking = || DbError::Unavailable { consistency, required: 2, alive: 1 };
        assert_eq!(of(lacking(), RequestKind::Unlogged), unknown(Reason::Busy));
        assert_eq!(of(lacking(), RequestKind::Logged), refused(Reason::Busy));
        for requested in [RequestKind::Unlogged, RequestKind::Logged] {
            assert_eq!(of(DbError::Overloaded, requested), unknown(Reason::Busy));
            let op_type = OperationType::Write;
            let limit = DbError::RateLimitReached { op_type, rejected_by_coordinator: true };
            assert_eq!(of(limit, requested), unknown(Reason::Busy));
            // Too large for the server, which it finds before it writes anything.
            assert_eq!(of(DbError::Invalid, requested), refused(Reason::Malformed));
        }
    }

    #[test]
    fn replicas_that_do_not_answer_leave_it_open() {
        for write_type in [WriteType::Simple, WriteType::Cas, WriteType::BatchLog] {
            let timeout = DbError::WriteTimeout {
                consistency: Consistency::Quorum,
                received: 1,
                required: 2,
                write_type: write_type.clone(),
            };
            check(timeout, unknown(Reason::Timeout));
            let failure = DbError::WriteFailure {
                consistency: Consistency::Quorum,
                received: 1,
                required: 2,
                numfailures: 1,
                write_type,
            };
            check(failure, unknown(Reason::StoreError));
        }
        let consistency = Consistency::Quorum;
        let (received, required, data_present) = (1, 2, false);
        let slow = DbError::ReadTimeout { consistency, received, required, data_present };
        check(slow, unknown(Reason::Timeout));
        let numfailures = 1;
        let failed =
            DbError::ReadFailure { consistency, received, required, numfailures, data_present };
        check(failed, unknown(Reason::StoreError));
        check(DbError::Other(0x1700), unknown(Reason::Timeout));
    }

    #[test]
    fn a_node_that_cannot_take_more_is_busy() {
        check(DbError::IsBootstrapping, refused(Reason::Busy));
        assert_eq!(of(DbError::Overloaded, RequestKind::Write), refused(Reason::Busy));
        assert_eq!(of(DbError::Overloaded, RequestKind::Condition), unknown(Reason::Busy));
        let limited = |rejected_by_coordinator| DbError::RateLimitReached {
            op_type: OperationType::Write,
            rejected_by_coordinator,
        };
        assert_eq!(of(limited(true), RequestKind::Write), refused(Reason::Busy));
        assert_eq!(of(limited(false), RequestKind::Write), unknown(Reason::Busy));
        assert_eq!(of(limited(false), RequestKind::Look), refused(Reason::Busy));
    }

    #[test]
    fn what_is_invalid_or_is_not_allowed_never_happened() {
        for error in [DbError::SyntaxError, DbError::Invalid, DbError::ConfigError] {
            check(error, refused(Reason::Malformed));
        }
        check(DbError::ProtocolError, refused(Reason::Malformed));
        check(DbError::Unauthorized, refused(Reason::NotPermitted));
        check(DbError::AuthenticationError, refused(Reason::NotPermitted));
        let exists = DbError::AlreadyExists { keyspace: "k".into(), table: "t".into() };
        check(exists, refused(Reason::Exists));
        check(
            DbError::Unprepared { statement_id: Default::default() },
            refused(Reason::StoreError),
        );
    }

    #[test]
    fn errors_of_the_server_itself_leave_it_open() {
        check(DbError::ServerError, unknown(Reason::StoreError));
        check(DbError::TruncateError, unknown(Reason::StoreError));
        check(DbError::Other(7), unknown(Reason::StoreError));
        let (keyspace, function) = ("k".into(), "f".into());
        let function = DbError::FunctionFailure { keyspace, function, arg_types: Vec::new() };
        check(function, unknown(Reason::StoreError));
    }

    #[test]
    fn a_broken_connection_leaves_it_open() {
        let broken = |kind: BrokenConnectionErrorKind| {
            let attempt = RequestAttemptError::BrokenConnectionError(kind.into());
            failure(&ExecutionError::LastAttemptError(attempt), RequestKind::Write)
        };
        let reset = || std::io::ErrorKind::ConnectionReset.into();
        assert_eq!(broken(BrokenConnectionErrorKind::WriteError(reset())), LOST);
        let header = |error| broken(BrokenConnectionErrorKind::FrameHeaderParseError(error));
        assert_eq!(header(FrameHeaderParseError::HeaderIoError(reset())), LOST);
        assert_eq!(header(FrameHeaderParseError::ConnectionClosed(1, 2)), LOST);
        assert_eq!(header(FrameHeaderParseError::VersionNotSupported(9)), GARBLED);
        assert_eq!(
            broken(BrokenConnectionErrorKind::ChannelError),
            unknown(Reason::ConnectionLost)
        );
        assert_eq!(broken(BrokenConnectionErrorKind::UnexpectedStreamId(7)), GARBLED);
    }

    #[test]
    fn requests_that_the_library_refuses_were_never_sent() {
        let of = |error| failure(&error, RequestKind::Write);
        assert_eq!(of(ExecutionError::EmptyPlan), UNREACHABLE);
        assert_eq!(of(ExecutionError::BadQuery(BadQuery::PartitionKeyExtraction)), MALFORMED);
        let no_stream = RequestAttemptError::UnableToAllocStreamId;
        assert_eq!(of(ExecutionError::LastAttemptError(no_stream)), refused(Reason::InFlightLimit));
        let slow = ExecutionError::RequestTimeout(std::time::Duration::from_secs(1));
        assert_eq!(of(slow), unknown(Reason::Timeout));
    }

    #[test]
    fn a_statement_that_cannot_be_prepared_is_not_carried_out() {
        let of = |first_attempt| of_prepare(&PrepareError::AllAttemptsFailed { first_attempt });
        let broken = BrokenConnectionErrorKind::ChannelError.into();
        assert_eq!(of(RequestAttemptError::BrokenConnectionError(broken)), UNREACHABLE);
        let server = RequestAttemptError::DbError(DbError::ServerError, String::new());
        assert_eq!(of(server), refused(Reason::StoreError));
        let invalid = RequestAttemptError::DbError(DbError::Invalid, String::new());
        assert_eq!(of(invalid), MALFORMED);
        assert_eq!(
            of_prepare(&PrepareError::PreparedStatementIdsMismatch),
            refused(Reason::StoreError)
        );
    }
}
