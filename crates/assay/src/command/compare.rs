//! Compare: the verb that puts two set-ups side by side.

use anyhow::Result;
use assay_analysis::compare::{ConditionOutcome, Demands};
use assay_report::compare::{Contrast, Trial, Weight};
use assay_results::compare::condition::{self, Stated};
use assay_results::{NamedDir, compare as compare_dirs, run_dirs};
use clap::ArgMatches;

use crate::exit::{Exit, usage};
use crate::options::Options;
use crate::show::{Display, Format, put};

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
    let dirs = (run_dirs::find_any(runs_dir, &names.0)?, run_dirs::find_any(runs_dir, &names.1)?);
    let old = NamedDir { name: &names.0, dir: &dirs.0 };
    let new = NamedDir { name: &names.1, dir: &dirs.1 };
    let contrast = compare_dirs(old, new, demands, &stated)?;
    let contrast = Contrast { is_forced: matches.get_flag("force"), ..contrast };
    refuse_other_questions(&contrast)?;
    let document = || assay_report::compare::document(&contrast);
    let text = match display.format {
        Format::Json => assay_report::compare::json(&contrast),
        Format::Csv => assay_report::compare::csv(&contrast),
        Format::Markdown => document().markdown(),
        Format::Html => document().page(),
        Format::Junit => assay_report::junit::compare(&contrast),
        _ => document().text(display.style),
    };
    put(&text, display.output.as_deref())?;
    Ok(exit(&contrast.trials))
}

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
    let minimum = share("minimum", usual.minimum, 10.0)?;
    let mut demands = Demands { confidence, minimum, ..usual };
    demands.request(stated.iter().map(|stated| stated.condition.figure));
    Ok(demands)
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
