//! Plan of a load, a run or a bench, from what was typed, files and the environment.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use assay_live::progress::Show;
use assay_model::{Seed, quantity};
use assay_report::Style;
use assay_run::Latency;
use assay_trace::Trace;
use clap::ArgMatches;

use crate::actions::schedule::ActionSchedule;
use crate::command_line::command_line;
use crate::load_config::{Purpose, USUAL_DURATION};
use crate::options::{Options, Origin, Settable};
use crate::seed::draw_seed;
use crate::show::{Display, style};
use crate::workload::{Changes, Workload};
use crate::{live, run_dirs, thresholds};

/// The key that sets the number of records, in YCSB's properties or in a spec.
const RECORDS: [&str; 2] = ["recordcount", "dataset.records"];

/// The option or key that sets the number of operations.
const COUNT: [&str; 2] = ["operationcount", "operations.count"];

/// All that is decided before anything is started or opened. What is found in the store or the lab
/// may change it afterwards, and a tune or a study changes it from run to run.
pub struct RunPlan {
    /// What it is for.
    pub purpose: Purpose,
    /// The settings.
    pub options: Options,
    /// The workload.
    pub workload: Workload,
    /// The seed of all randomness.
    pub seed: Seed,
    /// The number from which arrivals, pauses and the chance within a simulated store follow: the
    /// seed, unless one is given.
    pub arrivals: Seed,
    /// The run directory; there is no run in it yet.
    pub dir: PathBuf,
    /// How progress is shown.
    pub show: Show,
    /// Characters and colours of a dashboard.
    pub style: Style,
    /// Which latency live figures show.
    pub latency: Latency,
    /// The command line without secrets.
    pub command: Vec<String>,
    /// Changed thresholds of the hallmark, by name.
    pub thresholds: BTreeMap<String, f64>,
    /// What is done to the lab under load.
    pub schedule: ActionSchedule,
}

impl RunPlan {
    /// Reads the specification that `matches` names, with the changes to it that were typed. Fails
    /// if there is a run in the run directory already.
    pub fn from(matches: &ArgMatches, mut options: Options, purpose: Purpose) -> Result<RunPlan> {
        // A wrong format must not be found out after the run.
        Display::from(&options)?;
        let mut changes = changes(matches, &options)?;
        if changes.say(COUNT) {
            options.operations.forget();
            options.duration.forget();
        }
        let sets = thresholds::take(&mut changes.sets);
        let spec = matches.get_one::<String>("spec").context("a SPEC is needed")?;
        let workload = workload(spec, &changes, &mut options, purpose)?;
        let thresholds = thresholds::changed(&options, &workload.hallmark, &sets)?;
        let seed = seed(&options, workload.trace.as_ref())?;
        Ok(RunPlan {
            purpose,
            dir: run_dir(&options, &workload.name, seed)?,
            schedule: ActionSchedule::read(&options, seed)?,
            seed,
            arrivals: options.arrival_seed.get().map_or(seed, Seed),
            show: live::show(&options)?,
            style: style(&options, true),
            latency: Latency::Response,
            command: command_line(seed, &options),
            workload,
            options,
            thresholds,
        })
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
fn seed(options: &Options, trace: Option<&Trace>) -> Result<Seed> {
    if let Some(seed) = options.seed.get() {
        return Ok(Seed(seed));
    }
    if let Some(trace) = trace {
        return Ok(trace.header().seed);
    }
    draw_seed()
}

/// The run directory; there is no run in it yet.
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
