//! State of the lab, shared by a supervisor's threads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use assay_model::Nanos;

use crate::job_spec::JobSpec;
use crate::lab::Lab;
use crate::wire::LabStatus;

/// How the lab is, as the main thread saw it last.
pub struct Kept {
    status: Mutex<LabStatus>,
    stop: AtomicBool,
}

impl Kept {
    /// A lab that is about to be started.
    pub fn new(job_spec: &JobSpec) -> Kept {
        let status = LabStatus {
            name: job_spec.name.clone(),
            supervisor: std::process::id(),
            doing: Some("starting".to_owned()),
            record: None,
            states: Vec::new(),
            broken: Vec::new(),
            ready_ms: None,
            parent: job_spec.parent.clone(),
        };
        Kept { status: Mutex::new(status), stop: AtomicBool::new(false) }
    }

    /// Raised when whatever goes on shall stop.
    pub fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    /// Raises that flag.
    pub fn raise(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// A copy of what is known.
    pub fn status(&self) -> LabStatus {
        self.lock().clone()
    }

    /// It is ready, after this time.
    pub fn is_ready(&self, after: Nanos) {
        let mut status = self.lock();
        status.ready_ms = Some(after.0 / 1_000_000);
        status.doing = None;
    }

    /// The lab was looked at.
    pub fn saw(&self, lab: &mut Lab) {
        let states = lab.nodes().into_iter().map(|view| view.state).collect();
        let mut status = self.lock();
        status.record = Some(lab.record());
        status.states = states;
        status.broken = lab.broken();
    }

    /// It does this now.
    pub fn doing(&self, what: String) {
        self.lock().doing = Some(what);
    }

    /// It does nothing special any more.
    pub fn is_idle(&self) {
        self.lock().doing = None;
    }

    /// Begins to do something, if nothing else is done: then what that is.
    pub fn begin(&self, what: &str) -> Result<(), String> {
        let mut status = self.lock();
        match &status.doing {
            Some(doing) => Err(format!(
                "lab {} does something else ({doing}); try again when that is done",
                status.name
            )),
            None => {
                status.doing = Some(what.to_owned());
                Ok(())
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, LabStatus> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
