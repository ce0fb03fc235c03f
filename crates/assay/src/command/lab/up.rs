//! `assay lab up`: starts a lab, then leaves it to its supervisor.

use std::path::PathBuf;
use std::thread;

use anyhow::{Context, Result};
use assay_lab::{CancelHandle, JobSpec, Labs, Parent, check_name};
use clap::{ArgMatches, Args, FromArgMatches, ValueHint};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::{describe, number};
use crate::completion;
use crate::exit::{Exit, usage};
use crate::lab::house;
use crate::lab::job_spec::{self, check};
use crate::lab::start::start_asking;
use crate::options::Options;
use crate::show::finish;

/// What can be typed besides settings of a lab.
#[derive(Args, Debug)]
#[command(about = "Start a store; it is ready when a record was written and read")]
pub struct UpArgs {
    /// As `assay lab ls` has it
    #[arg(value_name = "STORE", add = completion::recipes())]
    store: String,
    /// The lab's name; default: the store's
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Its folder, for data and logs; removed with it
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    dir: Option<String>,
    /// Stay up when this terminal is closed; only `assay lab down` ends it then
    #[arg(long)]
    stay: bool,
}

/// `assay lab up`.
pub fn up(matches: &ArgMatches) -> Result<Exit> {
    let options = Options::gather(matches)?;
    let labs = house::labs(&options)?;
    let arguments = UpArgs::from_arg_matches(matches)?;
    let nodes = number(matches, "nodes")?;
    let job_spec = JobSpec { nodes, ..job_spec(&arguments, &labs, &options)? };
    check(&job_spec)?;
    labs.require_free(&job_spec.name, &job_spec.folder)?;
    let cancel_handle = CancelHandle::default();
    cut_at_interrupt(&cancel_handle)?;
    let started = start_asking(&job_spec, &cancel_handle, &mut |text| eprintln!("{text}"))?;
    eprintln!("{}", whose_end(&job_spec, arguments.stay));
    let mut text = describe::one(&started.status, &job_spec.folder);
    text.push_str(&describe::next_steps(&started.status));
    finish(&text)
}

fn job_spec(arguments: &UpArgs, labs: &Labs, options: &Options) -> Result<JobSpec> {
    let store = &arguments.store;
    let name = arguments.name.as_ref().unwrap_or(store);
    check_name(name)?;
    let usual = job_spec::job_spec(store, name, labs, options)?;
    let dir = arguments.dir.as_ref().map(std::path::absolute).transpose();
    let dir: Option<PathBuf> = dir.map_err(|error| usage(format!("--dir: {error}")))?;
    let parent = if arguments.stay { None } else { Parent::session_leader() };
    Ok(JobSpec {
        link: dir.is_some().then(|| usual.folder.clone()),
        folder: dir.unwrap_or_else(|| usual.folder.clone()),
        parent,
        ..usual
    })
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
