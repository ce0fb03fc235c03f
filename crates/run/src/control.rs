//! How the outside stops a run.

use std::sync::atomic::{AtomicU8, Ordering};

/// Shared by everybody who may end a run: the keyboard, a broken history, a lane in trouble.
#[derive(Debug, Default)]
pub struct Control {
    level: AtomicU8,
}

/// How urgent the end is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// Go on.
    None,
    /// Ask nothing more, wait for what is in flight.
    Drain,
    /// Give up what is in flight.
    Abort,
}

impl Control {
    /// A run that goes on.
    pub fn new() -> Control {
        Control::default()
    }

    /// Ends the run gently.
    pub fn drain(&self) {
        self.level.fetch_max(1, Ordering::Relaxed);
    }

    /// Ends the run at once.
    pub fn abort(&self) {
        self.level.fetch_max(2, Ordering::Relaxed);
    }

    /// How urgent the end is now.
    pub fn urgency(&self) -> Urgency {
        match self.level.load(Ordering::Relaxed) {
            0 => Urgency::None,
            1 => Urgency::Drain,
            _ => Urgency::Abort,
        }
    }
}
