//! Judgement of a history of transactions: a finding per quality, from counted anomalies.

use assay_model::{Nanos, Outcome};
use serde::{Deserialize, Serialize};

use crate::clock::ClockError;
use crate::quality::Quality;
use crate::transaction::facts::Facts;
use crate::transaction::graph::{Graph, sort};
use crate::transaction::levels::{JUDGED, implied, violated_by};
use crate::transaction::log::{AnomalyCount, Log};
use crate::transaction::order::{Dependencies, end};
use crate::transaction::weak::Suspects;
use crate::transaction::{TransactionHistory, cycles, lists, registers, weak};
use crate::verdict::{
    Anomaly, Edges, Limitation, QualityFinding, QualityVerdict, VerdictPower, VersionOrder,
    Violations, Witness,
};

/// What a history of transactions shows.
#[derive(Clone, Debug, PartialEq)]
pub struct TransactionReport {
    /// One finding per quality of transactions but the constant total, the weak ones first.
    pub findings: Vec<QualityFinding>,
    /// All anomalies that were found.
    pub anomalies: Vec<AnomalyCount>,
    /// The violated qualities that imply no other violated one.
    pub weakest_violated: Vec<Quality>,
}

impl TransactionReport {
    /// Whether the history violates this quality.
    pub fn violates(&self, quality: Quality) -> bool {
        let is_violated = |one: &QualityFinding| matches!(one.verdict, QualityVerdict::Violated(_));
        self.findings.iter().any(|finding| finding.quality == quality && is_violated(finding))
    }

    /// How often an anomaly was found by edges of these sorts.
    pub fn count(&self, anomaly: Anomaly, edges: Edges) -> u64 {
        let same = |one: &&AnomalyCount| one.anomaly == anomaly && one.edges == edges;
        self.anomalies.iter().find(same).map_or(0, |one| one.count)
    }
}

/// What the findings are made of, beside anomalies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Evidence {
    pub committed: u64,
    pub unknown: u64,
    pub reads: u64,
    pub read_several: u64,
    pub replaced: u64,
    pub anti_dependencies: u64,
    pub of_session: u64,
    pub after_others: u64,
    pub has_several_steps: bool,
    pub has_registers: bool,
    pub unordered: u64,
    pub order: Option<VersionOrder>,
    /// The levels that need no version order were judged only as far as there is one.
    pub needs_order: bool,
    pub has_too_many_sessions: bool,
    pub are_clocks_too_bad: bool,
}

/// Judges all transactional qualities of a history but the constant total, which
/// [`judge_aggregates`](crate::aggregate::judge_aggregates) judges.
///
/// Time: O(n log n) in steps, elements of lists and edges without anomalies; O(n^1.5) with them.
/// Memory: about 400 bytes per transaction of three steps, beside the history; see `weak` for
/// causal. Up to 2^29 transactions.
pub fn judge(history: &TransactionHistory, clocks: &ClockError) -> TransactionReport {
    let mut log = Log::new(history);
    let facts = Facts::new(history, &mut log);
    if facts.has_duplicates {
        return without_verdict(Limitation::DuplicateValues);
    }
    let mut dependencies = Dependencies::new(history);
    if !dependencies.is_committed.contains(&true) {
        return without_verdict(Limitation::NothingKnown);
    }
    link_records(&facts, &mut dependencies, &mut log);
    let of_session = dependencies.link_sessions();
    let after_others = dependencies.link_real_time(clocks);
    let anti_dependencies = dependencies.edges.iter().filter(|edge| edge.sort == sort::RW).count();
    let graph = Graph::new(dependencies.nodes(), &dependencies.edges);
    let is_on_cycle = cycles::check(&graph, &dependencies, &facts.keys, &mut log);
    drop(graph);
    let suspects = match dependencies.unordered {
        0 => Suspects::OnCycles(&is_on_cycle),
        _ => Suspects::All,
    };
    // Strong-session serializable implies them, if the order of all versions is known.
    let is_implied = dependencies.unordered == 0 && !is_on_cycle.contains(&true);
    let is_causal_judged =
        is_implied || weak::check(&dependencies, suspects, &facts.keys, &mut log);
    let count = |outcome| history.transactions.iter().filter(|one| one.outcome == outcome).count();
    let evidence = Evidence {
        committed: dependencies.is_committed.iter().filter(|is| **is).count() as u64,
        unknown: count(Outcome::Unknown) as u64,
        reads: dependencies.reads.len() as u64,
        read_several: facts.read_several,
        replaced: facts.replaced,
        anti_dependencies: anti_dependencies as u64,
        of_session,
        after_others,
        has_several_steps: facts.of_several_steps > 0,
        has_registers: !(facts.writes.is_empty() && facts.reads.is_empty()),
        unordered: dependencies.unordered,
        order: Some(dependencies.order),
        needs_order: false,
        has_too_many_sessions: !is_causal_judged,
        are_clocks_too_bad: are_clocks_too_bad(history, clocks),
    };
    report(log.anomalies(), &evidence)
}

/// Observes every record, so that all that was seen is known, then links its versions.
pub(super) fn link_records(facts: &Facts, dependencies: &mut Dependencies, log: &mut Log) {
    let (lists, registers) = (lists::all(facts), registers::all(facts));
    lists.iter().for_each(|list| list.observe(dependencies, log));
    registers.iter().for_each(|register| register.observe(dependencies, log));
    lists.iter().for_each(|list| list.link(dependencies, log));
    registers.iter().for_each(|register| register.link(dependencies, log));
}

pub(super) fn without_verdict(limitation: Limitation) -> TransactionReport {
    let finding = |quality| QualityFinding {
        quality,
        order: VersionOrder::NotNeeded,
        verdict: QualityVerdict::NotAssessable(limitation),
    };
    let judged = JUDGED.into_iter().filter(|quality| *quality != Quality::ConstantTotal);
    TransactionReport {
        findings: judged.map(finding).collect(),
        anomalies: Vec::new(),
        weakest_violated: Vec::new(),
    }
}

/// The largest error is more than a quarter of the median transaction, and several clocks matter.
fn are_clocks_too_bad(history: &TransactionHistory, clocks: &ClockError) -> bool {
    let done = history.transactions.iter().filter(|one| one.outcome == Outcome::Done);
    let error = done.clone().map(|one| clocks.error(one.agent)).max().unwrap_or(Nanos::ZERO);
    let mut agents = done.clone().map(|one| one.agent);
    let first = agents.next();
    if error == Nanos::ZERO || agents.all(|agent| Some(agent) == first) {
        return false;
    }
    let mut lengths: Vec<Nanos> = done.map(|one| end(one).since(one.started)).collect();
    let middle = lengths.len() / 2;
    let (_, median, _) = lengths.select_nth_unstable(middle);
    error.0 > median.0 / 4
}

/// The findings that follow from these anomalies and this evidence.
pub(super) fn report(anomalies: Vec<AnomalyCount>, evidence: &Evidence) -> TransactionReport {
    let findings: Vec<QualityFinding> = JUDGED
        .into_iter()
        .filter(|quality| *quality != Quality::ConstantTotal)
        .map(|quality| finding(quality, &anomalies, evidence))
        .collect();
    let is_violated = |one: &&QualityFinding| matches!(one.verdict, QualityVerdict::Violated(_));
    let violated: Vec<Quality> =
        findings.iter().filter(is_violated).map(|finding| finding.quality).collect();
    let is_weakest = |quality: &&Quality| {
        let weaker = implied(**quality);
        weaker.iter().skip(1).all(|weaker| !violated.contains(weaker))
    };
    let weakest_violated = violated.iter().filter(is_weakest).copied().collect();
    TransactionReport { findings, anomalies, weakest_violated }
}

fn finding(quality: Quality, anomalies: &[AnomalyCount], evidence: &Evidence) -> QualityFinding {
    let power = VerdictPower {
        opportunities: evidence.opportunities(quality),
        judged: evidence.committed,
        unknown: evidence.unknown,
    };
    let violations = violations(quality, anomalies, power);
    let verdict = QualityVerdict::of(violations, evidence.limitation(quality));
    QualityFinding { quality, order: evidence.order(quality), verdict }
}

/// All violations of a quality; those of few edges and few transactions are the clearest.
fn violations(quality: Quality, anomalies: &[AnomalyCount], power: VerdictPower) -> Violations {
    let (mut count, mut witnesses) = (0, Vec::new());
    for one in anomalies.iter().filter(|one| violated_by(quality, one.anomaly, one.edges)) {
        count += one.count;
        witnesses.extend_from_slice(&one.witnesses);
    }
    witnesses.sort_by_key(|one: &Witness| (one.edges, one.anomaly, one.operations.len()));
    witnesses.truncate(Violations::WITNESSES);
    Violations { count, witnesses, power }
}

/// Whether the order of versions decides about a quality.
fn needs_order(quality: Quality) -> bool {
    implied(quality)
        .iter()
        .any(|one| [Quality::RepeatableRead, Quality::SnapshotIsolation].contains(one))
}

fn needs_real_time(quality: Quality) -> bool {
    [Quality::StrongSnapshotIsolation, Quality::StrictSerializable].contains(&quality)
}

impl Evidence {
    fn opportunities(&self, quality: Quality) -> u64 {
        match quality {
            Quality::NoGarbageReads | Quality::ReadCommitted => self.reads,
            Quality::ReadAtomic => self.read_several,
            Quality::NoLostUpdates => self.replaced,
            Quality::Causal
            | Quality::StrongSessionSnapshotIsolation
            | Quality::StrongSessionSerializable => self.of_session,
            Quality::StrongSnapshotIsolation | Quality::StrictSerializable => self.after_others,
            // A lost update would show as an anti-dependency between those that replace a version.
            _ => self.anti_dependencies + self.replaced,
        }
    }

    /// Why the silence about a quality says nothing.
    fn limitation(&self, quality: Quality) -> Option<Limitation> {
        // Single operations show these too: what a session, or everybody, saw before counts.
        let is_level = ![
            Quality::NoGarbageReads,
            Quality::NoLostUpdates,
            Quality::Causal,
            Quality::StrongSessionSerializable,
            Quality::StrictSerializable,
        ]
        .contains(&quality);
        if is_level && !self.has_several_steps {
            Some(Limitation::NoTransactions)
        } else if (needs_order(quality)
            || self.needs_order && implied(quality).contains(&Quality::ReadAtomic))
            && self.unordered > 0
        {
            Some(Limitation::NoVersionOrder)
        } else if implied(quality).contains(&Quality::Causal) && self.has_too_many_sessions {
            Some(Limitation::TooManySessions)
        } else if needs_real_time(quality) && self.are_clocks_too_bad {
            Some(Limitation::ClockError)
        } else {
            None
        }
    }

    fn order(&self, quality: Quality) -> VersionOrder {
        let is_used = match quality {
            Quality::NoGarbageReads | Quality::NoLostUpdates => false,
            Quality::ReadCommitted | Quality::ReadAtomic | Quality::Causal => !self.has_registers,
            _ => true,
        };
        self.order.filter(|_| is_used).unwrap_or(VersionOrder::NotNeeded)
    }
}
