//! The hallmark for programs, as it stands in `hallmark.json`.

use std::collections::BTreeMap;

use assay_analysis::Interval;
use assay_analysis::hallmark::{
    Bound, Certified, Check, CheckVerdict, Figure, Hallmark, LevelChange, Limits, Measure, Unit,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::line;
use crate::facts::Facts;
use crate::object::pretty;
use crate::units::percentile_name;

/// The version of the object that [`json()`] prints.
pub const SCHEMA: &str = "assay/hallmark/v2";

/// The hallmark as one indented JSON object with a line end; none if the run was not examined.
pub fn json(facts: &Facts) -> Option<String> {
    Some(pretty(&HallmarkObject::new(facts)?))
}

/// Whether the figures of a run can be trusted.
#[derive(JsonSchema, Serialize)]
#[schemars(title = "Whether a run is valid")]
pub struct HallmarkObject {
    /// The version of this object.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// The whole in one word.
    #[schemars(extend("enum" = ["valid", "valid-with-remarks", "invalid", "not-assessable"]))]
    verdict: &'static str,
    /// The first line of every report.
    line: String,
    /// The names of the checks that decided the verdict; empty if it is valid.
    reasons: Vec<&'static str>,
    /// Every check.
    checks: Vec<CheckObject>,
    /// The percentiles of hits, of response time and then of service time, rising.
    percentiles: Vec<CertifiedObject>,
    /// Changes for good within the steady part of the window, by time.
    changes: Vec<ChangeObject>,
    /// The period of the strongest oscillation in nanoseconds; null if none counts.
    period_ns: Option<u64>,
    /// Thresholds that are not what they usually are.
    thresholds_changed: Vec<ChangedObject>,
    /// The response time of a store that does nothing, in nanoseconds by percentile; empty if that
    /// was not measured.
    noise_floor_ns: BTreeMap<String, u64>,
}

impl HallmarkObject {
    /// The hallmark of the run that `facts` are about, if it was examined.
    pub fn new(facts: &Facts) -> Option<HallmarkObject> {
        let hallmark: &Hallmark = facts.hallmark.as_ref()?;
        let changed = |one: &assay_analysis::hallmark::Changed| ChangedObject {
            name: one.name,
            value: one.value,
            usual: one.usual,
        };
        Some(HallmarkObject {
            schema: SCHEMA,
            verdict: hallmark.verdict.name(),
            line: line(facts)?.shout(),
            reasons: hallmark.reasons.iter().map(|id| id.name()).collect(),
            checks: hallmark.checks.iter().map(CheckObject::new).collect(),
            percentiles: hallmark.percentiles.iter().map(CertifiedObject::new).collect(),
            changes: hallmark.changes.iter().map(ChangeObject::new).collect(),
            period_ns: hallmark.period.map(|period| period.0),
            thresholds_changed: hallmark.changed.iter().map(changed).collect(),
            noise_floor_ns: facts.floor.iter().map(|(name, ns)| (name.clone(), ns.0)).collect(),
        })
    }
}

/// One check of the hallmark.
#[derive(JsonSchema, Serialize)]
struct CheckObject {
    /// Its code.
    id: &'static str,
    /// Its name.
    name: &'static str,
    /// What came of it.
    #[schemars(extend("enum" = VERDICTS))]
    verdict: &'static str,
    /// Why it is not applicable or not assessable; null if it is neither.
    why: Option<&'static str>,
    /// The name of the check of whose outcome this one is but a consequence; null if there is none.
    because_of: Option<&'static str>,
    /// What was measured, with the thresholds.
    measures: Vec<MeasureObject>,
    /// The statistics that were not observed, so that it is decided without them.
    unobserved: Vec<&'static str>,
    /// Figures that are withdrawn, such as `response.p99`.
    withdraws: Vec<String>,
}

impl CheckObject {
    fn new(check: &Check) -> CheckObject {
        let why = match check.verdict {
            CheckVerdict::NotApplicable(why) | CheckVerdict::NotAssessable(why) => Some(why.name()),
            CheckVerdict::Pass | CheckVerdict::Remark | CheckVerdict::Fail => None,
        };
        CheckObject {
            id: check.id.code(),
            name: check.id.name(),
            verdict: verdict(check.verdict),
            why,
            because_of: check.because_of.map(|cause| cause.name()),
            measures: check.measures.iter().map(MeasureObject::new).collect(),
            unobserved: check.unobserved.iter().map(|one| one.name()).collect(),
            withdraws: check.withdraws.iter().map(|figure| figure_key(*figure)).collect(),
        }
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

/// One statistic with its thresholds.
#[derive(JsonSchema, Serialize)]
struct MeasureObject {
    /// The name of the statistic.
    statistic: &'static str,
    /// The figure that it is about; null if it is about none.
    figure: Option<String>,
    /// The unit of `value`, `pass` and `fail`.
    #[schemars(extend("enum" = ["share", "ratio", "count", "seconds"]))]
    unit: &'static str,
    /// What was measured, in `unit`.
    value: f64,
    /// What follows from this statistic.
    #[schemars(extend("enum" = VERDICTS))]
    verdict: &'static str,
    /// Whether thresholds are upper or lower ones; null if there are no thresholds.
    #[schemars(extend("enum" = ["at-most", "at-least", null]))]
    bound: Option<&'static str>,
    /// The threshold of a pass, in `unit`; null if there are no thresholds.
    pass: Option<f64>,
    /// The threshold of a failure, in `unit`; null if it cannot fail.
    fail: Option<f64>,
}

impl MeasureObject {
    fn new(measure: &Measure) -> MeasureObject {
        let bound = |limits: Limits| match limits.bound {
            Bound::AtMost => "at-most",
            Bound::AtLeast => "at-least",
        };
        MeasureObject {
            statistic: measure.statistic.name(),
            figure: measure.figure.map(figure_key),
            unit: match measure.statistic.unit() {
                Unit::Share => "share",
                Unit::Ratio => "ratio",
                Unit::Count => "count",
                Unit::Seconds => "seconds",
            },
            value: measure.value,
            verdict: verdict(measure.verdict()),
            bound: measure.limits.map(bound),
            pass: measure.limits.map(|limits| limits.pass),
            fail: measure.limits.and_then(|limits| limits.fail),
        }
    }
}

/// A percentile with what speaks for it and against it.
#[derive(JsonSchema, Serialize)]
struct CertifiedObject {
    /// Its name, such as `response.p99`.
    figure: String,
    /// The quantile, 0.99 for p99.
    quantile: f64,
    /// The percentile in nanoseconds.
    value_ns: u64,
    /// The lower end of its 95 % interval in nanoseconds; null if there is no interval.
    low_ns: Option<u64>,
    /// The upper end of its 95 % interval in nanoseconds; null if there is no interval.
    high_ns: Option<u64>,
    /// The number of successive operations that tell as much as one independent one; null if there
    /// is no interval.
    dependence: Option<f64>,
    /// How many seconds longer the run would have to be for an interval; null if there is one, or
    /// can be none.
    further_seconds: Option<f64>,
    /// The number of independent values beyond it; null if it is not known.
    beyond: Option<f64>,
    /// The same percentile without the operations that a hiccup held, in nanoseconds; null if it is
    /// not known.
    without_hiccups_ns: Option<u64>,
    /// The names of the checks that withdraw it.
    withdrawn_by: Vec<&'static str>,
}

impl CertifiedObject {
    fn new(one: &Certified) -> CertifiedObject {
        let (ends, further_seconds) = match one.interval {
            Interval::Known { low, high, dependence } => (Some((low, high, dependence)), None),
            Interval::TooFew { further_seconds, .. } => (None, Some(further_seconds)),
            Interval::Undefined => (None, None),
        };
        CertifiedObject {
            figure: figure_key(Figure::Percentile(one.time, one.quantile)),
            quantile: one.quantile,
            value_ns: one.value.0,
            low_ns: ends.map(|(low, _, _)| low.0),
            high_ns: ends.map(|(_, high, _)| high.0),
            dependence: ends.map(|(_, _, dependence)| dependence),
            further_seconds,
            beyond: one.beyond,
            without_hiccups_ns: one.without_hiccups.map(|value| value.0),
            withdrawn_by: one.withdrawn_by.iter().map(|id| id.name()).collect(),
        }
    }
}

/// A change for good within the steady part of the window.
#[derive(JsonSchema, Serialize)]
struct ChangeObject {
    /// When, in nanoseconds on the run's time axis.
    at_ns: u64,
    /// The figure that changed.
    figure: String,
    /// The mean level before, in operations per second or in nanoseconds, as the figure is.
    before: f64,
    /// The mean level after, in the same unit.
    after: f64,
    /// Whether an event was near.
    is_explained: bool,
}

impl ChangeObject {
    fn new(change: &LevelChange) -> ChangeObject {
        ChangeObject {
            at_ns: change.at.0,
            figure: figure_key(change.figure),
            before: change.before,
            after: change.after,
            is_explained: change.is_explained,
        }
    }
}

/// A threshold that is not what it usually is.
#[derive(JsonSchema, Serialize)]
struct ChangedObject {
    /// Its name.
    name: &'static str,
    /// Its value.
    value: f64,
    /// Its usual value.
    usual: f64,
}
