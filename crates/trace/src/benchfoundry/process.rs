//! The processes of BenchFoundry's traces, one after another.

use std::path::Path;

use super::InputSetError;
use super::lines::Lines;

/// One process as its lines say it.
#[derive(Debug, Default)]
pub(super) struct Process {
    pub id: i64,
    /// From the start of the phase.
    pub start_ms: u64,
    /// Its first line in the file.
    pub line: u64,
    /// How many of its lines say something.
    pub lines: u64,
    pub items: Vec<Item>,
}

/// One line within a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// A transaction begins this long after the one before has ended.
    Begin { delay_ms: u64 },
    /// An operation starts.
    QueryRef(LoggedOperation),
    /// The transaction ends.
    End,
}

/// An operation by the numbers in the lists; none is [`ABSENT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LoggedOperation {
    pub operation: i64,
    pub parameters: i64,
    pub custom: i64,
    pub line: u64,
}

/// The number that stands for no list of parameters.
pub(super) const ABSENT: i64 = -1;

/// Reads a trace with one process in memory.
pub(super) struct Processes {
    lines: Lines,
    /// Start and line of the process before.
    before: Option<(u64, u64)>,
}

impl Processes {
    pub fn open(path: &Path) -> Result<Processes, InputSetError> {
        Ok(Processes { lines: Lines::open(path)?, before: None })
    }

    /// Reads the next process into `into`; false at the end.
    pub fn read(&mut self, into: &mut Process) -> Result<bool, InputSetError> {
        into.items.clear();
        let Some(text) = self.lines.read()? else { return Ok(false) };
        let text = text.to_owned();
        let words: Vec<&str> = text.split(';').map(str::trim).collect();
        let ["BOP", start, id] = words[..] else {
            let reason = format!(
                "{text:?} is outside of a process, which begins with BOP;<start in ms>;<id>"
            );
            return Err(self.lines.wrong(reason));
        };
        into.start_ms = self.time(start, "start")?;
        into.id = self.number(id, "id of the process")?;
        into.line = self.lines.line;
        into.lines = 1;
        self.check_order(into)?;
        self.read_items(into)?;
        Ok(true)
    }

    fn check_order(&mut self, process: &Process) -> Result<(), InputSetError> {
        let Process { id, start_ms, line, .. } = *process;
        if let Some((before, before_line)) = self.before
            && start_ms < before
        {
            return Err(self.lines.wrong(format!(
                "process {id} starts at {start_ms} ms, the one of line {before_line} at {before} \
                 ms: order the processes by their start, as numbers"
            )));
        }
        self.before = Some((start_ms, line));
        Ok(())
    }

    fn read_items(&mut self, into: &mut Process) -> Result<(), InputSetError> {
        let Process { id, line: begun, .. } = *into;
        let mut open: Option<u64> = None;
        loop {
            let Some(text) = self.lines.read()? else {
                return Err(self.lines.wrong(format!(
                    "the file is cut inside process {id} of line {begun}: its EOP is missing"
                )));
            };
            let text = text.to_owned();
            into.lines += 1;
            let words: Vec<&str> = text.split(';').map(str::trim).collect();
            let line = self.lines.line;
            match (words[0], open) {
                ("BOP", _) => {
                    return Err(self.lines.wrong(format!(
                        "process {id} of line {begun} has no EOP before this next one"
                    )));
                }
                ("BOT" | "EOP", Some(transaction)) => {
                    return Err(self.lines.wrong(format!(
                        "the transaction of line {transaction} has no EOT before this {}",
                        words[0]
                    )));
                }
                ("EOT", None) => {
                    return Err(self.lines.wrong("EOT ends no transaction: BOT begins one"));
                }
                ("EOP", None) => return Ok(()),
                ("EOT", Some(_)) => {
                    open = None;
                    into.items.push(Item::End);
                }
                ("BOT", None) => {
                    open = Some(line);
                    let delay_ms = match words.get(1) {
                        Some(delay) => self.time(delay, "delay")?,
                        None => 0,
                    };
                    into.items.push(Item::Begin { delay_ms });
                }
                _ => into.items.push(Item::QueryRef(self.requested(&words)?)),
            }
        }
    }

    fn requested(&self, words: &[&str]) -> Result<LoggedOperation, InputSetError> {
        if words.len() > 3 {
            let reason = "an operation is <operation id>;<parameter id>;<custom parameter id>";
            return Err(self.lines.wrong(reason));
        }
        let optional = |place: usize, what: &str| match words.get(place) {
            Some(word) => self.number(word, what),
            None => Ok(ABSENT),
        };
        Ok(LoggedOperation {
            operation: self.number(words[0], "id of an operation, nor BOP, BOT, EOT, EOP")?,
            parameters: optional(1, "id of parameters")?,
            custom: optional(2, "id of custom parameters")?,
            line: self.lines.line,
        })
    }

    fn number(&self, text: &str, what: &str) -> Result<i64, InputSetError> {
        text.parse().map_err(|_| self.lines.wrong(format!("{text:?} is no {what}")))
    }

    fn time(&self, text: &str, what: &str) -> Result<u64, InputSetError> {
        let wrong =
            || self.lines.wrong(format!("{text:?} is no {what}: whole milliseconds from 0"));
        let time: u64 = text.parse().map_err(|_| wrong())?;
        if time > u64::MAX / 1_000_000 { Err(wrong()) } else { Ok(time) }
    }
}
