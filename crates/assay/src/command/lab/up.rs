//! Brings a lab up, then leaves it to its supervisor.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::thread;

use anyhow::{Context, Result};
use assay_lab::Network;
use clap::ArgMatches;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::{labs, number, say, word};
use crate::exit::{Exit, usage};
use crate::lab::job_spec::JobSpec;
use crate::lab::labs::{Labs, check_name, house};
use crate::lab::parent::Parent;
use crate::lab::start::{CancelHandle, require_free, start};
use crate::show::put;

/// `assay lab up`.
pub fn up(matches: &ArgMatches) -> Result<Exit> {
    let labs = labs(matches)?;
    let stays = matches.get_flag("stay");
    let job_spec = job_spec(matches, &labs, stays)?;
    job_spec.order()?;
    require_free(&labs, &job_spec.name, &job_spec.folder)?;
    let cancel_handle = CancelHandle::default();
    cut_at_interrupt(&cancel_handle)?;
    let started = start(&job_spec, &cancel_handle, &mut |text| eprintln!("{text}"))?;
    eprintln!("{}", whose_end(&job_spec, stays));
    let mut text = say::one(&started.status, &job_spec.folder);
    text.push_str(&say::next_steps(&started.status));
    put(&text, None)?;
    Ok(Exit::Fine)
}

fn job_spec(matches: &ArgMatches, labs: &Labs, stays: bool) -> Result<JobSpec> {
    let store = word(matches, "store").unwrap_or_default().to_owned();
    let name = word(matches, "name").unwrap_or(&store).to_owned();
    check_name(&name)?;
    let usual = labs.place(&name);
    let dir = word(matches, "dir").map(std::path::absolute).transpose();
    let dir: Option<PathBuf> = dir.map_err(|error| usage(format!("--dir: {error}")))?;
    let house = house()?;
    Ok(JobSpec {
        link: dir.is_some().then(|| usual.clone()),
        folder: dir.unwrap_or(usual),
        nodes: number(matches, "nodes")?,
        version: word(matches, "version").map(str::to_owned),
        network: match word(matches, "network") {
            Some("namespaces") => Network::Namespaces,
            _ => Network::Loopback,
        },
        choices: choices(matches)?,
        parent: if stays { None } else { Parent::session_leader() },
        package_cache: house.package_cache,
        places: house.places,
        store,
        name,
    })
}

fn choices(matches: &ArgMatches) -> Result<BTreeMap<String, String>> {
    let given = matches.get_many::<String>("option").into_iter().flatten();
    let split = |text: &String| match text.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => Err(usage(format!("--option {text}: write it as NAME=VALUE"))),
    };
    given.map(split).collect()
}

/// Which process's end is the lab's, in a line.
fn whose_end(job_spec: &JobSpec, stays: bool) -> String {
    let name = &job_spec.name;
    match &job_spec.parent {
        Some(parent) => format!(
            "it ends when process {} ({}) does, in which this session began; --stay would keep it",
            parent.pid, parent.name
        ),
        None if stays => format!("it stays until `assay lab down {name}`"),
        None => format!(
            "no process leads this session but this one, so it stays until `assay lab down {name}`"
        ),
    }
}

/// An interrupt ends what was started, the second one does not wait for that.
fn cut_at_interrupt(cancel_handle: &CancelHandle) -> Result<()> {
    let cancel_handle = cancel_handle.clone();
    let mut signals = Signals::new([SIGINT, SIGTERM]).context("cannot listen for interrupts")?;
    let listen = move || {
        for (count, _) in signals.forever().enumerate() {
            if count > 0 {
                std::process::exit(Exit::Interrupted as i32);
            }
            eprintln!("interrupted: ending what was started");
            cancel_handle.cut();
        }
    };
    let thread = thread::Builder::new().name("signals".to_owned()).spawn(listen);
    thread.context("cannot start a thread that listens for interrupts")?;
    Ok(())
}
