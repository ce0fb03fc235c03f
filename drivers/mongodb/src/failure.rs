//! Failures of MongoDB, or of the connection to it, as outcomes of requests.

use std::io;

pub(super) use assay_driver_kit::task::JobFailure as Failure;
use assay_model::Reason;
use mongodb::error::{Error, ErrorKind, NO_WRITES_PERFORMED, WriteFailure};

/// What the library puts on an error of a connection that was about to be made, so that nothing of
/// the request has left.
const NOT_CONNECTED: &str = "SystemOverloadedError";

/// The request, as far as its failures depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestKind {
    /// Something that changes nothing.
    Read,
    /// Something that may have changed a document.
    Write,
}

/// The numbers of errors that certainly refuse, by what they mean. Source of all numbers: the
/// server's `error_codes.yml`.
const REFUSALS: &[(Reason, &[i32])] = &[
    (Reason::Exists, &[11000, 11001, 12582]),
    (Reason::Conflict, &[112]),
    // Not the primary, or not any more: the member did not even begin.
    (Reason::ReadOnly, &[10058, 10107, 13435]),
    // Recovering; no majority to read from yet; too many requests.
    (Reason::Busy, &[134, 462, 13436]),
    (Reason::NotPermitted, &[13, 18, 8000]),
    (Reason::Full, &[14031]),
    (Reason::Unreachable, &[133]),
    (Reason::Unsupported, &[20, 59, 72, 115, 238]),
    (Reason::Malformed, &[2, 9, 14, 22, 26, 28, 40, 52, 54, 55, 57, 66, 73, 121, 10334, 17280]),
];

/// The numbers of errors that leave a write open: what the server does ends in the middle.
const OPEN: &[(Reason, &[i32])] = &[
    (Reason::Timeout, &[50, 262]),
    (Reason::Busy, &[91, 189, 11600, 11602]),
    (Reason::Unreachable, &[6, 7, 89, 9001]),
];

fn find(list: &[(Reason, &[i32])], code: i32) -> Option<Reason> {
    let found = list.iter().find(|(_, codes)| codes.contains(&code));
    found.map(|(reason, _)| *reason)
}

/// What the server's error with this number means for a whole command.
fn of_command(code: i32, requested: RequestKind, nothing_written: bool) -> Failure {
    if let Some(reason) = find(REFUSALS, code) {
        return Failure::refused(reason);
    }
    let reason = find(OPEN, code).unwrap_or(Reason::StoreError);
    match requested {
        RequestKind::Read => Failure::refused(reason),
        RequestKind::Write if nothing_written => Failure::refused(reason),
        // Which of them it is matters to a reader more than that it came from a proxy.
        RequestKind::Write if reason == Reason::Unreachable => {
            Failure::unknown(Reason::ConnectionLost)
        }
        RequestKind::Write => Failure::unknown(reason),
    }
}

/// What the server's error with this number means for the one document of a write.
fn of_document(code: i32) -> Failure {
    let reason = find(REFUSALS, code).or(find(OPEN, code));
    Failure::refused(reason.unwrap_or(Reason::StoreError))
}

/// What `error` means for a request of this kind.
pub(super) fn failure(error: &Error, requested: RequestKind) -> Failure {
    let nothing_written = error.contains_label(NO_WRITES_PERFORMED);
    match &*error.kind {
        ErrorKind::Command(error) => of_command(error.code, requested, nothing_written),
        ErrorKind::Write(WriteFailure::WriteError(error)) => of_document(error.code),
        // The write is on the primary; it is unknown whether it stays there.
        ErrorKind::Write(WriteFailure::WriteConcernError(error)) => {
            Failure::unknown(if error.code == 64 { Reason::Timeout } else { Reason::StoreError })
        }
        ErrorKind::Io(_) | ErrorKind::Authentication { .. }
            if error.contains_label(NOT_CONNECTED) =>
        {
            Failure::UNREACHABLE
        }
        ErrorKind::Io(error) if error.kind() == io::ErrorKind::InvalidData => Failure::GARBLED,
        ErrorKind::Io(_) => Failure::LOST,
        // Who waited for a connection of the library's pool when it was emptied.
        ErrorKind::ConnectionPoolCleared { .. }
        | ErrorKind::ServerSelection { .. }
        | ErrorKind::DnsResolve { .. }
        | ErrorKind::Shutdown => Failure::UNREACHABLE,
        ErrorKind::Authentication { .. } => Failure::refused(Reason::NotPermitted),
        // Found before anything was sent.
        ErrorKind::InvalidArgument { .. } | ErrorKind::BsonSerialization(_) => {
            Failure::refused(Reason::Malformed)
        }
        ErrorKind::Bson(_) if requested == RequestKind::Write => {
            Failure::refused(Reason::Malformed)
        }
        ErrorKind::Bson(_)
        | ErrorKind::BsonDeserialization(_)
        | ErrorKind::InvalidResponse { .. } => Failure::GARBLED,
        ErrorKind::IncompatibleServer { .. } | ErrorKind::SessionsNotSupported => {
            Failure::refused(Reason::Unsupported)
        }
        _ => Failure::unknown(Reason::StoreError),
    }
}

#[cfg(test)]
mod tests {
    use assay_driver_kit::task::Completion;
    use mongodb::bson::{deserialize_from_document, doc};

    use super::*;

    fn command(code: i32, requested: RequestKind) -> Completion {
        of_command(code, requested, false).ending
    }

    fn refused(code: i32, reason: Reason) {
        for requested in [RequestKind::Read, RequestKind::Write] {
            assert_eq!(
                command(code, requested),
                Completion::Refused(reason),
                "{code} {requested:?}"
            );
        }
        assert_eq!(of_document(code), Failure::refused(reason), "{code}");
    }

    /// An error of the server as the library gives it.
    fn describe(code: i32) -> Error {
        let document = doc! { "code": code, "codeName": "Name", "errmsg": "text" };
        let error = deserialize_from_document(document).expect("it has all that it must");
        ErrorKind::Command(error).into()
    }

    #[test]
    fn a_key_that_is_there_already_is_reported() {
        refused(11000, Reason::Exists);
        let write = doc! { "code": 11000, "errmsg": "E11000 duplicate key error" };
        let write = deserialize_from_document(write).unwrap();
        let error = Error::from(ErrorKind::Write(WriteFailure::WriteError(write)));
        assert_eq!(failure(&error, RequestKind::Write), Failure::refused(Reason::Exists));
    }

    #[test]
    fn a_member_that_is_not_the_primary_takes_no_writes() {
        refused(10107, Reason::ReadOnly);
        refused(13435, Reason::ReadOnly);
        refused(13436, Reason::Busy);
        assert_eq!(
            failure(&describe(10107), RequestKind::Write),
            Failure::refused(Reason::ReadOnly)
        );
    }

    #[test]
    fn a_primary_that_ends_in_the_middle_leaves_writes_open() {
        for code in [91, 189, 11600, 11602] {
            assert_eq!(
                command(code, RequestKind::Write),
                Completion::Unknown(Reason::Busy),
                "{code}"
            );
            assert_eq!(
                command(code, RequestKind::Read),
                Completion::Refused(Reason::Busy),
                "{code}"
            );
            let nothing_written = of_command(code, RequestKind::Write, true);
            assert_eq!(nothing_written, Failure::refused(Reason::Busy), "{code}");
        }
    }

    #[test]
    fn a_time_limit_leaves_writes_open() {
        assert_eq!(command(50, RequestKind::Write), Completion::Unknown(Reason::Timeout));
        assert_eq!(command(50, RequestKind::Read), Completion::Refused(Reason::Timeout));
    }

    #[test]
    fn what_a_proxy_could_not_reach_is_open_for_writes() {
        assert_eq!(command(6, RequestKind::Write), Completion::Unknown(Reason::ConnectionLost));
        assert_eq!(command(6, RequestKind::Read), Completion::Refused(Reason::Unreachable));
    }

    #[test]
    fn members_that_did_not_acknowledge_leave_it_open() {
        for (code, reason) in [(64, Reason::Timeout), (100, Reason::StoreError)] {
            let concern = doc! { "code": code, "errmsg": "waiting for replication timed out" };
            let concern = deserialize_from_document(concern).unwrap();
            let error = Error::from(ErrorKind::Write(WriteFailure::WriteConcernError(concern)));
            assert_eq!(failure(&error, RequestKind::Write).ending, Completion::Unknown(reason));
        }
    }

    #[test]
    fn clients_without_permission_are_refused() {
        refused(13, Reason::NotPermitted);
        refused(18, Reason::NotPermitted);
    }

    #[test]
    fn what_is_invalid_is_malformed() {
        for code in [2, 9, 14, 121, 10334] {
            refused(code, Reason::Malformed);
        }
        refused(59, Reason::Unsupported);
        refused(14031, Reason::Full);
        refused(112, Reason::Conflict);
    }

    #[test]
    fn another_error_leaves_writes_open() {
        assert_eq!(command(1, RequestKind::Write), Completion::Unknown(Reason::StoreError));
        assert_eq!(command(1, RequestKind::Read), Completion::Refused(Reason::StoreError));
        assert_eq!(of_document(1), Failure::refused(Reason::StoreError));
    }

    #[test]
    fn a_broken_connection_leaves_it_open() {
        let of = |kind: io::ErrorKind| failure(&io::Error::from(kind).into(), RequestKind::Write);
        assert_eq!(of(io::ErrorKind::ConnectionReset), Failure::LOST);
        assert_eq!(of(io::ErrorKind::UnexpectedEof), Failure::LOST);
        assert_eq!(of(io::ErrorKind::InvalidData), Failure::GARBLED);
    }
}
