//! Latencies as YCSB's client would have measured them: by metric, in whole microseconds.
//!
//! YCSB measures an operation under the name of its kind if its binding said `OK`, else under
//! another; a read-modify-write is measured as a read, as an update, and as a whole. Its *op*
//! latency is our service time, its *intended* latency our response time. Source: `DBWrapper`,
//! `Measurements`, `OneMeasurement…` of YCSB 0.17.0, 0.18.0-SNAPSHOT.

use std::collections::BTreeMap;

use assay_model::{Kind, Nanos, Outcome, Reason, Record, Verified, named_enum};

use crate::options::Phases;
use crate::summary::Histogram;
use crate::transactions::Open;

const NS_PER_US: u64 = 1_000;
const US_PER_MS: u64 = 1_000;
const NS_PER_MS: u64 = 1_000_000;

named_enum! {
    /// One of YCSB's status codes, in the order in which its map over them is walked.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Status {
        /// It succeeded.
        Ok => "OK",
        /// The binding cannot do it.
        NotImplemented => "NOT_IMPLEMENTED",
        /// The store cannot parse it.
        BadRequest => "BAD_REQUEST",
        /// It is not allowed.
        Forbidden => "FORBIDDEN",
        /// It succeeded, with an unexpected result.
        UnexpectedState => "UNEXPECTED_STATE",
        /// The store cannot be used now.
        ServiceUnavailable => "SERVICE_UNAVAILABLE",
        /// There is no such record.
        NotFound => "NOT_FOUND",
        /// It failed.
        Error => "ERROR",
    }
}

/// The status of YCSB's binding for a store where ours is more, or less, precise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statuses {
    /// For a read of a missing record.
    pub missing_read: Status,
    /// For a write of one.
    pub missing_write: Status,
    /// For a scan without results.
    pub empty_scan: Status,
    /// For every failure; `None` for the status that is nearest to the reason.
    pub failure: Option<Status>,
}

impl Default for Statuses {
    fn default() -> Statuses {
        Statuses {
            missing_read: Status::NotFound,
            missing_write: Status::NotFound,
            empty_scan: Status::Ok,
            failure: None,
        }
    }
}

/// The metric names of failed operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Failures {
    /// All of a kind under one: `READ-FAILED`.
    #[default]
    Together,
    /// Each under that of its status: `READ-ERROR`.
    ByStatus,
    /// These under that of their status, the rest together.
    Tracked(Vec<Status>),
}

impl Failures {
    fn are_apart(&self, status: Status) -> bool {
        match self {
            Failures::Together => false,
            Failures::ByStatus => true,
            Failures::Tracked(some) => some.contains(&status),
        }
    }
}

/// The options of the measurement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The phases that are measured.
    pub phases: Phases,
    /// The statuses of the binding.
    pub statuses: Statuses,
    /// The metric names of failures.
    pub failures: Failures,
    /// Whether scans are measured per record too, as YCSB 0.18 does.
    pub scans_per_record: bool,
    /// How many buckets of a millisecond are counted; 0 for none.
    pub buckets: usize,
    /// Whether sums are kept by millisecond of the run.
    pub keeps_series: bool,
    /// Whether every latency is kept.
    pub keeps_samples: bool,
}

/// The subject of one of YCSB's metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Operations that succeeded.
    Success(Kind),
    /// Operations that failed, of one status or of all that have no metric of their own.
    Failure(Kind, Option<Status>),
    /// The checks of values.
    Verify,
    /// Scans, divided by the number of their records.
    ScanPerRecord,
    /// Whole transactions of the type with this number.
    Transaction(u16),
}

impl Metric {
    /// The place among the metrics of a run: in the order in which YCSB usually meets them first.
    fn place(self) -> (u8, u16) {
        match self {
            Metric::Success(Kind::Read) => (0, 0),
            Metric::Verify => (1, 0),
            Metric::Success(kind) => (2, kind as u16),
            Metric::ScanPerRecord => (3, 0),
            Metric::Transaction(number) => (4, number),
            Metric::Failure(kind, status) => {
                (5, (kind as u16) << 8 | status.map_or(0, |status| 1 + status as u16))
            }
        }
    }
}

/// The latencies of one metric, in whole microseconds, cut off as YCSB cuts them off.
#[derive(Clone, Debug)]
pub struct Measured {
    /// With three significant digits.
    pub histogram: Histogram,
    /// The shortest; meaningless if there is none.
    pub min: u64,
    /// The longest; 0 if there is none.
    pub max: u64,
    /// Of all.
    pub sum: u64,
    /// Of all.
    pub sum_of_squares: f64,
    /// How many lay within each millisecond, if configured.
    pub buckets: Vec<u64>,
    /// How many lay beyond.
    pub beyond: u64,
    /// How many ended in a millisecond of the run, with their sum; empty if not configured.
    pub series: BTreeMap<u64, (u64, u64)>,
    /// When each ended, with its length, in the order of the ends; empty if not configured.
    pub samples: Vec<(Nanos, u64)>,
}

impl Measured {
    fn new(buckets: usize) -> Measured {
        Measured {
            histogram: Histogram::new(3).expect("three significant digits are allowed"),
            min: u64::MAX,
            max: 0,
            sum: 0,
            sum_of_squares: 0.0,
            buckets: vec![0; buckets],
            beyond: 0,
            series: BTreeMap::new(),
            samples: Vec::new(),
        }
    }

    fn add(&mut self, options: &Options, ended: Nanos, micros: u64) {
        self.histogram.record(micros).expect("a histogram that grows by itself takes every value");
        self.min = self.min.min(micros);
        self.max = self.max.max(micros);
        self.sum += micros;
        self.sum_of_squares += micros as f64 * micros as f64;
        if !self.buckets.is_empty() {
            match self.buckets.get_mut((micros / US_PER_MS) as usize) {
                Some(bucket) => *bucket += 1,
                None => self.beyond += 1,
            }
        }
        if options.keeps_series {
            let (count, sum) = self.series.entry(ended.0 / NS_PER_MS).or_default();
            *count += 1;
            *sum += micros;
        }
        if options.keeps_samples {
            self.samples.push((ended, micros));
        }
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The mean of the histogram, whose values have three digits; NaN if there is none.
    pub fn histogram_mean(&self) -> f64 {
        if self.histogram.is_empty() { f64::NAN } else { self.histogram.mean() }
    }

    /// Mean and variance of the latencies themselves.
    pub fn moments(&self) -> Moments {
        let count = self.count() as f64;
        let mean = self.sum as f64 / count;
        Moments { mean, variance: self.sum_of_squares / count - mean * mean }
    }

    /// The first bucket with which `share` of all latencies is reached, if the buckets hold them.
    pub fn bucket_at(&self, share: f64) -> Option<usize> {
        let mut so_far = 0;
        self.buckets.iter().position(|bucket| {
            so_far += bucket;
            so_far as f64 / self.count() as f64 >= share
        })
    }

    /// The latencies that `shares` of all are shorter than, as far as every one is kept.
    pub fn samples_at<const N: usize>(&self, shares: [f64; N]) -> Option<[u64; N]> {
        let mut sorted: Vec<u64> = self.samples.iter().map(|(_, micros)| *micros).collect();
        sorted.sort_unstable();
        let last = sorted.len().checked_sub(1)?;
        Some(shares.map(|share| sorted[((sorted.len() as f64 * share) as usize).min(last)]))
    }

    /// The means of stretches of `granularity` milliseconds that something ended in, each with
    /// its first millisecond. The first end is the zero, as in YCSB.
    pub fn means(&self, granularity: u64) -> Vec<(u64, f64)> {
        let first = self.series.keys().next().copied().unwrap_or_default();
        let mut stretches: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for (ms, (count, sum)) in &self.series {
            let stretch = stretches.entry((ms - first) / granularity * granularity).or_default();
            *stretch = (stretch.0 + count, stretch.1 + sum);
        }
        let mean = |(count, sum): (u64, u64)| sum as f64 / count as f64;
        stretches.into_iter().map(|(from, stretch)| (from, mean(stretch))).collect()
    }
}

/// Mean and variance of latencies in microseconds; NaN if there are none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// The arithmetic mean.
    pub mean: f64,
    /// The mean square less the square of the mean.
    pub variance: f64,
}

impl Moments {
    /// Those of nothing.
    pub const NONE: Moments = Moments { mean: f64::NAN, variance: f64::NAN };
}

/// One metric of a run.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// Its subject.
    pub metric: Metric,
    /// Service times.
    pub op: Measured,
    /// Response times; `None` where YCSB has no intended time.
    pub intended: Option<Measured>,
    /// How often each status came back.
    pub returns: Vec<(Status, u64)>,
}

/// Everything that YCSB's client would have measured.
#[derive(Clone, Debug)]
pub struct Measurements {
    options: Options,
    measurements: Vec<Measurement>,
    open: Open,
    /// Operations as YCSB counts them: a whole transaction is one; failures count, drops do not.
    operations: u64,
    first_intended: Nanos,
    last_ended: Nanos,
}

impl Measurements {
    /// Nothing yet.
    pub fn new(options: Options) -> Measurements {
        Measurements {
            options,
            measurements: Vec::new(),
            open: Open::default(),
            operations: 0,
            first_intended: Nanos::NEVER,
            last_ended: Nanos::ZERO,
        }
    }

    /// Takes the next records of a worker.
    pub fn push(&mut self, records: &[Record]) {
        let phases = self.options.phases;
        for record in records.iter().filter(|record| phases.include(record.phase)) {
            self.first_intended = self.first_intended.min(record.intended);
            self.last_ended = self.last_ended.max(record.ended);
            if record.outcome != Outcome::Dropped {
                self.add(record);
            }
            if record.transaction_type != 0 {
                self.add_to_transaction(record);
            } else if record.outcome != Outcome::Dropped {
                self.operations += 1;
            }
        }
    }

    fn add(&mut self, record: &Record) {
        let status = status(record, self.options.statuses);
        let success = Metric::Success(record.kind);
        let metric = match status {
            Status::Ok => success,
            status => {
                let own = self.options.failures.are_apart(status).then_some(status);
                Metric::Failure(record.kind, own)
            }
        };
        let (op, intended) = (micros(record.service()), micros(record.response()));
        self.measure(metric, record.ended, op, Some(intended));
        self.count(success, status);
        if record.verified != Verified::No {
            let time = u64::from(record.verify_ns) / NS_PER_US;
            self.measure(Metric::Verify, record.ended, time, None);
            self.count(Metric::Verify, verification(record.verified));
        }
        if self.options.scans_per_record && record.kind == Kind::Scan && record.rows > 0 {
            let share = op / u64::from(record.rows);
            self.measure(Metric::ScanPerRecord, record.ended, share, None);
        }
    }

    /// YCSB measures a whole read-modify-write whatever the outcome of its halves.
    fn add_to_transaction(&mut self, record: &Record) {
        let Some(whole) = self.open.add(record) else { return };
        if whole.ending.outcome == Outcome::Dropped {
            return;
        }
        self.operations += 1;
        let times = whole.span.times();
        let (op, intended) = (micros(times.service), micros(times.response));
        let metric = Metric::Transaction(whole.number);
        self.measure(metric, whole.span.ended, op, Some(intended));
    }

    fn measure(&mut self, metric: Metric, ended: Nanos, op: u64, intended: Option<u64>) {
        let place = self.place(metric, intended.is_some());
        let measurement = &mut self.measurements[place];
        measurement.op.add(&self.options, ended, op);
        if let (Some(measured), Some(intended)) = (&mut measurement.intended, intended) {
            measured.add(&self.options, ended, intended);
        }
    }

    fn count(&mut self, metric: Metric, status: Status) {
        let place = self.place(metric, metric != Metric::Verify);
        let returns = &mut self.measurements[place].returns;
        match returns.iter_mut().find(|(other, _)| *other == status) {
            Some((_, count)) => *count += 1,
            None => returns.push((status, 1)),
        }
    }

    fn place(&mut self, metric: Metric, is_intended: bool) -> usize {
        let found = self.measurements.iter().position(|one| one.metric == metric);
        found.unwrap_or_else(|| {
            let empty = || Measured::new(self.options.buckets);
            self.measurements.push(Measurement {
                metric,
                op: empty(),
                intended: is_intended.then(empty),
                returns: Vec::new(),
            });
            self.measurements.len() - 1
        })
    }

    /// All measurements.
    pub fn finish(mut self) -> Measures {
        for measurement in &mut self.measurements {
            measurement.returns.sort_unstable();
            let intended = measurement.intended.as_mut();
            for measured in [&mut measurement.op].into_iter().chain(intended) {
                measured.samples.sort_unstable();
            }
        }
        self.measurements.sort_by_key(|measurement| measurement.metric.place());
        let first = self.first_intended.min(self.last_ended);
        Measures {
            span: self.last_ended.since(first),
            operations: self.operations,
            metrics: self.measurements,
        }
    }
}

/// The measurements of a run.
#[derive(Clone, Debug)]
pub struct Measures {
    /// From the first intended time to the last end.
    pub span: Nanos,
    /// Operations as YCSB counts them.
    pub operations: u64,
    /// The metrics, in the order in which YCSB usually meets them first.
    pub metrics: Vec<Measurement>,
}

impl Measures {
    /// Operations per second; YCSB divides by whole milliseconds, so a run below one has an
    /// infinite throughput there.
    pub fn throughput_per_s(&self) -> f64 {
        match self.span.0 {
            0 => 0.0,
            ns => 1e9 * self.operations as f64 / ns as f64,
        }
    }
}

fn micros(time: Nanos) -> u64 {
    time.0 / NS_PER_US
}

/// What YCSB's binding would have said.
fn status(record: &Record, statuses: Statuses) -> Status {
    match (record.outcome, record.kind) {
        (Outcome::Done, _) if record.found => Status::Ok,
        (Outcome::Done, Kind::Read) => statuses.missing_read,
        (Outcome::Done, Kind::Scan) => statuses.empty_scan,
        // The ends of transactions return no records.
        (Outcome::Done, kind) if !kind.writes() => Status::Ok,
        (Outcome::Done, _) => statuses.missing_write,
        _ => statuses.failure.unwrap_or_else(|| reason_status(record.reason)),
    }
}

/// The status code that is nearest to a reason.
fn reason_status(reason: Reason) -> Status {
    match reason {
        Reason::Timeout | Reason::ConnectionLost | Reason::Unreachable | Reason::Busy => {
            Status::ServiceUnavailable
        }
        Reason::NotPermitted | Reason::ReadOnly => Status::Forbidden,
        Reason::Unsupported => Status::NotImplemented,
        Reason::Malformed | Reason::WrongType => Status::BadRequest,
        _ => Status::Error,
    }
}

fn verification(verified: Verified) -> Status {
    match verified {
        Verified::Right | Verified::No => Status::Ok,
        Verified::Wrong => Status::UnexpectedState,
        Verified::Empty => Status::Error,
    }
}

#[cfg(test)]
mod tests;
