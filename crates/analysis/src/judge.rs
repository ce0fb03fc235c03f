//! The judge: takes records batch by batch, gives a summary.

use assay_model::{Kind, Nanos, Outcome, Phase, Record, Verified};

use crate::account::{Account, Ending, Moved, Span, Traffic};
use crate::availability::Bins;
use crate::plausibility::{Plausibility, Verdict, plausibility};
use crate::question::{Atomicity, Phases, Processes, Question, Window};
use crate::series::Intervals;
use crate::summary::{Group, InFlight, Queried, Series, Summary, Transactions, ValueChecks};
use crate::tally::{SlotClock, Strand};
use crate::transactions::{Open, Transaction};

/// The difference up to which two ways to count concurrency are said to agree.
const AGREEMENT: f64 = 0.1;

/// What a record's phase makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// It enters the figures.
    Judged,
    /// It does not, but is of the same plan: what of it lies in the question's window is part of
    /// the window's traffic, and a transaction may go on from it.
    Beside,
    /// It belongs to another plan.
    Elsewhere,
}

/// Judges a history in one pass.
///
/// Records may come lane by lane, each lane in order of completion; the operations of one
/// transaction must come to the same judge in that order. Several judges with the same question
/// can work side by side and be merged: the summary is the same as that of a single one.
///
/// Memory does not grow with the run: some MB for the histograms of the octaves and kinds that
/// occur, for 1200 intervals of rough ones, and for the transactions that are open.
#[derive(Clone, Debug)]
pub struct Judge {
    question: Question,
    window: Window,
    sides: [Side; Phase::ALL.len()],
    clock: SlotClock,
    kinds: [Account; Kind::ALL.len()],
    intervals: Intervals,
    bins: Bins,
    open: Open,
    transactions: Vec<(u16, Account)>,
    open_processes: Open,
    whole_processes: Account,
    /// Whether some process had more than one transaction.
    has_several: bool,
    /// Whether some operation belonged to no transaction.
    has_lone: bool,
    queries: Vec<(u16, Account)>,
    /// Requests that each query took, in the order of `queries`.
    requests: Vec<u64>,
    verified: [u64; Verified::ALL.len()],
    verify_time: Strand,
    excluded: [u64; Phase::ALL.len()],
    backward_times: u64,
    offered: u64,
    /// Processes that were asked, of which `offered` are the operations.
    processes: u64,
    first_intended: Nanos,
    last_ended: Nanos,
}

impl Judge {
    /// A judge that has seen nothing yet.
    pub fn new(question: Question) -> Judge {
        let origin = question.window.map_or(Nanos::ZERO, |window| window.from);
        Judge::starting_at(question, origin)
    }

    fn starting_at(question: Question, origin: Nanos) -> Judge {
        let side = |phase: Phase| {
            let is_same_plan = (phase == Phase::Load) == (question.phases == Phases::Load);
            match question.phases.include(phase) {
                true => Side::Judged,
                false if is_same_plan => Side::Beside,
                false => Side::Elsewhere,
            }
        };
        let always = Window { from: Nanos::ZERO, until: Nanos::NEVER };
        Judge {
            window: question.window.unwrap_or(always),
            sides: Phase::ALL.map(side),
            clock: SlotClock::new(origin),
            kinds: Default::default(),
            intervals: Intervals::new(origin, question.interval),
            bins: Bins::new(origin),
            open: Open::default(),
            transactions: Vec::new(),
            open_processes: Open::default(),
            whole_processes: Account::default(),
            has_several: false,
            has_lone: false,
            queries: Vec::new(),
            requests: Vec::new(),
            verified: [0; Verified::ALL.len()],
            verify_time: Strand::default(),
            excluded: [0; Phase::ALL.len()],
            backward_times: 0,
            offered: 0,
            processes: 0,
            first_intended: Nanos::NEVER,
            last_ended: Nanos::ZERO,
            question,
        }
    }

    /// Takes the next records of a lane.
    pub fn push(&mut self, records: &[Record]) {
        for record in records {
            let side = self.sides[record.phase as usize];
            if self.is_traffic(side) {
                let account = &mut self.kinds[record.kind as usize];
                account.traffic.add(self.window, Span::of(record), Ending::of(record));
            }
            if record.transaction_type != 0 && side != Side::Elsewhere {
                self.add_to_transaction(record);
            }
            if record.statement != 0 {
                self.add_to_query(record, side);
            }
            if self.question.processes == Processes::Judged && side != Side::Elsewhere {
                self.add_to_process(record);
            }
            if side == Side::Judged {
                self.add(record);
            } else {
                self.excluded[record.phase as usize] += 1;
            }
        }
    }

    /// Whether records of this side count towards rates, as far as they lie in the window.
    #[inline]
    fn is_traffic(&self, side: Side) -> bool {
        side == Side::Judged || side == Side::Beside && self.question.window.is_some()
    }

    #[inline]
    fn add(&mut self, record: &Record) {
        let span = Span::of(record);
        let times = span.times();
        self.offered += 1;
        self.has_lone |= record.transaction_type == 0;
        // The last operation of its first transaction stands for the process.
        self.processes += u64::from(record.transaction == 0 && record.ends_transaction);
        self.backward_times += u64::from(!span.is_forward());
        self.first_intended = self.first_intended.min(record.intended);
        self.last_ended = self.last_ended.max(record.ended);
        let slot = self.slot(record.intended);
        let account = &mut self.kinds[record.kind as usize];
        account.add(slot, Ending::of(record), times, Moved::by(record));
        self.intervals.add(record, times);
        self.bins.add(span, record.outcome);
        if record.verified != Verified::No {
            self.verified[record.verified as usize] += 1;
            self.verify_time.add(slot, Nanos(u64::from(record.verify_ns)));
        }
    }

    #[inline]
    fn slot(&mut self, intended: Nanos) -> usize {
        let slot = self.clock.slot(intended);
        if slot < crate::tally::SLOTS as u64 {
            return slot as usize;
        }
        self.double_slots(self.clock.doublings(intended));
        self.clock.slot(intended) as usize
    }

    #[cold]
    fn double_slots(&mut self, times: u32) {
        self.clock.double(times);
        let named = self.transactions.iter_mut().chain(&mut self.queries);
        let more = named.map(|(_, account)| account).chain([&mut self.whole_processes]);
        for account in self.kinds.iter_mut().chain(more) {
            account.double(times);
        }
        self.verify_time.double(times);
    }

    /// Counts the transaction of `record` if that is its last.
    #[inline(never)]
    fn add_to_transaction(&mut self, record: &Record) {
        let Some(mut transaction) = self.open.add(record) else { return };
        self.settle_ending(&mut transaction);
        let side = self.sides[transaction.phase as usize];
        let is_judged = side == Side::Judged;
        let is_traffic = self.is_traffic(side);
        let slot = if is_judged { self.slot(transaction.span.intended) } else { 0 };
        let account = account_of(&mut self.transactions, transaction.number);
        if is_traffic {
            account.traffic.add(self.window, transaction.span, transaction.ending);
        }
        if is_judged {
            let times = transaction.span.times();
            account.add(slot, transaction.ending, times, transaction.moved);
        }
    }

    /// A transaction of queries that came to its end is what its user wanted, whatever its queries
    /// found: that an item is missing may be why it was rolled back. One that failed after it had
    /// written is unknown where the store undoes nothing: part of it happened.
    fn settle_ending(&self, transaction: &mut Transaction) {
        let ending = &mut transaction.ending;
        let is_kept = self.question.atomicity == Atomicity::BestEffort && transaction.has_written;
        if is_kept && ending.outcome != Outcome::Done {
            ending.outcome = Outcome::Unknown;
        }
        if !self.question.queries.is_empty() {
            let is_done = ending.outcome == Outcome::Done;
            (ending.found, ending.good) = (is_done, is_done);
        }
    }

    /// Counts `record` among those of its query.
    fn add_to_query(&mut self, record: &Record, side: Side) {
        let slot = if side == Side::Judged { self.slot(record.intended) } else { 0 };
        let place = place_of(&mut self.queries, record.statement);
        self.requests.resize(self.queries.len(), 0);
        let (span, ending) = (Span::of(record), Ending::of(record));
        if self.is_traffic(side) {
            self.queries[place].1.traffic.add(self.window, span, ending);
        }
        if side == Side::Judged {
            self.requests[place] += u64::from(record.requests);
            self.queries[place].1.add(slot, ending, span.times(), Moved::by(record));
        }
    }

    /// Counts the process of `record` if that is its last.
    fn add_to_process(&mut self, record: &Record) {
        self.has_several |= record.transaction > 0;
        // A process is put together as a transaction is, of all that it asked.
        let part = Record {
            transaction: 0,
            transaction_type: 0,
            ends_transaction: record.ends_process,
            ..*record
        };
        let Some(mut process) = self.open_processes.add(&part) else { return };
        self.settle_ending(&mut process);
        let side = self.sides[process.phase as usize];
        let slot = if side == Side::Judged { self.slot(process.span.intended) } else { 0 };
        if self.is_traffic(side) {
            self.whole_processes.traffic.add(self.window, process.span, process.ending);
        }
        if side == Side::Judged {
            self.whole_processes.add(slot, process.ending, process.span.times(), process.moved);
        }
    }

    /// Takes over what `other` has seen.
    ///
    /// # Panics
    /// If the two were asked different questions.
    pub fn merge(&mut self, mut other: Judge) {
        assert!(self.question == other.question, "merged judges must have the same question");
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
        let seen = Window { from: first, until: self.last_ended };
        let window = self.question.window.unwrap_or(seen);
        let duration = window.duration();
        // Load models speak of processes, rates of operations.
        let operations = match self.processes {
            0 => 1.0,
            processes => self.offered as f64 / processes as f64,
        };
        let target = self.question.load.target().map(|rate| rate * operations);
        let mut all = Account::default();
        self.kinds.iter().for_each(|account| all.merge(account));
        if let Some(window) = self.question.window {
            self.intervals.reach(window.until);
        }
        let series = self.intervals.finish(self.question.window.is_some());
        let pairs = || Kind::ALL.into_iter().zip(&self.kinds);
        let ratios = pairs().filter_map(|(kind, account)| Some((kind, account.success_ratio()?)));
        let ratios = (all.success_ratio().unwrap_or(1.0), ratios.collect());
        let is_offered = |(kind, account): (Kind, &Account)| {
            (account.offered() > 0).then(|| (kind, account.finish(duration, None)))
        };
        Summary {
            load: self.question.load,
            window,
            duration,
            span: seen.duration(),
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
            in_flight: self.in_flight(&all.traffic, duration, &series),
            availability: self.bins.finish(window, &series, ratios),
            overall: all.finish(duration, target),
            series,
            backward_times: self.backward_times,
        }
    }

    /// Four ways to count the same arrivals.
    fn is_balanced(&self, accounted: u64) -> bool {
        let expected = self.question.expected.unwrap_or(self.offered);
        self.offered == accounted
            && self.offered == expected
            && self.intervals.totals() == (self.offered, self.offered)
    }

    fn finish_transactions(&self, duration: Nanos) -> Vec<Transactions> {
        let mut numbers: Vec<u16> = self.transactions.iter().map(|(number, _)| *number).collect();
        numbers.extend(self.open.numbers());
        numbers.sort_unstable();
        numbers.dedup();
        let names = &self.question.transaction_types;
        let counted = |number: u16| {
            let account = self.transactions.iter().find(|(of, _)| *of == number);
            let group = match account {
                Some((_, account)) => account.finish(duration, None),
                None => Account::default().finish(duration, None),
            };
            let judged = |phase: Phase| self.sides[phase as usize] == Side::Judged;
            let unfinished = self.open.unfinished(number, judged);
            let name = names.get(usize::from(number)).cloned().unwrap_or_default();
            let is_offered = group.counts.offered + unfinished > 0;
            is_offered.then_some(Transactions { number, name, group, unfinished })
        };
        numbers.into_iter().filter_map(counted).collect()
    }

    fn finish_all_transactions(&self, duration: Nanos) -> Option<Group> {
        let mut all = Account::default();
        self.transactions.iter().for_each(|(_, account)| all.merge(account));
        // The target is a rate of processes.
        let target = self.question.load.target().filter(|_| !self.has_several);
        let is_offered = !self.queries.is_empty() && !self.has_lone && all.offered() > 0;
        is_offered.then(|| all.finish(duration, target))
    }

    fn finish_queries(&self, duration: Nanos) -> Vec<Queried> {
        let finished = |((number, account), requests): (&(u16, Account), &u64)| {
            let group = account.finish(duration, None);
            let asked = group.counts.offered - group.counts.dropped;
            let name = self.question.queries.get(usize::from(*number) - 1);
            (group.counts.offered > 0).then(|| Queried {
                number: *number,
                name: name.cloned().unwrap_or_default(),
                group,
                requests_mean: if asked > 0 { *requests as f64 / asked as f64 } else { 0.0 },
            })
        };
        let mut queries: Vec<Queried> =
            self.queries.iter().zip(&self.requests).filter_map(finished).collect();
        queries.sort_unstable_by_key(|query| query.number);
        queries
    }

    fn finish_processes(&self, duration: Nanos) -> Option<Transactions> {
        let judged = |phase: Phase| self.sides[phase as usize] == Side::Judged;
        let unfinished = self.open_processes.unfinished(0, judged);
        let group = self.whole_processes.finish(duration, None);
        // Where each process is one transaction, all of this has been told already.
        let is_more = self.has_several && group.counts.offered + unfinished > 0;
        let name = "process".to_owned();
        is_more.then_some(Transactions { number: 0, name, group, unfinished })
    }

    fn in_flight(&self, traffic: &Traffic, duration: Nanos, series: &Series) -> InFlight {
        let limit = self.question.load.limit().map(|limit| limit as f64);
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

fn account_of(accounts: &mut Vec<(u16, Account)>, number: u16) -> &mut Account {
    let place = place_of(accounts, number);
    &mut accounts[place].1
}

fn place_of(accounts: &mut Vec<(u16, Account)>, number: u16) -> usize {
    accounts.iter().position(|(of, _)| *of == number).unwrap_or_else(|| {
        accounts.push((number, Account::default()));
        accounts.len() - 1
    })
}

fn add_each(into: &mut [u64], from: &[u64]) {
    into.iter_mut().zip(from).for_each(|(mine, theirs)| *mine += theirs);
}

/// Judges the measured part of `records` (or the load, if nothing was measured) without knowing
/// more than what they say.
pub fn judge(records: &[Record]) -> Summary {
    let has = |phase| records.iter().any(|record| record.phase == phase);
    let phases = match (has(Phase::Measure), has(Phase::Load)) {
        (true, _) => Phases::Measure,
        (false, true) => Phases::Load,
        (false, false) => Phases::All,
    };
    let judged = records.iter().filter(|record| phases.include(record.phase));
    let origin = judged.map(|record| record.intended).min().unwrap_or(Nanos::ZERO);
    let mut judge = Judge::starting_at(Question { phases, ..Question::default() }, origin);
    judge.push(records);
    judge.finish()
}
