//! Recipe: the steps that start one store.

use crate::card::Card;
use crate::error::LabError;
use crate::package_cache::{Kit, PackageCache};
use crate::site::Site;

/// Finds the node that leads at this moment, if one does. Nodes that are down or frozen need not be
/// asked; the caller asks again until one that runs leads.
pub type FindLeader = fn(&mut Site<'_>) -> Result<Option<usize>, LabError>;

/// What a node takes for the time, in milliseconds since 1970.
pub type ReadClock = fn(&mut Site<'_>, usize) -> Result<i64, LabError>;

/// How a store's servers are installed, started, joined and addressed. One file each, without
/// state.
///
/// Nodes are numbered from 1. Everything that a recipe does to the machine goes through the
/// [`Site`] or the [`PackageCache`], which bound its time, own the processes that it starts, and
/// end them.
pub trait Recipe: Send + Sync {
    /// Its facts.
    fn card(&self) -> Card;

    /// Makes the programs of `version` available, from the package cache if they are there already.
    ///
    /// # Errors
    /// If they cannot be had; the error says what is missing and how to get it.
    fn fetch(&self, version: &str, package_cache: &PackageCache<'_>) -> Result<Kit, LabError>;

    /// Starts nodes 1 to [`Site::nodes`] from nothing, until they form a cluster that answers; by
    /// itself one after the other, as they start again.
    ///
    /// # Errors
    /// If a node does not start or the cluster does not form.
    fn start(&self, site: &mut Site<'_>) -> Result<(), LabError> {
        (1..=site.nodes()).try_for_each(|node| self.restart(site, node))
    }

    /// Starts the new node `node`, which is one more than there were, until it does its share.
    ///
    /// # Errors
    /// If it does not start or is not taken in; what was started of it is ended by the caller.
    fn join(&self, site: &mut Site<'_>, _node: usize) -> Result<(), LabError> {
        Err(site.cannot("nodes cannot join while it runs"))
    }

    /// Hands over what node `node`, the last one, has to the others, then ends it.
    ///
    /// # Errors
    /// If the others do not take over.
    fn leave(&self, site: &mut Site<'_>, _node: usize) -> Result<(), LabError> {
        Err(site.cannot("nodes cannot leave while it runs"))
    }

    /// Starts node `node` again with the data that it has.
    ///
    /// # Errors
    /// If it does not start.
    fn restart(&self, site: &mut Site<'_>, node: usize) -> Result<(), LabError>;

    /// What finds the node that leads, if a single one of them does: for faults of the leader,
    /// also called primary or master.
    fn leader(&self) -> Option<FindLeader> {
        None
    }

    /// What reads a node's clock, if it can be moved.
    ///
    /// # Errors
    /// If it cannot, with the reason.
    fn clock(&self) -> Result<ReadClock, &'static str> {
        Err("nobody has tried whether libfaketime moves its servers' clocks")
    }

    /// The URL of the cluster for our driver.
    fn url(&self, site: &Site<'_>) -> String;
}
