//! Commands that put load on a store: load, run, bench.

use anyhow::Result;
use clap::ArgMatches;

use crate::coordinator;
use crate::exit::{Exit, usage};
use crate::fleet;
use crate::load_config::Purpose;
use crate::options::Options;
use crate::parent_death;
use crate::repeat;
use crate::run_plan::RunPlan;
use crate::setup::Setup;

/// `assay load`: fills a store.
pub fn load(matches: &ArgMatches) -> Result<Exit> {
    parent_death::heed()?;
    let options = Options::gather(matches)?;
    if let Some(store) = options.up.text() {
        return Err(usage(format!(
            "--up {store}: what was loaded would end with this command; start the store with \
             `assay lab up`, then load it with --lab, or use `assay bench --up {store}`"
        )));
    }
    let agents = fleet::agents(&options)?;
    let mut setup = Setup::open(RunPlan::from(matches, options, Purpose::Load)?)?;
    let dir = setup.plan.dir.clone();
    let fleet = agents.map(|agents| (agents, matches));
    let finished = coordinator::load_alone_or(&mut setup, fleet, &dir)?;
    setup.show_result(&finished)
}

/// `assay run`: runs a workload on a store.
pub fn run(matches: &ArgMatches) -> Result<Exit> {
    parent_death::heed()?;
    let options = Options::gather(matches)?;
    if let Some(times) = repeat::times(&options)? {
        let agents = fleet::agents_here(&options)?;
        return repeat::execute((agents, matches), options, Purpose::Run, times);
    }
    let fleet = fleet::agents(&options)?.map(|agents| (agents, matches));
    let mut setup = Setup::open(RunPlan::from(matches, options, Purpose::Run)?)?;
    let finished = coordinator::run_alone_or(&mut setup, fleet)?;
    setup.show_result(&finished)
}

/// `assay bench`: load, run, report.
pub fn bench(matches: &ArgMatches) -> Result<Exit> {
    let options = Options::gather(matches)?;
    let agents = fleet::agents_here(&options)?;
    if let Some(times) = repeat::times(&options)? {
        return repeat::execute((agents, matches), options, Purpose::Bench, times);
    }
    let mut setup = Setup::open(RunPlan::from(matches, options, Purpose::Bench)?)?;
    let keeps_store = setup.keeps_store();
    let exit = load_and_run(&mut setup, agents.map(|agents| (agents, matches)));
    if exit.is_ok() && !keeps_store {
        setup.remove_store();
    }
    exit
}

fn load_and_run(setup: &mut Setup, fleet: Option<(u32, &ArgMatches)>) -> Result<Exit> {
    let dir = setup.plan.dir.join("load");
    let loaded = coordinator::load_alone_or(setup, fleet, &dir)?;
    if loaded.exit != Exit::Fine {
        return setup.show_result(&loaded);
    }
    let finished = coordinator::run_alone_or(setup, fleet)?;
    setup.show_result(&finished)
}
