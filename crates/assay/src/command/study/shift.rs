//! The cluster that cells share: started before the first of them, ended after the last.

use std::fs::{self, File};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use assay_lab::{CancelHandle, JobSpec, LabClient, Labs, Network, Parent, start};
use assay_study::commands::Target;
use assay_study::program::Cluster;
use rustix::fs::{FlockOperation, flock};

use crate::exit::{Exit, Failure, usage};
use crate::lab::job_spec;
use crate::options::Options;

/// How often a wait for a lab checks whether the study was stopped.
const LOOK: Duration = Duration::from_millis(50);

/// How long a lab may take to end. Each server gets less time than that.
const DOWN_MAX: Duration = Duration::from_secs(300);

/// The longest name of a lab.
const NAME_MAX: usize = 40;

/// A cluster that is up; it ends with this value, and with this process.
pub struct Shift {
    client: LabClient,
    supervisor: Child,
}

impl Shift {
    /// Starts the store `target` as lab `name`, or a name near it.
    pub fn up(
        (name, target): (&str, &Target),
        labs: &Labs,
        options: &Options,
        is_stopped: &(dyn Fn() -> bool + Sync),
        tell: &dyn Fn(&str),
    ) -> Result<Shift> {
        // Another study would find the same name free, until this one's lab has it.
        let _naming = naming(labs, is_stopped)?;
        let job_spec = job_spec(name, target, labs, options)?;
        job_spec::check(&job_spec)?;
        let cancel_handle = CancelHandle::default();
        let is_over = AtomicBool::new(false);
        let started = thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    if is_stopped() {
                        cancel_handle.cut();
                    }
                    thread::sleep(LOOK);
                }
            });
            let started = start(&job_spec, &cancel_handle, &mut |text| tell(text));
            is_over.store(true, Ordering::Relaxed);
            started
        });
        let started = started.inspect_err(|_| {
            // The reason has been reported, and a cell's lab is used only once.
            let _ = assay_lab::clean(&job_spec.folder);
        })?;
        let mut supervisor = started.supervisor;
        let client = LabClient::connect(labs, &job_spec.name).inspect_err(|_| {
            // There is no other way to end it before the study is over.
            end_within(&mut supervisor, Duration::ZERO);
            let _ = assay_lab::clean(&job_spec.folder);
        })?;
        Ok(Shift { client, supervisor })
    }
}

impl Cluster for Shift {
    fn name(&self) -> &str {
        self.client.name()
    }
}

impl Drop for Shift {
    fn drop(&mut self) {
        let begun = Instant::now();
        if let Err(error) = self.client.down_while(&|| begun.elapsed() < DOWN_MAX) {
            eprintln!("warning: the lab {} did not end by itself: {error:#}", self.client.name());
        }
        end_within(&mut self.supervisor, DOWN_MAX.saturating_sub(begun.elapsed()));
    }
}

/// Waits so long for the end of a lab's supervisor, then kills it; its watchdog ends the servers.
fn end_within(supervisor: &mut Child, timeout: Duration) {
    let begun = Instant::now();
    while let Ok(None) = supervisor.try_wait() {
        if begun.elapsed() >= timeout {
            // It may have ended by itself in this moment.
            let _ = supervisor.kill();
            let _ = supervisor.wait();
            return;
        }
        thread::sleep(LOOK);
    }
}

fn job_spec(name: &str, target: &Target, labs: &Labs, options: &Options) -> Result<JobSpec> {
    let Target::Up { recipe, nodes, version, options: given } = target else {
        return Err(usage("only a store that is started here has a lab"));
    };
    let name = free_name(name, labs)?;
    let parent = Parent::this_process().context("the system does not show this process")?;
    Ok(JobSpec {
        nodes: *nodes,
        version: version.clone(),
        network: Network::Loopback,
        options: given.clone(),
        parent: Some(parent),
        ..job_spec::job_spec(recipe, &name, labs, options)?
    })
}

/// A lock: one study at a time chooses a lab's name.
fn naming(labs: &Labs, is_stopped: &dyn Fn() -> bool) -> Result<File> {
    let root = labs.root();
    let unmade = || format!("cannot make {}", root.display());
    fs::create_dir_all(root).with_context(unmade)?;
    let folder = File::open(root).with_context(unmade)?;
    while flock(&folder, FlockOperation::NonBlockingLockExclusive).is_err() {
        if is_stopped() {
            let message = "stopped before it was its turn to start a lab".to_owned();
            return Err(Failure { exit: Exit::Interrupted, message }.into());
        }
        thread::sleep(LOOK);
    }
    Ok(folder)
}

/// `name`, with a number behind it if it is taken.
fn free_name(name: &str, labs: &Labs) -> Result<String> {
    let numbered = (2..100).map(|number| {
        let suffix = format!("-{number}");
        let short: String = name.chars().take(NAME_MAX - suffix.len()).collect();
        format!("{short}{suffix}")
    });
    let whole: String = name.chars().take(NAME_MAX).collect();
    let mut names = [whole].into_iter().chain(numbered);
    let is_free = |name: &String| labs.require_free(name, &labs.place(name)).is_ok();
    names.find(is_free).with_context(|| format!("too many labs are called {name}"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_supervisor_that_does_not_end_is_ended() {
        let mut supervisor = Command::new("sleep").arg("600").spawn().unwrap();
        end_within(&mut supervisor, Duration::from_millis(100));
        assert_eq!(supervisor.try_wait().unwrap().and_then(|status| status.signal()), Some(9));
    }
}
