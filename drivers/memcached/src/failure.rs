//! Error lines of memcached as outcomes of requests.

pub(super) use assay_driver_kit::wire::RequestFailure as Failure;
use assay_model::Reason;

/// What an error line begins with, and what it means; the first that fits.
///
/// A write for which there is no room is not refused: memcached then removes the record that was
/// there before, if there was one ("avoid stale data"), so its error leaves open what a reader
/// will find.
const MEANINGS: &[(&str, Failure)] = &[
    ("ERROR Too many open connections", Failure::Refused(Reason::Busy)),
    ("ERROR", Failure::Refused(Reason::Unsupported)),
    ("CLIENT_ERROR unauthenticated", Failure::Refused(Reason::NotPermitted)),
    ("CLIENT_ERROR authentication failure", Failure::Refused(Reason::NotPermitted)),
    ("CLIENT_ERROR", Failure::Refused(Reason::Malformed)),
    ("SERVER_ERROR object too large for cache", Failure::Unknown(Reason::Full)),
    ("SERVER_ERROR out of memory storing object", Failure::Unknown(Reason::Full)),
    ("SERVER_ERROR", Failure::Unknown(Reason::StoreError)),
];

/// What `line` means; `None` if it is no error line.
pub(super) fn failure(line: &[u8]) -> Option<Failure> {
    let meaning = MEANINGS.iter().find(|(start, _)| line.starts_with(start.as_bytes()));
    meaning.map(|(_, failure)| *failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Failure) {
        assert_eq!(failure(line.as_bytes()), Some(expected), "{line}");
    }

    #[test]
    fn a_write_without_room_may_have_removed_what_was_there() {
        check("SERVER_ERROR object too large for cache", Failure::Unknown(Reason::Full));
        check("SERVER_ERROR out of memory storing object", Failure::Unknown(Reason::Full));
    }

    #[test]
    fn what_the_server_did_not_understand_did_not_happen() {
        check("ERROR", Failure::Refused(Reason::Unsupported));
        check("CLIENT_ERROR bad command line format", Failure::Refused(Reason::Malformed));
        check("CLIENT_ERROR bad data chunk", Failure::Refused(Reason::Malformed));
    }

    #[test]
    fn unauthenticated_clients_and_too_many_connections_are_refused() {
        check("CLIENT_ERROR unauthenticated", Failure::Refused(Reason::NotPermitted));
        check("CLIENT_ERROR authentication failure", Failure::Refused(Reason::NotPermitted));
        check("ERROR Too many open connections", Failure::Refused(Reason::Busy));
    }

    #[test]
    fn other_troubles_of_the_server_leave_it_open() {
        check("SERVER_ERROR out of memory preparing response", {
            Failure::Unknown(Reason::StoreError)
        });
        check("SERVER_ERROR backend failure", Failure::Unknown(Reason::StoreError));
        assert_eq!(failure(b"HD"), None);
        assert_eq!(failure(b"-ERR unknown command"), None);
    }
}
