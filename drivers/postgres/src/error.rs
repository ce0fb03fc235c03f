//! Failures of PostgreSQL, or of the connection to it, as outcomes of requests.

use assay_driver_kit::task::Completion;
pub(super) use assay_driver_kit::task::JobFailure as Failure;
use assay_model::Reason;
use tokio_postgres::Error;
use tokio_postgres::error::Severity;

/// SQLSTATEs, or the beginnings of such, with what they mean; the first that fits counts.
///
/// An error with which the server goes on (severity ERROR) has undone the statement, so it is a
/// certain refusal, whatever its code. Source of the codes: PostgreSQL 15, appendix A.
const REFUSALS: &[(&str, Reason)] = &[
    ("40001", Reason::Conflict),
    ("40P01", Reason::Conflict),
    ("23505", Reason::Exists),
    ("23P01", Reason::Exists),
    ("23", Reason::Malformed),
    ("53300", Reason::Busy),
    ("57P03", Reason::Busy),
    ("55P03", Reason::Busy),
    ("55006", Reason::Busy),
    ("57014", Reason::Timeout),
    ("28", Reason::NotPermitted),
    ("42501", Reason::NotPermitted),
    ("25006", Reason::ReadOnly),
    // Never seen: a failed transaction is rolled back before the next request.
    ("25P02", Reason::TransactionFailed),
    ("53100", Reason::Full),
    ("53200", Reason::Full),
    ("53400", Reason::Full),
    ("0A", Reason::Unsupported),
    ("22", Reason::Malformed),
    ("42", Reason::Malformed),
    ("54", Reason::Malformed),
];

/// The codes that leave open what happened, also from a server that goes on: it, or a proxy before
/// it, says that it does not know.
const OPEN: &[(&str, Reason)] = &[
    ("40003", Reason::StoreError),
    ("08", Reason::ConnectionLost),
    ("57P", Reason::ConnectionLost),
];

/// What the code of an error means with which the server goes on.
fn of_state(state: &str) -> Completion {
    let find = |table: &[(&str, Reason)]| {
        table.iter().find(|(start, _)| state.starts_with(start)).map(|(_, reason)| *reason)
    };
    match (find(REFUSALS), find(OPEN)) {
        (Some(reason), _) => Completion::Refused(reason),
        (None, Some(reason)) => Completion::Unknown(reason),
        (None, None) => Completion::Refused(Reason::StoreError),
    }
}

/// What the code of an error means after which the server hangs up.
fn of_last_words(state: &str) -> Completion {
    match of_state(state) {
        // These errors come at the start-up, before any request.
        Completion::Refused(reason @ (Reason::Busy | Reason::NotPermitted)) => {
            Completion::Refused(reason)
        }
        _ => Completion::Unknown(Reason::ConnectionLost),
    }
}

/// What `error` means for a request that was sent.
pub(super) fn failure(error: &Error) -> Failure {
    if let Some(error) = error.as_db_error() {
        let is_last = matches!(error.parsed_severity(), Some(Severity::Fatal | Severity::Panic));
        let state = error.code().code();
        let ending = if is_last { of_last_words(state) } else { of_state(state) };
        return Failure { ending, is_connection_lost: is_last };
    }
    let text = error.to_string();
    // The library tells its own failures apart by their texts only.
    let begins = |start: &str| text.starts_with(start);
    match () {
        () if begins("error serializing parameter") || begins("expected ") => {
            Failure { ending: Completion::Refused(Reason::Malformed), is_connection_lost: false }
        }
        () if begins("error encoding message") => {
            Failure { ending: Completion::Refused(Reason::Malformed), is_connection_lost: false }
        }
        () if begins("error parsing response") || begins("unexpected message") => Failure::GARBLED,
        () => Failure::LOST,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each row shows, and the states that are refused for this reason.
    const REFUSED: &[(&str, Reason, &str)] = &[
        ("transactions in each other's way are a conflict", Reason::Conflict, "40001 40P01"),
        ("a key that is there already is reported", Reason::Exists, "23505 23P01"),
        ("rows against other rules are invalid", Reason::Malformed, "23502 23503 23514"),
        ("a server without room for us is busy", Reason::Busy, "53300 57P03 55P03 55006"),
        ("a statement that the server stopped is a timeout", Reason::Timeout, "57014"),
        ("clients without permission are refused", Reason::NotPermitted, "28000 28P01 42501"),
        ("a standby takes no writes", Reason::ReadOnly, "25006"),
        ("a failed transaction goes no further", Reason::TransactionFailed, "25P02"),
        ("disks and memories fill up", Reason::Full, "53100 53200 53400"),
        ("what it has not is unsupported", Reason::Unsupported, "0A000"),
        ("senseless values are malformed", Reason::Malformed, "22001 22003 22P02"),
        ("senseless requests are malformed", Reason::Malformed, "42P01 42601 42703 54000"),
        ("other errors refuse if the server goes on", Reason::StoreError, "XX000 58030 P0001"),
    ];

    #[test]
    fn errors_of_a_server_that_goes_on_are_refusals() {
        for (shown, reason, states) in REFUSED {
            for state in states.split(' ') {
                assert_eq!(of_state(state), Completion::Refused(*reason), "{shown}: {state}");
            }
        }
    }

    #[test]
    fn errors_of_unknown_outcome_leave_it_unknown() {
        assert_eq!(of_state("40003"), Completion::Unknown(Reason::StoreError));
        assert_eq!(of_state("08006"), Completion::Unknown(Reason::ConnectionLost));
        assert_eq!(of_state("57P01"), Completion::Unknown(Reason::ConnectionLost));
    }

    #[test]
    fn an_error_that_ends_the_connection_leaves_earlier_requests_unknown() {
        assert_eq!(of_last_words("57P01"), Completion::Unknown(Reason::ConnectionLost));
        assert_eq!(of_last_words("57P02"), Completion::Unknown(Reason::ConnectionLost));
        assert_eq!(of_last_words("XX001"), Completion::Unknown(Reason::ConnectionLost));
        assert_eq!(of_last_words("53300"), Completion::Refused(Reason::Busy));
        assert_eq!(of_last_words("57P03"), Completion::Refused(Reason::Busy));
        assert_eq!(of_last_words("28P01"), Completion::Refused(Reason::NotPermitted));
    }
}
