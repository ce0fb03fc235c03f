//! Failures of MariaDB, or of the connection to it, as outcomes of requests.

use std::io;

use assay_driver_kit::task::Completion;
pub(super) use assay_driver_kit::task::JobFailure as Failure;
use assay_model::Reason;
use mysql_async::{DriverError, Error, IoError};

/// The numbers of errors that leave open what happened: the server ends, hangs up, or failed as it
/// made a change final. Source of all numbers: MariaDB's "Error Codes".
const OPEN: &[(u16, Reason)] = &[
    (1026, Reason::StoreError),
    (1180, Reason::StoreError),
    (1053, Reason::ConnectionLost),
    (1152, Reason::ConnectionLost),
    (1158, Reason::ConnectionLost),
    (1159, Reason::ConnectionLost),
    (1160, Reason::ConnectionLost),
    (1161, Reason::ConnectionLost),
    (1927, Reason::ConnectionLost),
    (2006, Reason::ConnectionLost),
    (2013, Reason::ConnectionLost),
];

/// The numbers of errors that certainly refuse, by what they mean. Every other one of the server
/// has undone its statement too.
const REFUSALS: &[(Reason, &[u16])] = &[
    // 1205 undoes the statement alone; the transaction around it is undone by us.
    (Reason::Conflict, &[1020, 1205, 1213, 1614]),
    (Reason::Exists, &[1022, 1062, 1586]),
    (Reason::Busy, &[1040, 1047, 1203, 1226, 1461]),
    (
        Reason::NotPermitted,
        &[1044, 1045, 1129, 1130, 1131, 1132, 1133, 1142, 1143, 1227, 1370, 1698],
    ),
    (Reason::ReadOnly, &[1036, 1290, 1792, 1836]),
    (Reason::Full, &[1021, 1114]),
    (Reason::Timeout, &[1317, 1969]),
    (Reason::Unsupported, &[1178, 1235, 1286, 1295]),
    (
        Reason::Malformed,
        &[
            1046, 1048, 1049, 1052, 1054, 1064, 1065, 1118, 1136, 1146, 1153, 1210, 1216, 1217,
            1243, 1264, 1265, 1292, 1364, 1366, 1406, 1411, 1451, 1452, 1690, 4025,
        ],
    ),
];

/// What the server's error with this number means.
fn of_number(number: u16) -> Failure {
    if let Some((_, reason)) = OPEN.iter().find(|(other, _)| *other == number) {
        let is_connection_lost = *reason == Reason::ConnectionLost;
        return Failure { ending: Completion::Unknown(*reason), is_connection_lost };
    }
    let reason = REFUSALS.iter().find(|(_, numbers)| numbers.contains(&number));
    Failure::refused(reason.map_or(Reason::StoreError, |(reason, _)| *reason))
}

/// What `error` means for a request that was on its way.
pub(super) fn failure(error: &Error) -> Failure {
    match error {
        Error::Server(error) => of_number(error.code),
        Error::Driver(error) => of_driver(error),
        Error::Io(IoError::Io(error)) if error.kind() == io::ErrorKind::InvalidData => {
            Failure::GARBLED
        }
        Error::Io(_) => Failure::LOST,
        Error::Other(_) | Error::Url(_) => Failure::GARBLED,
    }
}

fn of_driver(error: &DriverError) -> Failure {
    match error {
        DriverError::ConnectionClosed => Failure::LOST,
        // Found before anything was sent.
        DriverError::StmtParamsMismatch { .. }
        | DriverError::StmtParamsNumberExceedsLimit { .. }
        | DriverError::Params(_)
        | DriverError::MixedParams => Failure::refused(Reason::Malformed),
        DriverError::PacketTooLarge => {
            Failure { is_connection_lost: true, ..Failure::refused(Reason::Malformed) }
        }
        _ => Failure::GARBLED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each row shows, and the numbers that are refused for this reason.
    const REFUSED: &[(&str, Reason, &[u16])] = &[
        ("transactions in each other's way are a conflict", Reason::Conflict, &[1213, 1205, 1020]),
        ("a key that is there already is reported", Reason::Exists, &[1062, 1586]),
        ("a server without room for us is busy", Reason::Busy, &[1040, 1203, 1047]),
        ("clients without permission are refused", Reason::NotPermitted, &[1044, 1045, 1142]),
        ("a replica takes no writes", Reason::ReadOnly, &[1290, 1836, 1792]),
        ("a full table or disk is reported", Reason::Full, &[1114, 1021]),
        ("a statement that the server stopped is a timeout", Reason::Timeout, &[1317, 1969]),
        ("invalid values are malformed", Reason::Malformed, &[1406, 1366, 1452, 1048]),
        ("invalid statements are malformed", Reason::Malformed, &[1064, 1146, 1054]),
        ("what it has not is unsupported", Reason::Unsupported, &[1235]),
        ("another error of the server has undone its statement", Reason::StoreError, &[1105]),
    ];

    #[test]
    fn errors_of_the_server_are_refusals() {
        for (shown, reason, numbers) in REFUSED {
            for number in *numbers {
                assert_eq!(of_number(*number), Failure::refused(*reason), "{shown}: {number}");
            }
        }
    }

    #[test]
    fn a_server_that_goes_away_leaves_it_open() {
        for number in [1053, 1927, 2006, 2013] {
            assert_eq!(of_number(number), Failure::LOST, "{number}");
        }
    }

    #[test]
    fn a_change_that_failed_as_it_became_final_is_open() {
        let ending = Completion::Unknown(Reason::StoreError);
        assert_eq!(of_number(1180), Failure { ending, is_connection_lost: false });
    }

    #[test]
    fn a_broken_connection_leaves_it_open() {
        let of = |kind: io::ErrorKind| failure(&Error::Io(IoError::Io(kind.into())));
        assert_eq!(of(io::ErrorKind::ConnectionReset), Failure::LOST);
        assert_eq!(of(io::ErrorKind::UnexpectedEof), Failure::LOST);
        assert_eq!(of(io::ErrorKind::InvalidData), Failure::GARBLED);
        assert_eq!(failure(&Error::Driver(DriverError::ConnectionClosed)), Failure::LOST);
        assert_eq!(failure(&Error::Driver(DriverError::PacketOutOfOrder)), Failure::GARBLED);
    }

    #[test]
    fn requests_that_the_library_refuses_were_never_sent() {
        let error = DriverError::StmtParamsMismatch { required: 2, supplied: 1 };
        assert_eq!(failure(&Error::Driver(error)), Failure::refused(Reason::Malformed));
        let too_large = failure(&Error::Driver(DriverError::PacketTooLarge));
        assert_eq!(too_large.ending, Completion::Refused(Reason::Malformed));
        assert!(too_large.is_connection_lost);
    }
}
