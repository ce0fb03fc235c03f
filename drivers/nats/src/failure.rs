//! Failures of NATS, or of the connection to it, as outcomes of requests.

use std::error::Error;

pub(super) use assay_driver_kit::task::JobFailure as Failure;
use assay_model::Reason;
use async_nats::StatusCode;
use async_nats::client::{RequestError, RequestErrorKind};
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{
    PublishError, PublishErrorKind, RequestErrorKind as ApiErrorKind,
};
use async_nats::jetstream::stream::{
    DirectGetError, DirectGetErrorKind, LastRawMessageError, LastRawMessageErrorKind,
};

/// The numbers of JetStream's errors that certainly refuse, by what they mean. Source of all
/// numbers: the server's `errors.json`.
const REFUSALS: &[(Reason, &[ErrorCode])] = &[
    (
        Reason::Conflict,
        &[
            ErrorCode::STREAM_WRONG_LAST_SEQUENCE,
            ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT,
            // Another write of the same record is on its way through the replicas.
            ErrorCode::STREAM_EXPECTED_LAST_SEQ_PER_SUBJECT_NOT_READY,
        ],
    ),
    (
        Reason::Busy,
        &[
            ErrorCode::CLUSTER_INCOMPLETE,
            ErrorCode::CLUSTER_NOT_ACTIVE,
            ErrorCode::CLUSTER_NOT_AVAILABLE,
            ErrorCode::CLUSTER_NOT_LEADER,
            ErrorCode::STREAM_OFFLINE,
            ErrorCode::STREAM_TOO_MANY_REQUESTS,
        ],
    ),
    (
        Reason::Full,
        &[
            ErrorCode::ACCOUNT_RESOURCES_EXCEEDED,
            ErrorCode::INSUFFICIENT_RESOURCES,
            ErrorCode::MEMORY_RESOURCES_EXCEEDED,
            ErrorCode::STORAGE_RESOURCES_EXCEEDED,
        ],
    ),
    (
        Reason::Malformed,
        &[
            ErrorCode::STREAM_HEADER_EXCEEDS_MAXIMUM,
            ErrorCode::STREAM_MESSAGE_EXCEEDS_MAXIMUM,
            ErrorCode::STREAM_NOT_FOUND,
            ErrorCode::STREAM_NOT_MATCH,
        ],
    ),
    (Reason::ReadOnly, &[ErrorCode::STREAM_SEALED]),
    (
        Reason::Unsupported,
        &[ErrorCode::JETSTREAM_NOT_ENABLED, ErrorCode::JETSTREAM_NOT_ENABLED_FOR_ACCOUNT],
    ),
];

/// What a bucket with a bound says when it has reached it.
const FULL: [&str; 2] = ["maximum bytes exceeded", "maximum messages exceeded"];

/// What JetStream's error with this number means; `code` is the like of HTTP's.
fn of_number(code: usize, number: ErrorCode, reported: &str) -> Failure {
    if let Some((reason, _)) = REFUSALS.iter().find(|(_, numbers)| numbers.contains(&number)) {
        return Failure::refused(*reason);
    }
    if number == ErrorCode::STREAM_STORE_FAILED && FULL.iter().any(|text| reported.contains(text)) {
        return Failure::refused(Reason::Full);
    }
    match code {
        400..500 => Failure::refused(Reason::StoreError),
        // It failed on its way to the disk or to the replicas: some may have it.
        _ => Failure::unknown(Reason::StoreError),
    }
}

fn of_jetstream(error: &async_nats::jetstream::Error) -> Failure {
    of_number(error.code(), error.error_code(), &error.to_string())
}

/// The first error of this type in the chain that `error` begins.
fn within<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

/// What `error` means for a write that had not left yet.
pub(super) fn before_sending(error: &PublishError) -> Failure {
    match error.kind() {
        PublishErrorKind::MaxPayloadExceeded => Failure::refused(Reason::Malformed),
        PublishErrorKind::MaxAckPending => Failure::refused(Reason::InFlightLimit),
        PublishErrorKind::TimedOut => Failure::refused(Reason::Timeout),
        PublishErrorKind::StreamNotFound
        | PublishErrorKind::WrongLastMessageId
        | PublishErrorKind::WrongLastSequence
        | PublishErrorKind::BrokenPipe
        | PublishErrorKind::Other => Failure::UNREACHABLE,
    }
}

/// What `error` means for a write that may have left.
pub(super) fn of_write(error: &PublishError) -> Failure {
    match error.kind() {
        // The server has no responder: the bucket's leader is gone.
        PublishErrorKind::StreamNotFound => Failure::refused(Reason::Busy),
        PublishErrorKind::WrongLastSequence => Failure::refused(Reason::Conflict),
        PublishErrorKind::WrongLastMessageId => Failure::refused(Reason::StoreError),
        PublishErrorKind::MaxPayloadExceeded => Failure::refused(Reason::Malformed),
        PublishErrorKind::MaxAckPending => Failure::refused(Reason::InFlightLimit),
        PublishErrorKind::TimedOut => Failure::unknown(Reason::Timeout),
        PublishErrorKind::BrokenPipe => Failure::LOST,
        PublishErrorKind::Other => match within(error) {
            Some(error) => of_jetstream(error),
            None => Failure::unknown(Reason::Garbled),
        },
    }
}

/// What `error` means for a read that any replica may answer; `None` if nothing is there.
pub(super) fn of_direct(error: &DirectGetError, is_gone: bool) -> Option<Failure> {
    let failure = match error.kind() {
        DirectGetErrorKind::NotFound => return None,
        DirectGetErrorKind::InvalidSubject => Failure::refused(Reason::Malformed),
        DirectGetErrorKind::TimedOut => Failure::unknown(Reason::Timeout),
        // The server knows of no replica that would answer.
        DirectGetErrorKind::ErrorResponse(StatusCode::NO_RESPONDERS, _) => {
            Failure::refused(Reason::Busy)
        }
        DirectGetErrorKind::ErrorResponse(..) => Failure::refused(Reason::StoreError),
        DirectGetErrorKind::Request | DirectGetErrorKind::Other => of_request(error, is_gone),
    };
    Some(failure)
}

/// What `error` means for a read that the leader answers; `None` if nothing is there.
pub(super) fn of_leader(error: &LastRawMessageError, is_gone: bool) -> Option<Failure> {
    let failure = match error.kind() {
        LastRawMessageErrorKind::NoMessageFound => return None,
        LastRawMessageErrorKind::InvalidSubject => Failure::refused(Reason::Malformed),
        LastRawMessageErrorKind::JetStream(error) => of_jetstream(&error),
        LastRawMessageErrorKind::Other => of_request(error, is_gone),
    };
    Some(failure)
}

/// What the error of a request within `error` means.
fn of_request(error: &(dyn Error + 'static), is_gone: bool) -> Failure {
    let plain = within::<RequestError>(error).map(|error| match error.kind() {
        RequestErrorKind::TimedOut => ApiErrorKind::TimedOut,
        RequestErrorKind::NoResponders => ApiErrorKind::NoResponders,
        RequestErrorKind::InvalidSubject | RequestErrorKind::MaxPayloadExceeded => {
            ApiErrorKind::InvalidSubject
        }
        RequestErrorKind::Other => ApiErrorKind::Other,
    });
    let api = within::<async_nats::jetstream::context::RequestError>(error);
    match plain.or(api.map(|error| error.kind())) {
        Some(ApiErrorKind::NoResponders) => Failure::refused(Reason::Busy),
        Some(ApiErrorKind::TimedOut) => Failure::unknown(Reason::Timeout),
        Some(ApiErrorKind::InvalidSubject) => Failure::refused(Reason::Malformed),
        Some(ApiErrorKind::Other) | None if is_gone => Failure::LOST,
        Some(ApiErrorKind::Other) | None => Failure::unknown(Reason::Garbled),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_driver_kit::task::Completion;

    fn refused(code: usize, number: ErrorCode, reason: Reason) {
        assert_eq!(of_number(code, number, ""), Failure::refused(reason), "{number:?}");
    }

    #[test]
    fn a_record_that_another_wrote_meanwhile_is_a_conflict() {
        refused(400, ErrorCode::STREAM_WRONG_LAST_SEQUENCE, Reason::Conflict);
        let number = ErrorCode::STREAM_EXPECTED_LAST_SEQ_PER_SUBJECT_NOT_READY;
        refused(503, number, Reason::Conflict);
        let error = PublishError::new(PublishErrorKind::WrongLastSequence);
        assert!(of_write(&error).is_conflict());
    }

    #[test]
    fn a_cluster_without_a_leader_is_busy() {
        refused(503, ErrorCode::CLUSTER_NOT_AVAILABLE, Reason::Busy);
        refused(500, ErrorCode::CLUSTER_NOT_LEADER, Reason::Busy);
        let error = PublishError::new(PublishErrorKind::StreamNotFound);
        assert_eq!(of_write(&error), Failure::refused(Reason::Busy));
    }

    #[test]
    fn a_store_without_room_says_so() {
        refused(503, ErrorCode::INSUFFICIENT_RESOURCES, Reason::Full);
        refused(500, ErrorCode::STORAGE_RESOURCES_EXCEEDED, Reason::Full);
        let failed = ErrorCode::STREAM_STORE_FAILED;
        let bound = of_number(503, failed, "maximum bytes exceeded (code 503)");
        assert_eq!(bound, Failure::refused(Reason::Full));
    }

    #[test]
    fn what_failed_on_its_way_to_the_disk_is_unknown() {
        let failed = ErrorCode::STREAM_STORE_FAILED;
        let ending = of_number(503, failed, "no space left on device").ending;
        assert_eq!(ending, Completion::Unknown(Reason::StoreError));
        let ending = of_number(500, ErrorCode::RAFT_GENERAL, "").ending;
        assert_eq!(ending, Completion::Unknown(Reason::StoreError));
    }

    #[test]
    fn what_the_server_rejects_did_not_happen() {
        refused(400, ErrorCode::STREAM_MESSAGE_EXCEEDS_MAXIMUM, Reason::Malformed);
        refused(404, ErrorCode::STREAM_NOT_FOUND, Reason::Malformed);
        refused(400, ErrorCode::STREAM_SEALED, Reason::ReadOnly);
        refused(503, ErrorCode::JETSTREAM_NOT_ENABLED, Reason::Unsupported);
        refused(400, ErrorCode::BAD_REQUEST, Reason::StoreError);
    }

    #[test]
    fn a_write_that_was_never_sent_is_refused() {
        let of = |kind| before_sending(&PublishError::new(kind));
        assert_eq!(of(PublishErrorKind::Other), Failure::UNREACHABLE);
        assert_eq!(of(PublishErrorKind::MaxPayloadExceeded), Failure::refused(Reason::Malformed));
        assert_eq!(of(PublishErrorKind::TimedOut), Failure::refused(Reason::Timeout));
    }

    #[test]
    fn a_write_whose_answer_is_lost_is_unknown() {
        let of = |kind| of_write(&PublishError::new(kind));
        assert_eq!(of(PublishErrorKind::BrokenPipe), Failure::LOST);
        assert_eq!(of(PublishErrorKind::TimedOut).ending, Completion::Unknown(Reason::Timeout));
        assert_eq!(of(PublishErrorKind::Other).ending, Completion::Unknown(Reason::Garbled));
    }

    #[test]
    fn nothing_there_is_no_failure_of_a_read() {
        let direct = DirectGetError::new(DirectGetErrorKind::NotFound);
        assert_eq!(of_direct(&direct, false), None);
        let leader = LastRawMessageError::new(LastRawMessageErrorKind::NoMessageFound);
        assert_eq!(of_leader(&leader, false), None);
    }

    #[test]
    fn a_read_whose_connection_broke_is_unknown() {
        let error = DirectGetError::from(RequestError::new(RequestErrorKind::Other));
        assert_eq!(of_direct(&error, true), Some(Failure::LOST));
        let garbled = of_direct(&error, false).map(|failure| failure.ending);
        assert_eq!(garbled, Some(Completion::Unknown(Reason::Garbled)));
    }

    #[test]
    fn a_change_that_only_looked_did_not_happen() {
        let failure = Failure::LOST.before_a_change();
        assert_eq!(failure.ending, Completion::Refused(Reason::ConnectionLost));
        assert!(failure.is_connection_lost);
        let busy = Failure::refused(Reason::Busy);
        assert_eq!(busy.before_a_change(), busy);
    }

    #[test]
    fn a_read_without_responders_is_refused() {
        let error = DirectGetError::from(RequestError::new(RequestErrorKind::NoResponders));
        assert_eq!(of_direct(&error, false), Some(Failure::refused(Reason::Busy)));
        let source = async_nats::jetstream::context::RequestError::new(ApiErrorKind::NoResponders);
        let error = LastRawMessageError::with_source(LastRawMessageErrorKind::Other, source);
        assert_eq!(of_leader(&error, false), Some(Failure::refused(Reason::Busy)));
    }
}
