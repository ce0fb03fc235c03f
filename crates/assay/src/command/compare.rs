//! Compare: the verb that puts two set-ups side by side.

mod circumstances;
mod condition;

use std::path::Path;

use anyhow::Result;
use assay_analysis::compare::{ConditionOutcome, Demands, RunFigures, compare as compare_figures};
use assay_report::compare::{ComparedSetup, Contrast, Run, Trial, Weight};
use clap::ArgMatches;

use crate::exit::{Exit, usage};
use crate::measured_runs::{self, Measured};
use crate::options::Options;
use crate::run_dirs;
use crate::show::{Display, Format, put};

use condition::Stated;

/// `assay compare`: two set-ups, figure by figure.
pub fn compare(matches: &ArgMatches) -> Result<Exit> {
    let options = Options::gather(matches)?;
    let display = Display::from(&options)?;
    require_format(&display)?;
    let stated = stated(matches)?;
    let demands = demands(matches, &stated)?;
    let runs_dir = options.runs_dir();
    let name = |argument: &str, usual: &str| {
        matches.get_one::<String>(argument).cloned().unwrap_or_else(|| usual.to_owned())
    };
    let names = (name("base", "last-1"), name("new", "last"));
    require_two(
        &run_dirs::find_any(runs_dir, &names.0)?,
        &run_dirs::find_any(runs_dir, &names.1)?,
    )?;
    let named = |argument: &str, name: &String| -> Result<(String, Vec<Measured>)> {
        let dir = run_dirs::find_any(runs_dir, name)?;
        let first = if argument == "new" { NEW_RUNS } else { 0 };
        Ok((name.clone(), measured_runs::measure_all(&dir, first)?))
    };
    let (old, new) = (named("base", &names.0)?, named("new", &names.1)?);
    let contrast = contrast(old, new, demands, &stated)?;
    let contrast = Contrast { is_forced: matches.get_flag("force"), ..contrast };
    refuse_other_questions(&contrast)?;
    let text = match display.format {
        Format::Json => assay_report::compare::json(&contrast),
        Format::Csv => assay_report::compare::csv(&contrast),
        Format::Markdown => assay_report::compare::markdown(&contrast),
        Format::Html => assay_report::compare_html(&contrast),
        Format::Junit => assay_report::junit::compare(&contrast),
        _ => assay_report::compare::terminal(&contrast, display.style),
    };
    put(&text, display.output.as_deref())?;
    Ok(exit(&contrast.trials))
}

/// What is compared with itself never differs, so a condition on it would never fail.
fn require_two(old: &Path, new: &Path) -> Result<()> {
    let real = |dir: &Path| dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
    let (old, new) = (real(old), real(new));
    let holds = |group: &Path, run: &Path| run_dirs::is_group(group) && run.starts_with(group);
    if old != new && !holds(&old, &new) && !holds(&new, &old) {
        return Ok(());
    }
    let shared = if holds(&old, &new) { new } else { old };
    Err(usage(format!(
        "BASE and NEW share {}: what is compared with itself never differs; name two runs",
        shared.display()
    )))
}

/// Runs of NEW draw from other numbers than those of BASE.
const NEW_RUNS: u64 = 1 << 20;

fn require_format(display: &Display) -> Result<()> {
    match display.format {
        Format::Ndjson | Format::Ycsb | Format::Hdr => Err(usage(
            "--format: a comparison is text, json, csv, md, html or junit; the other forms are \
             for a single run (`assay report RUN --format …`)",
        )),
        _ => Ok(()),
    }
}

fn stated(matches: &ArgMatches) -> Result<Vec<Stated>> {
    let texts = matches.get_many::<String>("fail-on").into_iter().flatten();
    let mut stated = Vec::new();
    for text in texts {
        stated.extend(condition::parse(text).map_err(|problem| usage(problem.to_string()))?);
    }
    Ok(stated)
}

fn demands(matches: &ArgMatches, stated: &[Stated]) -> Result<Demands> {
    let usual = Demands::default();
    let share = |name: &str, usual: f64, most: f64| -> Result<f64> {
        let Some(text) = matches.get_one::<String>(name) else { return Ok(usual) };
        let number = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        number.map(|number| number / 100.0).filter(|share| (0.0..most).contains(share)).ok_or_else(
            || {
                usage(format!(
                    "--{name}: {text:?} is no percentage that fits; write 3%, for example"
                ))
            },
        )
    };
    let confidence = share("confidence", usual.confidence, 1.0)?;
    if confidence < 0.5 {
        return Err(usage("--confidence: below 50% nothing is said; write 99%, for example"));
    }
    let mut requested = Vec::new();
    for condition in stated {
        if !requested.contains(&condition.condition.figure) {
            requested.push(condition.condition.figure);
        }
    }
    let requested = if requested.is_empty() { usual.requested } else { requested };
    Ok(Demands { confidence, minimum: share("minimum", usual.minimum, 10.0)?, requested, ..usual })
}

fn contrast(
    (old_name, old): (String, Vec<Measured>),
    (new_name, new): (String, Vec<Measured>),
    demands: Demands,
    stated: &[Stated],
) -> Result<Contrast> {
    circumstances::require_comparable(&old, &new)?;
    let differences = circumstances::differences(&old, &new);
    let figures = |side: &[Measured]| -> Vec<RunFigures> {
        side.iter().map(|run| run.figures.clone()).collect()
    };
    let comparison = compare_figures(&figures(&old), &figures(&new), demands);
    if comparison.requested().next().is_none() {
        return Err(usage(
            "the two have none of the figures in question in common: was anything done in both?",
        ));
    }
    let trials = stated
        .iter()
        .map(|stated| Trial {
            text: stated.text.clone(),
            judgement: comparison.analyze(&stated.condition),
            row: comparison.row(stated.condition.figure).cloned(),
        })
        .collect();
    let side = |name: String, runs: Vec<Measured>| {
        let run = |run: Measured| Run { facts: run.analyzed.facts, summary: run.analyzed.summary };
        ComparedSetup { name, runs: runs.into_iter().map(run).collect() }
    };
    Ok(Contrast {
        old: side(old_name, old),
        new: side(new_name, new),
        differences,
        comparison,
        trials,
        is_forced: false,
    })
}

/// A gate that compares other questions would open or close for the wrong reason.
fn refuse_other_questions(contrast: &Contrast) -> Result<()> {
    let is_question = |weight: Weight| weight == Weight::Question;
    let wrong: Vec<String> = contrast
        .differences
        .iter()
        .filter(|found| is_question(found.weight))
        .map(|found| format!("\n  {}: {} / {}", found.what, found.old, found.new))
        .collect();
    if contrast.is_analyzed() || contrast.trials.is_empty() {
        return Ok(());
    }
    Err(usage(format!(
        "--fail-on: BASE and NEW are not like for like:{}\n\
         compare without --fail-on to see them, or insist with --force",
        wrong.concat()
    )))
}

fn exit(trials: &[Trial]) -> Exit {
    let is_any =
        |judgement: ConditionOutcome| trials.iter().any(|trial| trial.judgement == judgement);
    if is_any(ConditionOutcome::Met) {
        return Exit::Regression;
    }
    // An undecided condition must not look met.
    match (is_any(ConditionOutcome::Withdrawn), is_any(ConditionOutcome::Unknown)) {
        (true, _) => Exit::NoHallmark,
        (false, true) => Exit::Usage,
        (false, false) => Exit::Fine,
    }
}
