//! Isolation of a run whose transactions are dealt out: by session, by record, by island.
//!
//! See [`assay_consistency::transaction::dealt`] for why the parts add up.

use std::collections::HashSet;
use std::path::Path;

use assay_consistency::transaction::dealt::TransactionTally;
use assay_consistency::{Limitation, QueryCollector, QueryModel, QueryOptions};
use assay_history::{Manifest, State};
use assay_model::QueryRole;
use assay_report::consistency::ConsistencyResult;

use crate::consistency::{Collector, not_assessable, queries};
use crate::error::ResultsError;
use crate::run_dirs;

/// What the judges of shares must know of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionQuestion {
    /// The run directory.
    pub source: String,
    /// What it is, such as `list-append on postgres`.
    pub title: String,
    /// What each query means, by its place.
    pub roles: Vec<QueryRole>,
    /// Whether the store makes the queries of a transaction one.
    pub has_transactions: bool,
    /// Whether the store was loaded for this run.
    pub is_fresh: bool,
    /// Whether the run came to its end, with all records kept.
    pub is_whole: bool,
    /// How many records the whole history has.
    pub records: u64,
}

impl TransactionQuestion {
    /// About the run in `dir`.
    ///
    /// # Errors
    /// If it is no run directory, or none of transactions on lists or registers that one clock
    /// timed.
    pub fn of(dir: &Path) -> Result<TransactionQuestion, ResultsError> {
        let manifest = Manifest::read(dir)?;
        let refuse = |reason: &str| {
            let text = format!("{}: {reason}; `assay check` judges it whole", dir.display());
            Err(ResultsError::Invalid(text))
        };
        let Some(Collector::Queries(collector, QueryModel::Transactions)) =
            queries(&manifest, usize::MAX)
        else {
            return refuse("its workload has no transactions on lists or registers");
        };
        if manifest.agents.len() > 1 {
            return refuse("several clocks timed it");
        }
        let has_end = matches!(manifest.state, State::Finished | State::Interrupted)
            && !manifest.run.ended.is_empty();
        let QueryOptions { roles, has_transactions, .. } = collector.options().clone();
        Ok(TransactionQuestion {
            source: dir.display().to_string(),
            title: format!("{} on {}", manifest.spec.name, manifest.store.name),
            roles,
            has_transactions,
            is_fresh: run_dirs::load_of(dir).is_some(),
            is_whole: has_end && manifest.history.lost == 0,
            records: manifest.history.records,
        })
    }

    /// A collector of whole sessions.
    pub fn collector(&self) -> QueryCollector {
        QueryCollector::new(QueryOptions {
            model: QueryModel::Transactions,
            roles: self.roles.clone(),
            has_transactions: self.has_transactions,
            operations_max: usize::MAX,
        })
    }
}

/// What all shares said together.
#[derive(Debug, Default)]
pub struct DealtParts {
    /// The sum of what sessions, records and islands showed.
    pub tally: TransactionTally,
    /// Transactions of unknown outcome whose writes others read.
    pub seen: HashSet<u64>,
    /// Records of the history that were given.
    pub records: u64,
    /// Reads that returned other numbers of rows than there are values of them.
    pub incomplete: u64,
    /// Appends that were a read, then a write, outside of a transaction.
    pub torn: u64,
}

/// The verdicts on the run.
pub fn conclude(question: TransactionQuestion, parts: DealtParts) -> ConsistencyResult {
    let limitation =
        if !question.is_whole || parts.records < question.records || parts.incomplete > 0 {
            Some(Limitation::Incomplete)
        } else if parts.torn > 0 {
            Some(Limitation::SeveralRequests)
        } else {
            (!question.is_fresh).then_some(Limitation::UsedBefore)
        };
    let mut result = ConsistencyResult {
        source: question.source,
        title: question.title,
        ..ConsistencyResult::default()
    };
    let tally = if limitation.is_none() { parts.tally } else { TransactionTally::default() };
    let named = tally.named();
    let transactions = tally.transactions();
    let history = assay_consistency::TransactionHistory { transactions: named };
    result.add_transactions(&history, tally.report(&parts.seen));
    result.transactions = transactions;
    if let Some(limitation) = limitation {
        not_assessable(&mut result.findings, limitation);
    }
    result
}
