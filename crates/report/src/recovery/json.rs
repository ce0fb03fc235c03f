//! States and recoveries as one JSON object.
//!
//! Names are in alphabetical order.

use assay_analysis::Window;
use assay_analysis::recovery::{
    Consistability, GoodputBaseline, InjectionOutcome, Pooled, PooledFaults, ServiceState,
    Shortfalls, Spread, StateSeries, TimeTo, WhatIf, WhatIfPart,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::AvailabilityFacts;
use crate::consistency::ViolationClass;
use crate::object::objects;

objects! {
/// States over time and recoveries from faults.
pub struct RecoveryObject(facts: &AvailabilityFacts)
where
    let recovery = &facts.recovery;
    let consistability = facts.consistability.as_ref();
{
    /// What states and injections are held against.
    baseline: BaselineObject = BaselineObject::new(&recovery.baseline),
    /// How much of the time there were violations, by state; null if consistency was not judged.
    consistability: Option<ConsistabilityObject> =
        consistability.map(|(classes, table)| ConsistabilityObject::new(classes, table)),
    /// Each injection of a fault, by time.
    injections: Vec<InjectionObject> =
        recovery.injections.iter().map(InjectionObject::new).collect(),
    /// The same, faults of one sort together.
    pooled: Vec<PooledObject> = recovery.pooled.iter().map(PooledObject::new).collect(),
    /// The states over time.
    states: StatesObject = StatesObject::new(&recovery.states),
    /// What the recoveries mean under given rates of faults; null if none are given.
    what_if: Option<WhatIfObject> = facts.what_if.as_ref().map(WhatIfObject::new),
}

/// The service in the median interval without faults.
struct BaselineObject(baseline: &GoodputBaseline) {
    /// Operations done per second.
    done_per_s: f64,
    /// Where its part of the run begins, in nanoseconds on the run's time axis.
    from_ns: u64 = baseline.window.from.0,
    /// Operations answered in time per second.
    in_time_per_s: f64,
    /// The ends of the 95 % interval of `in_time_per_s`; null of fewer than six intervals.
    in_time_per_s_interval: Option<[f64; 2]> = baseline.interval.map(|(low, high)| [low, high]),
    /// The share of the operations offered that is answered in time.
    in_time_share: f64,
    /// The 99th percentile of the response times in nanoseconds.
    p99_ns: u64 = baseline.p99.0,
    /// The part of the run that it is of.
    #[schemars(extend("enum" = ["whole", "before-faults", "after-faults", "with-faults"]))]
    part: &'static str = baseline.part.name(),
    /// Where its part of the run ends, in nanoseconds on the run's time axis.
    until_ns: u64 = baseline.window.until.0,
}

/// The states over time.
struct StatesObject(states: &StateSeries)
where
    let stretch = |(window, state)| StretchObject::new(states, window, state);
{
    /// The share of each state in the intervals in use.
    shares: StateShares = StateShares::new(ServiceState::USED.map(|state| states.share(state))),
    /// Stretches of one state, by time.
    stretches: Vec<StretchObject> = states.stretches().into_iter().map(stretch).collect(),
    /// The length of an interval in nanoseconds.
    width_ns: u64 = states.width.0,
}

/// A share of the time in use for each state of the service.
// The shares are in the order of `ServiceState::USED`.
struct StateShares(shares: [f64; 3])
where
    let [up, degraded, down] = shares;
{
    /// The share of the time in which it is worse than without faults.
    degraded: f64 = degraded,
    /// The share of the time in which it hardly works.
    down: f64 = down,
    /// The share of the time in which it is as without faults.
    up: f64 = up,
}

/// A stretch of one state.
struct StretchObject(states: &StateSeries, window: Window, state: ServiceState) {
    /// Where it begins, in nanoseconds on the run's time axis.
    from_ns: u64 = window.from.0,
    /// Why it is not up: what falls short in one of its intervals.
    reasons: Vec<ShortfallName> = reasons(states.shortfalls_in(window)),
    /// The state; `idle` if nothing was offered.
    #[schemars(extend("enum" = ["up", "degraded", "down", "idle"]))]
    state: &'static str = state.name(),
    /// Where it ends, in nanoseconds on the run's time axis.
    until_ns: u64 = window.until.0,
}

/// One injection of a fault with the recovery from it; durations are since the fault.
struct InjectionObject(one: &InjectionOutcome)
where
    let fault = &one.fault;
{
    /// When the fault had been injected, in nanoseconds on the run's time axis; null if that is
    /// not known.
    applied_at_ns: Option<u64> = fault.applied.map(|at| at.0),
    /// When the fault began, in nanoseconds on the run's time axis.
    at_ns: u64 = fault.at.0,
    /// The most operations done in an interval after the fall, over those of the baseline; null if
    /// goodput did not fall.
    burst_ratio: Option<f64> = one.burst,
    /// Nanoseconds until a client knew: the first operation was refused, dropped or given up; null
    /// if all were answered.
    detection_ns: Option<u64> = one.detection.map(|time| time.0),
    /// What was done.
    fault: String = fault.what.clone(),
    /// Nanoseconds to the intended time of the first operation that was not answered; null if all
    /// were answered.
    first_error_ns: Option<u64> = one.first_error.map(|time| time.0),
    /// The time to the first operation after that error that was answered in time; null without
    /// errors.
    first_success: Option<TimeToObject> = one.first_success.map(TimeToObject::new),
    /// The number of operations that were expected to be answered in time and were not.
    lost_operations: f64 = one.lost,
    /// The same in seconds of the baseline's goodput.
    lost_s: f64,
    /// The number of acknowledged writes of its time that final reads did not find; null without
    /// them.
    lost_writes: Option<u64>,
    /// When the fault was mended, in nanoseconds on the run's time axis; null if it was not.
    mended_at_ns: Option<u64> = fault.mended.map(|at| at.0),
    /// When mending began, in nanoseconds on the run's time axis; null if it did not.
    mending_at_ns: Option<u64> = fault.mending.map(|at| at.0),
    /// Where the next injection begins, or the run ends, in nanoseconds on the run's time axis.
    observed_until_ns: u64 = one.until.0,
    /// The time until the 99th percentile is back.
    p99_back: TimeToObject = TimeToObject::new(one.tail),
    /// The resolution of times in nanoseconds.
    resolution_ns: u64 = one.resolution.0,
    /// The sort of the fault.
    sort: String = fault.sort.clone(),
    /// The time until 90 % of the goodput are back for good.
    ttr90: TimeToObject = TimeToObject::new(one.ttr90),
    /// The same in nanoseconds from where mending began; null if it did not, or if goodput was
    /// back before.
    ttr90_after_mending_ns: Option<u64> = one.after_mending.map(|time| time.0),
}

/// A time to recovery.
struct TimeToObject(time: TimeTo) {
    /// Whether it is longer than what was observed.
    is_censored: bool = time.is_censored(),
    /// The time in nanoseconds, or as much of it as was observed if it is censored.
    ns: u64 = time.observed().0,
}

/// The injections of one sort of fault together.
struct PooledObject(sort: &PooledFaults) {
    /// Seconds until a client knew, of the injections with an error; null if there is none.
    detection_s: Option<SecondsObject> = sort.detection.map(SecondsObject::new),
    /// The number of injections.
    injections: u64,
    /// Seconds of the baseline's goodput that were lost.
    lost_s: SecondsObject = SecondsObject::new(sort.lost_s),
    /// Times until the 99th percentile is back.
    p99_back: TimesObject = TimesObject::new(&sort.tail),
    /// The sort of the fault.
    sort: String,
    /// Times until 90 % of the goodput are back for good.
    ttr90: TimesObject = TimesObject::new(&sort.ttr90),
}

/// The spread of seconds.
struct SecondsObject(spread: Spread) {
    /// The most, in seconds.
    max: f64,
    /// The mean, in seconds.
    mean: f64,
    /// The median, in seconds.
    median: f64,
}

/// Times to recovery of several injections.
struct TimesObject(all: &Pooled) {
    /// The number of times that are longer than what was observed.
    censored: u64,
    /// Whether the mean is a lower bound, as the longest time is censored.
    is_lower_bound: bool,
    /// The longest observed.
    max: TimeToObject = TimeToObject::new(all.max),
    /// The ends of the 95 % interval of the mean in nanoseconds; null of fewer than five
    /// injections.
    mean_interval_ns: Option<[u64; 2]> = all.interval.map(|(low, high)| [low.0, high.0]),
    /// The mean in nanoseconds, restricted to what was observed.
    mean_ns: u64 = all.mean.0,
    /// The median in nanoseconds; null if it is longer than all that was observed.
    median_ns: Option<u64> = all.median.map(|time| time.0),
}

/// A year under given rates of faults.
struct WhatIfObject(what_if: &WhatIf) {
    /// The share of the year in which goodput is there; null if some fault was not injected.
    availability: Option<f64> = what_if.unavailable_s.map(WhatIf::availability),
    /// The faults with their rates.
    faults: Vec<RatedFaultObject> = what_if.parts.iter().map(RatedFaultObject::new).collect(),
    /// Whether the figures are lower bounds of the time lost.
    is_lower_bound: bool = what_if.is_lower_bound(),
    /// Seconds of the baseline's goodput that are lost per year; null if some fault was not
    /// injected.
    lost_s_per_year: Option<f64> = what_if.lost_s,
    /// Seconds per year from a fault until goodput is back; null if some fault was not injected.
    unavailable_s_per_year: Option<f64> = what_if.unavailable_s,
    /// The ends of its 95 % interval; null if a fault had fewer than five injections.
    unavailable_s_per_year_interval: Option<[f64; 2]> =
        what_if.interval_s.map(|(low, high)| [low, high]),
}

/// A fault with its rate.
struct RatedFaultObject(part: &WhatIfPart) {
    /// The fault.
    fault: String = part.rate.fault.clone(),
    /// The number of its injections in the run.
    injections: u64,
    /// Whether the mean is a lower bound, as a recovery was not seen.
    is_lower_bound: bool,
    /// The mean time to recovery in seconds; null if it was not injected.
    mean_s: Option<f64>,
    /// How often it happens per year.
    per_year: f64 = part.rate.per_year,
}

/// How much of the time there were violations, by state.
struct ConsistabilityObject(classes: &[ViolationClass], table: &Consistability)
where
    let rows = classes.iter().zip(table.violated.iter().zip(&table.counts));
    let of_class = |(class, (shares, counts))| ViolatedObject::new(class, shares, counts);
{
    /// The shares of the time in use without any violation.
    no_violation: StateShares = StateShares::new(table.clean),
    /// The shares with violations by their class; they overlap.
    violated: Vec<ViolatedObject> = rows.map(of_class).collect(),
}

/// Violations of one class.
struct ViolatedObject(class: &ViolationClass, shares: &[f64; 3], counts: &[u64; 3]) {
    /// What they are called.
    class: &'static str = class.name,
    /// Whether there may have been more.
    is_lower_bound: bool,
    /// The shares of the time in use with at least one of them.
    time_shares: StateShares = StateShares::new(*shares),
    /// The number of violations.
    violations: u64 = counts.iter().sum(),
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
