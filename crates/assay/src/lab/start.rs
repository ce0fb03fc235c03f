//! Starts a supervisor, then waits until its lab is ready.

use std::fs;
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};

use crate::exit::{Exit, Failure, NotInstalled, usage};
use crate::lab::client::hear;
use crate::lab::job_spec::{JobSpec, KEEP};
use crate::lab::labs::Labs;
use crate::lab::supervisor::LOG;
use crate::lab::wire::Status;
use crate::parent_death::PROGRAM;

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
    pub status: Status,
    /// Its supervisor, which outlives this value.
    pub supervisor: Child,
}

/// # Errors
/// If a lab of this name is there already, or one that is gone has left another folder than
/// `folder`.
pub fn require_free(labs: &Labs, name: &str, folder: &Path) -> Result<()> {
    let place = labs.place(name);
    let Some(found) = labs.get(name) else {
        if place.is_symlink() {
            // Somebody removed the folder by hand.
            fs::remove_file(&place)
                .with_context(|| format!("cannot remove {}", place.display()))?;
        }
        return Ok(());
    };
    if found.is_held {
        return Err(usage(format!(
            "lab {name} is up already: `assay lab status {name}` shows it, `assay lab down {name}` \
             ends it, --name starts another one"
        )));
    }
    if found.link.is_none() && folder == place {
        return Ok(());
    }
    Err(usage(format!(
        "lab {name} is gone but has left {}; `assay lab down {name}` removes it",
        found.folder.display()
    )))
}

/// As [`start`]; if programs are missing and there is a terminal, asks whether they may
/// be installed or fetched.
///
/// # Errors
/// As for [`start`].
pub fn start_asking(
    job_spec: &JobSpec,
    cancel_handle: &CancelHandle,
    tell: &mut dyn FnMut(&str),
) -> Result<Started> {
    match start(job_spec, cancel_handle, tell) {
        Err(error) if error.is::<NotInstalled>() && has_consent(&error)? => {
            let job_spec = JobSpec { may_install: true, ..job_spec.clone() };
            start(&job_spec, cancel_handle, tell)
        }
        ended => ended,
    }
}

/// Whether somebody at the terminal says yes; without a terminal nothing is asked.
fn has_consent(missing: &anyhow::Error) -> Result<bool> {
    let (input, errors) = (std::io::stdin(), std::io::stderr());
    if !input.is_terminal() || !errors.is_terminal() {
        return Ok(false);
    }
    eprint!("{missing}\nInstall it now? [y/N] ");
    let mut line = String::new();
    input.lock().read_line(&mut line).context("cannot read the answer")?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
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
) -> Result<Started> {
    let mut supervisor = program(job_spec)
        .args(["lab", "keep", &job_spec.name])
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the supervisor of the lab")?;
    let mut stdin = supervisor.stdin.take().context("the supervisor's input is piped")?;
    let stdout = supervisor.stdout.take().context("the supervisor's output is piped")?;
    let line = serde_json::to_string(job_spec)? + "\n";
    // If it has ended already, it says why, or its end does.
    let _ = stdin.write_all(line.as_bytes());
    cancel_handle.tie(Some(stdin));
    let received = hear(BufReader::new(stdout).lines(), tell, anyhow::Error::from);
    let kept = match received {
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
    let ended = supervisor.wait().context("cannot wait for the supervisor of the lab")?;
    if ended.success() {
        let message = "stopped before it was done".to_owned();
        return Err(Failure { exit: Exit::Interrupted, message }.into());
    }
    let log = job_spec.folder.join(LOG);
    let message =
        format!("the supervisor of the lab ended ({ended}); its output is in {}", log.display());
    Err(Failure { exit: Exit::Internal, message }.into())
}
