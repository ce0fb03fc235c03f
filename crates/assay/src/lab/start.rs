//! Start of a lab, with the question whether programs may be installed.

use std::io::{BufRead, IsTerminal};

use anyhow::{Context, Result};
use assay_lab::{CancelHandle, JobSpec, LabError, Started, start};

/// As [`start`]; if programs are missing and there is a terminal, asks whether they may
/// be installed or fetched.
pub fn start_asking(
    job_spec: &JobSpec,
    cancel_handle: &CancelHandle,
    tell: &mut dyn FnMut(&str),
) -> Result<Started> {
    match start(job_spec, cancel_handle, tell) {
        Err(missing @ LabError::NotInstalled(_)) if has_consent(&missing)? => {
            let job_spec = JobSpec { may_install: true, ..job_spec.clone() };
            Ok(start(&job_spec, cancel_handle, tell)?)
        }
        ended => Ok(ended?),
    }
}

/// Whether somebody at the terminal says yes; without a terminal nothing is asked.
fn has_consent(missing: &LabError) -> Result<bool> {
    let (input, errors) = (std::io::stdin(), std::io::stderr());
    if !input.is_terminal() || !errors.is_terminal() {
        return Ok(false);
    }
    eprint!("{missing}\nInstall it now? [y/N] ");
    let mut line = String::new();
    input.lock().read_line(&mut line).context("cannot read the answer")?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}
