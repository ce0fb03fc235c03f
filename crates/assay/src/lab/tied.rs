//! The lab that the store of a run is in: one of the run's own, or one that was up before.

use std::process::Child;

use anyhow::{Context, Result};
use assay_lab::{
    CancelHandle, JobSpec, LabClient, Labs, Network, Parent, Record, Started, clean, is_held,
    unsynced,
};
use assay_model::Setting;

use crate::exit::usage;
use crate::lab::house;
use crate::lab::job_spec::{check, job_spec};
use crate::lab::start::start_asking;
use crate::options::{Options, SettingText, StoreNodes};

/// Names of labs of runs begin with this; the number of the process follows.
const OWN_NAME: &str = "up-";

/// A lab with the store to measure. A lab of this run ends with this value, and with this process.
pub struct RunLab {
    /// Sends requests to the lab itself, to scale it or to inject a fault.
    pub client: LabClient,
    /// What was written down about it when it was ready or found.
    pub record: Record,
    /// The supervisor of a lab of this run.
    supervisor: Option<Child>,
}

impl RunLab {
    /// The lab that `--up` or `--lab` want, if one of them is given; it is up then.
    pub fn from(options: &Options) -> Result<Option<RunLab>> {
        let place = StorePlace::named(options)?;
        let of_new: [&SettingText; 6] = [
            &options.version,
            &options.network,
            &options.option,
            &options.disk,
            &options.proxy,
            &options.proxy_peers,
        ];
        if let Some(setting) = of_new.into_iter().find(|setting| setting.is_typed())
            && !matches!(place, Some(StorePlace::New(_)))
        {
            return Err(setting.wrong("it is about a store that --up starts"));
        }
        match place {
            Some(StorePlace::New(expected)) => {
                let is_quiet = options.quiet.is_on();
                let mut tell = |text: &str| {
                    if !is_quiet {
                        eprintln!("{text}");
                    }
                };
                RunLab::start(options, expected, &mut tell).map(Some)
            }
            Some(StorePlace::Lab(name)) => {
                let client = LabClient::connect(&house::labs(options)?, name)?;
                let record = client.record()?;
                Ok(Some(RunLab { client, record, supervisor: None }))
            }
            Some(StorePlace::Url) | None => Ok(None),
        }
    }

    /// A lab of this process's own with a store and its number of nodes; `tell` is called with the
    /// progress.
    pub fn start(
        options: &Options,
        StoreNodes { store, nodes }: &StoreNodes,
        tell: &mut dyn FnMut(&str),
    ) -> Result<RunLab> {
        let labs = &house::labs(options)?;
        let name = format!("{OWN_NAME}{}", std::process::id());
        let parent = Parent::this_process().context("the system does not show this process")?;
        let usual = job_spec(store, &name, labs, options)?;
        let job_spec = JobSpec { nodes: *nodes, parent: Some(parent), ..usual };
        check(&job_spec)?;
        sweep(labs);
        let Started { status, supervisor } =
            start_asking(&job_spec, &CancelHandle::default(), tell)?;
        let client = LabClient::connect(labs, &job_spec.name)?;
        let record = status.record.context("a lab that is ready has a record")?;
        Ok(RunLab { client, record, supervisor: Some(supervisor) })
    }

    /// Whether it was started for this run alone, so that nothing was in it.
    pub fn is_own(&self) -> bool {
        self.supervisor.is_some()
    }

    /// What a report says about it.
    pub fn settings(&self) -> Vec<Setting> {
        let Record { store, version, network, nodes, disk_mib, has_proxy, has_peer_proxy, .. } =
            &self.record;
        let whose = match self.is_own() {
            true => "started for this run alone, empty".to_owned(),
            false => format!("started by `assay lab up` as {}", self.client.name()),
        };
        let place = match network {
            Network::Loopback => "processes of this machine, each on a loopback address",
            Network::Namespaces => "processes of this machine, each in a network namespace",
        };
        let setting = |name: &str, value: String, meaning: String| Setting {
            name: name.to_owned(),
            value,
            meaning,
        };
        let mut settings = vec![
            setting("lab", format!("{store} {version}"), whose),
            setting("nodes", nodes.len().to_string(), place.to_owned()),
        ];
        let passes = "what clients say or hear passes a proxy of the lab, which takes its time";
        settings.extend(has_proxy.then(|| setting("proxy", "on".into(), passes.into())));
        let passes = "what nodes say to each other passes a proxy of the lab, which takes its time";
        settings.extend(has_peer_proxy.then(|| setting("peer proxy", "on".into(), passes.into())));
        settings.extend(disk_mib.map(|mib| setting("disk", format!("{mib} MiB"), unsynced())));
        settings
    }
}

impl Drop for RunLab {
    fn drop(&mut self) {
        let Some(supervisor) = &mut self.supervisor else { return };
        if let Err(error) = self.client.down() {
            if !is_held(self.client.folder()) {
                // It was killed, which the run has reported; its files are removed.
                let _ = supervisor.wait();
                let _ = clean(self.client.folder());
                return;
            }
            // It ends with this process all the same.
            eprintln!("warning: the lab of this run is not down yet: {error:#}");
            return;
        }
        let _ = supervisor.wait();
    }
}

/// Where the store to measure is.
#[derive(Clone, Copy, Debug)]
pub enum StorePlace<'a> {
    /// At a URL.
    Url,
    /// In the lab of this name.
    Lab(&'a str),
    /// In a lab that this process starts.
    New(&'a StoreNodes),
}

impl StorePlace<'_> {
    /// The place that the settings name, if they do. Several are an error; what was typed wins over
    /// files and environment.
    pub fn named(options: &Options) -> Result<Option<StorePlace<'_>>> {
        let url = options.target.text().map(|_| StorePlace::Url);
        let lab = options.lab.text().map(StorePlace::Lab);
        let new = options.up.value().map(StorePlace::New);
        let places: [(&SettingText, _); 3] =
            [(&options.target, url), (&options.up, new), (&options.lab, lab)];
        let given = places.into_iter().filter_map(|(setting, place)| Some((setting, place?)));
        let given: Vec<_> = given.collect();
        let typed = given.iter().filter(|(setting, _)| setting.is_typed());
        let typed: Vec<_> = typed.copied().collect();
        match (&typed[..], &given[..]) {
            ([(_, one)], _) | ([], [(_, one)]) => Ok(Some(*one)),
            ([], []) => Ok(None),
            ([], several) | (several, _) => {
                let names = several.iter().map(|(setting, _)| setting.key().name);
                Err(usage(format!(
                    "--{} all name the store to measure; give one of them",
                    names.collect::<Vec<_>>().join(", --")
                )))
            }
        }
    }
}

/// Removes the folders of labs of runs that did not come up: their logs are not needed.
fn sweep(labs: &Labs) {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    for found in labs.all() {
        let is_runs = found.name.strip_prefix(OWN_NAME).is_some_and(is_number);
        if is_runs && !found.is_held {
            // Another process may do it in this moment, or permission is missing.
            let _ = clean(&found.folder);
        }
    }
}
