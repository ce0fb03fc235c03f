//! Joining of the agents' run directories into that of one run.
//!
//! Exactly the pieces of one run are taken, all of them, each once: the same run, seed, workload,
//! version, and shares that are disjoint and complete; with them that of the coordinator, which has
//! the probes of the clocks, what it did to the store, what it read when the run was over. Records
//! are not rewritten; they keep the number of their agent. Counts and checksums are sums, so
//! whatever reads the result compares it with what the agents wrote.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use assay_history::manifest::{
    AgentSection, CoordinatorSection, ExecutionSection, OperationCounts, PhaseSection,
};
use assay_history::{
    CreateError, History, Manifest, ManifestError, Observation, ReadsWriter, RecordSum, RunDir,
    State, TableError, agent_dir, each_read, read_clock, read_events, read_observations,
    write_clock,
};
use assay_model::{ClockBand, Event, EventKind, Probe, band_at};
use assay_trace::{Digest, TraceHash};

/// The source of what is seen of a client machine; that of agent `n`, but 0, has `-n` behind it.
pub const CLIENT: &str = "client";
/// The name of the coordinator's part.
pub const COORDINATOR: &str = "coordinator";

/// The pieces are not those of one run, or cannot be joined.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// There is none.
    #[error("nothing to merge: name the run directories of all agents")]
    Nothing,
    /// A piece is no part of a fleet.
    #[error("{dir} is no agent's part of a run: its run.toml names {found} agents, not one")]
    NoPart {
        /// The piece.
        dir: PathBuf,
        /// How many agents it has.
        found: usize,
    },
    /// Two pieces are of one agent.
    #[error("{one} and {other} are both of agent {agent}; take one of them away")]
    Twice {
        /// The agent.
        agent: u32,
        /// One piece.
        one: PathBuf,
        /// The other.
        other: PathBuf,
    },
    /// Two pieces are of the coordinator.
    #[error("{one} and {other} are both of the coordinator; take one of them away")]
    TwoCoordinators {
        /// One piece.
        one: PathBuf,
        /// The other.
        other: PathBuf,
    },
    /// Agents are missing.
    #[error(
        "the run has {agents} agents, the parts of agents {missing} are missing: fetch them from \
         their machines; without them there is no result"
    )]
    Missing {
        /// How many agents there are.
        agents: u32,
        /// The missing ones.
        missing: String,
    },
    /// A piece is of another run.
    #[error("{dir} is of another run: its {what} is {found:?}, that of {first} is {own:?}")]
    Foreign {
        /// The piece.
        dir: PathBuf,
        /// The first piece.
        first: PathBuf,
        /// What differs.
        what: &'static str,
        /// Its value.
        found: String,
        /// That of the first piece.
        own: String,
    },
    /// A manifest cannot be read or written.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The merged directory cannot be made.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// A table cannot be read or written.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The merged history cannot be opened.
    #[error(transparent)]
    History(#[from] assay_history::OpenError),
    /// A file cannot be put in place.
    #[error("cannot put {path} in place: {source}")]
    Put {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// One agent's run directory.
struct Piece {
    dir: PathBuf,
    manifest: Manifest,
    section: AgentSection,
}

/// The coordinator's run directory.
struct OwnPiece {
    dir: PathBuf,
    manifest: Manifest,
    section: CoordinatorSection,
    /// The probes of each agent's clock.
    clocks: Vec<(u32, Vec<Probe>)>,
}

/// Joins `pieces` into the run directory `dir`: those of all agents, and that of the coordinator,
/// if it is there. Without it events of two agents cannot be ordered.
///
/// Files are moved where they can be, and copied otherwise, if `takes` is true; else copied.
///
/// # Errors
/// If they are not the pieces of one run, or a file cannot be read or written.
pub fn merge(dir: &Path, pieces: &[PathBuf], takes: bool) -> Result<Manifest, MergeError> {
    let (pieces, own) = gathered(pieces)?;
    let own = own.as_ref();
    let mut run_dir = RunDir::create(dir)?;
    let mut manifest = joined(&pieces, own);
    for piece in &pieces {
        place_history(dir, (&piece.dir, piece.section.agent), takes)?;
        keep_beside(dir, (&piece.dir, &piece.section.agent.to_string()))?;
    }
    if let Some(own) = own {
        if own.section.records > 0 {
            place_history(dir, (&own.dir, own.section.part), takes)?;
        }
        keep_beside(dir, (&own.dir, COORDINATOR))?;
        if !own.clocks.is_empty() {
            write_clock(dir, &own.clocks)?;
        }
    }
    run_dir.write_events(&events(&pieces, own)?)?;
    let observations = observations(&pieces, own)?;
    if !observations.is_empty() {
        run_dir.write_observations(&observations)?;
    }
    let dirs = pieces.iter().map(|piece| &piece.dir).chain(own.map(|own| &own.dir));
    join_reads(dir, &dirs.map(PathBuf::as_path).collect::<Vec<_>>())?;
    run_dir.write_manifest(&manifest)?;
    let kept = History::open(dir)?.records();
    if kept != manifest.history.records && manifest.state == State::Finished {
        manifest.state = State::Failed;
        manifest.reason = Some(format!(
            "the parts have {} records, the merged history holds {kept}",
            manifest.history.records
        ));
        run_dir.write_manifest(&manifest)?;
    }
    Ok(manifest)
}

/// The pieces by agent: all of one run, each once; with that of the coordinator.
fn gathered(dirs: &[PathBuf]) -> Result<(Vec<Piece>, Option<OwnPiece>), MergeError> {
    let mut pieces: BTreeMap<u32, Piece> = BTreeMap::new();
    let mut own: Option<OwnPiece> = None;
    for dir in dirs {
        let manifest = Manifest::read(dir)?;
        if let (Some(section), []) = (&manifest.coordinator, &manifest.agents[..]) {
            let section = section.clone();
            let clocks = read_clock(dir)?.unwrap_or_default();
            let piece = OwnPiece { dir: dir.clone(), manifest, section, clocks };
            if let Some(other) = own.replace(piece) {
                return Err(MergeError::TwoCoordinators { one: other.dir, other: dir.clone() });
            }
            continue;
        }
        let [section] = &manifest.agents[..] else {
            return Err(MergeError::NoPart { dir: dir.clone(), found: manifest.agents.len() });
        };
        let (agent, section) = (section.agent, section.clone());
        let piece = Piece { dir: dir.clone(), manifest, section };
        if let Some(other) = pieces.insert(agent, piece) {
            return Err(MergeError::Twice { agent, one: other.dir, other: dir.clone() });
        }
    }
    let first = pieces.values().next().ok_or(MergeError::Nothing)?;
    let agents = first.section.agents;
    let first = (&first.dir, &first.manifest, agents);
    for piece in pieces.values() {
        require_same(first, (&piece.dir, &piece.manifest, piece.section.agents), &[])?;
    }
    if let Some(own) = &own {
        // A load is compared by its data set before it begins; its plan has other words there.
        let elsewhere = ["workload", "trace", "load"];
        require_same(first, (&own.dir, &own.manifest, own.section.part), &elsewhere)?;
    }
    let missing: Vec<String> =
        (0..agents).filter(|agent| !pieces.contains_key(agent)).map(|n| n.to_string()).collect();
    match missing.is_empty() {
        true => Ok((pieces.into_values().collect(), own)),
        false => Err(MergeError::Missing { agents, missing: missing.join(", ") }),
    }
}

/// A directory with its manifest and how many agents its run has.
type Identified<'a> = (&'a PathBuf, &'a Manifest, u32);

/// Compares two pieces, but for what is `skipped`.
fn require_same(
    first: Identified<'_>,
    piece: Identified<'_>,
    skipped: &[&str],
) -> Result<(), MergeError> {
    let identity = |(_, manifest, agents): Identified<'_>| {
        [
            ("run", manifest.run.id.clone()),
            ("version", manifest.run.assay.clone()),
            ("seed", manifest.spec.seed.to_string()),
            ("workload", manifest.spec.text.clone()),
            ("trace", manifest.spec.trace_hash.clone()),
            ("load", manifest.load.model.clone()),
            ("number of agents", agents.to_string()),
        ]
    };
    for ((what, own), (_, found)) in identity(first).into_iter().zip(identity(piece)) {
        if own != found && !skipped.contains(&what) {
            let (dir, first) = (piece.0.clone(), first.0.clone());
            return Err(MergeError::Foreign { dir, first, what, found, own });
        }
    }
    Ok(())
}

/// The manifest of the whole.
fn joined(pieces: &[Piece], own: Option<&OwnPiece>) -> Manifest {
    let mut whole = pieces[0].manifest.clone();
    let others = &pieces[1..];
    let all = |figure: &dyn Fn(&Manifest) -> u64| {
        pieces.iter().map(|piece| figure(&piece.manifest)).sum::<u64>()
    };
    let read_finally = own.map_or(0, |own| own.section.records);
    whole.history.agent = 0;
    whole.history.records = all(&|one| one.history.records) + read_finally;
    whole.history.lost = all(&|one| one.history.lost);
    whole.history.stalls = all(&|one| one.history.stalls);
    whole.history.sum = sum(pieces, own).map_or(String::new(), |sum| sum.to_string());
    whole.counters = OperationCounts {
        offered: all(&|one| one.counters.offered),
        done: all(&|one| one.counters.done),
        refused: all(&|one| one.counters.refused),
        unknown: all(&|one| one.counters.unknown),
        dropped: all(&|one| one.counters.dropped),
    };
    whole.load.workers = all(&|one| u64::from(one.load.workers)).min(u64::from(u16::MAX)) as u16;
    whole.agents = pieces.iter().map(|piece| section(piece, own)).collect();
    whole.coordinator = own.map(|own| own.section.clone());
    whole.phases = phases(pieces, own);
    let manifests = pieces.iter().map(|piece| &piece.manifest).chain(own.map(|own| &own.manifest));
    whole.run.ended = manifests.map(|one| one.run.ended.clone()).max().unwrap_or_default();
    whole.floor = pieces
        .iter()
        .filter_map(|piece| piece.manifest.floor.clone())
        .max_by_key(|floor| floor.response_ns.get("p99").copied());
    whole.notes = notes(pieces);
    for piece in others {
        whole.history.nodes = common_nodes(&whole, &piece.manifest);
    }
    join_executions(&mut whole, pieces);
    join_states(&mut whole, pieces);
    if let Some(own) = own {
        add_own(&mut whole, &own.manifest);
    }
    whole
}

/// Adds what the coordinator knows: of the store, of what it did itself.
fn add_own(whole: &mut Manifest, own: &Manifest) {
    whole.store = own.store.clone();
    whole.hallmark = own.hallmark.clone();
    whole.notes.extend(own.notes.iter().cloned());
    whole.history.nodes = common_nodes(whole, own);
    whole.execution.final_reads = own.execution.final_reads;
}

fn sum(pieces: &[Piece], own: Option<&OwnPiece>) -> Option<RecordSum> {
    let read_finally = own.filter(|own| own.section.records > 0).map(|own| &own.section.sum);
    let sums = pieces.iter().map(|piece| &piece.manifest.history.sum).chain(read_finally);
    sums.into_iter().try_fold(RecordSum::default(), |mut whole, sum| {
        whole += RecordSum::parse(sum)?;
        Some(whole)
    })
}

fn section(piece: &Piece, own: Option<&OwnPiece>) -> AgentSection {
    let mut clocks = own.into_iter().flat_map(|own| &own.clocks);
    let clock = clocks.find(|(agent, _)| *agent == piece.section.agent);
    // Both axes begin with the start.
    let band: Option<ClockBand> = clock.and_then(|(_, probes)| band_at(probes, 0));
    // Probes that contradict each other tell that a clock has jumped, not when it began.
    let band = band.filter(|band| band.is_possible());
    // A clock that shows more than the coordinator's had its zero earlier.
    AgentSection {
        start_least_ns: band.map(|band| -band.high),
        start_most_ns: band.map(|band| -band.low),
        ..piece.section.clone()
    }
}

/// The phases, each until the last agent's has ended.
fn phases(pieces: &[Piece], own: Option<&OwnPiece>) -> Vec<PhaseSection> {
    let mut phases: Vec<PhaseSection> = pieces[0].manifest.phases.clone();
    let manifests = pieces.iter().map(|piece| &piece.manifest).chain(own.map(|own| &own.manifest));
    for other in manifests.flat_map(|manifest| &manifest.phases) {
        match phases.iter_mut().find(|phase| phase.name == other.name) {
            Some(phase) => {
                phase.from_ns = phase.from_ns.min(other.from_ns);
                phase.to_ns = phase.to_ns.max(other.to_ns);
            }
            None => phases.push(other.clone()),
        }
    }
    phases
}

/// What each agent remarks; what all of them do, once.
fn notes(pieces: &[Piece]) -> Vec<String> {
    let mut notes = Vec::new();
    for piece in pieces {
        for note in &piece.manifest.notes {
            let is_common = pieces.iter().all(|other| other.manifest.notes.contains(note));
            let text = match is_common {
                true => note.clone(),
                false => format!("agent {}: {note}", piece.section.agent),
            };
            if !notes.contains(&text) {
                notes.push(text);
            }
        }
    }
    notes
}

/// Nodes have the same numbers at both only if one list begins with the other.
fn common_nodes(one: &Manifest, other: &Manifest) -> Vec<String> {
    let (one, other) = (&one.history.nodes, &other.history.nodes);
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    if long.starts_with(short) { long.clone() } else { Vec::new() }
}

fn join_executions(whole: &mut Manifest, pieces: &[Piece]) {
    let all = || pieces.iter().map(|piece| &piece.manifest.execution);
    let sum = |of: fn(&ExecutionSection) -> Option<u64>| all().map(of).sum::<Option<u64>>();
    let execution = &mut whole.execution;
    execution.queued = sum(|one| one.queued);
    execution.late_answers = sum(|one| one.late_answers);
    execution.in_flight_max = sum(|one| one.in_flight_max);
    execution.worker_cpu_ns = sum(|one| one.worker_cpu_ns);
    execution.held_back = all().flat_map(|one| one.held_back.iter().cloned()).collect();
    execution.issued_all = all().all(|one| one.issued_all);
    execution.executed_hash = executed(pieces).map(|hash| hash.to_string());
    if execution.executed_hash.is_none() {
        whole.notes.push(
            "the agents executed shares of different plans: there is no hash of the whole"
                .to_owned(),
        );
    }
    let changes = |piece: &Piece| piece.manifest.execution.rate_changes.clone();
    let late = pieces.iter().find(|piece| changes(piece) != changes(&pieces[0]));
    if let Some(late) = late {
        whole.notes.push(format!(
            "agents {} and {} changed the rate at different moments: what arrived meanwhile is not \
             what one machine would have issued",
            pieces[0].section.agent, late.section.agent
        ));
    }
}

/// The hash of what all agents executed.
fn executed(pieces: &[Piece]) -> Option<Digest> {
    let share = |piece: &Piece| {
        let sum = u128::from_str_radix(&piece.section.fingerprint, 16).ok()?;
        Some((TraceHash::from_sum(sum), piece.section.executed_hash.parse().ok()?))
    };
    Digest::merged(&pieces.iter().map(share).collect::<Option<Vec<_>>>()?)
}

/// The whole is as good as the worst of its parts.
fn join_states(whole: &mut Manifest, pieces: &[Piece]) {
    let severity = |state: State| match state {
        State::Finished => 0,
        State::Interrupted => 1,
        State::Running => 2,
        State::Failed => 3,
    };
    let worst = pieces.iter().max_by_key(|piece| severity(piece.manifest.state));
    let Some(worst) = worst.filter(|worst| worst.manifest.state != State::Finished) else { return };
    // A part that was never closed was killed.
    whole.state = match worst.manifest.state {
        State::Running => State::Failed,
        other => other,
    };
    let reason = worst.manifest.reason.as_deref().unwrap_or("it was never closed");
    whole.reason = Some(format!("agent {}: {reason}", worst.section.agent));
}

/// Moves the parts of an agent's history from its directory to their place.
fn place_history(dir: &Path, (from, agent): (&Path, u32), takes: bool) -> Result<(), MergeError> {
    let (from, to) = (agent_dir(from, agent), agent_dir(dir, agent));
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| MergeError::Put { path, source }
    };
    fs::create_dir_all(&to).map_err(failed(&to))?;
    for entry in fs::read_dir(&from).map_err(failed(&from))? {
        let entry = entry.map_err(failed(&from))?;
        put(&entry.path(), &to.join(entry.file_name()), takes).map_err(failed(&entry.path()))?;
    }
    Ok(())
}

fn put(from: &Path, to: &Path, takes: bool) -> io::Result<()> {
    if takes && fs::rename(from, to).is_ok() {
        return Ok(());
    }
    fs::copy(from, to).map(drop)
}

/// Keeps the manifest and tables of an agent or of the coordinator, as they were written, in
/// `agents/` under its name.
fn keep_beside(dir: &Path, (from, name): (&Path, &str)) -> Result<(), MergeError> {
    let to = dir.join("agents").join(name);
    let failed = |path: &Path, source| MergeError::Put { path: path.to_owned(), source };
    fs::create_dir_all(&to).map_err(|error| failed(&to, error))?;
    let entries = fs::read_dir(from).map_err(|error| failed(from, error))?;
    for entry in entries.flatten() {
        let path = entry.path();
        let is_kept =
            path.is_file() && !["lock", "reserve"].iter().any(|name| path.ends_with(name));
        if is_kept {
            put(&path, &to.join(entry.file_name()), false).map_err(|error| failed(&path, error))?;
        }
    }
    Ok(())
}

/// The events of all agents, those that all have in common once, and those of the coordinator.
fn events(pieces: &[Piece], own: Option<&OwnPiece>) -> Result<Vec<Event>, MergeError> {
    let mut events: Vec<Event> = Vec::new();
    for piece in pieces {
        for mut event in read_events(&piece.dir)? {
            if events.contains(&event) {
                continue;
            }
            let is_own = piece.section.agent > 0;
            if is_own && event.kind == EventKind::Phase {
                // The phases are those of the whole; an agent's own are in its own directory.
                continue;
            }
            if is_own {
                event.text = format!("agent {}: {}", piece.section.agent, event.text);
            }
            events.push(event);
        }
    }
    if let Some(own) = own {
        events.extend(read_events(&own.dir)?);
    }
    events.sort_by_key(|event| event.at);
    Ok(events)
}

/// What was seen of all machines, each under a name of its own; with what the coordinator saw of
/// the store's servers.
fn observations(pieces: &[Piece], own: Option<&OwnPiece>) -> Result<Vec<Observation>, MergeError> {
    let mut all = match own {
        Some(own) => read_observations(&own.dir)?.unwrap_or_default(),
        None => Vec::new(),
    };
    for piece in pieces {
        let agent = piece.section.agent;
        for mut observed in read_observations(&piece.dir)?.unwrap_or_default() {
            if agent > 0 && observed.source == CLIENT {
                observed.source = format!("{CLIENT}-{agent}");
            }
            all.push(observed);
        }
    }
    all.sort_by_key(|observed| observed.at);
    Ok(all)
}

/// The values that queries returned, of all parts; they are found by the operation's number,
/// which no two parts share.
fn join_reads(dir: &Path, pieces: &[&Path]) -> Result<(), MergeError> {
    let has_reads = |piece: &&&Path| assay_history::reads_file(piece).exists();
    if !pieces.iter().any(|piece| has_reads(&piece)) {
        return Ok(());
    }
    let (writer, mut sinks) = ReadsWriter::start(dir, 1)?;
    for piece in pieces.iter().filter(has_reads) {
        each_read(piece, |value| sinks.iter_mut().for_each(|sink| sink.push(value)))?;
    }
    drop(sinks);
    Ok(writer.finish()?)
}
