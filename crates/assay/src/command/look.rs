//! Commands that read a run directory: analyze, report, repair.

mod what_if;

use anyhow::Result;
use assay_analysis::Phases;
use assay_results::analyze_run;
use assay_results::run_dirs;
use clap::ArgMatches;

use super::benchfoundry;
use crate::exit::Exit;
use crate::options::Options;
use crate::repeat;
use crate::show::{Display, keep_hallmark, require_hallmark, show};

/// `assay analyze`: analyzes a run directory again.
pub fn analyze(matches: &ArgMatches) -> Result<Exit> {
    show_run_dir(matches, Purpose::Analyzer)
}

/// `assay report`: shows a run directory in another format.
pub fn report(matches: &ArgMatches) -> Result<Exit> {
    show_run_dir(matches, Purpose::Show)
}

/// The purpose of reading a run directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// To analyze it again: its hallmark is written anew.
    Analyzer,
    /// To show it; nothing in it changes.
    Show,
}

fn show_run_dir(matches: &ArgMatches, purpose: Purpose) -> Result<Exit> {
    let options = Options::gather(matches)?;
    let dir = run_dirs::find_any(options.runs_dir(), run_name(matches))?;
    let phases = phases(matches);
    if purpose == Purpose::Show && options.format.text() == Some(benchfoundry::FORMAT) {
        let output = options.output.value().cloned();
        return benchfoundry::result_log(&dir, phases, output);
    }
    let display = Display::from(&options)?;
    if run_dirs::is_group(&dir) {
        return repeat::show(&dir, &options, &display);
    }
    let mut analyzed = analyze_run(&dir, phases)?;
    what_if::add(matches, &mut analyzed)?;
    // A hallmark of other phases does not belong to the run directory.
    let is_kept = match purpose == Purpose::Analyzer && phases.is_none() {
        true => keep_hallmark(&dir, &analyzed),
        false => Ok(()),
    };
    show(&analyzed, &display)?;
    is_kept?;
    Ok(require_hallmark(&options, &analyzed))
}

fn phases(matches: &ArgMatches) -> Option<Phases> {
    match matches.get_one::<String>("phases").map(String::as_str) {
        Some("measure") => Some(Phases::Measure),
        Some("load") => Some(Phases::Load),
        Some("all") => Some(Phases::All),
        _ => None,
    }
}

fn run_name(matches: &ArgMatches) -> &str {
    matches.get_one::<String>("run").map_or("last", String::as_str)
}
