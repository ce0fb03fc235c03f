//! Studies: many runs that answer one question.

pub mod anomalies;
pub mod benchfoundry;
pub mod builtin;
pub mod co;
pub mod matrix;

use anyhow::Result;
use clap::ArgMatches;

use crate::exit::Exit;

/// `assay study`.
pub fn dispatch(matches: &ArgMatches) -> Result<Exit> {
    match matches.subcommand() {
        Some(("benchfoundry", matches)) => benchfoundry::benchfoundry(matches),
        Some(("co", matches)) => co::co(matches),
        Some(("copy", matches)) => builtin::copied(matches),
        Some(("ls", _)) => builtin::list(),
        _ => match anomalies::text(matches) {
            Some(text) => anomalies::anomalies(matches, &text),
            None => matrix::matrix(matches),
        },
    }
}
