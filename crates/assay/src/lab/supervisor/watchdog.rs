//! Watchdog: a process that kills the servers if the supervisor could not.
//!
//! The kernel kills the servers when their supervisor is killed, but not their own children. All of
//! these are in the supervisor's session, unless they left it on purpose.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::exit::{Exit, usage};
use crate::lab::parent::{session_members, session_of};
use crate::parent_death::PROGRAM;

/// How often to search again: a killed process may have started another one in that moment.
const ROUNDS: u32 = 50;
/// How long between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// The line that tells a watchdog that a supervisor has started it.
const WATCH: &str = "watch\n";

/// Starts a guard over this process's session, which it leads. It acts when this process has
/// ended, which closes its end of the pipe.
///
/// # Errors
/// If it leads none: then others would be killed, too.
pub fn start() -> Result<Child> {
    let own = std::process::id();
    ensure!(session_of(own) == Some(own), "the supervisor has no session of its own");
    let mut watchdog = Command::new(PROGRAM)
        .arg0("assay")
        .args(["lab", "watchdog"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("cannot start the guard of the lab")?;
    let stdin = watchdog.stdin.as_mut().context("the watchdog's input is piped")?;
    stdin.write_all(WATCH.as_bytes()).context("cannot talk to the guard of the lab")?;
    Ok(watchdog)
}

/// `assay lab watchdog`, an internal command: kills everything in its session when the supervisor
/// that started it has ended.
///
/// # Errors
/// If it was started by hand.
pub fn watchdog() -> Result<Exit> {
    let mut received = String::new();
    // Broken or closed: the supervisor is gone.
    let _ = std::io::stdin().read_to_string(&mut received);
    let session = session_of(std::process::id()).filter(|_| received == WATCH);
    let session =
        session.ok_or_else(|| usage("a watchdog is started by a supervisor, not by hand"))?;
    let own = std::process::id();
    let mut killed = Vec::new();
    for _ in 0..ROUNDS {
        // What waits for a stalled disk does not even die.
        assay_lab::resume_disks();
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
    killed.into_iter().for_each(assay_lab::clean_up_clock);
    Ok(Exit::Fine)
}
