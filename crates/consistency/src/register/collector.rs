//! Violations on their way into a finding: all counted, the clearest kept.

use std::collections::BTreeMap;

use assay_model::Nanos;

use crate::quality::Quality;
use crate::register::ViolationTimes;
use crate::verdict::{
    Limitation, QualityFinding, QualityVerdict, VerdictPower, VersionOrder, Violations, Witness,
};

const SECOND: u64 = 1_000_000_000;

/// Counts violations of one quality, in the order in which a checker finds them.
#[derive(Debug, Default)]
pub(super) struct ViolationCollector {
    count: u64,
    /// By margin, the greatest first; of equal ones those that came first.
    witnesses: Vec<Witness>,
    per_second: BTreeMap<u64, u64>,
}

impl ViolationCollector {
    /// Counts one violation at this time; makes its witness only if it is to be kept.
    pub(super) fn add(&mut self, at: Nanos, margin: Nanos, make: impl FnOnce() -> Witness) {
        self.count += 1;
        *self.per_second.entry(at.0 / SECOND).or_default() += 1;
        let is_full = self.witnesses.len() == Violations::WITNESSES;
        if is_full && self.witnesses.last().is_some_and(|last| last.margin >= margin) {
            return;
        }
        let place = self.witnesses.partition_point(|witness| witness.margin >= margin);
        self.witnesses.insert(place, Witness { margin, ..make() });
        self.witnesses.truncate(Violations::WITNESSES);
    }

    /// The violations of others beside these: a read that nobody can explain breaks several
    /// qualities.
    pub(super) fn include(&mut self, others: &ViolationCollector) {
        self.count += others.count;
        for (second, count) in &others.per_second {
            *self.per_second.entry(*second).or_default() += count;
        }
        self.witnesses.extend(others.witnesses.iter().cloned());
        self.witnesses.sort_by_key(|witness| std::cmp::Reverse(witness.margin));
        self.witnesses.truncate(Violations::WITNESSES);
    }

    /// The finding, with `silence` as the verdict where there is no violation.
    pub(super) fn finish(
        self,
        quality: Quality,
        order: VersionOrder,
        power: VerdictPower,
        silence: Option<Limitation>,
    ) -> (QualityFinding, ViolationTimes) {
        let times = ViolationTimes { quality, per_second: self.per_second.into_iter().collect() };
        let violations = Violations { count: self.count, witnesses: self.witnesses, power };
        let verdict = QualityVerdict::of(violations, silence);
        (QualityFinding { quality, order, verdict }, times)
    }
}
