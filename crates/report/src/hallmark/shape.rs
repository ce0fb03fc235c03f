//! The hallmark for programs, as it stands in `hallmark.json`.

use std::collections::BTreeMap;

use assay_analysis::Interval;
use assay_analysis::hallmark::{
    Certified, Changed, Check, CheckVerdict, Figure, Hallmark, LevelChange, Measure,
};

use super::one_line;
use crate::facts::Facts;
use crate::object::{objects, pretty};
use crate::units::percentile_name;

/// The version of the object that [`json()`] prints.
pub const SCHEMA: &str = "assay/hallmark/v2";

/// The hallmark as one indented JSON object with a line end; none if the run was not examined.
pub fn json(facts: &Facts) -> Option<String> {
    Some(pretty(&HallmarkObject::new(facts, facts.hallmark.as_ref()?)))
}

objects! {
/// Whether the figures of a run can be trusted.
#[schemars(title = "Whether a run is valid")]
pub struct HallmarkObject(facts: &Facts, hallmark: &Hallmark) {
    /// The version of this object.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str = SCHEMA,
    /// The whole in one word.
    #[schemars(extend("enum" = ["valid", "valid-with-remarks", "invalid", "not-assessable"]))]
    verdict: &'static str = hallmark.verdict.name(),
    /// The first line of every report.
    line: String = one_line(hallmark).shout(),
    /// The names of the checks that decided the verdict; empty if it is valid.
    reasons: Vec<&'static str> = hallmark.reasons.iter().map(|id| id.name()).collect(),
    /// Every check.
    checks: Vec<CheckObject> = hallmark.checks.iter().map(CheckObject::new).collect(),
    /// The percentiles of hits, of response time and then of service time, rising.
    percentiles: Vec<CertifiedObject> =
        hallmark.percentiles.iter().map(CertifiedObject::new).collect(),
    /// Changes for good within the steady part of the window, by time.
    changes: Vec<ChangeObject> = hallmark.changes.iter().map(ChangeObject::new).collect(),
    /// The period of the strongest oscillation in nanoseconds; null if none counts.
    period_ns: Option<u64> = hallmark.period.map(|period| period.0),
    /// Thresholds that are not what they usually are.
    thresholds_changed: Vec<ChangedObject> =
        hallmark.changed.iter().map(ChangedObject::new).collect(),
    /// The response time of a store that does nothing, in nanoseconds by percentile; empty if that
    /// was not measured.
    noise_floor_ns: BTreeMap<String, u64> =
        facts.floor.iter().map(|(name, ns)| (name.clone(), ns.0)).collect(),
}

/// One check of the hallmark.
struct CheckObject(check: &Check)
where
    let why = match check.verdict {
        CheckVerdict::NotApplicable(why) | CheckVerdict::NotAssessable(why) => Some(why.name()),
        CheckVerdict::Pass | CheckVerdict::Remark | CheckVerdict::Fail => None,
    };
{
    /// Its code.
    id: &'static str = check.id.code(),
    /// Its name.
    name: &'static str = check.id.name(),
    /// What came of it.
    #[schemars(extend("enum" = VERDICTS))]
    verdict: &'static str = verdict(check.verdict),
    /// Why it is not applicable or not assessable; null if it is neither.
    why: Option<&'static str> = why,
    /// The name of the check of whose outcome this one is but a consequence; null if there is none.
    because_of: Option<&'static str> = check.because_of.map(|cause| cause.name()),
    /// What was measured, with the thresholds.
    measures: Vec<MeasureObject> = check.measures.iter().map(MeasureObject::new).collect(),
    /// The statistics that were not observed, so that it is decided without them.
    unobserved: Vec<&'static str> = check.unobserved.iter().map(|one| one.name()).collect(),
    /// Figures that are withdrawn, such as `response.p99`.
    withdraws: Vec<String> = check.withdraws.iter().map(|figure| figure_key(*figure)).collect(),
}

/// One statistic with its thresholds.
struct MeasureObject(measure: &Measure) {
    /// The name of the statistic.
    statistic: &'static str = measure.statistic.name(),
    /// The figure that it is about; null if it is about none.
    figure: Option<String> = measure.figure.map(figure_key),
    /// The unit of `value`, `pass` and `fail`.
    #[schemars(extend("enum" = ["share", "ratio", "count", "seconds"]))]
    unit: &'static str = measure.statistic.unit().name(),
    /// What was measured, in `unit`.
    value: f64,
    /// What follows from this statistic.
    #[schemars(extend("enum" = VERDICTS))]
    verdict: &'static str = verdict(measure.verdict()),
    /// Whether thresholds are upper or lower ones; null if there are no thresholds.
    #[schemars(extend("enum" = ["at-most", "at-least", null]))]
    bound: Option<&'static str> = measure.limits.map(|limits| limits.bound.name()),
    /// The threshold of a pass, in `unit`; null if there are no thresholds.
    pass: Option<f64> = measure.limits.map(|limits| limits.pass),
    /// The threshold of a failure, in `unit`; null if it cannot fail.
    fail: Option<f64> = measure.limits.and_then(|limits| limits.fail),
}

/// A percentile with what speaks for it and against it.
struct CertifiedObject(one: &Certified)
where
    let (ends, further_seconds) = match one.interval {
        Interval::Known { low, high, dependence } => (Some((low, high, dependence)), None),
        Interval::TooFew { further_seconds, .. } => (None, Some(further_seconds)),
        Interval::Undefined => (None, None),
    };
{
    /// Its name, such as `response.p99`.
    figure: String = figure_key(Figure::Percentile(one.time, one.quantile)),
    /// The quantile, 0.99 for p99.
    quantile: f64,
    /// The percentile in nanoseconds.
    value_ns: u64 = one.value.0,
    /// The lower end of its 95 % interval in nanoseconds; null if there is no interval.
    low_ns: Option<u64> = ends.map(|(low, _, _)| low.0),
    /// The upper end of its 95 % interval in nanoseconds; null if there is no interval.
    high_ns: Option<u64> = ends.map(|(_, high, _)| high.0),
    /// The number of successive operations that tell as much as one independent one; null if there
    /// is no interval.
    dependence: Option<f64> = ends.map(|(_, _, dependence)| dependence),
    /// How many seconds longer the run would have to be for an interval; null if there is one, or
    /// can be none.
    further_seconds: Option<f64> = further_seconds,
    /// The number of independent values beyond it; null if it is not known.
    beyond: Option<f64>,
    /// The same percentile without the operations that a hiccup held, in nanoseconds; null if it is
    /// not known.
    without_hiccups_ns: Option<u64> = one.without_hiccups.map(|value| value.0),
    /// The names of the checks that withdraw it.
    withdrawn_by: Vec<&'static str> = one.withdrawn_by.iter().map(|id| id.name()).collect(),
}

/// A change for good within the steady part of the window.
struct ChangeObject(change: &LevelChange) {
    /// When, in nanoseconds on the run's time axis.
    at_ns: u64 = change.at.0,
    /// The figure that changed.
    figure: String = figure_key(change.figure),
    /// The mean level before, in operations per second or in nanoseconds, as the figure is.
    before: f64,
    /// The mean level after, in the same unit.
    after: f64,
    /// Whether an event was near.
    is_explained: bool,
}

/// A threshold that is not what it usually is.
struct ChangedObject(one: &Changed) {
    /// Its name.
    name: &'static str,
    /// Its value.
    value: f64,
    /// Its usual value.
    usual: f64,
}
}

const VERDICTS: [&str; 5] = ["pass", "remark", "fail", "not-applicable", "not-assessable"];

const fn verdict(verdict: CheckVerdict) -> &'static str {
    VERDICTS[match verdict {
        CheckVerdict::Pass => 0,
        CheckVerdict::Remark => 1,
        CheckVerdict::Fail => 2,
        CheckVerdict::NotApplicable(_) => 3,
        CheckVerdict::NotAssessable(_) => 4,
    }]
}

/// `all`, `throughput`, `response`, `response.p99`.
fn figure_key(figure: Figure) -> String {
    match figure {
        Figure::All => "all".to_owned(),
        Figure::Throughput => "throughput".to_owned(),
        Figure::Latency(time) => time.name().to_owned(),
        Figure::Percentile(time, quantile) => {
            format!("{}.{}", time.name(), percentile_name(quantile))
        }
    }
}
