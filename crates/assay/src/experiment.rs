//! One load or run from plan to sealed run directory: the function that joins all crates.

pub mod beside;
mod ending;
pub mod sink;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::SystemTime;

use anyhow::Result;
use assay_history::manifest::{FloorSection, SettingSection};
use assay_history::{Manifest, Memory, Observation, ReadsSink, ReadsWriter, RunDir, State};
use assay_lab::LabClient;
use assay_live::port::ControlPort;
use assay_live::progress::{self, Observer, Show};
use assay_live::rate_control::RateControl;
use assay_model::{Nanos, OperationEncoder, QueryRole, Seed, Source};
use assay_report::Style;
use assay_run::{
    Closed, Control, ExecuteError, Latency, LiveCounters, Load, RunOutcome, Share, Snapshot, Spin,
    Start, Think, Workers, WorkloadKind, execute, execute_in_simulated_time,
};
use assay_store::blocking::BlockingThreads;
use assay_store::{Calls, Store, StoreTime};
use assay_trace::Header;

use crate::actions::ExecutedActions;
use crate::actions::schedule::ActionSchedule;
use crate::exit::{Exit, Failure, as_usage, from_open};
use crate::final_reads::{FinalContext, FinalReads, FinalReadsOutcome, UsedNumbers};
use crate::fleet::FleetMember;
use crate::load_config::LoadConfig;
use crate::observe::scrape::Scraper;
use crate::signals::Listening;
use crate::units::rfc3339;
use crate::via::{self, Hop};
use crate::{floor, observe, truth};
use beside::{RaisedAtEnd, joined, spawn};
use sink::HistorySink;

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
    /// Refuses to go on after a load that failed.
    pub fn require_load(&self) -> Result<()> {
        if self.exit == Exit::Fine {
            return Ok(());
        }
        let message = format!("the load failed; see `assay report {}`", self.dir.display());
        Err(Failure { exit: self.exit, message }.into())
    }

    /// Adds a remark that a reader must see.
    pub fn remark(&mut self, text: String) -> Result<()> {
        self.manifest.notes.push(text);
        self.manifest.write(&self.dir)?;
        Ok(())
    }
}

impl Experiment {
    /// Runs the plan, writes the records, seals the run directory. If the history cannot be kept,
    /// what was kept stays.
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
        let outcome = match self.send(sinks.collect(), &listening.control) {
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
            RateControl::new(Arc::clone(&self.listening.control), &self.load_config.load);
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
            let watcher = spawn(scope, "watcher", "watches the run", watch)?;
            let observe = || observe::watch(control, over);
            let observer = (!is_simulated)
                .then(|| spawn(scope, "observer", "watches the machine", observe))
                .transpose()?;
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
        let control = &self.listening.control;
        final_reads.perform(&FinalContext { run: self.run(), store, control, used }, sink)
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
