//! The search for the highest rate that a store sustains, as a state machine without a clock.
//!
//! A [`Search`] names the next rate ([`Search::request`]) and is given the outcome
//! ([`Search::take`]). It climbs from a low rate by doubling until a step fails, bisects between
//! the highest rate that held and the lowest that did not, confirms what it found with fresh runs,
//! and shows that a little more fails. Rates are always approached from below; nothing is measured
//! beyond the ceiling. The same outcomes make the same search, so it can be taken up again from its
//! list of steps.

mod assess;
mod overload;
mod search;
mod waiting;

pub use assess::{Figures, StepContext, StepOutcome, StepReason, assess};
pub use overload::Overload;
pub(crate) use search::rounded;
pub use search::{Left, Plan, ReplayError, Search, SearchEnd, Undecided};
pub use waiting::{Backlog, Waiting};

use assay_model::named_enum;

use crate::plausibility::Verdict;

named_enum! {
    /// What a step is for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Purpose {
        /// Twice the rate that held, until one does not.
        Climb => "climb",
        /// Between the highest rate that held and the lowest that did not.
        Bisect => "bisect",
        /// The rate that was found, once more.
        Confirm => "confirm",
        /// A little more than was found, which must fail.
        Exceed => "exceed",
        /// A point of a curve, searching nothing.
        Sweep => "sweep",
    }
}

/// The next run of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// Its place in the list of steps, from 0.
    pub number: usize,
    /// Arrivals per second.
    pub rate: f64,
    /// What it is for.
    pub purpose: Purpose,
    /// How many times as long as usual, because a usual run could not tell.
    pub length: u32,
}

/// A run that was made.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The run.
    pub request: Request,
    /// What came of it.
    pub outcome: StepOutcome,
}

/// The rates between which the result lies, as far as steps have shown it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bracket {
    /// The highest rate that is known to hold.
    pub held: Option<f64>,
    /// The lowest rate above it that was shown to fail.
    pub failed: Option<f64>,
    /// The lowest rate between the two that no step could decide.
    pub unknown: Option<f64>,
}

/// The bracket that `steps` leave above `found`, a rate that holds; more may have held once.
pub fn bracket(steps: &[Step], found: Option<f64>) -> Bracket {
    let with = |verdict: Verdict, above: Option<f64>| {
        let rates = steps.iter().filter(move |step| step.outcome.verdict == verdict);
        let rates = rates.map(|step| step.request.rate);
        rates.filter(move |rate| above.is_none_or(|above| *rate > above))
    };
    let failed = with(Verdict::Violated, found).min_by(f64::total_cmp);
    let is_below = |rate: &f64| failed.is_none_or(|failed| *rate < failed);
    let held = with(Verdict::Held, found).filter(is_below).max_by(f64::total_cmp).or(found);
    let unknown = with(Verdict::Unknown, held).filter(is_below).min_by(f64::total_cmp);
    Bracket { held, failed, unknown }
}

/// A rate that held above one that did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inversion {
    /// The number of the step that failed.
    pub failed: usize,
    /// The number of the step at the highest rate above it that held.
    pub held: usize,
}

/// The steps that failed although a higher rate held: chance, a disturbance, or a store that is
/// slower at a lower rate (a batch that fills too slowly, a state that it does not
/// leave).
pub fn inversions(steps: &[Step]) -> Vec<Inversion> {
    let with = |verdict| steps.iter().filter(move |step| step.outcome.verdict == verdict);
    with(Verdict::Violated)
        .filter_map(|failed| {
            let above = |step: &&Step| step.request.rate > failed.request.rate;
            let highest = with(Verdict::Held)
                .filter(above)
                .max_by(|a, b| a.request.rate.total_cmp(&b.request.rate))?;
            Some(Inversion { failed: failed.request.number, held: highest.request.number })
        })
        .collect()
}

#[cfg(test)]
mod tests;
