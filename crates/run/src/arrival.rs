//! The times of open arrivals: one stream for the whole run, the same however it is thinned.

pub mod poisson;

use assay_model::{Nanos, Seed};

/// An arrival process with its rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrivals {
    /// Arrivals per second over all lanes, above 0.
    pub rate: f64,
    /// How the gaps between arrivals are distributed.
    pub process: ArrivalProcess,
}

/// How the gaps between arrivals are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalProcess {
    /// All gaps are equal.
    Constant,
    /// Independent exponential gaps: many users who do not know of each other.
    Poisson,
}

impl ArrivalProcess {
    /// The name used in flags and reports.
    pub const fn name(self) -> &'static str {
        match self {
            ArrivalProcess::Constant => "constant",
            ArrivalProcess::Poisson => "poisson",
        }
    }
}

/// Walks the schedule and stops at one lane's arrivals.
///
/// Arrival `i` belongs to the lane with number `i` modulo the number of lanes. Its time is a
/// function of (seed, `i`) alone: a lane adds up the gaps of the others' arrivals too, in the same
/// order and in the same arithmetic, so every lane sees the same schedule.
#[derive(Clone, Debug)]
pub struct Schedule {
    arrivals: Arrivals,
    seed: Seed,
    lanes: u64,
    index: u64,
    time: f64,
}

impl Schedule {
    /// The schedule as lane `lane` of `lanes` sees it.
    pub fn new(arrivals: Arrivals, seed: Seed, lane: usize, lanes: usize) -> Schedule {
        let mut schedule = Schedule { arrivals, seed, lanes: lanes as u64, index: 0, time: 0.0 };
        schedule.walk(lane as u64 + 1);
        schedule
    }

    /// The number of this lane's next arrival, the same as the number of its process.
    pub fn index(&self) -> u64 {
        self.index - 1
    }

    /// When this lane's next arrival is due.
    pub fn time(&self) -> Nanos {
        Nanos(self.time as u64)
    }

    /// Goes to this lane's next arrival.
    pub fn advance(&mut self) {
        self.walk(self.lanes);
    }

    fn walk(&mut self, arrivals: u64) {
        match self.arrivals.process {
            ArrivalProcess::Constant => {
                self.index += arrivals;
                self.time = (self.index - 1) as f64 * 1e9 / self.arrivals.rate;
            }
            ArrivalProcess::Poisson => {
                for _ in 0..arrivals {
                    self.time += poisson::gap(self.seed, self.index) * 1e9 / self.arrivals.rate;
                    self.index += 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
