//! The URL of the store that a run uses, from what was typed, its lab and its workload.

use anyhow::Result;
use assay_drivers::registry;

use crate::binding::{is_java, sizes, with_properties};
use crate::exit::{from_open, usage};
use crate::load_config::Purpose;
use crate::options::Options;
use crate::run_plan::RunPlan;
use crate::workload::Workload;

/// The URL of the store: in the lab, if there is one. Fails if it does not go with the workload or
/// the settings.
pub fn store_url(plan: &RunPlan, lab: Option<&str>) -> Result<String> {
    let RunPlan { options, workload, .. } = plan;
    let url = lab.map_or_else(|| named(plan), |url| Ok(url.to_owned()))?;
    let url = knowing(url, workload);
    let url = at_consistency(url, options)?;
    let url = match options.url_options.text() {
        Some(more) => with_options(url, more),
        None => url,
    };
    roaming(url, workload)
}

/// The one that was named, or that of a bench in its run directory.
fn named(plan: &RunPlan) -> Result<String> {
    let RunPlan { purpose, options, dir, .. } = plan;
    match options.target() {
        // The run directory is a place for a store on disk that is used once.
        Some("sqlite:" | "sqlite") if *purpose == Purpose::Bench => {
            Ok(format!("sqlite:{}", dir.join("store.db").display()))
        }
        Some(target) => Ok(target.to_owned()),
        None if *purpose == Purpose::Bench => {
            Ok(format!("{}:{}", registry::EMBEDDED_DEFAULT, dir.join("store").display()))
        }
        None => Err(usage(
            "which store? give -t URL, for example -t redis://127.0.0.1:6379; `assay stores` \
             lists them; --up redis starts one here",
        )),
    }
}

/// `url` with what the workload has to say to a Java binding.
fn knowing(url: String, workload: &Workload) -> String {
    let url = match workload.records().filter(|_| is_java(&url)) {
        Some(spec) => with_properties(url, &sizes(spec)),
        None => url,
    };
    with_properties(url, &workload.binding)
}

/// `url` with the consistency that setting `consistency` names; a store that has no such option
/// says so when it is opened.
fn at_consistency(url: String, options: &Options) -> Result<String> {
    let Some(level) = options.consistency.text() else { return Ok(url) };
    let query = url.split_once('?').map_or("", |(_, query)| query);
    if query.split('&').any(|pair| pair.starts_with("consistency=")) {
        return Err(options.consistency.wrong("the URL of the store names another one"));
    }
    Ok(with_options(url, &format!("consistency={level}")))
}

/// `url` with more options.
fn with_options(url: String, more: &str) -> String {
    let mark = if url.contains('?') { '&' } else { '?' };
    format!("{url}{mark}{more}")
}

/// `url` with what makes sessions roam, if those of the workload do.
fn roaming(url: String, workload: &Workload) -> Result<String> {
    match workload.records().is_some_and(|spec| spec.sessions.roam) {
        true => registry::roaming(&url).map_err(from_open),
        false => Ok(url),
    }
}
