//! Control of a run from outside: its end, its rate.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};

use assay_model::Nanos;

use crate::arrival::RateProfile;
use crate::clock::{Clock, SimulatedClock, Wall};
use crate::rates::{RateChange, Rates, SetRateError};

/// Shared by everything that may end a run: the keyboard, a broken history, a failing worker.
#[derive(Debug, Default)]
pub struct Control {
    level: AtomicU8,
    clock: Mutex<Option<Wall>>,
    reported: Mutex<Option<SimulatedClock>>,
    rates: Arc<Rates>,
}

/// How urgent the end is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// Go on.
    None,
    /// Issue no more operations, wait for those in flight.
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

    /// Takes a gentle end back, so that another run can follow; an end at once stays.
    pub fn go_on(&self) {
        // A stronger request that came meanwhile stays.
        let _ = self.level.compare_exchange(1, 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// The clock of the current or last run; none before its workers have begun.
    pub fn clock(&self) -> Option<Wall> {
        self.clock.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// Sets the clock for observers; none before another run.
    pub fn set_clock(&self, clock: Option<Wall>) {
        self.set_simulated(None);
        *self.clock.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = clock;
    }

    /// Sets the clock of a run in simulated time.
    pub(crate) fn set_simulated(&self, clock: Option<SimulatedClock>) {
        *self.reported.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = clock;
    }

    /// The time on the axis of the current or last run, simulated or not; none before its workers
    /// have begun.
    pub fn now(&self) -> Option<Nanos> {
        let reported =
            self.reported.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        let wall = || self.clock().map(|clock| clock.now());
        reported.map(|clock| clock.now()).or_else(wall)
    }

    /// Open arrivals come with `rate` per second from `from` on, whatever the shape says; 0 is a
    /// pause. Gives the moment from which it holds.
    ///
    /// That is a little later than `from` if a worker has gone so far already, so that all workers
    /// change at the same place of the one schedule. Choose a moment at least
    /// [`RATE_LEAD`](crate::RATE_LEAD) ahead of now: workers check for changes that often.
    ///
    /// # Errors
    /// If no open run is running, or the rate is invalid.
    pub fn set_rate(&self, from: Nanos, rate: f64) -> Result<Nanos, SetRateError> {
        self.rates.set(from, rate)
    }

    /// The rate of open arrivals with all changes until now; none in a closed run.
    pub fn rate_profile(&self) -> Option<RateProfile> {
        self.rates.rate_profile()
    }

    /// The changes of the rate in the run that goes on, or went on last.
    pub fn rate_changes(&self) -> Vec<RateChange> {
        self.rates.changes()
    }

    /// A run with these arrivals begins, here or elsewhere; changes of the run before are
    /// forgotten.
    pub fn begin(&self, rate_profile: Option<RateProfile>) {
        self.rates.begin(rate_profile);
    }

    pub(crate) fn rates(&self) -> Arc<Rates> {
        Arc::clone(&self.rates)
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
