//! Analysis of a run directory: its history becomes figures, its other files become facts.

use std::path::{Path, PathBuf};

use assay_analysis::hallmark::Validator;
use assay_analysis::ycsb::{self, Measurements};
use assay_analysis::{
    AnalysisOptions, Analyzer, Atomicity, DEADLINE, Held, LoadModel, Phases, Processes, Series,
    Summary, Window, effect, recovery, servers,
};
use assay_history::manifest::{FindingSection, HeldStretch, LoadPhase};
use assay_history::{
    Columns, Damage, History, Manifest, Observation, State as ManifestState, read_events,
    read_observations,
};
use assay_model::{ACTION_MARK, Event, EventKind, Nanos, Phase, Record};
use assay_report::consistency::ConsistencyResult;
use assay_report::recovery::AvailabilityFacts;
use assay_report::units::count;
use assay_report::{
    ActionEffect, Facts, PhaseSpan, RuleFinding, State, StoreFacts, WorkloadFigure,
};
use assay_workload::ScriptSpec;
use assay_workload::script::tpcc::Think;
use assay_workload::script::tpcc::conditions::NOT_AUDITED;

use crate::agents::AgentFigures;
use crate::consistency::Judge;
use crate::error::ResultsError;
use crate::evidence;
use crate::identity::{self, Endings};
use crate::memory::OperationBounds;
use crate::observed;
use crate::shell::repeating;
use crate::truth;

/// What is said of a run directory whose manifest was edited, or has lost a byte.
const CHANGED: &str = "run.toml is not as the run left it (tables.sum has another checksum): its \
                       settings, and what follows from them, may be wrong";

/// An analyzed run directory.
pub struct AnalyzedRun {
    /// The directory of the run.
    pub dir: PathBuf,
    /// The phases of the figures.
    pub phases: Phases,
    /// The course of the whole run, warm-up included.
    pub timeline: Option<Series>,
    /// Everything about the run that no record tells.
    pub facts: Facts,
    /// The figures.
    pub summary: Summary,
    /// What `run.toml` says.
    pub manifest: Manifest,
}

impl AnalyzedRun {
    /// Whether there was a warm-up, and nothing behind it.
    pub fn is_all_warm_up(&self) -> bool {
        self.timeline.is_some() && self.summary.overall.counts.offered == 0
    }
}

/// Analyzes the history of the run directory `dir`.
///
/// # Errors
/// If the run directory is not one, or its history cannot be read.
pub fn analyze_run(dir: &Path, phases: Option<Phases>) -> Result<AnalyzedRun, ResultsError> {
    analyze_beside(dir, Manifest::read(dir)?, phases, &mut |_| {})
}

/// Analyzes the history of the run directory `dir` with this manifest, and passes all its
/// records to `beside` on the way.
///
/// # Errors
/// If its history cannot be read.
pub fn analyze_beside(
    dir: &Path,
    manifest: Manifest,
    phases: Option<Phases>,
    beside: &mut dyn FnMut(&[Record]),
) -> Result<AnalyzedRun, ResultsError> {
    let (events, unread) = events_of(dir);
    let analysis_options = analysis_options(&manifest, phases);
    let phases = analysis_options.phases;
    // The course shows the warm-up too, which the figures leave out.
    let has_warm_up = manifest.phases.iter().any(|one| one.name == Phase::WarmUp.name());
    let all = AnalysisOptions { phases: Phases::All, window: None, ..analysis_options.clone() };
    let mut time_course = has_warm_up.then(|| Analyzer::new(all));
    let mut analyze_run = Analyzer::new(analysis_options.clone());
    let mut agents = AgentFigures::new(&manifest, &analysis_options);
    let mut validator = Validator::new(analysis_options, evidence::thresholds(&manifest));
    let mut history = History::open(dir)?;
    let mut endings = Endings::default();
    let mut judge = Judge::new(dir, &manifest, OperationBounds::BESIDE_ANALYSIS);
    let damages = history.each_batch(Columns::ALL, |batch| {
        analyze_run.push(batch.records);
        beside(batch.records);
        endings.push(batch.records);
        judge.add(batch.agent, batch.records);
        agents.push((batch.agent, batch.worker), batch.records);
        validator.push(batch.records);
        if let Some(time_course) = &mut time_course {
            time_course.push(batch.records);
        }
    })?;
    let summary = analyze_run.finish();
    let whole = time_course.map(Analyzer::finish);
    let mut facts = facts(dir, &manifest, &summary);
    facts.warnings.extend(unread);
    facts.warnings.extend(damages.iter().map(Damage::to_string));
    let observations = observations(dir, &mut facts);
    let observed = observations.as_deref();
    let mut contradictions = identity::contradictions(&manifest, &history, &endings);
    contradictions.extend(agents.contradiction());
    facts.agents = agents.finish();
    let (kept, counted) = (history.records(), manifest.history.records);
    let evidence =
        evidence::gather(&manifest, &summary, &events, observed, kept, contradictions.len());
    facts.warnings.extend(contradictions);
    facts.warnings.extend(truth::planted(dir));
    facts.consistency =
        Some(judge.finish(kept, damages.is_empty())).filter(ConsistencyResult::is_judged);
    facts.hallmark = Some(validator.finish(&summary, &evidence));
    add_recoveries(&mut facts, &events, whole.as_ref().unwrap_or(&summary), summary.window);
    let nodes = observed::counted(observed.unwrap_or_default());
    let time_course = |node| servers::time_course(node, summary.window);
    facts.servers = nodes.iter().map(time_course).collect();
    facts.scraped = observed::scraped_series(observed, summary.window);
    facts.events = events;
    if kept < counted && manifest.state != ManifestState::Running {
        let missing = identity::missing(&manifest, &history);
        facts.warnings.push(format!(
            "the history holds {kept} records where the run kept {counted}: {missing}; copy it \
             again from where it was made"
        ));
    }
    if !history.is_sealed() && manifest.state != ManifestState::Running {
        facts.warnings.push(format!(
            "the history is not sealed: `assay history repair {}` does that",
            dir.display()
        ));
    }
    let timeline = whole.map(|whole| whole.series);
    Ok(AnalyzedRun { dir: dir.to_owned(), phases, timeline, facts, summary, manifest })
}

/// The events of the run in `dir`, with what is wrong of the files beside its history, which is
/// worth more than they are.
fn events_of(dir: &Path) -> (Vec<Event>, Vec<String>) {
    let (events, unread) = match read_events(dir) {
        Ok(events) => (events, None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    let changed = (!Manifest::is_as_written(dir)).then(|| CHANGED.to_owned());
    (events, unread.into_iter().chain(changed).collect())
}

/// Adds what the events that are actions on the store did to it, after it was judged.
fn add_recoveries(facts: &mut Facts, events: &[Event], time_course: &Summary, window: Window) {
    facts.effects = effects_of(events, time_course, window);
    let recovery = recovery::recovery(time_course, window, &recovery::faults(events));
    let judged = facts.consistency.as_ref();
    facts.availability = recovery.map(|mut recovery| {
        // Without injections there is no row to say it in; the verdict says what was lost.
        if let Some(lost) = judged.and_then(ConsistencyResult::judged_losses) {
            recovery::attribute_lost_writes(&mut recovery.injections, &lost);
        }
        let consistability = judged.map(|result| {
            let classes = result.violation_classes();
            let times = classes.iter().map(|class| &class.per_second[..]);
            let table = recovery::consistability(&recovery.states, &times.collect::<Vec<_>>());
            (classes, table)
        });
        AvailabilityFacts { recovery, what_if: None, consistability }
    });
}

/// The effects of the events that are actions on the store.
fn effects_of(events: &[Event], time_course: &Summary, window: Window) -> Vec<ActionEffect> {
    let is_action = |event: &&Event| {
        matches!(event.kind, EventKind::Change | EventKind::Fault)
            && event.text.starts_with(ACTION_MARK)
    };
    let actions: Vec<&Event> = events.iter().filter(is_action).collect();
    let end = |action: &Event, how: &str| {
        let start = format!("{} {how}", action.text);
        let later = events.iter().filter(|event| event.at >= action.at);
        let mut warnings = later.filter(|event| event.kind == EventKind::Warning);
        warnings.find(|event| event.text.starts_with(&start)).map(|event| event.at)
    };
    let has_ended = |action: &Event, how: &str| end(action, how).is_some();
    let timed = |event: &&Event| {
        let ended = end(event, "is done").or_else(|| end(event, "failed"));
        let goes_on = || end(event, "goes on").map(|_| Nanos::NEVER);
        effect::TimedAction { at: event.at, ended: ended.or_else(goes_on).unwrap_or(event.at) }
    };
    let timed: Vec<effect::TimedAction> = actions.iter().map(timed).collect();
    let silences = &time_course.availability.silences;
    let stops = effect::stops(silences, &timed);
    let found = effect::effects(&time_course.series, silences, window, &timed);
    let texts = actions.iter().map(|event| {
        let text = &event.text[ACTION_MARK.len()..];
        match event {
            event if has_ended(event, "failed") => format!("{text} (failed)"),
            event if has_ended(event, "goes on") => format!("{text} (not ended)"),
            _ => text.to_owned(),
        }
    });
    texts
        .zip(timed.iter().map(|action| action.at))
        .zip(stops.into_iter().zip(found))
        .map(|((text, at), (stop, effect))| ActionEffect { text, at, stop, effect })
        .collect()
}

/// The observations of the machine; a damaged file is a warning, and counts as none.
fn observations(dir: &Path, facts: &mut Facts) -> Option<Vec<Observation>> {
    read_observations(dir).unwrap_or_else(|error| {
        facts.warnings.push(error.to_string());
        None
    })
}

/// The options of the analysis of the run of `manifest`.
pub fn analysis_options(manifest: &Manifest, phases: Option<Phases>) -> AnalysisOptions {
    let (settings, execution) = (&manifest.load.settings, &manifest.execution);
    let load = match manifest.load.model.as_str() {
        "open" => {
            // What was planned over the window, where the rate runs over time or was changed.
            let constant = || settings.rate.as_ref().and_then(|rate| rate.parse().ok());
            LoadModel::Open {
                rate: execution.planned_rate.or_else(constant),
                limit: settings.in_flight_bound.or(settings.in_flight),
            }
        }
        _ => LoadModel::Closed {
            sessions: settings.closed.unwrap_or(0),
            target: settings.target_throughput,
        },
    };
    let usual = match settings.phase {
        LoadPhase::Load => Phases::Load,
        LoadPhase::Run => Phases::Measure,
    };
    let phases = phases.unwrap_or(usual);
    let expected = match phases {
        Phases::Load => Phase::Load.name(),
        _ => Phase::Measure.name(),
    };
    let window = manifest
        .phases
        .iter()
        .find(|phase| phase.name == expected && phases != Phases::All)
        .map(|phase| Window { from: Nanos(phase.from_ns), until: Nanos(phase.to_ns) })
        .filter(|window| window.from < window.until);
    AnalysisOptions {
        transaction_types: manifest.history.transaction_types.clone(),
        queries: manifest.history.queries.clone(),
        nodes: manifest.history.nodes.clone(),
        width: manifest.history.width,
        processes: processes(manifest),
        atomicity: atomicity(manifest),
        phases,
        window,
        load,
        deadline: settings.deadline_ns.map_or(DEADLINE, Nanos),
        held: held(&execution.held_back),
        ..AnalysisOptions::default()
    }
}

/// The stretches in which arrivals were held back.
fn held(workers: &[Vec<HeldStretch>]) -> Held {
    let window = |&(from, until): &HeldStretch| Window { from: Nanos(from), until: Nanos(until) };
    Held(workers.iter().map(|worker| worker.iter().map(window).collect()).collect())
}

/// Plans of queries may have processes of several transactions.
fn processes(manifest: &Manifest) -> Processes {
    match manifest.history.queries.is_empty() {
        true => Processes::AsTransactions,
        false => Processes::AnalyzedRun,
    }
}

/// Whether the run has queries on a store without transactions; older run directories do not say.
fn atomicity(manifest: &Manifest) -> Atomicity {
    let isolation = manifest.store.capabilities.isolation.as_deref();
    match isolation == Some("none") && !manifest.history.queries.is_empty() {
        true => Atomicity::BestEffort,
        false => Atomicity::Whole,
    }
}

fn facts(dir: &Path, manifest: &Manifest, summary: &Summary) -> Facts {
    let phase = |name: &str| Phase::ALL.into_iter().find(|phase| phase.name() == name);
    let started = humantime::parse_rfc3339(&manifest.run.started).ok();
    let unix = started.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    let sessions = match manifest.load.model.as_str() {
        "open" => summary.overall.counts.offered,
        _ => manifest.load.settings.closed.unwrap_or(0),
    };
    let some = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    Facts {
        run_id: manifest.run.id.clone(),
        title: format!("{} on {}", manifest.spec.name, manifest.store.name),
        command: repeating(&manifest.run.command),
        seed: manifest.spec.seed,
        spec: manifest.spec.name.clone(),
        trace_hash_planned: some(&manifest.spec.trace_hash),
        trace_hash_executed: manifest.execution.executed_hash.clone(),
        store: StoreFacts {
            name: manifest.store.name.clone(),
            url: manifest.store.url.clone(),
            settings: manifest.store.settings.iter().cloned().map(Into::into).collect(),
            is_no_op: manifest.store.capabilities.no_op,
            is_best_effort: atomicity(manifest) == Atomicity::BestEffort,
        },
        load: manifest.load.text.clone(),
        sessions,
        workers: u64::from(manifest.load.workers),
        phases: manifest
            .phases
            .iter()
            .filter_map(|span| {
                let (began, ended) = (Nanos(span.from_ns), Nanos(span.to_ns));
                Some(PhaseSpan { phase: phase(&span.name)?, began, ended })
            })
            .collect(),
        state: match manifest.state {
            ManifestState::Finished => State::Finished,
            ManifestState::Interrupted if manifest.run.ended.is_empty() => State::Repaired,
            ManifestState::Interrupted => State::Interrupted,
            ManifestState::Running => State::Unfinished,
            ManifestState::Failed => {
                State::Failed(manifest.reason.clone().unwrap_or_else(|| "unknown".to_owned()))
            }
        },
        machine: machine(manifest),
        version: manifest.run.assay.clone(),
        started: manifest.run.started.replace('T', " ").replace('Z', " UTC"),
        started_unix_ms: unix.map_or(0, |since| since.as_millis() as u64),
        warnings: warnings(dir, manifest),
        findings: findings(manifest),
        figures: figures(manifest, summary),
        floor: floor(manifest),
        events: Vec::new(),
        effects: Vec::new(),
        agents: Vec::new(),
        servers: Vec::new(),
        scraped: Vec::new(),
        consistency: None,
        availability: None,
        hallmark: None,
    }
}

/// What the instrument itself needs, by percentile.
fn floor(manifest: &Manifest) -> Vec<(String, Nanos)> {
    let section = manifest.floor.as_ref();
    let response = section.map(|floor| &floor.response_ns).into_iter().flatten();
    response.map(|(name, value)| (name.clone(), Nanos(*value))).collect()
}

fn machine(manifest: &Manifest) -> String {
    let machine = &manifest.machine;
    let gib = (machine.memory_bytes + (1 << 29)) >> 30;
    format!("{} × {}, {gib} GiB, {}", machine.cores, machine.processor, machine.system)
}

fn findings(manifest: &Manifest) -> Vec<RuleFinding> {
    let finding = |section: &FindingSection| RuleFinding {
        name: section.name.clone(),
        rule: section.rule.clone(),
        is_held: section.verdict == "held",
        text: section.text.clone(),
    };
    manifest.findings.iter().map(finding).collect()
}

/// New orders per minute that each warehouse's ten terminals can reach at most with the keying and
/// think times of the standard (TPC-C 5.11, clause 4.1.2 with 5.2.5.7).
const TPMC_OF_WAREHOUSE_MAX: f64 = 12.86;

/// TPC-C's throughput, if the run is one of TPC-C: tpmC only where terminals think as the standard
/// wants.
fn figures(manifest: &Manifest, summary: &Summary) -> Vec<WorkloadFigure> {
    let spec = ScriptSpec::from_toml(&manifest.spec.text, "run.toml");
    let Ok(ScriptSpec::Tpcc(spec)) = spec else { return Vec::new() };
    if manifest.load.settings.phase == LoadPhase::Load {
        return Vec::new();
    }
    let new_orders = summary.transactions.iter().find(|types| types.name == "new-order");
    let committed = new_orders.map_or(0.0, |types| types.group.rates.done_per_s * 60.0);
    let name = match spec.process.think {
        Think::Standard => "tpmC",
        Think::None => "NOPM",
    };
    let mut note = NOT_AUDITED.to_owned();
    if spec.process.think == Think::None {
        note += "; no keying or think times";
    }
    let of_warehouse = committed / spec.dataset.warehouses.max(1) as f64;
    if of_warehouse > TPMC_OF_WAREHOUSE_MAX {
        let of_warehouse = count(of_warehouse.round() as u64);
        note += &format!(
            "; {of_warehouse} per warehouse, where the standard allows {TPMC_OF_WAREHOUSE_MAX}"
        );
    }
    vec![WorkloadFigure { name: name.to_owned(), value: committed, note }]
}

fn warnings(dir: &Path, manifest: &Manifest) -> Vec<String> {
    let mut warnings = manifest.notes.clone();
    let violated = manifest.findings.iter().filter(|finding| finding.verdict != "held");
    warnings.extend(
        violated.map(|finding| format!("{} ({}) is {}", finding.name, finding.rule, finding.text)),
    );
    if manifest.state == ManifestState::Running {
        warnings.push(format!(
            "if the run was killed, `assay history repair {}` seals what there is",
            dir.display()
        ));
    }
    warnings
}
/// A result in YCSB's terms, with both latencies.
///
/// # Errors
/// If the history cannot be read again.
pub fn ycsb_block(analyzed: &AnalyzedRun) -> Result<String, ResultsError> {
    let phases = analyzed.phases;
    let mut measurements = Measurements::new(ycsb::Options { phases, ..Default::default() });
    let mut history = History::open(&analyzed.dir)?;
    history.each_batch(Columns::ALL, |batch| measurements.push(batch.records))?;
    let options = assay_report::ycsb::Options {
        interval: assay_report::ycsb::Interval::Both,
        percentiles: vec![50.0, 95.0, 99.0, 99.9],
        transactions: analyzed.manifest.history.transaction_types.clone(),
        ..Default::default()
    };
    let lines = assay_report::ycsb::lines(&measurements.finish(), &options);
    Ok(assay_report::ycsb::print(&lines, assay_report::ycsb::Exporter::Text))
}

#[cfg(test)]
mod tests;
