//! The process that a lab ends with.

use std::fs;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde::{Deserialize, Serialize};

/// How often a process is looked at that the kernel will not tell the end of.
const LOOK: Duration = Duration::from_millis(200);

/// A process, and no later one of the same number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// Its number.
    pub pid: u32,
    /// When it was started, in ticks since the machine's start.
    pub started: u64,
    /// The name of its program, as the kernel keeps it.
    pub name: String,
}

/// What the kernel says of a process.
struct ProcessStatus {
    parent: Parent,
    state: char,
    session: u32,
}

impl Parent {
    /// This process.
    pub fn this_process() -> Option<Parent> {
        see(std::process::id()).map(|observed| observed.parent)
    }

    /// The leader of this process's session, which is the shell in a terminal. `None` if that is
    /// this process itself, or cannot be seen from here.
    pub fn session_leader() -> Option<Parent> {
        let own = std::process::id();
        let session = see(own)?.session;
        let leader = see(session).filter(|_| session != own)?;
        leader.is_running().then_some(leader.parent)
    }

    /// Whether it still runs.
    pub fn is_alive(&self) -> bool {
        see(self.pid).is_some_and(|observed| {
            observed.parent.started == self.started && observed.is_running()
        })
    }

    /// Returns when it has ended.
    pub fn wait_for_end(&self) {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        let reported = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        while self.is_alive() {
            let Some(end) = &reported else {
                thread::sleep(LOOK);
                continue;
            };
            // Interrupted or not: the condition above decides.
            let _ = poll(&mut [PollFd::new(end, PollFlags::IN)], None);
        }
    }
}

impl ProcessStatus {
    /// An ended process stays a zombie until somebody has collected its exit status.
    fn is_running(&self) -> bool {
        !matches!(self.state, 'Z' | 'X')
    }
}

/// The session of a process, by its leader's number.
pub fn session_of(pid: u32) -> Option<u32> {
    see(pid).map(|observed| observed.session)
}

/// The processes of a session that still run.
pub fn session_members(session: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_member = |pid: &u32| {
        see(*pid).is_some_and(|observed| observed.session == session && observed.is_running())
    };
    pids.filter(is_member).collect()
}

fn see(pid: u32) -> Option<ProcessStatus> {
    parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Reads `/proc/PID/stat` as `man proc` describes it. The name, in parentheses, may hold anything.
fn parse(pid: u32, stat: &str) -> Option<ProcessStatus> {
    let (before, rest) = stat.rsplit_once(") ")?;
    let name = before.split_once('(')?.1.to_owned();
    let mut fields = rest.split(' ');
    let state = fields.next()?.chars().next()?;
    let session = fields.nth(2)?.parse().ok()?;
    let started = fields.nth(15)?.parse().ok()?;
    Some(ProcessStatus { parent: Parent { pid, started, name }, state, session })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_the_kernel_orders_them() {
        let stat = "42 (a (b) c) S 1 41 40 0 -1 4194560 1 2 3 4 150 50 7 8 20 0 5 0 12345 9000 7";
        let observed = parse(42, stat).unwrap();
        assert_eq!(observed.parent, Parent { pid: 42, started: 12_345, name: "a (b) c".into() });
        assert_eq!((observed.state, observed.session), ('S', 40));
    }

    #[test]
    fn a_process_counts_as_ended_although_nobody_collected_its_exit_status() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let parent = see(child.id()).unwrap().parent;
        assert!(parent.is_alive());
        let other = Parent { started: parent.started + 1, ..parent.clone() };
        other.wait_for_end();
        child.kill().unwrap();
        parent.wait_for_end();
        assert!(!parent.is_alive());
        child.wait().unwrap();
        assert!(Parent::this_process().unwrap().is_alive());
    }
}
