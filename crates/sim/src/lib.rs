//! Simulated store with known faults, on which the analysis is tested.
//!
//! It never waits: for every request it computes what the answer is and when it would be due
//! ([`World`]). In simulated time it is as fast as that computation; in real time it holds its
//! responses until they are due. What really happened is kept in the truth log.
//! `docs/simulated-store.md` describes the model with every option.
//!
//! Until it first quiesces, a simulated store responds at once and is healthy, so that it can be
//! loaded. [`Store::flush`] makes everything written so far visible everywhere; clocks, queues,
//! hiccups and draws begin anew with the next request.

pub mod config;
pub mod csv;
pub mod delay;
pub mod fault_model;
pub mod options;
pub mod presets;
pub mod quantity;
pub mod queue;
pub mod redis;
pub mod server;

mod chain;
mod client;
mod connection;
mod log;
mod rows;
mod settings;
mod sickstore;
mod spread;
pub mod tree;

pub mod world;

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use assay_model::{Layout, Seed, Setting};

use assay_store::{Capabilities, Client, OpenError, ScanOrder, Store, StoreTime, Truth};
use client::{Columns, SimulatedClient, lock};

pub use config::Config;
pub use log::Log;
pub use world::World;

/// A store that is faulty as its [`Config`] says.
pub struct SimulatedStore {
    world: Arc<Mutex<World>>,
    layout: RwLock<Arc<[Columns]>>,
    /// The only node that answers reads, if one was chosen.
    reader: Option<usize>,
}

impl SimulatedStore {
    /// A store without records. It draws from `seed` unless `config` names another.
    ///
    /// # Errors
    /// If `config` is invalid, with a sentence.
    pub fn new(config: Config, seed: Seed) -> Result<SimulatedStore, String> {
        let world = Arc::new(Mutex::new(World::new(config, seed)?));
        Ok(SimulatedStore { world, layout: RwLock::default(), reader: None })
    }
}

impl Store for SimulatedStore {
    fn capabilities(&self) -> Capabilities {
        let merges = lock(&self.world).config().updates == config::Updates::Merge;
        Capabilities {
            keeps_other_fields: merges,
            scan_order: ScanOrder::Key,
            is_persistent: false,
            time: StoreTime::Simulated,
            ..Capabilities::of("sim")
        }
    }

    fn prepare(&self, layout: &Layout) -> Result<(), OpenError> {
        let mut world = lock(&self.world);
        let columns = layout
            .tables
            .iter()
            .map(|table| Columns { table: world.table(&table.name), fields: table.fields.clone() });
        let columns: Arc<[Columns]> = columns.collect();
        *self.layout.write().unwrap_or_else(PoisonError::into_inner) = columns;
        Ok(())
    }

    fn open(&self, _worker: usize) -> Result<Box<dyn Client>, OpenError> {
        let layout = Arc::clone(&self.layout.read().unwrap_or_else(PoisonError::into_inner));
        Ok(Box::new(SimulatedClient::new(Arc::clone(&self.world), layout, self.reader)))
    }

    fn nodes(&self) -> Vec<String> {
        match &lock(&self.world).config().nodes[..] {
            [_] => Vec::new(),
            nodes => nodes.iter().map(|node| node.name.clone()).collect(),
        }
    }

    fn reading_at(&self, node: u8) -> Option<Box<dyn Store>> {
        let place = usize::from(node).checked_sub(1)?;
        let readers = lock(&self.world).readers().to_vec();
        if readers.len() < 2 || !readers.contains(&place) {
            return None;
        }
        let layout = Arc::clone(&self.layout.read().unwrap_or_else(PoisonError::into_inner));
        let (world, layout) = (Arc::clone(&self.world), RwLock::new(layout));
        Some(Box::new(SimulatedStore { world, layout, reader: Some(place) }))
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        Ok(settings::tell(&lock(&self.world)))
    }

    fn clear(&self) -> Result<(), OpenError> {
        lock(&self.world).clear();
        Ok(())
    }

    fn flush(&self) -> Result<(), OpenError> {
        lock(&self.world).quiesce();
        Ok(())
    }

    fn truth(&self, visit: &mut dyn FnMut(&Truth)) {
        lock(&self.world).log().entries().iter().for_each(visit);
    }
}

#[cfg(test)]
mod tests;
