//! Spec of BenchFoundry's workload: size of the data set, starts of processes.

use assay_model::{Nanos, Seed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::script::span::Span;
use crate::script::{ScriptDataset, ScriptName};
use crate::spec::{Problem, check_bounds, number, problem};

/// More rows than this are another workload.
const SCALE_MAX: u64 = 1_000_000;
/// The largest plausible number of processes per second.
const RATE_MAX: f64 = 1e9;

/// BenchFoundry's workload in the manner of TPC-C.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BenchfoundrySpec {
    /// `tpcc-benchfoundry`.
    pub workload: ScriptName,
    /// The rows that a load writes.
    pub dataset: BenchfoundryDataset,
    /// The operations of a run.
    pub process: BenchfoundryProcess,
}

/// The rows that a load writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BenchfoundryDataset {
    /// How many times 4,211 rows there are. BenchFoundry: `datasetScaler`.
    #[serde(with = "number::Whole")]
    pub scale: u64,
    /// The seed of the rows, if it is not that of the run.
    #[serde(with = "number::Whole", skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// The operations of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BenchfoundryProcess {
    /// Payments per second. BenchFoundry: `paymentProcessTarget`.
    #[serde(with = "number::Share")]
    pub payment_process_target: f64,
    /// Order-Statuses per second. BenchFoundry: `orderstatusProcessTarget`.
    #[serde(with = "number::Share")]
    pub orderstatus_process_target: f64,
    /// New-Orders per second. BenchFoundry: `neworderProcessTarget`, which its generator ignores.
    #[serde(with = "number::Share")]
    pub neworder_process_target: f64,
    /// Deliveries per second; not in BenchFoundry's generator.
    #[serde(with = "number::Share")]
    pub delivery_process_target: f64,
    /// The load factor: all targets are multiplied by it. BenchFoundry: `processTargetScaler`.
    #[serde(with = "number::Share")]
    pub process_target_scaler: f64,
    /// For how long processes begin. BenchFoundry: `runtime`.
    pub runtime: Span,
    /// When they begin.
    pub starts: Starts,
    /// What their reads look for.
    pub keys: Keys,
}

/// When processes begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Starts {
    /// All of a second at its begin, as the generator has it.
    Second,
    /// At even distances, as the paper has it.
    Even,
    /// The load model decides, with the rate of the run.
    Model,
}

/// What reads look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Keys {
    /// A key and what its row points to, each drawn for itself: most reads find nothing.
    Independent,
    /// A key with what its row does point to.
    Consistent,
}

impl Default for BenchfoundrySpec {
    fn default() -> BenchfoundrySpec {
        BenchfoundrySpec {
            workload: ScriptName::TpccBenchfoundry,
            dataset: BenchfoundryDataset::default(),
            process: BenchfoundryProcess::default(),
        }
    }
}

impl Default for BenchfoundryDataset {
    fn default() -> BenchfoundryDataset {
        BenchfoundryDataset { scale: 1, seed: None }
    }
}

/// What the generator does, with the load factor 1.
impl Default for BenchfoundryProcess {
    fn default() -> BenchfoundryProcess {
        BenchfoundryProcess {
            payment_process_target: 1.0,
            orderstatus_process_target: 1.0,
            neworder_process_target: 0.0,
            delivery_process_target: 0.0,
            process_target_scaler: 1.0,
            runtime: Span::millis(120_000),
            starts: Starts::Second,
            keys: Keys::Independent,
        }
    }
}

impl BenchfoundryProcess {
    /// Processes of each type per second at the load factor 1.
    pub fn weights(&self) -> [f64; 4] {
        [
            self.payment_process_target,
            self.orderstatus_process_target,
            self.neworder_process_target,
            self.delivery_process_target,
        ]
    }

    /// Processes per second.
    pub fn rate(&self) -> f64 {
        self.weights().iter().sum::<f64>() * self.process_target_scaler
    }

    /// How many processes there are.
    pub fn count(&self) -> u64 {
        (self.rate() * self.runtime.0.as_secs_f64()).round() as u64
    }
}

impl BenchfoundrySpec {
    /// What load and run must agree on.
    pub(crate) fn describe(&self, seed: Seed) -> ScriptDataset {
        let seed = self.dataset.seed.unwrap_or(seed.0).to_string();
        // Reads of what a row points to want to know the row.
        let seed = (self.process.keys == Keys::Consistent).then_some(seed);
        let sizes = [("scale", self.dataset.scale)];
        ScriptDataset { seed, ..ScriptDataset::new(self.workload.name(), &sizes) }
    }

    pub(crate) fn find_problem(&self) -> Result<(), Problem> {
        let process = &self.process;
        if self.workload != ScriptName::TpccBenchfoundry {
            return problem("workload", self.workload.name(), "this is tpcc-benchfoundry");
        }
        check_bounds(&[("dataset.scale", self.dataset.scale, 1, SCALE_MAX)])?;
        let targets = [
            "process.payment_process_target",
            "process.orderstatus_process_target",
            "process.neworder_process_target",
            "process.delivery_process_target",
        ];
        for (key, target) in targets.into_iter().zip(process.weights()) {
            if !(target.is_finite() && target >= 0.0) {
                return problem(key, target, "so many per second: a number from 0");
            }
            let of_second = target * process.process_target_scaler;
            if process.starts == Starts::Second && of_second.fract() != 0.0 {
                let reason = "where all processes of a second begin at once, their number times \
                              the load factor is whole; process.starts = \"even\" takes any";
                return problem(key, target, reason);
            }
        }
        let rate = process.rate();
        if !(rate.is_finite() && rate > 0.0 && rate <= RATE_MAX) {
            let reason = "from above 0 to 10^9 processes per second begin";
            let scaler = process.process_target_scaler;
            return problem("process.process_target_scaler", scaler, reason);
        }
        if process.count() == 0 || process.runtime.0 > Nanos::from_secs(100 * 86_400) {
            let reason = "at least one process begins within it, and it ends within a hundred days";
            return problem("process.runtime", process.runtime, reason);
        }
        Ok(())
    }
}
