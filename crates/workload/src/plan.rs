//! A specification compiled with a seed: operations as functions of their number.

use std::sync::Arc;

use assay_model::operation::{LONE, READ_MODIFY_WRITE};
use assay_model::{Layout, OperationEncoder, Seed, Source, Table};

use crate::spec::{Dataset, PlanPhase, Spec, SpecError};

mod ahead;
mod bytes;
mod choice;
mod inserts;
mod lengths;
mod load;
mod run;

#[cfg(test)]
mod tests;

/// The streams of a seed that this crate draws from.
pub(crate) mod streams {
    /// Kind, fields, key, scan length of a process of the run.
    pub(crate) const OPERATIONS: u64 = 0x10;
    /// The characters that values are cut from.
    pub(crate) const POOL: u64 = 0x11;
    /// Field lengths of the load.
    pub(crate) const LENGTHS_LOAD: u64 = 0x12;
    /// Field lengths of the run.
    pub(crate) const LENGTHS_RUN: u64 = 0x13;
    /// Where values of the load are cut.
    pub(crate) const CUTS_LOAD: u64 = 0x14;
    /// Where values of the run are cut.
    pub(crate) const CUTS_RUN: u64 = 0x15;
    /// Lengths of keys, for every seed alike.
    pub(crate) const LENGTHS_KEYS: u64 = 0x17;
    /// How long a process thinks before a transaction of the run.
    pub(crate) const THINK: u64 = 0x16;
    /// Where the streams of scripts begin; each has a place of its own behind this.
    pub(crate) const SCRIPTS: u64 = 0x1000;
}

/// A compiled workload. Cheap to share; everything it gives is a function of (spec, seed, phase).
#[derive(Clone, Debug)]
pub struct Plan {
    spec: Spec,
    dataset: Dataset,
    phase: PlanPhase,
    kind: Compiled,
    bytes: Arc<bytes::Bytes>,
}

#[derive(Clone, Debug)]
enum Compiled {
    Load(load::Load),
    Run(Box<run::Run>),
}

impl Plan {
    /// Compiles `spec`. Takes some milliseconds, for tables.
    ///
    /// # Errors
    /// If a value of the specification is invalid.
    pub fn new(spec: &Spec, seed: Seed, phase: PlanPhase) -> Result<Plan, SpecError> {
        spec.check()?;
        let dataset = spec.dataset(seed);
        let values = Seed(spec.dataset.seed.unwrap_or(seed.0));
        let lengths = lengths::Lengths::new(&spec.dataset, values, phase);
        let kind = match phase {
            PlanPhase::Load => Compiled::Load(load::Load::new(&spec.dataset, lengths.clone())),
            PlanPhase::Run => Compiled::Run(Box::new(run::Run::new(spec, seed, lengths.clone()))),
        };
        let bytes = bytes::Bytes::new(spec, &dataset, values, phase, lengths);
        Ok(Plan { spec: spec.clone(), dataset, phase, kind, bytes: Arc::new(bytes) })
    }

    /// What was compiled.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// What load and run must agree on.
    pub fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    /// The part of the workload.
    pub fn phase(&self) -> PlanPhase {
        self.phase
    }

    /// A source of operations for one worker. Every source of a plan gives the same operations.
    pub fn source(&self) -> Box<dyn Source> {
        match &self.kind {
            Compiled::Load(load) => Box::new(load.clone()),
            Compiled::Run(run) => Box::new(run.as_ref().clone()),
        }
    }

    /// What turns operations into bytes.
    pub fn encoder(&self) -> Arc<dyn OperationEncoder> {
        self.bytes.clone()
    }

    /// The table that the store must hold.
    pub fn layout(&self) -> Layout {
        let dataset = &self.spec.dataset;
        let name = |number| format!("{}{number}", dataset.field_prefix);
        let fields = (0..dataset.fields).map(name).collect();
        Layout {
            tables: vec![Table { name: dataset.table.clone(), fields, needs_key_order: false }],
            records: dataset.share(),
        }
    }

    /// The names of the transaction types, by their numbers.
    pub fn transaction_types(&self) -> Vec<String> {
        vec![LONE.to_owned(), READ_MODIFY_WRITE.to_owned()]
    }

    /// The most operations that one process has.
    pub fn width(&self) -> u64 {
        match &self.kind {
            Compiled::Load(load) => load.width(),
            Compiled::Run(run) => run.width(),
        }
    }

    /// How many processes there are, or `None` if the stream does not end.
    pub fn len(&self) -> Option<u64> {
        match &self.kind {
            Compiled::Load(load) => load.len(),
            Compiled::Run(run) => run.len(),
        }
    }

    /// Whether there is nothing to issue; never, for a checked specification.
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }
}
