//! The store when a run is over: what is read, examined and removed.

use anyhow::Result;
use assay_history::{read_events, write_events};
use assay_model::{Event, EventKind, Kind, Nanos};
use assay_run::clock;
use assay_workload::PlanPhase;

use crate::conditions::Examinable;
use crate::exit::{from_open, usage};
use crate::experiment::Finished;
use crate::final_reads::FinalReads;
use crate::setup::Setup;
use crate::{cleanup, conditions};

impl Setup {
    /// Looks at what the run has left behind, and removes what is to be removed.
    pub fn look_after(&self, finished: &mut Finished, undoes_inserts: bool) -> Result<()> {
        self.examine(finished)?;
        if undoes_inserts {
            self.cleanup_inserts(finished)?;
        }
        if self.plan.options.clean_up.is_on() {
            self.clean_up(finished)?;
        }
        Ok(())
    }

    /// What is read when the run is over, if that is wanted.
    pub fn final_reads(&self) -> Result<Option<FinalReads>> {
        let is_shared = self.member.is_some();
        let is_no_op = self.store.capabilities().is_no_op;
        if !self.plan.options.final_reads.is_on() || is_no_op || is_shared {
            return Ok(None);
        }
        let wait = self.plan.options.final_wait.get().unwrap_or_default();
        let is_fmke = self.plan.workload.fmke_spec().is_some();
        // Lists are scanned on stores that have no queries of their own.
        let can_read = !is_fmke || self.store.capabilities().can(Kind::Scan);
        if let Some((queries, keys)) = self.plan.workload.final_reads().filter(|_| can_read) {
            let (loaded, queries) = (0..keys, Some(queries));
            // What a run inserts is read with what it was inserted into.
            return Ok(Some(FinalReads { wait, loaded, inserts_from: u64::MAX, queries }));
        }
        if is_fmke {
            // Packed lists are not judged.
            return Ok(None);
        }
        let Some(spec) = self.plan.workload.records().filter(|spec| !spec.dataset.is_recorded())
        else {
            let reason = "only the records of a specification and of workloads set and fmke are \
                          known, no rows of other queries, and no keys of an imported trace";
            return Err(self.plan.options.final_reads.wrong(reason));
        };
        let dataset = &spec.dataset;
        let loaded = dataset.first..dataset.first.saturating_add(dataset.share());
        let inserts_from = dataset.records;
        Ok(Some(FinalReads { wait, loaded, inserts_from, queries: None }))
    }

    /// Removes what was loaded; the last phase of a run, which its run directory has as an event.
    pub fn clean_up(&self, finished: &Finished) -> Result<()> {
        let begun = clock::monotonic();
        self.store.clear().map_err(from_open)?;
        let took = clock::monotonic().since(begun);
        let mut events = read_events(&finished.dir)?;
        let end = finished.manifest.phases.iter().map(|phase| phase.to_ns).max();
        events.push(Event {
            at: Nanos(end.unwrap_or_default()),
            kind: EventKind::Phase,
            text: format!("clean-up, {took}"),
        });
        write_events(&finished.dir, &events)?;
        Ok(())
    }

    /// Whether what the run inserts is undone; that it cannot be must not be found out after it.
    pub fn undoes_inserts(&self) -> Result<bool> {
        if !self.plan.options.clean_up_inserts.is_on() {
            return Ok(false);
        }
        if self.plan.workload.records().is_none_or(|spec| spec.dataset.is_recorded()) {
            return Err(usage(
                "--clean-up-inserts: only what a workload of records inserts is known",
            ));
        }
        match self.store.capabilities().can(Kind::Delete) {
            true => Ok(true),
            false => Err(usage(format!("--clean-up-inserts: {} cannot delete", self.url))),
        }
    }

    /// Deletes what the run has inserted. A run is worth its figures even if that fails.
    fn cleanup_inserts(&self, finished: &mut Finished) -> Result<()> {
        let plan = self.plan.workload.plan(self.plan.seed, PlanPhase::Run)?;
        let loaded = plan.layout().map_or(0, |layout| layout.records);
        let encoder = plan.encoder();
        let undone = cleanup::cleanup_inserts(&*self.store, &*encoder, loaded, &finished.dir);
        if let Err(error) = undone {
            let reported =
                format!("what the run inserted is still there, in part or whole: {error:#}");
            eprintln!("warning: {reported}");
            finished.remark(reported)?;
        }
        Ok(())
    }

    /// Looks at the rows that the run has left behind, if the workload says what must hold of them.
    fn examine(&self, finished: &mut Finished) -> Result<()> {
        // While other agents go on, nothing has to hold.
        if self.store.capabilities().is_no_op || self.member.is_some() {
            return Ok(());
        }
        let script =
            self.plan.workload.trace.as_ref().and_then(|trace| trace.header().script.as_ref());
        let ddl = script.map_or(&[][..], |script| &script.ddl[..]);
        let manifest = &mut finished.manifest;
        match conditions::examinable(&self.plan.workload.requested, ddl, finished.exit) {
            Examinable::Spec(spec) => match conditions::examine(&self.store, spec) {
                Ok(findings) => manifest.findings = findings,
                // What was measured is worth more than what could not be looked at.
                Err(error) => manifest.notes.push(format!("{error:#}")),
            },
            Examinable::Not(why) => manifest.notes.push(why.to_owned()),
            Examinable::Nothing => return Ok(()),
        }
        manifest.write(&finished.dir)?;
        Ok(())
    }
}
