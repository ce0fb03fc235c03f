//! Analyze, report, repair: the verbs that look at a bundle.

use std::path::{Path, PathBuf};

use anyhow::Result;
use assay_analysis::Phases;
use assay_history::{Damage, repair as repair_bundle};
use clap::ArgMatches;

use super::benchfoundry;
use crate::bundles;
use crate::exit::{Exit, as_usage};
use crate::options::Options;
use crate::repeat;
use crate::show::{Display, judge, keep_hallmark, put, require_hallmark, show};

/// `assay analyze`: judges a bundle again.
pub fn analyze(matches: &ArgMatches) -> Result<Exit> {
    show_bundle(matches, Purpose::Judge)
}

/// `assay report`: shows a bundle in another form.
pub fn report(matches: &ArgMatches) -> Result<Exit> {
    show_bundle(matches, Purpose::Show)
}

/// Why a bundle is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// To judge it again: its hallmark is written anew.
    Judge,
    /// To show it; nothing in it changes.
    Show,
}

fn show_bundle(matches: &ArgMatches, purpose: Purpose) -> Result<Exit> {
    let options = Options::gather(matches)?;
    let dir = bundles::find_any(runs_dir(&options), run_name(matches))?;
    let phases = phases(matches);
    if purpose == Purpose::Show && options.given("format") == Some(benchfoundry::FORMAT) {
        let output = options.text("output").map(PathBuf::from);
        return benchfoundry::result_log(&dir, phases, output);
    }
    let display = Display::from(&options)?;
    if bundles::is_group(&dir) {
        return repeat::show(&dir, &options, &display);
    }
    let judged = judge(&dir, phases)?;
    // A hallmark of other phases than the bundle was made for is none of the bundle.
    let is_kept = match purpose == Purpose::Judge && phases.is_none() {
        true => keep_hallmark(&dir, &judged),
        false => Ok(()),
    };
    show(&judged, &display)?;
    is_kept?;
    require_hallmark(&options, &judged)
}

fn phases(matches: &ArgMatches) -> Option<Phases> {
    match matches.get_one::<String>("phases").map(String::as_str) {
        Some("measure") => Some(Phases::Measure),
        Some("load") => Some(Phases::Load),
        Some("all") => Some(Phases::All),
        _ => None,
    }
}

fn bundle(matches: &ArgMatches, options: &Options) -> Result<PathBuf> {
    bundles::find(runs_dir(options), run_name(matches))
}

fn runs_dir(options: &Options) -> &Path {
    Path::new(options.text("runs-dir").unwrap_or("runs"))
}

fn run_name(matches: &ArgMatches) -> &str {
    matches.get_one::<String>("run").map_or("last", String::as_str)
}

/// `assay history repair`: seals what a killed run left behind.
pub fn repair(matches: &ArgMatches) -> Result<Exit> {
    let Some((_, matches)) = matches.subcommand() else { return Ok(Exit::Usage) };
    let options = Options::gather(matches)?;
    let dir = bundle(matches, &options)?;
    let repaired = repair_bundle(&dir).map_err(as_usage)?;
    let name = dir.display();
    let parts_missing = repaired.parts_missing();
    let mut text = match (repaired.was_whole(), parts_missing) {
        (true, 0) => format!("{name} is whole: there was nothing to repair\n"),
        (true, missing) => {
            let kept = repaired.records;
            format!("{name}: {kept} records are there, {missing} that the run kept are not\n")
        }
        (false, _) => format!(
            "{name}: {} records sealed, {} known to be missing\n",
            repaired.sealed.records(),
            repaired.records_missing().max(parts_missing)
        ),
    };
    for damage in &repaired.sealed.damage {
        text += &format!("  {}\n", Damage::to_string(damage));
    }
    if repaired.was_running {
        text += "  the run was killed; it is marked as interrupted\n";
    }
    put(&text, None)?;
    match parts_missing {
        0 => Ok(Exit::Fine),
        _ => {
            eprintln!(
                "error: a part of the history is gone, and nothing here can bring it back: copy \
                 the bundle again, or show the rest of it with `assay report {name}`"
            );
            Ok(Exit::Internal)
        }
    }
}
