//! Failures of an engine on this machine's disk, as outcomes of operations.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use assay_model::Reason;
use assay_store::Answer;

/// One failed call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineFailure {
    /// Whether the operation certainly did not happen.
    pub is_certain: bool,
    /// Its kind, for records.
    pub reason: Reason,
    /// What happened, for people.
    pub text: String,
}

/// How far an operation had come when the disk failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitStage {
    /// Nothing was changed, or nothing that opening the store again could find.
    Uncommitted,
    /// The change was on its way into files, or the promise about it could not be kept.
    Committing,
}

impl EngineFailure {
    /// Certainly not done, for a reason that needs no words.
    pub fn refused(reason: Reason) -> EngineFailure {
        EngineFailure { is_certain: true, reason, text: reason.name().into() }
    }

    /// What `error` means for an operation that had come to `stage`.
    pub fn of_io(error: &io::Error, stage: CommitStage) -> EngineFailure {
        use io::ErrorKind::{
            FileTooLarge, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull,
        };
        let reason = match error.kind() {
            StorageFull | QuotaExceeded | FileTooLarge => Reason::Full,
            PermissionDenied | ReadOnlyFilesystem => Reason::ReadOnly,
            _ => Reason::StoreError,
        };
        EngineFailure {
            is_certain: stage == CommitStage::Uncommitted,
            reason,
            text: error.to_string(),
        }
    }

    /// A failure that the engine reports in words of its own.
    pub fn of_engine(error: &dyn std::fmt::Display, stage: CommitStage) -> EngineFailure {
        let is_certain = stage == CommitStage::Uncommitted;
        EngineFailure { is_certain, reason: Reason::StoreError, text: error.to_string() }
    }

    /// What the operation is answered with.
    #[inline]
    pub fn answer(&self) -> Answer<'static> {
        if self.is_certain { Answer::Refused(self.reason) } else { Answer::Unknown(self.reason) }
    }
}

/// Why an engine stopped taking writes.
///
/// Engines refuse every write after one that failed, without saying any more why. A full disk
/// shall show as a full disk to the end of the run.
#[derive(Default)]
pub struct FirstFailure {
    /// The code of its reason; 0 if it is not known.
    code: AtomicU8,
    /// Whether it was looked for.
    is_sought: AtomicBool,
}

impl FirstFailure {
    /// Remembers the reason of a failed write, if it is the first.
    pub fn note(&self, failure: EngineFailure) -> EngineFailure {
        let code = failure.reason as u8;
        let _ = self.code.compare_exchange(0, code, Ordering::Relaxed, Ordering::Relaxed);
        failure
    }

    /// What was refused because an earlier write had failed.
    ///
    /// If that was none of ours but one of the engine's own threads, `find_out` tries to meet the
    /// same error, once.
    pub fn again(&self, find_out: impl FnOnce() -> io::Result<()>) -> EngineFailure {
        if self.code.load(Ordering::Relaxed) == 0
            && !self.is_sought.swap(true, Ordering::Relaxed)
            && let Err(error) = find_out()
        {
            self.note(EngineFailure::of_io(&error, CommitStage::Uncommitted));
        }
        let first = Reason::from_code(self.code.load(Ordering::Relaxed));
        let reason = first.filter(|&reason| reason != Reason::None).unwrap_or(Reason::StoreError);
        let text = format!("takes no writes since one failed ({}); open it again", reason.name());
        EngineFailure { is_certain: true, reason, text }
    }
}

#[cfg(test)]
mod tests {
    use io::ErrorKind;

    use super::*;

    fn meaning(kind: ErrorKind, stage: CommitStage) -> String {
        let failure = EngineFailure::of_io(&io::Error::from(kind), stage);
        let outcome = if failure.is_certain { "refused" } else { "unknown" };
        format!("{outcome} {}", failure.reason.name())
    }

    #[test]
    fn a_disk_error_means_what_the_table_says() {
        for (kind, uncommitted, committing) in [
            (ErrorKind::StorageFull, "refused full", "unknown full"),
            (ErrorKind::QuotaExceeded, "refused full", "unknown full"),
            (ErrorKind::FileTooLarge, "refused full", "unknown full"),
            (ErrorKind::ReadOnlyFilesystem, "refused read-only", "unknown read-only"),
            (ErrorKind::PermissionDenied, "refused read-only", "unknown read-only"),
            (ErrorKind::Interrupted, "refused store-error", "unknown store-error"),
            (ErrorKind::Other, "refused store-error", "unknown store-error"),
        ] {
            assert_eq!(meaning(kind, CommitStage::Uncommitted), uncommitted, "{kind:?}");
            assert_eq!(meaning(kind, CommitStage::Committing), committing, "{kind:?}");
        }
    }

    #[test]
    fn refusals_after_a_full_disk_still_say_full() {
        let first = FirstFailure::default();
        assert_eq!(first.again(|| Ok(())).reason, Reason::StoreError);
        let full = io::Error::from(ErrorKind::StorageFull);
        first.note(EngineFailure::of_io(&full, CommitStage::Committing));
        first.note(EngineFailure::of_io(
            &io::Error::from(ErrorKind::Other),
            CommitStage::Committing,
        ));
        assert_eq!(
            first.again(|| Err(ErrorKind::ReadOnlyFilesystem.into())),
            EngineFailure {
                is_certain: true,
                reason: Reason::Full,
                text: "takes no writes since one failed (full); open it again".into()
            }
        );
    }

    #[test]
    fn a_failure_of_the_engines_own_threads_is_found_out_once() {
        let first = FirstFailure::default();
        let full = || Err(io::Error::from(ErrorKind::StorageFull));
        assert_eq!(first.again(full).reason, Reason::Full);
        assert_eq!(first.again(|| Ok(())).reason, Reason::Full);
        let unseen = FirstFailure::default();
        assert_eq!(unseen.again(|| Ok(())).reason, Reason::StoreError);
        let again = unseen.again(|| unreachable!("a look costs a write of many bytes"));
        assert_eq!(again.reason, Reason::StoreError);
    }
}
