//! Compiled phase of a workload.
//!
//! What the executor, the store and the run directory need to know of it.

use std::sync::Arc;

use anyhow::Result;
use assay_model::{
    Catalogue, Layout, Nanos, Operation, OperationEncoder, Phase, QueryRole, Seed, Source, version,
};
use assay_run::WorkloadKind;
use assay_trace::{Header, Script, Trace};
use assay_workload::script::{Schedule, ScriptPlan};
use assay_workload::{Plan, PlanPhase};

use crate::broken::Broken;
use crate::exit::as_usage;
use crate::note::Loaded;

/// The plan of one phase.
#[derive(Clone)]
pub enum Compiled {
    /// Records by key.
    Records(Box<Plan>),
    /// Queries, with what their SQL means.
    Script(Box<ScriptPlan>, Arc<Catalogue>),
    /// The queries of a trace that came from elsewhere, so that no specification is behind it.
    Replay(Trace, Arc<Catalogue>),
}

impl Compiled {
    /// Reads the SQL of `plan`. Fails if a query is outside the common SQL subset, or does not fit
    /// the schema.
    pub fn script(plan: ScriptPlan) -> Result<Compiled> {
        let catalogue = assay_sql::catalogue(&plan.schema, &plan.queries).map_err(as_usage)?;
        Ok(Compiled::Script(Box::new(plan), Arc::new(catalogue)))
    }

    /// Reads the SQL of `trace`; `None` if it has records by key. Fails as [`Compiled::script`]
    /// does.
    pub fn replay(trace: &Trace) -> Result<Option<Compiled>> {
        let Some(script) = &trace.header().script else { return Ok(None) };
        let catalogue = assay_sql::catalogue(&script.ddl, &script.queries).map_err(as_usage)?;
        Ok(Some(Compiled::Replay(trace.clone(), Arc::new(catalogue))))
    }

    /// A source of operations for one worker. A trace that cannot be opened any more is one that
    /// fails at its first process.
    pub fn source(&self) -> Box<dyn Source> {
        match self {
            Compiled::Records(plan) => plan.source(),
            Compiled::Script(plan, _) => plan.source(),
            Compiled::Replay(trace, _) => replayed(trace),
        }
    }

    /// What turns operations into bytes; queries carry their values as arguments.
    pub fn encoder(&self) -> Arc<dyn OperationEncoder> {
        match self {
            Compiled::Records(plan) => plan.encoder(),
            Compiled::Script(..) | Compiled::Replay(..) => Arc::new(NoRecords),
        }
    }

    /// The protocol of its processes.
    pub fn workload_kind(&self) -> WorkloadKind {
        match self {
            Compiled::Records(_) => WorkloadKind::Records,
            Compiled::Script(..) | Compiled::Replay(..) => WorkloadKind::Queries,
        }
    }

    /// What each query means to the judge, by its place in the catalogue; empty if none is judged.
    pub fn roles(&self) -> Arc<[QueryRole]> {
        match self {
            Compiled::Script(plan, _) => plan.roles.as_slice().into(),
            Compiled::Records(_) | Compiled::Replay(..) => Arc::default(),
        }
    }

    /// The queries, if it has any.
    pub fn catalogue(&self) -> Option<&Arc<Catalogue>> {
        match self {
            Compiled::Records(_) => None,
            Compiled::Script(_, catalogue) | Compiled::Replay(_, catalogue) => Some(catalogue),
        }
    }

    /// How often each query is executed in the run, relative to the others; unknown for a trace.
    pub fn frequencies(&self) -> Vec<f64> {
        match self {
            Compiled::Records(_) => Vec::new(),
            Compiled::Script(plan, _) => plan.frequencies.clone(),
            Compiled::Replay(_, catalogue) => vec![1.0; catalogue.queries.len()],
        }
    }

    /// How many rows each relation of the catalogue has after the load; a trace does not say.
    pub fn relation_rows(&self) -> Vec<f64> {
        let Compiled::Script(plan, catalogue) = self else { return Vec::new() };
        let of = |name: &str| {
            let mut known = plan.relation_rows.iter();
            known.find(|(one, _)| one.eq_ignore_ascii_case(name)).map_or(0.0, |one| one.1 as f64)
        };
        catalogue.schema.relations.iter().map(|relation| of(&relation.name)).collect()
    }

    /// Whether a mapping makes one table of each relation, and no others.
    pub fn keeps_relations(&self) -> bool {
        matches!(self, Compiled::Script(plan, _) if plan.keeps_relations)
    }

    /// The table of records that the store must hold; queries bring a schema instead.
    pub fn layout(&self) -> Option<Layout> {
        match self {
            Compiled::Records(plan) => Some(plan.layout()),
            Compiled::Script(..) | Compiled::Replay(..) => None,
        }
    }

    /// The fields of the table, by number.
    pub fn fields(&self) -> Arc<[String]> {
        let layout = self.layout();
        layout.map_or_else(
            || Arc::new([]) as Arc<[String]>,
            |layout| layout.tables[0].fields.clone().into(),
        )
    }

    /// The names of the transaction types, by their numbers.
    pub fn transaction_types(&self) -> Vec<String> {
        match self {
            Compiled::Records(plan) => plan.transaction_types(),
            Compiled::Script(plan, _) => plan.transaction_types.clone(),
            Compiled::Replay(trace, _) => trace.header().transaction_types.clone(),
        }
    }

    /// The names of the queries; an operation's statement is the place here plus one.
    pub fn query_names(&self) -> Vec<String> {
        self.catalogue().map_or_else(Vec::new, |catalogue| {
            catalogue.queries.iter().map(|query| query.name.clone()).collect()
        })
    }

    /// The most operations that one process has.
    pub fn width(&self) -> u64 {
        match self {
            Compiled::Records(plan) => plan.width(),
            Compiled::Script(plan, _) => plan.width(),
            Compiled::Replay(trace, _) => trace.header().width,
        }
    }

    /// How many processes there are, or `None` if the stream does not end.
    pub fn len(&self) -> Option<u64> {
        match self {
            Compiled::Records(plan) => plan.len(),
            Compiled::Script(plan, _) => plan.len(),
            Compiled::Replay(trace, _) => Some(trace.end()),
        }
    }

    /// The schedule that a workload of queries brings with it, if it does.
    pub fn schedule(&self) -> Option<Schedule> {
        match self {
            Compiled::Script(plan, _) => plan.schedule(),
            Compiled::Records(_) | Compiled::Replay(..) => None,
        }
    }

    /// How long the schedule warms the store up before it measures.
    pub fn warm_up(&self) -> Nanos {
        match self {
            Compiled::Script(plan, _) => plan.warm_up(),
            Compiled::Records(_) | Compiled::Replay(..) => Nanos::ZERO,
        }
    }

    /// What load and run must agree on.
    pub fn loaded(&self) -> Loaded {
        match self {
            Compiled::Records(plan) => Loaded::Records(Box::new(plan.dataset().clone())),
            Compiled::Script(plan, _) => Loaded::Script(plan.dataset().clone()),
            Compiled::Replay(..) => Loaded::of_trace(),
        }
    }

    /// The specification, from which the same plan can be compiled again.
    pub fn spec_text(&self) -> String {
        match self {
            Compiled::Records(plan) => plan.spec().to_toml(),
            Compiled::Script(plan, _) => plan.spec().to_toml(),
            Compiled::Replay(trace, _) => trace.header().spec.clone(),
        }
    }

    /// How keys are made from record numbers.
    pub fn key_shape(&self) -> String {
        match self {
            Compiled::Records(plan) => plan.spec().dataset.key_prefix.clone(),
            Compiled::Script(..) | Compiled::Replay(..) => String::new(),
        }
    }

    /// The part of the workload.
    pub fn phase(&self) -> PlanPhase {
        match self {
            Compiled::Records(plan) => plan.phase(),
            Compiled::Script(plan, _) => plan.phase(),
            Compiled::Replay(trace, _) => match trace.header().phase {
                Phase::Load => PlanPhase::Load,
                Phase::WarmUp | Phase::Measure | Phase::Final => PlanPhase::Run,
            },
        }
    }

    /// What a trace of it says about itself.
    pub fn header(&self, seed: Seed) -> Header {
        Header {
            spec: self.spec_text(),
            seed,
            phase: match self.phase() {
                PlanPhase::Load => Phase::Load,
                PlanPhase::Run => Phase::Measure,
            },
            width: self.width(),
            transaction_types: self.transaction_types(),
            layout: self.layout().unwrap_or(Layout { tables: Vec::new(), records: 0 }),
            generator: format!("assay {}", env!("CARGO_PKG_VERSION")),
            part: None,
            script: self.script_texts(),
        }
    }

    fn script_texts(&self) -> Option<Script> {
        match self {
            Compiled::Records(_) => None,
            Compiled::Script(plan, _) => {
                let (ddl, queries) = (plan.schema.clone(), plan.queries.clone());
                Some(Script { ddl, queries, ..Script::default() })
            }
            Compiled::Replay(trace, _) => trace.header().script.clone(),
        }
    }
}

/// The source of a trace.
pub fn replayed(trace: &Trace) -> Box<dyn Source> {
    match trace.source() {
        Ok(source) => source,
        Err(error) => Box::new(Broken::because(error.to_string())),
    }
}

/// Encodes nothing: queries carry arguments.
struct NoRecords;

impl OperationEncoder for NoRecords {
    fn key(&self, _key: u64, _into: &mut Vec<u8>) {}

    fn value(&self, _operation: &Operation, _field: u16, _into: &mut Vec<u8>) {}

    fn version(&self, _value: &[u8]) -> Option<u64> {
        None
    }

    fn version_written(&self, _operation: &Operation) -> u64 {
        version::NONE
    }

    fn verifies(&self) -> bool {
        false
    }

    fn is_expected(&self, _key: u64, _field: u16, _value: &[u8]) -> bool {
        false
    }
}
