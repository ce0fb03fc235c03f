//! Coordinator's side of a run: agents come, start together, deliver; their parts become one.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use assay_fleet::keys::KeyFiles;
use assay_fleet::{AgentState, Coordinator, FleetOptions, Job, Keys, Outcome, StatusRow, merge};
use assay_history::{Manifest, State};
use assay_model::Nanos;
use assay_report::units::count;
use assay_run::control::Urgency;
use clap::ArgMatches;

use crate::exit::{Exit, Failure, as_usage, usage};
use crate::experiment::{Finished, rfc3339};
use crate::options::{Options, Verb};
use crate::parent_death;
use crate::progress::Show;
use crate::setup::Setup;

use super::{boot_id, build, job};

/// How often the coordinator looks.
const LOOK: Duration = Duration::from_millis(50);
/// How long keys of a fleet on one machine are valid.
const LOCAL_KEYS: Duration = Duration::from_secs(14 * 24 * 3600);
/// How often the sums of all agents are shown.
const SHOW_EVERY: u32 = 200;
/// Lines of an agent's own errors that are repeated.
const LOG_LINES: usize = 5;

/// What a fleet does.
pub struct Fleet<'a> {
    /// How many agents.
    pub agents: u32,
    /// The command line.
    pub matches: &'a ArgMatches,
    /// Whether it fills the store, or measures it.
    pub verb: Verb,
    /// The run directory.
    pub dir: &'a Path,
    /// The manifest as the coordinator knows it before the run.
    pub manifest: Manifest,
    /// What all agents must have in common with the coordinator.
    pub common: String,
    /// More words of the command: what an agent could not find out by itself.
    pub words: Vec<String>,
}

/// Carries out a fleet's run: the run directory is complete when it has ended.
///
/// # Errors
/// If the run was called off or its result withdrawn; the run directory says why.
pub fn coordinate(setup: &Setup, fleet: Fleet<'_>) -> Result<Finished> {
    let mut manifest = fleet.manifest.clone();
    manifest.run.started = rfc3339(std::time::SystemTime::now());
    let pieces = fleet.dir.join("pieces");
    fs::create_dir_all(&pieces).with_context(|| format!("cannot create {}", pieces.display()))?;
    let during = setup.listening.during();
    let outcome = run(setup, &fleet, &pieces);
    drop(during);
    let (outcome, clocks) = outcome?;
    if let Outcome::Withdrawn(reason) = outcome {
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
fn run(setup: &Setup, fleet: &Fleet<'_>, pieces: &Path) -> Result<(Outcome, Clocks)> {
    let options = &setup.options;
    let is_local = options.switch("local")?;
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
fn keys(options: &Options, is_local: bool, dir: &Path) -> Result<(Keys, Option<PathBuf>)> {
    match (options.text("keys"), is_local) {
        (Some(path), false) => Ok((Keys::read(Path::new(path)).map_err(as_usage)?, None)),
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
            let keys = Keys::from_pem(files.coordinator.as_bytes());
            Ok((keys.map_err(anyhow::Error::msg)?, Some(path)))
        }
    }
}

/// Writes a file that only its owner may read.
///
/// # Errors
/// If it is there already or cannot be written.
pub fn write_secret(path: &Path, text: &str) -> Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = fs::OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(0o600).open(path);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| usage(format!("cannot write {}: {error}", path.display())))
}

fn listen(options: &Options, is_local: bool) -> Result<SocketAddr> {
    let usual = if is_local { "127.0.0.1:0" } else { "0.0.0.0:7447" };
    let text = options.text("listen").unwrap_or(usual);
    text.parse().map_err(|_| {
        options.wrong("listen", &format!("{text:?} is no address; write 0.0.0.0:7447"))
    })
}

fn fleet_options(options: &Options, fleet: &Fleet<'_>) -> Result<FleetOptions> {
    let length = |name: &str, least: Nanos| match options.duration(name)? {
        Some(length) if length >= least => Ok(Duration::from(length)),
        _ => Err(options.wrong(name, &format!("give at least {least}"))),
    };
    Ok(FleetOptions {
        agents: fleet.agents,
        plan: fleet.common.clone(),
        wait: length("wait", Nanos::from_secs(1))?,
        lease: length("lease", Nanos::from_secs(1))?,
        version: build(),
        boot_id: boot_id(),
        nonce: nonce()?,
    })
}

/// A number that nobody can guess.
///
/// # Errors
/// If the system gives none.
pub fn nonce() -> Result<u64> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes)
        .map_err(|error| anyhow::anyhow!("the system gives no random number: {error}"))?;
    Ok(u64::from_le_bytes(bytes))
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
    fn end(&mut self, outcome: &Outcome) {
        for local in &mut self.0 {
            let tries = if *outcome == Outcome::Delivered { 100 } else { 40 };
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
