//! States and recoveries as one JSON object.
//!
//! Names are in alphabetical order.

use assay_analysis::Window;
use assay_analysis::recovery::{
    BaselinePart, GoodputBaseline, InjectionOutcome, Pooled, PooledFaults, ServiceState,
    Shortfalls, Spread, StateSeries, TimeTo, WhatIf, WhatIfPart,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::AvailabilityFacts;

/// States over time and recoveries from faults.
#[derive(JsonSchema, Serialize)]
pub struct RecoveryObject {
    /// What states and injections are held against.
    baseline: BaselineObject,
    /// How much of the time there were violations, by state; null if consistency was not judged.
    consistability: Option<ConsistabilityObject>,
    /// Each injection of a fault, by time.
    injections: Vec<InjectionObject>,
    /// The same, faults of one sort together.
    pooled: Vec<PooledObject>,
    /// The states over time.
    states: StatesObject,
    /// What the recoveries mean under given rates of faults; null if none are given.
    what_if: Option<WhatIfObject>,
}

impl RecoveryObject {
    /// The object, for one that holds it among others.
    pub fn new(facts: &AvailabilityFacts) -> RecoveryObject {
        let recovery = &facts.recovery;
        RecoveryObject {
            baseline: BaselineObject::new(&recovery.baseline),
            consistability: ConsistabilityObject::new(facts),
            injections: recovery.injections.iter().map(InjectionObject::new).collect(),
            pooled: recovery.pooled.iter().map(PooledObject::new).collect(),
            states: StatesObject::new(&recovery.states),
            what_if: facts.what_if.as_ref().map(WhatIfObject::new),
        }
    }
}

/// The service in the median interval without faults.
#[derive(JsonSchema, Serialize)]
struct BaselineObject {
    /// Operations done per second.
    done_per_s: f64,
    /// Where its part of the run begins, in nanoseconds on the run's time axis.
    from_ns: u64,
    /// Operations answered in time per second.
    in_time_per_s: f64,
    /// The ends of the 95 % interval of `in_time_per_s`; null of fewer than six intervals.
    in_time_per_s_interval: Option<[f64; 2]>,
    /// The share of the operations offered that is answered in time.
    in_time_share: f64,
    /// The 99th percentile of the response times in nanoseconds.
    p99_ns: u64,
    /// The part of the run that it is of.
    #[schemars(extend("enum" = ["whole", "before-faults", "after-faults", "with-faults"]))]
    part: &'static str,
    /// Where its part of the run ends, in nanoseconds on the run's time axis.
    until_ns: u64,
}

impl BaselineObject {
    fn new(baseline: &GoodputBaseline) -> BaselineObject {
        BaselineObject {
            done_per_s: baseline.done_per_s,
            from_ns: baseline.window.from.0,
            in_time_per_s: baseline.in_time_per_s,
            in_time_per_s_interval: baseline.interval.map(|(low, high)| [low, high]),
            in_time_share: baseline.in_time_share,
            p99_ns: baseline.p99.0,
            part: match baseline.part {
                BaselinePart::Whole => "whole",
                BaselinePart::BeforeFaults => "before-faults",
                BaselinePart::AfterFaults => "after-faults",
                BaselinePart::WithFaults => "with-faults",
            },
            until_ns: baseline.window.until.0,
        }
    }
}

/// The states over time.
#[derive(JsonSchema, Serialize)]
struct StatesObject {
    /// The share of each state in the intervals in use.
    shares: StateShares,
    /// Stretches of one state, by time.
    stretches: Vec<StretchObject>,
    /// The length of an interval in nanoseconds.
    width_ns: u64,
}

/// A share of the time in use for each state of the service.
#[derive(JsonSchema, Serialize)]
struct StateShares {
    /// The share of the time in which it is worse than without faults.
    degraded: f64,
    /// The share of the time in which it hardly works.
    down: f64,
    /// The share of the time in which it is as without faults.
    up: f64,
}

impl StateShares {
    /// From shares in the order of [`ServiceState::USED`].
    fn new([up, degraded, down]: [f64; 3]) -> StateShares {
        StateShares { degraded, down, up }
    }
}

/// A stretch of one state.
#[derive(JsonSchema, Serialize)]
struct StretchObject {
    /// Where it begins, in nanoseconds on the run's time axis.
    from_ns: u64,
    /// Why it is not up: what falls short in one of its intervals.
    reasons: Vec<ShortfallName>,
    /// The state; `idle` if nothing was offered.
    #[schemars(extend("enum" = ["up", "degraded", "down", "idle"]))]
    state: &'static str,
    /// Where it ends, in nanoseconds on the run's time axis.
    until_ns: u64,
}

impl StatesObject {
    fn new(states: &StateSeries) -> StatesObject {
        let stretch = |(window, state): (Window, ServiceState)| StretchObject {
            from_ns: window.from.0,
            reasons: reasons(states.shortfalls_in(window)),
            state: state.name(),
            until_ns: window.until.0,
        };
        StatesObject {
            shares: StateShares::new(ServiceState::USED.map(|state| states.share(state))),
            stretches: states.stretches().into_iter().map(stretch).collect(),
            width_ns: states.width.0,
        }
    }
}

/// What falls short in an interval.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
enum ShortfallName {
    /// The goodput is below 90 % of what is expected.
    Goodput,
    /// Over 1 % of the operations failed.
    Errors,
    /// The 99th percentile is over three times that of the baseline.
    P99,
}

fn reasons(shortfalls: Shortfalls) -> Vec<ShortfallName> {
    let Shortfalls { goodput, errors, latency } = shortfalls;
    let all = [
        goodput.then_some(ShortfallName::Goodput),
        errors.then_some(ShortfallName::Errors),
        latency.then_some(ShortfallName::P99),
    ];
    all.into_iter().flatten().collect()
}

/// One injection of a fault with the recovery from it; durations are since the fault.
#[derive(JsonSchema, Serialize)]
struct InjectionObject {
    /// When the fault had been injected, in nanoseconds on the run's time axis; null if that is
    /// not known.
    applied_at_ns: Option<u64>,
    /// When the fault began, in nanoseconds on the run's time axis.
    at_ns: u64,
    /// The most operations done in an interval after the fall, over those of the baseline; null if
    /// goodput did not fall.
    burst_ratio: Option<f64>,
    /// Nanoseconds until a client knew: the first operation was refused, dropped or given up; null
    /// if all were answered.
    detection_ns: Option<u64>,
    /// What was done.
    fault: String,
    /// Nanoseconds to the intended time of the first operation that was not answered; null if all
    /// were answered.
    first_error_ns: Option<u64>,
    /// The time to the first operation after that error that was answered in time; null without
    /// errors.
    first_success: Option<TimeToObject>,
    /// The number of operations that were expected to be answered in time and were not.
    lost_operations: f64,
    /// The same in seconds of the baseline's goodput.
    lost_s: f64,
    /// The number of acknowledged writes of its time that final reads did not find; null without
    /// them.
    lost_writes: Option<u64>,
    /// When the fault was mended, in nanoseconds on the run's time axis; null if it was not.
    mended_at_ns: Option<u64>,
    /// When mending began, in nanoseconds on the run's time axis; null if it did not.
    mending_at_ns: Option<u64>,
    /// Where the next injection begins, or the run ends, in nanoseconds on the run's time axis.
    observed_until_ns: u64,
    /// The time until the 99th percentile is back.
    p99_back: TimeToObject,
    /// The resolution of times in nanoseconds.
    resolution_ns: u64,
    /// The sort of the fault.
    sort: String,
    /// The time until 90 % of the goodput are back for good.
    ttr90: TimeToObject,
    /// The same in nanoseconds from where mending began; null if it did not, or if goodput was
    /// back before.
    ttr90_after_mending_ns: Option<u64>,
}

impl InjectionObject {
    fn new(one: &InjectionOutcome) -> InjectionObject {
        let fault = &one.fault;
        InjectionObject {
            applied_at_ns: fault.applied.map(|at| at.0),
            at_ns: fault.at.0,
            burst_ratio: one.burst,
            detection_ns: one.detection.map(|time| time.0),
            fault: fault.what.clone(),
            first_error_ns: one.first_error.map(|time| time.0),
            first_success: one.first_success.map(TimeToObject::new),
            lost_operations: one.lost,
            lost_s: one.lost_s,
            lost_writes: one.lost_writes,
            mended_at_ns: fault.mended.map(|at| at.0),
            mending_at_ns: fault.mending.map(|at| at.0),
            observed_until_ns: one.until.0,
            p99_back: TimeToObject::new(one.tail),
            resolution_ns: one.resolution.0,
            sort: fault.sort.clone(),
            ttr90: TimeToObject::new(one.ttr90),
            ttr90_after_mending_ns: one.after_mending.map(|time| time.0),
        }
    }
}

/// A time to recovery.
#[derive(JsonSchema, Serialize)]
struct TimeToObject {
    /// Whether it is longer than what was observed.
    is_censored: bool,
    /// The time in nanoseconds, or as much of it as was observed if it is censored.
    ns: u64,
}

impl TimeToObject {
    fn new(time: TimeTo) -> TimeToObject {
        TimeToObject { is_censored: time.is_censored(), ns: time.observed().0 }
    }
}

/// The injections of one sort of fault together.
#[derive(JsonSchema, Serialize)]
struct PooledObject {
    /// Seconds until a client knew, of the injections with an error; null if there is none.
    detection_s: Option<SecondsObject>,
    /// The number of injections.
    injections: u64,
    /// Seconds of the baseline's goodput that were lost.
    lost_s: SecondsObject,
    /// Times until the 99th percentile is back.
    p99_back: TimesObject,
    /// The sort of the fault.
    sort: String,
    /// Times until 90 % of the goodput are back for good.
    ttr90: TimesObject,
}

/// The spread of seconds.
#[derive(JsonSchema, Serialize)]
struct SecondsObject {
    /// The most, in seconds.
    max: f64,
    /// The mean, in seconds.
    mean: f64,
    /// The median, in seconds.
    median: f64,
}

/// Times to recovery of several injections.
#[derive(JsonSchema, Serialize)]
struct TimesObject {
    /// The number of times that are longer than what was observed.
    censored: u64,
    /// Whether the mean is a lower bound, as the longest time is censored.
    is_lower_bound: bool,
    /// The longest observed.
    max: TimeToObject,
    /// The ends of the 95 % interval of the mean in nanoseconds; null of fewer than five
    /// injections.
    mean_interval_ns: Option<[u64; 2]>,
    /// The mean in nanoseconds, restricted to what was observed.
    mean_ns: u64,
    /// The median in nanoseconds; null if it is longer than all that was observed.
    median_ns: Option<u64>,
}

impl PooledObject {
    fn new(sort: &PooledFaults) -> PooledObject {
        let seconds = |spread: Spread| SecondsObject {
            max: spread.max,
            mean: spread.mean,
            median: spread.median,
        };
        PooledObject {
            detection_s: sort.detection.map(seconds),
            injections: sort.injections,
            lost_s: seconds(sort.lost_s),
            p99_back: TimesObject::new(&sort.tail),
            sort: sort.sort.clone(),
            ttr90: TimesObject::new(&sort.ttr90),
        }
    }
}

impl TimesObject {
    fn new(all: &Pooled) -> TimesObject {
        TimesObject {
            censored: all.censored,
            is_lower_bound: all.is_lower_bound,
            max: TimeToObject::new(all.max),
            mean_interval_ns: all.interval.map(|(low, high)| [low.0, high.0]),
            mean_ns: all.mean.0,
            median_ns: all.median.map(|time| time.0),
        }
    }
}

/// A year under given rates of faults.
#[derive(JsonSchema, Serialize)]
struct WhatIfObject {
    /// The share of the year in which goodput is there; null if some fault was not injected.
    availability: Option<f64>,
    /// The faults with their rates.
    faults: Vec<RatedFaultObject>,
    /// Whether the figures are lower bounds of the time lost.
    is_lower_bound: bool,
    /// Seconds of the baseline's goodput that are lost per year; null if some fault was not
    /// injected.
    lost_s_per_year: Option<f64>,
    /// Seconds per year from a fault until goodput is back; null if some fault was not injected.
    unavailable_s_per_year: Option<f64>,
    /// The ends of its 95 % interval; null if a fault had fewer than five injections.
    unavailable_s_per_year_interval: Option<[f64; 2]>,
}

/// A fault with its rate.
#[derive(JsonSchema, Serialize)]
struct RatedFaultObject {
    /// The fault.
    fault: String,
    /// The number of its injections in the run.
    injections: u64,
    /// Whether the mean is a lower bound, as a recovery was not seen.
    is_lower_bound: bool,
    /// The mean time to recovery in seconds; null if it was not injected.
    mean_s: Option<f64>,
    /// How often it happens per year.
    per_year: f64,
}

impl WhatIfObject {
    fn new(what_if: &WhatIf) -> WhatIfObject {
        let fault = |part: &WhatIfPart| RatedFaultObject {
            fault: part.rate.fault.clone(),
            injections: part.injections,
            is_lower_bound: part.is_lower_bound,
            mean_s: part.mean_s,
            per_year: part.rate.per_year,
        };
        WhatIfObject {
            availability: what_if.unavailable_s.map(WhatIf::availability),
            faults: what_if.parts.iter().map(fault).collect(),
            is_lower_bound: what_if.is_lower_bound(),
            lost_s_per_year: what_if.lost_s,
            unavailable_s_per_year: what_if.unavailable_s,
            unavailable_s_per_year_interval: what_if.interval_s.map(|(low, high)| [low, high]),
        }
    }
}

/// How much of the time there were violations, by state.
#[derive(JsonSchema, Serialize)]
struct ConsistabilityObject {
    /// The shares of the time in use without any violation.
    no_violation: StateShares,
    /// The shares with violations by their class; they overlap.
    violated: Vec<ViolatedObject>,
}

/// Violations of one class.
#[derive(JsonSchema, Serialize)]
struct ViolatedObject {
    /// What they are called.
    class: &'static str,
    /// Whether there may have been more.
    is_lower_bound: bool,
    /// The shares of the time in use with at least one of them.
    time_shares: StateShares,
    /// The number of violations.
    violations: u64,
}

impl ConsistabilityObject {
    fn new(facts: &AvailabilityFacts) -> Option<ConsistabilityObject> {
        let (classes, table) = facts.consistability.as_ref()?;
        let rows = classes.iter().zip(table.violated.iter().zip(&table.counts));
        let violated = rows.map(|(class, (shares, counts))| ViolatedObject {
            class: class.name,
            is_lower_bound: class.is_lower_bound,
            time_shares: StateShares::new(*shares),
            violations: counts.iter().sum(),
        });
        let violated = violated.collect();
        Some(ConsistabilityObject { no_violation: StateShares::new(table.clean), violated })
    }
}
