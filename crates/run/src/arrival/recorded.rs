//! A recorded schedule.

use std::fmt;
use std::sync::Arc;

use assay_model::{Nanos, SourceError};

/// Reads the times of one schedule, process by process.
pub trait ScheduleTimes: Send {
    /// When `process` is intended, from the start of the schedule; `None` if there is no such
    /// process or higher one. Numbers must rise.
    ///
    /// # Errors
    /// If the schedule cannot be read any further.
    fn intended(&mut self, process: u64) -> Result<Option<Nanos>, SourceError>;
}

/// A written schedule, which each worker reads for itself.
#[derive(Clone)]
pub struct Timetable {
    open: Arc<dyn Fn() -> Box<dyn ScheduleTimes> + Send + Sync>,
    rate: f64,
}

impl Timetable {
    /// The schedule that `open` opens, with `rate` arrivals per second on average.
    ///
    /// The rate is that of the schedule as it was written; a shape with the same rate replays it
    /// as it is, one with twice the rate in half the time.
    ///
    /// # Panics
    /// If the rate is not finite, or not above 0.
    pub fn new(
        rate: f64,
        open: impl Fn() -> Box<dyn ScheduleTimes> + Send + Sync + 'static,
    ) -> Timetable {
        assert!(rate.is_finite() && rate > 0.0, "a written schedule has a rate above 0");
        Timetable { open: Arc::new(open), rate }
    }

    /// Arrivals per second on average, as written.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// The places of its arrivals.
    pub(crate) fn places(&self) -> WrittenPlaces {
        WrittenPlaces { times: (self.open)(), rate: self.rate, last: 0.0 }
    }
}

impl PartialEq for Timetable {
    /// Whether both are the same schedule, not only alike.
    fn eq(&self, other: &Timetable) -> bool {
        Arc::ptr_eq(&self.open, &other.open)
    }
}

impl fmt::Debug for Timetable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timetable").field("rate", &self.rate).finish_non_exhaustive()
    }
}

/// The places of written arrivals, on an axis with one per unit on average.
pub(crate) struct WrittenPlaces {
    times: Box<dyn ScheduleTimes>,
    rate: f64,
    last: f64,
}

impl WrittenPlaces {
    /// The place of arrival `index`; infinite after the end.
    ///
    /// What cannot be read comes at once: the plan is read from the same file, fails at the same
    /// process, and that ends the run with the reason.
    pub fn place(&mut self, index: u64) -> f64 {
        self.last = match self.times.intended(index) {
            Ok(Some(time)) => time.0 as f64 * self.rate / 1e9,
            Ok(None) => f64::INFINITY,
            Err(_) => self.last,
        };
        self.last
    }
}
