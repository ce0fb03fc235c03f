//! The logs of a lab's servers, of one that is gone too.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use assay_lab::{LOG, LabEntry, Record, is_held, is_marked};
use clap::{ArgMatches, Args, FromArgMatches};

use super::{LabArg, from_one, labs};
use crate::exit::{Exit, usage};
use crate::show::put;

/// The name of the supervisor's log in labs of earlier releases.
const OLD_LOG: &str = "keeper.log";
/// How much of a log is looked at for its last lines.
const TAIL_BYTES: u64 = 1 << 20;
/// How often a log that is followed is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// How often is looked whether a folder that is being removed is gone.
const LOOKS_AT_REMOVAL: u32 = 100;

/// What can be typed.
#[derive(Args, Debug)]
#[command(about = "The logs of a lab's servers")]
pub struct LogsArgs {
    #[command(flatten)]
    lab: LabArg,
    /// Only of this node
    #[arg(long, value_name = "N")]
    node: Option<String>,
    /// How many lines of each log
    #[arg(long, value_name = "K", default_value = "20")]
    lines: String,
    /// Follow the logs
    #[arg(short, long)]
    follow: bool,
}

/// `assay lab logs`.
pub fn logs(matches: &ArgMatches) -> Result<Exit> {
    let arguments = LogsArgs::from_arg_matches(matches)?;
    let lines = from_one("lines", &arguments.lines)?;
    let found = labs(matches)?.find(arguments.lab.lab.as_deref())?;
    let node = arguments.node.map(|text| from_one("node", &text)).transpose()?;
    let mut logs = logs_of(&found, node)?;
    let is_alone = logs.len() == 1;
    for log in &mut logs {
        let mut text = log.tail(lines);
        if !arguments.follow {
            text = last(&(text + &log.rest()), lines);
        }
        put(&format!("{}{text}", log.heading(is_alone)), None)?;
    }
    if arguments.follow {
        follow(&found.folder, &mut logs)?;
        eprintln!("{}", farewell(&found));
    }
    Ok(Exit::Fine)
}

/// A log that is read from somewhere on. Its file stays open, so that what is said at last can be
/// read although the file has been removed meanwhile.
struct Log {
    title: String,
    path: PathBuf,
    file: Option<File>,
    /// What was read and not shown: a line whose end has not been written yet.
    begun: Vec<u8>,
}

impl Log {
    fn new(title: String, path: PathBuf) -> Log {
        Log { title, path, file: None, begun: Vec::new() }
    }

    /// The last lines that are whole. What follows them is what is read next.
    fn tail(&mut self, lines: usize) -> String {
        let (text, is_cut) = match self.open() {
            Ok(is_cut) => (self.added(), is_cut),
            Err(error) => return format!("({} cannot be read: {error})\n", self.path.display()),
        };
        let text = match text.split_once('\n') {
            // The first line has lost its beginning.
            Some((_, rest)) if is_cut => rest,
            _ => &text,
        };
        last(text, lines)
    }

    /// Opens the file near its end; whether something lies before.
    fn open(&mut self) -> std::io::Result<bool> {
        let mut file = File::open(&self.path)?;
        let begin = file.metadata()?.len().saturating_sub(TAIL_BYTES);
        file.seek(SeekFrom::Start(begin))?;
        self.file = Some(file);
        Ok(begin > 0)
    }

    /// The whole lines that were added since it was read last.
    fn added(&mut self) -> String {
        if self.file.is_none() {
            // Somebody may have made it by now.
            self.file = File::open(&self.path).ok();
        }
        if let Some(file) = &mut self.file {
            // What was read until it broke is shown; the rest comes the next time.
            let _ = file.read_to_end(&mut self.begun);
        }
        let end = self.begun.iter().rposition(|byte| *byte == b'\n').map_or(0, |place| place + 1);
        let whole: Vec<u8> = self.begun.drain(..end).collect();
        String::from_utf8_lossy(&whole).into_owned()
    }

    /// The last line, if its end has not been written.
    fn rest(&mut self) -> String {
        let rest = std::mem::take(&mut self.begun);
        match rest.is_empty() {
            true => String::new(),
            false => String::from_utf8_lossy(&rest).into_owned() + "\n",
        }
    }

    /// A log that is alone needs no title.
    fn heading(&self, is_alone: bool) -> String {
        if is_alone { String::new() } else { format!("==> {}\n", self.title) }
    }
}

/// The logs of a lab, or of one of its nodes.
fn logs_of(found: &LabEntry, node: Option<usize>) -> Result<Vec<Log>> {
    let record = Record::read(&found.folder)?;
    let nodes = record.map(|record| record.nodes).unwrap_or_default();
    if let Some(number) = node
        && nodes.iter().all(|node| node.number != number)
    {
        let there = match nodes.len() {
            0 => "it has none yet".to_owned(),
            count => format!("it has 1 to {count}"),
        };
        return Err(usage(format!("lab {} has no node {number}; {there}", found.name)));
    }
    let mut logs = Vec::new();
    for one in nodes.iter().filter(|one| node.is_none_or(|number| one.number == number)) {
        for server in &one.servers {
            let title = format!("node {}, {}", one.number, server.role);
            logs.push(Log::new(title, server.log.clone()));
        }
    }
    if node.is_none() {
        // A lab of an earlier release has it by its old name.
        let logged = [LOG, OLD_LOG].map(|name| found.folder.join(name));
        let path = logged.iter().find(|path| path.exists()).unwrap_or(&logged[0]);
        logs.push(Log::new("supervisor".to_owned(), path.clone()));
    }
    Ok(logs)
}

/// The last lines of a text.
fn last(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    let displayed = &all[all.len().saturating_sub(lines)..];
    displayed.iter().map(|line| format!("{line}\n")).collect()
}

/// Shows what is added to the logs until the lab is gone, to its last word.
fn follow(folder: &Path, logs: &mut [Log]) -> Result<()> {
    let is_alone = logs.len() == 1;
    loop {
        let is_over = !is_held(folder);
        // Servers may end a moment after their supervisor.
        std::thread::sleep(LOOK);
        for log in &mut *logs {
            let mut added = log.added();
            if is_over {
                added.push_str(&log.rest());
            }
            if !added.is_empty() {
                put(&format!("{}{added}", log.heading(is_alone)), None)?;
            }
        }
        if is_over {
            return Ok(());
        }
    }
}

/// Why nothing more will come.
fn farewell(found: &LabEntry) -> String {
    let name = &found.name;
    // A supervisor that ends its lab needs a moment to remove everything.
    let is_being_removed = || found.folder.exists() && !is_marked(&found.folder);
    for _ in 0..LOOKS_AT_REMOVAL {
        if !is_being_removed() {
            break;
        }
        std::thread::sleep(LOOK);
    }
    match found.folder.exists() {
        true => format!(
            "lab {name} is gone: the process that kept it has ended; `assay lab down {name}` \
             removes what it left"
        ),
        false => format!("lab {name} is down"),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_last_lines_are_the_last() {
        assert_eq!(last("a\nb\nc\n", 2), "b\nc\n");
        assert_eq!(last("a\nb", 9), "a\nb\n");
        assert_eq!(last("", 3), "");
    }

    #[test]
    fn a_line_is_shown_once_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut file = File::create(&path).unwrap();
        let mut say = |text: &str| file.write_all(text.as_bytes()).unwrap();
        let mut log = Log::new("test".into(), path.clone());
        say("one\ntwo\nthr");
        assert_eq!(log.tail(1), "two\n");
        assert_eq!(log.added(), "");
        say("ee\nfour");
        assert_eq!(log.added(), "three\n");
        std::fs::remove_file(&path).unwrap();
        say("teen\nlast\nword");
        assert_eq!(log.added(), "fourteen\nlast\n");
        assert_eq!((log.rest(), log.rest()), ("word\n".to_owned(), String::new()));
    }

    #[test]
    fn a_long_log_is_shown_from_the_beginning_of_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let line = "x".repeat(99) + "\n";
        std::fs::write(&path, line.repeat(20_000)).unwrap();
        let displayed = Log::new("test".into(), path).tail(1_000_000);
        assert!(displayed.lines().all(|displayed| displayed.len() == 99), "{}", displayed.len());
        assert_eq!(displayed.lines().count() as u64, TAIL_BYTES / 100);
    }

    #[test]
    fn a_log_that_is_not_there_yet_is_read_when_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = Log::new("test".into(), path.clone());
        assert!(log.tail(3).contains("cannot be read"));
        std::fs::write(&path, "here\n").unwrap();
        assert_eq!(log.added(), "here\n");
    }
}
