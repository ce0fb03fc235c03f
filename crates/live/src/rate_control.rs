//! The wheel of a run that goes on.

use std::sync::{Arc, Mutex};

use assay_fleet::{Coordinator, RateOrder};
use assay_model::Nanos;
use assay_run::arrival::RateProfile;
use assay_run::control::Urgency;
use assay_run::{Control, Load, RATE_LEAD, SetRateError};

/// The rates that can be requested: from one an hour to one per nanosecond.
const RATES: std::ops::RangeInclusive<f64> = 1.0 / 3600.0..=1e9;

/// What can be done to a run from outside, by whichever way.
pub struct RateControl {
    control: Arc<Control>,
    is_open: bool,
    changed: Mutex<Nanos>,
    followers: Option<Arc<dyn Followers>>,
}

/// Other processes that issue the operations, and change the rate together.
pub trait Followers: Send + Sync {
    /// How far ahead a change must lie for all of them to know of it before; none while they do
    /// not all issue operations.
    fn lead(&self) -> Option<Nanos>;

    /// They change the rate to `rate` per second at `from`, on the run's time axis.
    fn follow(&self, from: Nanos, rate: f64);
}

impl Followers for Coordinator {
    fn lead(&self) -> Option<Nanos> {
        self.rate_lead().map(|lead| Nanos::from(lead) + RATE_LEAD)
    }

    fn follow(&self, from: Nanos, rate: f64) {
        self.order_rate(RateOrder { from_ns: from.0, rate });
    }
}

/// A change of rate that was accepted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AcceptedRate {
    /// When it takes effect, on the run's time axis.
    pub from: Nanos,
    /// Arrivals per second until then.
    pub before: f64,
    /// Arrivals per second from then on.
    pub rate: f64,
}

/// Why a change of rate was not accepted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RateControlError {
    /// The load is closed.
    #[error(
        "the load is closed: sessions issue their next operation when a response has come, not at \
         a rate"
    )]
    Closed,
    /// The workers have not begun, or end.
    #[error("no operations are issued now: the run has not begun, or it is ending")]
    NotIssuing,
    /// The rate is out of range.
    #[error("a rate of {0}/s is out of range; give one from 1 an hour (0.000278/s) to 1000M/s")]
    Rate(f64),
    /// The executor does not take it.
    #[error(transparent)]
    Set(#[from] SetRateError),
}

impl RateControl {
    /// Steers the run of `load` by `control`.
    pub fn new(control: Arc<Control>, load: &Load) -> RateControl {
        let is_open = matches!(load, Load::Open(_));
        RateControl { control, is_open, changed: Mutex::default(), followers: None }
    }

    /// The run is that of `followers`; `control` has their clock and their rate.
    pub fn followed(self, followers: Arc<dyn Followers>) -> RateControl {
        RateControl { followers: Some(followers), ..self }
    }

    /// The moment on the run's time axis; none before the workers have begun.
    pub fn now(&self) -> Option<Nanos> {
        self.control.now()
    }

    /// The intended rate over time, as it is known now; open load only.
    pub fn rate_profile(&self) -> Option<RateProfile> {
        if self.is_open { self.control.rate_profile() } else { None }
    }

    /// Lets arrivals come at `rate` per second from a moment on that is just ahead.
    ///
    /// # Errors
    /// If there is no such rate, or nothing that could follow it.
    pub fn set(&self, rate: f64) -> Result<AcceptedRate, RateControlError> {
        self.steer(|_| rate)
    }

    /// Multiplies what the rate will be at that moment.
    ///
    /// # Errors
    /// As [`RateControl::set`].
    pub fn multiply(&self, factor: f64) -> Result<AcceptedRate, RateControlError> {
        self.steer(|before| before * factor)
    }

    fn steer(&self, rate: impl FnOnce(f64) -> f64) -> Result<AcceptedRate, RateControlError> {
        if !self.is_open {
            return Err(RateControlError::Closed);
        }
        // Held to the end: of two who multiply at once, one multiplies what the other set.
        let mut changed = self.changed.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let now = self.now().filter(|_| !self.is_ending()).ok_or(RateControlError::NotIssuing)?;
        let lead = match &self.followers {
            Some(followers) => followers.lead().ok_or(RateControlError::NotIssuing)?,
            None => RATE_LEAD,
        };
        let from = (now + lead).max(*changed);
        let before = self.rate_profile().ok_or(RateControlError::NotIssuing)?.rate(from);
        let rate = rate(before);
        if !RATES.contains(&rate) {
            return Err(RateControlError::Rate(rate));
        }
        let from = self.control.set_rate(from, rate)?;
        if let Some(followers) = &self.followers {
            followers.follow(from, rate);
        }
        *changed = from;
        Ok(AcceptedRate { from, before, rate })
    }

    /// Ends the run gently, as a first interrupt does.
    pub fn drain(&self) {
        self.control.drain();
    }

    /// Whether the run was told to end.
    pub fn is_ending(&self) -> bool {
        self.control.urgency() > Urgency::None
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use assay_run::{ArrivalProcess, Arrivals, Closed, Open, Overflow, Spin, Think, Wall};

    use super::*;

    fn open() -> RateControl {
        let control = Arc::new(Control::new());
        let arrivals = Arrivals::constant_rate(1e3, ArrivalProcess::Constant);
        let load = Load::Open(Open { arrivals, in_flight: 1, overflow: Overflow::Queue });
        RateControl::new(control, &load)
    }

    #[test]
    fn a_run_without_workers_is_not_controlled() {
        assert_eq!(open().set(1.0), Err(RateControlError::NotIssuing));
    }

    #[test]
    fn a_refused_rate_is_answered_with_the_allowed_range() {
        let text = RateControlError::Rate(0.0001).to_string();
        let expected = "a rate of 0.0001/s is out of range; give one from 1 an hour (0.000278/s) \
                        to 1000M/s";
        assert_eq!(text, expected);
    }

    #[test]
    fn an_ending_run_is_not_controlled() {
        let rate_control = open();
        let clock = Wall::starting_in(Duration::from_secs(3600), Spin::Never);
        rate_control.control.set_clock(Some(clock));
        rate_control.drain();
        assert_eq!(rate_control.multiply(2.0), Err(RateControlError::NotIssuing));
    }

    #[test]
    fn a_closed_load_has_no_rate() {
        let closed = Closed { sessions: 1, think: Think::No, target_rate: None };
        let rate_control = RateControl::new(Arc::new(Control::new()), &Load::Closed(closed));
        assert_eq!(
            (rate_control.rate_profile(), rate_control.set(5.0)),
            (None, Err(RateControlError::Closed))
        );
    }
}
