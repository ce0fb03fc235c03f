//! Coordinator of a run: agents come, start together, deliver; their parts become one.

mod drive;
mod in_bucket;
mod job;
mod local;
mod own_part;

pub use job::with_files;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use assay_fleet::keys::KeyFiles;
use assay_fleet::{
    AgentState, BucketError, Collecting, FleetKeys, FleetOptions, FleetOutcome, Job, StatusRow,
    bucket, merge,
};
use assay_history::State;
use assay_model::quantity;
use assay_run::Load;
use assay_workload::PlanPhase;
use clap::ArgMatches;

use self::drive::Driven;
use self::in_bucket::InBucket;
use crate::exit::{Exit, Failure, as_usage, from_open, usage};
use crate::experiment::{Experiment, Finished};
use crate::fleet::{boot_id, build, collecting, length, write_secret};
use crate::load_config::{LoadConfig, Purpose};
use crate::note::Note;
use crate::options::{Options, Verb};
use crate::seed::random;
use crate::setup::Setup;
use crate::units::rfc3339;

/// How often the coordinator looks.
const LOOK: Duration = Duration::from_millis(200);
/// How long keys of a fleet on one machine are valid.
const LOCAL_KEYS: Duration = Duration::from_secs(14 * 24 * 3600);

/// What a fleet does.
struct Fleet<'a> {
    /// How many agents.
    agents: u32,
    /// The command line.
    matches: &'a ArgMatches,
    /// Whether it fills the store, or measures it.
    verb: Verb,
    /// What this process would do if it were alone: what agents share, with what goes on beside.
    experiment: Experiment,
    /// More words of the command: what an agent could not find out by itself.
    words: Vec<String>,
}

/// Loads the store by the agents of a fleet; the run directory of the load is `dir`. Fails if the
/// load was called off.
pub fn load(
    setup: &mut Setup,
    (agents, matches): (u32, &ArgMatches),
    dir: &Path,
) -> Result<Finished> {
    setup.raw_target()?;
    if setup.plan.options.resume.is_on() {
        return Err(usage(
            "--resume: a load by agents begins anew: leave --agents out, or --fresh",
        ));
    }
    let plan = setup.plan.workload.plan(setup.plan.seed, PlanPhase::Load)?;
    setup.require_kinds(PlanPhase::Load)?;
    setup.plan.workload.require_whole_load(plan.len())?;
    let dataset = plan.loaded();
    let load_config = setup.load_config(&plan, Purpose::Load, setup.loaded(plan.len())?)?;
    let mut words = fleet_words(&load_config, agents, &setup.plan.options)?;
    words.extend(records_word(setup));
    setup.prepare_to_load(&plan, &dataset)?;
    setup
        .store
        .keep_note(&Note::loading(&dataset, setup.plan.seed).to_text())
        .map_err(from_open)?;
    let experiment = setup.experiment(&plan, load_config, dir, true)?;
    let fleet = Fleet { agents, matches, verb: Verb::Load, experiment, words };
    let finished = coordinate(setup, fleet)?;
    if finished.exit == Exit::Fine && finished.is_whole {
        setup.store.flush().map_err(from_open)?;
        setup.store.keep_note(&Note::loaded(&dataset).to_text()).map_err(from_open)?;
        setup.is_content_settled = true;
    }
    Ok(finished)
}

/// Runs the workload by the agents of a fleet; the run directory is the setup's. Fails if the store
/// holds other data than the workload wants, or the run was called off.
pub fn run(setup: &mut Setup, (agents, matches): (u32, &ArgMatches)) -> Result<Finished> {
    setup.raw_target()?;
    let undoes_inserts = setup.undoes_inserts()?;
    let final_reads = setup.final_reads()?;
    let experiment = Experiment { final_reads, ..setup.ready()? };
    let mut words = fleet_words(&experiment.load_config, agents, &setup.plan.options)?;
    if setup.plan.purpose == Purpose::Bench {
        words.extend(bench_words(setup, &experiment.load_config));
    }
    let mut finished =
        coordinate(setup, Fleet { agents, matches, verb: Verb::Run, experiment, words })?;
    setup.look_after(&mut finished, undoes_inserts)?;
    Ok(finished)
}

/// Loads the store by a fleet, or by this process alone if there is none.
pub fn load_alone_or(
    setup: &mut Setup,
    fleet: Option<(u32, &ArgMatches)>,
    dir: &Path,
) -> Result<Finished> {
    match fleet {
        Some(fleet) => load(setup, fleet, dir),
        None => setup.load(dir),
    }
}

/// Runs the workload by a fleet, or by this process alone if there is none.
pub fn run_alone_or(setup: &mut Setup, fleet: Option<(u32, &ArgMatches)>) -> Result<Finished> {
    match fleet {
        Some(fleet) => run(setup, fleet),
        None => setup.run(),
    }
}

/// One run of several by the agents of a fleet: that of `experiment`.
pub fn step(
    setup: &Setup,
    (agents, matches): (u32, &ArgMatches),
    experiment: Experiment,
) -> Result<Finished> {
    setup.raw_target()?;
    let words = fleet_words(&experiment.load_config, agents, &setup.plan.options)?;
    coordinate(setup, Fleet { agents, matches, verb: Verb::Run, experiment, words })
}

/// What a bench chooses, as the words of a run.
fn bench_words(setup: &Setup, load_config: &LoadConfig) -> Vec<String> {
    let duration = load_config.extent.duration;
    let duration = duration.filter(|_| !setup.plan.options.duration.is_given());
    let duration =
        duration.map(|duration| format!("--duration={}", quantity::write_time(duration)));
    records_word(setup).into_iter().chain(duration).collect()
}

/// How many records there are: a bench suggests another number than its workload has. A trace
/// brings its own.
fn records_word(setup: &Setup) -> Option<String> {
    let records = setup.plan.workload.records()?.dataset.records;
    let is_told = setup.plan.options.records.is_given() || setup.plan.workload.trace.is_some();
    (!is_told).then(|| format!("--records={records}"))
}

/// The words that an agent's command has beyond that of the coordinator: a number of sessions that
/// follows from the machine is not the same on another one.
fn fleet_words(load_config: &LoadConfig, agents: u32, options: &Options) -> Result<Vec<String>> {
    match &load_config.load {
        Load::Closed(closed) if closed.sessions < agents => Err(options.agents.wrong(format!(
            "{agents} agents cannot share {} sessions: give fewer agents or more sessions \
                 (--closed)",
            closed.sessions
        ))),
        Load::Open(open) if open.in_flight < agents as usize => Err(options.agents.wrong(format!(
            "{agents} agents cannot share {} in flight (--in-flight)",
            open.in_flight
        ))),
        Load::Closed(closed) if !options.closed.is_given() => {
            Ok(vec![format!("--closed={}", closed.sessions)])
        }
        _ => Ok(Vec::new()),
    }
}

/// Carries out a fleet's run: the run directory is complete when it has ended. If the run was
/// called off or its result withdrawn, it says why.
fn coordinate(setup: &Setup, mut fleet: Fleet<'_>) -> Result<Finished> {
    let dir = fleet.experiment.dir.clone();
    let pieces = dir.join("pieces");
    fs::create_dir_all(&pieces).with_context(|| format!("cannot create {}", pieces.display()))?;
    // Two runs in directories of one name do not meet in the bucket.
    let folder = format!("{}-{:016x}", fleet.experiment.manifest.run.id, random()?);
    let collecting = collecting(&setup.plan.options, &folder)?;
    let bucket = InBucket::begin(collecting.clone(), fleet.agents)?;
    let _during = setup.listening.during();
    fleet.experiment.manifest.run.started = rfc3339(std::time::SystemTime::now());
    let mut driven = drive::drive(setup, &mut fleet, collecting, &pieces)?;
    if let FleetOutcome::Withdrawn(reason) = &driven.outcome {
        return Err(withdrawn(setup, &fleet, (&driven, reason), &pieces)?.into());
    }
    let fetched = bucket.as_ref().map(|bucket| bucket.fetch(setup, &mut driven, &pieces));
    let own = own_part::keep(&fleet, &driven, &pieces)?;
    if let Some(bucket) = &bucket {
        keep_in_bucket(&fleet, bucket, fetched.unwrap_or(Ok(())), &own)?;
    }
    let parts: Vec<PathBuf> = driven.parts.iter().map(|(_, part)| part.clone()).collect();
    if let Some(unseen) = parts.iter().find(|part| !is_part(part)) {
        return Err(left_elsewhere(&fleet, (&parts, unseen), &own)?.into());
    }
    let parts: Vec<PathBuf> = parts.into_iter().chain([own]).collect();
    let merged = merge(&dir, &parts, true).map_err(as_usage)?;
    // Everything in it has been moved or copied.
    if let Err(error) = fs::remove_dir_all(&pieces) {
        eprintln!("warning: cannot remove {}: {error}", pieces.display());
    }
    if let Some(reason) = merged.reason.as_ref().filter(|_| merged.state == State::Failed) {
        eprintln!("error: {reason}");
    }
    driven.seen.done.say_undone(merged.state);
    let counters = &merged.counters;
    let is_whole = merged.execution.issued_all && counters.done == counters.offered;
    let exit = match merged.state {
        // A part that was never closed.
        State::Running => Exit::Internal,
        state => driven.seen.done.exit(state),
    };
    Ok(Finished { dir, manifest: merged, exit, is_whole })
}

/// Puts the coordinator's part into the bucket as well, of which the agents' parts were fetched, or
/// not. Fails if not: the run directory says the same.
fn keep_in_bucket(
    fleet: &Fleet<'_>,
    bucket: &InBucket,
    fetched: Result<(), BucketError>,
    own: &Path,
) -> Result<()> {
    let kept = bucket.keep(own);
    let Err(error) = fetched else {
        // The result is here; that it can be joined elsewhere too is beside.
        if let Err(error) = kept {
            eprintln!("warning: the coordinator's part is not in {}: {error}", bucket.url);
        }
        return Ok(());
    };
    let reason = format!("cannot fetch the agents' parts: {error}");
    note_failure(fleet, &reason)?;
    let own = match kept {
        Ok(()) => String::new(),
        Err(_) => format!(" {}", own.display()),
    };
    let message = format!(
        "{reason}\nonce it can, join them with `assay fleet merge {}{own} --run-dir DIR`",
        bucket.url
    );
    Err(Failure { exit: Exit::Internal, message }.into())
}

/// Says in the run directory that there is no result, and why.
fn note_failure(fleet: &Fleet<'_>, reason: &str) -> Result<()> {
    let mut manifest = fleet.experiment.manifest.clone();
    (manifest.state, manifest.reason) = (State::Failed, Some(reason.to_owned()));
    manifest.run.ended = rfc3339(std::time::SystemTime::now());
    manifest.write(&fleet.experiment.dir).context("cannot note the failure")
}

/// The failure to join parts of which one was left where this process does not see it; the run
/// directory says the same.
fn left_elsewhere(
    fleet: &Fleet<'_>,
    (parts, unseen): (&[PathBuf], &Path),
    own: &Path,
) -> Result<Failure> {
    let reason = format!("there is no part of an agent in {} here", unseen.display());
    note_failure(fleet, &reason)?;
    let parts: Vec<String> = parts.iter().map(|part| part.display().to_string()).collect();
    let message = format!(
        "{reason}: bring all of them to one machine, then join them with `assay fleet merge {} {} \
         --run-dir DIR`",
        parts.join(" "),
        own.display()
    );
    Ok(Failure { exit: Exit::Internal, message })
}

/// The failure of a run that was called off or whose result was withdrawn, which the run directory
/// says as well.
fn withdrawn(
    setup: &Setup,
    fleet: &Fleet<'_>,
    (driven, reason): (&Driven, &str),
    pieces: &Path,
) -> Result<Failure> {
    let seen = &driven.seen;
    let is_interrupted = setup.listening.is_interrupted();
    let mut manifest = fleet.experiment.manifest.clone();
    manifest.state = if is_interrupted { State::Interrupted } else { State::Failed };
    manifest.reason = Some(reason.to_owned());
    manifest.run.ended = rfc3339(std::time::SystemTime::now());
    manifest.notes.extend(seen.done.notes().cloned());
    manifest.write(&fleet.experiment.dir).context("cannot note the failure")?;
    seen.done.say_undone(manifest.state);
    let exit = match is_interrupted {
        true => Exit::Interrupted,
        false if !seen.done.unmended.is_empty() => Exit::Undone,
        false => Exit::Internal,
    };
    let mut message = format!("{reason}\nthere is no result");
    if driven.has_begun {
        let own = own_part::keep(fleet, driven, pieces)?.display().to_string();
        let parts: Vec<String> =
            (0..fleet.agents).map(|agent| kept_part(driven, pieces, agent)).collect();
        message.push_str(&format!(
            "; if all agents have kept their parts, `assay fleet merge {} {own} --run-dir DIR` \
             joins them",
            parts.join(" ")
        ));
    }
    Ok(Failure { exit, message })
}

/// Where the part of an agent probably is after a failure: here, in a bucket, else with it.
fn kept_part(driven: &Driven, pieces: &Path, agent: u32) -> String {
    let delivered = driven.parts.iter().find(|(of, _)| *of == agent).map(|(_, part)| part);
    let is_there = |part: &&PathBuf| is_part(part) || bucket::is_bucket(&part.to_string_lossy());
    let local = local::part(pieces, agent);
    let found = [Some(&local).filter(is_there), delivered.filter(is_there)];
    let found = found.into_iter().flatten().next();
    found.map_or_else(|| format!("PART-{agent}"), |part| part.display().to_string())
}

/// Whether `dir` is a run directory.
fn is_part(dir: &Path) -> bool {
    dir.join("run.toml").is_file()
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
    match (options.keys.value(), is_local) {
        (Some(path), false) => Ok((FleetKeys::read(path).map_err(as_usage)?, None)),
        (None, false) => Err(usage(
            "--agents needs --keys FILE, the coordinator.pem that `assay fleet keys -o DIR` \
             makes; with --local the agents are processes on this machine, without any keys of \
             yours",
        )),
        (Some(_), true) => Err(options.keys.wrong("a fleet on this machine makes keys of its own")),
        (None, true) => {
            let files = KeyFiles::generate(LOCAL_KEYS)?;
            let path = dir.join("agent.pem");
            write_secret(&path, &files.agent)?;
            let keys = FleetKeys::from_pem(files.coordinator.as_bytes());
            Ok((keys.map_err(anyhow::Error::msg)?, Some(path)))
        }
    }
}

fn listen(options: &Options, is_local: bool) -> SocketAddr {
    let usual = match is_local {
        true => SocketAddr::from(([127, 0, 0, 1], 0)),
        false => SocketAddr::from(([0, 0, 0, 0], 7447)),
    };
    options.listen.get().unwrap_or(usual)
}

fn fleet_options(options: &Options, fleet: &Fleet<'_>) -> Result<FleetOptions> {
    Ok(FleetOptions {
        agents: fleet.agents,
        plan: fleet.experiment.common.clone(),
        wait: length(&options.wait)?,
        lease: length(&options.lease)?,
        version: build(),
        boot_id: boot_id(),
        nonce: random()?,
    })
}

fn job(
    setup: &Setup,
    fleet: &Fleet<'_>,
    (target, is_local): (&str, bool),
    collecting: Collecting,
) -> Result<(Job, Vec<bytes::Bytes>)> {
    let options = &setup.plan.options;
    let (mut words, files) = job::words(fleet.matches, options, (fleet.verb, setup.plan.seed.0))?;
    words.extend(fleet.words.iter().cloned());
    let has_secret = assay_drivers::registry::without_secrets(target) != target;
    // On this machine it travels in the environment.
    let is_sent = !is_local && (!has_secret || options.send_credentials.is_on());
    let (files, contents) = files.into_iter().unzip();
    let job = Job {
        run_id: fleet.experiment.manifest.run.id.clone(),
        command: fleet.experiment.manifest.run.command.clone(),
        words,
        target: is_sent.then(|| target.to_owned()),
        files,
        collecting,
        shows_service: fleet.experiment.shows_service(),
    };
    Ok((job, contents))
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
