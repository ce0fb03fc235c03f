//! States and recoveries as one JSON object.

use assay_analysis::Window;
use assay_analysis::recovery::{
    BaselinePart, InjectionOutcome, Pooled, PooledFaults, ServiceState, Shortfalls, Spread, TimeTo,
    WhatIf,
};
use serde_json::{Map, Value, json};

use super::AvailabilityFacts;

/// The object, for one that holds it among others.
pub(crate) fn object(facts: &AvailabilityFacts) -> Value {
    let recovery = &facts.recovery;
    let (baseline, states) = (&recovery.baseline, &recovery.states);
    let share = |state: ServiceState| (state.name().to_owned(), json!(states.share(state)));
    let shares: Map<String, Value> = ServiceState::USED.into_iter().map(share).collect();
    let stretch = |(window, state): (Window, ServiceState)| {
        let (from, until) = (window.from.0, window.until.0);
        let reasons = reasons(states.shortfalls_in(window));
        json!({ "from_ns": from, "until_ns": until, "state": state.name(), "reasons": reasons })
    };
    let stretches: Vec<Value> = states.stretches().into_iter().map(stretch).collect();
    json!({
        "baseline": {
            "part": part(baseline.part),
            "from_ns": baseline.window.from.0,
            "until_ns": baseline.window.until.0,
            "in_time_per_s": baseline.in_time_per_s,
            "in_time_per_s_interval": baseline.interval.map(|(low, high)| [low, high]),
            "in_time_share": baseline.in_time_share,
            "done_per_s": baseline.done_per_s,
            "p99_ns": baseline.p99.0,
        },
        "states": { "width_ns": states.width.0, "shares": shares, "stretches": stretches },
        "injections": recovery.injections.iter().map(injection).collect::<Vec<_>>(),
        "pooled": recovery.pooled.iter().map(pooled).collect::<Vec<_>>(),
        "what_if": facts.what_if.as_ref().map(what_if),
        "consistability": consistability(facts),
    })
}

/// Why a stretch is not up.
fn reasons(shortfalls: Shortfalls) -> Vec<&'static str> {
    let all = [
        ("goodput", shortfalls.goodput),
        ("errors", shortfalls.errors),
        ("p99", shortfalls.latency),
    ];
    all.into_iter().filter(|(_, is_so)| *is_so).map(|(name, _)| name).collect()
}

const fn part(part: BaselinePart) -> &'static str {
    match part {
        BaselinePart::Whole => "whole",
        BaselinePart::BeforeFaults => "before-faults",
        BaselinePart::AfterFaults => "after-faults",
        BaselinePart::WithFaults => "with-faults",
    }
}

fn injection(one: &InjectionOutcome) -> Value {
    let fault = &one.fault;
    json!({
        "fault": fault.what,
        "sort": fault.sort,
        "at_ns": fault.at.0,
        "applied_at_ns": fault.applied.map(|at| at.0),
        "mending_at_ns": fault.mending.map(|at| at.0),
        "mended_at_ns": fault.mended.map(|at| at.0),
        "observed_until_ns": one.until.0,
        "first_error_ns": one.first_error.map(|time| time.0),
        "detection_ns": one.detection.map(|time| time.0),
        "first_success": one.first_success.map(time_to),
        "ttr90": time_to(one.ttr90),
        "ttr90_after_mending_ns": one.after_mending.map(|time| time.0),
        "p99_back": time_to(one.tail),
        "lost_operations": one.lost,
        "lost_s": one.lost_s,
        "lost_writes": one.lost_writes,
        "burst_ratio": one.burst,
        "resolution_ns": one.resolution.0,
    })
}

fn time_to(time: TimeTo) -> Value {
    json!({ "ns": time.observed().0, "is_censored": time.is_censored() })
}

fn pooled(sort: &PooledFaults) -> Value {
    let spread = |all: Spread| json!({ "median": all.median, "mean": all.mean, "max": all.max });
    json!({
        "sort": sort.sort,
        "injections": sort.injections,
        "ttr90": times(&sort.ttr90),
        "p99_back": times(&sort.tail),
        "detection_s": sort.detection.map(spread),
        "lost_s": spread(sort.lost_s),
    })
}

fn times(all: &Pooled) -> Value {
    json!({
        "censored": all.censored,
        "median_ns": all.median.map(|time| time.0),
        "mean_ns": all.mean.0,
        "mean_interval_ns": all.interval.map(|(low, high)| [low.0, high.0]),
        "is_lower_bound": all.is_lower_bound,
        "max": time_to(all.max),
    })
}

fn what_if(what_if: &WhatIf) -> Value {
    let parts = what_if.parts.iter().map(|part| {
        json!({
            "fault": part.rate.fault,
            "per_year": part.rate.per_year,
            "injections": part.injections,
            "mean_s": part.mean_s,
            "is_lower_bound": part.is_lower_bound,
        })
    });
    json!({
        "faults": parts.collect::<Vec<_>>(),
        "unavailable_s_per_year": what_if.unavailable_s,
        "unavailable_s_per_year_interval": what_if.interval_s.map(|(low, high)| [low, high]),
        "lost_s_per_year": what_if.lost_s,
        "availability": what_if.unavailable_s.map(WhatIf::availability),
        "is_lower_bound": what_if.is_lower_bound(),
    })
}

fn consistability(facts: &AvailabilityFacts) -> Value {
    let Some((classes, table)) = &facts.consistability else { return Value::Null };
    let shares =
        |[up, degraded, down]: [f64; 3]| json!({ "up": up, "degraded": degraded, "down": down });
    let rows = classes.iter().zip(table.violated.iter().zip(&table.counts));
    let row = |(class, (violated, counts)): (&super::ViolationClass, (&[f64; 3], &[u64; 3]))| {
        json!({
            "class": class.name,
            "time_shares": shares(*violated),
            "violations": counts.iter().sum::<u64>(),
            "is_lower_bound": class.is_lower_bound,
        })
    };
    json!({ "no_violation": shares(table.clean), "violated": rows.map(row).collect::<Vec<_>>() })
}
