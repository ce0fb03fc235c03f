//! Load, run, bench: the verbs that ask a store.

use std::path::Path;

use anyhow::Result;
use clap::ArgMatches;

use crate::asking::Purpose;
use crate::exit::Exit;
use crate::setup::Setup;

/// `assay load`: fills a store.
pub fn load(matches: &ArgMatches) -> Result<Exit> {
    let mut setup = Setup::from(matches, Purpose::Load)?;
    let dir = setup.dir.clone();
    let finished = setup.load(&dir)?;
    setup.show_result(&finished)?;
    Ok(finished.exit)
}

/// `assay run`: asks a store.
pub fn run(matches: &ArgMatches) -> Result<Exit> {
    let mut setup = Setup::from(matches, Purpose::Run)?;
    let finished = setup.run(Purpose::Run)?;
    setup.show_result(&finished)?;
    Ok(finished.exit)
}

/// `assay bench`: load, run, report.
pub fn bench(matches: &ArgMatches) -> Result<Exit> {
    let mut setup = Setup::from(matches, Purpose::Bench)?;
    let dir = setup.dir.clone();
    let loaded = setup.load(&dir.join("load"))?;
    if loaded.exit != Exit::Fine {
        setup.show_result(&loaded)?;
        return Ok(loaded.exit);
    }
    let finished = setup.run(Purpose::Bench)?;
    setup.show_result(&finished)?;
    if setup.options.text("target").is_none() && !setup.options.switch("keep")? {
        remove_store(setup, &dir.join("store"));
    }
    Ok(finished.exit)
}

/// Removes the store that was made for this bench alone.
fn remove_store(setup: Setup, path: &Path) {
    drop(setup);
    if let Err(error) = std::fs::remove_dir_all(path) {
        eprintln!("warning: cannot remove {}: {error}", path.display());
    }
}
