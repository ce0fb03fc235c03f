//! The rate of open arrivals as it is changed while a run goes on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use assay_model::Nanos;

use crate::arrival::RateProfile;

/// How far ahead of now workers know all changes, so how late the next change may take effect.
///
/// Long enough that a worker takes the lock ten times a second and not for every arrival, short
/// enough that a key in a terminal seems to act at once.
pub const RATE_LEAD: Nanos = Nanos::from_millis(100);

/// More changes in one run than this are no measurement.
const CHANGES_MAX: usize = 10_000;

/// More arrivals per second than this cannot be distinguished in nanoseconds.
const RATE_MAX: f64 = 1e9;

/// The rate of a run was changed from outside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateChange {
    /// From when on.
    pub at: Nanos,
    /// Arrivals per second just before.
    pub before: f64,
    /// Arrivals per second from then on; 0 is a pause.
    pub rate: f64,
}

/// A rate could not be changed.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SetRateError {
    /// There is no open run whose rate it could be.
    #[error("no open run goes on: only open arrivals have a rate to change")]
    NotOpen,
    /// The rate is invalid.
    #[error("a rate of {rate}/s is invalid: give a number from 0, at most 1000M/s")]
    Rate {
        /// The rate.
        rate: f64,
    },
    /// There were too many changes before.
    #[error("the rate was changed {CHANGES_MAX} times in this run already")]
    TooMany,
}

/// The rate of a run, shared by its workers and its controls.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    /// Counts the changes of the run; workers check it in their loops.
    version: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The shape with all changes; none if nothing arrives by the clock.
    rate_profile: Option<RateProfile>,
    /// No change takes effect before this: some worker has already come so far.
    horizon: Nanos,
    changes: Vec<RateChange>,
}

/// The state for a worker.
pub(crate) struct Ahead {
    /// All changes before this are known now.
    pub horizon: Nanos,
    pub version: u64,
    /// The rate profile, if it has changed.
    pub rate_profile: Option<RateProfile>,
}

impl Rates {
    /// A run begins; forgets the one before.
    pub fn begin(&self, rate_profile: Option<RateProfile>) {
        let mut state = self.state();
        *state = State { rate_profile, ..State::default() };
        self.version.store(0, Ordering::Relaxed);
    }

    /// How often the rate was changed in this run.
    #[inline]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    /// Lets a worker go on beyond `now`, with the rate profile if it has changed since version
    /// `received`.
    pub fn look_ahead(&self, received: u64, now: Nanos) -> Ahead {
        let mut state = self.state();
        let horizon = now.saturating_add(RATE_LEAD);
        state.horizon = state.horizon.max(horizon);
        let version = state.changes.len() as u64;
        let rate_profile = if version == received { None } else { state.rate_profile.clone() };
        Ahead { horizon, version, rate_profile }
    }

    /// The rate is `rate` from `from` on, or from the first moment after that which no worker has
    /// reached; gives that moment.
    pub fn set(&self, from: Nanos, rate: f64) -> Result<Nanos, SetRateError> {
        if !(0.0..=RATE_MAX).contains(&rate) {
            return Err(SetRateError::Rate { rate });
        }
        let mut state = self.state();
        let at = state.changes.last().map_or(from, |last| last.at.max(from)).max(state.horizon);
        let rate_profile = state.rate_profile.as_ref().ok_or(SetRateError::NotOpen)?;
        if state.changes.len() >= CHANGES_MAX {
            return Err(SetRateError::TooMany);
        }
        let before = rate_profile.rate(Nanos(at.0.saturating_sub(1)));
        let changed = rate_profile.changed(at, rate);
        state.rate_profile = Some(changed);
        state.changes.push(RateChange { at, before, rate });
        self.version.store(state.changes.len() as u64, Ordering::Relaxed);
        Ok(at)
    }

    /// The shape with all changes until now.
    pub fn rate_profile(&self) -> Option<RateProfile> {
        self.state().rate_profile.clone()
    }

    /// The changes of the run that goes on, or went on last.
    pub fn changes(&self) -> Vec<RateChange> {
        self.state().changes.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing in here is left half done by a panic.
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
