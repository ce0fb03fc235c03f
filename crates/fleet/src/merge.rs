//! Joining of the agents' run directories into that of one run.
//!
//! Exactly the pieces of one run are taken, all of them, each once: the same run, seed,
//! workload, version, and shares that are disjoint and complete. Records are not rewritten; they
//! keep the number of their agent. Counts and checksums are sums, so whatever reads the result
//! compares it with what the agents wrote.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use assay_history::manifest::{AgentSection, Counters, PhaseSection};
use assay_history::{
    CreateError, History, Manifest, ManifestError, Observation, ReadsWriter, RecordSum, RunDir,
    State, TableError, agent_dir, each_read, read_events, read_observations, write_clock,
};
use assay_model::{ClockBand, Event, Probe};
use assay_trace::{Digest, TraceHash};

/// The source of what is seen of a client machine; that of agent `n`, but 0, has `-n` behind it.
pub const CLIENT: &str = "client";

/// Settings of the load that are sums over the agents.
const SUMMED: [&str; 5] =
    ["queued", "late_answers", "in_flight_max", "worker_cpu_ns", "final_reads"];

/// The probes of an agent on the run's axis, with the band of its start.
pub type AgentClock = (u32, Vec<Probe>, Option<ClockBand>);

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

/// Joins `pieces` into the run directory `dir`, with what the coordinator knows of the clocks.
///
/// Files are moved where they can be, and copied otherwise, if `takes` is true; else copied.
///
/// # Errors
/// If they are not the pieces of one run, or a file cannot be read or written.
pub fn merge(
    dir: &Path,
    pieces: &[PathBuf],
    clocks: &[AgentClock],
    takes: bool,
) -> Result<Manifest, MergeError> {
    let pieces = gathered(pieces)?;
    let mut run_dir = RunDir::create(dir)?;
    let mut manifest = joined(&pieces, clocks);
    for piece in &pieces {
        place_history(dir, piece, takes)?;
        keep_beside(dir, piece)?;
    }
    run_dir.write_events(&events(&pieces)?)?;
    let observations = observations(&pieces)?;
    if !observations.is_empty() {
        run_dir.write_observations(&observations)?;
    }
    join_reads(dir, &pieces)?;
    if !clocks.is_empty() {
        let probes = clocks.iter().map(|(agent, probes, _)| (*agent, probes.clone()));
        write_clock(dir, &probes.collect::<Vec<_>>())?;
    }
    run_dir.write_manifest(&manifest)?;
    let kept = History::open(dir)?.records();
    if kept != manifest.history.records && manifest.state == State::Finished {
        manifest.state = State::Failed;
        manifest.reason = Some(format!(
            "the agents kept {} records, the merged history holds {kept}",
            manifest.history.records
        ));
        run_dir.write_manifest(&manifest)?;
    }
    Ok(manifest)
}

/// The pieces by agent: all of one run, each once.
fn gathered(dirs: &[PathBuf]) -> Result<Vec<Piece>, MergeError> {
    let mut pieces: BTreeMap<u32, Piece> = BTreeMap::new();
    for dir in dirs {
        let manifest = Manifest::read(dir)?;
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
    pieces.values().try_for_each(|piece| require_same(first, piece))?;
    let agents = first.section.agents;
    let missing: Vec<String> =
        (0..agents).filter(|agent| !pieces.contains_key(agent)).map(|n| n.to_string()).collect();
    match missing.is_empty() {
        true => Ok(pieces.into_values().collect()),
        false => Err(MergeError::Missing { agents, missing: missing.join(", ") }),
    }
}

fn require_same(first: &Piece, piece: &Piece) -> Result<(), MergeError> {
    let identity = |piece: &Piece| {
        let manifest = &piece.manifest;
        [
            ("run", manifest.run.id.clone()),
            ("version", manifest.run.assay.clone()),
            ("seed", manifest.spec.seed.to_string()),
            ("workload", manifest.spec.text.clone()),
            ("trace", manifest.spec.trace_hash.clone()),
            ("load", manifest.load.model.clone()),
            ("number of agents", piece.section.agents.to_string()),
        ]
    };
    for ((what, own), (_, found)) in identity(first).into_iter().zip(identity(piece)) {
        if own != found {
            let (dir, first) = (piece.dir.clone(), first.dir.clone());
            return Err(MergeError::Foreign { dir, first, what, found, own });
        }
    }
    Ok(())
}

/// The manifest of the whole.
fn joined(pieces: &[Piece], clocks: &[AgentClock]) -> Manifest {
    let mut whole = pieces[0].manifest.clone();
    let others = &pieces[1..];
    let all = |figure: &dyn Fn(&Manifest) -> u64| {
        pieces.iter().map(|piece| figure(&piece.manifest)).sum::<u64>()
    };
    whole.history.agent = 0;
    whole.history.records = all(&|one| one.history.records);
    whole.history.lost = all(&|one| one.history.lost);
    whole.history.stalls = all(&|one| one.history.stalls);
    whole.history.sum = sum(pieces).map_or(String::new(), |sum| sum.to_string());
    whole.counters = Counters {
        offered: all(&|one| one.counters.offered),
        done: all(&|one| one.counters.done),
        refused: all(&|one| one.counters.refused),
        unknown: all(&|one| one.counters.unknown),
        dropped: all(&|one| one.counters.dropped),
    };
    whole.load.workers = all(&|one| u64::from(one.load.workers)).min(u64::from(u16::MAX)) as u16;
    whole.agents = pieces.iter().map(|piece| section(piece, clocks)).collect();
    whole.phases = phases(pieces);
    let ends = pieces.iter().map(|piece| piece.manifest.run.ended.clone());
    whole.run.ended = ends.max().unwrap_or_default();
    whole.floor = pieces
        .iter()
        .filter_map(|piece| piece.manifest.floor.clone())
        .max_by_key(|floor| floor.response_ns.get("p99").copied());
    whole.notes = notes(pieces);
    for piece in others {
        whole.history.nodes = common_nodes(&whole, &piece.manifest);
    }
    join_settings(&mut whole, pieces);
    join_states(&mut whole, pieces);
    whole
}

fn sum(pieces: &[Piece]) -> Option<RecordSum> {
    pieces.iter().try_fold(RecordSum::default(), |mut whole, piece| {
        whole += RecordSum::parse(&piece.manifest.history.sum)?;
        Some(whole)
    })
}

fn section(piece: &Piece, clocks: &[AgentClock]) -> AgentSection {
    let clock = clocks.iter().find(|(agent, ..)| *agent == piece.section.agent);
    let band = clock.and_then(|(_, _, band)| *band);
    // A clock that shows more than the coordinator's had its zero earlier.
    AgentSection {
        start_least_ns: band.map(|band| -band.high),
        start_most_ns: band.map(|band| -band.low),
        ..piece.section.clone()
    }
}

/// The phases, each until the last agent's has ended.
fn phases(pieces: &[Piece]) -> Vec<PhaseSection> {
    let mut phases: Vec<PhaseSection> = pieces[0].manifest.phases.clone();
    for other in pieces.iter().flat_map(|piece| &piece.manifest.phases) {
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

fn join_settings(whole: &mut Manifest, pieces: &[Piece]) {
    let setting = |piece: &Piece, name: &str| piece.manifest.load.settings.get(name).cloned();
    for name in SUMMED {
        let values = pieces.iter().filter_map(|piece| setting(piece, name)?.parse::<u64>().ok());
        if whole.load.settings.contains_key(name) {
            let sum = values.sum::<u64>().to_string();
            whole.load.settings.insert(name.to_owned(), sum);
        }
    }
    let held: Vec<String> = pieces.iter().filter_map(|piece| setting(piece, "held_back")).collect();
    if !held.is_empty() {
        whole.load.settings.insert("held_back".to_owned(), held.join(";"));
    }
    let issued_all =
        pieces.iter().all(|piece| setting(piece, "issued_all").as_deref() == Some("true"));
    whole.load.settings.insert("issued_all".to_owned(), issued_all.to_string());
    match executed(pieces) {
        Some(hash) => whole.load.settings.insert("executed_hash".to_owned(), hash.to_string()),
        None => {
            whole.notes.push(
                "the agents executed shares of different plans: there is no hash of the whole"
                    .to_owned(),
            );
            whole.load.settings.remove("executed_hash")
        }
    };
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

/// Moves the parts of an agent's history to their place.
fn place_history(dir: &Path, piece: &Piece, takes: bool) -> Result<(), MergeError> {
    let agent = piece.section.agent;
    let (from, to) = (agent_dir(&piece.dir, agent), agent_dir(dir, agent));
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

/// Keeps an agent's own manifest and tables, as they were written, in `agents/N`.
fn keep_beside(dir: &Path, piece: &Piece) -> Result<(), MergeError> {
    let to = dir.join("agents").join(piece.section.agent.to_string());
    let failed = |path: &Path, source| MergeError::Put { path: path.to_owned(), source };
    fs::create_dir_all(&to).map_err(|error| failed(&to, error))?;
    let entries = fs::read_dir(&piece.dir).map_err(|error| failed(&piece.dir, error))?;
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

/// The events of all agents, those that all have in common once.
fn events(pieces: &[Piece]) -> Result<Vec<Event>, MergeError> {
    let mut events: Vec<Event> = Vec::new();
    for piece in pieces {
        for mut event in read_events(&piece.dir)? {
            if events.contains(&event) {
                continue;
            }
            let is_own = piece.section.agent > 0;
            if is_own && event.kind == assay_model::EventKind::Phase {
                // The phases are those of the whole; an agent's own are in its own directory.
                continue;
            }
            if is_own {
                event.text = format!("agent {}: {}", piece.section.agent, event.text);
            }
            events.push(event);
        }
    }
    events.sort_by_key(|event| event.at);
    Ok(events)
}

/// What was seen of all machines, each under a name of its own.
fn observations(pieces: &[Piece]) -> Result<Vec<Observation>, MergeError> {
    let mut all = Vec::new();
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

/// The values that queries returned, of all agents; they are found by the operation's number,
/// which no two agents share.
fn join_reads(dir: &Path, pieces: &[Piece]) -> Result<(), MergeError> {
    let has_reads = |piece: &&Piece| assay_history::reads_file(&piece.dir).exists();
    if !pieces.iter().any(|piece| has_reads(&piece)) {
        return Ok(());
    }
    let (writer, mut sinks) = ReadsWriter::start(dir, 1)?;
    for piece in pieces.iter().filter(has_reads) {
        each_read(&piece.dir, |value| sinks.iter_mut().for_each(|sink| sink.push(value)))?;
    }
    drop(sinks);
    Ok(writer.finish()?)
}
