//! Run directory of a coordinator: what it did itself, beside the parts of its agents.
//!
//! The probes of the clocks, actions on the store, what was seen of its servers, final reads. It is
//! joined with the agents' parts as one more of them.

use std::path::{Path, PathBuf};

use anyhow::Result;
use assay_fleet::FleetOutcome;
use assay_fleet::merge::COORDINATOR;
use assay_history::manifest::{CoordinatorSection, PhaseSection};
use assay_history::{Manifest, Memory, ReadsWriter, RunDir, State, write_clock};
use assay_model::{Event, EventKind, Nanos, Phase};

use crate::exit::as_usage;
use crate::experiment::Experiment;
use crate::experiment::sink::HistorySink;
use crate::final_reads::{FinalReadsOutcome, UsedNumbers};
use crate::fleet;
use crate::units::rfc3339;

use super::Fleet;
use super::drive::Driven;

/// Keeps it in a folder of `pieces`, after the final reads, which it makes now: all agents have
/// ended. Gives the folder.
pub fn keep(fleet: &Fleet<'_>, driven: &Driven, pieces: &Path) -> Result<PathBuf> {
    let experiment = &fleet.experiment;
    let dir = pieces.join(COORDINATOR);
    let mut run_dir = RunDir::create(&dir).map_err(as_usage)?;
    let mut manifest = manifest(experiment, fleet.agents);
    run_dir.write_manifest(&manifest)?;
    let delivered = driven.parts.iter().map(|(_, part)| Manifest::read(part));
    let read = match (&experiment.final_reads, delivered.collect::<Result<Vec<_>, _>>()) {
        (None, _) => FinalReadsOutcome::default(),
        (Some(_), _) if driven.outcome != FleetOutcome::Delivered => {
            FinalReadsOutcome::none("the result was withdrawn")
        }
        (Some(_), Ok(delivered)) => {
            read_finally(experiment, driven, (&delivered, &mut run_dir), &mut manifest)?
        }
        (Some(_), Err(_)) => {
            FinalReadsOutcome::none("the agents have left their parts where nobody sees them")
        }
    };
    manifest.notes.extend(driven.seen.done.notes().cloned());
    manifest.notes.extend(experiment.store.incidents());
    manifest.notes.extend(driven.seen.unread.iter().cloned());
    manifest.notes.extend(read.notes.iter().cloned());
    manifest.state = State::Finished;
    manifest.run.ended = rfc3339(std::time::SystemTime::now());
    run_dir.write_events(&events(driven, &read))?;
    if !driven.seen.observations.is_empty()
        && let Err(error) = run_dir.write_observations(&driven.seen.observations)
    {
        // The history is worth more.
        manifest.notes.push(error.to_string());
    }
    write_clock(&dir, &driven.clocks)?;
    run_dir.write_manifest(&manifest)?;
    Ok(dir)
}

/// The manifest before the final reads.
fn manifest(experiment: &Experiment, agents: u32) -> Manifest {
    let section =
        CoordinatorSection { part: agents, host: fleet::host(), ..CoordinatorSection::default() };
    let mut manifest = experiment.manifest.clone();
    if let Some(clock) = experiment.listening.control.clock() {
        manifest.run.started = rfc3339(clock.epoch());
    }
    manifest.coordinator = Some(section);
    manifest.history.agent = agents;
    manifest.history.nodes = experiment.store.nodes();
    manifest.load.workers = 1;
    manifest
}

/// Reads the records once more, into a part of the history under the coordinator's number.
fn read_finally(
    experiment: &Experiment,
    driven: &Driven,
    (delivered, run_dir): (&[Manifest], &mut RunDir),
    manifest: &mut Manifest,
) -> Result<FinalReadsOutcome> {
    let sections = delivered.iter().flat_map(|part| &part.agents);
    let used = sections.filter_map(|section| section.used).map(UsedNumbers::told);
    let used = used.fold(UsedNumbers::default(), UsedNumbers::and);
    let is_stopped = delivered.iter().any(|part| part.state != State::Finished);
    let (writer, mut sinks) = run_dir.writer(1, Memory::default())?;
    let (reads, mut observed) = experiment.reads_writer(run_dir.dir(), 1)?;
    let sink = HistorySink { records: sinks.swap_remove(0), reads: observed.pop(), used: None };
    let store = experiment.called_store();
    let obstacle = driven.seen.obstacle(is_stopped);
    let mut read = experiment.read_finally(obstacle, store.as_ref(), (used, sink));
    read.notes.extend(writer.finish().err().map(|error| error.to_string()));
    if let Some(Err(error)) = reads.map(ReadsWriter::finish) {
        read.notes.push(error.to_string());
    }
    if let Some((from, to)) = read.window {
        let name = Phase::Final.name().to_owned();
        manifest.phases = vec![PhaseSection { name, from_ns: from.0, to_ns: to.0 }];
    }
    manifest.history.nodes = experiment.store.nodes();
    manifest.execution.final_reads = Some(read.records);
    let sealed = run_dir.seal(manifest.history.agent, &manifest.facts())?;
    read.notes.extend(sealed.damage.iter().map(ToString::to_string));
    if let Some(section) = &mut manifest.coordinator {
        (section.records, section.sum) = (read.records, sealed.sum().to_string());
    }
    Ok(read)
}

/// What the coordinator did, and saw of the servers; the final reads.
fn events(driven: &Driven, read: &FinalReadsOutcome) -> Vec<Event> {
    let mut events = driven.seen.done.events.clone();
    events.extend(read.window.map(|(from, _): (Nanos, Nanos)| Event {
        at: from,
        kind: EventKind::Phase,
        text: Phase::Final.name().to_owned(),
    }));
    events.sort_by_key(|event| event.at);
    events
}
