//! Studies: many runs that answer one question.

pub mod anomalies;
pub mod benchfoundry;
pub mod co;
pub mod matrix;
mod program;
mod shift;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use anyhow::{Context, Result};
use assay_study::builtin;
use clap::ArgMatches;

use crate::command::list::copy;
use crate::exit::{Exit, usage};
use crate::show::finish;

/// `assay study`.
pub fn dispatch(matches: &ArgMatches) -> Result<Exit> {
    match matches.subcommand() {
        Some(("benchfoundry", matches)) => benchfoundry::benchfoundry(matches),
        Some(("co", matches)) => co::co(matches),
        Some(("copy", matches)) => copied(matches),
        Some(("ls", _)) => list(),
        _ => match anomalies::text(matches) {
            Some(text) => anomalies::anomalies(matches, &text),
            None => matrix::matrix(matches),
        },
    }
}

/// `assay study ls`.
fn list() -> Result<Exit> {
    let mut text = String::new();
    for study in &builtin::ALL {
        writeln!(text, "{:<12} {}", study.name, study.about())?;
    }
    finish(&text)
}

/// `assay study copy NAME [FILE]`.
fn copied(matches: &ArgMatches) -> Result<Exit> {
    let name = matches.get_one::<String>("name").context("a name is needed")?;
    let Some(study) = builtin::ALL.iter().find(|study| study.name == name) else {
        let names = builtin::ALL.map(|study| study.name);
        let near = assay_model::closest(name, names).map(|near| format!("did you mean {near}?"));
        let hint = near.unwrap_or_else(|| format!("there are {}", names.join(", ")));
        return Err(usage(format!("there is no built-in study {name}; {hint}")));
    };
    let usual = format!("{name}.toml");
    copy(study.text, matches.get_one::<String>("to").unwrap_or(&usual))
}
