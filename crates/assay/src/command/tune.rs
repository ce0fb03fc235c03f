//! The highest rate that holds an objective, or the curve of latency over rate.

mod expected;
mod step;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use assay_analysis::slo::Scope;
use assay_analysis::sweep::{curve, held_up_to, knee};
use assay_analysis::tune::{Left, Purpose, Request, Search, SearchEnd, Step, bracket, inversions};
use assay_history::Manifest;
use assay_live::progress::Show;
use assay_model::{Nanos, Seed};
use assay_report::Letters;
use assay_report::tune::{TuneKind, Tuning, held, outcome, seconds, value};
use assay_report::units::rate;
use assay_results::shell::repeating;
use assay_store::Calls;
use assay_workload::PlanPhase;
use clap::ArgMatches;

use crate::atomic_file;
use crate::command::tune::expected::{TuneGoal, TuneOptions};
use crate::command::tune::step::{Attempt, Steps, dir_of};
use crate::exit::{Exit, as_usage, usage};
use crate::fleet;
use crate::load_config;
use crate::machine;
use crate::options::{Options, Origin, Settable};
use crate::run_plan::RunPlan;
use crate::setup::Setup;
use crate::show::{Display, Format};

/// The result in the tune's own directory.
const RESULT: &str = "tune.json";

/// Where the data set's load is kept; `load` would look like a run's.
const DATASET: &str = "data-set";

/// `assay tune`: searches, or sweeps.
pub fn tune(matches: &ArgMatches) -> Result<Exit> {
    let options = Options::gather(matches)?;
    let agents = fleet::agents_here(&options)?;
    let mut expected = TuneOptions::from(&options)?;
    let display = Display::from(&options)?;
    display.require(&options, "a tune is", &FORMATS)?;
    let mut plan = RunPlan::from(matches, options, load_config::Purpose::Run)?;
    require_kinds(&plan, &expected)?;
    // The spec's length is not the length of a step.
    plan.workload.set_operations(None)?;
    plan.show = plan.show.without_dashboard();
    plan.seed = first_seed(&plan, &expected)?;
    let seed = plan.seed;
    let mut setup = Setup::open(plan)?;
    fill(&mut setup)?;
    expected.sought = expected.sought.bounded(setup.store.capabilities().time);
    let listening = Arc::clone(&setup.listening);
    let mut steps = Steps::new(setup, expected, seed);
    if let Some(agents) = agents {
        steps.share(agents, matches);
    }
    // An interrupt between two steps ends the search, which has a result.
    let during = listening.during();
    let (time_course, made, is_interrupted) = match steps.expected.sought {
        TuneGoal::Rate(plan) => search(&mut steps, Search::new(plan))?,
        TuneGoal::Curve(sweep) => {
            let (made, is_interrupted) = each(&mut steps, &sweep.rates())?;
            (TuneKind::Sweep { sweep, held: held_up_to(&made) }, made, is_interrupted)
        }
    };
    drop(during);
    let tuning = tuning(&steps, time_course, made, is_interrupted);
    let root = &steps.setup.plan.dir;
    // Next to the run directories of the steps.
    atomic_file::write_in(root, RESULT, &assay_report::tune::json(&tuning))?;
    show(&tuning, &display)?;
    if steps.setup.plan.show != Show::Nothing {
        eprintln!("kept in {}", root.display());
    }
    Ok(exit(&tuning))
}

/// Runs the steps of the search until it is over or stopped.
fn search(steps: &mut Steps, mut search: Search) -> Result<(TuneKind, Vec<Step>, bool)> {
    let mut is_interrupted = false;
    while let Some(request) = search.request() {
        match steps.make(request)? {
            Attempt::Made(found) => {
                search.take(found.clone());
                let length = search.request().map_or(1, |next| next.length);
                say(steps, request, &found, &ahead(search.left(), steps.time_of(length)));
            }
            Attempt::Interrupted => {
                is_interrupted = true;
                break;
            }
        }
    }
    let time_course =
        TuneKind::Search { plan: *search.plan(), ending: search.ending(), best: search.best() };
    Ok((time_course, search.steps().to_vec(), is_interrupted))
}

/// Runs each rate once.
fn each(steps: &mut Steps, rates: &[f64]) -> Result<(Vec<Step>, bool)> {
    let mut made = Vec::new();
    for (number, &rate) in rates.iter().enumerate() {
        let request = Request { number, rate, purpose: Purpose::Sweep, length: 1 };
        match steps.make(request)? {
            Attempt::Made(found) => {
                let left = Left::AtMost(rates.len() - number - 1);
                say(steps, request, &found, &ahead(left, steps.time_of(1)));
                made.push(Step { request, outcome: found });
            }
            Attempt::Interrupted => return Ok((made, true)),
        }
    }
    Ok((made, false))
}

/// The steps that are left, with their duration unless time is simulated:
/// `  (at most 5 more steps, 55s)`.
fn ahead(left: Left, each: Option<Nanos>) -> String {
    let (bound, count) = match left {
        Left::AtMost(0) => return String::new(),
        Left::AtMost(count) => ("at most", count),
        Left::AtLeast(count) => ("at least", count),
    };
    let noun = if count == 1 { "step" } else { "steps" };
    let time = each.map_or_else(String::new, |each| {
        let seconds = (each.as_secs_f64() * count as f64).ceil() as u64;
        format!(", {}", humantime::format_duration(Duration::from_secs(seconds)))
    });
    format!("  ({bound} {count} more {noun}{time})")
}

/// A line with the outcome of a step, and the steps that are left.
fn say(steps: &Steps, request: Request, found: &assay_analysis::tune::StepOutcome, ahead: &str) {
    if steps.setup.plan.show == Show::Nothing {
        return;
    }
    let values: Vec<String> = found.terms.iter().map(|term| value(term, Letters::Ascii)).collect();
    let reasons = match found.reasons.is_empty() {
        true => String::new(),
        false => format!("  {}", outcome(found, Letters::Ascii)),
    };
    eprintln!(
        "step {:>2}  {:<7}  {:>10}  {:>5}  {}  {}{reasons}{ahead}",
        request.number + 1,
        request.purpose.name(),
        rate(request.rate),
        seconds(found.figures.seconds),
        values.join("  "),
        held(found.verdict),
    );
}

fn tuning(steps: &Steps, time_course: TuneKind, made: Vec<Step>, is_interrupted: bool) -> Tuning {
    let setup = &steps.setup;
    let capabilities = setup.store.capabilities();
    let curve = curve(&made);
    let held = match time_course {
        TuneKind::Search { best, .. } => best,
        TuneKind::Sweep { held, .. } => held,
    };
    Tuning {
        title: format!("{} on {}", setup.plan.workload.name, capabilities.name),
        command: repeating(&setup.plan.command),
        dir: setup.plan.dir.display().to_string(),
        url: setup.url.clone(),
        is_no_op: capabilities.is_no_op,
        load: steps.load.clone(),
        seed: steps.seed.0,
        machine: format!("{} x {}", machine::cores(), machine::processor()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        objective: steps.expected.objective.clone(),
        knee: knee(&curve),
        inversions: inversions(&made),
        bracket: bracket(&made, held),
        curve,
        time_course,
        steps: made,
        is_interrupted,
        warnings: steps.warnings(),
    }
}

fn exit(tuning: &Tuning) -> Exit {
    if tuning.is_interrupted {
        return Exit::Interrupted;
    }
    match tuning.time_course {
        TuneKind::Search { ending: Some(SearchEnd::Found { .. }), .. } => Exit::Fine,
        TuneKind::Search { .. } => Exit::Breached,
        TuneKind::Sweep { held: None, .. } if tuning.objective.is_some() => Exit::Breached,
        TuneKind::Sweep { .. } => Exit::Fine,
    }
}

/// Formats of a tune.
const FORMATS: [Format; 5] =
    [Format::Text, Format::Json, Format::Csv, Format::Markdown, Format::Html];

fn show(tuning: &Tuning, display: &Display) -> Result<()> {
    use assay_report::tune::{csv, document, json};
    let other = |format| if format == Format::Csv { csv(tuning) } else { json(tuning) };
    display.show(|| document(tuning), |format| Ok(other(format)))
}

/// An objective for operations that the workload does not have would never be checked.
fn require_kinds(plan: &RunPlan, expected: &TuneOptions) -> Result<()> {
    let used = plan.workload.kinds_used(PlanPhase::Run);
    for term in expected.objective.iter().flat_map(|objective| &objective.terms) {
        if let Scope::Kind(kind) = term.scope
            && !used.contains(&kind)
        {
            let names: Vec<&str> = used.iter().map(|kind| kind.name()).collect();
            return Err(plan.options.slo.wrong(format!(
                "{} has no {} operations; it has {}",
                plan.workload.name,
                kind.name(),
                names.join(", ")
            )));
        }
    }
    Ok(())
}

/// The seed from which those of the steps follow; that of the steps there are, if one goes on.
fn first_seed(plan: &RunPlan, expected: &TuneOptions) -> Result<Seed> {
    let first = dir_of(&plan.dir, 0);
    let is_there = first.is_dir();
    match (is_there, expected.resumes) {
        (true, false) => Err(usage(format!(
            "{} holds steps of a tune already: go on with --resume, or name another directory",
            plan.dir.display()
        ))),
        (true, true) if !plan.options.seed.is_given() => {
            let manifest = Manifest::read(&first).map_err(as_usage)?;
            Ok(Seed(manifest.spec.seed))
        }
        (false, true) => Err(usage(format!(
            "--resume: there is no step of a tune in {}; name its directory with --run-dir",
            plan.dir.display()
        ))),
        _ => Ok(plan.seed),
    }
}

/// A store in this process is loaded once, before the first step, if it does not say that it was.
fn fill(setup: &mut Setup) -> Result<()> {
    let capabilities = setup.store.capabilities();
    let is_near = capabilities.calls != Calls::Pipelined
        || !capabilities.is_persistent
        || setup.has_own_lab();
    if capabilities.is_no_op || !is_near || setup.has_note()? {
        return Ok(());
    }
    let mut dir = setup.plan.dir.join(DATASET);
    for number in 2.. {
        if !dir.exists() {
            break;
        }
        dir = setup.plan.dir.join(format!("{DATASET}-{number}"));
    }
    if setup.plan.show != Show::Nothing {
        eprintln!("{} is empty: loading first", setup.url);
    }
    // What goes on with --resume is the search: this load is a new one.
    setup.plan.options.resume.set("false", Origin::Flag)?;
    setup.load(&dir)?.require_load()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_progress_line_says_how_long_it_will_take() {
        let each = Some(Nanos::from_secs(11));
        assert_eq!(ahead(Left::AtMost(7), each), "  (at most 7 more steps, 1m 17s)");
        assert_eq!(ahead(Left::AtLeast(1), each), "  (at least 1 more step, 11s)");
        assert_eq!(ahead(Left::AtMost(2), None), "  (at most 2 more steps)");
        assert_eq!(ahead(Left::AtMost(0), each), "");
    }
}
