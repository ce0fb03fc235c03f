//! Recovery from injected faults: states over time, and what each injection cost.
//!
//! Everything is by intended time: in an open loop an operation counts where it was meant to be
//! sent, so an outage is seen in full. *Goodput* is the number of operations that are answered
//! within the deadline. What is expected of a stretch of time is, in an open loop, the arrivals in
//! it times the share that is answered in time without faults, so that neither a rate that changes
//! nor chance in the arrivals looks like a fault; in a closed loop, whose sessions stop issuing
//! while they wait, it is the goodput per second without faults.
//!
//! * **States** per interval of the series: *down* below a tenth of the expected goodput; *up* from
//!   nine tenths on if at most 1 % of the operations failed and the 99th percentile is at most
//!   three times that of the baseline; *degraded* else.
//! * **TTR90** of an injection: from its beginning to where goodput is back at nine tenths of what
//!   is expected and stays there for 5 s. If the run ends before, or the next injection begins, it
//!   is *censored*: known to be longer. Zero if goodput never fell below that, in at least 5 s.
//! * **Recovery of the 99th percentile**: to where it is within 1.5 times the baseline, and is so
//!   in all but a fifth of the intervals of the next 5 s.
//! * **Area lost**: expected minus actual goodput from the first fall to the recovery and in later
//!   falls, in operations, and in seconds of the baseline's goodput.
//! * **Catch-up burst**: the most operations done in one interval after the fall, by the time of
//!   their answers, over those of the baseline.
//!
//! Faults are those of the events; an injection lasts until the next one begins.

mod baseline;
mod consistability;
mod faults;
mod injection;
mod lost_writes;
mod pooled;
mod states;
mod what_if;

pub use baseline::{BaselinePart, GoodputBaseline};
pub use consistability::{Consistability, consistability};
pub use faults::{FaultSpan, faults};
pub use injection::{InjectionOutcome, TimeTo};
pub use lost_writes::attribute_lost_writes;
pub use pooled::{Pooled, PooledFaults, Spread};
pub use states::{LEAST_GOODPUT, MOST_ERRORS, MOST_LATENCY, ServiceState, Shortfalls, StateSeries};
pub use what_if::{AnnualRate, WhatIf, WhatIfPart, what_if};

use crate::options::Window;
use crate::summary::Summary;

/// The states of a run over time, with its recoveries from faults.
#[derive(Clone, Debug, PartialEq)]
pub struct Recovery {
    /// What states and injections are held against.
    pub baseline: GoodputBaseline,
    /// The states over time.
    pub states: StateSeries,
    /// Each injection, in order of time.
    pub injections: Vec<InjectionOutcome>,
    /// The same, faults of one sort together, in order of their first.
    pub pooled: Vec<PooledFaults>,
}

/// The recoveries of the run that `time_course` tells, all phases of it perhaps, from `faults` in
/// order of time, as far as they lie in `window`; earlier ones count for the baseline alone.
/// Nothing if too little of the run is there.
pub fn recovery(time_course: &Summary, window: Window, faults: &[FaultSpan]) -> Option<Recovery> {
    let within: Vec<FaultSpan> =
        faults.iter().filter(|fault| window.contains(fault.at)).cloned().collect();
    let baseline = baseline::baseline(time_course, window, faults)?;
    let states = states::states(&time_course.series, window, &baseline);
    let injections = injection::outcomes(time_course, window, &baseline, within);
    let pooled = pooled::pooled(&injections);
    Some(Recovery { baseline, states, injections, pooled })
}

#[cfg(test)]
mod tests;
