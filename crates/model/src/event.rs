//! Something that happened to a run as a whole, at one moment of its time axis.

use crate::nanos::Nanos;

/// What sort of event it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// A phase began.
    Phase,
    /// The store was broken or healed on purpose.
    Fault,
    /// A setting changed while the run went on.
    Change,
    /// The run noticed something that a reader of the figures must know.
    Warning,
}

impl EventKind {
    /// The name used in columns and reports.
    pub const fn name(self) -> &'static str {
        match self {
            EventKind::Phase => "phase",
            EventKind::Fault => "fault",
            EventKind::Change => "change",
            EventKind::Warning => "warning",
        }
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<EventKind> {
        // Earlier releases called a warning a notice.
        let name = if name == "notice" { "warning" } else { name };
        [EventKind::Phase, EventKind::Fault, EventKind::Change, EventKind::Warning]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, on the run's time axis.
    pub at: Nanos,
    /// What sort.
    pub kind: EventKind,
    /// What, in a few words.
    pub text: String,
}
