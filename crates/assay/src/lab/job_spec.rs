//! Lab to start, as the settings have it.

use anyhow::Result;
use assay_drivers::registry;
use assay_lab::{GivenOptions, House, JobSpec, LabError, Labs, Recipe};
use assay_run::clock::monotonic;

use crate::lab::house::house;
use crate::options::Options;

/// A lab of this store that is called `name`, in its usual place, according to the settings.
pub fn job_spec(store: &str, name: &str, labs: &Labs, options: &Options) -> Result<JobSpec> {
    let House { package_cache, places, .. } = house()?;
    Ok(JobSpec {
        folder: labs.place(name),
        name: name.to_owned(),
        link: None,
        store: store.to_owned(),
        nodes: None,
        version: options.version.text().map(str::to_owned),
        network: options.network.get().unwrap_or_default(),
        options: GivenOptions(options.option.value().cloned().unwrap_or_default()),
        parent: None,
        package_cache,
        places,
        may_install: options.install.is_on(),
        disk_mib: options.disk.get().map(|disk| disk.0),
        has_proxy: options.proxy.is_on(),
        has_peer_proxy: options.proxy_peers.is_on(),
    })
}

/// Checks the request. Fails if this binary has no driver that could tell whether the store is
/// ready.
pub fn check(job_spec: &JobSpec) -> Result<(), LabError> {
    require_driver(job_spec.order(monotonic)?.recipe)
}

/// The cargo feature that this binary lacks to tell whether the recipe's store is ready, if any.
pub fn missing_feature(recipe: &dyn Recipe) -> Option<&'static str> {
    let scheme = recipe.card().scheme();
    let listed = registry::list().into_iter().find(|listed| listed.scheme == scheme)?;
    listed.feature.filter(|_| !listed.is_compiled_in)
}

/// Ready means a record written and read, so there is no lab without a driver.
pub fn require_driver(recipe: &dyn Recipe) -> Result<(), LabError> {
    let Some(feature) = missing_feature(recipe) else { return Ok(()) };
    Err(LabError::Order(format!(
        "this binary was built without the driver that says when {} is ready; build it with \
         `--features {feature}`",
        recipe.card().name
    )))
}
