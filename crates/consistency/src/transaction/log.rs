//! Log of anomalies: all are counted, some are kept.

use std::collections::BTreeMap;

use assay_model::Nanos;
use serde::{Deserialize, Serialize};

use crate::transaction::TransactionHistory;
use crate::verdict::{Anomaly, Edges, Violations, Witness};

/// How often an anomaly was found, by edges of these sorts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnomalyCount {
    /// What was found.
    pub anomaly: Anomaly,
    /// The edges that it needs.
    pub edges: Edges,
    /// Cycles count once per group of transactions that have some; the others count each.
    pub count: u64,
    /// Some of them; at most [`Violations::WITNESSES`].
    pub witnesses: Vec<Witness>,
}

/// The anomalies of a history; [`Violations::WITNESSES`] of each sort are kept.
pub(super) struct Log<'h> {
    history: &'h TransactionHistory,
    sorts: BTreeMap<(Anomaly, Edges), AnomalyCount>,
}

impl AnomalyCount {
    pub(super) fn none((anomaly, edges): (Anomaly, Edges)) -> AnomalyCount {
        AnomalyCount { anomaly, edges, count: 0, witnesses: Vec::new() }
    }
}

impl<'h> Log<'h> {
    pub fn new(history: &'h TransactionHistory) -> Log<'h> {
        Log { history, sorts: BTreeMap::new() }
    }

    /// Counts an anomaly that needs no order; `transactions` are positions in the history.
    pub fn add(&mut self, anomaly: Anomaly, key: u64, transactions: &[u32]) {
        self.add_cycle(anomaly, Edges::Data, || (key, transactions.to_vec(), Nanos::ZERO));
    }

    /// Counts a cycle; what it looks like is computed only if it is kept.
    pub fn add_cycle(
        &mut self,
        anomaly: Anomaly,
        edges: Edges,
        show: impl FnOnce() -> (u64, Vec<u32>, Nanos),
    ) {
        let kind = (anomaly, edges);
        let sort = self.sorts.entry(kind).or_insert_with(|| AnomalyCount::none(kind));
        sort.count += 1;
        if sort.witnesses.len() < Violations::WITNESSES {
            let (key, transactions, margin) = show();
            let index = |at: &u32| self.history.transactions[*at as usize].index;
            let operations = transactions.iter().map(index).collect();
            sort.witnesses.push(Witness::new(kind, key, operations, margin));
        }
    }

    /// Adds the transactions that replaced the same version of `key`, in an order in which equal
    /// versions are neighbours.
    pub fn add_lost_updates<Version: PartialEq>(&mut self, key: u64, replaced: &[(Version, u32)]) {
        for same in replaced.chunk_by(|one, other| one.0 == other.0) {
            if same.len() > 1 {
                let transactions: Vec<u32> = same.iter().map(|(_, at)| *at).collect();
                self.add(Anomaly::LostUpdate, key, &transactions);
            }
        }
    }

    /// The anomalies of each sort, in the order of the enums.
    pub fn anomalies(self) -> Vec<AnomalyCount> {
        self.sorts.into_values().collect()
    }
}
