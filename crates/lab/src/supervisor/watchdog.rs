//! Watchdog: a process that kills the servers if the supervisor could not.
//!
//! The kernel kills the servers when their supervisor is killed, but not their own children. All of
//! these are in the supervisor's session, unless they left it on purpose.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::LabError;
use crate::disk::resume_disks;
use crate::parent::{session_members, session_of};
use crate::process::clean_up_clock;
use crate::start::PROGRAM;

/// How often to search again: a killed process may have started another one in that moment.
const ROUNDS: u32 = 50;
/// How long between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// The line that tells a watchdog that a supervisor has started it.
const WATCH: &str = "watch\n";

/// Starts a watchdog over this process's session, which it leads. It acts when this process has
/// ended, which closes its end of the pipe.
///
/// # Errors
/// If it leads none: then others would be killed, too.
pub fn start() -> Result<Child, LabError> {
    let own = std::process::id();
    if session_of(own) != Some(own) {
        return Err(LabError::Internal("the supervisor has no session of its own".to_owned()));
    }
    let failed = |error| LabError::internal("cannot start the watchdog of the lab", error);
    let mut watchdog = Command::new(PROGRAM)
        .arg0("assay")
        .args(["lab", "watchdog"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    let stdin = watchdog.stdin.as_mut().expect("the watchdog's input is piped");
    stdin.write_all(WATCH.as_bytes()).map_err(failed)?;
    Ok(watchdog)
}

/// `assay lab watchdog`, an internal command: kills everything in its session when the supervisor
/// that started it has ended.
///
/// # Errors
/// If it was started by hand.
pub fn watchdog() -> Result<(), LabError> {
    let mut received = String::new();
    // Broken or closed: the supervisor is gone.
    let _ = std::io::stdin().read_to_string(&mut received);
    let session = session_of(std::process::id()).filter(|_| received == WATCH);
    let by_hand = || LabError::Order("a watchdog is started by a supervisor, not by hand".into());
    let session = session.ok_or_else(by_hand)?;
    let own = std::process::id();
    let mut killed = Vec::new();
    for _ in 0..ROUNDS {
        // What waits for a stalled disk does not even die.
        resume_disks();
        let left = session_members(session).into_iter().filter(|pid| *pid != own);
        let left: Vec<u32> = left.collect();
        if left.is_empty() {
            break;
        }
        for pid in left {
            if let Some(pid) = Pid::from_raw(pid.cast_signed()) {
                // It may end in this moment, which is what is wanted.
                let _ = kill_process(pid, Signal::KILL);
            }
            killed.push(pid);
        }
        thread::sleep(LOOK);
    }
    killed.into_iter().for_each(clean_up_clock);
    Ok(())
}
