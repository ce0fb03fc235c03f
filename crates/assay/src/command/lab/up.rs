//! Brings a lab up, then leaves it to its keeper.

use std::path::PathBuf;
use std::thread;

use anyhow::{Context, Result};
use clap::ArgMatches;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::{number, say, word};
use crate::exit::{Exit, usage};
use crate::lab::errand::Errand;
use crate::lab::labs::{Labs, check_name};
use crate::lab::owner::Owner;
use crate::lab::start::{Rope, require_free, start_asking};
use crate::options::Options;
use crate::show::put;

/// `assay lab up`.
pub fn up(matches: &ArgMatches) -> Result<Exit> {
    let options = Options::gather(matches)?;
    let labs = Labs::from(&options)?;
    let stays = matches.get_flag("stay");
    let errand = errand(matches, &labs, &options)?;
    errand.order()?;
    require_free(&labs, &errand.name, &errand.folder)?;
    let rope = Rope::default();
    cut_at_interrupt(&rope)?;
    let started = start_asking(&errand, &rope, &mut |text| eprintln!("{text}"))?;
    eprintln!("{}", whose_end(&errand, stays));
    let mut text = say::one(&started.status, &errand.folder);
    text.push_str(&say::next_steps(&started.status));
    put(&text, None)?;
    Ok(Exit::Fine)
}

fn errand(matches: &ArgMatches, labs: &Labs, options: &Options) -> Result<Errand> {
    let store = word(matches, "store").unwrap_or_default();
    let name = word(matches, "name").unwrap_or(store);
    check_name(name)?;
    let usual = Errand::of(store, name, labs, options)?;
    let dir = word(matches, "dir").map(std::path::absolute).transpose();
    let dir: Option<PathBuf> = dir.map_err(|error| usage(format!("--dir: {error}")))?;
    let owner = if matches.get_flag("stay") { None } else { Owner::session_leader() };
    Ok(Errand {
        link: dir.is_some().then(|| usual.folder.clone()),
        folder: dir.unwrap_or_else(|| usual.folder.clone()),
        nodes: number(matches, "nodes")?,
        owner,
        ..usual
    })
}

/// Which process's end is the lab's, in a line.
fn whose_end(errand: &Errand, stays: bool) -> String {
    let name = &errand.name;
    match &errand.owner {
        Some(owner) => format!(
            "it ends when process {} ({}) does, in which this session began; --stay would keep it",
            owner.pid, owner.name
        ),
        None if stays => format!("it stays until `assay lab down {name}`"),
        None => format!(
            "no process leads this session but this one, so it stays until `assay lab down {name}`"
        ),
    }
}

/// An interrupt ends what was started, the second one does not wait for that.
fn cut_at_interrupt(rope: &Rope) -> Result<()> {
    let rope = rope.clone();
    let mut signals = Signals::new([SIGINT, SIGTERM]).context("cannot listen for interrupts")?;
    let listen = move || {
        for (count, _) in signals.forever().enumerate() {
            if count > 0 {
                std::process::exit(Exit::Interrupted as i32);
            }
            eprintln!("interrupted: ending what was started");
            rope.cut();
        }
    };
    let thread = thread::Builder::new().name("signals".to_owned()).spawn(listen);
    thread.context("cannot start a thread that listens for interrupts")?;
    Ok(())
}
