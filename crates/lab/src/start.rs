//! Starts a supervisor, then waits until its lab is ready.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use crate::LabError;
use crate::client::hear;
use crate::job_spec::{JobSpec, KEEP, LOG};
use crate::wire::LabStatus;

/// This program, also when its file has been replaced since it began. It is the supervisor of a
/// lab when its arguments are `lab keep NAME`, and a supervisor's watchdog at `lab watchdog`.
pub const PROGRAM: &str = "/proc/self/exe";

/// Holds a lab while it is started: when it is cut, the lab is ended instead.
#[derive(Clone, Default)]
pub struct CancelHandle(Arc<Mutex<Option<ChildStdin>>>);

impl CancelHandle {
    /// Ends the start.
    pub fn cut(&self) {
        drop(self.take());
    }

    fn take(&self) -> Option<ChildStdin> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn tie(&self, stdin: Option<ChildStdin>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = stdin;
    }
}

/// A lab that is ready, with its supervisor.
pub struct Started {
    /// How it is.
    pub status: LabStatus,
    /// Its supervisor, which outlives this value.
    pub supervisor: Child,
}

/// This program, to be a supervisor. One that mounts disks does so in a mount namespace of its own,
/// so that nothing stays mounted when it ends, however it ends.
fn program(job_spec: &JobSpec) -> Command {
    if job_spec.disk_mib.is_none() {
        let mut command = Command::new(PROGRAM);
        command.arg0("assay");
        return command;
    }
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "--"]);
    // To `unshare`, `self` would be itself.
    command.arg(format!("/proc/{}/exe", std::process::id()));
    command
}

/// Starts the lab of `job_spec`; `tell` is called with its progress. If this process is killed
/// meanwhile, or `cancel_handle` is triggered, nothing is left running.
///
/// # Errors
/// If the lab does not become ready; nothing runs then.
pub fn start(
    job_spec: &JobSpec,
    cancel_handle: &CancelHandle,
    tell: &mut dyn FnMut(&str),
) -> Result<Started, LabError> {
    let failed = |error| LabError::internal("cannot start the supervisor of the lab", error);
    let mut supervisor = program(job_spec)
        .args(["lab", "keep", &job_spec.name])
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut stdin = supervisor.stdin.take().expect("the supervisor's input is piped");
    let stdout = supervisor.stdout.take().expect("the supervisor's output is piped");
    let line = serde_json::to_string(job_spec).expect("a job is plain data") + "\n";
    // If it has ended already, it says why, or its end does.
    let _ = stdin.write_all(line.as_bytes());
    cancel_handle.tie(Some(stdin));
    let broken = |error| LabError::internal("cannot hear the supervisor of the lab", error);
    let kept = match hear(BufReader::new(stdout).lines(), tell, broken) {
        Ok(Some(done)) => cancel_handle
            .take()
            .map(|mut stdin| stdin.write_all(format!("{KEEP}\n").as_bytes()).map(|()| done.status)),
        Ok(None) => None,
        Err(error) => {
            cancel_handle.cut();
            // It has reported the reason; its exit status adds nothing.
            let _ = supervisor.wait();
            return Err(error);
        }
    };
    if let Some(Ok(status)) = kept {
        return Ok(Started { status, supervisor });
    }
    cancel_handle.cut();
    let waited = |error| LabError::internal("cannot wait for the supervisor of the lab", error);
    let ended = supervisor.wait().map_err(waited)?;
    if ended.success() {
        return Err(LabError::Stopped);
    }
    let log = job_spec.folder.join(LOG);
    let message =
        format!("the supervisor of the lab ended ({ended}); its output is in {}", log.display());
    Err(LabError::Internal(message))
}
