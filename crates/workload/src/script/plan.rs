//! A script compiled with a seed: SQL as text, processes as functions of their number.

use std::fmt;
use std::sync::Arc;

use assay_model::operation::LONE;
use assay_model::{Named, Nanos, QueryRole, Seed, Source};

use super::dataset::ScriptDataset;
use super::program::{Program, ProgramSource};
use super::spec::ScriptSpec;
use super::{benchfoundry, consbench, consistency, fmke, tpcc};
use crate::spec::PlanPhase;
use crate::spec::SpecError;

/// A compiled script. Cheap to share; everything it gives is a function of (spec, seed, phase).
///
/// Schema, queries and frequencies are the same in both phases, so that load and run choose the
/// same physical schema.
#[derive(Clone)]
pub struct ScriptPlan {
    /// The relations as `CREATE TABLE`, the indexes as `CREATE INDEX`, in an order in which they
    /// can be created.
    pub schema: Vec<Named>,
    /// The queries; an operation's `statement` is the place here plus one.
    pub queries: Vec<Named>,
    /// What each query means to the judge of consistency, by its place; empty if none is judged.
    pub roles: Vec<QueryRole>,
    /// How often each query occurs in one transaction of the run, on average.
    pub frequencies: Vec<f64>,
    /// How many rows each relation has after the load, by its name.
    pub relation_rows: Vec<(&'static str, u64)>,
    /// Whether the relations are how the rows are to lie in any store: a mapping adds no tables.
    pub keeps_relations: bool,
    /// The names of the transaction types, by their numbers.
    pub transaction_types: Vec<String>,
    spec: ScriptSpec,
    dataset: ScriptDataset,
    phase: PlanPhase,
    rows: u64,
    rate: Option<f64>,
    warm_up: Nanos,
    program: Arc<dyn Program>,
}

impl ScriptPlan {
    /// Compiles `spec`.
    ///
    /// # Errors
    /// If a value of the specification is invalid.
    pub fn new(spec: &ScriptSpec, seed: Seed, phase: PlanPhase) -> Result<ScriptPlan, SpecError> {
        spec.check()?;
        let compiled = match spec {
            ScriptSpec::Tpcc(spec) => tpcc::compile(spec, seed, phase),
            ScriptSpec::TpccBenchfoundry(spec) => benchfoundry::compile(spec, seed, phase),
            ScriptSpec::Consbench(spec) => consbench::compile(spec, seed, phase),
            ScriptSpec::Fmke(spec) => fmke::compile(spec, seed, phase),
            ScriptSpec::Consistency(spec) => consistency::compile(spec, seed, phase),
        };
        let types: &[&str] = match phase {
            PlanPhase::Load => &["load"],
            PlanPhase::Run => compiled.transaction_types,
        };
        let types = std::iter::once(&LONE).chain(types);
        Ok(ScriptPlan {
            schema: compiled.schema,
            queries: compiled.queries,
            roles: compiled.roles,
            frequencies: compiled.frequencies,
            relation_rows: compiled.relation_rows,
            keeps_relations: compiled.keeps_relations,
            transaction_types: types.map(|name| (*name).to_owned()).collect(),
            spec: spec.clone(),
            dataset: spec.dataset(seed),
            phase,
            rows: compiled.rows,
            rate: compiled.rate,
            warm_up: compiled.warm_up,
            program: compiled.program,
        })
    }

    /// What was compiled.
    pub fn spec(&self) -> &ScriptSpec {
        &self.spec
    }

    /// What load and run must agree on.
    pub fn dataset(&self) -> &ScriptDataset {
        &self.dataset
    }

    /// The part of the workload.
    pub fn phase(&self) -> PlanPhase {
        self.phase
    }

    /// A source of operations for one worker. Every source of a plan gives the same operations.
    pub fn source(&self) -> Box<dyn Source> {
        Box::new(ProgramSource::new(self.program.clone()))
    }

    /// The most operations that one process has.
    pub fn width(&self) -> u64 {
        self.program.width()
    }

    /// How many processes there are, or `None` if the stream does not end.
    pub fn len(&self) -> Option<u64> {
        self.program.len()
    }

    /// Whether there is nothing to issue; never, for a checked specification.
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }

    /// The rows that a load writes, as a hint for sizing; about, where their number is drawn.
    pub fn records(&self) -> u64 {
        self.rows
    }

    /// Processes per second, if the workload says how many are to arrive.
    pub fn rate(&self) -> Option<f64> {
        self.rate
    }

    /// How long the workload warms the store up at the beginning of its schedule; zero for those
    /// without one.
    pub fn warm_up(&self) -> Nanos {
        self.warm_up
    }

    /// When each process is to begin, from the start of the phase, if the workload brings a
    /// schedule of its own; otherwise the load model says.
    pub fn schedule(&self) -> Option<Schedule> {
        self.program.intended(0).map(|_| Schedule { program: self.program.clone() })
    }
}

impl fmt::Debug for ScriptPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptPlan")
            .field("spec", &self.spec)
            .field("dataset", &self.dataset)
            .field("phase", &self.phase)
            .finish_non_exhaustive()
    }
}

/// The schedule that a workload brings with it; times never fall from one process to the next.
#[derive(Clone)]
pub struct Schedule {
    program: Arc<dyn Program>,
}

impl Schedule {
    /// When `process` is to begin, from the start of the phase; `None` beyond the last process.
    pub fn intended(&self, process: u64) -> Option<Nanos> {
        match self.program.len() {
            Some(len) if process >= len => None,
            _ => self.program.intended(process),
        }
    }

    /// Processes per second on average: so many as there are, over the time until one more would
    /// begin at the same pace.
    pub fn rate(&self) -> f64 {
        let count = self.program.len().unwrap_or(1).max(1);
        let last = self.program.intended(count - 1).unwrap_or(Nanos::ZERO).as_secs_f64();
        match last > 0.0 {
            true => (count - 1) as f64 / last,
            false => count as f64,
        }
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schedule").field("rate", &self.rate()).finish_non_exhaustive()
    }
}

/// What a workload asks when its run is over and the store at rest, to see what is lost: processes
/// of one read each. Nothing for workloads that tell no loss so.
pub fn final_reads(spec: &ScriptSpec) -> Option<Box<dyn Source>> {
    let program: Arc<dyn Program> = match spec {
        ScriptSpec::Consistency(spec) => Arc::new(consistency::final_reads(spec)?),
        ScriptSpec::Fmke(spec) if spec.is_checked() => Arc::new(fmke::final_reads(spec)),
        _ => return None,
    };
    Some(Box::new(ProgramSource::new(program)))
}
