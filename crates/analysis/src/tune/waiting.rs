//! Backlog over time within a step.

use assay_model::{Nanos, Record};

use crate::options::Window;
use crate::series::Concurrency;

/// Batches over which the slope is taken; as many parts as a step has.
const BATCHES: usize = 10;

/// The 97.5 % quantile of Student's t for that many batches less two.
const STUDENT: f64 = 2.306;

/// In a shorter step the ups and downs of a healthy queue look like growth.
const SHORTEST: Nanos = Nanos::from_secs(1);

/// How the number of waiting operations goes over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backlog {
    /// Operations per second by which it grows.
    pub growth_per_s: f64,
    /// Lower end of the 95 % interval of that.
    pub low_per_s: f64,
}

/// The backlog in each tenth of a step, while it is being counted.
///
/// The tenths follow the step and not the intervals of reports, so that a step tells its slope
/// however short it is beside those.
#[derive(Clone, Debug)]
pub struct Waiting {
    window: Window,
    width: u64,
    waited: Concurrency,
}

impl Waiting {
    /// Counts over `window`; without one there are none.
    pub fn new(window: Option<Window>) -> Waiting {
        let window = window.unwrap_or(Window { from: Nanos::ZERO, until: Nanos::ZERO });
        let width = (window.duration().0 / BATCHES as u64).max(1);
        Waiting { window, width, waited: Concurrency::default() }
    }

    /// Counts `records`, in any order. Those of the warm-up belong to it: what still waits at the
    /// beginning of the step is no growth.
    pub fn push(&mut self, records: &[Record]) {
        let origin = self.window.from;
        for record in records {
            let from = record.intended.max(origin);
            let until = record.ended.min(self.window.until);
            self.waited.add_across(origin.0, self.width, from.0, until.0);
        }
    }

    /// The slope, by least squares over the means of the tenths; `None` if the step is shorter
    /// than a second.
    ///
    /// Means, because what waits now and what waits a moment later depend on each other.
    pub fn backlog(&self) -> Option<Backlog> {
        if self.window.duration() < SHORTEST {
            return None;
        }
        let levels = self.waited.means(self.width, BATCHES);
        let seconds = Nanos(self.width).as_secs_f64();
        let times: Vec<f64> = (0..BATCHES).map(|place| place as f64 * seconds).collect();
        let count = BATCHES as f64;
        let middle = |values: &[f64]| values.iter().sum::<f64>() / count;
        let (time, level) = (middle(&times), middle(&levels));
        let pairs = || times.iter().zip(&levels).map(|(x, y)| (x - time, y - level));
        let spread: f64 = pairs().map(|(x, _)| x * x).sum();
        let growth_per_s = pairs().map(|(x, y)| x * y).sum::<f64>() / spread;
        let rest: f64 = pairs().map(|(x, y)| (y - growth_per_s * x).powi(2)).sum();
        let error = (rest / (count - 2.0) / spread).sqrt();
        Some(Backlog { growth_per_s, low_per_s: growth_per_s - STUDENT * error })
    }
}
