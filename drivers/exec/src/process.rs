//! A driver's process with its pipes, which never block us.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionbio;

use super::message::{displayed_line, greeting};
use super::options::Options;
use assay_driver_kit::wire::Inbox;

/// The longest line that a driver may write.
const LONGEST_LINE: usize = 256 << 20;
/// Bytes of standard error that are kept for a message: the last ones.
const STDERR_KEPT: usize = 2048;
/// How often we look whether a process has ended that was told to.
const LOOK: Duration = Duration::from_millis(1);
/// How often we look whether a process has ended whose output has.
const LOOKS_AFTER_OUTPUT: u32 = 50;
/// How often we look until a process that was told to end is killed: about two seconds.
const LOOKS_BEFORE_KILL: u32 = 2000;
/// Bytes that may stay in the buffer after they were sent, so that moving the rest is rare.
const SENT_KEPT: usize = 256 << 10;

/// A driver that runs. It is told to end by the end of its input, and killed if it does not.
pub(super) struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    /// Lines; what is before `sent` is in the pipe.
    out: Vec<u8>,
    sent: usize,
    /// How many bytes went through `out` before its present beginning.
    passed: u64,
    inbox: Inbox,
    /// How many unread bytes are known to hold no end of a line.
    searched: usize,
    stderr: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
    /// The number of the next request.
    pub(super) next: u64,
}

/// The process is of no use any more.
#[derive(Debug)]
pub(super) enum Broken {
    /// Its output has ended, or its input.
    Ended,
    /// It wrote a line that is none of the protocol: the line, and what is wrong with it.
    Garbled(Vec<u8>, String),
    /// It was silent for too long.
    Silent(Duration),
}

impl Process {
    /// Starts the driver as that of `worker`, and greets it.
    ///
    /// # Errors
    /// A sentence that says what to do, if it cannot be started.
    pub(super) fn start(options: &Options, worker: usize) -> Result<Process, String> {
        let mut command = Command::new(&options.program);
        command.args(&options.arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        match &options.stderr {
            None => command.stderr(Stdio::piped()),
            Some(path) => {
                let file = OpenOptions::new().append(true).create(true).open(path);
                let file = file.map_err(|error| {
                    format!("the file of option stderr, {}, does not open: {error}", path.display())
                })?;
                command.stderr(file)
            }
        };
        let mut child = command.spawn().map_err(|error| cannot_start(&options.program, &error))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (Some(input), Some(output)) = (input, output) else {
            return Err("the system gave it no pipes".into());
        };
        let unblocked = ioctl_fionbio(&input, true).and_then(|()| ioctl_fionbio(&output, true));
        unblocked.map_err(|error| format!("its pipes cannot be made to not block: {error}"))?;
        let stderr = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&stderr);
        let reader = child.stderr.take().map(|pipe| thread::spawn(move || keep_end(pipe, &kept)));
        let mut process = Process {
            child,
            input: Some(input),
            output,
            out: greeting(worker, &options.parameters),
            sent: 0,
            passed: 0,
            inbox: Inbox::new(&[]),
            searched: 0,
            stderr,
            reader,
            next: 0,
        };
        // If it has ended already, that is found when its hello is awaited.
        let _ = process.send();
        Ok(process)
    }

    /// The lines that are to be sent, to be added to.
    pub(super) fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Where the next line begins, counted in bytes since the process was started.
    pub(super) fn written(&self) -> u64 {
        self.passed + self.out.len() as u64
    }

    /// How many bytes are in the pipe, or beyond it.
    pub(super) fn sent(&self) -> u64 {
        self.passed + self.sent as u64
    }

    /// Moves what the pipe takes.
    pub(super) fn send(&mut self) -> Result<(), Broken> {
        while self.sent < self.out.len() {
            let Some(input) = &mut self.input else { return Err(Broken::Ended) };
            match input.write(&self.out[self.sent..]) {
                Ok(0) => return Err(Broken::Ended),
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return Err(Broken::Ended),
            }
        }
        if self.sent == self.out.len() || self.sent > SENT_KEPT {
            self.passed += self.sent as u64;
            self.out.drain(..self.sent);
            self.sent = 0;
        }
        Ok(())
    }

    /// Takes what has come; tells whether something has.
    pub(super) fn receive(&mut self) -> Result<bool, Broken> {
        if self.inbox.unread().len() > LONGEST_LINE {
            let reason = format!("a line is longer than {} MiB", LONGEST_LINE >> 20);
            return Err(Broken::Garbled(self.inbox.unread().to_vec(), reason));
        }
        let output = &mut self.output;
        loop {
            return match self.inbox.fill(|room| output.read(room)) {
                Ok(0) => Err(Broken::Ended),
                Ok(_) => Ok(true),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
                Err(_) => Err(Broken::Ended),
            };
        }
    }

    /// Whether a whole line has come.
    pub(super) fn has_line(&mut self) -> bool {
        let unread = &self.inbox.unread()[self.searched..];
        let end = unread.iter().position(|byte| *byte == b'\n');
        self.searched += end.unwrap_or(unread.len());
        end.is_some()
    }

    /// The line that [`Process::has_line`] found, without its end.
    pub(super) fn line(&self) -> &[u8] {
        &self.inbox.unread()[..self.searched]
    }

    /// The line is done with.
    pub(super) fn consume_line(&mut self) {
        self.inbox.consume(self.searched + 1);
        self.searched = 0;
    }

    /// Blocks until something has come, or there is room for what is to be sent, or `timeout` has
    /// passed. May return early.
    pub(super) fn wait(&self, timeout: Duration) {
        let timeout = Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        let output = PollFd::new(&self.output, PollFlags::IN);
        // An error is an interruption, and then we return early, which is allowed.
        let _ = match &self.input {
            Some(input) if self.sent < self.out.len() => {
                poll(&mut [output, PollFd::new(input, PollFlags::OUT)], Some(&timeout))
            }
            _ => poll(&mut [output], Some(&timeout)),
        };
    }

    /// Ends the process, and tells in a sentence without a subject why it was of no use.
    pub(super) fn explain(mut self, broken: &Broken) -> String {
        let mut text = match broken {
            Broken::Garbled(line, reason) => {
                format!("wrote the line {}: {reason}", displayed_line(line))
            }
            Broken::Silent(timeout) => {
                format!("wrote no line within {} ms", timeout.as_millis())
            }
            Broken::Ended => {
                for _ in 0..LOOKS_AFTER_OUTPUT {
                    if !matches!(self.child.try_wait(), Ok(None)) {
                        break;
                    }
                    thread::sleep(LOOK);
                }
                match self.child.try_wait() {
                    Ok(Some(status)) => format!("ended ({status})"),
                    _ => "closed its standard input or output".into(),
                }
            }
        };
        self.kill();
        let stderr = self.last_words();
        if !stderr.is_empty() {
            text.push_str(&format!("; its standard error ends with: {stderr}"));
        }
        text
    }

    /// The end of what it wrote to standard error, if that is kept here.
    fn last_words(&mut self) -> String {
        if let Some(reader) = &self.reader {
            // A process that it has started itself may keep the pipe open.
            for _ in 0..LOOKS_AFTER_OUTPUT {
                if reader.is_finished() {
                    break;
                }
                thread::sleep(LOOK);
            }
        }
        let kept = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).trim().to_owned()
    }

    fn kill(&mut self) {
        self.input = None;
        // Both fail only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    /// Ends the input, and waits for the driver to end; kills it if it does not.
    fn drop(&mut self) {
        self.input = None;
        for _ in 0..LOOKS_BEFORE_KILL {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            // What it still writes must not keep it from ending.
            let _ = self.receive();
            self.inbox.clear();
            thread::sleep(LOOK);
        }
        self.kill();
    }
}

fn cannot_start(program: &str, error: &io::Error) -> String {
    let advice = match error.kind() {
        ErrorKind::NotFound if program.contains('/') => {
            "there is no such file, or the program that its first line names is missing"
        }
        ErrorKind::NotFound => {
            "no directory of PATH has it; a file of this directory is exec:./NAME"
        }
        ErrorKind::PermissionDenied => {
            "it is not executable: chmod +x, or name an interpreter: exec:python3?arg=FILE"
        }
        _ => "a script begins with a line such as #!/usr/bin/env python3",
    };
    format!("{program} cannot be started ({error}): {advice}")
}

/// Keeps the end of what comes through `pipe`, until it is closed.
fn keep_end(mut pipe: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut some = [0; STDERR_KEPT];
    loop {
        match pipe.read(&mut some) {
            Ok(0) => return,
            Ok(count) => {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&some[..count]);
                let excess = kept.len().saturating_sub(STDERR_KEPT);
                kept.drain(..excess);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}
