//! Coordinator of a run: agents come, start together, deliver; their parts become one.

mod job;

pub use job::with_files;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use assay_fleet::keys::KeyFiles;
use assay_fleet::{
    AgentState, Coordinator, FleetKeys, FleetOptions, FleetOutcome, Job, StatusRow, merge,
};
use assay_history::{Manifest, State};
use assay_model::quantity;
use assay_report::units::count;
use assay_run::Load;
use assay_run::control::Urgency;
use assay_workload::PlanPhase;
use clap::ArgMatches;

use crate::exit::{Exit, Failure, as_usage, from_open, usage};
use crate::experiment::{Experiment, Finished, rfc3339};
use crate::fleet::{boot_id, build, length, nonce, write_secret};
use crate::load_config::{LoadConfig, Purpose};
use crate::note::Note;
use crate::options::{Options, Verb};
use crate::parent_death;
use crate::progress::Show;
use crate::setup::Setup;

/// How often the coordinator looks.
const LOOK: Duration = Duration::from_millis(50);
/// How long keys of a fleet on one machine are valid.
const LOCAL_KEYS: Duration = Duration::from_secs(14 * 24 * 3600);
/// How often the sums of all agents are shown.
const SHOW_EVERY: u32 = 200;
/// Lines of an agent's own errors that are repeated.
const LOG_LINES: usize = 5;

/// What a fleet does.
struct Fleet<'a> {
    /// How many agents.
    agents: u32,
    /// The command line.
    matches: &'a ArgMatches,
    /// Whether it fills the store, or measures it.
    verb: Verb,
    /// The run directory.
    dir: &'a Path,
    /// The manifest as the coordinator knows it before the run.
    manifest: Manifest,
    /// What all agents must have in common with the coordinator.
    common: String,
    /// More words of the command: what an agent could not find out by itself.
    words: Vec<String>,
}

/// Loads the store by the agents of a fleet; the run directory of the load is `dir`.
///
/// # Errors
/// If the store cannot be prepared, or the load was called off.
pub fn load(
    setup: &mut Setup,
    (agents, matches): (u32, &ArgMatches),
    dir: &Path,
) -> Result<Finished> {
    setup.raw_target()?;
    if setup.options.resumes()? {
        return Err(usage(
            "--resume: a load by agents begins anew: leave --agents out, or --fresh",
        ));
    }
    let plan = setup.workload.plan(setup.seed, PlanPhase::Load)?;
    setup.require_kinds(PlanPhase::Load)?;
    setup.workload.require_whole_load(plan.len())?;
    let dataset = plan.loaded();
    let load_config = setup.load_config(&plan, Purpose::Load, setup.loaded(plan.len())?)?;
    let words = fleet_words(&load_config, agents, &setup.options)?;
    setup.prepare_to_load(&plan, &dataset)?;
    setup.store.keep_note(&Note::loading(&dataset, setup.seed).to_text()).map_err(from_open)?;
    let Experiment { manifest, common, .. } = setup.experiment(&plan, load_config, dir, true)?;
    let fleet = Fleet { agents, matches, verb: Verb::Load, dir, manifest, common, words };
    let finished = coordinate(setup, fleet)?;
    if finished.exit == Exit::Fine && finished.is_whole {
        setup.store.flush().map_err(from_open)?;
        setup.store.keep_note(&Note::loaded(&dataset).to_text()).map_err(from_open)?;
        setup.is_loaded = true;
    }
    Ok(finished)
}

/// Runs the workload by the agents of a fleet; the run directory is the setup's.
///
/// # Errors
/// If the store holds other data than the workload wants, or the run was called off.
pub fn run(
    setup: &mut Setup,
    (agents, matches): (u32, &ArgMatches),
    purpose: Purpose,
) -> Result<Finished> {
    setup.raw_target()?;
    let had_final_reads = setup.final_reads()?.is_some();
    let experiment = setup.ready(purpose)?;
    let mut words = fleet_words(&experiment.load_config, agents, &setup.options)?;
    if purpose == Purpose::Bench {
        words.extend(bench_words(setup, &experiment.load_config));
    }
    let Experiment { dir, manifest, common, .. } = experiment;
    let verb = Verb::Run;
    let fleet = Fleet { agents, matches, verb, dir: &dir, manifest, common, words };
    let finished = coordinate(setup, fleet)?;
    if had_final_reads {
        let mut manifest = Manifest::read(&finished.dir)?;
        manifest.notes.push("a fleet makes no final reads yet".to_owned());
        manifest.write(&finished.dir)?;
    }
    setup.examine(&finished)?;
    if setup.options.cleans_up()? {
        setup.clean_up(&finished.dir)?;
    }
    Ok(finished)
}

/// One run of several by the agents of a fleet: that of `experiment`.
///
/// # Errors
/// If it was called off.
pub fn step(
    setup: &Setup,
    (agents, matches): (u32, &ArgMatches),
    experiment: Experiment,
) -> Result<Finished> {
    setup.raw_target()?;
    let words = fleet_words(&experiment.load_config, agents, &setup.options)?;
    let Experiment { dir, manifest, common, .. } = experiment;
    let fleet = Fleet { agents, matches, verb: Verb::Run, dir: &dir, manifest, common, words };
    coordinate(setup, fleet)
}

/// What a bench chooses, as the words of a run.
fn bench_words(setup: &Setup, load_config: &LoadConfig) -> Vec<String> {
    let records = setup.workload.records().map(|spec| spec.dataset.records);
    let records = records.filter(|_| setup.options.given("records").is_none());
    let records = records.map(|records| format!("--records={records}"));
    let duration = load_config.extent.duration;
    let duration = duration.filter(|_| setup.options.given("duration").is_none());
    let duration =
        duration.map(|duration| format!("--duration={}", quantity::write_time(duration)));
    records.into_iter().chain(duration).collect()
}

/// The words that an agent's command has beyond that of the coordinator: a number of sessions that
/// follows from the machine is not the same on another one.
fn fleet_words(load_config: &LoadConfig, agents: u32, options: &Options) -> Result<Vec<String>> {
    match &load_config.load {
        Load::Closed(closed) if closed.sessions < agents => Err(options.wrong(
            "agents",
            &format!(
                "{agents} agents cannot share {} sessions: give fewer agents or more sessions \
                 (--closed)",
                closed.sessions
            ),
        )),
        Load::Open(open) if open.in_flight < agents as usize => Err(options.wrong(
            "agents",
            &format!("{agents} agents cannot share {} in flight (--in-flight)", open.in_flight),
        )),
        Load::Closed(closed) if options.given("closed").is_none() => {
            Ok(vec![format!("--closed={}", closed.sessions)])
        }
        _ => Ok(Vec::new()),
    }
}

/// Carries out a fleet's run: the run directory is complete when it has ended.
///
/// # Errors
/// If the run was called off or its result withdrawn; the run directory says why.
fn coordinate(setup: &Setup, fleet: Fleet<'_>) -> Result<Finished> {
    let mut manifest = fleet.manifest.clone();
    manifest.run.started = rfc3339(std::time::SystemTime::now());
    let pieces = fleet.dir.join("pieces");
    fs::create_dir_all(&pieces).with_context(|| format!("cannot create {}", pieces.display()))?;
    let during = setup.listening.during();
    let outcome = drive(setup, &fleet, &pieces);
    drop(during);
    let (outcome, clocks) = outcome?;
    if let FleetOutcome::Withdrawn(reason) = outcome {
        let is_interrupted = setup.listening.is_interrupted();
        manifest.state = if is_interrupted { State::Interrupted } else { State::Failed };
        manifest.reason = Some(reason.clone());
        manifest.run.ended = rfc3339(std::time::SystemTime::now());
        manifest.write(fleet.dir).context("cannot note the failure")?;
        let exit = if is_interrupted { Exit::Interrupted } else { Exit::Internal };
        let message = format!(
            "{reason}\nthere is no result; what agents kept stays with them, on this machine in {}",
            pieces.display()
        );
        return Err(Failure { exit, message }.into());
    }
    let delivered: Vec<PathBuf> =
        (0..fleet.agents).map(|agent| pieces.join(format!("agent-{agent}"))).collect();
    let mut merged = merge(fleet.dir, &delivered, &clocks, true).map_err(as_usage)?;
    merged.store = manifest.store;
    merged.hallmark = manifest.hallmark;
    merged.write(fleet.dir)?;
    // Everything in it has been moved or copied.
    if let Err(error) = fs::remove_dir_all(&pieces) {
        eprintln!("warning: cannot remove {}: {error}", pieces.display());
    }
    let exit = match merged.state {
        State::Finished => Exit::Fine,
        State::Interrupted => Exit::Interrupted,
        State::Running | State::Failed => Exit::Internal,
    };
    if let Some(reason) = merged.reason.as_ref().filter(|_| merged.state == State::Failed) {
        eprintln!("error: {reason}");
    }
    let counters = &merged.counters;
    let issued_all = merged.load.settings.get("issued_all").is_some_and(|text| text == "true");
    let is_whole = issued_all && counters.done == counters.offered;
    Ok(Finished { dir: fleet.dir.to_owned(), exit, is_whole })
}

type Clocks = Vec<assay_fleet::merge::AgentClock>;

/// Waits until the fleet has ended.
fn drive(setup: &Setup, fleet: &Fleet<'_>, pieces: &Path) -> Result<(FleetOutcome, Clocks)> {
    let options = &setup.options;
    let is_local = options.is_local()?;
    let (keys, agent_keys) = keys(options, is_local, pieces)?;
    let target = setup.raw_target()?;
    let job = job(setup, fleet, &target, is_local)?;
    let coordinator = Coordinator::open(
        listen(options, is_local)?,
        &keys,
        fleet_options(options, fleet)?,
        job,
        pieces,
    )
    .map_err(as_usage)?;
    let shows = setup.show != Show::Nothing;
    let mut local = match agent_keys {
        Some(keys) => LocalAgents::start(fleet.agents, coordinator.address(), &keys, &target)?,
        None => {
            eprintln!(
                "waiting for {} agents at {} (assay agent --join HOST:PORT --keys agent.pem \
                 --index 0…{})",
                fleet.agents,
                coordinator.address(),
                fleet.agents - 1
            );
            LocalAgents::default()
        }
    };
    let control = setup.listening.control();
    let (mut shown, mut looks, mut is_stopping) = (String::new(), 0u32, false);
    loop {
        if let Some(outcome) = coordinator.outcome() {
            let clocks = coordinator.clocks();
            local.end(&outcome);
            return Ok((outcome, clocks));
        }
        if let Some(reason) = local.dead() {
            coordinator.withdraw(reason);
        }
        match control.urgency() {
            Urgency::None => {}
            Urgency::Drain if !is_stopping => {
                is_stopping = true;
                coordinator.stop();
            }
            Urgency::Drain => {}
            Urgency::Abort => coordinator.withdraw("interrupted twice".to_owned()),
        }
        let status = coordinator.status();
        let line = summary(&status);
        looks += 1;
        if shows && line != shown {
            eprintln!("fleet: {line}");
            shown = line;
        } else if shows && looks.is_multiple_of(SHOW_EVERY) {
            let offered = status.iter().map(|row| row.progress.offered).sum();
            eprintln!("fleet: {} operations of {} agents", count(offered), status.len());
        }
        thread::sleep(LOOK);
    }
}

/// How many agents are how far; who is behind all others by number.
fn summary(status: &[StatusRow]) -> String {
    let states = [
        None,
        Some(AgentState::Joining),
        Some(AgentState::Planned),
        Some(AgentState::Prepared),
        Some(AgentState::Armed),
        Some(AgentState::Running),
        Some(AgentState::Done),
        Some(AgentState::Delivered),
    ];
    let of_state = |state: &Option<AgentState>| {
        let agents: Vec<String> = status
            .iter()
            .filter(|row| row.state == *state)
            .map(|row| row.agent.to_string())
            .collect();
        let name = state.map_or("missing", AgentState::name);
        match agents.len() {
            0 => None,
            all if all == status.len() => Some(format!("all {all} agents are {name}")),
            _ => Some(format!("{name}: {}", agents.join(", "))),
        }
    };
    states.iter().filter_map(of_state).collect::<Vec<_>>().join("; ")
}

/// The coordinator's keys; with a fleet on this machine, also the file of the agents'.
fn keys(options: &Options, is_local: bool, dir: &Path) -> Result<(FleetKeys, Option<PathBuf>)> {
    match (options.text("keys"), is_local) {
        (Some(path), false) => Ok((FleetKeys::read(Path::new(path)).map_err(as_usage)?, None)),
        (None, false) => Err(usage(
            "--agents needs --keys FILE, the coordinator.pem that `assay fleet keys -o DIR` \
             makes; with --local the agents are processes on this machine, without any keys of \
             yours",
        )),
        (Some(_), true) => {
            Err(options.wrong("keys", "a fleet on this machine makes keys of its own"))
        }
        (None, true) => {
            let files = KeyFiles::generate(LOCAL_KEYS)?;
            let path = dir.join("agent.pem");
            write_secret(&path, &files.agent)?;
            let keys = FleetKeys::from_pem(files.coordinator.as_bytes());
            Ok((keys.map_err(anyhow::Error::msg)?, Some(path)))
        }
    }
}

fn listen(options: &Options, is_local: bool) -> Result<SocketAddr> {
    let usual = if is_local { "127.0.0.1:0" } else { "0.0.0.0:7447" };
    let text = options.text("listen").unwrap_or(usual);
    text.parse().map_err(|_| {
        options.wrong("listen", &format!("{text:?} is no address; write 0.0.0.0:7447"))
    })
}

fn fleet_options(options: &Options, fleet: &Fleet<'_>) -> Result<FleetOptions> {
    Ok(FleetOptions {
        agents: fleet.agents,
        plan: fleet.common.clone(),
        wait: length(options, "wait")?,
        lease: length(options, "lease")?,
        version: build(),
        boot_id: boot_id(),
        nonce: nonce()?,
    })
}

fn job(
    setup: &Setup,
    fleet: &Fleet<'_>,
    target: &str,
    is_local: bool,
) -> Result<(Job, Vec<bytes::Bytes>)> {
    let options = &setup.options;
    let (mut words, files) = job::words(fleet.matches, options, (fleet.verb, setup.seed.0))?;
    words.extend(fleet.words.iter().cloned());
    let has_secret = assay_drivers::registry::without_secrets(target) != target;
    // On this machine it travels in the environment.
    let is_sent = !is_local && (!has_secret || options.switch("send-credentials")?);
    let (files, contents) = files.into_iter().unzip();
    let job = Job {
        run_id: fleet.manifest.run.id.clone(),
        command: fleet.manifest.run.command.clone(),
        words,
        target: is_sent.then(|| target.to_owned()),
        files,
    };
    Ok((job, contents))
}

/// Agents that are processes of this machine.
#[derive(Default)]
struct LocalAgents(Vec<LocalAgent>);

struct LocalAgent {
    agent: u32,
    child: Child,
    log: PathBuf,
    has_ended: bool,
}

impl LocalAgents {
    fn start(agents: u32, address: SocketAddr, keys: &Path, target: &str) -> Result<LocalAgents> {
        let dir = keys.parent().unwrap_or(Path::new("."));
        let mut all = LocalAgents::default();
        for agent in 0..agents {
            let log = dir.join(format!("agent-{agent}.log"));
            let file = fs::File::create(&log)
                .with_context(|| format!("cannot create {}", log.display()))?;
            let mut command = parent_death::tied();
            command
                .arg("agent")
                .args(["--join", &address.to_string()])
                .args(["--index", &agent.to_string()])
                .arg("--keys")
                .arg(keys)
                .arg("--run-dir")
                .arg(dir.join(format!("local-{agent}")))
                .env("ASSAY_TARGET", target)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(file);
            // The keyboard's interrupt is for the coordinator, which tells the agents.
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
            let child = command.spawn().context("cannot start an agent on this machine")?;
            all.0.push(LocalAgent { agent, child, log, has_ended: false });
        }
        Ok(all)
    }

    /// An agent that has ended with an error, in words.
    fn dead(&mut self) -> Option<String> {
        for local in self.0.iter_mut().filter(|local| !local.has_ended) {
            let Ok(Some(status)) = local.child.try_wait() else { continue };
            local.has_ended = true;
            if !status.success() {
                let log = fs::read_to_string(&local.log).unwrap_or_default();
                let lines: Vec<&str> = log.lines().collect();
                let last = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n  ");
                let agent = local.agent;
                return Some(format!("agent {agent} on this machine ended ({status}): {last}"));
            }
        }
        None
    }

    /// Waits for those that are about to end; of a run that was called off, ends the others.
    fn end(&mut self, outcome: &FleetOutcome) {
        for local in &mut self.0 {
            let tries = if *outcome == FleetOutcome::Delivered { 100 } else { 40 };
            for _ in 0..tries {
                if !matches!(local.child.try_wait(), Ok(None)) {
                    break;
                }
                thread::sleep(LOOK);
            }
        }
    }
}

impl Drop for LocalAgents {
    fn drop(&mut self) {
        for local in &mut self.0 {
            // It has ended, or nobody waits for it any more.
            let _ = local.child.kill();
            let _ = local.child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_fleet::Progress;

    #[test]
    fn a_line_says_who_is_how_far() {
        let row = |agent, state| StatusRow {
            agent,
            host: String::new(),
            state,
            workers: 1,
            progress: Progress::default(),
        };
        let some = Some(AgentState::Prepared);
        assert_eq!(summary(&[row(0, some), row(1, some)]), "all 2 agents are prepared");
        assert_eq!(
            summary(&[row(0, some), row(1, None), row(2, some)]),
            "missing: 1; prepared: 0, 2"
        );
    }
}
