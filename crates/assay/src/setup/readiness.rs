//! A store that is ready for a run: it can do what the workload needs and holds its data set.

use anyhow::Result;
use assay_model::Nanos;
use assay_run::clock;
use assay_store::{Existing, StoreTime};
use assay_workload::PlanPhase;
use assay_workload::spec::WriteFields;

use crate::compiled::Compiled;
use crate::exit::{from_open, usage};
use crate::experiment::Experiment;
use crate::floor;
use crate::load_config::LoadConfig;
use crate::note::Note;
use crate::setup::Setup;

impl Setup {
    /// The run, ready to start; a store that is empty when it starts is loaded first. Fails if the
    /// store holds other data than the workload wants.
    pub fn ready(&mut self) -> Result<Experiment> {
        self.require_kinds(PlanPhase::Run)?;
        let purpose = self.plan.purpose;
        // Whatever is wrong with the settings must not be found out after a load.
        let (mut plan, mut planned) = self.planned()?;
        self.load_config(&plan, purpose, planned)?;
        if self.agree_with_store()? {
            (plan, planned) = self.planned()?;
        }
        let begun = clock::monotonic();
        self.prepare_to_run(&plan)?;
        if let (Some(hop), Some(catalogue)) = (&self.hop, plan.catalogue()) {
            hop.store.prepare_queries(catalogue, Existing::Use).map_err(from_open)?;
        }
        self.init = clock::monotonic().since(begun);
        let load_config = self.load_config(&plan, purpose, planned)?;
        let dir = self.plan.dir.clone();
        let floor = self.floor(&load_config, planned)?;
        let experiment = self.experiment(&plan, load_config, &dir, false)?;
        Ok(Experiment { floor, ..experiment })
    }

    /// The plan of the run, with the number of its processes if it ends.
    pub fn planned(&self) -> Result<(Compiled, Option<u64>)> {
        let plan = self.plan.workload.plan(self.plan.seed, PlanPhase::Run)?;
        let planned = match &self.plan.workload.trace {
            Some(trace) => Some(trace.end()),
            None => plan.len(),
        };
        Ok((plan, planned))
    }

    /// How long to measure what the instrument itself needs before a run of `planned` processes.
    fn floor(&self, load_config: &LoadConfig, planned: Option<u64>) -> Result<Nanos> {
        let capabilities = self.store.capabilities();
        if capabilities.is_no_op || capabilities.time == StoreTime::Simulated {
            return Ok(Nanos::ZERO);
        }
        let given = self.plan.options.floor.get();
        Ok(given.unwrap_or_else(|| floor::usual_length(load_config, planned)))
    }

    /// Prepares the store for a run on the data that it holds.
    pub fn prepare_to_run(&self, plan: &Compiled) -> Result<()> {
        let prepared = match (plan.catalogue(), plan.layout()) {
            (Some(catalogue), _) => self.store.prepare_queries(catalogue, Existing::Use),
            (None, Some(layout)) => self.store.prepare(&layout),
            (None, None) => Ok(()),
        };
        self.warn_of_torn_writes()?;
        prepared.map_err(from_open)
    }

    /// Warns that a fault of the simulated store has no effect: single-field writes cannot be torn.
    fn warn_of_torn_writes(&self) -> Result<()> {
        let Some(spec) = self.plan.workload.records() else { return Ok(()) };
        let capabilities = self.store.capabilities();
        let operations = &spec.operations;
        let writes_many = operations.insert > 0.0 || operations.write_fields == WriteFields::All;
        if capabilities.time != StoreTime::Simulated || spec.dataset.fields > 1 && writes_many {
            return Ok(());
        }
        let settings = self.store.settings().map_err(from_open)?;
        if let Some(torn) = settings.iter().find(|setting| setting.name == "torn") {
            let advice = match spec.dataset.fields {
                1 => "give records more fields: --set dataset.fields=10",
                _ => "write all fields: --set operations.write_fields=all",
            };
            eprintln!(
                "warning: torn={} strikes nothing: only writes of several fields can be torn, and \
                 this workload writes one at a time; {advice}",
                torn.value
            );
        }
        Ok(())
    }

    /// Compares what is in the store with what the workload wants. Whether the workload has taken
    /// something from there, so that its plan is another one now.
    pub fn agree_with_store(&mut self) -> Result<bool> {
        let capabilities = self.store.capabilities();
        if capabilities.is_no_op {
            return Ok(false);
        }
        let Some(text) = self.store.note().map_err(from_open)? else {
            if self.is_content_settled {
                return Ok(false);
            }
            if !capabilities.is_persistent || self.has_own_lab() {
                self.load_first()?;
                return Ok(false);
            }
            eprintln!(
                "warning: {} does not say what was loaded into it (not by `assay load`?); \
                 records that are not there will be counted as misses",
                self.url
            );
            self.is_content_settled = true;
            return Ok(false);
        };
        let note = Note::parse(&text, &self.url)?;
        let has_changed = self.plan.workload.take_value_seed(&note.dataset);
        let expected = self.plan.workload.dataset(self.plan.seed);
        let mut differences = expected.differences(&note.dataset);
        if !note.is_complete {
            differences.insert(0, "the load of it did not come to its end".to_owned());
        }
        if differences.is_empty() {
            return Ok(has_changed);
        }
        let text = differences.join("\n  ");
        if self.plan.options.force.is_on() {
            eprintln!("warning: {} holds another data set (--force):\n  {text}", self.url);
            return Ok(has_changed);
        }
        Err(usage(format!(
            "{} holds another data set than this run wants:\n  {text}\n\
             load it again (`assay load … --fresh`), change the workload, or insist with --force",
            self.url
        )))
    }

    /// Whether the store says what was loaded into it.
    pub fn has_note(&self) -> Result<bool> {
        Ok(self.store.note().map_err(from_open)?.is_some())
    }

    /// Compares the workload's operations with the store's capabilities.
    pub fn require_kinds(&self, phase: PlanPhase) -> Result<()> {
        let capabilities = self.store.capabilities();
        let missing: Vec<&str> = self
            .plan
            .workload
            .kinds_used(phase)
            .into_iter()
            .filter(|kind| !capabilities.can(*kind))
            .map(|kind| kind.name())
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let (name, workload) = (capabilities.name, &self.plan.workload.name);
        let missing = missing.join(", ");
        Err(usage(format!("{name} cannot do {missing}, which {workload} needs")))
    }
}
