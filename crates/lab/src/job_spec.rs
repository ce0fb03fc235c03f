//! Job spec: the lab that a supervisor is started for.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::card::GivenOptions;
use crate::disk::check_disks;
use crate::lab::Order;
use crate::network::Network;
use crate::package_cache::House;
use crate::parent::Parent;
use crate::proxy::Now;
use crate::{LabError, recipes};

/// The file in a lab's folder that has the supervisor's own output.
pub const LOG: &str = "supervisor.log";

/// The line that makes a lab outlive its parent.
pub const KEEP: &str = "keep";

/// A lab to start and hold: the first line that a supervisor reads.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JobSpec {
    /// The lab's name.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// Where a link to the folder is made, if that is elsewhere.
    pub link: Option<PathBuf>,
    /// The recipe's name.
    pub store: String,
    /// How many nodes.
    pub nodes: Option<usize>,
    /// Which version.
    pub version: Option<String>,
    /// Where nodes live.
    pub network: Network,
    /// The options that were given.
    pub options: GivenOptions,
    /// The process that the lab ends with, if any.
    pub parent: Option<Parent>,
    /// Where programs are kept.
    pub package_cache: PathBuf,
    /// Where installed programs are looked for first.
    pub places: Vec<PathBuf>,
    /// Whether missing programs may be installed or fetched.
    #[serde(default)]
    pub may_install: bool,
    /// How large a disk each node has for itself, in MiB.
    #[serde(default)]
    pub disk_mib: Option<u64>,
    /// Whether there is a proxy between clients and nodes.
    #[serde(default)]
    pub has_proxy: bool,
    /// Whether there is one between its nodes.
    #[serde(default)]
    pub has_peer_proxy: bool,
}

impl JobSpec {
    /// The job, if the request is valid; `now` is the clock of its proxies and faults.
    ///
    /// # Errors
    /// If there is no such recipe, version, number of nodes or option, or it needs root.
    pub fn order(&self, now: Now) -> Result<Order, LabError> {
        let recipe = recipes::find(&self.store).map_err(LabError::Order)?;
        let order = Order {
            recipe,
            nodes: self.nodes,
            version: self.version.clone(),
            network: self.network,
            options: self.options.clone(),
            disk_mib: self.disk_mib,
            proxy: self.has_proxy.then_some(now),
            peer_proxy: self.has_peer_proxy.then_some(now),
            now: Some(now),
        };
        order.check(&recipe.card())?;
        require_root(self.network)?;
        if let Some(mib) = self.disk_mib {
            check_disks(mib, recipe.card().disk_mib)?;
        }
        Ok(order)
    }

    /// Where programs are.
    pub fn house(&self) -> House {
        House {
            package_cache: self.package_cache.clone(),
            places: self.places.clone(),
            may_install: self.may_install,
        }
    }
}

fn require_root(network: Network) -> Result<(), LabError> {
    if network == Network::Loopback || rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let text = "--network namespaces needs root; loopback, the usual network, does not";
    Err(LabError::Order(text.to_owned()))
}
