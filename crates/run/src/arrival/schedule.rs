//! The schedule of arrivals as one worker sees it.

use assay_model::{Nanos, Seed};

use super::Arrivals;
use super::places::Places;
use super::rate_profile::RateProfile;

/// Walks the schedule and stops at one worker's arrivals.
///
/// Arrival `i` belongs to the worker with number `i` modulo the number of workers. Its time is a
/// function of (arrivals, seed, `i`) alone, computed by every worker in the same arithmetic, so the
/// schedules of all workers together are the one of a worker that is alone.
pub struct Schedule {
    places: Places,
    rate_profile: RateProfile,
    workers: u64,
    index: u64,
    /// Arrivals that the shape expects before this one.
    expected: f64,
    time: Nanos,
    /// The stretch of the shape in which `time` lies.
    stretch: usize,
    /// Arrivals are looked for before this moment.
    reach: Nanos,
}

impl Schedule {
    /// The schedule as worker `worker` of `workers` sees it.
    pub fn new(arrivals: &Arrivals, seed: Seed, worker: usize, workers: usize) -> Schedule {
        Schedule::reaching(arrivals, seed, (worker, workers), Nanos::NEVER)
    }

    /// As [`Schedule::new`], but an arrival at or after `reach` may be taken for one that never
    /// comes until [`Schedule::look_further`]: where bursts are short and arrivals rare, there
    /// are millions of bursts to the next one.
    pub fn reaching(
        arrivals: &Arrivals,
        seed: Seed,
        (worker, workers): (usize, usize),
        reach: Nanos,
    ) -> Schedule {
        let mut schedule = Schedule {
            places: Places::new(&arrivals.process, seed, &arrivals.rate_profile),
            rate_profile: arrivals.rate_profile.clone(),
            workers: workers as u64,
            index: worker as u64,
            expected: 0.0,
            time: Nanos::ZERO,
            stretch: 0,
            reach,
        };
        schedule.find();
        schedule
    }

    /// The number of this worker's next arrival, the same as the number of its process.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// When this worker's next arrival is due; [`Nanos::NEVER`] if it never is, or out of reach.
    pub fn time(&self) -> Nanos {
        self.time
    }

    /// Goes to this worker's next arrival.
    #[inline]
    pub fn advance(&mut self) {
        self.index += self.workers;
        self.find();
    }

    /// Goes on with another shape, which may differ only after the arrival before the next one.
    pub fn reshape(&mut self, rate_profile: &RateProfile) {
        self.rate_profile = rate_profile.clone();
        self.expected = self.places.expected_again(self.expected, &self.rate_profile, self.reach);
        self.time = self.rate_profile.moment_near(self.expected, &mut self.stretch);
    }

    /// Looks for arrivals before `reach`, which must not fall. No other shape will differ from
    /// this one before `settled`.
    pub fn look_further(&mut self, settled: Nanos, reach: Nanos) {
        self.reach = reach;
        self.expected =
            self.places.expected_further(self.expected, &self.rate_profile, settled, reach);
        self.time = self.rate_profile.moment_near(self.expected, &mut self.stretch);
    }

    #[inline]
    fn find(&mut self) {
        self.expected = self.places.expected(self.index, &self.rate_profile, self.reach);
        self.time = self.rate_profile.moment_near(self.expected, &mut self.stretch);
    }
}
