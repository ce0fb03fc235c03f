//! The summary of a history: the analyzer's result, as plain numbers.

use assay_model::{Kind, Nanos, Outcome, Phase, Reason, named_enum};

use crate::options::{LoadModel, Window};
use crate::plausibility::Plausibility;

/// The histogram behind every distribution: 3 significant digits, unit 1 ns.
pub type Histogram = hdrhistogram::Histogram<u64>;

/// Everything that one pass over a history's records finds.
///
/// Rates, ratios and means are 0 where there is nothing to divide by; no field is ever NaN or
/// infinite.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The load model of the operations, from the options.
    pub load: LoadModel,
    /// The stretch of the time axis that rates refer to: the question's window, or from the first
    /// intended to the last ended time where the question named none.
    pub window: Window,
    /// The window's length.
    pub duration: Nanos,
    /// From the first intended to the last ended time of the analyzed operations. Longer than
    /// `duration` where answers came after the window; YCSB's `RunTime` is this.
    pub span: Nanos,
    /// Records that were seen and left out of the figures, with their phase (warm-up, usually).
    pub excluded: Vec<(Phase, u64)>,
    /// Whether every arrival is accounted for: offered = done + refused + unknown + dropped, the
    /// series adds up to the same, and so does the number of arrivals that the question expected.
    pub is_balanced: bool,
    /// All kinds of operation together.
    pub overall: Group,
    /// Each kind that was offered, in the order of [`Kind::ALL`].
    pub kinds: Vec<(Kind, Group)>,
    /// Each transaction type of more than one operation that was offered, such as
    /// read-modify-write.
    pub transactions: Vec<Transactions>,
    /// Transactions of all types together; `None` unless the run has queries, all of them in
    /// transactions.
    pub all_transactions: Option<Group>,
    /// Each query that was offered, in the order of the plan.
    pub queries: Vec<Queried>,
    /// Whole processes, where the question says that they are more than one transaction each.
    pub processes: Option<Transactions>,
    /// Started − intended over all issued operations, whatever their outcome: the generator's
    /// own quality. Contains misses and failures, unlike `overall.hits.lag`.
    pub lag: Distribution,
    /// What checking the returned values found.
    pub values: ValueChecks,
    /// How it went over time.
    pub series: Series,
    /// Concurrency by Little's law beside what was counted directly.
    pub in_flight: InFlight,
    /// Success ratios, outages, silences, recoveries.
    pub availability: Availability,
    /// Availability of each node, where operations of two nodes at least are known.
    pub nodes: Vec<NodeSummary>,
    /// What the bound on operations in flight held back, if the options name such stretches.
    pub held_back: Option<HeldBack>,
    /// Records whose times run backwards (started before intended, or ended before started). Their
    /// negative differences count as zero.
    pub backward_times: u64,
}

/// Counts and latencies of the operations of one kind, of all kinds, or of one transaction type.
///
/// Every operation that was not dropped is in exactly one of `hits`, `misses` and `failed`, so a
/// fast miss or error can never look like a fast success.
#[derive(Clone, Debug)]
pub struct Group {
    /// How many, by what became of them.
    pub counts: Counts,
    /// The same per second of the window.
    pub rates: Rates,
    /// Latencies of operations that were done and met their record (`found`).
    pub hits: Latency,
    /// Latencies of operations that were done without meeting a record.
    pub misses: Latency,
    /// Latencies of refused and unknown operations.
    pub failed: Latency,
}

/// How many operations, by what became of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Offered by the load model: the sum of the four outcomes.
    pub offered: u64,
    /// Answered, hits and misses together.
    pub done: u64,
    /// Certainly did not happen.
    pub refused: u64,
    /// The outcome is unknown.
    pub unknown: u64,
    /// Never left us.
    pub dropped: u64,
    /// Done with `found`.
    pub hits: u64,
    /// Done without `found`.
    pub misses: u64,
    /// What a user got something from: hits of reads and scans, all done writes.
    pub good: u64,
    /// Refused, unknown and dropped operations by reason, in the order of outcome, then reason;
    /// only those that occurred.
    pub reasons: Vec<(Outcome, Reason, u64)>,
    /// Value bytes received by done reads and scans.
    pub bytes_in: u64,
    /// Value bytes sent by done writes.
    pub bytes_out: u64,
    /// Records returned.
    pub rows: u64,
    /// Reads and scans that found something in which no version was recognised. Not an error where
    /// values are too short to carry one.
    pub found_without_version: u64,
}

/// Operations per second of the window.
///
/// An operation counts where the thing happened: offered by intended, attempted by started, done
/// and good by ended time. Operations of the warm-up that end within the window therefore count as
/// throughput here although they are left out of [`Counts`], and those of the window that end after
/// it do not.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// The rate of the load model, if one rate describes it, with as many operations per process
    /// as were found. Only overall.
    pub target_per_s: Option<f64>,
    /// Arrivals.
    pub offered_per_s: f64,
    /// Requests that left us.
    pub attempted_per_s: f64,
    /// Answers, hits and misses.
    pub done_per_s: f64,
    /// Answers that a user got something from.
    pub goodput_per_s: f64,
    /// Done as a share of the target, or of what was offered where there is no target.
    pub reached: f64,
}

/// The three latencies of one set of operations.
#[derive(Clone, Debug)]
pub struct Latency {
    /// Ended − intended: what a user waits.
    pub response: Distribution,
    /// Ended − started: what the store needs.
    pub service: Distribution,
    /// Started − intended: what we added.
    pub lag: Distribution,
}

/// One latency's distribution.
#[derive(Clone, Debug)]
pub struct Distribution {
    /// Every value, to 3 significant digits, in nanoseconds. Values above
    /// [`LONGEST`](crate::LONGEST) are in it as that.
    pub histogram: Histogram,
    /// How many values.
    pub count: u64,
    /// How many of them were above [`LONGEST`](crate::LONGEST).
    pub saturated: u64,
    /// Exact mean in nanoseconds; 0 if there are no values.
    pub mean_ns: f64,
    /// Standard deviation in nanoseconds, from the histogram; 0 if there are no values.
    pub stddev_ns: f64,
    /// Exact smallest value; 0 if there are none.
    pub min: Nanos,
    /// Exact largest value; 0 if there are none.
    pub max: Nanos,
    /// The quantiles of [`QUANTILES`](crate::QUANTILES) in that order, the maximum last; empty if
    /// there are no values.
    pub percentiles: Vec<Percentile>,
}

impl Distribution {
    /// The percentile at `quantile`, one of [`QUANTILES`](crate::QUANTILES), if there are values.
    pub fn percentile_at(&self, quantile: f64) -> Option<&Percentile> {
        self.percentiles.iter().find(|percentile| percentile.quantile == quantile)
    }

    /// Its value.
    pub fn value(&self, quantile: f64) -> Option<Nanos> {
        self.percentile_at(quantile).map(|percentile| percentile.value)
    }
}

/// One percentile with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percentile {
    /// 0.99 for p99; 1 is the maximum.
    pub quantile: f64,
    /// The smallest recorded value that at least this share of the values does not exceed, within
    /// 0.1 %.
    pub value: Nanos,
    /// Where the true percentile lies with 95 % confidence.
    pub interval: Interval,
}

/// A 95 % confidence interval, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Interval {
    /// The percentile is between these.
    Known {
        /// Lower end.
        low: Nanos,
        /// Upper end.
        high: Nanos,
        /// How many successive operations tell as much as one independent one (τ ≥ 1).
        dependence: f64,
    },
    /// Fewer than ten independent values lie beyond the percentile. The percentile is that of the
    /// sample all the same.
    TooFew {
        /// How much longer the run would have to be, at the same rate, as far as one can tell.
        further_seconds: f64,
        /// The missing part.
        shortage: Shortage,
    },
    /// There is none by nature: the maximum has no interval.
    Undefined,
}

named_enum! {
    /// Why the values of a run give no interval of a percentile.
    ///
    /// A stall of 2 s in a run at 2,000/s puts 4,000 values beyond p99, but all of them are the one
    /// stall: p99 is what it is, and a longer run without a second stall would only dilute it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Shortage {
        /// No value lies beyond it: the maximum stands in its place.
        NoneBeyond => "none-beyond",
        /// Fewer than ten values lie beyond it.
        FewBeyond => "few-beyond",
        /// Enough values lie beyond it, but they came together: fewer than ten are independent.
        Dependent => "dependent",
        /// The values came in too few stretches of time to estimate how they depend on one another.
        FewBatches => "few-batches",
    }
}

/// Transactions of one type, matched from their operations.
///
/// A transaction's response time is from its first intended to its last ended time, its service
/// time from its first started to its last ended time, its lag that of its first operation. It is
/// done if all of its operations are, a hit if all are hits, and otherwise what its worst operation
/// is (unknown before refused before dropped).
#[derive(Clone, Debug)]
pub struct Transactions {
    /// The type's number in the plan.
    pub number: u16,
    /// The type's name.
    pub name: String,
    /// Counts and latencies of whole transactions.
    pub group: Group,
    /// Transactions whose last operation has no record; in none of the counts above.
    pub unfinished: u64,
}

/// The operations of one query of the plan.
#[derive(Clone, Debug)]
pub struct Queried {
    /// The query's number: its place in the plan plus one.
    pub number: u16,
    /// Its name.
    pub name: String,
    /// Counts and latencies.
    pub group: Group,
    /// Requests that an operation took on average, of those that were issued.
    pub requests_mean: f64,
}

/// What checking the returned values against the expected ones found.
#[derive(Clone, Debug)]
pub struct ValueChecks {
    /// Every returned field held what it must.
    pub right: u64,
    /// A returned field held something else.
    pub wrong: u64,
    /// Nothing came back.
    pub empty: u64,
    /// How long each check took.
    pub time: Distribution,
}

/// How it went over time.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Where the first interval begins.
    pub from: Nanos,
    /// Length of every interval.
    pub width: Nanos,
    /// The intervals without a gap; interval *i* begins at `from` + *i* · `width`.
    pub intervals: Vec<IntervalSummary>,
    /// Response times of hits over their intended times.
    pub response: HeatMap,
    /// Service times of hits over the times at which they were sent.
    pub service: HeatMap,
    /// Lag of all operations over intended times.
    pub lag: HeatMap,
    /// Response times of misses over their intended times; no columns if there are no misses.
    pub misses: HeatMap,
}

impl Series {
    /// The intervals that lie in `window` with their whole width; they follow each other in time.
    pub fn whole_in(&self, window: Window) -> &[IntervalSummary] {
        debug_assert!(self.intervals.is_sorted_by_key(|one| one.from));
        let is_before = |one: &IntervalSummary| one.from < window.from;
        let has_ended = |one: &IntervalSummary| one.from.saturating_add(self.width) <= window.until;
        let first = self.intervals.partition_point(is_before);
        let end = self.intervals.partition_point(has_ended);
        self.intervals.get(first..end).unwrap_or(&[])
    }
}

/// One interval of the series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntervalSummary {
    /// Where it begins.
    pub from: Nanos,
    /// Operations intended within it.
    pub offered: u64,
    /// Those of them that were answered within the deadline.
    pub in_time: u64,
    /// Those of them that were not answered at all.
    pub errors: u64,
    /// Operations done within it, by ended time; hits and misses.
    pub done: u64,
    /// Those of them that missed.
    pub misses: u64,
    /// Operations refused within it.
    pub refused: u64,
    /// Operations given up as unknown within it.
    pub unknown: u64,
    /// Operations dropped within it.
    pub dropped: u64,
    /// `done` by kind, in the order of [`Kind::ALL`].
    pub done_by_kind: [u64; Kind::ALL.len()],
    /// Mean number of requests that the store had (service time integrated).
    pub in_flight: f64,
    /// Mean number of operations that were intended and not ended (response time integrated).
    pub in_system: f64,
    /// Response times of the hits that were intended in it: a stall is seen while it lasts.
    pub response: Quick,
    /// Service times of the hits that were sent in it.
    pub service: Quick,
    /// Lag of all operations that was intended in it.
    pub lag: Quick,
    /// Response times of the misses that were intended in it.
    pub miss_response: Quick,
}

/// A few percentiles of one interval; all zero if `count` is.
///
/// The maximum is exact. The others are upper edges of buckets of 1/32 octave: at most 3.2 % too
/// high, and never above the maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quick {
    /// How many values.
    pub count: u64,
    /// The median.
    pub p50: Nanos,
    /// 90 % are at most this.
    pub p90: Nanos,
    /// 99 % are at most this.
    pub p99: Nanos,
    /// 99.9 % are at most this.
    pub p999: Nanos,
    /// The largest, exactly.
    pub max: Nanos,
}

/// Counts over time and latency: at most 150 columns of equal time, at most 60 rows of equal ratio.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeatMap {
    /// Where the first column begins.
    pub from: Nanos,
    /// Length of every column: a whole number of intervals.
    pub column_width: Nanos,
    /// Lower edges of the rows, rising, and the upper edge of the last: rows + 1 values. Row *r*
    /// holds latencies from `edges[r]` to below `edges[r + 1]`.
    pub edges: Vec<Nanos>,
    /// One vector per column, each with one count per row, in the order of `edges`.
    pub columns: Vec<Vec<u64>>,
    /// The largest count of a cell.
    pub peak: u64,
}

/// Concurrency, counted in several ways that must agree.
#[derive(Clone, Debug, PartialEq)]
pub struct InFlight {
    /// λ · mean service time, held against the sessions or the bound on operations in flight.
    /// Violated only if `mean_integrated` exceeds the limit too.
    pub by_service: Plausibility,
    /// λ · mean response time: how many users wait, at the store or before it. Its verdict is
    /// always unknown, for who waits before the store is not bounded by the limit.
    pub by_response: Plausibility,
    /// Mean number of requests that the store had, integrated directly over the window.
    pub mean_integrated: f64,
    /// Largest mean over one interval of the series.
    pub peak_interval_mean: f64,
    /// Whether λ · mean service time agrees with the integral within 10 %. They part company where
    /// the window's edges cut much work; both are then rough.
    pub agrees: bool,
}

/// Success ratios, outages, recoveries by intended time; silences by the time of the answers.
///
/// A closed loop stops issuing during an outage, so its ratios flatter; see [`Summary::load`].
#[derive(Clone, Debug, PartialEq)]
pub struct Availability {
    /// The share of the operations with a response, however late: done, or refused for a reason
    /// that is about the request (see [`Reason::is_about_request`]). Dropped arrivals count as
    /// operations; operations that were given up because another had failed do not. 1 without
    /// operations.
    pub success_ratio: f64,
    /// The same by kind, for the kinds with operations.
    pub by_kind: Vec<(Kind, f64)>,
    /// A response that comes later than this is late.
    pub deadline: Nanos,
    /// The share with a response in time.
    pub in_time_ratio: f64,
    /// How many had a later response.
    pub late: u64,
    /// Gaps in success shorter than this are chance, or too short to see.
    pub threshold: Nanos,
    /// Maximal stretches of intended time in which something failed and nothing was answered in
    /// time, longer than `threshold`, in order of time.
    pub outages: Vec<Outage>,
    /// Sum of their lengths.
    pub down: Nanos,
    /// The longest one.
    pub longest: Option<Outage>,
    /// Mean length of an outage (a mean time to repair), if there was one; outages that the run's
    /// end cut off enter with the length seen, so it is a lower bound then.
    pub mean_outage: Option<Nanos>,
    /// 1 − `down` / observed time.
    pub up_share: f64,
    /// Operations done per second in the median interval outside outages: what recovery is held
    /// against.
    pub baseline_per_s: f64,
    /// Operations by intended time, in fine bins.
    pub goodput: Goodput,
    /// Silences shorter than this are due to chance, or too short to detect.
    pub silence_threshold: Nanos,
    /// The longest silence, due to chance or not; none of less than 67 ms within one bin.
    pub longest_silence: Option<Silence>,
    /// The silences longer than `silence_threshold`, in order of time.
    pub silences: Vec<Silence>,
}

/// Operations by intended time: those that were answered in time, those that never were.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Goodput {
    /// Where the first bin begins.
    pub from: Nanos,
    /// The length of a bin: 67 ms, or that doubled some times.
    pub width: Nanos,
    /// The bins without a gap.
    pub bins: Vec<GoodputBin>,
    /// The moments at which an operation turned out to be refused or unknown, or was dropped: the
    /// first in each stretch of `width` that has some, by time.
    pub errors_seen: Vec<Nanos>,
}

/// The operations intended within one bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GoodputBin {
    /// How many there are.
    pub offered: u64,
    /// Those that were answered within the deadline.
    pub in_time: u64,
    /// Those that were not answered at all.
    pub errors: u64,
    /// The intended time of the first that was answered in time; never if there is none.
    pub first_success: Nanos,
    /// The intended time of the last that was; zero if there is none.
    pub last_success: Nanos,
    /// The intended time of the first that was not answered at all; never if there is none.
    pub first_error: Nanos,
}

/// A stretch of intended time in which nothing was answered in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// Intended time of the last success before it, or the window's start.
    pub from: Nanos,
    /// Intended time of the first success after it, or the window's end.
    pub until: Nanos,
    /// Operations intended in it that failed or were late, at the resolution of the analyzer's
    /// bins.
    pub failures: u64,
    /// Whether the window's start or end cuts it off, so that it may have been longer.
    pub is_cut_off: bool,
    /// From `until` to where throughput is back at 90 % of the baseline for 5 s (or to the end of
    /// the series) without relapse, to the width of an interval; `None` if that never came.
    pub recovered_after: Option<Nanos>,
}

impl Outage {
    /// How long it lasted.
    pub fn length(&self) -> Nanos {
        self.until.since(self.from)
    }
}

/// A stretch of time in which no response came although an operation waited for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// When the last answer before it came, or the first that waited in it was intended.
    pub from: Nanos,
    /// When the first answer after it came, or the window's end.
    pub until: Nanos,
    /// Whether the window's start or end cuts it off, so that it may have been longer.
    pub is_cut_off: bool,
}

impl Silence {
    /// How long it lasted.
    pub fn length(&self) -> Nanos {
        self.until.since(self.from)
    }
}

/// What one node did for the analyzed operations.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeSummary {
    /// Its number, its place in the run's list of nodes plus one.
    pub number: u8,
    /// Its name; empty if the run has none for it.
    pub name: String,
    /// The operations that it answered, or that were sent to it.
    pub operations: u64,
    /// Those of them that were not answered: unknown, or refused because the store was away, busy
    /// or full.
    pub failed: u64,
    /// The longest time in which no answer of it came although an operation waited for one; none
    /// below the resolution of a bin.
    pub silence: Option<Silence>,
    /// The response time that 99 % of the operations which it has done did not exceed; none of
    /// fewer than 100.
    pub p99: Option<Nanos>,
}

impl NodeSummary {
    /// The share of the operations that failed.
    pub fn failed_share(&self) -> f64 {
        self.failed as f64 / self.operations.max(1) as f64
    }
}

/// What the bound on operations in flight held back.
#[derive(Clone, Debug)]
pub struct HeldBack {
    /// How many operations were late, or dropped, because the bound on operations in flight was
    /// reached.
    pub operations: u64,
    /// Lag of all issued operations without these waits: the generator's own part.
    pub own_lag: Distribution,
}
