//! The analyzer: takes records batch by batch, gives a summary.

use std::collections::BTreeSet;

use assay_model::{Ends, Kind, Nanos, Outcome, Phase, Record, Verified};

use crate::availability::{Bins, Silences};
use crate::kind_stats::{Completion, CountedIn, KindStats, Moved, Span, Traffic};
use crate::latency_stats::{LatencyRecorder, SlotClock};
use crate::nodes::Nodes;
use crate::options::{AnalysisOptions, Atomicity, PhaseClass, Phases, Processes, Window};
use crate::plausibility::{Plausibility, Verdict, plausibility};
use crate::series::Intervals;
use crate::summary::{
    Group, HeldBack, InFlight, Queried, Series, Summary, Transactions, ValueChecks,
};
use crate::transactions::{Open, Transaction};

/// The difference up to which two ways to count concurrency are said to agree.
const AGREEMENT: f64 = 0.1;

/// No worker with a free slot takes as long as this to issue an arrival.
const PROMPT: Nanos = Nanos::from_micros(100);

/// Analyzes a history in one pass.
///
/// Records may come worker by worker, each worker in order of completion; the operations of one
/// transaction must come to the same analyzer in that order. Several analyzers with the same
/// options can work side by side and be merged: the summary is the same as that of a single one.
///
/// Memory does not grow with the run: some MB for the histograms of the octaves and kinds that
/// occur, for 1200 intervals of rough ones, and for the transactions that are open.
#[derive(Clone, Debug)]
pub struct Analyzer {
    options: AnalysisOptions,
    window: Window,
    sides: [PhaseClass; Phase::ALL.len()],
    clock: SlotClock,
    kinds: [KindStats; Kind::ALL.len()],
    intervals: Intervals,
    bins: Bins,
    silences: Silences,
    nodes: Nodes,
    held: u64,
    /// Lag without what the bound on operations in flight held back.
    own_lag: LatencyRecorder,
    open: Open,
    transactions: Vec<(u16, KindStats)>,
    open_processes: Open,
    whole_processes: KindStats,
    /// Whether some process had more than one transaction.
    has_several: bool,
    /// Whether some operation belonged to no transaction.
    has_lone: bool,
    queries: Vec<(u16, KindStats)>,
    /// Requests that each query took, in the order of `queries`.
    requests: Vec<u64>,
    verified: [u64; Verified::ALL.len()],
    verify_time: LatencyRecorder,
    excluded: [u64; Phase::ALL.len()],
    backward_times: u64,
    offered: u64,
    /// Processes that were started; `offered` counts their operations.
    processes: u64,
    first_intended: Nanos,
    last_ended: Nanos,
}

impl Analyzer {
    /// An analyzer that has seen nothing yet.
    pub fn new(options: AnalysisOptions) -> Analyzer {
        let origin = options.window.map_or(Nanos::ZERO, |window| window.from);
        Analyzer::starting_at(options, origin)
    }

    fn starting_at(options: AnalysisOptions, origin: Nanos) -> Analyzer {
        let always = Window { from: Nanos::ZERO, until: Nanos::NEVER };
        Analyzer {
            window: options.window.unwrap_or(always),
            sides: Phase::ALL.map(|phase| options.phases.class(phase)),
            clock: SlotClock::new(origin),
            kinds: Default::default(),
            intervals: Intervals::new(origin, options.interval),
            bins: Bins::new(origin, options.deadline),
            silences: Silences::new(origin),
            nodes: Nodes::new(origin),
            held: 0,
            own_lag: LatencyRecorder::default(),
            open: Open::default(),
            transactions: Vec::new(),
            open_processes: Open::default(),
            whole_processes: KindStats::default(),
            has_several: false,
            has_lone: false,
            queries: Vec::new(),
            requests: Vec::new(),
            verified: [0; Verified::ALL.len()],
            verify_time: LatencyRecorder::default(),
            excluded: [0; Phase::ALL.len()],
            backward_times: 0,
            offered: 0,
            processes: 0,
            first_intended: Nanos::NEVER,
            last_ended: Nanos::ZERO,
            options,
        }
    }

    /// Takes the next records of a worker.
    pub fn push(&mut self, records: &[Record]) {
        for record in records {
            let side = self.sides[record.phase as usize];
            if side == PhaseClass::Beside && self.has_window() {
                self.add_beside(record);
            }
            if record.transaction_type != 0 && side != PhaseClass::Elsewhere {
                self.add_to_transaction(record);
            }
            if record.statement != 0 {
                self.add_to_query(record, side);
            }
            if self.options.processes == Processes::AnalyzedRun && side != PhaseClass::Elsewhere {
                self.add_to_process(record);
            }
            if side == PhaseClass::AnalyzedRun {
                self.add(record);
            } else {
                self.excluded[record.phase as usize] += 1;
            }
        }
    }

    /// Counts a record that is in no figure: the part of it that lies in the window is traffic.
    fn add_beside(&mut self, record: &Record) {
        let (span, ending) = (Span::of(record), Completion::of(record));
        self.kinds[record.kind as usize].add_traffic(self.window, span, ending);
        self.silences.add(span, ending);
    }

    #[inline]
    fn add(&mut self, record: &Record) {
        let span = Span::of(record);
        let times = span.times();
        self.offered += 1;
        self.has_lone |= record.transaction_type == 0;
        // The last operation of its first transaction stands for the process.
        self.processes += u64::from(record.transaction == 0 && record.ends_transaction());
        self.backward_times += u64::from(!span.is_forward());
        self.first_intended = self.first_intended.min(record.intended);
        self.last_ended = self.last_ended.max(record.ended);
        let slot = self.slot(record.intended);
        let ending = Completion::of(record);
        let kind_stats = &mut self.kinds[record.kind as usize];
        kind_stats.add(self.window, slot, span, ending, Moved::by(record));
        self.silences.add(span, ending);
        let answered = self.bins.add(span, ending);
        self.intervals.add(record, times, answered);
        if record.node != 0 {
            self.nodes.add(record);
        }
        if !self.options.held.is_empty() {
            self.add_own_lag(slot, record);
        }
        if record.verified != Verified::No {
            self.verified[record.verified as usize] += 1;
            self.verify_time.add(slot, Nanos(u64::from(record.verify_ns)));
        }
    }

    /// Counts the part of the lag that is ours, where the bound on operations in flight held some
    /// arrivals back.
    #[inline(never)]
    fn add_own_lag(&mut self, slot: usize, record: &Record) {
        let held = self.options.held.of(record.process, record.intended);
        self.held += u64::from(held.is_some() && has_waited(record));
        if record.outcome != Outcome::Dropped {
            self.own_lag.add(slot, own_start(record, held).since(record.intended));
        }
    }

    /// Where an operation of this side is counted; makes room for its slot.
    fn counted_in(&mut self, side: PhaseClass, intended: Nanos) -> CountedIn {
        match side {
            PhaseClass::AnalyzedRun => CountedIn::Figures { slot: self.slot(intended) },
            PhaseClass::Beside if self.has_window() => CountedIn::Traffic,
            PhaseClass::Beside | PhaseClass::Elsewhere => CountedIn::Nothing,
        }
    }

    fn has_window(&self) -> bool {
        self.options.window.is_some()
    }

    #[inline]
    fn slot(&mut self, intended: Nanos) -> usize {
        let slot = self.clock.slot(intended);
        if slot < crate::latency_stats::SLOTS as u64 {
            return slot as usize;
        }
        self.double_slots(self.clock.doublings(intended));
        self.clock.slot(intended) as usize
    }

    #[cold]
    fn double_slots(&mut self, times: u32) {
        self.clock.double(times);
        let named = self.transactions.iter_mut().chain(&mut self.queries);
        let more = named.map(|(_, kind_stats)| kind_stats).chain([&mut self.whole_processes]);
        for kind_stats in self.kinds.iter_mut().chain(more) {
            kind_stats.double(times);
        }
        self.verify_time.double(times);
        self.own_lag.double(times);
    }

    /// Counts the transaction of `record` if that is its last.
    #[inline(never)]
    fn add_to_transaction(&mut self, record: &Record) {
        let Some(mut transaction) = self.open.add(record) else { return };
        self.settle_ending(&mut transaction);
        let side = self.sides[transaction.phase as usize];
        let Transaction { span, ending, moved, .. } = transaction;
        let counted_in = self.counted_in(side, span.intended);
        let kind_stats = account_of(&mut self.transactions, transaction.number);
        kind_stats.add_in(counted_in, self.window, span, ending, moved);
    }

    /// A transaction of queries that came to its end is what its user wanted, whatever its queries
    /// found: that an item is missing may be why it was rolled back. One that failed after it had
    /// written is unknown where the store undoes nothing: part of it happened.
    fn settle_ending(&self, transaction: &mut Transaction) {
        let ending = &mut transaction.ending;
        let is_kept = self.options.atomicity == Atomicity::BestEffort && transaction.has_written;
        if is_kept && ending.outcome != Outcome::Done {
            ending.outcome = Outcome::Unknown;
        }
        if !self.options.queries.is_empty() {
            let is_done = ending.outcome == Outcome::Done;
            (ending.found, ending.good) = (is_done, is_done);
        }
    }

    /// Counts `record` among those of its query.
    fn add_to_query(&mut self, record: &Record, side: PhaseClass) {
        let counted_in = self.counted_in(side, record.intended);
        let place = place_of(&mut self.queries, record.statement);
        self.requests.resize(self.queries.len(), 0);
        let (span, ending, moved) = (Span::of(record), Completion::of(record), Moved::by(record));
        self.queries[place].1.add_in(counted_in, self.window, span, ending, moved);
        if side == PhaseClass::AnalyzedRun {
            self.requests[place] += u64::from(record.requests);
        }
    }

    /// Counts the process of `record` if that is its last.
    fn add_to_process(&mut self, record: &Record) {
        self.has_several |= record.transaction > 0;
        // A process is put together as a transaction is, of all that it issued.
        let part = Record {
            transaction: 0,
            transaction_type: 0,
            ends: Ends::of(record.ends_process(), record.ends_process()),
            ..*record
        };
        let Some(mut process) = self.open_processes.add(&part) else { return };
        self.settle_ending(&mut process);
        let side = self.sides[process.phase as usize];
        let Transaction { span, ending, moved, .. } = process;
        let counted_in = self.counted_in(side, span.intended);
        self.whole_processes.add_in(counted_in, self.window, span, ending, moved);
    }

    /// Takes over what `other` has seen.
    ///
    /// # Panics
    /// If the two were computed with different options.
    pub fn merge(&mut self, mut other: Analyzer) {
        assert!(self.options == other.options, "merged analyzers must have the same options");
        self.double_slots(self.clock.behind(&other.clock));
        other.double_slots(other.clock.behind(&self.clock));
        for (mine, theirs) in self.kinds.iter_mut().zip(&other.kinds) {
            mine.merge(theirs);
        }
        for (number, theirs) in &other.transactions {
            account_of(&mut self.transactions, *number).merge(theirs);
        }
        self.intervals.merge(other.intervals);
        self.bins.merge(other.bins);
        self.silences.merge(other.silences);
        self.nodes.merge(other.nodes);
        self.held += other.held;
        self.own_lag.merge(&other.own_lag);
        for ((number, theirs), requests) in other.queries.iter().zip(&other.requests) {
            let place = place_of(&mut self.queries, *number);
            self.requests.resize(self.queries.len(), 0);
            self.queries[place].1.merge(theirs);
            self.requests[place] += requests;
        }
        self.whole_processes.merge(&other.whole_processes);
        self.has_several |= other.has_several;
        self.has_lone |= other.has_lone;
        self.open_processes.merge(other.open_processes);
        self.open.merge(other.open);
        add_each(&mut self.verified, &other.verified);
        add_each(&mut self.excluded, &other.excluded);
        self.verify_time.merge(&other.verify_time);
        self.backward_times += other.backward_times;
        self.offered += other.offered;
        self.processes += other.processes;
        self.first_intended = self.first_intended.min(other.first_intended);
        self.last_ended = self.last_ended.max(other.last_ended);
    }

    /// Everything that was found.
    pub fn finish(mut self) -> Summary {
        let first = self.first_intended.min(self.last_ended);
        let observed = Window { from: first, until: self.last_ended };
        let window = self.options.window.unwrap_or(observed);
        let duration = window.duration();
        // Load models speak of processes, rates of operations.
        let operations = match self.processes {
            0 => 1.0,
            processes => self.offered as f64 / processes as f64,
        };
        let target = self.options.load.target().map(|rate| rate * operations);
        let mut all = KindStats::default();
        self.kinds.iter().for_each(|kind_stats| all.merge(kind_stats));
        if let Some(window) = self.options.window {
            self.intervals.reach(window.until);
        }
        let series = self.intervals.finish(self.options.window.is_some());
        let pairs = || Kind::ALL.into_iter().zip(&self.kinds);
        let ratios =
            pairs().filter_map(|(kind, kind_stats)| Some((kind, kind_stats.success_ratio()?)));
        let ratios = (all.success_ratio().unwrap_or(1.0), ratios.collect());
        let is_offered = |(kind, kind_stats): (Kind, &KindStats)| {
            (kind_stats.offered() > 0).then(|| (kind, kind_stats.finish(duration, None)))
        };
        Summary {
            load: self.options.load,
            window,
            duration,
            span: observed.duration(),
            excluded: Phase::ALL
                .into_iter()
                .zip(self.excluded)
                .filter(|(_, count)| *count > 0)
                .collect(),
            is_balanced: self.is_balanced(all.offered()),
            kinds: pairs().filter_map(is_offered).collect(),
            transactions: self.finish_transactions(duration),
            all_transactions: self.finish_all_transactions(duration),
            queries: self.finish_queries(duration),
            processes: self.finish_processes(duration),
            lag: all.lag().finish(duration),
            values: ValueChecks {
                right: self.verified[Verified::Right as usize],
                wrong: self.verified[Verified::Wrong as usize],
                empty: self.verified[Verified::Empty as usize],
                time: self.verify_time.finish(duration),
            },
            in_flight: self.in_flight(&all.traffic(), duration, &series),
            availability: self.bins.finish(&self.silences, window, &series, ratios),
            nodes: self.nodes.finish(&self.options.nodes, window),
            held_back: (!self.options.held.is_empty()).then(|| HeldBack {
                operations: self.held,
                own_lag: self.own_lag.finish(duration),
            }),
            overall: all.finish(duration, target),
            series,
            backward_times: self.backward_times,
        }
    }

    /// Four ways to count the same arrivals.
    fn is_balanced(&self, accounted: u64) -> bool {
        let expected = self.options.expected.unwrap_or(self.offered);
        self.offered == accounted
            && self.offered == expected
            && self.intervals.totals() == (self.offered, self.offered)
    }

    fn finish_transactions(&self, duration: Nanos) -> Vec<Transactions> {
        let ended = self.transactions.iter().map(|(number, _)| *number);
        let numbers: BTreeSet<u16> = ended.chain(self.open.numbers()).collect();
        let names = &self.options.transaction_types;
        let counted = |number: u16| {
            let kind_stats = self.transactions.iter().find(|(of, _)| *of == number);
            let group = match kind_stats {
                Some((_, kind_stats)) => kind_stats.finish(duration, None),
                None => KindStats::default().finish(duration, None),
            };
            let analyzed = |phase: Phase| self.sides[phase as usize] == PhaseClass::AnalyzedRun;
            let unfinished = self.open.unfinished(number, analyzed);
            let name = names.get(usize::from(number)).cloned().unwrap_or_default();
            let is_offered = group.counts.offered + unfinished > 0;
            is_offered.then_some(Transactions { number, name, group, unfinished })
        };
        numbers.into_iter().filter_map(counted).collect()
    }

    fn finish_all_transactions(&self, duration: Nanos) -> Option<Group> {
        let mut all = KindStats::default();
        self.transactions.iter().for_each(|(_, kind_stats)| all.merge(kind_stats));
        // The target is a rate of processes.
        let target = self.options.load.target().filter(|_| !self.has_several);
        let is_offered = !self.queries.is_empty() && !self.has_lone && all.offered() > 0;
        is_offered.then(|| all.finish(duration, target))
    }

    fn finish_queries(&self, duration: Nanos) -> Vec<Queried> {
        let finished = |((number, kind_stats), requests): (&(u16, KindStats), &u64)| {
            let group = kind_stats.finish(duration, None);
            let requested = group.counts.offered - group.counts.dropped;
            let name = self.options.queries.get(usize::from(*number) - 1);
            (group.counts.offered > 0).then(|| Queried {
                number: *number,
                name: name.cloned().unwrap_or_default(),
                group,
                requests_mean: if requested > 0 {
                    *requests as f64 / requested as f64
                } else {
                    0.0
                },
            })
        };
        let mut queries: Vec<Queried> =
            self.queries.iter().zip(&self.requests).filter_map(finished).collect();
        queries.sort_unstable_by_key(|query| query.number);
        queries
    }

    fn finish_processes(&self, duration: Nanos) -> Option<Transactions> {
        let analyzed = |phase: Phase| self.sides[phase as usize] == PhaseClass::AnalyzedRun;
        let unfinished = self.open_processes.unfinished(0, analyzed);
        let group = self.whole_processes.finish(duration, None);
        // Where each process is one transaction, the transactions say the same.
        let is_more = self.has_several && group.counts.offered + unfinished > 0;
        let name = "process".to_owned();
        is_more.then_some(Transactions { number: 0, name, group, unfinished })
    }

    fn in_flight(&self, traffic: &Traffic, duration: Nanos, series: &Series) -> InFlight {
        let limit = self.options.load.limit().map(|limit| limit as f64);
        let lambda = traffic.ended_per_s(duration);
        let (response_s, service_s) = traffic.means_s();
        let mean_integrated = traffic.mean_in_flight(duration);
        let claim = plausibility(lambda, service_s, limit);
        // Operations that began long before the window and ended in it weigh whole in λ · W. What
        // of them lies in the window must be too much as well before anything is called impossible.
        let integrated = plausibility(mean_integrated, 1.0, limit).verdict;
        let verdict = match claim.verdict {
            Verdict::Violated => integrated,
            verdict => verdict,
        };
        let means = series.intervals.iter().map(|interval| interval.in_flight);
        let difference = (claim.little_l - mean_integrated).abs();
        InFlight {
            by_service: Plausibility { verdict, ..claim },
            by_response: Plausibility {
                verdict: Verdict::Unknown,
                ..plausibility(lambda, response_s, limit)
            },
            mean_integrated,
            peak_interval_mean: means.fold(0.0, f64::max),
            agrees: difference <= AGREEMENT * mean_integrated.max(claim.little_l),
        }
    }
}

/// When the request of `record` would have been sent if the bound on operations in flight had not
/// held it back in the stretch `held`.
#[inline]
pub fn own_start(record: &Record, held: Option<Window>) -> Nanos {
    match held {
        None => record.started,
        // Beyond the stretch only the worker itself is late.
        Some(stretch) => record.intended + record.started.since(stretch.until.max(record.intended)),
    }
}

/// Whether an arrival of a stretch in which others were held back was one of them. Where the bound
/// drops arrivals, those that find a slot are sent at once.
#[inline]
pub fn has_waited(record: &Record) -> bool {
    record.outcome == Outcome::Dropped || record.lag() > PROMPT
}

fn account_of(accounts: &mut Vec<(u16, KindStats)>, number: u16) -> &mut KindStats {
    let place = place_of(accounts, number);
    &mut accounts[place].1
}

fn place_of(accounts: &mut Vec<(u16, KindStats)>, number: u16) -> usize {
    accounts.iter().position(|(of, _)| *of == number).unwrap_or_else(|| {
        accounts.push((number, KindStats::default()));
        accounts.len() - 1
    })
}

fn add_each(into: &mut [u64], from: &[u64]) {
    into.iter_mut().zip(from).for_each(|(mine, theirs)| *mine += theirs);
}

/// Analyzes the measured part of `records` (or the load, if nothing was measured) without knowing
/// more than what they say.
pub fn analyze(records: &[Record]) -> Summary {
    let has = |phase| records.iter().any(|record| record.phase == phase);
    let phases = match (has(Phase::Measure), has(Phase::Load)) {
        (true, _) => Phases::Measure,
        (false, true) => Phases::Load,
        (false, false) => Phases::All,
    };
    let analyzed = records.iter().filter(|record| phases.include(record.phase));
    let origin = analyzed.map(|record| record.intended).min().unwrap_or(Nanos::ZERO);
    let mut analyze =
        Analyzer::starting_at(AnalysisOptions { phases, ..AnalysisOptions::default() }, origin);
    analyze.push(records);
    analyze.finish()
}
