//! Spec of a workload that is made to be judged.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::script::{ScriptDataset, ScriptName};
use crate::spec::{Problem, check_bounds, number, problem};

/// Keys are whole numbers of 32 bits.
const KEYS_MAX: u64 = i32::MAX as u64;
/// A read returns the whole list or set.
const WRITES_MAX: u64 = 1_000;
/// A process keeps its operations in memory.
const LENGTH_MAX: u64 = 64;

/// A workload that is made to be judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConsistencySpec {
    /// Which one.
    pub workload: ScriptName,
    /// The rows that a load writes.
    pub dataset: ConsistencyDataset,
    /// What transactions do with them.
    pub transactions: TransactionSection,
}

/// The rows that a load writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConsistencyDataset {
    /// How many lists, registers, accounts, sets or counters there are. A run that has used all of
    /// them ends, but for accounts and counters.
    #[serde(with = "number::Whole")]
    pub keys: u64,
}

/// What transactions do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TransactionSection {
    /// How many keys are in use at a time: fewer bring more conflicts.
    #[serde(with = "number::Whole")]
    pub active: u64,
    /// How often a key is written, about, before others are used instead.
    #[serde(with = "number::Whole")]
    pub writes_per_key: u64,
    /// The most queries of a transaction (`list-append`), the keys of a group (`long-fork`); of no
    /// meaning elsewhere.
    #[serde(with = "number::Whole")]
    pub length: u64,
    /// The share of writes among the queries (`list-append`), of transfers or additions among the
    /// transactions (`bank`, `set`, `counter`); of no meaning elsewhere.
    #[serde(with = "number::Share")]
    pub writes: f64,
}

impl Default for ConsistencySpec {
    fn default() -> ConsistencySpec {
        ConsistencySpec {
            workload: ScriptName::ListAppend,
            dataset: ConsistencyDataset::default(),
            transactions: TransactionSection::default(),
        }
    }
}

impl Default for ConsistencyDataset {
    fn default() -> ConsistencyDataset {
        ConsistencyDataset { keys: 10_000 }
    }
}

impl Default for TransactionSection {
    fn default() -> TransactionSection {
        TransactionSection { active: 10, writes_per_key: 32, length: 4, writes: 0.5 }
    }
}

impl ConsistencySpec {
    /// What load and run must agree on.
    pub(crate) fn describe(&self) -> ScriptDataset {
        ScriptDataset::new(self.workload.name(), &[("keys", self.dataset.keys)])
    }

    /// How many keys belong together.
    pub(super) fn group(&self) -> u64 {
        match self.workload {
            ScriptName::LongFork => self.transactions.length,
            ScriptName::WriteSkew | ScriptName::CausalChain => 2,
            _ => 1,
        }
    }

    pub(crate) fn find_problem(&self) -> Result<(), Problem> {
        let (keys, transactions) = (self.dataset.keys, &self.transactions);
        if self.workload == ScriptName::Bank && keys > LENGTH_MAX {
            let reason = format!("a snapshot reads all accounts: at most {LENGTH_MAX}");
            return problem("dataset.keys", keys, reason);
        }
        if self.workload == ScriptName::Bank && keys < 2 {
            return problem("dataset.keys", keys, "a transfer needs two accounts");
        }
        check_bounds(&[
            ("dataset.keys", keys, self.group().max(1), KEYS_MAX),
            ("transactions.active", transactions.active, self.group().max(1), keys),
            ("transactions.writes_per_key", transactions.writes_per_key, 1, WRITES_MAX),
            ("transactions.length", transactions.length, 1, LENGTH_MAX),
        ])?;
        if !(0.01..=0.99).contains(&transactions.writes) {
            let reason = "it must be from 1 % to 99 %: nothing can be judged without both reads \
                          and writes";
            return problem("transactions.writes", transactions.writes, reason);
        }
        Ok(())
    }
}
