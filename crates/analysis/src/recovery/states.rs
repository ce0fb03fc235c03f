//! States of a service over time: up, degraded, down.

use assay_model::Nanos;

use super::baseline::GoodputBaseline;
use crate::options::Window;
use crate::summary::{IntervalSummary, Series};

/// Up from this share of the expected goodput on, …
pub(super) const ENOUGH: f64 = 0.9;
/// … if at most this share of the operations failed, …
const ERRORS: f64 = 0.01;
/// … and the 99th percentile is at most so many times that of the baseline.
const SLOWER: f64 = 3.0;
/// Down below this share of the expected goodput.
const HARDLY_ANY: f64 = 0.1;

/// How well a service serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ServiceState {
    /// As without faults.
    Up,
    /// Worse than that.
    Degraded,
    /// Hardly at all.
    Down,
    /// Nobody asked, so nobody knows.
    Idle,
}

impl ServiceState {
    /// The states of a service that is in use, the best first.
    pub const USED: [ServiceState; 3] =
        [ServiceState::Up, ServiceState::Degraded, ServiceState::Down];

    /// The name used in reports.
    pub const fn name(self) -> &'static str {
        match self {
            ServiceState::Up => "up",
            ServiceState::Degraded => "degraded",
            ServiceState::Down => "down",
            ServiceState::Idle => "idle",
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
    let whole = |interval: &&IntervalSummary| {
        interval.from >= window.from && interval.from.saturating_add(series.width) <= window.until
    };
    let intervals = series.intervals.iter().filter(whole);
    let from = intervals.clone().next().map_or(window.from, |interval| interval.from);
    let states = intervals.map(|interval| state(interval, series.width, baseline)).collect();
    StateSeries { from, width: series.width, states }
}

fn state(interval: &IntervalSummary, width: Nanos, baseline: &GoodputBaseline) -> ServiceState {
    if baseline.is_open && interval.offered == 0 {
        return ServiceState::Idle;
    }
    let expected = baseline.expected(interval.offered, width);
    let in_time = interval.in_time as f64;
    let tail = interval.response.p99.0 as f64;
    if in_time < HARDLY_ANY * expected {
        ServiceState::Down
    } else if in_time < ENOUGH * expected
        || interval.errors as f64 > ERRORS * interval.offered as f64
        || baseline.p99 > Nanos::ZERO && tail > SLOWER * baseline.p99.0 as f64
    {
        ServiceState::Degraded
    } else {
        ServiceState::Up
    }
}
