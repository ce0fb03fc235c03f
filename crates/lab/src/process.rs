//! A process that ends when its holder does.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::error::LabError;
use crate::record::{Death, ServerRecord};
use crate::usage::{family, is_motionless, runs, stands_still, started};

/// How long a process has to end by itself after SIGTERM.
const SECONDS_TO_END: u32 = 20;
/// How often a wait checks its condition.
pub(crate) const LOOK: Duration = Duration::from_millis(50);
/// How many looks there are in a second.
const LOOKS_PER_SECOND: u32 = 20;
/// How much of a log an error shows.
const LOG_TAIL_BYTES: u64 = 1500;

/// A running process of a node.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) role: String,
    pub(crate) log: PathBuf,
    child: Child,
    started: u64,
    /// Whether we wanted it to end.
    is_done_with: bool,
    died: Option<Death>,
}

impl Server {
    /// Starts `words` with its output going to `log`.
    ///
    /// The kernel kills it when the thread that called this ends, however that comes: `setpriv`
    /// requests that, which also changes the user.
    pub(crate) fn spawn(
        role: &str,
        prefix: &[String],
        user: Option<&str>,
        command: impl FnOnce(&mut Command),
        log: &Path,
    ) -> Result<Server, LabError> {
        let failed = |error| LabError::io(log, "cannot write", error);
        let output = File::options().create(true).append(true).open(log).map_err(failed)?;
        let mut words = prefix.iter().cloned().chain(["setpriv".to_owned()]);
        let mut process = Command::new(words.next().expect("setpriv is always there"));
        process.args(words).args(["--pdeathsig", "KILL"]);
        if let Some(user) = user {
            process.args([format!("--reuid={user}"), format!("--regid={user}")]);
            process.arg("--clear-groups");
        }
        process.arg("--");
        command(&mut process);
        let errors = output.try_clone().map_err(failed)?;
        process.stdin(Stdio::null()).stdout(output).stderr(errors);
        let child = process.spawn().map_err(|error| {
            let first = process.get_program().display();
            LabError::Missing(format!("cannot run {first} ({error}); it comes with util-linux"))
        })?;
        // It cannot have been reaped yet, so the kernel still knows it.
        let started = started(child.id()).unwrap_or(0);
        Ok(Server {
            role: role.to_owned(),
            log: log.to_owned(),
            child,
            started,
            is_done_with: false,
            died: None,
        })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn record(&self) -> ServerRecord {
        let (role, log) = (self.role.clone(), self.log.clone());
        let died = self.died.clone();
        ServerRecord { role, pid: self.pid(), started: self.started, log, died }
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<String> {
        match self.child.try_wait() {
            Ok(None) => None,
            Ok(Some(status)) => Some(status.to_string()),
            Err(error) => Some(error.to_string()),
        }
    }

    /// How it ended, if it did so by itself.
    pub(crate) fn missed(&mut self) -> Option<String> {
        self.ended().filter(|_| !self.is_done_with)
    }

    /// How it ended, if it did so by itself and that was not recorded before `unix_ms`.
    pub(crate) fn notice_death(&mut self, unix_ms: u64) -> Option<&Death> {
        if self.died.is_some() {
            return None;
        }
        self.died = self.missed().map(|how| Death { unix_ms, how });
        self.died.as_ref()
    }

    /// From now on its end is expected, also if it has ended already.
    pub(crate) fn let_go(&mut self) {
        self.is_done_with = true;
    }

    pub(crate) fn signal(&mut self, signal: Signal) {
        if self.ended().is_none() {
            // It may end in this moment, which is what most signals are for.
            let _ = kill_process(Pid::from_child(&self.child), signal);
        }
    }

    /// As [`Server::signal`], to everything that it has started as well: a server of processes
    /// is suspended, or is killed, with all of them.
    pub(crate) fn signal_family(&mut self, signal: Signal) {
        if self.ended().is_some() {
            return;
        }
        // A process that was started between listing and stopping is found by the second listing.
        for _ in 0..2 {
            for pid in family(self.pid()) {
                if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                    let _ = kill_process(pid, signal);
                }
            }
        }
    }

    /// Tells it to end, and kills it if it does not.
    pub(crate) fn end(&mut self) {
        self.is_done_with = true;
        self.signal(Signal::TERM);
        // A suspended one could not handle the signal.
        self.signal_family(Signal::CONT);
        for _ in 0..SECONDS_TO_END * LOOKS_PER_SECOND {
            if self.ended().is_some() {
                return;
            }
            thread::sleep(LOOK);
        }
        self.kill();
    }

    /// Whether all of it is suspended.
    pub(crate) fn stands_still(&self) -> bool {
        family(self.pid()).into_iter().all(stands_still)
    }

    /// Whether no thread of it, of what it has started, does anything: none is in the midst of a
    /// sync either.
    pub(crate) fn is_motionless(&self) -> bool {
        family(self.pid()).into_iter().all(is_motionless)
    }

    /// As [`Server::kill`], but does not wait for its end.
    pub(crate) fn strike(&mut self) {
        self.is_done_with |= self.ended().is_none();
        self.signal_family(Signal::KILL);
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.is_done_with |= self.ended().is_none();
        if self.ended().is_none() {
            let all = family(self.pid());
            self.signal_family(Signal::KILL);
            let _ = self.child.wait();
            // What it had started dies as well, but later: until then ports and memory are taken.
            for _ in 0..SECONDS_TO_END * LOOKS_PER_SECOND {
                if !all.iter().any(|pid| runs(*pid)) {
                    break;
                }
                thread::sleep(LOOK);
            }
        }
    }

    /// The end of what it has said.
    pub(crate) fn last_words(&self) -> String {
        tail(&self.log, LOG_TAIL_BYTES)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        clean_up_clock(self.pid());
    }
}

/// The last `bytes` of a file, from the beginning of a line.
pub fn tail(path: &Path, bytes: u64) -> String {
    let read = || {
        let length = fs::metadata(path)?.len();
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(length.saturating_sub(bytes)))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        std::io::Result::Ok((String::from_utf8_lossy(&text).into_owned(), length > bytes))
    };
    match read() {
        Ok((text, true)) => text.split_once('\n').map_or(text.clone(), |(_, rest)| rest.to_owned()),
        Ok((text, false)) => text,
        Err(error) => format!("({} cannot be read: {error})", path.display()),
    }
}

/// Removes what libfaketime, see `clock`, has left in shared memory of a process that has ended.
pub(crate) fn clean_up_clock(pid: u32) {
    for name in ["faketime_shm_", "sem.faketime_sem_"] {
        // Mostly there is nothing.
        let _ = fs::remove_file(format!("/dev/shm/{name}{pid}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeper(folder: &Path) -> Server {
        let command = |process: &mut Command| {
            process.args(["sh", "-c", "echo begun; exec sleep 60"]);
        };
        Server::spawn("test", &[], None, command, &folder.join("log")).unwrap()
    }

    #[test]
    fn a_process_ends_on_request() {
        let folder = tempfile::tempdir().unwrap();
        let mut server = sleeper(folder.path());
        assert!(server.ended().is_none());
        assert!(server.record().is_alive());
        while server.last_words().is_empty() {
            thread::sleep(LOOK);
        }
        server.end();
        assert!(server.ended().is_some());
        assert!(!server.record().is_alive());
        assert_eq!(server.last_words(), "begun\n");
    }

    #[test]
    fn a_process_ends_with_the_thread_that_started_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let thread = thread::spawn(move || {
            let server = sleeper(&path);
            while server.last_words().is_empty() {
                thread::sleep(LOOK);
            }
            let record = server.record();
            std::mem::forget(server);
            record
        });
        let record = thread.join().unwrap();
        for _ in 0..100 {
            if !runs(record.pid) {
                return;
            }
            thread::sleep(LOOK);
        }
        panic!("it lives on");
    }

    #[test]
    fn the_tail_of_a_file_begins_with_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, "first\nsecond\nthird\n").unwrap();
        assert_eq!(tail(&path, 10), "third\n");
        assert_eq!(tail(&path, 100), "first\nsecond\nthird\n");
    }
}
