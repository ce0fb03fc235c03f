//! The schedule of arrivals as one lane sees it.

use assay_model::{Nanos, Seed};

use super::Arrivals;
use super::places::Places;
use super::shape::Shape;

/// Walks the schedule and stops at one lane's arrivals.
///
/// Arrival `i` belongs to the lane with number `i` modulo the number of lanes. Its time is a
/// function of (arrivals, seed, `i`) alone, computed by every lane in the same arithmetic, so the
/// schedules of all lanes together are the one of a lane that is alone.
pub struct Schedule {
    places: Places,
    shape: Shape,
    lanes: u64,
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
    /// The schedule as lane `lane` of `lanes` sees it.
    pub fn new(arrivals: &Arrivals, seed: Seed, lane: usize, lanes: usize) -> Schedule {
        Schedule::reaching(arrivals, seed, (lane, lanes), Nanos::NEVER)
    }

    /// As [`Schedule::new`], but an arrival at or after `reach` may be taken for one that never
    /// comes until [`Schedule::look_further`]: where bursts are short and arrivals rare, there
    /// are millions of bursts to the next one.
    pub fn reaching(
        arrivals: &Arrivals,
        seed: Seed,
        (lane, lanes): (usize, usize),
        reach: Nanos,
    ) -> Schedule {
        let mut schedule = Schedule {
            places: Places::new(&arrivals.process, seed, &arrivals.shape),
            shape: arrivals.shape.clone(),
            lanes: lanes as u64,
            index: lane as u64,
            expected: 0.0,
            time: Nanos::ZERO,
            stretch: 0,
            reach,
        };
        schedule.find();
        schedule
    }

    /// The number of this lane's next arrival, the same as the number of its process.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// When this lane's next arrival is due; [`Nanos::NEVER`] if it never is, or out of reach.
    pub fn time(&self) -> Nanos {
        self.time
    }

    /// Goes to this lane's next arrival.
    #[inline]
    pub fn advance(&mut self) {
        self.index += self.lanes;
        self.find();
    }

    /// Goes on with another shape, which may differ only after the arrival before the next one.
    pub fn reshape(&mut self, shape: &Shape) {
        self.shape = shape.clone();
        self.expected = self.places.expected_again(self.expected, &self.shape, self.reach);
        self.time = self.shape.moment_near(self.expected, &mut self.stretch);
    }

    /// Looks for arrivals before `reach`, which must not fall. No other shape will differ from
    /// this one before `settled`.
    pub fn look_further(&mut self, settled: Nanos, reach: Nanos) {
        self.reach = reach;
        self.expected = self.places.expected_further(self.expected, &self.shape, settled, reach);
        self.time = self.shape.moment_near(self.expected, &mut self.stretch);
    }

    #[inline]
    fn find(&mut self) {
        self.expected = self.places.expected(self.index, &self.shape, self.reach);
        self.time = self.shape.moment_near(self.expected, &mut self.stretch);
    }
}
