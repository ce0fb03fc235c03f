//! Names of the checks, measures, obstacles of the hallmark.

use assay_analysis::LoadModel;
use assay_analysis::hallmark::{
    Bound, Check, CheckId, CheckVerdict, Figure, Inapplicable, Limits, Measure, Statistic, Unit,
};

use crate::units::{count, percent, percentile_name, trimmed};

/// The claim of a check, in a few words.
pub const fn what(id: CheckId) -> &'static str {
    match id {
        CheckId::Rate => "as much was sent as was promised, second by second",
        CheckId::Lag => "requests were sent at their intended times",
        CheckId::Omission => "no arrival was left out",
        CheckId::ArrivalProcess => "requests arrive as the arrival process says",
        CheckId::TraceIdentity => "what was issued is what was planned",
        CheckId::OpenLoop => "the next request did not wait for earlier answers",
        CheckId::WorkerCpu => "workers had processors with room to spare",
        CheckId::Hiccups => "no pause of the client machine is in the percentiles",
        CheckId::LostRecords => "every record was kept",
        CheckId::Network => "the network lost nothing",
        CheckId::NoiseFloor => "figures are well above what the instrument itself needs",
        CheckId::Saturation => "another agent would not have reached more",
        CheckId::Misses => "reads found their records, in the expected size",
        CheckId::Identity => "the records are those of this run",
        CheckId::WarmUp => "the run had warmed up before the figures began",
        CheckId::ChangePoints => "nothing changed for good, other than on purpose",
        CheckId::Trend => "figures do not drift",
        CheckId::Periodicity => "what is periodic happened often enough",
        CheckId::Backlog => "operations in flight do not pile up",
        CheckId::SampleSize => "enough independent operations tell the percentiles",
    }
}

/// What to change so that a check passes, if options can.
pub const fn advice(id: CheckId, load: &LoadModel) -> Option<&'static str> {
    let (is_open, is_crowded) = match load {
        LoadModel::Open { .. } => (true, false),
        LoadModel::Closed { sessions, .. } => (false, *sessions > 1),
    };
    Some(match id {
        CheckId::Rate if is_open => "a lower --rate: `assay tune` finds the highest that holds",
        CheckId::Rate => "a lower --target-throughput, or more sessions: --closed",
        CheckId::Lag | CheckId::ArrivalProcess => {
            "a lower --rate, or processors for the workers alone: --cpu-list, --spin always"
        }
        CheckId::Omission => "--overflow queue, or a larger --in-flight",
        CheckId::OpenLoop => "a larger --in-flight, or more connections in the store's URL",
        CheckId::WorkerCpu if is_crowded => {
            "--closed 1 leaves the store room; or wait until the machine is quiet: `assay doctor`"
        }
        CheckId::WorkerCpu if is_open => {
            "a lower --rate, processors for the workers alone: --cpu-list; or wait until the \
             machine \
             is quiet: `assay doctor`"
        }
        CheckId::WorkerCpu | CheckId::Hiccups => {
            "wait until the machine is quiet: `assay doctor`; or processors for the workers alone: \
             --cpu-list"
        }
        CheckId::LostRecords => "a lower --rate, or --runs-dir on a faster disk",
        CheckId::Network => "a lower --rate, or a client machine that is nearer to the store",
        CheckId::Misses => {
            "fill the store again: `assay load` with --fresh and the same \
                            --records"
        }
        CheckId::WarmUp | CheckId::ChangePoints | CheckId::Trend => {
            "a longer --warm-up leaves the beginning out; or a longer --duration"
        }
        CheckId::Periodicity | CheckId::SampleSize => "a longer --duration",
        CheckId::Backlog => "a lower --rate: `assay tune` finds the highest that holds",
        CheckId::Identity => "put the run's own files back, or run it again",
        CheckId::TraceIdentity | CheckId::NoiseFloor | CheckId::Saturation => return None,
    })
}

/// The name of what came of a check.
pub const fn verdict_name(verdict: CheckVerdict) -> &'static str {
    match verdict {
        CheckVerdict::Pass => "pass",
        CheckVerdict::Remark => "remark",
        CheckVerdict::Fail => "fail",
        CheckVerdict::NotApplicable(_) => "not applicable",
        CheckVerdict::NotAssessable(_) => "not assessable",
    }
}

/// Why a check has no answer, if it has none.
pub const fn obstacle(check: &Check) -> Option<&'static str> {
    match check.verdict {
        CheckVerdict::NotAssessable(Inapplicable::NotObserved) => Some(unobserved(check.id)),
        CheckVerdict::NotApplicable(why) | CheckVerdict::NotAssessable(why) => Some(because(why)),
        CheckVerdict::Pass | CheckVerdict::Remark | CheckVerdict::Fail => None,
    }
}

/// What a check would have needed.
const fn unobserved(id: CheckId) -> &'static str {
    match id {
        CheckId::TraceIdentity => "there is no planned trace to compare with",
        CheckId::NoiseFloor => "no floor was measured",
        _ => because(Inapplicable::NotObserved),
    }
}

const fn because(why: Inapplicable) -> &'static str {
    match why {
        Inapplicable::ClosedLoop => "sessions wait for answers, there are no arrivals",
        Inapplicable::IsLoad => "it was a load",
        Inapplicable::SimulatedTime => "time was simulated, no machine could be late",
        Inapplicable::NoRate => "the load has no rate",
        Inapplicable::NotObserved => "it was not observed",
        Inapplicable::NoRecords => "there are no records of it",
        Inapplicable::TooShort => "the run was too short",
        Inapplicable::NeverSettled => "the run never settled",
        Inapplicable::UnknownProcess => "the arrival process is not known",
        Inapplicable::DependentArrivals => "arrivals depend on each other by plan",
        Inapplicable::OneAgent => "`assay compare` with a run of more agents tells it",
        Inapplicable::NoNetwork => "no request left this process",
        Inapplicable::VaryingLoad => "the rate changes by plan",
        Inapplicable::HeldBack => {
            "the store did not keep up, so its answers decided when was \
                                   sent"
        }
        Inapplicable::NoExpectation => "what to expect is not known",
    }
}

/// Why a check did not pass, in a few words with the threshold.
pub fn reason(check: &Check) -> String {
    if let Some(why) = obstacle(check) {
        return why.to_owned();
    }
    let Some(measure) = check.deciding() else { return what(check.id).to_owned() };
    let text = phrase(measure);
    match measure.limits {
        Some(limits) => format!("{text} ({})", broken(measure, limits, check.verdict)),
        None => text,
    }
}

/// What decided a check, as the cell of a table.
pub fn found(check: &Check) -> String {
    let found = decided(check);
    if check.unobserved.is_empty() {
        return found;
    }
    let names: Vec<&str> = check.unobserved.iter().map(|one| one.name()).collect();
    format!("{found}; {} not observed", names.join(", "))
}

fn decided(check: &Check) -> String {
    match (obstacle(check), check.deciding()) {
        (Some(why), _) => why.to_owned(),
        (None, Some(measure)) => match check.because_of {
            Some(cause) => format!("{}, which follows from {}", phrase(measure), cause.name()),
            None => phrase(measure),
        },
        (None, None) => "-".to_owned(),
    }
}

/// What the deciding measure was held against, if there is one with limits.
pub fn threshold(check: &Check) -> Option<String> {
    let is_answered = obstacle(check).is_none();
    let measure = check.deciding().filter(|_| is_answered)?;
    let Limits { bound, pass, fail } = measure.limits?;
    let number = |limit: f64| number(limit, measure.statistic.unit());
    let passes = match bound {
        Bound::AtMost => format!("passes up to {}", number(pass)),
        Bound::AtLeast => format!("passes from {}", number(pass)),
    };
    Some(match (fail, bound) {
        (None, _) => format!("{passes}, never fails"),
        (Some(fail), Bound::AtMost) => format!("{passes}, fails above {}", number(fail)),
        (Some(fail), Bound::AtLeast) => format!("{passes}, fails below {}", number(fail)),
    })
}

/// The figures that a check withdraws, if any: `response p99.9, max; service p99.9, max`.
pub fn withdrawn(check: &Check) -> Option<String> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for figure in &check.withdraws {
        let (of, quantile) = match figure {
            Figure::Percentile(time, quantile) => {
                (time.name().to_owned(), Some(percentile_name(*quantile)))
            }
            other => (figure_name(*other), None),
        };
        match groups.iter_mut().find(|(known, _)| *known == of) {
            Some((_, quantiles)) => quantiles.extend(quantile),
            None => groups.push((of, quantile.into_iter().collect())),
        }
    }
    let texts: Vec<String> = groups
        .into_iter()
        .map(|(of, quantiles)| format!("{of} {}", quantiles.join(", ")).trim_end().to_owned())
        .collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

/// A figure's name: `response p99`, `throughput`.
pub fn figure_name(figure: Figure) -> String {
    match figure {
        Figure::All => "all figures".to_owned(),
        Figure::Throughput => "throughput".to_owned(),
        Figure::Latency(time) => time.name().to_owned(),
        Figure::Percentile(time, quantile) => {
            format!("{} {}", time.name(), percentile_name(quantile))
        }
    }
}

/// The threshold that a check broke.
fn broken(measure: &Measure, limits: Limits, verdict: CheckVerdict) -> String {
    let limit = match (verdict, limits.fail) {
        (CheckVerdict::Fail, Some(fail)) => fail,
        _ => limits.pass,
    };
    let limit = number(limit, measure.statistic.unit());
    match limits.bound {
        Bound::AtMost => format!("at most {limit}"),
        Bound::AtLeast => format!("at least {limit}"),
    }
}

fn number(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Share => percent(value),
        Unit::Ratio => trimmed(value, 2),
        Unit::Count if value.fract() == 0.0 => count(value as u64),
        Unit::Count => trimmed(value, 1),
        Unit::Seconds => format!("{} s", trimmed(value, 2)),
    }
}

/// A measure as part of a sentence.
fn phrase(measure: &Measure) -> String {
    let v = number(measure.value, measure.statistic.unit());
    let figure = measure.figure.map_or_else(|| "a figure".to_owned(), figure_name);
    match measure.statistic {
        Statistic::RateError => format!("the rate sent is {v} off the promised one"),
        Statistic::IntendedError => format!("{v} more or less was intended than promised"),
        Statistic::SecondsOff => format!("{v} seconds are off by more than chance"),
        Statistic::LagByResponse => format!("lag is {v} of {figure}"),
        Statistic::LagTailByService => format!("lag p99.9 is {v} of the median service time"),
        Statistic::Dropped => format!("{v} of the arrivals were dropped"),
        Statistic::Queued => format!("{v} of the arrivals waited for a place in flight"),
        Statistic::HeldBack => format!(
            "{v} of the arrivals were held back by the store: as many as can be in flight were \
             unanswered"
        ),
        Statistic::GapDistance => format!("gaps are {v} away from the promised distribution"),
        Statistic::Dispersion10Ms => format!("counts in 10 ms scatter {v} off the promise"),
        Statistic::Dispersion100Ms => format!("counts in 100 ms scatter {v} off the promise"),
        Statistic::Dispersion1S => format!("counts in 1 s scatter {v} off the promise"),
        Statistic::TraceDiffers => match measure.value > 0.0 {
            true => "what was issued is not what was planned".to_owned(),
            false => "what was issued is what was planned".to_owned(),
        },
        Statistic::FlightGapCorrelation => {
            format!("gaps and operations in flight correlate by {v}")
        }
        Statistic::InFlightPeak => format!("{v} in flight at the fullest"),
        Statistic::WorkerBusy => format!("the busiest worker was busy for {v} of the time"),
        Statistic::WorkerWaited => format!("a worker waited {v} of its time for a processor"),
        Statistic::Steal => format!("the hypervisor took {v} of the processors' time"),
        Statistic::Throttled => format!("a quota held us back for {v} of the time"),
        Statistic::HiccupByResponse => format!("hiccups p99.9 are {v} of response p99.9"),
        Statistic::LagEffect => format!("{v} of {figure} is lag"),
        Statistic::HiccupEffect => {
            format!("{v} of {figure} is what pauses of the client machine made of it")
        }
        Statistic::OutliersInHiccups => format!("hiccups held {v} of the slowest operations"),
        Statistic::LostRecords => format!("{v} records were lost"),
        Statistic::Contradictions => {
            format!("the files contradict each other in {v} ways, as the warnings say")
        }
        Statistic::Retransmits => format!("{v} of the segments were sent again"),
        Statistic::ResponseByFloor => format!("{figure} is {v} times the noise floor"),
        Statistic::GainByAgent => format!("another agent reached {v} more"),
        Statistic::MissShareOff => format!("the share of misses is {v} off what is expected"),
        Statistic::BytesOff => format!("bytes per read are {v} off what is expected"),
        Statistic::WarmUpShare => format!("{v} of the window is warm-up"),
        Statistic::WarmUpEffect => format!("{figure} moves by {v} without the warm-up in it"),
        Statistic::UnexplainedChanges => format!("{v} changes that no event explains"),
        Statistic::Drift => format!("{figure} drifts by {v}"),
        Statistic::Periods => format!("{v} periods of the oscillation were seen"),
        Statistic::BacklogGrowth => format!("operations in flight grow by {v} times their mean"),
        Statistic::Length => format!("the window lasts {v}"),
        Statistic::EffectiveBeyond => format!("{v} independent values beyond {figure}"),
    }
}
