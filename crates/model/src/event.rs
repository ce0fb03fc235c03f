//! Something that happened to a run as a whole, at one moment of its time axis.

use crate::action_event::ACTION_MARK;
use crate::named_enum;
use crate::nanos::Nanos;

named_enum! {
    /// What sort of event it is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum EventKind {
        /// A phase began.
        Phase => "phase",
        /// The store was broken or healed on purpose.
        Fault => "fault",
        /// A setting changed while the run went on.
        Change => "change",
        /// The run noticed something that a reader of the figures must know.
        Warning => "warning",
    }
}

impl EventKind {
    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<EventKind> {
        // Earlier releases called a warning a notice.
        let name = if name == "notice" { "warning" } else { name };
        EventKind::ALL.into_iter().find(|kind| kind.name() == name)
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

impl Event {
    /// What stands before its text for a reader: its kind, but that an action's end as it was
    /// intended is no warning.
    pub fn label(&self) -> &'static str {
        let is_action = self.text.starts_with(ACTION_MARK);
        match self.kind {
            EventKind::Warning if is_action && self.text.contains(" is done, ") => "done",
            kind => kind.name(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_that_ended_as_intended_is_no_warning() {
        let label = |kind, text: &str| Event { at: Nanos(1), kind, text: text.to_owned() }.label();
        assert_eq!(label(EventKind::Fault, "lab: kill node 1"), "fault");
        assert_eq!(label(EventKind::Warning, "lab: kill node 1 is done, 3 ms after it"), "done");
        assert_eq!(label(EventKind::Warning, "lab: kill node 1 failed after 3 ms: x"), "warning");
        assert_eq!(label(EventKind::Warning, "the disk is full, all is done, "), "warning");
    }
}
