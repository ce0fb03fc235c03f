//! A program that runs to its end within a time, for its output.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::error::LabError;
use crate::process::LOOK;
use crate::usage::family;

/// How much of what a program said an error shows.
const SHOWN_BYTES: usize = 1500;
/// How much of what a program says is taken at once.
const CHUNK_BYTES: usize = 8192;
/// How long is waited for the end of what a program that has ended has said: somebody whom it has
/// started may still hold its output open, for as long as it likes.
const SECONDS_TO_CLOSE: u32 = 1;

/// A wait that can be cancelled, with a report of progress.
pub struct Watch<'a> {
    stop: &'a AtomicBool,
    tell: &'a dyn Fn(&str),
}

impl<'a> Watch<'a> {
    /// Waits until `stop` is raised; `tell` is called with each line of progress.
    pub fn new(stop: &'a AtomicBool, tell: &'a dyn Fn(&str)) -> Watch<'a> {
        Watch { stop, tell }
    }

    /// Says what goes on.
    pub fn tell(&self, text: &str) {
        (self.tell)(text);
    }

    /// # Errors
    /// If it was cancelled.
    pub fn check(&self) -> Result<(), LabError> {
        if self.stop.load(Ordering::Relaxed) { Err(LabError::Stopped) } else { Ok(()) }
    }

    /// Waits for a moment.
    ///
    /// # Errors
    /// If it was cancelled.
    pub fn pause(&self) -> Result<(), LabError> {
        self.check()?;
        thread::sleep(LOOK);
        self.check()
    }

    /// Waits until `has_come`, for at most about `seconds` and the time that one look takes.
    ///
    /// # Errors
    /// If it does not come in that time, the check fails, or it was cancelled.
    pub fn until(
        &self,
        what: &str,
        seconds: u32,
        mut has_come: impl FnMut() -> Result<bool, LabError>,
    ) -> Result<(), LabError> {
        let end = Deadline::in_seconds(seconds);
        while !has_come()? {
            if end.is_over() {
                let reason = format!("waited for {what} for {seconds} s in vain");
                return Err(LabError::Failed(reason));
            }
            self.pause()?;
        }
        Ok(())
    }
}

/// The end of a time that begins when it is made. Looks may take long, so they cannot be counted;
/// this crate reads no clock, so a thread sleeps that long.
struct Deadline {
    is_over: Arc<AtomicBool>,
    /// Wakes the thread when the wait was cancelled.
    _waiting: Sender<()>,
}

impl Deadline {
    fn in_seconds(seconds: u32) -> Deadline {
        let (waiting, end) = channel::<()>();
        let is_over = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&is_over);
        thread::spawn(move || {
            let timeout = Duration::from_secs(u64::from(seconds));
            if end.recv_timeout(timeout) == Err(RecvTimeoutError::Timeout) {
                flag.store(true, Ordering::Relaxed);
            }
        });
        Deadline { is_over, _waiting: waiting }
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

/// A program with its arguments.
pub(crate) struct Tool {
    program: PathBuf,
    command: Command,
}

impl Tool {
    pub(crate) fn new(program: &Path) -> Tool {
        Tool::behind(&[], program)
    }

    /// A program that cannot be interrupted, in a session of its own: a package client that is
    /// killed in the middle leaves a broken system behind.
    pub(crate) fn apart(program: &Path) -> Tool {
        let mut command = Command::new("setsid");
        command.arg(program);
        Tool { program: program.to_owned(), command }
    }

    /// A program behind the words that put it into a node's place.
    pub(crate) fn behind(prefix: &[String], program: &Path) -> Tool {
        let mut words = prefix.iter().cloned().chain(["setpriv".to_owned()]);
        let mut command = Command::new(words.next().expect("setpriv is always there"));
        command.args(words).args(["--pdeathsig", "KILL", "--"]).arg(program);
        Tool { program: program.to_owned(), command }
    }

    pub(crate) fn args<S: AsRef<std::ffi::OsStr>>(
        mut self,
        args: impl IntoIterator<Item = S>,
    ) -> Tool {
        self.command.args(args);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Tool {
        self.command.env(name, value);
        self
    }

    pub(crate) fn folder(mut self, folder: &Path) -> Tool {
        self.command.current_dir(folder);
        self
    }

    /// Everything that it printed, both ways, if it ended well within about `seconds`.
    pub(crate) fn run(mut self, seconds: u32, watch: &Watch<'_>) -> Result<String, LabError> {
        let name = self.program.display().to_string();
        self.command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let spawned = self.command.spawn();
        let mut child =
            spawned.map_err(|error| LabError::Failed(format!("cannot run {name}: {error}")))?;
        let (out, errors) = (child.stdout.take(), child.stderr.take());
        let received = [out.map(hear), errors.map(hear)];
        let ended = wait(&mut child, &name, seconds, watch);
        let closed = Deadline::in_seconds(SECONDS_TO_CLOSE);
        let reported = received
            .map(|received| received.map_or_else(String::new, |received| all(&received, &closed)));
        let reported = reported.concat();
        if ended? {
            return Ok(reported);
        }
        let begin = reported.len().saturating_sub(SHOWN_BYTES);
        let begin =
            (begin..reported.len()).find(|at| reported.is_char_boundary(*at)).unwrap_or(begin);
        Err(LabError::Failed(format!("{name} failed: {}", reported[begin..].trim())))
    }
}

/// Whether it ended well. Kills it, with all that it has started, when its time is over.
fn wait(child: &mut Child, name: &str, seconds: u32, watch: &Watch<'_>) -> Result<bool, LabError> {
    let mut well = false;
    let ended = watch.until(&format!("{name} to end"), seconds, || {
        let status = child.try_wait();
        let status = status.map_err(|error| LabError::Failed(format!("{name}: {error}")))?;
        well = status.is_some_and(|status| status.success());
        Ok(status.is_some())
    });
    if ended.is_err() {
        for pid in family(child.id()) {
            if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                // It may end in this moment, which is what is wanted.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        let _ = child.wait();
    }
    ended.map(|()| well)
}

/// The output of a pipe, piece by piece, until its end, which comes when no process has the other
/// end any more.
fn hear<R: Read + Send + 'static>(mut from: R) -> Receiver<Vec<u8>> {
    let (said, received) = channel();
    thread::spawn(move || {
        let mut piece = vec![0; CHUNK_BYTES];
        // What came until it broke is what there is.
        while let Ok(count @ 1..) = from.read(&mut piece) {
            if said.send(piece[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    received
}

/// All bytes until the end, or until `closed` is over.
fn all(received: &Receiver<Vec<u8>>, closed: &Deadline) -> String {
    let mut bytes = Vec::new();
    loop {
        match received.recv_timeout(LOOK) {
            Ok(piece) => bytes.extend(piece),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if closed.is_over() {
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str, seconds: u32, stop: bool) -> Result<String, LabError> {
        let (stop, tell) = (AtomicBool::new(stop), |_: &str| {});
        let tool = Tool::new(Path::new("/bin/sh")).args(["-c", script]);
        tool.run(seconds, &Watch::new(&stop, &tell))
    }

    #[test]
    fn what_it_printed_comes_back() {
        assert_eq!(run("echo a; echo b >&2", 20, false).unwrap(), "a\nb\n");
    }

    #[test]
    fn what_it_said_before_it_failed_is_shown() {
        let reported = run("echo broken >&2; exit 3", 20, false).unwrap_err().to_string();
        assert_eq!(reported, "/bin/sh failed: broken");
    }

    #[test]
    fn slow_checks_do_not_prolong_a_wait() {
        let (stop, tell) = (AtomicBool::new(false), |_: &str| {});
        let mut looks = 0;
        let waited = Watch::new(&stop, &tell).until("nothing", 1, || {
            looks += 1;
            thread::sleep(Duration::from_millis(400));
            Ok(false)
        });
        assert!(waited.is_err() && (2..=4).contains(&looks), "{looks} looks");
    }

    #[test]
    fn what_it_has_started_does_not_hold_it_up() {
        // A child that goes on has the output open, which does not matter.
        let begun = Deadline::in_seconds(20);
        assert_eq!(run("echo a; sleep 40 & echo b >&2", 30, false).unwrap(), "a\nb\n");
        let chatty = "while sleep 0.01; do echo x; done & sleep 0.1; echo end >&2";
        assert!(run(chatty, 30, false).unwrap().ends_with("end\n"));
        assert!(!begun.is_over());
    }

    #[test]
    fn what_it_has_started_is_killed_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("pid");
        let begun = Deadline::in_seconds(20);
        let script = format!("sleep 40 & echo $! >{}; wait", mark.display());
        let reported = run(&script, 1, false).unwrap_err().to_string();
        assert_eq!(reported, "waited for /bin/sh to end for 1 s in vain");
        assert!(!begun.is_over());
        let pid: u32 = std::fs::read_to_string(&mark).unwrap().trim().parse().unwrap();
        assert!(!(0..100).all(|_| {
            thread::sleep(LOOK);
            crate::usage::runs(pid)
        }));
    }

    #[test]
    fn a_tool_is_killed_at_its_timeout_or_when_cancelled() {
        let reported = run("exec sleep 60", 1, false).unwrap_err().to_string();
        assert_eq!(reported, "waited for /bin/sh to end for 1 s in vain");
        assert!(matches!(run("exec sleep 60", 20, true), Err(LabError::Stopped)));
    }
}
