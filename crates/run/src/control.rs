//! How the outside stops a run.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::clock::Wall;

/// Shared by everybody who may end a run: the keyboard, a broken history, a lane in trouble.
#[derive(Debug, Default)]
pub struct Control {
    level: AtomicU8,
    clock: Mutex<Option<Wall>>,
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

    /// The clock of the run that goes on, or went on last; none before its lanes have begun.
    pub fn clock(&self) -> Option<Wall> {
        self.clock.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// Sets the clock that those beside the lanes go by; none before another run.
    pub fn set_clock(&self, clock: Option<Wall>) {
        *self.clock.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = clock;
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
