//! Commands that put load on a store: load, run, bench.

use std::path::Path;

use anyhow::Result;
use clap::ArgMatches;

use crate::coordinator;
use crate::exit::{Exit, usage};
use crate::experiment::Finished;
use crate::fleet;
use crate::load_config::Purpose;
use crate::options::Options;
use crate::parent_death;
use crate::repeat;
use crate::setup::Setup;

/// `assay load`: fills a store.
pub fn load(matches: &ArgMatches) -> Result<Exit> {
    parent_death::heed()?;
    let options = Options::gather(matches)?;
    if let Some(store) = options.text("up") {
        return Err(usage(format!(
            "--up {store}: what was loaded would end with this command; start the store with \
             `assay lab up`, then load it with --lab, or use `assay bench --up {store}`"
        )));
    }
    let agents = fleet::agents(&options)?;
    let mut setup = Setup::with(matches, options, Purpose::Load)?;
    let dir = setup.dir.clone();
    let finished = load_store(&mut setup, (agents, matches), &dir)?;
    setup.show_result(&finished)
}

/// `assay run`: runs a workload on a store.
pub fn run(matches: &ArgMatches) -> Result<Exit> {
    parent_death::heed()?;
    let options = Options::gather(matches)?;
    let agents = fleet::agents(&options)?;
    if let Some(times) = repeat::times(&options)? {
        return repeat::execute(matches, options, Purpose::Run, times);
    }
    let mut setup = Setup::with(matches, options, Purpose::Run)?;
    let finished = match agents {
        Some(agents) => coordinator::run(&mut setup, (agents, matches), Purpose::Run)?,
        None => setup.run(Purpose::Run)?,
    };
    setup.show_result(&finished)
}

/// `assay bench`: load, run, report.
pub fn bench(matches: &ArgMatches) -> Result<Exit> {
    let options = Options::gather(matches)?;
    let agents = fleet::agents_here(&options)?;
    if let Some(times) = repeat::times(&options)? {
        return repeat::execute(matches, options, Purpose::Bench, times);
    }
    let mut setup = Setup::with(matches, options, Purpose::Bench)?;
    let keeps_store = setup.keeps_store()?;
    let exit = load_and_run(&mut setup, (agents, matches));
    if exit.is_ok() && !keeps_store {
        remove_store(setup);
    }
    exit
}

fn load_and_run(setup: &mut Setup, (agents, matches): (Option<u32>, &ArgMatches)) -> Result<Exit> {
    let loaded = load_store(setup, (agents, matches), &setup.dir.join("load"))?;
    if loaded.exit != Exit::Fine {
        return setup.show_result(&loaded);
    }
    let finished = match agents {
        Some(agents) => coordinator::run(setup, (agents, matches), Purpose::Bench)?,
        None => setup.run(Purpose::Bench)?,
    };
    setup.show_result(&finished)
}

fn load_store(
    setup: &mut Setup,
    (agents, matches): (Option<u32>, &ArgMatches),
    dir: &Path,
) -> Result<Finished> {
    match agents {
        Some(agents) => coordinator::load(setup, (agents, matches), dir),
        None => setup.load(dir),
    }
}

/// Removes the store that was made for this bench alone.
pub fn remove_store(setup: Setup) {
    let path = setup.dir.join("store");
    drop(setup);
    match std::fs::remove_dir_all(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            eprintln!("warning: cannot remove {}: {error}", path.display());
        }
        _ => {}
    }
}
