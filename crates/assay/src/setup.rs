//! Set-up of load, run, bench: options, workload, seed, store, run directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use assay_drivers::registry;
use assay_fleet::gather::sha256_of;
use assay_history::manifest::{
    CallForm, CapabilitiesSection, HistorySection, LoadPhase, LoadSection, LoadSettings,
    MachineSection, RunSection, SettingSection, SpecSection, StoreSection,
};
use assay_history::{Manifest, read_events, write_events};
use assay_live::port::ControlPort;
use assay_live::progress::Show;
use assay_model::{Event, EventKind, Kind, Nanos, Seed, Setting, quantity};
use assay_report::Style;
use assay_results::analyze_beside;
use assay_run::{Extent, Latency, Load, Spin, clock};
use assay_store::resumed_load::ResumedLoad;
use assay_store::{Calls, Capabilities, Existing, Isolation, OpenError, Store, StoreTime};
use assay_trace::Trace;
use assay_workload::script::fmke::{FmkeSpec, Through};
use assay_workload::spec::WriteFields;
use assay_workload::{PlanPhase, ScriptSpec};
use clap::ArgMatches;

use crate::actions;
use crate::actions::schedule::ActionSchedule;
use crate::arrivals::Calendar;
use crate::binding::{is_java, redacted, sizes, with_properties};
use crate::compiled::{Compiled, replayed};
use crate::conditions::Examinable;
use crate::exit::{Exit, Failure, from_open, usage};
use crate::experiment::{Experiment, Finished, load_settings};
use crate::final_reads::{FinalReads, FinalReadsOutcome, UsedNumbers};
use crate::fleet::FleetMember;
use crate::lab::tied::RunLab;
use crate::load_config::{LoadConfig, Purpose, USUAL_DURATION};
use crate::note::{Loaded, Note};
use crate::observe::scrape::Scraper;
use crate::options::{Options, Origin, ViaServer};
use crate::show::{Display, PAGE_FILE, keep_hallmark, require_hallmark, show, style};
use crate::signals::Listening;
use crate::via::{self, Hop, Via};
use crate::workload::{Changes, Workload, WorkloadSource};
use crate::{cleanup, conditions, floor, live, machine, mapped, run_dirs, thresholds};

/// The key that sets the number of records, in YCSB's properties or in a spec.
const RECORDS: [&str; 2] = ["recordcount", "dataset.records"];

/// The option or key that sets the number of operations.
const COUNT: [&str; 2] = ["operationcount", "operations.count"];

/// Everything that is decided before the first phase.
pub struct Setup {
    /// The settings.
    pub options: Options,
    /// The workload.
    pub workload: Workload,
    /// The seed of all randomness.
    pub seed: Seed,
    /// The number from which arrivals, pauses and the chance within a simulated store follow: the
    /// seed, unless one is given.
    pub arrivals: Seed,
    /// The store.
    pub store: Arc<dyn Store>,
    /// Its URL without secrets.
    pub url: String,
    /// The run directory.
    pub dir: PathBuf,
    /// Hears the keyboard.
    pub listening: Arc<Listening>,
    /// How progress is shown.
    pub show: Show,
    /// Characters and colours of a dashboard.
    pub style: Style,
    /// The run's HTTP port.
    pub port: Option<Arc<ControlPort>>,
    /// Which latency live figures show.
    pub latency: Latency,
    /// The command line without secrets.
    pub command: Vec<String>,
    /// Changed thresholds of the hallmark, by name.
    pub thresholds: BTreeMap<String, f64>,
    /// Whether nothing more is to be said of what the store holds: this process has filled it, or
    /// has warned that nobody knows.
    pub is_content_settled: bool,
    /// How long it took to make the store ready the last time.
    pub init: Nanos,
    /// What is done to the lab under load.
    pub schedule: ActionSchedule,
    /// What HTTP adds to an operation is measured with this, if a server is in between.
    pub hop: Option<Arc<Hop>>,
    /// The server between the load and its store, if there is one.
    pub via: Option<Via>,
    /// What is read of servers during the run, if anything is.
    pub scraper: Option<Arc<Scraper>>,
    /// The member in a fleet, if this process is one of its agents.
    pub member: Option<Arc<FleetMember>>,
    /// The lab that the store is in, if it is in one. The last field: it ends after the store's
    /// connections.
    pub lab: Option<RunLab>,
}

/// What helps against rows that are there already.
const NOT_MIXED: &str = "--replace drops what is there, rows included; a load that was interrupted \
                         goes on with `assay load --resume`";

/// What the report of a load says that went on with another one.
const RESUMED: &str = "the load went on with one that was interrupted: what that one had written \
                       counts as done, so the figures are not those of a load";

impl Setup {
    /// Reads everything that was typed.
    ///
    /// # Errors
    /// If something is invalid, or the store cannot be opened.
    pub fn from(matches: &ArgMatches, purpose: Purpose) -> Result<Setup> {
        Setup::with(matches, Options::gather(matches)?, purpose)
    }

    /// Like [`Setup::from`], with settings that have been gathered already.
    ///
    /// # Errors
    /// If something is invalid, or the store cannot be opened.
    pub fn with(matches: &ArgMatches, mut options: Options, purpose: Purpose) -> Result<Setup> {
        // A wrong format must not be found out after the run.
        Display::from(&options)?;
        let mut changes = changes(matches, &options)?;
        if changes.say(COUNT) {
            options.operations.forget();
            options.duration.forget();
        }
        let sets = thresholds::take(&mut changes.sets);
        let spec = matches.get_one::<String>("spec").context("a SPEC is needed")?;
        let mut workload = workload(spec, &changes, &mut options, purpose)?;
        let thresholds = thresholds::changed(&options, &workload.hallmark, &sets)?;
        let seed = seed(&options, workload.trace.as_ref())?;
        let dir = run_dir(&options, &workload.name, seed)?;
        let mut schedule = ActionSchedule::read(&options, seed)?;
        let lab = RunLab::from(&options)?;
        if let Some(lab) = &lab {
            schedule.settle_in(lab.record(), &options)?;
        }
        let target = match &lab {
            Some(lab) => lab.url().to_owned(),
            None => target(&options, purpose, &dir)?,
        };
        let target = knowing(target, &workload);
        let target = with_options(at_consistency(target, &options)?, &options);
        let target = roaming(target, &workload)?;
        let arrivals = options.arrival_seed.get().map_or(seed, Seed);
        let clock = registry::Options {
            clock: monotonic_ns,
            seed: arrivals,
            surroundings: machine::surroundings(),
        };
        let via = match options.via.get() {
            Some(ViaServer::Http) => Some(start_via(&workload, &target, &options)?),
            None => None,
        };
        let target = via.as_ref().map_or(target, |via| via.url().to_owned());
        send_through_server(&mut workload, &target);
        let open = |url: &str| registry::open(url, &clock).map_err(from_open);
        let store = mapped::taking_queries(open(&target)?, &workload, seed, &options)?;
        let scraper = Scraper::open(&options, &store)?.map(Arc::new);
        let layout = workload.fmke_mut().map_or("", |spec| spec.layout.name());
        let measures_hop = via.is_some() && purpose != Purpose::Load;
        let hop = measures_hop.then(|| Hop::start(layout, open)).transpose()?.map(Arc::new);
        Ok(Setup {
            workload,
            seed,
            arrivals,
            store,
            url: registry::without_secrets(&target),
            dir,
            listening: Arc::new(Listening::begin()?),
            show: live::show(&options)?,
            style: style(&options, true),
            port: open_port(&options)?,
            latency: Latency::Response,
            command: command_line(seed, &options),
            options,
            thresholds,
            scraper,
            is_content_settled: false,
            init: Nanos::ZERO,
            schedule,
            hop,
            via,
            member: None,
            lab,
        })
    }

    /// From now on this process is an agent of a fleet.
    pub fn join_fleet(&mut self, member: &Arc<FleetMember>) {
        member.heed(self.listening.control());
        self.member = Some(Arc::clone(member));
    }

    /// The URL of the store, secrets included, as an agent's command takes it.
    ///
    /// # Errors
    /// If there is none that another process could use.
    pub fn raw_target(&self) -> Result<String> {
        let capabilities = self.store.capabilities();
        let is_within = !capabilities.is_persistent && !capabilities.is_no_op;
        if is_within || capabilities.time == StoreTime::Simulated {
            return Err(usage(format!(
                "{} is within the process that measures it: agents would have a store each; name \
                 a server, such as redis://127.0.0.1",
                self.url
            )));
        }
        let named = || self.options.target().map(str::to_owned);
        let via = self.via.as_ref().map(|via| via.url().to_owned());
        let lab = || self.lab.as_ref().map(|lab| lab.url().to_owned());
        via.or_else(lab).or_else(named).ok_or_else(|| {
            usage("agents need a store that they can reach: give -t URL, or --up STORE")
        })
    }

    /// An agent's share of a load, of a store that the coordinator has prepared.
    ///
    /// # Errors
    /// If the load could not begin.
    pub fn load_share(&mut self, dir: &Path) -> Result<Finished> {
        let plan = self.workload.plan(self.seed, PlanPhase::Load)?;
        let load_config = self.load_config(&plan, Purpose::Load, self.loaded(plan.len())?)?;
        let begun = clock::monotonic();
        self.prepare_to_run(&plan)?;
        self.init = clock::monotonic().since(begun);
        self.experiment(&plan, load_config, dir, true)?.execute()
    }

    /// Loads the store; the run directory of the load is `dir`.
    ///
    /// # Errors
    /// If the store cannot be prepared, or the load could not begin.
    pub fn load(&mut self, dir: &Path) -> Result<Finished> {
        if self.options.resume.is_on() {
            self.take_up_load()?;
        }
        let plan = self.workload.plan(self.seed, PlanPhase::Load)?;
        self.require_kinds(PlanPhase::Load)?;
        self.workload.require_whole_load(plan.len())?;
        let dataset = plan.loaded();
        let begun = clock::monotonic();
        self.prepare_to_load(&plan, &dataset)?;
        self.init = clock::monotonic().since(begun);
        let loading = Note::loading(&dataset, self.seed);
        self.store.keep_note(&loading.to_text()).map_err(from_open)?;
        let load_config = self.load_config(&plan, Purpose::Load, self.loaded(plan.len())?)?;
        let mut finished = self.experiment(&plan, load_config, dir, true)?.execute()?;
        if self.options.resume.is_on() {
            finished.remark(RESUMED.to_owned())?;
        }
        if finished.exit == Exit::Fine && finished.is_whole {
            self.store.flush().map_err(from_open)?;
            self.store.keep_note(&Note::loaded(&dataset).to_text()).map_err(from_open)?;
            self.is_content_settled = true;
        }
        Ok(finished)
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
        if self.options.seed.is_typed() && seed != self.seed {
            return Err(usage(format!("--resume: the load has begun with --seed {seed}")));
        }
        self.seed = seed;
        self.store = Arc::new(ResumedLoad::new(Arc::clone(&self.store)));
        Ok(())
    }

    /// Makes room for what a load writes. What is there already is removed only if that is wanted.
    pub fn prepare_to_load(&self, plan: &Compiled, dataset: &Loaded) -> Result<()> {
        let is_replaced = self.options.replace.is_on();
        let is_fresh = self.options.fresh.is_on() || is_replaced;
        if let Some(catalogue) = plan.catalogue() {
            // A server in between has dropped it already.
            let may_drop =
                self.via.is_none() && (is_replaced || is_fresh && self.is_ours(dataset)?);
            let existing = match (may_drop, self.options.resume.is_on()) {
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

    /// Prepares the store for a run on the data that it holds.
    fn prepare_to_run(&self, plan: &Compiled) -> Result<()> {
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
        let Some(spec) = self.workload.records() else { return Ok(()) };
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

    /// How many records a load writes if its plan has `planned`: a trace brings its own.
    pub fn loaded(&self, planned: Option<u64>) -> Result<Option<u64>> {
        match self.workload.preload()? {
            Some(preload) => Ok(Some(preload.end())),
            None if self.workload.records().is_some_and(|spec| spec.dataset.is_recorded()) => {
                Ok(Some(0))
            }
            None if self.workload.loads_no_row()? => Ok(Some(0)),
            None => Ok(planned),
        }
    }

    /// A load over other records would leave a mixture that no note could describe.
    ///
    /// The seed may differ: the same records are then overwritten with other values.
    fn refuse_to_mix(&self, dataset: &Loaded) -> Result<()> {
        let Some(text) = self.store.note().map_err(from_open)? else { return Ok(()) };
        let there = Note::parse(&text, &self.url)?.dataset;
        let differences = dataset.with_seed_of(&there).differences(&there);
        if differences.is_empty() || self.options.force.is_on() {
            return Ok(());
        }
        Err(usage(format!(
            "{} holds another data set already:\n  {}\n\
             remove it with --fresh, or load over it with --force",
            self.url,
            differences.join("\n  ")
        )))
    }

    /// Runs the workload; the run directory is the setup's.
    ///
    /// # Errors
    /// If the store holds other data than the workload wants, or the run could not begin.
    pub fn run(&mut self, purpose: Purpose) -> Result<Finished> {
        let undoes_inserts = self.undoes_inserts()?;
        let final_reads = self.final_reads()?;
        let experiment = self.ready(purpose)?;
        // The coordinator of a fleet makes them when all its agents have ended.
        let is_asked = self.member.is_some() && self.options.final_reads.is_on();
        let used = (final_reads.is_some() || is_asked).then(UsedNumbers::default);
        let mut finished = Experiment { final_reads, used, ..experiment }.execute()?;
        self.look_after(&mut finished, undoes_inserts)?;
        Ok(finished)
    }

    /// Looks at what the run has left behind, and removes what is to be removed.
    ///
    /// # Errors
    /// If the store does not let us, or the run directory cannot be changed.
    pub fn look_after(&self, finished: &mut Finished, undoes_inserts: bool) -> Result<()> {
        self.examine(finished)?;
        if undoes_inserts {
            self.cleanup_inserts(finished)?;
        }
        if self.options.clean_up.is_on() {
            self.clean_up(finished)?;
        }
        Ok(())
    }

    /// Whether the store of a bench stays: one that was named, or that is to be kept.
    pub fn keeps_store(&self) -> bool {
        self.options.target().is_some() || self.options.keep.is_on()
    }

    /// Removes the store that was made for this bench alone.
    pub fn remove_store(self) {
        let path = self.dir.join("store");
        drop(self);
        match std::fs::remove_dir_all(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                eprintln!("warning: cannot remove {}: {error}", path.display());
            }
            _ => {}
        }
    }

    /// What is read when the run is over, if that is wanted.
    pub fn final_reads(&self) -> Result<Option<FinalReads>> {
        let is_shared = self.member.is_some();
        let is_no_op = self.store.capabilities().is_no_op;
        if !self.options.final_reads.is_on() || is_no_op || is_shared {
            return Ok(None);
        }
        let wait = self.options.final_wait.get().unwrap_or_default();
        let is_fmke = self.workload.fmke_spec().is_some();
        // Lists are scanned on stores that have no queries of their own.
        let can_read = !is_fmke || self.store.capabilities().can(Kind::Scan);
        if let Some((queries, keys)) = self.workload.final_reads().filter(|_| can_read) {
            let (loaded, queries) = (0..keys, Some(queries));
            // What a run inserts is read with what it was inserted into.
            return Ok(Some(FinalReads { wait, loaded, inserts_from: u64::MAX, queries }));
        }
        if is_fmke {
            // Packed lists are not judged.
            return Ok(None);
        }
        let Some(spec) = self.workload.records().filter(|spec| !spec.dataset.is_recorded()) else {
            let reason = "only the records of a specification and of workloads set and fmke are \
                          known, no rows of other queries, and no keys of an imported trace";
            return Err(self.options.final_reads.wrong(reason));
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
    ///
    /// # Errors
    /// If it cannot be.
    pub fn undoes_inserts(&self) -> Result<bool> {
        if !self.options.clean_up_inserts.is_on() {
            return Ok(false);
        }
        if self.workload.records().is_none_or(|spec| spec.dataset.is_recorded()) {
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
        let plan = self.workload.plan(self.seed, PlanPhase::Run)?;
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
        let script = self.workload.trace.as_ref().and_then(|trace| trace.header().script.as_ref());
        let ddl = script.map_or(&[][..], |script| &script.ddl[..]);
        let manifest = &mut finished.manifest;
        match conditions::examinable(&self.workload.requested, ddl, finished.exit) {
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

    /// The run, ready to start; a store that is empty when it starts is loaded first.
    ///
    /// # Errors
    /// If the store holds other data than the workload wants, or the run is invalid.
    pub fn ready(&mut self, purpose: Purpose) -> Result<Experiment> {
        self.require_kinds(PlanPhase::Run)?;
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
        let dir = self.dir.clone();
        let floor = self.floor(&load_config, planned)?;
        let experiment = self.experiment(&plan, load_config, &dir, false)?;
        Ok(Experiment { floor, ..experiment })
    }

    /// The plan of the run, with the number of its processes if it ends.
    fn planned(&self) -> Result<(Compiled, Option<u64>)> {
        let plan = self.workload.plan(self.seed, PlanPhase::Run)?;
        let planned = match &self.workload.trace {
            Some(trace) => Some(trace.end()),
            None => plan.len(),
        };
        Ok((plan, planned))
    }

    /// Whether the store says what was loaded into it.
    ///
    /// # Errors
    /// If it cannot be reached.
    pub fn has_note(&self) -> Result<bool> {
        Ok(self.store.note().map_err(from_open)?.is_some())
    }

    /// How long to measure what the instrument itself needs before a run of `planned` processes.
    fn floor(&self, load_config: &LoadConfig, planned: Option<u64>) -> Result<Nanos> {
        let capabilities = self.store.capabilities();
        if capabilities.is_no_op || capabilities.time == StoreTime::Simulated {
            return Ok(Nanos::ZERO);
        }
        let given = self.options.floor.get();
        Ok(given.unwrap_or_else(|| floor::usual_length(load_config, planned)))
    }

    /// Compares what is in the store with what the workload wants. Whether the workload has taken
    /// something from there, so that its plan is another one now.
    fn agree_with_store(&mut self) -> Result<bool> {
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
        let has_changed = self.workload.take_value_seed(&note.dataset);
        let expected = self.workload.dataset(self.seed);
        let mut differences = expected.differences(&note.dataset);
        if !note.is_complete {
            differences.insert(0, "the load of it did not come to its end".to_owned());
        }
        if differences.is_empty() {
            return Ok(has_changed);
        }
        let text = differences.join("\n  ");
        if self.options.force.is_on() {
            eprintln!("warning: {} holds another data set (--force):\n  {text}", self.url);
            return Ok(has_changed);
        }
        Err(usage(format!(
            "{} holds another data set than this run wants:\n  {text}\n\
             load it again (`assay load … --fresh`), change the workload, or insist with --force",
            self.url
        )))
    }

    /// Whether the store was started for this process alone.
    pub fn has_own_lab(&self) -> bool {
        self.lab.as_ref().is_some_and(RunLab::is_own)
    }

    /// A store that ends with this process is empty: there is nothing to check before a load.
    fn load_first(&mut self) -> Result<()> {
        if self.show != Show::Nothing {
            eprintln!("{} is empty when it starts: loading first", self.url);
        }
        let dir = self.dir.join("load");
        let finished = self.load(&dir)?;
        match finished.exit {
            Exit::Fine => Ok(()),
            exit => {
                let message = format!("the load failed; see `assay report {}`", dir.display());
                Err(Failure { exit, message }.into())
            }
        }
    }

    /// Compares the workload's operations with the store's capabilities.
    ///
    /// # Errors
    /// If the store cannot do all of it.
    pub fn require_kinds(&self, phase: PlanPhase) -> Result<()> {
        let capabilities = self.store.capabilities();
        let missing: Vec<&str> = self
            .workload
            .kinds_used(phase)
            .into_iter()
            .filter(|kind| !capabilities.can(*kind))
            .map(|kind| kind.name())
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let (name, workload) = (capabilities.name, &self.workload.name);
        let missing = missing.join(", ");
        Err(usage(format!("{name} cannot do {missing}, which {workload} needs")))
    }

    pub fn load_config(
        &self,
        plan: &Compiled,
        purpose: Purpose,
        planned: Option<u64>,
    ) -> Result<LoadConfig> {
        let schedule = plan.schedule();
        let calendar = match (&self.workload.trace, &schedule) {
            (Some(trace), _) => Calendar::Trace(trace),
            (None, Some(schedule)) => Calendar::Script(schedule, plan.warm_up()),
            (None, None) => Calendar::None,
        };
        let calls = self.store.capabilities().calls;
        let load_config = LoadConfig::from(&self.options, purpose, calls, planned, calendar)?;
        let workers = match (&self.member, &load_config.load) {
            (Some(member), Load::Open(open)) => member.workers_max(open.in_flight),
            (Some(member), Load::Closed(closed)) => member.workers_max(closed.sessions as usize),
            (None, _) => usize::MAX,
        };
        let workers = load_config.workers.min(workers);
        Ok(LoadConfig { room: self.store.room(), workers, ..load_config })
    }

    /// What all agents of a fleet must have in common, a line each.
    fn common(&self, plan: &Compiled, load_config: &LoadConfig, is_load: bool) -> String {
        let Extent { processes, duration, warm_up } = load_config.extent;
        // Of a load, the data set says all: how many operations a run has changes nothing.
        let spec = match is_load {
            true => String::new(),
            false => sha256_of(plan.spec_text().as_bytes()),
        };
        let trace = self.workload.trace.as_ref().map(|trace| trace.hash().to_string());
        let trace = trace.unwrap_or_else(|| "none".to_owned());
        let processes = processes.map_or("any number of".to_owned(), |number| number.to_string());
        let duration = duration.map_or("any time".to_owned(), |time| time.to_string());
        format!(
            "seed {}, arrivals {}\nworkload {} {spec}\ntrace {trace}\nload {}\n\
             length {processes} processes, {duration}, warm-up {warm_up}\ndata set {}",
            self.seed,
            self.arrivals,
            self.workload.name,
            load_config.load_text(),
            self.workload.dataset(self.seed).to_line(),
        )
    }

    /// Simulated time has one worker: several would need an order among each other, and a second
    /// one would not make it faster.
    fn in_the_stores_time(&self, load_config: LoadConfig) -> LoadConfig {
        if self.store.capabilities().time == StoreTime::Wall {
            return load_config;
        }
        if load_config.workers > 1 && self.options.threads.is_given() {
            eprintln!("warning: {} runs in simulated time with one worker", self.url);
        }
        let processors = Vec::new();
        LoadConfig { workers: 1, blocking_threads: 0, spin: Spin::Never, processors, ..load_config }
    }

    /// The experiment of one phase, ready to be performed.
    ///
    /// # Errors
    /// If the store does not tell its settings, or the trace cannot be opened.
    pub fn experiment(
        &self,
        plan: &Compiled,
        load_config: LoadConfig,
        dir: &Path,
        is_load: bool,
    ) -> Result<Experiment> {
        let load_config = self.in_the_stores_time(load_config);
        let mut settings = self.store.settings().map_err(from_open)?;
        settings.extend(self.lab.iter().flat_map(RunLab::settings));
        settings.extend(self.via.iter().flat_map(Via::settings));
        settings.extend(self.workload.fmke_spec().into_iter().flat_map(FmkeSpec::settings));
        settings.extend(self.schedule.settings().filter(|_| !is_load));
        let manifest = self.manifest(plan, &load_config, settings, is_load);
        let common = self.common(plan, &load_config, is_load);
        let header = plan.header(self.seed);
        let fields = plan.fields();
        let (workload_kind, roles, plan) = (plan.workload_kind(), plan.roles(), plan.clone());
        let trace = match is_load {
            true => self.workload.preload()?,
            false => self.workload.trace.clone(),
        };
        let planned = match is_load {
            true => self.loaded(plan.len())?,
            false => trace.as_ref().map_or(plan.len(), |trace| Some(trace.end())),
        };
        let encoder = plan.encoder();
        // Opened once here, so that a damaged trace is found before the run.
        trace.as_ref().map(Trace::source).transpose().map_err(crate::exit::as_usage)?;
        Ok(Experiment {
            store: Arc::clone(&self.store),
            source: Box::new(move || match &trace {
                Some(trace) => replayed(trace),
                None => plan.source(),
            }),
            planned,
            encoder,
            fields,
            workload_kind,
            roles,
            init: self.init,
            load_config,
            is_load,
            seed: self.arrivals,
            dir: dir.to_owned(),
            manifest,
            header,
            listening: Arc::clone(&self.listening),
            show: self.show,
            latency: self.latency,
            run_observer: None,
            style: self.style,
            port: self.port.clone(),
            floor: Nanos::ZERO,
            hop: self.hop.clone(),
            observations: Vec::new(),
            lab: self.lab.as_ref().map(|lab| lab.client().clone()),
            scraper: self.scraper.clone().filter(|_| !is_load),
            unread: Vec::new(),
            schedule: self.schedule.clone(),
            done: actions::ExecutedActions::default(),
            stops_at_failure: is_load,
            final_reads: None,
            read_finally: FinalReadsOutcome::default(),
            used: None,
            member: self.member.clone(),
            share: None,
            common,
        })
    }

    fn manifest(
        &self,
        plan: &Compiled,
        load_config: &LoadConfig,
        settings: Vec<Setting>,
        is_load: bool,
    ) -> Manifest {
        let capabilities = self.store.capabilities();
        let trace_hash = self.workload.trace.as_ref().filter(|_| !is_load);
        let phase = if is_load { LoadPhase::Load } else { LoadPhase::Run };
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let name = self.dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let own = || (if is_load { format!("{name}-load") } else { name }, self.command.clone());
        let job = self.member.as_ref().map(|member| member.session().job());
        let (id, command) = job.map_or_else(own, |job| (job.run_id.clone(), job.command.clone()));
        Manifest {
            run: RunSection { id, command, assay: version, ..RunSection::default() },
            spec: SpecSection {
                name: self.workload.name.clone(),
                seed: self.seed.0,
                trace_hash: trace_hash.map(|trace| trace.hash().to_string()).unwrap_or_default(),
                text: plan.spec_text(),
            },
            load: LoadSection {
                model: match load_config.load {
                    Load::Open(_) => "open".to_owned(),
                    Load::Closed(_) => "closed".to_owned(),
                },
                text: match capabilities.time {
                    StoreTime::Wall => load_config.describe(),
                    StoreTime::Simulated => {
                        format!("{}; in simulated time", load_config.describe())
                    }
                },
                workers: load_config.workers as u16,
                settings: LoadSettings {
                    arrival_seed: (self.arrivals != self.seed).then_some(self.arrivals.0),
                    ..load_settings(load_config, capabilities.time, phase)
                },
            },
            store: StoreSection {
                url: self.url.clone(),
                name: capabilities.name.to_owned(),
                version: self.lab.as_ref().map_or(String::new(), |lab| lab.version().to_owned()),
                capabilities: capabilities_section(&capabilities),
                settings: settings.into_iter().map(SettingSection::from).collect(),
            },
            machine: MachineSection {
                system: machine::system(),
                processor: machine::processor(),
                cores: machine::cores() as u32,
                memory_bytes: machine::memory_bytes(),
                facts: machine::facts(),
            },
            history: HistorySection {
                agent: self.member.as_ref().map_or(0, |member| member.agent()),
                width: plan.width(),
                transaction_types: plan.transaction_types(),
                queries: plan.query_names(),
                key_shape: plan.key_shape(),
                ..HistorySection::default()
            },
            hallmark: self.thresholds.clone(),
            ..Manifest::default()
        }
    }

    /// Analyzes the finished run directory, keeps its hallmark with its page, shows the result,
    /// says where it is kept; returns the exit code.
    ///
    /// # Errors
    /// If the run directory cannot be read or the result cannot be written.
    pub fn show_result(&self, finished: &Finished) -> Result<Exit> {
        let known = finished.manifest.clone();
        let analyzed = analyze_beside(&finished.dir, known, None, &mut |_| {})?;
        // A disk that takes no more does not hide what was found.
        let is_kept = keep_hallmark(&finished.dir, &analyzed);
        show(&analyzed, &Display::from(&self.options)?)?;
        if self.show != Show::Nothing || finished.exit != Exit::Fine {
            eprintln!("kept in {}", finished.dir.display());
        }
        is_kept?;
        if self.show != Show::Nothing {
            eprintln!("page: {}", finished.dir.join(PAGE_FILE).display());
        }
        match finished.exit {
            Exit::Fine if analyzed.is_all_warm_up() => {
                eprintln!(
                    "error: nothing was measured, because every operation was issued in the \
                     warm-up: give more --operations or a longer --duration, or a shorter --warm-up"
                );
                Ok(Exit::Usage)
            }
            Exit::Fine => Ok(require_hallmark(&self.options, &analyzed)),
            other => Ok(other),
        }
    }
}

/// The control port, if one is wanted.
fn open_port(options: &Options) -> Result<Option<Arc<ControlPort>>> {
    Ok(live::port(options)?.map(ControlPort::open).transpose()?.map(Arc::new))
}

/// What the analysis has to know of a store's client.
fn capabilities_section(of: &Capabilities) -> CapabilitiesSection {
    CapabilitiesSection {
        no_op: of.is_no_op,
        calls: Some(match of.calls {
            Calls::Inline => CallForm::Inline,
            Calls::Blocking => CallForm::Blocking,
            Calls::Pipelined => CallForm::Pipelined,
        }),
        persistent: of.is_persistent,
        keeps_other_fields: of.keeps_other_fields,
        isolation: Some(of.isolation.map_or("none", Isolation::name).to_owned()),
        hidden_retries: Some(of.hidden_retries.unwrap_or("none").to_owned()),
    }
}

/// The changes to the workload that were typed.
pub fn changes(matches: &ArgMatches, options: &Options) -> Result<Changes> {
    let many = |name: &str| -> Vec<String> {
        matches
            .try_get_many::<String>(name)
            .ok()
            .flatten()
            .map(|values| values.cloned().collect())
            .unwrap_or_default()
    };
    let mut changes = Changes {
        files: many("properties"),
        properties: many("property"),
        sets: many("set"),
        records: None,
    };
    // A typed flag takes precedence over the same setting from elsewhere.
    if options.records.is_typed() || !changes.say(RECORDS) {
        changes.records = options.records.get();
    }
    Ok(changes)
}

/// The sizes of the built-in workloads are only examples; a bench takes a meaningful one.
fn suggest_size(workload: &mut Workload, changes: &Changes) -> Result<()> {
    let is_chosen = changes.records.is_some() || !changes.files.is_empty() || changes.say(RECORDS);
    if let Some(entry) = workload.entry
        && !is_chosen
        && workload.records().is_some()
    {
        let set = format!("dataset.records={}", entry.suggested_records);
        *workload = Workload::read(
            entry.name,
            &Changes { sets: [changes.sets.clone(), vec![set]].concat(), ..changes.clone() },
        )?;
    }
    Ok(())
}

/// The lengths of the built-in workloads are only examples too: a thousand operations take no time.
fn suggest_length(options: &mut Options, workload: &Workload, changes: &Changes) -> Result<()> {
    let says_length = has_stages(options)
        || options.operations.text().is_some()
        || options.duration.text().is_some();
    let is_chosen = !changes.files.is_empty() || changes.say(COUNT);
    let example = workload.entry.and_then(|_| workload.records()?.operations.count);
    if example.is_some() && !says_length && !is_chosen {
        options.duration.set(&quantity::write_time(USUAL_DURATION), Origin::Default)?;
    }
    Ok(())
}

/// Sessions of a workload that is nothing without some.
fn suggest_sessions(options: &mut Options, workload: &Workload) -> Result<()> {
    let suggested = workload.entry.and_then(|entry| entry.suggested_sessions);
    let is_chosen = options.rate.text().or(options.closed.text()).is_some();
    if let Some(sessions) = suggested.filter(|_| !is_chosen) {
        options.closed.set(&sessions.to_string(), Origin::Default)?;
    }
    Ok(())
}

/// A server before the store at `target`.
fn start_via(workload: &Workload, target: &str, options: &Options) -> Result<Via> {
    let WorkloadSource::Script(ScriptSpec::Fmke(spec)) = &workload.requested else {
        return Err(via::refuse(&workload.name));
    };
    let replaces = options.fresh.is_on() || options.replace.is_on();
    Via::start(target, spec.layout.name(), replaces)
}

/// Operations of FMKe are requests if the store is a server of it.
fn send_through_server(workload: &mut Workload, target: &str) {
    if let Some(spec) = workload.fmke_mut().filter(|_| target.starts_with("fmke+http:")) {
        spec.through = Through::Server;
    }
}

/// Stages of the rate set the duration as well.
fn has_stages(options: &Options) -> bool {
    options.rate.text().is_some_and(|rate| rate.contains('@'))
}

/// The number of operations that the spec says is for those who say nothing else.
fn set_length(workload: &mut Workload, options: &Options, purpose: Purpose) -> Result<()> {
    let given = options.operations.get();
    if given == Some(0) {
        return Err(options.operations.wrong("nothing would be issued; give at least 1"));
    }
    let has_duration = has_stages(options) || options.duration.get().is_some();
    let is_limited = given.is_some() || has_duration || purpose == Purpose::Bench;
    if is_limited { workload.set_operations(given) } else { Ok(()) }
}

/// The seed that was given, that of the trace, or one that the system draws.
pub fn seed(options: &Options, trace: Option<&Trace>) -> Result<Seed> {
    if let Some(seed) = options.seed.get() {
        return Ok(Seed(seed));
    }
    if let Some(trace) = trace {
        return Ok(trace.header().seed);
    }
    draw_seed()
}

/// A seed that the system draws; short enough to be read aloud.
pub fn draw_seed() -> Result<Seed> {
    Ok(Seed(random()? & u64::from(u32::MAX)))
}

/// A number that nobody can guess, from the kernel itself: where there is no /dev too.
///
/// # Errors
/// If the kernel gives none.
pub fn random() -> Result<u64> {
    let mut bytes = [0; 8];
    let given = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .context("the system gives no random number")?;
    // So few bytes are given whole or not at all.
    anyhow::ensure!(given == bytes.len(), "the system gives {given} random bytes of 8");
    Ok(u64::from_le_bytes(bytes))
}

fn target(options: &Options, purpose: Purpose, dir: &Path) -> Result<String> {
    match options.target() {
        // The run directory is a place for a store on disk that is used once.
        Some("sqlite:" | "sqlite") if purpose == Purpose::Bench => {
            Ok(format!("sqlite:{}", dir.join("store.db").display()))
        }
        Some(target) => Ok(target.to_owned()),
        None if purpose == Purpose::Bench => {
            Ok(format!("{}:{}", registry::EMBEDDED_DEFAULT, dir.join("store").display()))
        }
        None => Err(usage(
            "which store? give -t URL, for example -t redis://127.0.0.1:6379; `assay stores` \
             lists them; --up redis starts one here",
        )),
    }
}

/// `url` with what the workload has to say to a Java binding.
fn knowing(url: String, workload: &Workload) -> String {
    let url = match workload.records().filter(|_| is_java(&url)) {
        Some(spec) => with_properties(url, &sizes(spec)),
        None => url,
    };
    with_properties(url, &workload.binding)
}

/// `url` with the consistency that setting `consistency` names; a store that has no such option
/// says so when it is opened.
fn at_consistency(url: String, options: &Options) -> Result<String> {
    let Some(level) = options.consistency.text() else { return Ok(url) };
    let query = url.split_once('?').map_or("", |(_, query)| query);
    if query.split('&').any(|pair| pair.starts_with("consistency=")) {
        return Err(options.consistency.wrong("the URL of the store names another one"));
    }
    let mark = if url.contains('?') { '&' } else { '?' };
    Ok(format!("{url}{mark}consistency={level}"))
}

/// `url` with the options that setting `url-options` adds to it.
fn with_options(url: String, options: &Options) -> String {
    let Some(more) = options.url_options.text() else { return url };
    let mark = if url.contains('?') { '&' } else { '?' };
    format!("{url}{mark}{more}")
}

/// The workload that `spec` names, with what was changed, and its settings beneath those that were
/// given.
fn workload(
    spec: &str,
    changes: &Changes,
    options: &mut Options,
    purpose: Purpose,
) -> Result<Workload> {
    let mut workload = Workload::read(spec, changes)?;
    if purpose != Purpose::Load {
        workload.require_run()?;
    }
    options.add_beneath(spec, &workload.settings)?;
    match purpose {
        Purpose::Bench => suggest_size(&mut workload, changes)?,
        Purpose::Run => suggest_length(options, &workload, changes)?,
        Purpose::Load => {}
    }
    suggest_sessions(options, &workload)?;
    set_length(&mut workload, options, purpose)?;
    Ok(workload)
}

/// Where the run directory will be; nothing is there yet.
fn run_dir(options: &Options, name: &str, seed: Seed) -> Result<PathBuf> {
    let dir = match options.run_dir() {
        Some(dir) if dir.as_os_str().is_empty() => {
            return Err(options.run_dir.wrong("it is empty; name a directory"));
        }
        Some(dir) => dir.to_owned(),
        None => run_dirs::fresh(options.runs_dir(), name, seed.0),
    };
    run_dirs::require_free(&dir)?;
    Ok(dir)
}

/// `url` with what makes sessions roam, if those of the workload do.
fn roaming(url: String, workload: &Workload) -> Result<String> {
    match workload.records().is_some_and(|spec| spec.sessions.roam) {
        true => registry::roaming(&url).map_err(from_open),
        false => Ok(url),
    }
}

/// The command line as it was typed, URLs without secrets, with the seed that was drawn.
pub fn command_line(seed: Seed, options: &Options) -> Vec<String> {
    let mut words = typed();
    if !options.seed.is_given() {
        words.extend(["--seed".to_owned(), seed.to_string()]);
    }
    words
}

/// The command line as it was typed, URLs without secrets.
pub fn typed() -> Vec<String> {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let mut words: Vec<String> = words.map(|word| redacted(&word)).collect();
    if let Some(first) = words.first_mut() {
        *first = "assay".to_owned();
    }
    words
}

/// A monotonic clock for stores that pretend to work.
fn monotonic_ns() -> u64 {
    assay_run::clock::monotonic().0
}
