//! Errors of SQLite as outcomes of operations.

use assay_driver_kit::embedded::failure::{CommitStage, EngineFailure};
use assay_model::Reason;
use rusqlite::ErrorCode::{
    AuthorizationForStatementDenied, CannotOpen, ConstraintViolation, DatabaseBusy,
    DatabaseCorrupt, DatabaseLocked, DiskFull, FileLockingProtocolFailed, NotADatabase,
    ParameterOutOfRange, PermissionDenied, ReadOnly, TooBig, TypeMismatch, Unknown,
};
use rusqlite::ffi;

/// What `error` means for an operation that had come to `stage`.
///
/// A statement that fails changes nothing, and a transaction that does not come to its commit is
/// undone. Only a commit that met an error of the disk may turn out to have happened: what it has
/// written may be found whole when the database is opened again.
pub(super) fn meaning(error: &rusqlite::Error, stage: CommitStage) -> EngineFailure {
    let text = error.to_string();
    let Some(code) = error.sqlite_error() else {
        // The library itself refused: a wrong number of arguments, a value of another type.
        return EngineFailure { text, ..EngineFailure::refused(Reason::Malformed) };
    };
    let reason = reason(*code);
    let is_open = reason == Reason::StoreError && stage == CommitStage::Committing;
    EngineFailure { is_certain: !is_open, reason, text }
}

fn reason(error: ffi::Error) -> Reason {
    match (error.code, error.extended_code) {
        // Another has written since this transaction read.
        (DatabaseBusy, ffi::SQLITE_BUSY_SNAPSHOT) => Reason::Conflict,
        (DatabaseBusy | FileLockingProtocolFailed, _) => Reason::Busy,
        (DatabaseLocked, _) => Reason::Conflict,
        (ConstraintViolation, extended) => match extended {
            ffi::SQLITE_CONSTRAINT_PRIMARYKEY
            | ffi::SQLITE_CONSTRAINT_UNIQUE
            | ffi::SQLITE_CONSTRAINT_ROWID => Reason::Exists,
            _ => Reason::Malformed,
        },
        (DiskFull, _) => Reason::Full,
        (ReadOnly, _) => Reason::ReadOnly,
        (PermissionDenied | AuthorizationForStatementDenied, _) => Reason::NotPermitted,
        (Unknown | TooBig | TypeMismatch | ParameterOutOfRange, _) => Reason::Malformed,
        (_, _) => Reason::StoreError,
    }
}

/// What is to be done about a database that does not open, if that can be said.
pub(super) fn advice(error: &rusqlite::Error) -> Option<&'static str> {
    match error.sqlite_error_code()? {
        NotADatabase => Some("it is no SQLite database; choose another path"),
        DatabaseCorrupt => Some("the database is damaged; restore it, or choose another path"),
        DatabaseBusy | DatabaseLocked => {
            Some("another process is using it; end that or choose another path")
        }
        DiskFull => Some("the disk is full; make room"),
        ReadOnly | PermissionDenied => Some("it may not be written; choose another path"),
        CannotOpen => Some("choose a place where a file may be made"),
        _ => None,
    }
}

/// Whether it is a matter of what we are allowed to.
pub(super) fn is_denial(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ReadOnly | PermissionDenied | CannotOpen))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(shown: &str, code: i32, while_issued: &str, at_commit: &str) {
        let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        for (stage, expected) in
            [(CommitStage::Uncommitted, while_issued), (CommitStage::Committing, at_commit)]
        {
            let failure = meaning(&error, stage);
            let outcome = if failure.is_certain { "refused" } else { "unknown" };
            let found = format!("{outcome} {}", failure.reason.name());
            assert_eq!(found, expected, "{shown}: {code}, {stage:?}");
        }
    }

    /// What each row shows, with an error that certainly refuses, a commit too.
    const REFUSED: &[(&str, i32, &str)] = &[
        ("another writer is busy", ffi::SQLITE_BUSY, "refused busy"),
        ("another writer is busy", ffi::SQLITE_BUSY_RECOVERY, "refused busy"),
        ("another writer is busy", ffi::SQLITE_PROTOCOL, "refused busy"),
        ("a stale snapshot is a conflict", ffi::SQLITE_BUSY_SNAPSHOT, "refused conflict"),
        ("a stale snapshot is a conflict", ffi::SQLITE_LOCKED, "refused conflict"),
        ("a key that is there exists", ffi::SQLITE_CONSTRAINT_PRIMARYKEY, "refused exists"),
        ("a key that is there exists", ffi::SQLITE_CONSTRAINT_UNIQUE, "refused exists"),
        ("a key that is there exists", ffi::SQLITE_CONSTRAINT_ROWID, "refused exists"),
        ("another rule is malformed", ffi::SQLITE_CONSTRAINT_FOREIGNKEY, "refused malformed"),
        ("another rule is malformed", ffi::SQLITE_CONSTRAINT_NOTNULL, "refused malformed"),
        ("a full disk is refused at the commit too", ffi::SQLITE_FULL, "refused full"),
        ("a file that may not be written", ffi::SQLITE_READONLY, "refused read-only"),
        ("a file that may not be written", ffi::SQLITE_READONLY_DBMOVED, "refused read-only"),
        ("a file that may not be written", ffi::SQLITE_PERM, "refused not-permitted"),
        ("what is invalid is malformed", ffi::SQLITE_ERROR, "refused malformed"),
        ("what is invalid is malformed", ffi::SQLITE_TOOBIG, "refused malformed"),
        ("what is invalid is malformed", ffi::SQLITE_MISMATCH, "refused malformed"),
    ];

    #[test]
    fn what_no_disk_had_part_in_is_refused_at_the_commit_too() {
        for (shown, code, expected) in REFUSED {
            check(shown, *code, expected, expected);
        }
    }

    #[test]
    fn an_error_of_the_disk_leaves_a_commit_open() {
        for code in [
            ffi::SQLITE_IOERR_FSYNC,
            ffi::SQLITE_IOERR,
            ffi::SQLITE_CORRUPT,
            ffi::SQLITE_NOTADB,
            ffi::SQLITE_NOMEM,
        ] {
            check("an error of the disk", code, "refused store-error", "unknown store-error");
        }
    }

    #[test]
    fn what_the_library_refuses_is_malformed() {
        let failure =
            meaning(&rusqlite::Error::InvalidParameterCount(1, 2), CommitStage::Committing);
        assert_eq!((failure.is_certain, failure.reason), (true, Reason::Malformed));
    }
}
