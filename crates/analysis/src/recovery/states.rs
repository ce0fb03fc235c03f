//! States of a service over time: up, degraded, down.

use assay_model::{Nanos, named_enum};

use super::baseline::GoodputBaseline;
use crate::options::Window;
use crate::summary::{IntervalSummary, Series};

/// Up from this share of the expected goodput on, …
pub const LEAST_GOODPUT: f64 = 0.9;
/// … if at most this share of the operations failed, …
pub const MOST_ERRORS: f64 = 0.01;
/// … and the 99th percentile is at most so many times that of the baseline.
pub const MOST_LATENCY: f64 = 3.0;
/// Down below this share of the expected goodput.
const HARDLY_ANY: f64 = 0.1;

named_enum! {
    /// How well a service serves.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum ServiceState {
        /// As without faults.
        Up => "up",
        /// Worse than that.
        Degraded => "degraded",
        /// Hardly at all.
        Down => "down",
        /// Nobody asked, so nobody knows.
        Idle => "idle",
    }
}

impl ServiceState {
    /// The states of a service that is in use, the best first.
    pub const USED: [ServiceState; 3] =
        [ServiceState::Up, ServiceState::Degraded, ServiceState::Down];
}

/// Why an interval is not up; several reasons may hold of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Shortfalls {
    /// Its goodput is below 90 % of what is expected.
    pub goodput: bool,
    /// More than 1 % of its operations failed.
    pub errors: bool,
    /// Its 99th percentile is over three times that of the baseline.
    pub latency: bool,
}

impl Shortfalls {
    fn any(self) -> bool {
        self.goodput || self.errors || self.latency
    }

    fn or(self, other: Shortfalls) -> Shortfalls {
        Shortfalls {
            goodput: self.goodput || other.goodput,
            errors: self.errors || other.errors,
            latency: self.latency || other.latency,
        }
    }
}

/// States over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateSeries {
    /// Where the first begins.
    pub from: Nanos,
    /// How long each lasts.
    pub width: Nanos,
    /// The states without a gap.
    pub states: Vec<ServiceState>,
    /// Why each is not up.
    pub shortfalls: Vec<Shortfalls>,
}

impl StateSeries {
    /// How long the service was in this state.
    pub fn time(&self, state: ServiceState) -> Nanos {
        let number = self.states.iter().filter(|one| **one == state).count() as u64;
        Nanos(number * self.width.0)
    }

    /// The share of the time in use that it was in this state; 0 if it was never in use.
    pub fn share(&self, state: ServiceState) -> f64 {
        let used = self.states.iter().filter(|one| **one != ServiceState::Idle).count();
        let number = self.states.iter().filter(|one| **one == state).count();
        number as f64 / used.max(1) as f64
    }

    /// All that is wrong with the intervals that begin in `window`.
    pub fn shortfalls_in(&self, window: Window) -> Shortfalls {
        let begins = |place: usize| Nanos(self.from.0 + place as u64 * self.width.0);
        let is_in = |place: usize| (window.from..window.until).contains(&begins(place));
        let there = self.shortfalls.iter().enumerate().filter(|(place, _)| is_in(*place));
        there.fold(Shortfalls::default(), |all, (_, one)| all.or(*one))
    }

    /// Stretches of one state, in order of time.
    pub fn stretches(&self) -> Vec<(Window, ServiceState)> {
        let mut place = 0;
        let chunks = self.states.chunk_by(|one, other| one == other);
        chunks
            .map(|chunk| {
                let from = Nanos(self.from.0 + place * self.width.0);
                place += chunk.len() as u64;
                (Window { from, until: Nanos(self.from.0 + place * self.width.0) }, chunk[0])
            })
            .collect()
    }
}

/// The states of the intervals that lie in `window` with their whole width.
pub fn states(series: &Series, window: Window, baseline: &GoodputBaseline) -> StateSeries {
    let intervals = series.whole_in(window);
    let from = intervals.first().map_or(window.from, |interval| interval.from);
    let (states, shortfalls) =
        intervals.iter().map(|interval| state(interval, series.width, baseline)).unzip();
    StateSeries { from, width: series.width, states, shortfalls }
}

fn state(
    interval: &IntervalSummary,
    width: Nanos,
    baseline: &GoodputBaseline,
) -> (ServiceState, Shortfalls) {
    if baseline.is_open && interval.offered == 0 {
        return (ServiceState::Idle, Shortfalls::default());
    }
    let expected = baseline.expected(interval.offered, width);
    let in_time = interval.in_time as f64;
    let tail = interval.response.p99.0 as f64;
    let shortfalls = Shortfalls {
        goodput: in_time < LEAST_GOODPUT * expected,
        errors: interval.errors as f64 > MOST_ERRORS * interval.offered as f64,
        latency: baseline.p99 > Nanos::ZERO && tail > MOST_LATENCY * baseline.p99.0 as f64,
    };
    let state = match shortfalls.any() {
        _ if in_time < HARDLY_ANY * expected => ServiceState::Down,
        true => ServiceState::Degraded,
        false => ServiceState::Up,
    };
    (state, shortfalls)
}
