//! Check: the verb that judges the consistency of what a store answered, in a run or elsewhere.

use std::path::Path;

use anyhow::Result;
use assay_consistency::validity::{VerdictCheck, VerdictCheckOutcome};
use assay_consistency::{Quality, QualityVerdict};
use assay_report::Letters;
use assay_report::consistency::{self, ConsistencyResult};
use assay_results::{judge_run, run_dirs};
use clap::ArgMatches;

use crate::consistency::{is_out_of_reach, judge_file, quality};
use crate::exit::{Exit, usage};
use crate::memory_bound::MemoryLimit;
use crate::options::Options;
use crate::show::{Display, Format, put};

/// `assay check`: the verdicts on the consistency of runs.
pub fn check(matches: &ArgMatches) -> Result<Exit> {
    let options = Options::gather(matches)?;
    let display = Display::from(&options)?;
    let formats = [Format::Text, Format::Json, Format::Markdown];
    display.require(&options, "verdicts on consistency are", &formats)?;
    let required = required(matches)?;
    let memory = matches.get_one::<u64>("memory").copied();
    let limit = MemoryLimit::new(memory);
    let names = matches.get_many::<String>("run").into_iter().flatten();
    let results = names.map(|name| match Path::new(name) {
        file if file.is_file() => judge_file(file, limit, options.quiet.is_on()),
        _ => Ok(judge_run(&run_dirs::find(options.runs_dir(), name)?, memory)?),
    });
    let results = results.collect::<Result<Vec<_>>>()?;
    put(&text(&results, &display)?, display.output.as_deref())?;
    let needs_power = options.require_hallmark.is_on();
    let exits = results.iter().map(|result| exit(result, &required, needs_power));
    let exits = exits.collect::<Result<Vec<_>>>()?;
    let worst = [Exit::Violated, Exit::NoHallmark].into_iter().find(|exit| exits.contains(exit));
    Ok(worst.unwrap_or(Exit::Fine))
}

fn required(matches: &ArgMatches) -> Result<Vec<Quality>> {
    let lists = matches.get_many::<String>("require").into_iter().flatten();
    lists.flat_map(|list| list.split(',')).map(|name| quality(name.trim())).collect()
}

fn text(results: &[ConsistencyResult], display: &Display) -> Result<String> {
    let text =
        |result| display.text(|| consistency::document(result), |_| Ok(consistency::json(result)));
    Ok(results.iter().map(text).collect::<Result<Vec<_>>>()?.join("\n"))
}

/// The code that the verdicts on the required qualities ask for; without any, that the checks of
/// all verdicts ask for. Fails if a quality is required that such a history cannot show.
fn exit(result: &ConsistencyResult, required: &[Quality], needs_power: bool) -> Result<Exit> {
    if required.is_empty() && !needs_power {
        return Ok(Exit::Fine);
    }
    if required.is_empty() {
        let failed = result.checks.iter().filter(|check| is_failed(check.outcome));
        let mut texts: Vec<String> = failed.map(in_words).collect();
        if !result.is_judged() {
            texts.push("nothing could be judged".to_owned());
        }
        return Ok(doubt(&result.source, &texts, needs_power));
    }
    let mut exit = Exit::Fine;
    for quality in required {
        let name = quality.name();
        let finding = result.finding(*quality).filter(|finding| !is_out_of_reach(finding));
        let Some(finding) = finding else {
            return Err(usage(format!(
                "--require {name}: {} cannot show it; `assay check {}` says why",
                result.source, result.source
            )));
        };
        let doubts: Vec<String> = match finding.verdict {
            QualityVerdict::Violated(_) => return Ok(Exit::Violated),
            QualityVerdict::NoneFound(_) => result.undermined(*quality).map(in_words).collect(),
            QualityVerdict::NotAssessable(_) => vec!["it could not be assessed".to_owned()],
        };
        if doubt(name, &doubts, needs_power) != Exit::Fine {
            exit = Exit::NoHallmark;
        }
    }
    Ok(exit)
}

fn is_failed(outcome: VerdictCheckOutcome) -> bool {
    matches!(outcome, VerdictCheckOutcome::Failed | VerdictCheckOutcome::Unknown)
}

fn in_words(check: &VerdictCheck) -> String {
    format!("{} {}", check.id.name(), consistency::check_text(check, Letters::Ascii))
}

/// Says that silence about `what` is no evidence, if there are `doubts`, and what that means.
fn doubt(what: &str, doubts: &[String], needs_power: bool) -> Exit {
    if doubts.is_empty() {
        return Exit::Fine;
    }
    let reasons = doubts.join("; ");
    match needs_power {
        true => {
            eprintln!("error: {what}: this silence is no evidence: {reasons}");
            Exit::NoHallmark
        }
        false => {
            eprintln!("warning: {what}: this silence is no evidence: {reasons}");
            Exit::Fine
        }
    }
}
