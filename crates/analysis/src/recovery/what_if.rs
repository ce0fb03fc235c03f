//! Availability that follows from rates of faults which a user gives.
//!
//! A run under injected faults says how long a fault of each sort lasts for clients, not how often
//! it comes. With rates from elsewhere, the time in which a service is not up per year is the sum
//! of rates times mean times to recovery. That assumes faults that do not overlap, and a run whose
//! load and faults are like those to come.

use super::injection::{InjectionOutcome, TimeTo};
use super::pooled::{DRAWS, FEWEST, SEED, bounds, mean_of, redrawn};
use crate::median::sorted;

/// Seconds of a year of 365.25 days.
const YEAR_S: f64 = 31_557_600.0;
/// The stream of the draws of all sorts.
const STREAM: u64 = 0xA7_02;

/// How often a fault comes in a year.
#[derive(Clone, Debug, PartialEq)]
pub struct AnnualRate {
    /// The words that the sorts of the fault begin with, such as `kill` or `kill leader`.
    pub fault: String,
    /// How often.
    pub per_year: f64,
}

/// The share of one fault.
#[derive(Clone, Debug, PartialEq)]
pub struct WhatIfPart {
    /// The fault and its rate.
    pub rate: AnnualRate,
    /// How many injections of it the run had.
    pub injections: u64,
    /// The mean time to recovery, in seconds; `None` if the run had no such injection.
    pub mean_s: Option<f64>,
    /// Whether that is a lower bound, as a recovery was not seen.
    pub is_lower_bound: bool,
}

/// Availability under given rates of faults.
#[derive(Clone, Debug, PartialEq)]
pub struct WhatIf {
    /// The faults.
    pub parts: Vec<WhatIfPart>,
    /// Seconds per year from a fault until goodput is back; `None` if some fault was not injected.
    pub unavailable_s: Option<f64>,
    /// Its interval at 95 %; `None` if a fault had fewer than five injections.
    pub interval_s: Option<(f64, f64)>,
    /// Seconds of the baseline's goodput that are lost per year.
    pub lost_s: Option<f64>,
}

impl WhatIf {
    /// The share of a year that so many seconds leave.
    pub fn availability(unavailable_s: f64) -> f64 {
        (1.0 - unavailable_s / YEAR_S).max(0.0)
    }

    /// Whether the figures are lower bounds of the time lost.
    pub fn is_lower_bound(&self) -> bool {
        self.parts.iter().any(|part| part.is_lower_bound)
    }
}

/// What `injections` mean where faults come at these rates.
pub fn what_if(injections: &[InjectionOutcome], rates: &[AnnualRate]) -> WhatIf {
    let of = |rate: &AnnualRate| -> Vec<&InjectionOutcome> {
        injections.iter().filter(|one| is_of(&one.fault.sort, &rate.fault)).collect()
    };
    let matched: Vec<Vec<&InjectionOutcome>> = rates.iter().map(of).collect();
    let times = |of: &Vec<&InjectionOutcome>| of.iter().map(|one| one.ttr90).collect();
    let times: Vec<Vec<TimeTo>> = matched.iter().map(times).collect();
    let is_complete = !rates.is_empty() && matched.iter().all(|of| !of.is_empty());
    let parts = rates.iter().zip(&times).map(|(rate, times)| WhatIfPart {
        rate: rate.clone(),
        injections: times.len() as u64,
        mean_s: (!times.is_empty()).then(|| mean_of(times) / 1e9),
        is_lower_bound: times.iter().any(|time| time.is_censored()),
    });
    let sum = |means: &dyn Fn(&[TimeTo]) -> f64| -> f64 {
        rates.iter().zip(&times).map(|(rate, times)| rate.per_year * means(times) / 1e9).sum()
    };
    let lost = |(rate, of): (&AnnualRate, &Vec<&InjectionOutcome>)| {
        rate.per_year * of.iter().map(|one| one.lost_s).sum::<f64>() / of.len() as f64
    };
    let has_interval = is_complete && times.iter().all(|times| times.len() >= FEWEST);
    let interval_s = has_interval.then(|| {
        let drawn = |number| {
            let draws = std::cell::RefCell::new(SEED.draws(STREAM, number));
            sum(&|times| mean_of(&redrawn(times, &mut draws.borrow_mut())))
        };
        bounds(&sorted((0..DRAWS).map(drawn)))
    });
    WhatIf {
        parts: parts.collect(),
        unavailable_s: is_complete.then(|| sum(&mean_of)),
        interval_s,
        lost_s: is_complete.then(|| rates.iter().zip(&matched).map(lost).sum()),
    }
}

/// Whether the words of a sort begin with those of a fault.
fn is_of(sort: &str, fault: &str) -> bool {
    let rest = sort.strip_prefix(fault);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}
