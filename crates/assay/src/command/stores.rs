//! `assay stores`: the list of stores, or the conformance of one.

mod check;

use std::fmt::Write as _;

use anyhow::Result;
use assay_drivers::registry;
use clap::{Arg, ArgMatches, Args, Command};

use self::check::CheckArgs;
use crate::exit::Exit;
use crate::show::finish;

/// What can be typed.
pub fn command(places: [Arg; 2], install: Arg) -> Command {
    Command::new("stores")
        .about("The stores that can be measured, by URL; check: whether they conform")
        .subcommand(CheckArgs::augment_args(Command::new("check")).args(places).arg(install))
}

/// `assay stores`.
pub fn dispatch(matches: &ArgMatches) -> Result<Exit> {
    match matches.subcommand() {
        Some((_, matches)) => check::check(matches),
        None => list(),
    }
}

fn list() -> Result<Exit> {
    let mut text = String::new();
    for store in registry::list() {
        let missing = match (store.is_compiled_in, store.feature) {
            (false, Some(feature)) => format!("  (build with --features {feature})"),
            _ => String::new(),
        };
        let _ = writeln!(text, "{}{missing}", store.scheme);
        let _ = writeln!(text, "    {}", store.summary);
        let _ = writeln!(text, "    {}", store.url);
        let _ = writeln!(text, "    durability: {}", store.durability);
    }
    finish(&text)
}
