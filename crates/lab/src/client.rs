//! Client of a running lab, whoever started it.

use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::LabError;
use crate::fault::{Injected, Injection};
use crate::labs::{LabEntry, Labs};
use crate::record::Record;
use crate::wire::{LabReply, LabRequest, LabStatus};

/// The file in a lab's folder that its supervisor listens at.
pub const SOCKET: &str = "supervisor.sock";
/// The same of a lab that an earlier release has started.
const OLD_SOCKET: &str = "keeper.sock";
/// How long a supervisor may take to report the state of the lab.
const STATUS_TIMEOUT: Duration = Duration::from_secs(10);
/// How often a client that waits for a long request checks whether to go on waiting.
const LOOK: Duration = Duration::from_millis(100);

/// How long an answer is waited for.
#[derive(Clone, Copy)]
enum Timeout<'a> {
    /// So long.
    Limited(Duration),
    /// As long as this says so.
    While(&'a dyn Fn() -> bool),
}

/// Waiting that ends with the answer only.
const FOR_EVER: Timeout<'static> = Timeout::While(&|| true);

/// A lab that is up. Each question goes through a connection of its own, so this value can be kept
/// and shared as long as one likes.
#[derive(Clone, Debug)]
pub struct LabClient {
    name: String,
    folder: PathBuf,
}

impl LabClient {
    /// The lab that `lab` means: a name, or a folder (with a `/` in it).
    ///
    /// # Errors
    /// If there is none, or its supervisor is gone.
    pub fn connect(labs: &Labs, lab: &str) -> Result<LabClient, LabError> {
        LabClient::of(labs.find(Some(lab))?)
    }

    /// A lab that was found.
    ///
    /// # Errors
    /// If its supervisor is gone.
    pub fn of(found: LabEntry) -> Result<LabClient, LabError> {
        let LabEntry { name, folder, is_held, .. } = found;
        if is_held {
            return Ok(LabClient { name, folder });
        }
        Err(unreachable(format!(
            "lab {name} is gone: the process that kept it was killed; `assay lab down {name}` \
             cleans up, `assay lab up` starts it anew"
        )))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// How it is.
    ///
    /// # Errors
    /// If its supervisor does not respond.
    pub fn status(&self) -> Result<LabStatus, LabError> {
        self.send(&LabRequest::Status, Timeout::Limited(STATUS_TIMEOUT), &mut |_| {}).map(of_status)
    }

    /// What is written down about it: URL, version, nodes with their processes.
    ///
    /// # Errors
    /// If its supervisor does not respond, or it is not ready yet.
    pub fn record(&self) -> Result<Record, LabError> {
        let status = self.status()?;
        let ready = status.record.filter(|record| !record.url.is_empty());
        ready.ok_or_else(|| {
            unreachable(format!("lab {} is not ready yet; `assay lab status` tells", self.name))
        })
    }

    /// Lets nodes join or leave until there are `nodes`, and returns when they did; the URL may be
    /// another one then. `tell` is called with the progress.
    ///
    /// # Errors
    /// If the store cannot have so many, the lab does something else, or a node fails: then there
    /// are as many as did join or leave.
    pub fn scale(&self, nodes: usize, tell: &mut dyn FnMut(&str)) -> Result<LabStatus, LabError> {
        self.send(&LabRequest::Scale { nodes }, FOR_EVER, tell).map(of_status)
    }

    /// Breaks something, or mends it, and returns when that shows: how, and how the lab is then.
    ///
    /// # Errors
    /// If there is no such node, the lab does something else, or a restarted node does not start.
    pub fn fault(
        &self,
        injection: &Injection,
        tell: &mut dyn FnMut(&str),
    ) -> Result<(LabStatus, Injected), LabError> {
        let done = self.send(&LabRequest::Fault(injection.clone()), FOR_EVER, tell)?;
        Ok((done.status, done.injected.unwrap_or_default()))
    }

    /// Sends `request`, and returns when it is done, or when `is_expected` says that nobody waits
    /// any more. The fault that was injected, if it was about one.
    ///
    /// # Errors
    /// If it cannot be done, or as [`LabError::GoesOn`] if the lab is still at it.
    pub fn change(
        &self,
        request: &LabRequest,
        is_expected: &dyn Fn() -> bool,
    ) -> Result<Option<Injected>, LabError> {
        let sent = self.send(request, Timeout::While(is_expected), &mut |_| {});
        sent.map(|done| done.injected)
    }

    /// Ends it, data included, also in the midst of something, and returns when nothing is left.
    ///
    /// # Errors
    /// If its folder cannot be removed.
    pub fn down(&self) -> Result<(), LabError> {
        self.down_while(&|| true)
    }

    /// As [`LabClient::down`], but waits only while `is_expected`.
    ///
    /// # Errors
    /// If its folder cannot be removed, or the wait was cancelled.
    pub fn down_while(&self, is_expected: &dyn Fn() -> bool) -> Result<(), LabError> {
        match self.send(&LabRequest::Down, Timeout::While(is_expected), &mut |_| {}) {
            // Another process was faster.
            Err(_) if !self.folder.exists() => Ok(()),
            ended => ended.map(|_| ()),
        }
    }

    fn send(
        &self,
        request: &LabRequest,
        timeout: Timeout<'_>,
        tell: &mut dyn FnMut(&str),
    ) -> Result<DoneRequest, LabError> {
        let broken = |error: io::Error| match timeout {
            Timeout::While(_) if is_late(&error) => LabError::GoesOn { name: self.name.clone() },
            Timeout::Limited(_) if is_late(&error) => {
                unreachable(format!("the supervisor of lab {} does not answer", self.name))
            }
            _ => unreachable(format!("cannot query the supervisor of lab {}: {error}", self.name)),
        };
        let connect = |name| UnixStream::connect(self.folder.join(name));
        let mut socket = connect(SOCKET).or_else(|_| connect(OLD_SOCKET)).map_err(broken)?;
        let look = match timeout {
            Timeout::Limited(time) => time,
            Timeout::While(_) => LOOK,
        };
        socket.set_read_timeout(Some(look)).map_err(broken)?;
        let line = serde_json::to_string(request).expect("a request is plain data") + "\n";
        socket.write_all(line.as_bytes()).map_err(broken)?;
        let lines = Lines { reader: BufReader::new(socket), timeout, begun: Vec::new() };
        hear(lines, tell, broken)?.ok_or_else(|| {
            unreachable(format!(
                "the supervisor of lab {} ended before it answered; `assay lab status` tells more",
                self.name
            ))
        })
    }
}

/// What a supervisor answers when it has done what it was asked.
#[derive(Clone, Debug)]
pub struct DoneRequest {
    /// How the lab is now.
    pub status: LabStatus,
    /// The fault that was injected, if one was.
    pub injected: Option<Injected>,
}

fn of_status(done: DoneRequest) -> LabStatus {
    done.status
}

/// The lines of a response as they come, until a timeout.
struct Lines<'a, R> {
    reader: BufReader<R>,
    timeout: Timeout<'a>,
    /// A line whose end has not come yet.
    begun: Vec<u8>,
}

impl<R: io::Read> Iterator for Lines<'_, R> {
    type Item = io::Result<String>;

    fn next(&mut self) -> Option<io::Result<String>> {
        loop {
            // What came before the time was over stays in `begun`.
            match (self.reader.read_until(b'\n', &mut self.begun), self.timeout) {
                (Ok(_), _) => break,
                (Err(error), Timeout::While(is_expected)) if is_late(&error) && is_expected() => {}
                (Err(error), _) => return Some(Err(error)),
            }
        }
        let line = String::from_utf8(std::mem::take(&mut self.begun));
        let line = line.map_err(|error| io::Error::new(ErrorKind::InvalidData, error));
        Some(line).filter(|line| line.as_ref().map_or(true, |line| !line.is_empty()))
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Reads a supervisor's whole response. `None` if it ended before it sent the outcome.
///
/// # Errors
/// If it failed, or its response is invalid.
pub fn hear(
    lines: impl Iterator<Item = io::Result<String>>,
    tell: &mut dyn FnMut(&str),
    broken: impl Fn(io::Error) -> LabError,
) -> Result<Option<DoneRequest>, LabError> {
    for line in lines {
        let line = line.map_err(&broken)?;
        match serde_json::from_str(&line).map_err(|error| broken(error.into()))? {
            LabReply::Tell { text } => tell(&text),
            LabReply::Done { status, injected } => {
                return Ok(Some(DoneRequest { status: *status, injected }));
            }
            LabReply::Failed { text, is_not_installed: true, .. } => {
                return Err(LabError::NotInstalled(text));
            }
            LabReply::Failed { text, exit, .. } => return Err(LabError::told(text, exit)),
        }
    }
    Ok(None)
}

fn unreachable(message: String) -> LabError {
    LabError::Failed(message)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Gives pieces of a text, each after a time in which nothing comes.
    struct Slow(Vec<&'static [u8]>, bool);

    impl io::Read for Slow {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            match (self.1, self.0.is_empty()) {
                (true, _) => Err(ErrorKind::WouldBlock.into()),
                (false, true) => Ok(0),
                (false, false) => {
                    let piece = self.0.remove(0);
                    to[..piece.len()].copy_from_slice(piece);
                    Ok(piece.len())
                }
            }
        }
    }

    fn lines<'a>(is_expected: &'a dyn Fn() -> bool, text: &[&'static [u8]]) -> Lines<'a, Slow> {
        let reader = BufReader::new(Slow(text.to_vec(), false));
        Lines { reader, timeout: Timeout::While(is_expected), begun: Vec::new() }
    }

    #[test]
    fn a_line_that_comes_in_pieces_is_whole() {
        let all: io::Result<Vec<String>> =
            lines(&|| true, &[b"on", b"e\ntw", b"o\n", b"three"]).collect();
        assert_eq!(all.unwrap(), ["one\n", "two\n", "three"]);
    }

    #[test]
    fn what_could_be_installed_is_distinguished_from_what_is_missing() {
        let describe = |line: &str| {
            let lines = [Ok(line.to_owned())].into_iter();
            hear(lines, &mut |_| {}, |error| panic!("{error}")).unwrap_err()
        };
        let missing = describe(r#"{"reply":"failed","text":"no java","exit":4}"#);
        assert!(matches!(missing, LabError::Failed(_)) && missing.code() == 4);
        let line = r#"{"reply":"failed","text":"say --install","exit":4,"is_not_installed":true}"#;
        let installable = describe(line);
        assert!(matches!(installable, LabError::NotInstalled(_)) && installable.code() == 4);
        assert_eq!(installable.to_string(), "say --install");
    }

    #[test]
    fn a_cancelled_wait_ends() {
        let times = Cell::new(0);
        let is_expected = || {
            times.set(times.get() + 1);
            times.get() < 3
        };
        let describe: Vec<_> = lines(&is_expected, &[b"a\nb", b"c", b"d"]).take(2).collect();
        assert_eq!(describe[0].as_ref().unwrap(), "a\n");
        assert!(is_late(describe[1].as_ref().unwrap_err()), "{describe:?}");
    }
}
