//! A process of this program that ends with the one that started it.

use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use crate::exit::{Exit, Failure};

/// Says in the environment of a process who has started it: a flag would be kept in its run
/// directory.
const VARIABLE: &str = "ASSAY_TETHER";

/// This program, also when its file has been replaced since it began.
pub const PROGRAM: &str = "/proc/self/exe";

/// This program, to be started as a process that [heeds](heed) the end of this one.
pub fn tied() -> Command {
    let mut command = Command::new(PROGRAM);
    command.arg0("assay").env(VARIABLE, std::process::id().to_string());
    command
}

/// Ends with whoever started this process as a tied one, however that ends.
///
/// # Errors
/// If that has ended already.
pub fn heed() -> Result<()> {
    let Ok(starter) = std::env::var(VARIABLE) else { return Ok(()) };
    set_parent_process_death_signal(Some(Signal::KILL))
        .context("cannot query the system to end this process with its study")?;
    // It may have ended before that was issued, and nobody would be reported any more.
    let parent = getppid().map(|pid| pid.as_raw_nonzero().to_string());
    if parent.as_ref() == Some(&starter) {
        return Ok(());
    }
    let message = format!("process {starter}, which {VARIABLE} says has started this one, is gone");
    Err(Failure { exit: Exit::Interrupted, message }.into())
}
