//! Loads: what may be overwritten, what is noted in the store, how an interrupted one goes on.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use assay_live::progress::Show;
use assay_run::clock;
use assay_store::resumed_load::ResumedLoad;
use assay_store::{Existing, OpenError};
use assay_workload::PlanPhase;

use crate::compiled::Compiled;
use crate::exit::{Exit, from_open, usage};
use crate::experiment::Finished;
use crate::load_config::Purpose;
use crate::note::{Loaded, Note};
use crate::setup::Setup;

/// What helps against rows that are there already.
const NOT_MIXED: &str = "--replace drops what is there, rows included; a load that was interrupted \
                         goes on with `assay load --resume`";

/// What the report of a load says that went on with another one.
const RESUMED: &str = "the load went on with one that was interrupted: what that one had written \
                       counts as done, so the figures are not those of a load";

impl Setup {
    /// An agent's share of a load, of a store that the coordinator has prepared.
    pub fn load_share(&mut self, dir: &Path) -> Result<Finished> {
        let plan = self.plan.workload.plan(self.plan.seed, PlanPhase::Load)?;
        let load_config = self.load_config(&plan, Purpose::Load, self.loaded(plan.len())?)?;
        let begun = clock::monotonic();
        self.prepare_to_run(&plan)?;
        self.init = clock::monotonic().since(begun);
        self.experiment(&plan, load_config, dir, true)?.execute()
    }

    /// Loads the store; the run directory of the load is `dir`.
    pub fn load(&mut self, dir: &Path) -> Result<Finished> {
        if self.plan.options.resume.is_on() {
            self.take_up_load()?;
        }
        let plan = self.plan.workload.plan(self.plan.seed, PlanPhase::Load)?;
        self.require_kinds(PlanPhase::Load)?;
        self.plan.workload.require_whole_load(plan.len())?;
        let dataset = plan.loaded();
        let begun = clock::monotonic();
        self.prepare_to_load(&plan, &dataset)?;
        self.init = clock::monotonic().since(begun);
        let loading = Note::loading(&dataset, self.plan.seed);
        self.store.keep_note(&loading.to_text()).map_err(from_open)?;
        let load_config = self.load_config(&plan, Purpose::Load, self.loaded(plan.len())?)?;
        let mut finished = self.experiment(&plan, load_config, dir, true)?.execute()?;
        if self.plan.options.resume.is_on() {
            finished.remark(RESUMED.to_owned())?;
        }
        if finished.exit == Exit::Fine && finished.is_whole {
            self.store.flush().map_err(from_open)?;
            self.store.keep_note(&Note::loaded(&dataset).to_text()).map_err(from_open)?;
            self.is_content_settled = true;
        }
        Ok(finished)
    }

    /// A store that ends with this process is empty: there is nothing to check before a load.
    pub fn load_first(&mut self) -> Result<()> {
        if self.plan.show != Show::Nothing {
            eprintln!("{} is empty when it starts: loading first", self.url);
        }
        let dir = self.plan.dir.join("load");
        self.load(&dir)?.require_load()
    }

    /// Makes the store one in which what is there counts as written, with the seed of the load that
    /// was interrupted.
    fn take_up_load(&mut self) -> Result<()> {
        let Some(text) = self.store.note().map_err(from_open)? else {
            return Err(usage(format!(
                "--resume: no load has begun in {}; load it without --resume",
                self.url
            )));
        };
        let note = Note::parse(&text, &self.url)?;
        if note.is_complete {
            let reason = format!("--resume: {} is loaded; --fresh loads it anew", self.url);
            return Err(usage(reason));
        }
        let Some(seed) = note.seed else {
            return Err(usage("--resume: the load was begun by an older version; use --fresh"));
        };
        if self.plan.options.seed.is_typed() && seed != self.plan.seed {
            return Err(usage(format!("--resume: the load has begun with --seed {seed}")));
        }
        self.plan.seed = seed;
        self.store = Arc::new(ResumedLoad::new(Arc::clone(&self.store)));
        Ok(())
    }

    /// Makes room for what a load writes. What is there already is removed only if that is wanted.
    pub fn prepare_to_load(&self, plan: &Compiled, dataset: &Loaded) -> Result<()> {
        let is_replaced = self.plan.options.replace.is_on();
        let is_fresh = self.plan.options.fresh.is_on() || is_replaced;
        if let Some(catalogue) = plan.catalogue() {
            // A server in between has dropped it already.
            let may_drop =
                self.via.is_none() && (is_replaced || is_fresh && self.is_ours(dataset)?);
            let existing = match (may_drop, self.plan.options.resume.is_on()) {
                (true, _) => Existing::Replace,
                (false, true) => Existing::Use,
                (false, false) => Existing::Refuse,
            };
            if existing == Existing::Use {
                self.refuse_to_mix(dataset)?;
            }
            let prepared = self.store.prepare_queries(catalogue, existing);
            return prepared.map_err(|error| match error {
                OpenError::Contents { .. } if existing == Existing::Refuse => {
                    usage(format!("{error}\n{NOT_MIXED}"))
                }
                other => from_open(other),
            });
        }
        let layout = plan.layout().context("a plan without queries has a table")?;
        self.store.prepare(&layout).map_err(from_open)?;
        if is_fresh {
            self.store.clear().map_err(from_open)?;
            self.store.prepare(&layout).map_err(from_open)?;
        }
        self.refuse_to_mix(dataset)
    }

    /// Whether a load of the same workload has left what is there: only that is dropped unasked.
    fn is_ours(&self, dataset: &Loaded) -> Result<bool> {
        let Some(text) = self.store.note().map_err(from_open)? else { return Ok(false) };
        Ok(Note::parse(&text, &self.url).is_ok_and(|note| note.dataset.is_of(dataset)))
    }

    /// A load over other records would leave a mixture that no note could describe.
    ///
    /// The seed may differ: the same records are then overwritten with other values.
    fn refuse_to_mix(&self, dataset: &Loaded) -> Result<()> {
        let Some(text) = self.store.note().map_err(from_open)? else { return Ok(()) };
        let there = Note::parse(&text, &self.url)?.dataset;
        let differences = dataset.with_seed_of(&there).differences(&there);
        if differences.is_empty() || self.plan.options.force.is_on() {
            return Ok(());
        }
        Err(usage(format!(
            "{} holds another data set already:\n  {}\n\
             remove it with --fresh, or load over it with --force",
            self.url,
            differences.join("\n  ")
        )))
    }

    /// How many records a load writes if its plan has `planned`: a trace brings its own.
    pub fn loaded(&self, planned: Option<u64>) -> Result<Option<u64>> {
        match self.plan.workload.preload()? {
            Some(preload) => Ok(Some(preload.end())),
            None if self.plan.workload.records().is_some_and(|spec| spec.dataset.is_recorded()) => {
                Ok(Some(0))
            }
            None if self.plan.workload.loads_no_row()? => Ok(Some(0)),
            None => Ok(planned),
        }
    }
}
