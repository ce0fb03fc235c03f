//! Verdicts on consistency: text, JSON, Markdown.

mod checks;
mod document;
mod json;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use assay_consistency::fmke::LISTS;
use assay_consistency::foreign::ForeignNames;
use assay_consistency::register::{
    LostWriteWindow, LostWrites, RegisterReport, RegisterStaleness, ViolationTimes,
};
use assay_consistency::self_test::self_test;
use assay_consistency::transaction::{AnomalyCount, TransactionReport};
use assay_consistency::validity::{
    HistoryEvidence, OutcomeCounts, VerdictCheck, VerdictCheckOutcome, check_verdicts,
};
use assay_consistency::{
    Access, AggregateAccess, AggregateOperation, Limitation, ObservedTransaction,
    PrescriptionAccess, PrescriptionOperation, Quality, QualityFinding, QualityVerdict,
    RegisterHistory, RegisterOperation, Seen, TransactionHistory, TransactionStep, Violations,
    Witness, WrittenValue,
};
use assay_model::{Nanos, Outcome, version};
use serde::{Deserialize, Serialize};

use crate::table::Table;
use crate::units::{Letters, count, duration, percent, plural};

pub use checks::check_text;
pub(crate) use checks::checks;
pub use document::document;
pub(crate) use json::ConsistencyObject;
pub use json::{SCHEMA, json};
pub(crate) use words::anomaly;
pub use words::limitation;

/// Verdicts on one history, with the operations that their witnesses name.
///
/// As data it has what is said of single records, so that verdicts on shares of them can be summed
/// up elsewhere ([`ConsistencyResult::merge`]).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConsistencyResult {
    /// The run directory or file.
    pub source: String,
    /// What it is, such as `ycsb-a on redis`.
    pub title: String,
    /// Operations on single records that were judged.
    pub operations: u64,
    /// Transactions that were judged.
    pub transactions: u64,
    /// The share of the records that were left out, as there are too many operations.
    pub share_left_out: f64,
    /// What the history holds beside them.
    pub seen: Seen,
    /// The verdicts.
    pub findings: Vec<QualityFinding>,
    /// How stale reads of single records were.
    pub staleness: RegisterStaleness,
    /// By how much intervals would have to grow in all until the history is linearizable.
    pub gamma: Nanos,
    /// By how much reads would have to start earlier.
    pub delta: Nanos,
    /// The acknowledged writes that were gone at the end.
    pub lost_writes: LostWrites,
    /// When violations happened.
    pub times: Vec<ViolationTimes>,
    /// The anomalies of transactions.
    #[serde(skip)]
    pub anomalies: Vec<AnomalyCount>,
    /// The violated qualities of transactions that imply no other violated one.
    #[serde(skip)]
    pub weakest_violated: Vec<Quality>,
    /// The operations of witnesses.
    pub witnessed: Vec<Witnessed>,
    /// What the checks of these verdicts looked at.
    pub evidence: HistoryEvidence,
    /// Whether the verdicts can be believed.
    #[serde(skip)]
    pub checks: Vec<VerdictCheck>,
    /// What another tool calls keys and values, if it recorded the history.
    #[serde(skip)]
    pub names: Option<ForeignNames>,
    /// The names of the nodes that operations have by number.
    pub nodes: Vec<String>,
    /// What a reader must know before believing it.
    pub warnings: Vec<String>,
}

/// Violations of one sort over time.
#[derive(Clone, Debug, PartialEq)]
pub struct ViolationClass {
    /// What they are called.
    pub name: &'static str,
    /// Seconds of the run's time with their numbers of violations, by time.
    pub per_second: Vec<(u64, u64)>,
    /// Whether there may have been more: only those that witnesses name are known by their time.
    pub is_lower_bound: bool,
}

/// What a witness names by its number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Witnessed {
    /// An operation on a single record.
    Operation(RegisterOperation),
    /// A transaction.
    #[serde(skip)]
    Transaction(ObservedTransaction),
    /// An operation on a set, a counter, accounts.
    #[serde(skip)]
    Aggregate(AggregateOperation),
    /// An operation on FMKe's prescriptions.
    #[serde(skip)]
    Prescription(PrescriptionOperation),
}

/// Classes of violations whose every moment is known.
const CLASSES: [(&str, &[Quality]); 3] = [
    (
        "session guarantees",
        &[
            Quality::MonotonicReads,
            Quality::MonotonicWrites,
            Quality::ReadYourWrites,
            Quality::WritesFollowReads,
        ],
    ),
    ("not linearizable", &[Quality::Linearizable]),
    ("garbage, lost writes", &[Quality::NoGarbageReads, Quality::NoLostWrites]),
];

/// Witnesses of one quality that a text shows; JSON has all.
const SHOWN: usize = 2;
/// Lost writes, and windows of them, that a text names.
const LOST_SHOWN: usize = 10;
/// Lost writes that JSON has.
const LOST_KEPT: usize = 1000;

impl ConsistencyResult {
    /// Adds the verdicts on single records.
    pub fn add_registers(&mut self, history: &RegisterHistory, report: RegisterReport) {
        self.add(&history.operations, |one| one.index, Witnessed::Operation, report.findings);
        self.operations = history.operations.len() as u64;
        self.evidence.add(&HistoryEvidence::of_registers(history));
        self.times.extend(report.times);
        self.staleness = report.staleness;
        self.gamma = report.gamma;
        self.delta = report.delta;
        self.lost_writes = report.lost_writes;
    }

    /// Adds the verdicts on transactions.
    pub fn add_transactions(&mut self, history: &TransactionHistory, report: TransactionReport) {
        self.add(&history.transactions, |one| one.index, Witnessed::Transaction, report.findings);
        self.transactions = history.transactions.len() as u64;
        self.evidence.add(&HistoryEvidence::of_transactions(history));
        self.anomalies = report.anomalies;
        self.weakest_violated = report.weakest_violated;
    }

    /// Adds the verdicts on sets, counters, accounts.
    pub fn add_aggregates(
        &mut self,
        operations: &[AggregateOperation],
        findings: Vec<QualityFinding>,
    ) {
        self.add(operations, |one| one.index, Witnessed::Aggregate, findings);
        self.operations += operations.len() as u64;
        self.evidence.add(&HistoryEvidence::of_aggregates(operations));
    }

    /// Adds the verdicts on FMKe's prescriptions.
    pub fn add_prescriptions(
        &mut self,
        operations: &[PrescriptionOperation],
        findings: Vec<QualityFinding>,
    ) {
        self.add(operations, |one| one.index, Witnessed::Prescription, findings);
        self.operations += operations.len() as u64;
        self.evidence.add(&HistoryEvidence::of_prescriptions(operations));
    }

    /// Adds verdicts, with the operations that their witnesses name by `index`.
    fn add<T: Clone>(
        &mut self,
        operations: &[T],
        index: fn(&T) -> u64,
        witnessed: fn(T) -> Witnessed,
        findings: Vec<QualityFinding>,
    ) {
        let witnesses = findings.iter().filter_map(violations).flat_map(|all| &all.witnesses);
        let named: BTreeSet<u64> = witnesses.flat_map(|one| one.operations.clone()).collect();
        let named = operations.iter().filter(|one| named.contains(&index(one))).cloned();
        self.witnessed.extend(named.map(witnessed));
        self.findings.extend(findings);
    }

    /// Whether only a sample of the records was judged.
    pub fn is_sample(&self) -> bool {
        self.share_left_out > 0.0
    }

    /// Adds the verdicts on other records of the same run.
    pub fn merge(&mut self, other: ConsistencyResult) {
        self.operations += other.operations;
        self.seen.merge(&other.seen);
        for (own, more) in self.findings.iter_mut().zip(other.findings) {
            own.merge(more);
        }
        for (own, more) in self.times.iter_mut().zip(&other.times) {
            own.merge(more);
        }
        self.staleness.merge(&other.staleness);
        self.gamma = self.gamma.max(other.gamma);
        self.delta = self.delta.max(other.delta);
        self.lost_writes.merge(other.lost_writes);
        self.witnessed.extend(other.witnessed);
        self.evidence.add(&other.evidence);
        self.check(self.evidence.is_whole && other.evidence.is_whole);
    }

    /// Checks whether the verdicts, all of which are there, can be believed; `is_whole` says that
    /// everything that was recorded was judged or counted.
    pub fn check(&mut self, is_whole: bool) {
        let evidence = &mut self.evidence;
        evidence.is_whole = is_whole;
        // What is said of our own runs is no doubt about them.
        evidence.odd = self.names.as_ref().map_or(0, |_| self.warnings.len() as u64);
        // The history leaves out what says nothing, such as reads of unknown outcome.
        let Seen { of_records, refused, unknown, .. } = self.seen;
        if of_records > 0 {
            let done = of_records.saturating_sub(refused + unknown);
            evidence.outcomes = OutcomeCounts { done, refused, unknown };
        }
        self.checks = check_verdicts(&self.findings, &self.evidence, &self_test());
    }

    /// The checks that make the silence about a quality worthless.
    pub fn undermined(&self, quality: Quality) -> impl Iterator<Item = &VerdictCheck> {
        self.checks.iter().filter(move |check| check.undermines.contains(&quality))
    }

    /// Leaves out lengths of time, where the history knows the order of moments only.
    pub fn forget_distances(&mut self) {
        self.staleness = RegisterStaleness::default();
        (self.gamma, self.delta) = (Nanos::ZERO, Nanos::ZERO);
        for finding in &mut self.findings {
            if let QualityVerdict::Violated(violations) = &mut finding.verdict {
                violations.witnesses.iter_mut().for_each(|one| one.margin = Nanos::ZERO);
            }
        }
    }

    /// Leaves out what needs real time, where the history knows the order of sessions only.
    pub fn forget_real_time(&mut self) {
        let needs_it = [
            Quality::Linearizable,
            Quality::TwoAtomic,
            Quality::StrongSnapshotIsolation,
            Quality::StrictSerializable,
        ];
        for finding in self.findings.iter_mut().filter(|one| needs_it.contains(&one.quality)) {
            finding.verdict = QualityVerdict::NotAssessable(Limitation::NoRealTime);
        }
    }

    /// The verdict on a quality, if it was judged.
    pub fn finding(&self, quality: Quality) -> Option<&QualityFinding> {
        self.findings.iter().find(|finding| finding.quality == quality)
    }

    /// When the lost writes of single records were acknowledged, if final reads looked for them.
    pub fn judged_losses(&self) -> Option<Vec<Nanos>> {
        let finding = self.finding(Quality::NoLostWrites)?;
        let is_judged = !matches!(finding.verdict, QualityVerdict::NotAssessable(_));
        // Sets know how many elements are lost, and the times of those that witnesses name.
        let is_of_records = self.staleness.reads > 0;
        let ended = || self.lost_writes.operations.iter().map(|write| write.ended).collect();
        (is_judged && is_of_records).then(ended)
    }

    /// Whether anything could be judged.
    pub fn is_judged(&self) -> bool {
        self.findings.iter().any(|finding| match &finding.verdict {
            QualityVerdict::Violated(_) => true,
            QualityVerdict::NoneFound(power) => power.opportunities > 0,
            QualityVerdict::NotAssessable(_) => false,
        })
    }

    /// The violations by class, over time. Only classes of which something was judged are listed.
    pub fn violation_classes(&self) -> Vec<ViolationClass> {
        let mut classes = Vec::new();
        if self.staleness.reads > 0 {
            classes.push(ViolationClass {
                name: "stale reads",
                per_second: self.staleness.stale_per_second.clone(),
                is_lower_bound: !self.staleness.is_exact,
            });
        }
        let is_judged = |quality: &Quality| {
            let finding = self.finding(*quality);
            finding.is_some_and(|one| !matches!(one.verdict, QualityVerdict::NotAssessable(_)))
        };
        for (name, qualities) in CLASSES {
            if qualities.iter().any(is_judged) {
                let per_second = self.violations_per_second(qualities);
                classes.push(ViolationClass { name, per_second, is_lower_bound: false });
            }
        }
        let mut of_transactions = self.findings.iter().filter(|one| one.quality >= Quality::Causal);
        if of_transactions.any(|one| is_judged(&one.quality)) {
            let per_second = self.witnessed_per_second();
            classes.push(ViolationClass { name: "isolation", per_second, is_lower_bound: true });
        }
        classes
    }

    fn violations_per_second(&self, qualities: &[Quality]) -> Vec<(u64, u64)> {
        let mut sums = BTreeMap::new();
        let of = self.times.iter().filter(|times| qualities.contains(&times.quality));
        for (second, number) in of.flat_map(|times| &times.per_second) {
            *sums.entry(*second).or_default() += number;
        }
        sums.into_iter().collect()
    }

    /// The anomalies of transactions that have witnesses, by the start of the last one of each.
    fn witnessed_per_second(&self) -> Vec<(u64, u64)> {
        let second = |one: &Witnessed| match one {
            Witnessed::Transaction(one) => Some((one.index, one.started.0 / 1_000_000_000)),
            _ => None,
        };
        let started: BTreeMap<u64, u64> = self.witnessed.iter().filter_map(second).collect();
        let mut sums = BTreeMap::new();
        for witness in self.anomalies.iter().flat_map(|anomaly| &anomaly.witnesses) {
            let seconds = witness.operations.iter().filter_map(|index| started.get(index));
            if let Some(second) = seconds.max() {
                *sums.entry(*second).or_default() += 1;
            }
        }
        sums.into_iter().collect()
    }

    /// The operations that `witness` of a verdict on `quality` names, in its order.
    fn operations_of(&self, quality: Quality, witness: &Witness) -> Vec<&Witnessed> {
        let of_transactions = quality >= Quality::Causal && self.transactions > 0;
        let find = |(place, index): (usize, &u64)| {
            let key = *witness.records.get(place).unwrap_or(&witness.key);
            self.witnessed.iter().find(|one| match one {
                Witnessed::Operation(operation) => {
                    !of_transactions && (operation.index, operation.key) == (*index, key)
                }
                Witnessed::Transaction(transaction) => {
                    of_transactions && transaction.index == *index
                }
                Witnessed::Aggregate(operation) => operation.index == *index,
                Witnessed::Prescription(operation) => operation.index == *index,
            })
        };
        witness.operations.iter().enumerate().filter_map(find).collect()
    }

    /// The name of the node that answered an operation, if it is known.
    pub(crate) fn node_name(&self, witnessed: &Witnessed) -> Option<&str> {
        let place = usize::from(witnessed.node()).checked_sub(1)?;
        self.nodes.get(place).map(String::as_str)
    }

    /// A key as its history calls it.
    fn key_name(&self, key: u64) -> String {
        let name = self.names.as_ref().and_then(|names| names.key(key));
        name.map_or_else(|| count(key), ToString::to_string)
    }

    /// A value as its history calls it, or by the operation that wrote it.
    fn value_name(&self, value: WrittenValue) -> String {
        let Some(names) = &self.names else { return value_name(value) };
        match value {
            WrittenValue::ABSENT => "nothing".to_owned(),
            value => names.value(value).map_or_else(|| "?".to_owned(), ToString::to_string),
        }
    }
}

fn violations(finding: &QualityFinding) -> Option<&Violations> {
    match &finding.verdict {
        QualityVerdict::Violated(violations) => Some(violations),
        _ => None,
    }
}

/// The checks of the verdicts that did not pass, a line each, then one for those that did.
pub(crate) fn check_lines(result: &ConsistencyResult, letters: Letters) -> Vec<String> {
    let is_passed = |check: &&VerdictCheck| check.outcome == VerdictCheckOutcome::Passed;
    let line = |check: &VerdictCheck| {
        let outcome = words::check_outcome(check.outcome);
        let (name, title) = (check.id.name(), words::check_title(check.id));
        format!("{name} {title}: {outcome}: {}", check_text(check, letters))
    };
    let mut lines: Vec<String> =
        result.checks.iter().filter(|check| !is_passed(check)).map(line).collect();
    let passed: Vec<&str> =
        result.checks.iter().filter(is_passed).map(|one| one.id.name()).collect();
    if !passed.is_empty() {
        lines.push(format!(
            "{} of {} passed: {}",
            passed.len(),
            result.checks.len(),
            passed.join(", ")
        ));
    }
    lines
}

/// The violated qualities in a line, each with the number of its violations; `None` if none is.
pub(crate) fn violated(result: &ConsistencyResult) -> Option<String> {
    let named = result.findings.iter().filter_map(|finding| {
        let violations = violations(finding)?;
        Some(format!("{} ({})", finding.quality.name(), count(violations.count)))
    });
    let named: Vec<String> = named.collect();
    (!named.is_empty()).then(|| named.join(", ") + &of_sample(result))
}

/// The qualities of which no violation was found, in a line; `None` if none could be judged.
pub(crate) fn silent(result: &ConsistencyResult) -> Option<String> {
    let silent = result.findings.iter().filter(|finding| match &finding.verdict {
        QualityVerdict::NoneFound(power) => power.opportunities > 0,
        _ => false,
    });
    let names: Vec<&str> = silent.map(|finding| finding.quality.name()).collect();
    (!names.is_empty()).then(|| names.join(", ") + &of_sample(result))
}

/// Which share of the records was judged, if not all were.
fn of_sample(result: &ConsistencyResult) -> String {
    match result.is_sample() {
        true => format!(" in {} of the records", percent(1.0 - result.share_left_out)),
        false => String::new(),
    }
}

pub(crate) fn verdicts(result: &ConsistencyResult, letters: Letters) -> Table {
    let opportunities = |verdict: &QualityVerdict| match verdict {
        QualityVerdict::Violated(all) => count(all.power.opportunities),
        QualityVerdict::NoneFound(power) => count(power.opportunities),
        QualityVerdict::NotAssessable(_) => String::new(),
    };
    let violated = |verdict: &QualityVerdict| match verdict {
        QualityVerdict::Violated(all) => count(all.count),
        QualityVerdict::NoneFound(_) => "0".to_owned(),
        QualityVerdict::NotAssessable(_) => String::new(),
    };
    let remark = |verdict: &QualityVerdict| match verdict {
        QualityVerdict::Violated(all) => {
            let margin = all.witnesses.iter().map(|witness| witness.margin).max();
            margin.map_or_else(String::new, |margin| by(margin, letters))
        }
        QualityVerdict::NoneFound(power) => {
            format!("at most {} of them (95 %)", percent(power.bound()))
        }
        QualityVerdict::NotAssessable(limitation) => words::limitation(*limitation).to_owned(),
    };
    Table::of(&result.findings)
        .left("quality", |finding| finding.quality.name())
        .left("verdict", |finding| words::verdict(&finding.verdict))
        .right("violations", |finding| violated(&finding.verdict))
        .right("opportunities", |finding| opportunities(&finding.verdict))
        .left("remark", |finding| remark(&finding.verdict))
        .build()
}

/// By how much a violation is one, if time has a part in it.
fn by(margin: Nanos, letters: Letters) -> String {
    match margin {
        Nanos::ZERO => String::new(),
        margin => format!("by up to {}", duration(margin, letters)),
    }
}

pub(crate) fn staleness(result: &ConsistencyResult, letters: Letters) -> Vec<String> {
    let staleness = &result.staleness;
    if staleness.stale_reads == 0 {
        return Vec::new();
    }
    let exact = match staleness.is_exact {
        true => "",
        false => ", or more: concurrent writes have no certain order",
    };
    let share = staleness.stale_reads as f64 / staleness.reads.max(1) as f64;
    let mut lines = vec![
        format!(
            "{} of {} reads missed an acknowledged write ({}){exact}",
            count(staleness.stale_reads),
            count(staleness.reads),
            percent(share),
        ),
        format!(
            "the stalest were {} behind, and {} old",
            plural(staleness.most_behind, "version"),
            duration(staleness.oldest, letters)
        ),
    ];
    let (mut reads, mut visible, mut points) = (0, 0, Vec::new());
    for bin in staleness.visibility.iter().rev() {
        reads += bin.reads;
        visible += bin.visible;
        points.push((bin.from, visible as f64 / reads as f64));
    }
    points.reverse();
    let visible_from = |share: &f64| {
        let (from, _) = points.iter().find(|(_, visible)| visible >= share)?;
        Some(format!("{} of reads from {} on", percent(*share), duration(*from, letters)))
    };
    let shares: Vec<String> = VISIBLE.iter().filter_map(visible_from).collect();
    if !shares.is_empty() {
        lines.push(format!("visible after the answer: to {}", shares.join(", ")));
    }
    if staleness.longest_window > Nanos::ZERO {
        let window = duration(staleness.longest_window, letters);
        lines.push(format!("the longest window in which a write was not seen by all: {window}"));
    }
    lines
}

/// When acknowledged writes were lost, and which: their records and times.
pub(crate) fn lost_writes(result: &ConsistencyResult) -> Vec<String> {
    let LostWrites { operations, windows } = &result.lost_writes;
    let moment = |at: Nanos| match at {
        Nanos::ZERO => "the load".to_owned(),
        at => precise(at),
    };
    let window = |window: &LostWriteWindow| {
        let (first, last) = (moment(window.first), moment(window.last));
        let writes = plural(window.writes, "write");
        match (window.first == window.last, window.last) {
            (true, Nanos::ZERO) => format!("{writes} gone of {first}"),
            (true, _) => format!("{writes} gone that had been acknowledged at {first}"),
            _ => format!("{writes} gone that had been acknowledged from {first} to {last}"),
        }
    };
    let write = |write: &RegisterOperation| {
        let record = result.key_name(write.key);
        let node = result.node_name(&Witnessed::Operation(*write));
        match write.index {
            u64::MAX => format!("record {record}: loaded"),
            index => format!(
                "record {record}: operation {} of session {}, {} to {}{}",
                count(index),
                count(u64::from(write.session)),
                precise(write.started),
                precise(write.ended),
                node.map_or_else(String::new, |node| format!(", answered by {node}")),
            ),
        }
    };
    let more = |all: usize, what: &str| {
        let left = all.saturating_sub(LOST_SHOWN) as u64;
        (left > 0).then(|| format!("{} more; --format json has them", plural(left, what)))
    };
    let mut lines: Vec<String> = windows.iter().take(LOST_SHOWN).map(window).collect();
    lines.extend(more(windows.len(), "window"));
    lines.extend(operations.iter().take(LOST_SHOWN).map(write));
    lines.extend(more(operations.len(), "write"));
    lines
}

/// Shares of reads for which a text says after what time they saw a write.
const VISIBLE: [f64; 3] = [0.9, 0.99, 0.999];

/// A quality with one of its witnesses, and the operations of that.
pub(crate) type ShownWitness<'a> = ((&'a QualityFinding, &'a Witness), Vec<&'a Witnessed>);

/// Some witnesses of each quality, but none twice: a read that nobody can explain breaks several.
pub(crate) fn witnesses<'a>(result: &'a ConsistencyResult) -> Vec<ShownWitness<'a>> {
    let mut shown: Vec<&Witness> = Vec::new();
    let mut all = Vec::new();
    for finding in &result.findings {
        let Some(violations) = violations(finding) else { continue };
        let is_new = |one: &&Witness| !shown.iter().any(|other| other.operations == one.operations);
        let fresh: Vec<&Witness> = violations.witnesses.iter().filter(is_new).take(SHOWN).collect();
        let named =
            |one: &&'a Witness| ((finding, *one), result.operations_of(finding.quality, one));
        all.extend(fresh.iter().map(named));
        shown.extend(fresh);
    }
    all
}

pub(crate) fn title(
    result: &ConsistencyResult,
    (finding, witness): (&QualityFinding, &Witness),
    letters: Letters,
) -> String {
    let margin = match witness.margin {
        Nanos::ZERO => String::new(),
        margin => format!(", by {}", duration(margin, letters)),
    };
    let anomaly = words::anomaly(witness.anomaly);
    let edges = words::edges_remark(witness.edges);
    let key = result.key_name(witness.key);
    format!("{}: {anomaly}{edges}, record {key}{margin}", finding.quality.name())
}

fn operations(result: &ConsistencyResult, operations: &[&Witnessed], letters: Letters) -> Table {
    let has_nodes = operations.iter().any(|one| result.node_name(one).is_some());
    let names_record = are_of_several_records(operations);
    let rows = operations.iter().map(|one| (one, cells(result, one, names_record, letters)));
    Table::of(rows)
        .right("operation", |(_, [operation, ..])| operation.clone())
        .right("session", |(_, [_, session, ..])| session.clone())
        .left("did", |(_, [_, _, did, ..])| did.clone())
        .right("started", |(_, [.., started, _])| started.clone())
        .right("ended", |(_, [.., ended])| ended.clone())
        .left_if(has_nodes, "node", |(one, _)| result.node_name(one).unwrap_or_default())
        .build()
}

/// Whether these are about more than one record.
pub(crate) fn are_of_several_records(operations: &[&Witnessed]) -> bool {
    let key = |one: &&Witnessed| match one {
        Witnessed::Operation(one) => Some(one.key),
        _ => None,
    };
    operations.windows(2).any(|two| key(&two[0]) != key(&two[1]))
}

/// An operation's number, session, what it did (with its record if asked for), its start and its
/// end.
pub(crate) fn cells(
    result: &ConsistencyResult,
    witnessed: &Witnessed,
    names_record: bool,
    letters: Letters,
) -> [String; 5] {
    let (index, session, did) = match witnessed {
        Witnessed::Operation(one) if names_record => {
            let record = result.key_name(one.key);
            (one.index, one.session, format!("record {record}: {}", did(result, one, letters)))
        }
        Witnessed::Operation(one) => (one.index, one.session, did(result, one, letters)),
        Witnessed::Transaction(one) => (one.index, one.session, steps(result, &one.steps)),
        Witnessed::Aggregate(one) => (one.index, one.session, aggregate(result, &one.access)),
        Witnessed::Prescription(one) => (one.index, one.session, prescription(&one.access)),
    };
    if index == u64::MAX {
        return [String::new(), String::new(), did, "before the run".to_owned(), String::new()];
    }
    let (started, ended, outcome) = witnessed.times();
    let ended = match outcome {
        Outcome::Done => precise(ended),
        other => other.name().to_owned(),
    };
    [count(index), count(u64::from(session)), did, precise(started), ended]
}

impl Witnessed {
    /// Start, end and outcome.
    pub(crate) fn times(&self) -> (Nanos, Nanos, Outcome) {
        match self {
            Witnessed::Operation(one) => (one.started, one.ended, one.outcome),
            Witnessed::Transaction(one) => (one.started, one.ended, one.outcome),
            Witnessed::Aggregate(one) => (one.started, one.ended, one.outcome),
            Witnessed::Prescription(one) => (one.started, one.ended, one.outcome),
        }
    }

    /// The number of the node that answered; 0 if nobody said.
    pub(crate) fn node(&self) -> u8 {
        match self {
            Witnessed::Operation(one) => one.node,
            Witnessed::Transaction(one) => one.node,
            Witnessed::Aggregate(one) => one.node,
            Witnessed::Prescription(one) => one.node,
        }
    }

    /// Whether it is the load before the run.
    pub(crate) fn is_load(&self) -> bool {
        matches!(self, Witnessed::Operation(operation) if operation.index == u64::MAX)
    }

    /// Whether it wrote something.
    pub(crate) fn writes(&self) -> bool {
        match self {
            Witnessed::Operation(operation) => operation.access.writes(),
            Witnessed::Transaction(transaction) => transaction.steps.iter().any(|step| {
                matches!(step, TransactionStep::Write { .. } | TransactionStep::Append { .. })
            }),
            Witnessed::Aggregate(operation) => matches!(
                operation.access,
                AggregateAccess::Add(_) | AggregateAccess::Transfer { .. }
            ),
            Witnessed::Prescription(operation) => !matches!(
                operation.access,
                PrescriptionAccess::Read { .. } | PrescriptionAccess::ReadList { .. }
            ),
        }
    }
}

/// More steps of a transaction than a line has room for.
const STEPS: usize = 6;

fn steps(result: &ConsistencyResult, steps: &[TransactionStep]) -> String {
    let mut texts: Vec<String> = steps.iter().take(STEPS).map(|one| step(result, one)).collect();
    if steps.len() > STEPS {
        texts.push(format!("{} more", steps.len() - STEPS));
    }
    texts.join("; ")
}

fn step(result: &ConsistencyResult, step: &TransactionStep) -> String {
    let key = |key: &u64| result.key_name(*key);
    let value = |value: &WrittenValue| result.value_name(*value);
    match step {
        TransactionStep::Read { key: read, value: Some(seen) } => {
            format!("read {}: {}", key(read), value(seen))
        }
        TransactionStep::Write { key: written, value: new, .. } => {
            format!("wrote {}: {}", key(written), value(new))
        }
        TransactionStep::Append { key: list, element } => {
            format!("appended {} to {}", element_name(result, *element), key(list))
        }
        TransactionStep::ReadList { key: list, elements: Some(elements) } => {
            let last = last_of(elements, |one| element_name(result, *one));
            format!("read {}: {last}", key(list))
        }
        TransactionStep::Read { key: read, value: None }
        | TransactionStep::ReadList { key: read, elements: None } => {
            format!("read {}: unknown", key(read))
        }
    }
}

/// The kinds of lists of prescriptions, by their numbers.
const OWNERS: [&str; LISTS] = ["patient", "pharmacy", "staff"];

fn prescription(access: &PrescriptionAccess) -> String {
    let met = |found: &bool| if *found { "" } else { ": none" };
    match access {
        PrescriptionAccess::Create { prescription, owners: [patient, pharmacy, staff] } => {
            format!(
                "created prescription {prescription} of patient {patient}, pharmacy {pharmacy}, \
                 staff {staff}"
            )
        }
        PrescriptionAccess::Process { prescription, found } => {
            format!("processed prescription {prescription}{}", met(found))
        }
        PrescriptionAccess::AddDrugs { prescription, found } => {
            format!("added drugs to prescription {prescription}{}", met(found))
        }
        PrescriptionAccess::Read { prescription, found } => {
            format!("read prescription {prescription}{}", met(found))
        }
        PrescriptionAccess::ReadList { list: (kind, owner), entries, processed } => {
            let which = if *processed { "processed " } else { "" };
            let kind = OWNERS[usize::from(*kind)];
            format!("read {which}list of {kind} {owner}: {}", last_of(entries, u64::to_string))
        }
    }
}

fn aggregate(result: &ConsistencyResult, access: &AggregateAccess) -> String {
    match access {
        AggregateAccess::Add(element) => format!("added {}", element_name(result, *element)),
        AggregateAccess::Transfer { from, to, amount } => {
            let (from, to) = (result.key_name(*from), result.key_name(*to));
            format!("moved {amount} from {from} to {to}")
        }
        AggregateAccess::Elements(elements) => {
            format!("read {}", last_of(elements, |one| element_name(result, *one)))
        }
        AggregateAccess::Sum(sum) => format!("read {sum}"),
        AggregateAccess::Balances(balances) => {
            let sum: i128 =
                balances.iter().filter_map(|(_, balance)| *balance).map(i128::from).sum();
            let shown = balances.iter().take(ELEMENTS);
            let shown: Vec<String> = shown
                .map(|(_, balance)| balance.map_or("nothing".to_owned(), |one| one.to_string()))
                .collect();
            let dots = if balances.len() > ELEMENTS { " .." } else { "" };
            format!("read {}{dots}, in all {sum}", shown.join(" "))
        }
        AggregateAccess::UnknownRead => "read: unknown".to_owned(),
    }
}

/// The last elements of a list that a line shows.
const ELEMENTS: usize = 8;

/// `[.. 7 8 9]`: the end of a list.
fn last_of<T>(elements: &[T], name: impl Fn(&T) -> String) -> String {
    let skipped = elements.len().saturating_sub(ELEMENTS);
    let dots = if skipped > 0 { ".. " } else { "" };
    let names: Vec<String> = elements[skipped..].iter().map(name).collect();
    format!("[{dots}{}]", names.join(" "))
}

/// Seconds of the run's axis to the microsecond: windows of stale reads are short.
fn precise(at: Nanos) -> String {
    format!("{:.6} s", at.as_secs_f64())
}

fn did(result: &ConsistencyResult, one: &RegisterOperation, letters: Letters) -> String {
    let name = |value: WrittenValue| result.value_name(value);
    let is_own = |value: WrittenValue| {
        result.names.is_none() && value.0.checked_sub(version::RUN) == Some(one.index)
    };
    match one.access {
        Access::Read(WrittenValue::ABSENT) => "read: no record".to_owned(),
        Access::Read(value) => format!("read {}", name(value)),
        Access::Write(value) if is_own(value) => "wrote its own value".to_owned(),
        Access::Write(value) => format!("wrote {}", name(value)),
        Access::ReadThenWrite { read, written } => {
            let arrow = letters.pick("→", "->");
            format!("read {} {arrow} wrote {}", name(read), name(written))
        }
    }
}

/// An element of a list or a set: by the number of the operation that wrote it.
fn element_name(result: &ConsistencyResult, element: WrittenValue) -> String {
    match element {
        WrittenValue(number) if result.names.is_none() && is_of_run(number) => {
            (number - version::RUN).to_string()
        }
        other => result.value_name(other),
    }
}

/// Whether an operation of the run wrote it.
fn is_of_run(number: u64) -> bool {
    (version::RUN..version::END).contains(&number)
}

/// A value by the operation that wrote it.
fn value_name(value: WrittenValue) -> String {
    match value {
        WrittenValue::ABSENT => "nothing".to_owned(),
        WrittenValue::GARBAGE => "a value without a version".to_owned(),
        WrittenValue(number) if is_of_run(number) => {
            format!("what operation {} wrote", count(number - version::RUN))
        }
        WrittenValue(number) => format!("what was loaded ({})", count(number)),
    }
}

#[cfg(test)]
pub(crate) mod tests;
