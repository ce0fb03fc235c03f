//! Failures of TiKV, of PD, or of the network, as outcomes of requests.

use std::error::Error as _;

use assay_driver_kit::task::Completion;
use assay_model::Reason;
use tikv_client::{Error, ProtoKeyError as KeyError, ProtoRegionError as RegionError};
use tonic_of_tikv::{Code, Status};

use super::placement::{RequestError, is_unsent};

/// How often an update is tried while others write the same record, or its region moves.
pub(super) const ATTEMPTS: u16 = 8;

/// What the request that failed was to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// To read, and nothing more.
    Reading,
    /// To prepare a write, which has not been made yet: a timestamp, a read, a lock.
    Preparing,
    /// To write.
    Writing,
}

/// What an error means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It certainly did not happen, as the region is elsewhere by now: look for it, then try
    /// again.
    Moved,
    /// It certainly did not happen, as another transaction was in the way: begin again.
    Conflict,
    /// There is no more to be done.
    Failed(Failure),
}

/// How a request failed, and which part failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) ending: Completion,
    pub(super) source: FailureSource,
}

/// The failed part, so that it is avoided for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailureSource {
    /// The request, or what is there.
    Nobodys,
    /// One TiKV server; others may do.
    Nodes,
    /// The placement drivers, without whom nothing is found.
    Drivers,
}

/// Whether a write that ended so may have happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Write {
    Never,
    Perhaps,
}

use FailureSource::{Drivers, Nobodys, Nodes};
use Write::{Never, Perhaps};

impl Failure {
    /// It certainly did not happen; no part failed.
    pub(super) const fn refused(reason: Reason) -> Failure {
        Failure { ending: Completion::Refused(reason), source: Nobodys }
    }
}

impl Verdict {
    /// What it comes to if it is not tried again.
    pub(super) fn failure(self) -> Failure {
        match self {
            Verdict::Moved => Failure::refused(Reason::Busy),
            Verdict::Conflict => Failure::refused(Reason::Conflict),
            Verdict::Failed(failure) => failure,
        }
    }
}

impl From<Reason> for Failure {
    fn from(reason: Reason) -> Failure {
        Failure::refused(reason)
    }
}

impl From<Reason> for Verdict {
    fn from(reason: Reason) -> Verdict {
        Verdict::Failed(reason.into())
    }
}

impl From<Failure> for Verdict {
    fn from(failure: Failure) -> Verdict {
        Verdict::Failed(failure)
    }
}

/// How what ended with `reason` ends, and by whose fault.
fn failed(doing: Doing, reason: Reason, write: Write, source: FailureSource) -> Verdict {
    let is_open = doing == Doing::Writing && write == Perhaps;
    let ending = if is_open { Completion::Unknown(reason) } else { Completion::Refused(reason) };
    Verdict::Failed(Failure { ending, source })
}

/// The connection broke, or the response is invalid: the outcome of a read is as unknown as that of
/// a write.
fn lost(doing: Doing, reason: Reason) -> Verdict {
    let ending = match doing {
        Doing::Reading | Doing::Writing => Completion::Unknown(reason),
        Doing::Preparing => Completion::Refused(reason),
    };
    Verdict::Failed(Failure { ending, source: Nodes })
}

/// What `error` means for a request that was `doing` something.
///
/// A transaction that writes is done or not when its primary key is committed: the client library
/// is configured to commit in two phases, without retries. So a failure before that
/// request leaves, such as finding a region or getting a timestamp, certainly does not happen.
pub(super) fn verdict(error: &Error, doing: Doing) -> Verdict {
    let fails = |reason, write, source| failed(doing, reason, write, source);
    match error {
        // A connection to a server could not be made.
        Error::Grpc(_) => fails(Reason::Unreachable, Never, Nodes),
        Error::GrpcAPI(status) => of_status(status, doing),
        Error::Io(_) | Error::UndeterminedError(_) => lost(doing, Reason::ConnectionLost),
        Error::RegionError(error) => of_region(error, doing),
        Error::LeaderNotFound { .. }
        | Error::NoCurrentRegions
        | Error::EntryNotFoundInRegionCache => Verdict::Moved,
        Error::KeyError(error) => of_key(error, doing),
        Error::ResolveLockError(_) | Error::TxnNotFound(_) => Verdict::Conflict,
        Error::PessimisticLockError { inner, .. } => verdict(inner, doing),
        Error::ExtractedErrors(errors) | Error::MultipleKeyErrors(errors) => {
            worst(errors.iter().map(|error| verdict(error, doing)))
        }
        Error::DuplicateKeyInsertion => fails(Reason::Exists, Never, Nobodys),
        Error::KvError { message } => of_words(message, doing),
        // What the library says of PD has no type of its own. So does what it finds wrong by
        // itself, before it sends anything.
        Error::InternalError { .. } | Error::Channel(_) | Error::Canceled(_) => {
            fails(Reason::Unreachable, Never, Drivers)
        }
        Error::RegionForKeyNotFound { .. }
        | Error::RegionForRangeNotFound { .. }
        | Error::RegionNotFoundInResponse { .. } => fails(Reason::Unreachable, Never, Nobodys),
        Error::Unimplemented
        | Error::InvalidTransactionType
        | Error::UnsupportedMode
        | Error::KeyspaceNotFound(_) => fails(Reason::Unsupported, Never, Nobodys),
        Error::Url(_)
        | Error::ColumnFamilyError(_)
        | Error::MaxScanLimitExceeded { .. }
        | Error::InvalidSemver(_) => fails(Reason::Malformed, Never, Nobodys),
        Error::OperationAfterCommitError
        | Error::OnePcFailure
        | Error::NoPrimaryKey
        | Error::StringError(_) => fails(Reason::StoreError, Never, Nobodys),
        // A task of the library's ended before its time.
        Error::JoinError(_) => fails(Reason::StoreError, Perhaps, Nobodys),
    }
}

/// The one that leaves most open, of several.
fn worst(verdicts: impl Iterator<Item = Verdict>) -> Verdict {
    let openness = |verdict: &Verdict| match verdict {
        Verdict::Failed(Failure { ending: Completion::Unknown(_), .. }) => 2,
        Verdict::Failed(_) => 1,
        Verdict::Moved | Verdict::Conflict => 0,
    };
    verdicts.max_by_key(openness).unwrap_or_else(|| Failure::refused(Reason::StoreError).into())
}

/// What PD's answer, or the lack of one, means for a request that has not left yet.
pub(super) fn of_driver(error: &RequestError) -> Failure {
    let (reason, source) = match error {
        RequestError::Unreachable(_) | RequestError::Broken(_) => (Reason::Unreachable, Drivers),
        RequestError::Told(..) | RequestError::Said(_) => (Reason::Busy, Drivers),
    };
    Failure { ending: Completion::Refused(reason), source }
}

fn of_status(status: &Status, doing: Doing) -> Verdict {
    if is_unsent(status) {
        return failed(doing, Reason::Unreachable, Never, Nodes);
    }
    let code = status.code();
    if status.source().is_some() && code != Code::Cancelled {
        return lost(doing, Reason::ConnectionLost);
    }
    let (reason, write, source) = match code {
        // The library's timeout, or the server's, expired.
        Code::Cancelled | Code::DeadlineExceeded => return lost(doing, Reason::Timeout),
        Code::InvalidArgument | Code::NotFound | Code::AlreadyExists => {
            (Reason::Malformed, Never, Nobodys)
        }
        // The library refuses to read so large an answer.
        Code::OutOfRange => (Reason::Garbled, Perhaps, Nobodys),
        Code::PermissionDenied | Code::Unauthenticated => (Reason::NotPermitted, Never, Nobodys),
        Code::Unimplemented => (Reason::Unsupported, Never, Nobodys),
        Code::ResourceExhausted => (Reason::Busy, Never, Nobodys),
        Code::FailedPrecondition | Code::Aborted => (Reason::StoreError, Perhaps, Nobodys),
        Code::Unavailable => (Reason::Busy, Perhaps, Nodes),
        Code::Internal | Code::DataLoss | Code::Unknown | Code::Ok => {
            (Reason::StoreError, Perhaps, Nobodys)
        }
    };
    failed(doing, reason, write, source)
}

/// What a region says instead of an answer; source: `errorpb.proto` in kvproto.
///
/// It says so before the write is proposed to its copies, with one exception: a stale command was
/// proposed by a leader that is none any more, and may be applied all the same.
fn of_region(error: &RegionError, doing: Doing) -> Verdict {
    let has_moved = error.not_leader.is_some()
        || error.region_not_found.is_some()
        || error.key_not_in_region.is_some()
        || error.epoch_not_match.is_some()
        || error.store_not_match.is_some()
        || error.mismatch_peer_id.is_some()
        || error.is_witness.is_some()
        || error.region_not_initialized.is_some()
        || error.bucket_version_not_match.is_some();
    let is_busy = error.server_is_busy.is_some()
        || error.max_timestamp_not_synced.is_some()
        || error.read_index_not_ready.is_some()
        || error.proposal_in_merging_mode.is_some()
        || error.data_is_not_ready.is_some()
        || error.recovery_in_progress.is_some()
        || error.flashback_in_progress.is_some();
    let fails = |reason, write| failed(doing, reason, write, Nobodys);
    if error.stale_command.is_some() {
        fails(Reason::Busy, Perhaps)
    } else if has_moved {
        Verdict::Moved
    } else if is_busy {
        fails(Reason::Busy, Never)
    } else if error.disk_full.is_some() {
        fails(Reason::Full, Never)
    } else if error.raft_entry_too_large.is_some() {
        fails(Reason::Malformed, Never)
    } else if error.flashback_not_prepared.is_some() {
        fails(Reason::StoreError, Never)
    } else {
        // One that is newer than the library.
        fails(Reason::StoreError, Perhaps)
    }
}

/// What is wrong with a key of a transaction; source: `kvrpcpb.proto` in kvproto.
fn of_key(error: &KeyError, doing: Doing) -> Verdict {
    let is_conflict = error.locked.is_some()
        || error.conflict.is_some()
        || error.deadlock.is_some()
        || error.commit_ts_expired.is_some()
        || error.txn_not_found.is_some()
        || !error.retryable.is_empty()
        || misses_lock(&error.abort);
    let is_refused = error.commit_ts_too_large.is_some()
        || error.assertion_failed.is_some()
        || error.primary_mismatch.is_some();
    if is_conflict {
        Verdict::Conflict
    } else if error.already_exist.is_some() {
        failed(doing, Reason::Exists, Never, Nobodys)
    } else if is_refused {
        failed(doing, Reason::StoreError, Never, Nobodys)
    } else {
        // The server asks to abort because of an internal error.
        failed(doing, Reason::StoreError, Perhaps, Nobodys)
    }
}

/// Whether the message of an aborted prewrite says that a lock which was taken before is missing:
/// others have undone the transaction. TiKV writes them as one, its stand-in does not.
fn misses_lock(words: &str) -> bool {
    words.replace(' ', "").to_lowercase().contains("pessimisticlocknotfound")
}

/// What a server says in words only, in raw mode.
fn of_words(message: &str, doing: Doing) -> Verdict {
    let words = message.to_lowercase();
    let is_said = |parts: &[&str]| parts.iter().any(|part| words.contains(part));
    if is_said(&["too large", "toolarge", "invalid"]) {
        failed(doing, Reason::Malformed, Never, Nobodys)
    } else if is_said(&["api version", "apiversion", "not supported", "not implemented"]) {
        failed(doing, Reason::Unsupported, Never, Nobodys)
    } else {
        failed(doing, Reason::StoreError, Perhaps, Nobodys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Doing; 3] = [Doing::Reading, Doing::Preparing, Doing::Writing];

    fn describe(error: &Error, doing: Doing) -> Completion {
        verdict(error, doing).failure().ending
    }

    /// Refused, whatever it was to do.
    fn check_refused(error: &Error, reason: Reason) {
        for doing in ALL {
            assert_eq!(describe(error, doing), Completion::Refused(reason), "{error:?} {doing:?}");
        }
    }

    /// A write may have happened; a read certainly returned nothing.
    fn check_open(error: &Error, reason: Reason) {
        assert_eq!(describe(error, Doing::Writing), Completion::Unknown(reason), "{error:?}");
        for doing in [Doing::Reading, Doing::Preparing] {
            assert_eq!(describe(error, doing), Completion::Refused(reason), "{error:?} {doing:?}");
        }
    }

    /// Its outcome is unknown; later writes did not happen.
    fn check_lost(error: &Error, reason: Reason) {
        for doing in [Doing::Reading, Doing::Writing] {
            assert_eq!(describe(error, doing), Completion::Unknown(reason), "{error:?} {doing:?}");
        }
        assert_eq!(describe(error, Doing::Preparing), Completion::Refused(reason), "{error:?}");
    }

    fn region(fill: impl FnOnce(&mut RegionError)) -> Error {
        let mut error = RegionError::default();
        fill(&mut error);
        error.into()
    }

    fn key(fill: impl FnOnce(&mut KeyError)) -> Error {
        let mut error = KeyError::default();
        fill(&mut error);
        error.into()
    }

    fn status(status: Status) -> Error {
        status.into()
    }

    fn source(error: &Error) -> FailureSource {
        verdict(error, Doing::Writing).failure().source
    }

    #[test]
    fn a_region_that_is_elsewhere_is_looked_for() {
        for error in [
            region(|it| it.not_leader = Some(Default::default())),
            region(|it| it.region_not_found = Some(Default::default())),
            region(|it| it.key_not_in_region = Some(Default::default())),
            region(|it| it.epoch_not_match = Some(Default::default())),
            region(|it| it.store_not_match = Some(Default::default())),
            region(|it| it.mismatch_peer_id = Some(Default::default())),
            region(|it| it.is_witness = Some(Default::default())),
            region(|it| it.region_not_initialized = Some(Default::default())),
            region(|it| it.bucket_version_not_match = Some(Default::default())),
            Error::NoCurrentRegions,
            Error::EntryNotFoundInRegionCache,
        ] {
            assert_eq!(verdict(&error, Doing::Writing), Verdict::Moved, "{error:?}");
            check_refused(&error, Reason::Busy);
        }
    }

    #[test]
    fn a_region_that_is_not_ready_is_busy() {
        for error in [
            region(|it| it.server_is_busy = Some(Default::default())),
            region(|it| it.max_timestamp_not_synced = Some(Default::default())),
            region(|it| it.read_index_not_ready = Some(Default::default())),
            region(|it| it.proposal_in_merging_mode = Some(Default::default())),
            region(|it| it.data_is_not_ready = Some(Default::default())),
            region(|it| it.recovery_in_progress = Some(Default::default())),
            region(|it| it.flashback_in_progress = Some(Default::default())),
        ] {
            assert!(matches!(verdict(&error, Doing::Writing), Verdict::Failed(_)), "{error:?}");
            check_refused(&error, Reason::Busy);
        }
    }

    #[test]
    fn a_command_of_an_old_leader_may_be_done_all_the_same() {
        check_open(&region(|it| it.stale_command = Some(Default::default())), Reason::Busy);
    }

    #[test]
    fn what_a_region_has_no_room_for_is_refused() {
        check_refused(&region(|it| it.disk_full = Some(Default::default())), Reason::Full);
        let large = region(|it| it.raft_entry_too_large = Some(Default::default()));
        check_refused(&large, Reason::Malformed);
        let flashback = region(|it| it.flashback_not_prepared = Some(Default::default()));
        check_refused(&flashback, Reason::StoreError);
        // An unknown one.
        check_open(&region(|it| it.message = "something new".into()), Reason::StoreError);
    }

    #[test]
    fn another_transaction_in_the_way_is_a_conflict() {
        for error in [
            key(|it| it.locked = Some(Default::default())),
            key(|it| it.conflict = Some(Default::default())),
            key(|it| it.deadlock = Some(Default::default())),
            key(|it| it.commit_ts_expired = Some(Default::default())),
            key(|it| it.txn_not_found = Some(Default::default())),
            key(|it| it.retryable = "txn lock not found".into()),
            key(|it| it.abort = "Txn(Mvcc(PessimisticLockNotFound { start_ts: 1 }))".into()),
            key(|it| it.abort = "pessimistic lock not found".into()),
            Error::ResolveLockError(Vec::new()),
            Error::TxnNotFound(Default::default()),
            Error::PessimisticLockError {
                inner: Box::new(key(|it| it.conflict = Some(Default::default()))),
                success_keys: Vec::new(),
            },
        ] {
            assert_eq!(verdict(&error, Doing::Writing), Verdict::Conflict, "{error:?}");
            check_refused(&error, Reason::Conflict);
        }
    }

    #[test]
    fn what_a_key_does_not_allow_is_refused() {
        let exists = key(|it| it.already_exist = Some(Default::default()));
        check_refused(&exists, Reason::Exists);
        check_refused(&Error::DuplicateKeyInsertion, Reason::Exists);
        for error in [
            key(|it| it.commit_ts_too_large = Some(Default::default())),
            key(|it| it.assertion_failed = Some(Default::default())),
            key(|it| it.primary_mismatch = Some(Default::default())),
        ] {
            check_refused(&error, Reason::StoreError);
        }
        check_open(&key(|it| it.abort = "engine: IO error".into()), Reason::StoreError);
    }

    #[test]
    fn of_several_errors_the_most_open_one_counts() {
        let conflict = || key(|it| it.conflict = Some(Default::default()));
        let abort = || key(|it| it.abort = "engine".into());
        check_open(&Error::ExtractedErrors(vec![abort(), conflict()]), Reason::StoreError);
        check_open(&Error::MultipleKeyErrors(vec![conflict(), abort()]), Reason::StoreError);
        check_refused(&Error::ExtractedErrors(vec![conflict()]), Reason::Conflict);
        check_refused(&Error::ExtractedErrors(Vec::new()), Reason::StoreError);
    }

    #[test]
    fn a_broken_connection_leaves_open_what_was_sent() {
        let reset = || std::io::Error::from(std::io::ErrorKind::ConnectionReset);
        let broken = status(Status::from_error(Box::new(reset())));
        check_lost(&broken, Reason::ConnectionLost);
        check_lost(&Error::Io(reset()), Reason::ConnectionLost);
        let open = Error::UndeterminedError(Box::new(Error::Unimplemented));
        check_lost(&open, Reason::ConnectionLost);
        assert_eq!(source(&broken), Nodes);
    }

    #[test]
    fn without_a_connection_nothing_was_sent() {
        let refused = "error trying to connect: tcp connect error: Connection refused";
        let error = status(Status::unavailable(refused));
        check_refused(&error, Reason::Unreachable);
        assert_eq!(source(&error), Nodes);
        let stopped = Error::InternalError { message: "failed to connect to [..]".into() };
        check_refused(&stopped, Reason::Unreachable);
        assert_eq!(source(&stopped), Drivers);
        check_refused(&Error::RegionForKeyNotFound { key: Vec::new() }, Reason::Unreachable);
        check_refused(&Error::RegionNotFoundInResponse { region_id: 1 }, Reason::Unreachable);
    }

    #[test]
    fn an_expired_timeout_leaves_every_request_unknown() {
        check_lost(&status(Status::cancelled("Timeout expired")), Reason::Timeout);
        check_lost(&status(Status::deadline_exceeded("too late")), Reason::Timeout);
    }

    #[test]
    fn what_a_server_says_goes_by_its_code() {
        check_refused(&status(Status::unimplemented("RawGet")), Reason::Unsupported);
        check_refused(&status(Status::invalid_argument("key")), Reason::Malformed);
        check_refused(&status(Status::permission_denied("CN")), Reason::NotPermitted);
        check_refused(&status(Status::resource_exhausted("memory")), Reason::Busy);
        check_open(&status(Status::out_of_range("message length")), Reason::Garbled);
        check_open(&status(Status::unavailable("stopping")), Reason::Busy);
        check_open(&status(Status::unknown("something")), Reason::StoreError);
        check_open(&status(Status::aborted("something")), Reason::StoreError);
    }

    #[test]
    fn what_is_said_in_words_goes_by_them() {
        let said = |message: &str| Error::KvError { message: message.into() };
        check_refused(&said("Key is too large, size: 9000"), Reason::Malformed);
        check_refused(&said("ApiVersionNotMatched: V2"), Reason::Unsupported);
        check_open(&said("Engine(Corruption)"), Reason::StoreError);
    }

    #[test]
    fn what_the_library_itself_refuses_was_never_sent() {
        for (error, reason) in [
            (Error::Unimplemented, Reason::Unsupported),
            (Error::UnsupportedMode, Reason::Unsupported),
            (Error::InvalidTransactionType, Reason::Unsupported),
            (Error::KeyspaceNotFound("k".into()), Reason::Unsupported),
            (Error::ColumnFamilyError("c".into()), Reason::Malformed),
            (Error::MaxScanLimitExceeded { limit: 2, max_limit: 1 }, Reason::Malformed),
            (Error::OperationAfterCommitError, Reason::StoreError),
            (Error::OnePcFailure, Reason::StoreError),
            (Error::NoPrimaryKey, Reason::StoreError),
            (Error::StringError("text".into()), Reason::StoreError),
        ] {
            check_refused(&error, reason);
        }
    }

    #[test]
    fn without_a_placement_driver_a_region_is_not_found() {
        let reason = |error| of_driver(&error).ending;
        let unreachable = Completion::Refused(Reason::Unreachable);
        assert_eq!(reason(RequestError::Unreachable("gone".into())), unreachable);
        assert_eq!(reason(RequestError::Broken("gone".into())), unreachable);
        let busy = Completion::Refused(Reason::Busy);
        assert_eq!(reason(RequestError::Said("not leader".into())), busy);
        assert_eq!(reason(RequestError::Told(Code::Unavailable, "no".into())), busy);
    }
}
