//! Studies: many runs that answer one question.

pub mod co;

use anyhow::Result;
use clap::ArgMatches;

use crate::exit::Exit;

/// `assay study`.
pub fn dispatch(matches: &ArgMatches) -> Result<Exit> {
    match matches.subcommand() {
        Some(("co", matches)) => co::co(matches),
        _ => Ok(Exit::Usage),
    }
}
