//! The validator: takes the same records as the analyzer, and decides on the hallmark.

use assay_model::{Nanos, Outcome, Phase, Reason, Record};

use super::check::{Check, CheckId, CheckVerdict, Figure, Time};
use super::evidence::Evidence;
use super::input::{Input, Observed};
use super::outliers::Outliers;
use super::sample::{Moment, Sample};
use super::steadiness::{TimeCourse, beyond};
use super::thresholds::Thresholds;
use super::ticks::Ticks;
use super::{Certified, Hallmark, Verdict, causes, client, generation, steadiness};
use crate::analyzer::{has_waited, own_start};
use crate::options::{AnalysisOptions, PhaseClass, Window};
use crate::summary::Summary;

/// Examines a run in one pass over its records.
///
/// Records may come worker by worker, each worker in order of completion. Memory is bounded: 8 MB
/// of counts for every three hours (then stretches double), 2 MB of moments, half a megabyte of
/// outliers.
#[derive(Clone, Debug)]
pub struct Validator {
    options: AnalysisOptions,
    thresholds: Thresholds,
    window: Window,
    sides: [PhaseClass; Phase::ALL.len()],
    sent: Ticks,
    intended: Ticks,
    sample: Sample,
    outliers: Outliers,
    arrivals: u64,
    dropped_at_limit: u64,
    dropped_at_end: u64,
    held_back: u64,
}

impl Validator {
    /// A validator without records. The options must be the analyzer's.
    pub fn new(options: AnalysisOptions, thresholds: Thresholds) -> Validator {
        let always = Window { from: Nanos::ZERO, until: Nanos::NEVER };
        let window = options.window.unwrap_or(always);
        Validator {
            window,
            sides: Phase::ALL.map(|phase| options.phases.class(phase)),
            sent: Ticks::new(window.from),
            intended: Ticks::new(window.from),
            sample: Sample::default(),
            outliers: Outliers::default(),
            arrivals: 0,
            dropped_at_limit: 0,
            dropped_at_end: 0,
            held_back: 0,
            options,
            thresholds,
        }
    }

    /// Takes the next records of a worker.
    pub fn push(&mut self, records: &[Record]) {
        match self.options.held.is_empty() {
            true => self.push_all::<false>(records),
            false => self.push_all::<true>(records),
        }
    }

    /// Takes records; where no arrivals were held back, a constant says so, and nothing is looked
    /// up for each.
    fn push_all<const HELD_BACK: bool>(&mut self, records: &[Record]) {
        for record in records {
            match self.sides[record.phase as usize] {
                PhaseClass::AnalyzedRun => self.add::<HELD_BACK>(record, true),
                PhaseClass::Beside => self.add::<HELD_BACK>(record, false),
                PhaseClass::Elsewhere => {}
            }
        }
    }

    /// Takes a record of the same plan, warm-up included: what lies in the window counts.
    ///
    /// An operation that the bound on operations in flight held back counts as sent at the time
    /// without the bound: the checks are about the client, and the store held it back.
    #[inline]
    fn add<const HELD_BACK: bool>(&mut self, record: &Record, is_analyzed: bool) {
        let is_arrival = begins_process(record, self.options.width);
        if is_arrival && self.window.contains(record.intended) {
            self.intended.add(record.intended);
            self.sample.add(record.intended, Moment::Intended);
        }
        if is_analyzed && is_arrival {
            self.arrivals += 1;
        }
        let held = match HELD_BACK && is_arrival {
            true => self.options.held.of(record.process, record.intended),
            false => None,
        };
        let is_held = held.is_some() && has_waited(record);
        self.held_back += u64::from(is_analyzed && is_held);
        if record.outcome == Outcome::Dropped && !is_held {
            return self.drop(record, is_analyzed && is_arrival);
        }
        let sent = own_start(record, held);
        if self.window.contains(sent) {
            if is_arrival {
                self.sent.add(sent);
            }
            let moment = if is_arrival { Moment::Sent } else { Moment::Continued };
            self.sample.add(sent, moment);
        }
        if self.window.contains(record.ended) {
            let took_time = record.ended > record.started;
            let moment = if took_time { Moment::Ended } else { Moment::Answered };
            self.sample.add(record.ended, moment);
        }
        if is_analyzed && record.outcome == Outcome::Done && record.found {
            self.outliers.add(record.response(), record.intended);
        }
    }

    #[cold]
    fn drop(&mut self, record: &Record, counts: bool) {
        match record.reason {
            // Its transaction was issued and failed, and is counted there.
            Reason::TransactionFailed => {}
            Reason::InFlightLimit => self.dropped_at_limit += u64::from(counts),
            _ => self.dropped_at_end += u64::from(counts),
        }
    }

    /// The hallmark of the run that `summary` is about.
    pub fn finish(self, summary: &Summary, evidence: &Evidence) -> Hallmark {
        let (hits, mut slowest) = self.outliers.slowest();
        if let Some(hiccups) = &evidence.hiccups {
            client::tag_held(&mut slowest, hiccups, self.thresholds.hiccup_pass);
        }
        let observed = Observed {
            sent: self.sent,
            intended: self.intended,
            arrivals: self.arrivals,
            dropped_at_limit: self.dropped_at_limit,
            dropped_at_end: self.dropped_at_end,
            held_back: self.held_back,
            stretches: self.sample.stretches(),
            hits,
            slowest,
        };
        let input = Input {
            options: &self.options,
            thresholds: &self.thresholds,
            summary,
            evidence,
            observed: &observed,
        };
        hallmark(&input)
    }
}

/// Whether a record is of the first operation of its process: the one that arrives.
///
/// The plan's width tells. Without it a transaction has at most two operations: later ones have a
/// higher place, and of two the second ends it.
#[inline]
fn begins_process(record: &Record, width: u64) -> bool {
    match width {
        0 => {
            record.transaction == 0 && (record.transaction_type == 0 || !record.ends_transaction())
        }
        _ => record.index == record.process.wrapping_mul(width),
    }
}

fn hallmark(input: &Input) -> Hallmark {
    let time_course = TimeCourse::of(input);
    let steady = time_course.steady(input);
    let periodicity = steadiness::periodicity(input, &time_course, &steady);
    let period = periodicity.as_ref().ok().and_then(|(_, period)| *period);
    let found = [
        (CheckId::Rate, generation::rate(input)),
        (CheckId::Lag, generation::lag(input)),
        (CheckId::Omission, generation::omission(input)),
        (CheckId::ArrivalProcess, generation::arrival_process(input)),
        (CheckId::TraceIdentity, generation::trace_identity(input)),
        (CheckId::OpenLoop, generation::open_loop(input)),
        (CheckId::WorkerCpu, client::worker_cpu(input)),
        (CheckId::Hiccups, client::hiccups(input)),
        (CheckId::LostRecords, client::lost_records(input)),
        (CheckId::Network, client::network(input)),
        (CheckId::NoiseFloor, client::noise_floor(input)),
        (CheckId::Saturation, client::saturation(input)),
        (CheckId::Misses, client::misses(input)),
        (CheckId::Identity, client::identity(input)),
        (CheckId::WarmUp, steadiness::warm_up(input, &time_course)),
        (CheckId::ChangePoints, steadiness::change_points(input, &time_course, &steady)),
        (CheckId::Trend, steadiness::trend(input, &time_course, &steady)),
        (CheckId::Periodicity, periodicity.map(|(found, _)| found)),
        (CheckId::Backlog, steadiness::backlog(input, &time_course)),
        (CheckId::SampleSize, steadiness::sample_size(input)),
    ];
    let mut checks: Vec<Check> =
        found.into_iter().map(|(id, found)| Check::new(id, found)).collect();
    causes::explain(input, &mut checks);
    let (verdict, reasons) = sum_up(&checks);
    Hallmark {
        verdict,
        reasons,
        percentiles: certified(input, &checks),
        checks,
        changes: steady.changes,
        period,
        changed: input.thresholds.changed(),
    }
}

/// The whole in one word, with the checks that made it so.
fn sum_up(checks: &[Check]) -> (Verdict, Vec<CheckId>) {
    let ids = |expected: &dyn Fn(&Check) -> bool| -> Vec<CheckId> {
        checks.iter().filter(|check| expected(check)).map(|check| check.id).collect()
    };
    let failed = ids(&|check| check.fails_a_headline() && check.because_of.is_none());
    if !failed.is_empty() {
        return (Verdict::Invalid, failed);
    }
    let is_open = |check: &Check| matches!(check.verdict, CheckVerdict::NotAssessable(_));
    let open = ids(&|check| check.id.is_essential() && is_open(check));
    if !open.is_empty() {
        return (Verdict::NotAssessable, open);
    }
    let is_remark = |check: &Check| {
        matches!(check.verdict, CheckVerdict::Remark | CheckVerdict::Fail)
            && check.because_of.is_none()
            && !check.is_of_far_tail()
    };
    let remarks = ids(&is_remark);
    let is_clean = remarks.is_empty();
    (if is_clean { Verdict::Valid } else { Verdict::ValidWithRemarks }, remarks)
}

fn certified(input: &Input, checks: &[Check]) -> Vec<Certified> {
    let hits = &input.summary.overall.hits;
    let sets = [(Time::Response, &hits.response), (Time::Service, &hits.service)];
    let mut all = Vec::new();
    for (time, distribution) in sets {
        for percentile in distribution.percentiles.iter().filter(|one| one.quantile < 1.0) {
            let figure = Figure::Percentile(time, percentile.quantile);
            let withdraws = |check: &&Check| check.withdraws.iter().any(|one| one.covers(figure));
            let is_watched = time == Time::Response && input.evidence.hiccups.is_some();
            let without_hiccups =
                is_watched.then(|| client::without_hiccups(input, percentile.quantile));
            all.push(Certified {
                time,
                quantile: percentile.quantile,
                value: percentile.value,
                interval: percentile.interval,
                beyond: beyond(percentile, distribution.count, input.summary.duration),
                without_hiccups: without_hiccups.flatten(),
                withdrawn_by: checks.iter().filter(withdraws).map(|check| check.id).collect(),
            });
        }
    }
    all
}
