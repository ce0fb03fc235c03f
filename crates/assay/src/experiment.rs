//! One load or run from plan to sealed run directory: the function that joins all crates.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::SystemTime;

use anyhow::{Context, Result};
use assay_history::manifest::{
    ExecutionSection, FloorSection, HeldStretch, LoadPhase, LoadSettings, PhaseSection,
    RateChangeSection, SettingSection, Spinning,
};
use assay_history::{
    Manifest, Memory, Observation, ReadsSink, ReadsWriter, RunDir, State, WorkerSink, WriteError,
    Writer,
};
use assay_lab::LabClient;
use assay_live::dashboard::{Caption, Dashboard};
use assay_live::port::{ControlPort, Subject};
use assay_live::progress::{self, Goal, Observer, Show};
use assay_live::rate_control::RateControl;
use assay_model::{
    Event, EventKind, Nanos, ObservedValue, OperationEncoder, Phase, QueryRole, Reason, Record,
    Seed, Source,
};
use assay_report::Style;
use assay_run::control::Urgency;
use assay_run::executor::{AbortReason, FailedOperation, WorkerOutcome};
use assay_run::{
    ArrivalProcess, Arrivals, Closed, Control, ExecuteError, Latency, LiveCounters, Load,
    RateChange, RunOutcome, Share, Sink, Snapshot, Spin, Start, Think, Workers, WorkloadKind,
    execute, execute_in_simulated_time,
};
use assay_store::blocking::BlockingThreads;
use assay_store::{Calls, Store, StoreTime};
use assay_trace::{Header, TraceHash};

use crate::actions::action::ActionKind;
use crate::actions::schedule::ActionSchedule;
use crate::actions::{self, ExecutedActions};
use crate::exit::{Exit, as_usage, from_open};
use crate::final_reads::{FinalContext, FinalReads, FinalReadsOutcome, UsedNumbers};
use crate::fleet::FleetMember;
use crate::load_config::LoadConfig;
use crate::observe::scrape::{Scraped, Scraper};
use crate::observe::servers::Watched;
use crate::signals::Listening;
use crate::units::rfc3339;
use crate::via::{self, Hop};
use crate::{floor, live, observe, truth};

/// Everything that a load or run needs.
pub struct Experiment {
    /// The store, prepared.
    pub store: Arc<dyn Store>,
    /// Opens a source of processes for a worker.
    pub source: Box<dyn Fn() -> Box<dyn Source> + Sync>,
    /// How many processes the plan has, if it ends.
    pub planned: Option<u64>,
    /// Turns numbers into bytes.
    pub encoder: Arc<dyn OperationEncoder>,
    /// The fields of the table.
    pub fields: Arc<[String]>,
    /// The protocol of the plan's processes.
    pub workload_kind: WorkloadKind,
    /// What each query means to the judge, by its place in the catalogue.
    pub roles: Arc<[QueryRole]>,
    /// How long it took to make the store ready.
    pub init: Nanos,
    /// The load.
    pub load_config: LoadConfig,
    /// Whether this fills the store.
    pub is_load: bool,
    /// Whether the first operation that fails ends it.
    pub stops_at_failure: bool,
    /// The seed.
    pub seed: Seed,
    /// The run directory.
    pub dir: PathBuf,
    /// The manifest as far as it is known before the run.
    pub manifest: Manifest,
    /// What a trace of the plan says about itself; it gives the executed hash its meaning.
    pub header: Header,
    /// How progress is shown.
    pub show: Show,
    /// The latency that live figures show.
    pub latency: Latency,
    /// Hears the keyboard.
    pub listening: Arc<Listening>,
    /// Sees the run while it goes on, instead of our own progress line.
    pub run_observer: Option<Box<dyn Observer>>,
    /// Characters and colours of a dashboard.
    pub style: Style,
    /// The run's HTTP port.
    pub port: Option<Arc<ControlPort>>,
    /// How long to measure what the instrument itself needs before the run; zero for not at all.
    pub floor: Nanos,
    /// What HTTP adds to an operation is measured with this, if a server is in between.
    pub hop: Option<Arc<Hop>>,
    /// What was seen of the machine during the run.
    pub observations: Vec<Observation>,
    /// What is read of servers meanwhile, if anything is.
    pub scraper: Option<Arc<Scraper>>,
    /// What of that could not be read, a sentence each.
    pub unread: Vec<String>,
    /// The lab that the store is in, if it is in one.
    pub lab: Option<LabClient>,
    /// What is done to it meanwhile.
    pub schedule: ActionSchedule,
    /// What was done to it, with how that ended.
    pub done: ExecutedActions,
    /// What is read when the run is over, if anything.
    pub final_reads: Option<FinalReads>,
    /// What came of that.
    pub read_finally: FinalReadsOutcome,
    /// The numbers that the records have used, if somebody wants to know: for final reads.
    pub used: Option<UsedNumbers>,
    /// The member in a fleet, if this is one agent's part.
    pub member: Option<Arc<FleetMember>>,
    /// The share that it has there.
    pub share: Option<Share>,
    /// What all agents must have in common, in words.
    pub common: String,
}

/// What came of an experiment.
pub struct Finished {
    /// The run directory.
    pub dir: PathBuf,
    /// What its `run.toml` says.
    pub manifest: Manifest,
    /// The code that the program should end with because of it.
    pub exit: Exit,
    /// Whether the whole plan was issued, and succeeded.
    pub is_whole: bool,
}

impl Finished {
    /// Adds a remark that a reader must see.
    ///
    /// # Errors
    /// If `run.toml` cannot be written again.
    pub fn remark(&mut self, text: String) -> Result<()> {
        self.manifest.notes.push(text);
        self.manifest.write(&self.dir)?;
        Ok(())
    }
}

/// A sink of the history as the executor sees it.
pub struct HistorySink {
    /// For the records.
    pub records: WorkerSink,
    /// For the values that queries return, where they are judged.
    pub reads: Option<ReadsSink>,
    /// What its records have used up, if anybody asks.
    pub used: Option<UsedNumbers>,
}

impl Sink for HistorySink {
    #[inline]
    fn push(&mut self, record: Record) {
        if let Some(used) = &mut self.used {
            used.add(&record);
        }
        self.records.push(record);
    }

    fn observe(&mut self, value: ObservedValue) {
        if let Some(reads) = &mut self.reads {
            reads.push(value);
        }
    }

    fn flush(&mut self) {
        self.records.flush();
    }

    fn is_broken(&self) -> bool {
        self.records.is_broken()
    }

    fn room(&self) -> usize {
        self.records.room()
    }

    fn stalls(&self) -> u64 {
        self.records.stalls() + self.reads.as_ref().map_or(0, ReadsSink::stalls)
    }
}

impl Experiment {
    /// Runs the plan, writes the records, seals the run directory.
    ///
    /// # Errors
    /// If the run could not begin, or its history could not be kept. What was kept stays.
    pub fn execute(mut self) -> Result<Finished> {
        let mut run_dir = RunDir::create(&self.dir).map_err(as_usage)?;
        self.manifest.run.started = rfc3339(SystemTime::now());
        self.manifest.history.nodes = self.store.nodes();
        let workers = self.load_config.workers;
        if let Some(member) = &self.member {
            self.share = Some(member.share(workers, &self.common)?);
        }
        run_dir.write_manifest(&self.manifest)?;
        let (writer, sinks) = run_dir.writer(workers as u16, Memory::default())?;
        let (reads, observed) = self.reads_writer(&self.dir, workers)?;
        let mut observed = observed.into_iter();
        let used = self.used;
        let sinks = sinks.into_iter().map(|records| {
            let reads = observed.next();
            HistorySink { records, reads, used }
        });
        // To the end of all this, so that no impatient interrupt cuts the sealing short.
        let listening = Arc::clone(&self.listening);
        let _during = listening.during();
        self.manifest.floor = self.measure_floor()?;
        self.measure_hop()?;
        let outcome = match self.send(sinks.collect(), listening.control()) {
            Ok(outcome) => outcome,
            Err(error) => {
                self.close_failed(&mut run_dir, writer, &error)?;
                return Err(error);
            }
        };
        let broken = writer.finish().err();
        self.describe_end(&outcome, broken.as_ref());
        run_dir.write_events(&self.events(&outcome))?;
        if !self.observations.is_empty()
            && let Err(error) = run_dir.write_observations(&self.observations)
        {
            // The history is worth more; without observations the hallmark says what is missing.
            self.manifest.notes.push(error.to_string());
        }
        self.keep_truth()?;
        // Some were only met during the run.
        self.manifest.history.nodes = self.store.nodes();
        if let Some(Err(error)) = reads.map(ReadsWriter::finish) {
            // The figures are worth more; without the values the judge says what is missing.
            self.manifest.notes.push(error.to_string());
        }
        let sealed = run_dir.seal(self.manifest.history.agent, &self.part_facts());
        if let Ok(sealed) = &sealed {
            self.manifest.notes.extend(sealed.damage.iter().map(ToString::to_string));
            self.manifest.history.sum = sealed.sum().to_string();
        }
        if let Err(error) = &sealed {
            self.manifest.state = State::Failed;
            self.manifest.reason.get_or_insert(error.to_string());
        }
        self.describe_share(&outcome);
        run_dir.write_manifest(&self.manifest)?;
        if let Err(error) = &sealed {
            // The written blocks can be analyzed, so there is a result all the same.
            eprintln!("error: {error}");
        }
        self.say_undone(&outcome);
        let is_whole = self.has_issued_all(&outcome)
            && outcome.sum(|worker| worker.outcomes[0]) == outcome.sum(|worker| worker.offered);
        let exit = self.exit(&outcome);
        Ok(Finished { dir: self.dir, manifest: self.manifest, exit, is_whole })
    }

    /// What keeps the values that `workers` workers observe in `dir`, if they are judged.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn reads_writer(
        &self,
        dir: &Path,
        workers: usize,
    ) -> Result<(Option<ReadsWriter>, Vec<ReadsSink>)> {
        let is_told = self.roles.is_empty() && self.store.tells_versions();
        let is_observed = !self.is_load && (is_told || self.roles.iter().any(|role| role.reads()));
        match is_observed {
            true => Ok(ReadsWriter::start(dir, workers).map(|(one, all)| (Some(one), all))?),
            false => Ok((None, Vec::new())),
        }
    }

    fn send(&mut self, sinks: Vec<HistorySink>, control: &Control) -> Result<RunOutcome> {
        let latency = self.gauged();
        let worker_counters: Vec<LiveCounters> =
            sinks.iter().map(|_| LiveCounters::new(latency)).collect();
        let store = self.called_store();
        let is_over = Arc::new(AtomicBool::new(false));
        let raised_at_end = RaisedAtEnd(&is_over);
        let rate_control =
            RateControl::new(Arc::clone(self.listening.control()), &self.load_config.load);
        let rate_control = Arc::new(rate_control);
        // A new observer must not see the clock of the run before.
        control.set_clock(None);
        let observers = self.observers(&rate_control);
        let is_simulated = self.is_simulated();
        let experiment = &*self;
        let (outcome, observed, (used, read_finally)) = thread::scope(|scope| {
            let start = experiment.member.as_deref().map(|member| member as &dyn Start);
            let run = Workers { start, ..experiment.run() };
            let (worker_counters, over) = (&worker_counters, &is_over);
            let take = |snapshot: &mut Snapshot| {
                worker_counters.iter().for_each(|counters| counters.take(snapshot));
                Vec::new()
            };
            let watch = move || progress::watch(take, &rate_control, observers, over);
            let watcher = thread::Builder::new()
                .name("watcher".to_owned())
                .spawn_scoped(scope, watch)
                .context("cannot start the thread that watches the run")?;
            let observer = thread::Builder::new().name("observer".to_owned());
            let observer = (!is_simulated)
                .then(|| observer.spawn_scoped(scope, || observe::watch(control, over)))
                .transpose()
                .context("cannot start the thread that watches the machine")?;
            let beside = experiment.begin_beside(scope, control, over)?;
            experiment.date(scope, control, over)?;
            let result = {
                // Even if a worker panics: observers must not wait for ever.
                let _raised = raised_at_end;
                match is_simulated {
                    true => {
                        execute_simulated(&run, store.as_ref(), sinks, &worker_counters[0], control)
                    }
                    false => execute(&run, store.as_ref(), sinks, worker_counters, control),
                }
            };
            if watcher.join().is_err() {
                // Its panic has been reported; the measurement matters more than the display.
                eprintln!("warning: the view of the run broke; the run itself went on");
            }
            let (outcome, mut sinks) = result.map_err(from_execute)?;
            let observed = beside.join(joined(observer));
            let used = sinks.iter().filter_map(|sink| sink.used);
            let used = used.fold(UsedNumbers::default(), UsedNumbers::and);
            let is_stopped = outcome.is_interrupted || outcome.trouble().is_some();
            // Every action has ended by now: what was broken is mended, or stays as it is.
            let obstacle = observed.obstacle(is_stopped);
            let read =
                experiment.read_finally(obstacle, store.as_ref(), (used, sinks.swap_remove(0)));
            anyhow::Ok((outcome, observed, (used, read)))
        })?;
        if let Some(clock) = control.clock() {
            self.manifest.run.started = rfc3339(clock.epoch());
        }
        (self.observations, self.unread, self.done) =
            (observed.observations, observed.unread, observed.done);
        (self.used, self.read_finally) = (self.used.and(Some(used)), read_finally);
        Ok(outcome)
    }

    /// The store as workers call it.
    pub fn called_store(&self) -> Arc<dyn Store> {
        with_blocking_threads(Arc::clone(&self.store), self.load_config.blocking_threads)
    }

    /// Reads the records once more into `sink`, if that is wanted and nothing is in the way.
    pub fn read_finally(
        &self,
        obstacle: Option<&str>,
        store: &dyn Store,
        (used, sink): (UsedNumbers, HistorySink),
    ) -> FinalReadsOutcome {
        let Some(final_reads) = &self.final_reads else {
            return FinalReadsOutcome::default();
        };
        if let Some(obstacle) = obstacle {
            return FinalReadsOutcome::none(obstacle);
        }
        if self.show != Show::Nothing {
            eprintln!("waiting for the store to respond, then reading all records once more");
        }
        let control = self.listening.control();
        final_reads.perform(&FinalContext { run: self.run(), store, control, used }, sink)
    }

    /// Begins what goes on beside the load: actions on the store, a look at its servers.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn begin_beside<'scope, 'env: 'scope>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        control: &'env Control,
        is_over: &'env AtomicBool,
    ) -> Result<Beside<'scope>> {
        Ok(Beside {
            servers: self.watch_servers(scope, control, is_over)?,
            scraped: self.scrape(scope, control, is_over)?,
            actions: self.do_actions(scope, control, is_over)?,
        })
    }

    /// Watches the servers of the lab, if the store is in one.
    fn watch_servers<'scope, 'env: 'scope>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        control: &'env Control,
        is_over: &'env AtomicBool,
    ) -> Result<Option<ScopedJoinHandle<'scope, Watched>>> {
        let Some(lab) = &self.lab else { return Ok(None) };
        let watch = move || observe::servers::watch(lab.folder(), control, is_over);
        let thread = thread::Builder::new().name("servers".to_owned()).spawn_scoped(scope, watch);
        thread.map(Some).context("cannot start the thread that watches the servers")
    }

    /// Reads numbers of servers, if that is wanted.
    fn scrape<'scope, 'env: 'scope>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        control: &'env Control,
        is_over: &'env AtomicBool,
    ) -> Result<Option<ScopedJoinHandle<'scope, Scraped>>> {
        let Some(scraper) = &self.scraper else { return Ok(None) };
        let scrape = move || scraper.watch(control, is_over);
        let thread = thread::Builder::new().name("scraper".to_owned()).spawn_scoped(scope, scrape);
        thread.map(Some).context("cannot start the thread that reads numbers of servers")
    }

    /// Notes when the run's time began as soon as that is known, for a run that is killed.
    fn date<'scope, 'env: 'scope>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        control: &'env Control,
        is_over: &'env AtomicBool,
    ) -> Result<()> {
        if self.is_simulated() {
            return Ok(());
        }
        let (dir, mut manifest) = (self.dir.clone(), self.manifest.clone());
        let date = move || {
            let Some(clock) = actions::begun(control, is_over) else { return };
            manifest.run.started = rfc3339(clock.epoch());
            // A disk error will be reported at the end.
            drop(manifest.write(&dir));
        };
        let thread = thread::Builder::new().name("date".to_owned()).spawn_scoped(scope, date);
        thread.map(drop).context("cannot start the thread that dates the run")
    }

    /// Does to the lab what is to be done meanwhile.
    fn do_actions<'scope, 'env: 'scope>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        control: &'env Control,
        is_over: &'env AtomicBool,
    ) -> Result<Option<ScopedJoinHandle<'scope, ExecutedActions>>> {
        let (Some(lab), false) = (&self.lab, self.schedule.is_empty() || self.is_load) else {
            return Ok(None);
        };
        let schedule = &self.schedule;
        // A run that was stopped does not wait for what may take as long as it likes; only what
        // was broken is mended all the same.
        let is_stopped = || is_over.load(Ordering::Relaxed) && control.urgency() != Urgency::None;
        let act = move |act: &ActionKind| {
            act.upon(lab, &|| schedule.is_drawn() || act.is_mend() || !is_stopped())
        };
        let execute = move || actions::execute(schedule, control, is_over, act);
        let thread = thread::Builder::new().name("actions".to_owned()).spawn_scoped(scope, execute);
        thread.map(Some).context("cannot start the thread that scales or breaks the store")
    }

    /// The observers of the run; none for a run in simulated time.
    pub fn observers(&mut self, rate_control: &Arc<RateControl>) -> Vec<Box<dyn Observer>> {
        let run_observer = self.run_observer.take();
        if self.is_simulated() {
            return Vec::new();
        }
        let goal = self.goal();
        let mut observers: Vec<Box<dyn Observer>> = run_observer.into_iter().collect();
        observers.extend(self.member.as_ref().map(FleetMember::observer));
        if let Some(port) = &self.port {
            observers.push(port.watch(self.subject(), Arc::clone(rate_control)));
        }
        match self.show {
            Show::Nothing => {}
            Show::Lines => observers.push(Box::new(live::lines(goal))),
            Show::Dashboard => {
                let title = format!(
                    "assay {} {} on {}",
                    self.verb(),
                    self.manifest.spec.name,
                    self.manifest.store.url
                );
                let caption =
                    Caption { title, model: self.load_config.describe(), goal, style: self.style };
                let stage = Arc::clone(self.listening.stage());
                observers.push(Box::new(Dashboard::new(stage, caption)));
            }
        }
        observers
    }

    fn goal(&self) -> Goal {
        let extent = &self.load_config.extent;
        Goal {
            processes: self.load_config.processes(self.planned),
            duration: extent.duration.map(|duration| duration + extent.warm_up),
            warm_up: extent.warm_up,
            is_load: self.is_load,
        }
    }

    fn subject(&self) -> Subject {
        let goal = self.goal();
        Subject {
            verb: self.verb(),
            workload: self.manifest.spec.name.clone(),
            store: self.manifest.store.url.clone(),
            model: match self.load_config.load {
                Load::Open(_) => "open",
                Load::Closed(_) => "closed",
            },
            text: self.load_config.describe(),
            duration: goal.duration,
            warm_up: goal.warm_up,
            processes: goal.processes,
        }
    }

    fn verb(&self) -> &'static str {
        if self.is_load { "load" } else { "run" }
    }

    /// The latencies that are shown during the run.
    fn gauged(&self) -> Latency {
        let is_wanted = |member: &Arc<FleetMember>| member.session().job().shows_service;
        let shows_both = self.shows_service() || self.member.as_ref().is_some_and(is_wanted);
        if shows_both { Latency::Both } else { self.latency }
    }

    /// Whether service times are shown beside response times.
    pub fn shows_service(&self) -> bool {
        self.show == Show::Dashboard || self.port.is_some()
    }

    /// Whether the store computes the times of its responses, so that the run needs no real time.
    fn is_simulated(&self) -> bool {
        self.store.capabilities().time == StoreTime::Simulated
    }

    /// What a store that knows says about what happened, with what it could not keep of it.
    fn keep_truth(&mut self) -> Result<()> {
        if self.is_load || !self.is_simulated() {
            return Ok(());
        }
        if let Err(error) = truth::keep(self.store.as_ref(), &self.dir) {
            // The history is worth more.
            self.manifest.notes.push(error.to_string());
        }
        let settings = self.store.settings().map_err(from_open)?;
        self.manifest.store.settings = settings.into_iter().map(SettingSection::from).collect();
        Ok(())
    }

    /// What goes into every part of the history. In simulated time the same run gives the same
    /// bytes, so what distinguishes two of them stays in the manifest.
    fn part_facts(&self) -> Vec<(String, String)> {
        let mut facts = self.manifest.facts();
        if self.is_simulated() {
            facts.retain(|(name, _)| name != "assay.run.id" && name != "assay.started");
        }
        facts
    }

    /// The instructions to the workers.
    pub fn run(&self) -> Workers<'_> {
        Workers {
            workers: self.load_config.workers,
            source: &*self.source,
            encoder: Arc::clone(&self.encoder),
            fields: Arc::clone(&self.fields),
            workload_kind: self.workload_kind,
            roles: Arc::clone(&self.roles),
            load: self.load_config.load.clone(),
            extent: self.load_config.extent,
            timeout: self.load_config.timeout,
            seed: self.seed,
            is_load: self.is_load,
            stop_at_failure: self.stops_at_failure,
            spin: self.load_config.spin,
            processors: &self.load_config.processors,
            share: self.share,
            start: None,
        }
    }

    /// The same options against the null store, for the noise floor, if configured.
    fn measure_floor(&self) -> Result<Option<FloorSection>> {
        if self.floor == Nanos::ZERO || self.is_load || self.is_simulated() {
            return Ok(None);
        }
        let calls = self.store.capabilities().calls;
        floor::measure(self.run(), self.floor, calls).map_err(from_execute)
    }

    /// The same operations, one at a time, through a server that has no store behind it.
    fn measure_hop(&mut self) -> Result<()> {
        let Some(hop) = self.hop.take() else { return Ok(()) };
        if self.floor > Nanos::ZERO && !self.is_load {
            let one = Closed { sessions: 1, think: Think::No, target_rate: None };
            // A client that sleeps would add the system's time to wake it.
            let spin = Spin::Always;
            let run = Workers { workers: 1, load: Load::Closed(one), spin, ..self.run() };
            let measured = floor::measure_on(run, self.floor, Calls::Pipelined, &*hop.store);
            let measured = measured.map_err(from_execute)?;
            let settings = &mut self.manifest.store.settings;
            settings.extend(measured.as_ref().map(via::hop).map(SettingSection::from));
        }
        Ok(())
    }

    /// The run could not begin: the run directory says so.
    fn close_failed(
        &mut self,
        run_dir: &mut RunDir,
        writer: Writer,
        error: &anyhow::Error,
    ) -> Result<()> {
        drop(writer.finish());
        self.manifest.state = State::Failed;
        self.manifest.reason = Some(error.to_string());
        self.manifest.run.ended = rfc3339(SystemTime::now());
        run_dir.write_manifest(&self.manifest).context("cannot note the failure")
    }

    /// Fills in what is known after the run.
    fn describe_end(&mut self, outcome: &RunOutcome, broken: Option<&WriteError>) {
        let (state, reason) = self.state(outcome, broken);
        let phases = self.phases(outcome);
        let planned_rate = self.planned_rate(&phases);
        let issued_all = self.has_issued_all(outcome);
        // Simulated time stands still while the history is written.
        let stalls = if self.is_simulated() { 0 } else { outcome.sum(|worker| worker.stalls) };
        let manifest = &mut self.manifest;
        manifest.state = state;
        manifest.reason = reason;
        manifest.run.ended = rfc3339(SystemTime::now());
        manifest.phases = phases;
        let [done, refused, unknown, dropped] =
            [0, 1, 2, 3].map(|code| outcome.sum(|worker| worker.outcomes[code]));
        let counters = &mut manifest.counters;
        counters.offered = outcome.sum(|worker| worker.offered);
        (counters.done, counters.refused) = (done, refused);
        (counters.unknown, counters.dropped) = (unknown, dropped);
        let records = counters.offered + self.read_finally.records;
        manifest.history.records = records - broken.map_or(0, |error| error.lost);
        manifest.history.lost = broken.map_or(0, |error| error.lost);
        manifest.history.stalls = stalls;
        let executed = TraceHash::from_sum(outcome.fingerprint()).seal(&self.header).to_string();
        let changes = self.listening.control().rate_changes();
        let changes = changes.iter();
        let read_finally = self.read_finally.records;
        manifest.execution = ExecutionSection {
            issued_all,
            executed_hash: Some(executed),
            planned_rate,
            queued: Some(outcome.sum(|worker| worker.queued)),
            held_back: held_back(outcome),
            late_answers: Some(outcome.sum(|worker| worker.late_answers)),
            in_flight_max: Some(outcome.sum(|worker| worker.in_flight_max as u64)),
            worker_cpu_ns: Some(outcome.sum(|worker| worker.cpu.0)),
            final_reads: self.final_reads.as_ref().map(|_| read_finally),
            rate_changes: changes
                .map(|change| RateChangeSection { at_ns: change.at.0, rate: change.rate })
                .collect(),
        };
        self.remark(outcome);
    }

    /// Fills in what the share of a fleet's run was, if this is one.
    fn describe_share(&mut self, outcome: &RunOutcome) {
        if let (Some(member), Some(share)) = (&self.member, self.share) {
            member.tell_end(self.listening.control());
            let facts = (outcome.fingerprint(), self.used.map(|used| used.section()));
            let section = member.section(&self.manifest, share, facts);
            self.manifest.agents = vec![section];
        }
    }

    /// Whether the plan was issued in full.
    fn has_issued_all(&self, outcome: &RunOutcome) -> bool {
        let planned = self.planned.unwrap_or(u64::MAX);
        let extent = self.load_config.extent;
        outcome.ran_out() && extent.processes.is_none_or(|processes| processes >= planned)
    }

    /// Arrivals per second over the measured window, as the shape and its changes plan them.
    fn planned_rate(&self, phases: &[PhaseSection]) -> Option<f64> {
        let Load::Open(open) = &self.load_config.load else { return None };
        if matches!(open.arrivals.process, ArrivalProcess::Recorded(_)) {
            return None;
        }
        let measured = phases.iter().find(|phase| phase.name == Phase::Measure.name());
        let window = measured.filter(|window| window.from_ns < window.to_ns)?;
        let rate_profile = self.listening.control().rate_profile()?;
        Some(rate_profile.mean_rate(Nanos(window.from_ns), Nanos(window.to_ns)))
    }

    /// Remarks that a reader must see.
    fn remark(&mut self, outcome: &RunOutcome) {
        let notes = &mut self.manifest.notes;
        let changes = self.listening.control().rate_changes();
        if let [first, rest @ ..] = &changes[..] {
            let last = match rest.len() {
                0 => String::new(),
                more => format!(", then {more} times more until {}", changes[more].at),
            };
            notes.push(format!(
                "the rate was changed while the run went on: at {} {}{last}",
                first.at,
                rate_change(first)
            ));
        }
        notes.extend(self.done.notes().cloned());
        notes.extend(self.store.incidents());
        notes.append(&mut self.unread);
        let stalls = self.manifest.history.stalls;
        if stalls > 0 {
            notes.push(format!(
                "workers waited {stalls} times for the history to be written: part of the lag is \
                 ours"
            ));
        }
        let queued = outcome.sum(|worker| worker.queued);
        if queued > 0
            && let Load::Open(open) = &self.load_config.load
        {
            let bound = self.load_config.in_flight(open);
            let what = match bound < open.in_flight {
                true => "what the store's connections take",
                false => "--in-flight",
            };
            notes.push(format!(
                "{queued} arrivals waited because the bound on processes in flight was reached \
                 ({bound}: {what}); their wait is in the response time"
            ));
        }
        let late = outcome.sum(|worker| worker.late_answers);
        if late > 0 {
            notes.push(format!("{late} answers came after the timeout had expired"));
        }
        notes.extend(first_failure(outcome));
        notes.extend(self.read_finally.notes.iter().cloned());
    }

    fn state(&self, outcome: &RunOutcome, broken: Option<&WriteError>) -> (State, Option<String>) {
        if let Some(error) = broken {
            return (State::Failed, Some(error.to_string()));
        }
        match outcome.trouble() {
            Some(AbortReason::Plan(reason)) => (State::Failed, Some(reason.clone())),
            Some(AbortReason::History) => {
                (State::Failed, Some("the history could not be written".to_owned()))
            }
            Some(AbortReason::InFlightLimit) => (
                State::Failed,
                Some("the bound on processes in flight was reached (--overflow abort)".to_owned()),
            ),
            Some(AbortReason::Failure) => (State::Failed, Some(self.load_failure(outcome))),
            None if outcome.is_interrupted => {
                (State::Interrupted, Some("stopped from outside".to_owned()))
            }
            None => (State::Finished, None),
        }
    }

    fn load_failure(&self, outcome: &RunOutcome) -> String {
        let done = outcome.sum(|worker| worker.outcomes[0]);
        match outcome.first_failure() {
            Some(FailedOperation { key, reason, .. }) => format!(
                "the load stopped because the insert of record {key} failed ({}); {done} records \
                 are in; mend the store and load again with --fresh",
                reason.name()
            ),
            None => format!("the load stopped after {done} records"),
        }
    }

    fn phases(&self, outcome: &RunOutcome) -> Vec<PhaseSection> {
        let extent = self.load_config.extent;
        let ended = outcome.ended();
        let is_cut = outcome.ran_out() || outcome.is_interrupted || outcome.trouble().is_some();
        // Responses may come long after; the window is the time in which operations were issued.
        let end = match extent.duration {
            Some(_) if !is_cut => extent.end(),
            _ => outcome.issued_until().min(extent.end()),
        };
        let end = if end > extent.warm_up { end } else { ended.min(extent.end()) };
        let section = |phase: Phase, from: Nanos, to: Nanos| PhaseSection {
            name: phase.name().to_owned(),
            from_ns: from.0,
            to_ns: to.0,
        };
        if self.is_load {
            return vec![section(Phase::Load, Nanos::ZERO, ended)];
        }
        let mut phases = Vec::new();
        if extent.warm_up > Nanos::ZERO {
            phases.push(section(Phase::WarmUp, Nanos::ZERO, extent.warm_up.min(end)));
        }
        phases.push(section(Phase::Measure, extent.warm_up.min(end), end));
        phases.extend(self.read_finally.window.map(|(from, to)| section(Phase::Final, from, to)));
        phases
    }

    fn events(&self, outcome: &RunOutcome) -> Vec<Event> {
        let mut events: Vec<Event> = self
            .manifest
            .phases
            .iter()
            .map(|phase| Event {
                at: Nanos(phase.from_ns),
                kind: EventKind::Phase,
                text: phase.name.clone(),
            })
            .collect();
        // What comes before the epoch has no place on the time axis but its beginning.
        let init = match self.is_simulated() {
            // The same run gives the same bytes there, and wall time does not matter.
            true => "init".to_owned(),
            false => format!("init, {} before", self.init),
        };
        events.insert(0, Event { at: Nanos::ZERO, kind: EventKind::Phase, text: init });
        events.extend(self.listening.control().rate_changes().iter().map(|change| Event {
            at: change.at,
            kind: EventKind::Change,
            text: format!("rate {}", rate_change(change)),
        }));
        events.extend(self.done.events.iter().cloned());
        if let Some(failure) = outcome.first_failure() {
            let text = format!("first failure: {}", failure.reason.name());
            events.push(Event { at: failure.at, kind: EventKind::Warning, text });
        }
        if self.manifest.state != State::Finished {
            let text = self.manifest.reason.clone().unwrap_or_default();
            events.push(Event { at: outcome.ended(), kind: EventKind::Warning, text });
        }
        events.sort_by_key(|event| event.at);
        events
    }

    /// Whether there was nothing to load: a trace that writes every key before it needs
    /// it.
    fn is_nothing(&self) -> bool {
        self.is_load && self.planned == Some(0)
    }

    /// Whether no operation succeeded.
    fn is_in_vain(&self, outcome: &RunOutcome) -> bool {
        outcome.sum(|worker| worker.outcomes[0]) == 0 && !self.is_nothing()
    }

    /// What was to be done and was not; of a run that was stopped, what goes on.
    fn say_undone(&self, outcome: &RunOutcome) {
        self.done.say_undone(self.manifest.state);
        if self.manifest.state == State::Finished && self.is_in_vain(outcome) {
            eprintln!("error: {}", in_vain(outcome));
        }
    }

    fn exit(&self, outcome: &RunOutcome) -> Exit {
        let reason = outcome.first_failure().map(|failure| failure.reason);
        let is_away = reason.is_some_and(|reason| AWAY.contains(&reason))
            && outcome.trouble() == Some(&AbortReason::Failure);
        match self.manifest.state {
            // A run in which nothing went through has failed, whatever the store says.
            State::Finished if self.is_in_vain(outcome) => {
                match outcome.sum(|worker| worker.offered) {
                    // Too short for its rate.
                    0 => Exit::Usage,
                    _ => Exit::Unreachable,
                }
            }
            State::Failed if is_away => Exit::Unreachable,
            state => self.done.exit(state),
        }
    }
}

/// When arrivals of each worker waited because the bound on operations in flight was reached; empty
/// if none ever did.
fn held_back(outcome: &RunOutcome) -> Vec<Vec<HeldStretch>> {
    if outcome.workers.iter().all(|worker| worker.held_back.is_empty()) {
        return Vec::new();
    }
    let stretch = |(from, until): &(Nanos, Nanos)| (from.0, until.0);
    let worker = |worker: &WorkerOutcome| worker.held_back.iter().map(stretch).collect();
    outcome.workers.iter().map(worker).collect()
}

/// The first operation that was refused or is unknown, in a sentence.
fn first_failure(outcome: &RunOutcome) -> Option<String> {
    let FailedOperation { index, key, reason, at } = outcome.first_failure()?;
    let reason = reason.name();
    Some(format!("the first failure was operation {index} on record {key} after {at}: {reason}"))
}

/// Why a run in which nothing went through has come to nothing.
fn in_vain(outcome: &RunOutcome) -> String {
    match (outcome.sum(|worker| worker.offered), first_failure(outcome)) {
        (0, _) => "nothing was issued: the run was too short for its rate; give it more time by \
                   --duration, or a higher --rate"
            .to_owned(),
        (offered, Some(failure)) => format!("none of {offered} operations went through; {failure}"),
        (offered, None) => format!("none of {offered} operations went through"),
    }
}

/// What goes on beside a load.
pub struct Beside<'scope> {
    servers: Option<ScopedJoinHandle<'scope, Watched>>,
    scraped: Option<ScopedJoinHandle<'scope, Scraped>>,
    actions: Option<ScopedJoinHandle<'scope, ExecutedActions>>,
}

/// What came of it.
#[derive(Default)]
pub struct SeenBeside {
    /// What was seen of the machines.
    pub observations: Vec<Observation>,
    /// What of the servers' numbers could not be read, a sentence each.
    pub unread: Vec<String>,
    /// What was done to the store, with how that ended.
    pub done: ExecutedActions,
}

impl Beside<'_> {
    /// Waits for all of it; what was seen of this machine comes first.
    pub fn join(self, seen: Vec<Observation>) -> SeenBeside {
        let (servers, mut done) = (joined(self.servers), joined(self.actions));
        let scraped = joined(self.scraped);
        done.events.extend(servers.events);
        done.lab_end = servers.is_lab_gone.then(|| LAB_END.to_owned());
        let observations = seen.into_iter().chain(servers.observations).chain(scraped.observations);
        SeenBeside { observations: observations.collect(), unread: scraped.failures, done }
    }
}

impl SeenBeside {
    /// What stands in the way of final reads, if something does.
    pub fn obstacle(&self, is_stopped: bool) -> Option<&'static str> {
        match self.done.lab_end {
            Some(_) => Some("the lab has ended"),
            None => is_stopped.then_some("the run was stopped"),
        }
    }
}

/// The warning about a run that outlived its lab.
const LAB_END: &str = "lab: its supervisor was killed or instructed to end while the run went on, \
                       its \
                       servers ended with it: figures from then on are of no store";

/// Reasons of a first failure that say that the store is away, or does not let us.
const AWAY: [Reason; 4] =
    [Reason::Unreachable, Reason::ConnectionLost, Reason::Timeout, Reason::NotPermitted];

/// What a thread came back with, if there was one; its panic goes on here.
fn joined<T: Default>(thread: Option<ScopedJoinHandle<'_, T>>) -> T {
    let ended = thread.map_or(Ok(T::default()), ScopedJoinHandle::join);
    ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Raises the flag that ends the watching.
struct RaisedAtEnd<'a>(&'a AtomicBool);

impl Drop for RaisedAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The one worker of simulated time, in the form of many.
fn execute_simulated(
    run: &Workers<'_>,
    store: &dyn Store,
    sinks: Vec<HistorySink>,
    live_counters: &LiveCounters,
    control: &Control,
) -> Result<(RunOutcome, Vec<HistorySink>), ExecuteError> {
    let sink = sinks.into_iter().next().expect("there is a sink for every worker");
    let (outcome, sink) = execute_in_simulated_time(run, store, sink, live_counters, control)?;
    Ok((outcome, vec![sink]))
}

/// A change of the rate in words.
fn rate_change(change: &RateChange) -> String {
    format!("from {}/s to {}/s", change.before, change.rate)
}

/// A blocking store behind `blocking_threads` threads per worker; any other as it is.
fn with_blocking_threads(store: Arc<dyn Store>, blocking_threads: usize) -> Arc<dyn Store> {
    if blocking_threads == 0 || store.capabilities().calls != Calls::Blocking {
        return store;
    }
    Arc::new(BlockingThreads::new(store, blocking_threads))
}

fn from_execute(error: assay_run::ExecuteError) -> anyhow::Error {
    match error {
        assay_run::ExecuteError::Open(error) => from_open(error),
        other => other.into(),
    }
}

/// The settings of the load model that the analyzer needs to know.
pub fn load_settings(load_config: &LoadConfig, time: StoreTime, phase: LoadPhase) -> LoadSettings {
    let mut settings = LoadSettings {
        phase,
        timeout_ns: Some(load_config.timeout.0),
        deadline_ns: Some(load_config.deadline.0),
        blocking_threads: load_config.blocking_threads as u64,
        spin: match load_config.spin {
            Spin::Never => Spinning::Never,
            Spin::LastStretch => Spinning::LastStretch,
            Spin::Always => Spinning::Always,
        },
        cpu_list: (!load_config.processors.is_empty())
            .then(|| assay_run::processors::show(&load_config.processors)),
        simulated_time: time == StoreTime::Simulated,
        ..LoadSettings::default()
    };
    match &load_config.load {
        Load::Open(open) => {
            let Arrivals { rate_profile, process } = &open.arrivals;
            match (process, rate_profile.constant_rate()) {
                // No one number tells how fast a written schedule is at any moment.
                (ArrivalProcess::Recorded(written), Some(rate)) => {
                    settings.speed = Some(rate / written.rate());
                }
                (_, Some(rate)) => settings.rate = Some(rate.to_string()),
                (_, None) => settings.rate = Some(rate_profile.to_string()),
            }
            let bound = load_config.in_flight(open);
            settings.arrivals = Some(process.to_string());
            settings.in_flight = Some(open.in_flight as u64);
            settings.in_flight_bound = (bound < open.in_flight).then_some(bound as u64);
            settings.overflow = Some(open.overflow.name().to_owned());
        }
        Load::Closed(closed) => {
            settings.closed = Some(closed.sessions as u64);
            settings.target_throughput = closed.target_rate;
        }
    }
    settings
}
