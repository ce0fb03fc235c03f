//! Stores by their URLs, opened with what this process has.

use std::sync::Arc;

use anyhow::Result;
use assay_drivers::registry::{self, Surroundings};
use assay_model::Seed;
use assay_run::clock;
use assay_store::Store;

use crate::exit::from_open;

/// Opens the store at `url`; the clock and the seed are for simulated ones.
pub fn open_store(url: &str, seed: Seed) -> Result<Arc<dyn Store>> {
    let surroundings = Surroundings {
        variable: |name| std::env::var_os(name),
        program: || std::env::current_exe().ok(),
    };
    let options = registry::Options { clock: || clock::monotonic().0, seed, surroundings };
    registry::open(url, &options).map_err(from_open)
}
