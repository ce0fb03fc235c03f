//! Status codes of a YCSB binding as outcomes of operations.

use assay_model::{Kind, Reason};

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Found,
    Missing,
    Refused(Reason),
    Unknown(Reason),
}

/// The numbers of `assay.bridge.Codes`.
pub(super) mod code {
    pub(crate) const OK: u8 = 0;
    pub(crate) const NOT_FOUND: u8 = 1;
    pub(crate) const ERROR: u8 = 2;
    pub(crate) const NOT_IMPLEMENTED: u8 = 3;
    pub(crate) const UNEXPECTED_STATE: u8 = 4;
    pub(crate) const BAD_REQUEST: u8 = 5;
    pub(crate) const FORBIDDEN: u8 = 6;
    pub(crate) const SERVICE_UNAVAILABLE: u8 = 7;
    pub(crate) const BATCHED_OK: u8 = 8;
    pub(crate) const OTHER: u8 = 9;
    pub(crate) const FULL: u8 = 10;
    pub(crate) const NOTHING: u8 = 11;
    pub(crate) const THROWN: u8 = 12;
    pub(crate) const OUT_OF_MEMORY: u8 = 13;
    pub(crate) const GARBLED: u8 = 14;
}

/// What `code` means for an operation of this kind.
///
/// A binding answers `ERROR` for a lost connection as for a refusal, so a write that ended so may
/// have happened. A read changes nothing, so one that failed certainly did not happen. Only what
/// YCSB defines as a judgement of the request before it is done is certain for writes too.
pub(super) fn of(code: u8, kind: Kind) -> Meaning {
    let doubtful = |reason| match kind.writes() {
        true => Meaning::Unknown(reason),
        false => Meaning::Refused(reason),
    };
    match code {
        code::OK => Meaning::Found,
        // An insert cannot miss a record: the outcome is unknown.
        code::NOT_FOUND if kind == Kind::Insert => Meaning::Unknown(Reason::Garbled),
        code::NOT_FOUND => Meaning::Missing,
        code::NOT_IMPLEMENTED => Meaning::Refused(Reason::Unsupported),
        code::BAD_REQUEST => Meaning::Refused(Reason::Malformed),
        code::FORBIDDEN => Meaning::Refused(Reason::NotPermitted),
        code::FULL => Meaning::Refused(Reason::Full),
        // The service may have become unavailable after it had the request.
        code::SERVICE_UNAVAILABLE => doubtful(Reason::Busy),
        // The binding buffers it to send it later: it is not confirmed.
        code::BATCHED_OK if kind.writes() => Meaning::Unknown(Reason::StoreError),
        code::BATCHED_OK | code::NOTHING | code::GARBLED => doubtful(Reason::Garbled),
        code::ERROR | code::UNEXPECTED_STATE | code::OTHER => doubtful(Reason::StoreError),
        // An exception is no response: the outcome is unknown.
        code::THROWN => Meaning::Unknown(Reason::StoreError),
        code::OUT_OF_MEMORY => Meaning::Unknown(Reason::Full),
        _ => Meaning::Unknown(Reason::Garbled),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(code: u8, kind: Kind) -> String {
        match of(code, kind) {
            Meaning::Found => "found".into(),
            Meaning::Missing => "missing".into(),
            Meaning::Refused(reason) => format!("refused {}", reason.name()),
            Meaning::Unknown(reason) => format!("unknown {}", reason.name()),
        }
    }

    #[test]
    fn a_status_means_what_the_table_says() {
        for (code, read, update, insert) in [
            (code::OK, "found", "found", "found"),
            (code::NOT_FOUND, "missing", "missing", "unknown garbled"),
            (code::ERROR, "refused store-error", "unknown store-error", "unknown store-error"),
            (
                code::NOT_IMPLEMENTED,
                "refused unsupported",
                "refused unsupported",
                "refused unsupported",
            ),
            (
                code::UNEXPECTED_STATE,
                "refused store-error",
                "unknown store-error",
                "unknown store-error",
            ),
            (code::BAD_REQUEST, "refused malformed", "refused malformed", "refused malformed"),
            (
                code::FORBIDDEN,
                "refused not-permitted",
                "refused not-permitted",
                "refused not-permitted",
            ),
            (code::SERVICE_UNAVAILABLE, "refused busy", "unknown busy", "unknown busy"),
            (code::BATCHED_OK, "refused garbled", "unknown store-error", "unknown store-error"),
            (code::OTHER, "refused store-error", "unknown store-error", "unknown store-error"),
            (code::FULL, "refused full", "refused full", "refused full"),
            (code::NOTHING, "refused garbled", "unknown garbled", "unknown garbled"),
            (code::THROWN, "unknown store-error", "unknown store-error", "unknown store-error"),
            (code::OUT_OF_MEMORY, "unknown full", "unknown full", "unknown full"),
            (code::GARBLED, "refused garbled", "unknown garbled", "unknown garbled"),
            (200, "unknown garbled", "unknown garbled", "unknown garbled"),
        ] {
            assert_eq!(describe(code, Kind::Read), read, "{code}");
            assert_eq!(describe(code, Kind::Scan), read, "{code}");
            assert_eq!(describe(code, Kind::Update), update, "{code}");
            assert_eq!(describe(code, Kind::Delete), update, "{code}");
            assert_eq!(describe(code, Kind::Insert), insert, "{code}");
        }
    }
}
