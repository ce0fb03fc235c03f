//! Spec of TPC-C: its size, its mix.

use assay_model::Seed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::script::{ScriptDataset, ScriptName};
use crate::spec::{Problem, check_bounds, number, problem};

/// Clause 1.2.1: the sizes of the standard.
const ITEMS: u64 = 100_000;
const OF_DISTRICT: u64 = 3_000;
/// Warehouse numbers fit into 32 bits, rows times columns into 63.
const WAREHOUSES_MAX: u64 = 1_000_000;
/// Fifteen lines of an order with one item that does not exist want some to choose from.
const ITEMS_LEAST: u64 = 20;
/// A worker keeps all operations of a process in flight in memory; a process's places have 16 bits.
const TRANSACTIONS_MAX: u64 = 500;

/// TPC-C.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TpccSpec {
    /// `tpcc`.
    pub workload: ScriptName,
    /// The rows that a load writes.
    pub dataset: TpccDataset,
    /// The operations of a run.
    pub transactions: TpccTransactions,
    /// How many transactions one terminal runs in one process.
    pub process: TpccProcess,
}

/// The rows that a load writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TpccDataset {
    /// How many warehouses there are, each with ten districts.
    #[serde(with = "number::Whole")]
    pub warehouses: u64,
    /// How many items can be ordered; the standard wants 100,000.
    #[serde(with = "number::Whole")]
    pub items: u64,
    /// How many customers a district has; the standard wants 3,000.
    #[serde(with = "number::Whole")]
    pub customers_per_district: u64,
    /// How many orders a district has in the beginning; the standard wants 3,000.
    #[serde(with = "number::Whole")]
    pub orders_per_district: u64,
    /// The seed of the rows, if it is not that of the run.
    #[serde(with = "number::Whole", skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// How often which transaction comes, as weights (clause 5.2.3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TpccTransactions {
    /// How many transactions a run has; without an end if left out.
    #[serde(with = "number::Whole", skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// A customer orders.
    #[serde(with = "number::Share")]
    pub new_order: f64,
    /// A customer pays.
    #[serde(with = "number::Share")]
    pub payment: f64,
    /// A customer asks for the status of the last order.
    #[serde(with = "number::Share")]
    pub order_status: f64,
    /// The oldest open order of each district is delivered.
    #[serde(with = "number::Share")]
    pub delivery: f64,
    /// The stock of what was ordered last is looked at.
    #[serde(with = "number::Share")]
    pub stock_level: f64,
}

/// How many transactions one terminal runs in one process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TpccProcess {
    /// How many transactions a process has.
    #[serde(with = "number::Whole")]
    pub transactions: u64,
    /// Whether terminals have keying and think times.
    pub think: Think,
}

/// Whether a person types the input, and reads the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Think {
    /// None: transactions follow one another at once.
    #[default]
    None,
    /// Keying and think times of clause 5.2.5.7.
    Standard,
}

impl Default for TpccSpec {
    fn default() -> TpccSpec {
        TpccSpec {
            workload: ScriptName::Tpcc,
            dataset: TpccDataset::default(),
            transactions: TpccTransactions::default(),
            process: TpccProcess::default(),
        }
    }
}

impl Default for TpccDataset {
    fn default() -> TpccDataset {
        TpccDataset {
            warehouses: 1,
            items: ITEMS,
            customers_per_district: OF_DISTRICT,
            orders_per_district: OF_DISTRICT,
            seed: None,
        }
    }
}

impl Default for TpccTransactions {
    fn default() -> TpccTransactions {
        TpccTransactions {
            count: None,
            new_order: 45.0,
            payment: 43.0,
            order_status: 4.0,
            delivery: 4.0,
            stock_level: 4.0,
        }
    }
}

impl Default for TpccProcess {
    fn default() -> TpccProcess {
        TpccProcess { transactions: 1, think: Think::None }
    }
}

impl TpccTransactions {
    /// The weights in the order of [`super::TRANSACTIONS`].
    pub fn weights(&self) -> [f64; 5] {
        [self.new_order, self.payment, self.order_status, self.delivery, self.stock_level]
    }
}

impl TpccSpec {
    /// What load and run must agree on.
    pub(crate) fn describe(&self, seed: Seed) -> ScriptDataset {
        let TpccDataset { warehouses, items, customers_per_district, orders_per_district, .. } =
            self.dataset;
        let sizes = [
            ("warehouses", warehouses),
            ("items", items),
            ("customers_per_district", customers_per_district),
            ("orders_per_district", orders_per_district),
        ];
        let seed = self.dataset.seed.unwrap_or(seed.0).to_string();
        ScriptDataset { seed: Some(seed), ..ScriptDataset::new(self.workload.name(), &sizes) }
    }

    pub(crate) fn find_problem(&self) -> Result<(), Problem> {
        if self.workload != ScriptName::Tpcc {
            return problem("workload", self.workload.name(), "this is TPC-C: tpcc");
        }
        let TpccDataset { warehouses, items, customers_per_district, orders_per_district, .. } =
            self.dataset;
        check_bounds(&[
            ("dataset.warehouses", warehouses, 1, WAREHOUSES_MAX),
            ("dataset.items", items, ITEMS_LEAST, ITEMS),
            ("dataset.customers_per_district", customers_per_district, 1, OF_DISTRICT),
            ("dataset.orders_per_district", orders_per_district, 1, OF_DISTRICT),
            ("process.transactions", self.process.transactions, 1, TRANSACTIONS_MAX),
        ])?;
        let weights = self.transactions.weights();
        if let Some(weight) = weights.iter().find(|weight| !weight.is_finite() || **weight < 0.0) {
            return problem("transactions", weight, "a weight is a number from 0");
        }
        let sum: f64 = weights.iter().sum();
        if !(sum > 0.0 && sum.is_finite()) {
            let reason = "the sum of the weights must be above 0, and a number";
            return problem("transactions", sum, reason);
        }
        if self.transactions.count == Some(0) {
            return problem("transactions.count", 0, "a run has at least one transaction");
        }
        Ok(())
    }
}
