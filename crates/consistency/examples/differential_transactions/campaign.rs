//! One comparison of verdicts, and what may differ.

use std::collections::BTreeMap;

use assay_consistency::transaction::{TransactionReport, implied, judge};
use assay_consistency::verdict::Edges;
use assay_consistency::{
    Anomaly, ClockError, Limitation, Quality, QualityVerdict, TransactionHistory, TransactionStep,
    WrittenValue,
};
use assay_model::Outcome;

use crate::brute::{Axioms, Trial, Visibility};
use crate::engine::{Engine, Plan, Records, history};
use crate::foreign;

/// Why adya 0.1.0 may differ, each reason checked in every case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    /// adya, as Elle, does not order a session's transaction before one of unknown outcome that
    /// follows it, though that one began later; nor does it use which version of a register such a
    /// one replaced, if only the first. Without these two ours says the same, or no order of all
    /// transactions explains the history.
    Unknown,
    /// A transaction reads a record twice and sees two versions. adya takes the first of them
    /// alone, beside calling it internal; ours draws edges from both, so that PL-2 and PL-2.99,
    /// of which internal says nothing, can show a cycle.
    RepeatedRead,
    /// adya does not look for elements that nobody appended, and takes them for versions, so that
    /// edges end there. Ours calls them a violation of each level, and its edges skip them.
    Garbage,
}

/// What a campaign saw.
#[derive(Default)]
pub struct Counts {
    pub histories: u64,
    /// Verdicts compared, and how many of them were violations, per oracle.
    pub compared: BTreeMap<&'static str, (u64, u64)>,
    /// Histories that were too large to try all orders.
    pub skipped: u64,
    pub differences: BTreeMap<Difference, u64>,
    /// Disagreements, as text with the plan and seed.
    pub disagreements: Vec<String>,
}

/// All plans of small histories: `number` chooses one, and its seed.
pub fn plan(number: u64) -> Plan {
    let mut rest = number;
    let mut choose = |choices: u64| {
        let choice = rest % choices;
        rest /= choices;
        choice
    };
    Plan {
        engine: Engine::ALL[choose(8) as usize],
        records: [
            Records::Lists,
            Records::Lists,
            Records::Lists,
            Records::ReadBeforeWrite,
            Records::Told,
            Records::Blind,
        ][choose(6) as usize],
        transactions: 2 + choose(5),
        sessions: 1 + choose(4),
        keys: 1 + choose(3),
        steps_max: 1 + choose(4),
        aborted: [0, 15][choose(2) as usize],
        unknown: [0, 20][choose(2) as usize],
        has_final_read: choose(2) == 0,
    }
}

/// A number that is spread over all plans, so that few histories cover many of them.
pub fn spread(number: u64) -> u64 {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 24
}

/// A history that is judged several times.
#[derive(Clone, Copy)]
struct Case<'a> {
    history: &'a TransactionHistory,
    report: &'a TransactionReport,
    plan: Plan,
    place: &'a str,
}

impl Counts {
    /// Judges history `number` and compares it with whatever can judge it too.
    pub fn compare(&mut self, number: u64) {
        let plan = plan(number);
        let history = history(plan, number);
        let report = judge(&history, &ClockError::NONE);
        self.histories += 1;
        let place = format!("number {number}, {plan:?}");
        let case = Case { history: &history, report: &report, plan, place: &place };
        if plan.records != Records::Lists {
            self.against_axioms(case);
        }
        if [Records::Lists, Records::ReadBeforeWrite].contains(&plan.records) {
            self.against_adya(case);
        }
        self.against_orders(case);
        self.metamorphic(case);
    }

    fn note(&mut self, oracle: &'static str, is_violated: bool) {
        let (compared, violated) = self.compared.entry(oracle).or_default();
        *compared += 1;
        *violated += u64::from(is_violated);
    }

    fn against_adya(&mut self, case: Case<'_>) {
        let Case { history, report, plan: Plan { records, .. }, place } = case;
        let oracle = if records == Records::Lists { "adya, lists" } else { "adya, registers" };
        for (quality, theirs) in foreign::verdicts(history, records) {
            let ours = report.violates(quality);
            self.note(oracle, ours);
            if ours == theirs {
                continue;
            }
            match difference(history, report, quality, theirs) {
                Some(difference) => *self.differences.entry(difference).or_default() += 1,
                None => {
                    let names = foreign::names(history, records);
                    self.disagree(oracle, quality.name(), ours, &format!("{place} {names:?}"));
                }
            }
        }
    }

    fn disagree(&mut self, oracle: &str, what: &str, ours: bool, place: &str) {
        self.disagreements.push(format!("{oracle}: {what}, ours {ours}: {place}"));
    }

    fn against_axioms(&mut self, case: Case<'_>) {
        let Case { history, report, plan: Plan { records, .. }, place } = case;
        let is_other = |one: &Anomaly| report.count(*one, Edges::Data) > 0;
        let others = [
            Anomaly::Internal,
            Anomaly::AbortedRead,
            Anomaly::IntermediateRead,
            Anomaly::FutureRead,
            Anomaly::GarbageRead,
        ];
        // Versions told by the store are an order that the axioms do not know.
        if others.iter().any(is_other) || records == Records::Told {
            return;
        }
        let Some(axioms) = Axioms::new(history) else { return };
        // The axioms do not know which version a transaction of unknown outcome replaced.
        let report = judge(&without_unknown_reads(history), &ClockError::NONE);
        let view = report.count(Anomaly::NonMonotonicView, Edges::Data) > 0
            || report.violates(Quality::ReadCommitted);
        for (visibility, ours) in [
            (Visibility::MonotonicView, view),
            (Visibility::Atomic, report.violates(Quality::ReadAtomic)),
            (Visibility::Causal, report.violates(Quality::Causal)),
        ] {
            self.note("axioms", ours);
            if axioms.hold(visibility) == ours {
                self.disagree("axioms", &format!("{visibility:?}"), ours, place);
            }
        }
    }

    fn against_orders(&mut self, case: Case<'_>) {
        let Case { history, report, plan: Plan { records, .. }, place } = case;
        // Of unknown transactions we use the version that a write replaced, no other read.
        let uses_all = records == Records::Lists || !has_unknown(history);
        for quality in LEVELS {
            let Some(holds) = holds(history, quality) else {
                self.skipped += 1;
                continue;
            };
            let ours = report.violates(quality);
            self.note("all orders", ours);
            // The store's versions are an order that not all orders respect.
            let is_unsound = ours && holds && records != Records::Told;
            let is_incomplete = !ours && !holds && is_assessable(report, quality, records);
            // Which of several unseen appends overlapped is not known, which snapshots forbid.
            let is_serial = implied(quality).contains(&Quality::Serializable);
            let must_find = uses_all && (is_serial || unseen_per_record(history) <= 1);
            if is_unsound || (is_incomplete && must_find) {
                self.disagree("all orders", quality.name(), ours, place);
            }
        }
    }

    /// Weaker levels, other names, wider times: verdicts that follow from verdicts.
    fn metamorphic(&mut self, case: Case<'_>) {
        let Case { history, report, plan: Plan { engine, .. }, place } = case;
        for quality in Quality::ALL.iter().filter(|quality| report.violates(**quality)) {
            for stronger in Quality::ALL.iter().filter(|one| implied(**one).contains(quality)) {
                let is_judged = report.findings.iter().any(|one| one.quality == *stronger);
                if is_judged && !report.violates(*stronger) {
                    self.disagree("lattice", stronger.name(), false, place);
                }
            }
        }
        if engine == Engine::Serial && !report.anomalies.is_empty() {
            self.disagree("serial", "any", true, place);
        }
        let other = judge(&renamed(history), &ClockError::NONE);
        let wider = judge(&widened(history), &ClockError::NONE);
        for finding in &report.findings {
            let (quality, ours) = (finding.quality, report.violates(finding.quality));
            if other.violates(quality) != ours {
                self.disagree("renamed", quality.name(), ours, place);
            }
            if wider.violates(quality) && !ours {
                self.disagree("widened", quality.name(), ours, place);
            }
        }
        self.note("metamorphic", !report.anomalies.is_empty());
    }
}

const LEVELS: [Quality; 6] = [
    Quality::Serializable,
    Quality::StrongSessionSerializable,
    Quality::StrictSerializable,
    Quality::SnapshotIsolation,
    Quality::StrongSessionSnapshotIsolation,
    Quality::StrongSnapshotIsolation,
];

/// Whether some order of all transactions shows that the level holds; nothing if there are too
/// many. Nothing for levels that are not defined by an order.
fn holds(history: &TransactionHistory, quality: Quality) -> Option<bool> {
    let edges = match quality {
        Quality::Serializable | Quality::SnapshotIsolation | Quality::RepeatableRead => Edges::Data,
        Quality::StrongSessionSerializable | Quality::StrongSessionSnapshotIsolation => {
            Edges::Session
        }
        Quality::StrictSerializable | Quality::StrongSnapshotIsolation => Edges::RealTime,
        _ => return None,
    };
    let mut trial = Trial::new(history);
    if implied(quality).contains(&Quality::RepeatableRead) {
        trial.is_serializable(edges)
    } else {
        trial.is_snapshot_isolated(edges)
    }
}

/// Why adya differs, if it is one of the known reasons.
fn difference(
    history: &TransactionHistory,
    report: &TransactionReport,
    quality: Quality,
    theirs: bool,
) -> Option<Difference> {
    let mut alone = without_unknown_reads(history);
    for (one, number) in alone.transactions.iter_mut().zip(1_000_000..) {
        if one.outcome == Outcome::Unknown {
            one.session = number;
        }
    }
    let is_same = judge(&alone, &ClockError::NONE).violates(quality) == theirs;
    if is_same || (has_unknown(history) && !theirs && holds(history, quality) == Some(false)) {
        return Some(Difference::Unknown);
    }
    if report.count(Anomaly::GarbageRead, Edges::Data) > 0 && !theirs {
        return Some(Difference::Garbage);
    }
    let is_weak = [Quality::ReadCommitted, Quality::RepeatableRead].contains(&quality);
    let is_repeated = report.count(Anomaly::Internal, Edges::Data) > 0;
    (is_weak && is_repeated && !theirs).then_some(Difference::RepeatedRead)
}

/// The same history without what transactions of unknown outcome read from registers.
fn without_unknown_reads(history: &TransactionHistory) -> TransactionHistory {
    let mut history = history.clone();
    for one in history.transactions.iter_mut().filter(|one| one.outcome == Outcome::Unknown) {
        one.steps.retain(|step| !matches!(step, TransactionStep::Read { .. }));
    }
    history
}

fn has_unknown(history: &TransactionHistory) -> bool {
    history.transactions.iter().any(|one| one.outcome == Outcome::Unknown)
}

/// Whether silence means something. Histories of single steps are judged all the same.
fn is_assessable(report: &TransactionReport, quality: Quality, records: Records) -> bool {
    let finding = report.findings.iter().find(|one| one.quality == quality);
    match finding.map(|finding| &finding.verdict) {
        Some(QualityVerdict::NotAssessable(Limitation::NoVersionOrder)) | None => false,
        Some(QualityVerdict::NotAssessable(_)) => records != Records::Blind,
        Some(_) => true,
    }
}

/// The most transactions with appends to the same list that nobody has read.
fn unseen_per_record(history: &TransactionHistory) -> usize {
    let done = history.transactions.iter().filter(|one| one.outcome == Outcome::Done);
    let mut seen: Vec<(u64, WrittenValue)> = Vec::new();
    for step in done.flat_map(|one| &one.steps) {
        if let TransactionStep::ReadList { key, elements: Some(elements) } = step {
            seen.extend(elements.iter().map(|element| (*key, *element)));
        }
    }
    let mut unseen: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for one in history.transactions.iter().filter(|one| one.outcome != Outcome::Refused) {
        for step in &one.steps {
            let TransactionStep::Append { key, element } = step else { continue };
            if !seen.contains(&(*key, *element)) {
                unseen.entry(*key).or_default().push(one.index);
            }
        }
    }
    let distinct = |mut all: Vec<u64>| {
        all.dedup();
        all.len()
    };
    unseen.into_values().map(distinct).max().unwrap_or(0)
}

/// The same history with other numbers for records, values and sessions.
fn renamed(history: &TransactionHistory) -> TransactionHistory {
    let mut history = history.clone();
    let value = |value: &mut WrittenValue| {
        if *value != WrittenValue::ABSENT {
            value.0 = 2_000_000_000 - value.0;
        }
    };
    for one in &mut history.transactions {
        one.session = !one.session;
        for step in &mut one.steps {
            match step {
                TransactionStep::Append { key, element } => {
                    *key = !*key;
                    value(element);
                }
                TransactionStep::Write { key, value: written, .. } => {
                    *key = !*key;
                    value(written);
                }
                TransactionStep::ReadList { key, elements } => {
                    *key = !*key;
                    elements.iter_mut().flatten().for_each(value);
                }
                TransactionStep::Read { key, value: read } => {
                    *key = !*key;
                    read.iter_mut().for_each(value);
                }
            }
        }
    }
    history
}

/// The same history with longer transactions; the order within sessions stays.
fn widened(history: &TransactionHistory) -> TransactionHistory {
    let mut history = history.clone();
    for one in &mut history.transactions {
        one.started.0 *= 4;
        one.ended.0 = 4 * one.ended.0 + 7;
    }
    history
}
