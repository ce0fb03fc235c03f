//! The states of a search with what leads from one to the next.

use super::{Purpose, Request, Step, StepOutcome};
use crate::plausibility::Verdict;

/// By how much the rate that was found is exceeded to show that more fails, in this order.
const EXCEED: [f64; 2] = [1.05, 1.10];

/// How often the lowest rate may fail before no rate is believed to hold.
const FLOOR_FAILURES: u32 = 2;

/// How far below a rate that was not confirmed the next one lies, as a share of the requested
/// width; twice as far each time. A little less than all of it, so that rounding leaves no gap.
const RETREAT: f64 = 0.9;

/// How often a rate is tried again when the client was too slow to decide: the cause may pass.
const CLIENT_TRIES: u32 = 3;

/// How often a search climbs again because a rate held that should have failed.
const RETURNS_MAX: u32 = 2;

/// What is searched, and how thoroughly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// The lowest rate of interest, above 0; the search begins there.
    pub min: f64,
    /// The highest rate of interest, if there is one; at least `min`.
    pub max: Option<f64>,
    /// How far apart the rate found and the lowest that fails may be: 0.02 for 2 %; at least
    /// 0.001, because rates have five digits.
    pub within: f64,
    /// How many fresh runs must hold at the rate that is found.
    pub confirmations: u32,
    /// How many times as long as usual a step may be made when it cannot tell; a power of two.
    pub longest: u32,
    /// The most steps.
    pub steps_max: usize,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan { min: 100.0, max: None, within: 0.02, confirmations: 3, longest: 8, steps_max: 80 }
    }
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SearchEnd {
    /// The highest rate that is sustained.
    Found {
        /// Arrivals per second.
        rate: f64,
        /// The number of the step a little above it that failed; none at the ceiling, or where no
        /// step above it could be shown to fail.
        exceeded: Option<usize>,
        /// Whether it is the ceiling, so that the store may sustain more.
        is_ceiling: bool,
    },
    /// Not even the lowest rate is sustained.
    BelowFloor,
    /// The search came to no end that can be believed.
    Undecided {
        /// The highest rate that held and was not contradicted at that same rate.
        best: Option<f64>,
        /// Why.
        why: Undecided,
    },
}

/// Why a search came to no end that can be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undecided {
    /// It took too many steps.
    Steps,
    /// Again and again a rate held above one that had failed.
    NonMonotone,
    /// In every step at this rate the client was too slow to decide.
    Client,
}

/// The steps do not belong to the search.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ReplayError {
    /// The search would have run another step.
    #[error(
        "step {number} has the rate {found}/s where this search tries {expected}/s; begin a new one"
    )]
    Differs {
        /// The step's number.
        number: usize,
        /// The rate in the list.
        found: f64,
        /// The rate that the search would have tried.
        expected: f64,
    },
    /// The search was over before.
    #[error("step {number} comes after the search was over; begin a new one")]
    TooMany {
        /// The step's number.
        number: usize,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Climb,
    Bisect,
    /// With the number of runs that have confirmed.
    Confirm(u32),
    /// With the place in [`EXCEED`].
    Exceed(usize),
    Over(SearchEnd),
}

/// A search under way.
#[derive(Clone, Debug)]
pub struct Search {
    plan: Plan,
    state: State,
    steps: Vec<Step>,
    /// Rates that held and have not failed since, rising; the last is the best so far.
    held: Vec<f64>,
    /// The lowest rate above them that failed.
    failed: Option<f64>,
    length: u32,
    /// How often in a row a rate failed since one that had held was not confirmed.
    retreats: Option<u32>,
    floor_failures: u32,
    returns: u32,
    /// How often in a row the client was too slow to decide.
    client_faults: u32,
}

/// How many steps are left of a search if each decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// No more than these.
    AtMost(usize),
    /// These if the next one fails; the length of a climb is unknown.
    AtLeast(usize),
}

impl Search {
    /// A search without any step.
    ///
    /// # Panics
    /// If the plan's rates, width or bounds are invalid.
    pub fn new(plan: Plan) -> Search {
        assert!(plan.min > 0.0 && plan.min.is_finite(), "the lowest rate is above 0");
        assert!(plan.max.is_none_or(|max| max >= plan.min), "no ceiling is below the floor");
        assert!(plan.within >= 0.001, "rates are distinguished by a thousandth");
        assert!(plan.longest.is_power_of_two(), "steps are made longer by doubling");
        Search {
            plan,
            state: State::Climb,
            steps: Vec::new(),
            held: Vec::new(),
            failed: None,
            length: 1,
            retreats: None,
            floor_failures: 0,
            returns: 0,
            client_faults: 0,
        }
    }

    /// A search that has made `steps` already.
    ///
    /// # Errors
    /// If it would have run other steps.
    pub fn replay(plan: Plan, steps: &[Step]) -> Result<Search, ReplayError> {
        let mut search = Search::new(plan);
        for step in steps {
            let (number, found) = (step.request.number, step.request.rate);
            match search.request() {
                None => return Err(ReplayError::TooMany { number }),
                // A rate that was written to a file and read again may have lost its last digit.
                Some(expected) if (expected.rate / found - 1.0).abs() > 1e-9 => {
                    return Err(ReplayError::Differs { number, found, expected: expected.rate });
                }
                Some(_) => search.take(step.outcome.clone()),
            }
        }
        Ok(search)
    }

    /// The next step; nothing once the search is over.
    pub fn request(&self) -> Option<Request> {
        let (rate, purpose) = match self.state {
            State::Climb => (self.climb_rate(), Purpose::Climb),
            State::Bisect => (self.between(self.best()?, self.failed?), Purpose::Bisect),
            State::Confirm(_) => (self.best()?, Purpose::Confirm),
            State::Exceed(place) => {
                (self.capped(rounded(self.best()? * EXCEED[place])), Purpose::Exceed)
            }
            State::Over(_) => return None,
        };
        Some(Request { number: self.steps.len(), rate, purpose, length: self.length })
    }

    /// What came of the request.
    ///
    /// # Panics
    /// If the search is over.
    pub fn take(&mut self, outcome: StepOutcome) {
        let request = self.request().expect("a search that is over has no next step");
        let (verdict, is_of_client) = (outcome.verdict, outcome.is_of_client());
        self.steps.push(Step { request, outcome });
        self.client_faults = if is_of_client { self.client_faults + 1 } else { 0 };
        if is_of_client {
            self.try_again();
        } else if verdict == Verdict::Unknown && self.length < self.plan.longest {
            // The same again, longer; around here rates are hard to tell.
            self.length *= 2;
        } else if verdict == Verdict::Held {
            self.hold(request.rate);
        } else {
            self.fail(request, verdict);
        }
        if self.ending().is_none() && self.steps.len() >= self.plan.steps_max {
            self.give_up(Undecided::Steps);
        }
    }

    /// How it ended, if it is over.
    pub fn ending(&self) -> Option<SearchEnd> {
        match self.state {
            State::Over(ending) => Some(ending),
            _ => None,
        }
    }

    /// The steps so far.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The highest rate that held and has not failed since.
    pub fn best(&self) -> Option<f64> {
        self.held.last().copied()
    }

    /// How many steps are left if each decides and none contradicts one before.
    pub fn left(&self) -> Left {
        let climbs = |max: f64| (max / self.climb_rate()).log2().ceil().max(0.0) as usize + 1;
        let end = self.plan.confirmations as usize + EXCEED.len();
        match self.state {
            State::Climb => match self.plan.max {
                Some(max) => Left::AtMost(climbs(max) + self.bisections(2.0) + end),
                None => Left::AtLeast(1 + self.bisections(2.0) + end),
            },
            State::Bisect => {
                let width = self.best().zip(self.failed).map_or(1.0, |(low, high)| high / low);
                Left::AtMost(self.bisections(width) + end)
            }
            State::Confirm(runs) => Left::AtMost(end - runs as usize),
            State::Exceed(place) => Left::AtMost(EXCEED.len() - place),
            State::Over(_) => Left::AtMost(0),
        }
    }

    /// How often the interval between two rates with the ratio `width` is halved.
    fn bisections(&self, width: f64) -> usize {
        (width.ln() / self.plan.within.ln_1p()).log2().ceil().max(0.0) as usize
    }

    /// The middle, or just below a rate that was not confirmed: what is sought is near.
    fn between(&self, low: f64, high: f64) -> f64 {
        let middle = (low * high).sqrt();
        let near = self.retreats.map_or(0.0, |times| {
            high / (1.0 + RETREAT * self.plan.within * 2.0_f64.powi(times as i32))
        });
        rounded(middle.max(near))
    }

    fn climb_rate(&self) -> f64 {
        self.capped(self.best().map_or(self.plan.min, |best| best * 2.0))
    }

    fn capped(&self, rate: f64) -> f64 {
        rate.min(self.plan.max.unwrap_or(f64::INFINITY))
    }

    fn is_ceiling(&self, rate: f64) -> bool {
        self.plan.max.is_some_and(|max| rate >= max)
    }

    fn hold(&mut self, rate: f64) {
        match self.state {
            State::Climb | State::Bisect => {
                if self.state == State::Climb {
                    // Twice the rate gives as many operations in half the time.
                    self.length = (self.length / 2).max(1);
                }
                self.retreats = None;
                self.held.push(rate);
                self.settle();
            }
            State::Confirm(runs) => {
                self.state = State::Confirm(runs + 1);
                self.leave_confirmed();
            }
            State::Exceed(place) if place + 1 < EXCEED.len() && !self.is_ceiling(rate) => {
                self.state = State::Exceed(place + 1);
            }
            State::Exceed(_) => {
                // What failed before was no bound: up again from here.
                self.held.push(rate);
                self.failed = None;
                self.returns += 1;
                self.settle();
                if self.returns > RETURNS_MAX {
                    self.give_up(Undecided::NonMonotone);
                }
            }
            State::Over(_) => {}
        }
    }

    /// The same again, which is no failure; in the end the rate stays undecided.
    fn try_again(&mut self) {
        if self.client_faults < CLIENT_TRIES {
            return;
        }
        match self.state {
            // The result stands; that a higher rate fails is not shown.
            State::Exceed(_) => self.find(None),
            _ => self.give_up(Undecided::Client),
        }
    }

    fn fail(&mut self, request: Request, verdict: Verdict) {
        if let State::Exceed(place) = self.state {
            // An undecided rate is no proven failure; a higher one may be sustained.
            if verdict == Verdict::Unknown
                && place + 1 < EXCEED.len()
                && !self.is_ceiling(request.rate)
            {
                self.state = State::Exceed(place + 1);
            } else {
                let number = (verdict == Verdict::Violated).then_some(request.number);
                self.find(number);
            }
            return;
        }
        if request.rate <= self.plan.min {
            self.floor_failures += 1;
        }
        self.retreats = match self.state {
            State::Confirm(_) => Some(0),
            _ => self.retreats.map(|times| (times + 1).min(30)),
        };
        self.failed = Some(request.rate);
        self.held.retain(|&rate| rate < request.rate);
        self.settle();
    }

    /// Goes to where the best rate that held leads, with the lowest that failed.
    fn settle(&mut self) {
        self.state = match (self.best(), self.failed) {
            (None, _) if self.floor_failures >= FLOOR_FAILURES => {
                State::Over(SearchEnd::BelowFloor)
            }
            (None, _) => State::Climb,
            (Some(best), None) if !self.is_ceiling(best) => State::Climb,
            (Some(best), Some(failed)) if failed > best * (1.0 + self.plan.within) => State::Bisect,
            (Some(_), _) => State::Confirm(0),
        };
        self.leave_confirmed();
    }

    fn leave_confirmed(&mut self) {
        let State::Confirm(runs) = self.state else { return };
        let Some(best) = self.best() else { return };
        if runs < self.plan.confirmations {
            return;
        }
        if self.is_ceiling(best) {
            self.find(None);
        } else {
            self.state = State::Exceed(0);
        }
    }

    fn find(&mut self, exceeded: Option<usize>) {
        if let Some(rate) = self.best() {
            let is_ceiling = self.is_ceiling(rate);
            self.state = State::Over(SearchEnd::Found { rate, exceeded, is_ceiling });
        }
    }

    fn give_up(&mut self, why: Undecided) {
        self.state = State::Over(SearchEnd::Undecided { best: self.best(), why });
    }
}

/// A rate in five significant digits, which people can read.
pub fn rounded(rate: f64) -> f64 {
    let unit = 10_f64.powi(rate.log10().floor() as i32 - 4);
    // Dividing by a power of ten is exact where multiplying by its inverse is not.
    if unit < 1.0 {
        (rate / unit).round() / (1.0 / unit).round()
    } else {
        (rate / unit).round() * unit
    }
}
