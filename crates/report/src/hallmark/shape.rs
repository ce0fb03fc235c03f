//! The hallmark for programs, as it stands in `hallmark.json`.

use std::collections::BTreeMap;

use assay_analysis::Interval;
use assay_analysis::hallmark::{
    Bound, Certified, Change, Check, CheckVerdict, Figure, Hallmark, Limits, Measure, Unit,
};
use serde::Serialize;

use super::line;
use crate::facts::Facts;
use crate::units::percentile_name;

/// The version of the object that [`json()`] prints.
pub const SCHEMA: &str = "assay/hallmark/v2";

/// The hallmark as one indented JSON object with a line end; none if the run was not examined.
pub fn json(facts: &Facts) -> Option<String> {
    let object = HallmarkObject::new(facts)?;
    let text = serde_json::to_string_pretty(&object)
        .expect("an object of numbers and texts with text keys is always JSON");
    Some(text + "\n")
}

/// The whole hallmark.
#[derive(Serialize)]
pub struct HallmarkObject {
    schema: &'static str,
    verdict: &'static str,
    line: String,
    reasons: Vec<&'static str>,
    checks: Vec<CheckObject>,
    percentiles: Vec<CertifiedObject>,
    changes: Vec<ChangeObject>,
    period_ns: Option<u64>,
    thresholds_changed: Vec<ChangedObject>,
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

#[derive(Serialize)]
struct CheckObject {
    id: &'static str,
    name: &'static str,
    verdict: &'static str,
    why: Option<&'static str>,
    because_of: Option<&'static str>,
    measures: Vec<MeasureObject>,
    unobserved: Vec<&'static str>,
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

#[derive(Serialize)]
struct MeasureObject {
    statistic: &'static str,
    figure: Option<String>,
    unit: &'static str,
    value: f64,
    verdict: &'static str,
    bound: Option<&'static str>,
    pass: Option<f64>,
    fail: Option<f64>,
}

impl MeasureObject {
    fn new(measure: &Measure) -> MeasureObject {
        let analyzed = measure.limits.map_or(CheckVerdict::Pass, |l| l.analyze(measure.value));
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
            verdict: verdict(analyzed),
            bound: measure.limits.map(bound),
            pass: measure.limits.map(|limits| limits.pass),
            fail: measure.limits.and_then(|limits| limits.fail),
        }
    }
}

#[derive(Serialize)]
struct CertifiedObject {
    figure: String,
    quantile: f64,
    value_ns: u64,
    low_ns: Option<u64>,
    high_ns: Option<u64>,
    dependence: Option<f64>,
    further_seconds: Option<f64>,
    beyond: Option<f64>,
    without_hiccups_ns: Option<u64>,
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

#[derive(Serialize)]
struct ChangeObject {
    at_ns: u64,
    figure: String,
    before: f64,
    after: f64,
    is_explained: bool,
}

impl ChangeObject {
    fn new(change: &Change) -> ChangeObject {
        ChangeObject {
            at_ns: change.at.0,
            figure: figure_key(change.figure),
            before: change.before,
            after: change.after,
            is_explained: change.is_explained,
        }
    }
}

#[derive(Serialize)]
struct ChangedObject {
    name: &'static str,
    value: f64,
    usual: f64,
}
