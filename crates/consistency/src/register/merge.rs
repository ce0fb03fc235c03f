//! Sums of verdicts on disjoint sets of records.
//!
//! What is said of single records is local (Herlihy, Wing 1990), so verdicts on sets of records
//! that have none in common, and together have all, add up to those on all of them. Guarantees that
//! connect several records of a session are counted within each set.

use std::collections::BTreeMap;

use assay_model::Nanos;

use crate::register::lost::windows;
use crate::register::{DurationBin, LostWrites, RegisterStaleness, ViolationTimes, VisibilityBin};
use crate::verdict::{Limitation, QualityFinding, QualityVerdict, VerdictPower, Violations};

impl QualityFinding {
    /// Adds the finding on the same quality of other records.
    pub fn merge(&mut self, other: QualityFinding) {
        let is_stated = |finding: &QualityFinding| finding.power().is_some();
        self.order = match (is_stated(self), is_stated(&other)) {
            (true, false) => self.order,
            (false, true) => other.order,
            _ => self.order.max(other.order),
        };
        let own = std::mem::replace(
            &mut self.verdict,
            QualityVerdict::NotAssessable(Limitation::NothingKnown),
        );
        self.verdict = match (own, other.verdict) {
            (QualityVerdict::NotAssessable(own), QualityVerdict::NotAssessable(other)) => {
                let is_empty = own == Limitation::NothingKnown;
                QualityVerdict::NotAssessable(if is_empty { other } else { own })
            }
            (QualityVerdict::NotAssessable(_), stated)
            | (stated, QualityVerdict::NotAssessable(_)) => stated,
            (QualityVerdict::NoneFound(own), QualityVerdict::NoneFound(other)) => {
                QualityVerdict::NoneFound(own.plus(other))
            }
            (QualityVerdict::Violated(mut violations), QualityVerdict::NoneFound(power))
            | (QualityVerdict::NoneFound(power), QualityVerdict::Violated(mut violations)) => {
                violations.power = violations.power.plus(power);
                QualityVerdict::Violated(violations)
            }
            (QualityVerdict::Violated(mut own), QualityVerdict::Violated(other)) => {
                own.count += other.count;
                own.power = own.power.plus(other.power);
                own.witnesses.extend(other.witnesses);
                own.witnesses.sort_by_key(|witness| std::cmp::Reverse(witness.margin));
                own.witnesses.truncate(Violations::WITNESSES);
                QualityVerdict::Violated(own)
            }
        };
    }

    /// How much the verdict is worth, unless there is none.
    fn power(&self) -> Option<VerdictPower> {
        match &self.verdict {
            QualityVerdict::Violated(violations) => Some(violations.power),
            QualityVerdict::NoneFound(power) => Some(*power),
            QualityVerdict::NotAssessable(_) => None,
        }
    }
}

impl VerdictPower {
    fn plus(self, other: VerdictPower) -> VerdictPower {
        VerdictPower {
            opportunities: self.opportunities + other.opportunities,
            judged: self.judged + other.judged,
            unknown: self.unknown + other.unknown,
        }
    }
}

impl ViolationTimes {
    /// Adds when those of other records happened.
    pub fn merge(&mut self, other: &ViolationTimes) {
        self.per_second = summed(&self.per_second, &other.per_second);
    }
}

impl LostWrites {
    /// Adds those of other records.
    pub fn merge(&mut self, other: LostWrites) {
        self.operations.extend(other.operations);
        self.operations.sort_by_key(|write| (write.ended, write.key, write.index));
        self.windows = windows(&self.operations);
    }
}

impl RegisterStaleness {
    /// Adds that of other records.
    pub fn merge(&mut self, other: &RegisterStaleness) {
        // Without reads it says nothing of exactness.
        self.is_exact = match (self.reads, other.reads) {
            (0, _) => other.is_exact,
            (_, 0) => self.is_exact,
            _ => self.is_exact && other.is_exact,
        };
        self.reads += other.reads;
        self.stale_reads += other.stale_reads;
        self.visibility = merged_curve(&self.visibility, &other.visibility);
        self.ages = merged_bins(&self.ages, &other.ages);
        self.oldest = self.oldest.max(other.oldest);
        let length = self.versions_behind.len().max(other.versions_behind.len());
        self.versions_behind.resize(length, 0);
        for (own, more) in self.versions_behind.iter_mut().zip(&other.versions_behind) {
            *own += more;
        }
        self.most_behind = self.most_behind.max(other.most_behind);
        self.writes += other.writes;
        self.windows = merged_bins(&self.windows, &other.windows);
        self.open_windows += other.open_windows;
        self.longest_window = self.longest_window.max(other.longest_window);
        self.stale_per_second = summed(&self.stale_per_second, &other.stale_per_second);
    }
}

fn summed(own: &[(u64, u64)], other: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for (second, count) in own.iter().chain(other) {
        *counts.entry(*second).or_default() += count;
    }
    counts.into_iter().collect()
}

fn merged_bins(own: &[DurationBin], other: &[DurationBin]) -> Vec<DurationBin> {
    let mut bins: BTreeMap<(Nanos, Nanos), u64> = BTreeMap::new();
    for bin in own.iter().chain(other) {
        *bins.entry((bin.from, bin.until)).or_default() += bin.count;
    }
    bins.into_iter().map(|((from, until), count)| DurationBin { from, until, count }).collect()
}

fn merged_curve(own: &[VisibilityBin], other: &[VisibilityBin]) -> Vec<VisibilityBin> {
    let mut bins: BTreeMap<(Nanos, Nanos), (u64, u64)> = BTreeMap::new();
    for bin in own.iter().chain(other) {
        let counts = bins.entry((bin.from, bin.until)).or_default();
        *counts = (counts.0 + bin.reads, counts.1 + bin.visible);
    }
    let bin = |((from, until), (reads, visible))| VisibilityBin { from, until, reads, visible };
    bins.into_iter().map(bin).collect()
}
