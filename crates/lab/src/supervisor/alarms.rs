//! Events that end a lab besides a request: signals, its parent's end, an interrupted start.

use std::io::BufRead;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::{Job, Kept};
use crate::LabError;
use crate::job_spec::{JobSpec, KEEP};

/// Begins to listen; each alarm stops what goes on, then ends the lab.
pub fn listen(job_spec: &JobSpec, kept: &Arc<Kept>, jobs: &Sender<Job>) -> Result<(), LabError> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])
        .map_err(|error| LabError::internal("cannot hear signals", error))?;
    alarm("signals", kept, jobs, move || {
        let signal = signals.forever().next();
        Some(format!("signal {}", signal.unwrap_or_default()))
    })?;
    alarm("start", kept, jobs, || {
        let line = std::io::stdin().lock().lines().next();
        let is_kept = matches!(line, Some(Ok(line)) if line == KEEP);
        (!is_kept).then(|| "whoever started this lab has gone before it was ready".to_owned())
    })?;
    if let Some(parent) = job_spec.parent.clone() {
        alarm("owner", kept, jobs, move || {
            parent.wait_for_end();
            Some(format!("process {} ({}) has ended", parent.pid, parent.name))
        })?;
    }
    Ok(())
}

/// Waits on a thread of its own for the reason to end the lab, if it comes.
fn alarm(
    name: &str,
    kept: &Arc<Kept>,
    jobs: &Sender<Job>,
    wait: impl FnOnce() -> Option<String> + Send + 'static,
) -> Result<(), LabError> {
    let (kept, jobs) = (Arc::clone(kept), jobs.clone());
    let listen = move || {
        if let Some(why) = wait() {
            kept.raise();
            // If the main thread has gone, so has the lab.
            let _ = jobs.send(Job::End { why });
        }
    };
    let thread = thread::Builder::new().name(name.to_owned()).spawn(listen);
    match thread {
        Ok(_) => Ok(()),
        Err(error) => Err(LabError::internal("cannot start a thread that hears alarms", error)),
    }
}
