//! Compare: the verb that puts two set-ups side by side.

use anyhow::Result;
use assay_analysis::compare::{ConditionOutcome, Demands};
use assay_report::compare::{Contrast, Trial, Weight};
use assay_results::compare::condition::{self, Stated};
use assay_results::{NamedDir, compare as compare_dirs, run_dirs};
use clap::{ArgMatches, Args, FromArgMatches, ValueHint};

use crate::completion;
use crate::exit::{Exit, usage};
use crate::options::Options;
use crate::show::{Display, FORMATS_OF_SEVERAL, Format};

/// What can be typed besides settings.
#[derive(Args, Debug)]
#[command(about = "Compare two set-ups: differences that are more than chance")]
pub struct CompareArgs {
    #[arg(value_name = "BASE", default_value = "last-1", help = SIDE)]
    #[arg(value_hint = ValueHint::DirPath, add = completion::runs())]
    base: String,
    #[arg(value_name = "NEW", default_value = "last", help = SIDE)]
    #[arg(value_hint = ValueHint::DirPath, add = completion::runs())]
    new: String,
    /// End with code 3 if surely so, such as 'p99>+10%'
    #[arg(long, value_name = "CONDITION")]
    fail_on: Vec<String>,
    /// The smallest effect that counts [default: 3%]
    #[arg(long, value_name = "PERCENT")]
    minimum: Option<String>,
    /// Confidence in the verdict as a whole [default: 99%]
    #[arg(long, value_name = "PERCENT")]
    confidence: Option<String>,
    /// Compare although the two are not like for like
    #[arg(long)]
    force: bool,
}

const SIDE: &str =
    "A run directory or a group of repeated runs: a directory, a name, `last`, `last-1`";

/// `assay compare`: two set-ups, figure by figure.
pub fn compare(matches: &ArgMatches) -> Result<Exit> {
    let options = Options::gather(matches)?;
    let display = Display::from(&options)?;
    display.require(&options, "a comparison is", &FORMATS_OF_SEVERAL)?;
    let arguments = CompareArgs::from_arg_matches(matches)?;
    let stated = stated(&arguments)?;
    let demands = demands(&arguments, &stated)?;
    let find = |name: &String| run_dirs::find_any(options.runs_dir(), name);
    let dirs = (find(&arguments.base)?, find(&arguments.new)?);
    let old = NamedDir { name: &arguments.base, dir: &dirs.0 };
    let new = NamedDir { name: &arguments.new, dir: &dirs.1 };
    let contrast = compare_dirs(old, new, demands, &stated)?;
    let contrast = Contrast { is_forced: arguments.force, ..contrast };
    refuse_other_questions(&contrast)?;
    let other = |format| match format {
        Format::Csv => assay_report::compare::csv(&contrast),
        Format::Junit => assay_report::junit::compare(&contrast),
        _ => assay_report::compare::json(&contrast),
    };
    let document = || assay_report::compare::document(&contrast);
    display.show(document, |format| Ok(other(format)))?;
    Ok(exit(&contrast.trials))
}

fn stated(arguments: &CompareArgs) -> Result<Vec<Stated>> {
    let mut stated = Vec::new();
    for text in &arguments.fail_on {
        stated.extend(condition::parse(text).map_err(|problem| usage(problem.to_string()))?);
    }
    Ok(stated)
}

fn demands(arguments: &CompareArgs, stated: &[Stated]) -> Result<Demands> {
    let usual = Demands::default();
    let share = |name, text: &Option<String>, usual: f64, most: f64| -> Result<f64> {
        let Some(text) = text else { return Ok(usual) };
        let number = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        number.map(|number| number / 100.0).filter(|share| (0.0..most).contains(share)).ok_or_else(
            || {
                usage(format!(
                    "--{name}: {text:?} is no percentage that fits; write 3%, for example"
                ))
            },
        )
    };
    let confidence = share("confidence", &arguments.confidence, usual.confidence, 1.0)?;
    if confidence < 0.5 {
        return Err(usage("--confidence: below 50% nothing is said; write 99%, for example"));
    }
    let minimum = share("minimum", &arguments.minimum, usual.minimum, 10.0)?;
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
