//! Commands on the records of a run: repair, export.

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};
use assay_consistency::foreign::{ElleFormat, write_registers, write_transactions};
use assay_history::{Damage, repair as repair_run_dir};
use assay_results::consistency::{RunHistory, history_of};
use assay_results::run_dirs;
use clap::ArgMatches;

use crate::atomic_file;
use crate::exit::{Exit, as_usage};
use crate::options::Options;
use crate::show::{Display, put};

/// Formats of an exported history, by name.
pub const FORMATS: [(&str, ElleFormat); 2] =
    [("elle-edn", ElleFormat::Edn), ("elle-json", ElleFormat::JsonLines)];

/// `assay history`.
pub fn dispatch(matches: &ArgMatches) -> Result<Exit> {
    match matches.subcommand() {
        Some(("export", matches)) => export(matches),
        Some((_, matches)) => repair(matches),
        None => Ok(Exit::Usage),
    }
}

fn run_dir(matches: &ArgMatches, options: &Options) -> Result<PathBuf> {
    let name = matches.get_one::<String>("run").map_or("last", String::as_str);
    Ok(run_dirs::find(options.runs_dir(), name)?)
}

/// `assay history repair`: seals what a killed run left behind.
fn repair(matches: &ArgMatches) -> Result<Exit> {
    let options = Options::gather(matches)?;
    let dir = run_dir(matches, &options)?;
    let repaired = repair_run_dir(&dir).map_err(as_usage)?;
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
                 the run directory again, or show the rest of it with `assay report {name}`"
            );
            Ok(Exit::Internal)
        }
    }
}

/// `assay history export`: the operations of a run as Elle reads them.
fn export(matches: &ArgMatches) -> Result<Exit> {
    let options = Options::gather(matches)?;
    let dir = run_dir(matches, &options)?;
    let name = matches.get_one::<String>("as").map_or("elle-edn", String::as_str);
    let format = FORMATS.iter().find(|(one, _)| *one == name).map(|(_, format)| *format);
    let format = format.context("the command line takes known formats only")?;
    let (history, nodes) = history_of(&dir)?;
    let write = |out: &mut dyn Write| match &history {
        RunHistory::Transactions(history) => write_transactions(history, &nodes, format, out),
        RunHistory::Registers(history) => write_registers(history, &nodes, format, out),
    };
    match Display::from(&options)?.output {
        None => {
            let mut out = BufWriter::new(std::io::stdout().lock());
            write(&mut out).and_then(|()| out.flush()).context("cannot write the history")?;
        }
        Some(path) => atomic_file::write(&path, |file| {
            let mut out = BufWriter::new(file);
            Ok(write(&mut out).and_then(|()| out.flush())?)
        })?,
    }
    Ok(Exit::Fine)
}
