//! Job spec: the lab that a supervisor is started for.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use assay_drivers::registry;
use assay_lab::{House, Network, Order, Recipe, check_disks, recipes};
use assay_run::clock::monotonic;
use serde::{Deserialize, Serialize};

use crate::exit::usage;
use crate::lab::failure::from_lab;
use crate::lab::labs::{Labs, house};
use crate::lab::parent::Parent;
use crate::options::Options;

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
    /// What was chosen of the recipe's choices.
    pub choices: BTreeMap<String, String>,
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
    /// A lab of this store that is called `name`, in its usual place, according to the settings.
    ///
    /// # Errors
    /// If this user has no home.
    pub fn of(store: &str, name: &str, labs: &Labs, options: &Options) -> Result<JobSpec> {
        let House { package_cache, places, .. } = house()?;
        Ok(JobSpec {
            folder: labs.place(name),
            name: name.to_owned(),
            link: None,
            store: store.to_owned(),
            nodes: None,
            version: options.version.text().map(str::to_owned),
            network: options.network.get().unwrap_or_default(),
            choices: options.option.value().cloned().unwrap_or_default(),
            parent: None,
            package_cache,
            places,
            may_install: options.install.is_on(),
            disk_mib: options.disk.get().map(|disk| disk.0),
            has_proxy: options.proxy.is_on(),
            has_peer_proxy: options.proxy_peers.is_on(),
        })
    }

    /// The job, if the request is valid.
    ///
    /// # Errors
    /// If there is no such recipe, version, number of nodes or choice, or this binary has no driver
    /// that could tell whether the store is ready.
    pub fn order(&self) -> Result<Order> {
        let recipe = recipes::find(&self.store).map_err(usage)?;
        let order = Order {
            recipe,
            nodes: self.nodes,
            version: self.version.clone(),
            network: self.network,
            choices: self.choices.clone(),
            disk_mib: self.disk_mib,
            proxy: self.has_proxy.then_some(monotonic),
            peer_proxy: self.has_peer_proxy.then_some(monotonic),
            now: Some(monotonic),
        };
        order.check(&recipe.card()).map_err(|error| from_lab(&error))?;
        require_driver(recipe)?;
        require_root(self.network)?;
        if let Some(mib) = self.disk_mib {
            let least = recipe.card().disk_mib;
            check_disks(mib, least).map_err(|error| from_lab(&error))?;
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

/// The cargo feature that this binary lacks to tell whether the recipe's store is ready, if any.
pub fn missing_feature(recipe: &dyn Recipe) -> Option<&'static str> {
    let scheme = recipe.scheme();
    let listed = registry::list().into_iter().find(|listed| listed.scheme == scheme)?;
    listed.feature.filter(|_| !listed.is_compiled_in)
}

/// Ready means a record written and read, so there is no lab without a driver.
fn require_driver(recipe: &dyn Recipe) -> Result<()> {
    let Some(feature) = missing_feature(recipe) else { return Ok(()) };
    Err(usage(format!(
        "this binary was built without the driver that says when {} is ready; build it with \
         `--features {feature}`",
        recipe.card().name
    )))
}

fn require_root(network: Network) -> Result<()> {
    if network == Network::Loopback || rustix::process::geteuid().is_root() {
        return Ok(());
    }
    Err(usage("--network namespaces needs root; loopback, the usual network, does not"))
}
