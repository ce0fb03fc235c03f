//! Analyze, report, repair: the verbs that look at a bundle.

use std::path::{Path, PathBuf};

use anyhow::Result;
use assay_analysis::Phases;
use assay_history::{Damage, repair as repair_bundle};
use clap::ArgMatches;

use crate::bundles;
use crate::exit::{Exit, as_usage};
use crate::options::Options;
use crate::show::{Display, judge, put, show};

/// `assay analyze`: judges a bundle again.
pub fn analyze(matches: &ArgMatches) -> Result<Exit> {
    show_bundle(matches)
}

/// `assay report`: shows a bundle in another form.
pub fn report(matches: &ArgMatches) -> Result<Exit> {
    show_bundle(matches)
}

fn show_bundle(matches: &ArgMatches) -> Result<Exit> {
    let options = Options::gather(matches)?;
    let dir = bundle(matches, &options)?;
    let phases = match matches.get_one::<String>("phases").map(String::as_str) {
        Some("measure") => Some(Phases::Measure),
        Some("load") => Some(Phases::Load),
        Some("all") => Some(Phases::All),
        _ => None,
    };
    show(&judge(&dir, phases)?, &Display::from(&options)?)?;
    Ok(Exit::Fine)
}

fn bundle(matches: &ArgMatches, options: &Options) -> Result<PathBuf> {
    let runs_dir = Path::new(options.text("runs-dir").unwrap_or("runs"));
    let name = matches.get_one::<String>("run").map_or("last", String::as_str);
    bundles::find(runs_dir, name)
}

/// `assay history repair`: seals what a killed run left behind.
pub fn repair(matches: &ArgMatches) -> Result<Exit> {
    let Some((_, matches)) = matches.subcommand() else { return Ok(Exit::Usage) };
    let options = Options::gather(matches)?;
    let dir = bundle(matches, &options)?;
    let repaired = repair_bundle(&dir).map_err(as_usage)?;
    let mut text = String::new();
    if repaired.was_whole() {
        text += &format!("{} is whole: there was nothing to repair\n", dir.display());
    } else {
        text += &format!(
            "{}: {} records sealed, {} known to be missing\n",
            dir.display(),
            repaired.sealed.records(),
            repaired.records_missing()
        );
    }
    for damage in &repaired.sealed.damage {
        text += &format!("  {}\n", Damage::to_string(damage));
    }
    put(&text, None)?;
    Ok(Exit::Fine)
}
