//! The requests of an imported trace, one after the other.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufRead, Read as _};

use assay_model::Nanos;

use super::cachelib::CacheLib;
use super::guess::{Look, guess};
use super::kv_replay::KvReplay;
use super::monitor::Monitor;
use super::oracle::Oracle;
use super::parse::{Fault, Parse};
use super::request::{Format, ImportedRequest, TimestampPrecision};
use super::twitter::Twitter;

/// A longer line is no request: Redis's longest values fill a gigabyte of escapes, others nothing
/// near.
const LONGEST_LINE: u64 = 16 << 20;
/// Bytes by which a format is recognised.
const START: u64 = 1024;
/// More different commands than this are counted together.
const NAMES_MAX: usize = 64;
/// The name under which they are counted.
const OTHERS: &str = "others";

/// A place in an imported file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// This line, from 1.
    Line(u64),
    /// This record, from 1, of records of equal length.
    Record(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(number) => write!(f, "line {number}"),
            Place::Record(number) => write!(f, "record {number}"),
        }
    }
}

/// A line that is no request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bad {
    /// Which line.
    pub place: Place,
    /// What is wrong with it.
    pub reason: String,
}

/// An imported trace could not be read any further.
#[derive(Debug, thiserror::Error)]
pub enum ImportedTraceError {
    /// The file system refused, or a packed file is damaged.
    #[error("after {place}: {source}")]
    Io {
        /// The last line that was read.
        place: Place,
        /// What the system said.
        source: io::Error,
    },
    /// There is nothing in the file.
    #[error("it is empty; {} expects {}", .format.name(), .format.expected())]
    Empty {
        /// The format that was named.
        format: Format,
    },
    /// A line is no request, and no more such lines are tolerated.
    #[error(
        "{}: {}; {} expects {}{}",
        .bad.place, .bad.reason, .format.name(), .format.expected(), tolerance(*.tolerated)
    )]
    Bad {
        /// Which line, and why.
        bad: Bad,
        /// The format that was named.
        format: Format,
        /// How many bad lines were tolerated before this one.
        tolerated: u64,
    },
    /// The file is of another format.
    #[error("{}: {}, and {look}", .bad.place, .bad.reason)]
    Other {
        /// What is wrong if it were of the format that was named.
        bad: Bad,
        /// What it looks like.
        look: Look,
    },
    /// Too many lines carry the same stamp to be spread within it.
    #[error(
        "up to {place}: more than {most} lines carry the same time, so they cannot be spread \
         over it in memory; take a part of the keys by --sample-keys"
    )]
    Crowd {
        /// The last line that was read.
        place: Place,
        /// How many are possible.
        most: usize,
    },
}

fn tolerance(tolerated: u64) -> String {
    match tolerated {
        0 => "; --skip-bad N passes over up to N such lines".to_owned(),
        1 => " (the one bad line that --skip-bad allows came before)".to_owned(),
        many => format!(" (the {many} bad lines that --skip-bad allows came before)"),
    }
}

/// The counts of an import so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadTotals {
    /// Lines or records, without a header.
    pub lines: u64,
    /// Requests among them, each as often as it was sent.
    pub requests: u64,
    /// Lines that were no requests.
    pub bad: u64,
    /// The first of these.
    pub first_bad: Option<Bad>,
    /// Lines of unsupported commands, by name.
    pub passed_over: BTreeMap<String, u64>,
}

impl ReadTotals {
    /// Counts a command that is not supported, by its name if there are not too many names.
    pub fn pass_over(&mut self, name: String) {
        let names = &mut self.passed_over;
        let name = match names.len() {
            NAMES_MAX.. if !names.contains_key(&name) => OTHERS.to_owned(),
            _ => name,
        };
        *names.entry(name).or_insert(0) += 1;
    }
}

/// Requests that become a trace, in the order of their times.
pub trait RequestSource: Iterator<Item = Result<ImportedRequest, ImportedTraceError>> {
    /// How finely it says when.
    fn timestamps(&self) -> TimestampPrecision;

    /// What was read so far.
    fn totals(&self) -> ReadTotals;
}

impl RequestSource for Requests {
    fn timestamps(&self) -> TimestampPrecision {
        self.parser.timestamps()
    }

    fn totals(&self) -> ReadTotals {
        self.totals.clone()
    }
}

/// The requests of an imported trace, in the order of its lines; ends after an error.
pub struct Requests {
    from: Box<dyn BufRead>,
    format: Format,
    parser: Box<dyn Parse>,
    look: Option<Look>,
    tolerated: u64,
    line: Vec<u8>,
    number: u64,
    parsed: Vec<ImportedRequest>,
    next: usize,
    latest: Nanos,
    totals: ReadTotals,
    is_over: bool,
}

impl Requests {
    /// Begins to read `from`, which is unpacked; up to `tolerated` bad lines are passed over.
    ///
    /// # Errors
    /// If it is empty, cannot be read, or its header is none.
    pub fn open(
        mut from: Box<dyn BufRead>,
        format: Format,
        tolerated: u64,
    ) -> Result<Requests, ImportedTraceError> {
        let io = |source| ImportedTraceError::Io { place: Place::Line(0), source };
        let mut start = Vec::new();
        from.by_ref().take(START).read_to_end(&mut start).map_err(io)?;
        if start.trim_ascii().is_empty() && format != Format::Oracle || start.is_empty() {
            return Err(ImportedTraceError::Empty { format });
        }
        let look = guess(&start).filter(|look| *look != Look::Foreign(format));
        let mut requests = Requests {
            from: Box::new(io::Cursor::new(start).chain(from)),
            format,
            parser: Box::new(Oracle),
            look,
            tolerated,
            line: Vec::new(),
            number: 0,
            parsed: Vec::new(),
            next: 0,
            latest: Nanos::ZERO,
            totals: ReadTotals::default(),
            is_over: false,
        };
        requests.parser = requests.begin()?;
        Ok(requests)
    }

    /// The parser of the format, past its header.
    fn begin(&mut self) -> Result<Box<dyn Parse>, ImportedTraceError> {
        Ok(match self.format {
            Format::Twitter => Box::new(Twitter),
            Format::Monitor => Box::new(Monitor::default()),
            Format::KvReplay => Box::new(KvReplay),
            Format::Oracle => match self.look {
                // Bytes of text would pass for numbers.
                Some(look) => {
                    let reason = "it is no record of 24 bytes".to_owned();
                    let bad = Bad { place: Place::Record(1), reason };
                    return Err(ImportedTraceError::Other { bad, look });
                }
                None => Box::new(Oracle),
            },
            Format::CacheLib => {
                self.read_line()?;
                match CacheLib::new(&self.line) {
                    Ok(parser) => Box::new(parser),
                    Err(Fault::Bad(reason) | Fault::PassedOver(reason)) => {
                        let bad = Bad { place: Place::Line(1), reason };
                        return Err(self.refuse(bad));
                    }
                }
            }
        })
    }

    fn place(&self) -> Place {
        match self.parser.record() {
            Some(_) => Place::Record(self.number),
            None => Place::Line(self.number),
        }
    }

    fn refuse(&self, bad: Bad) -> ImportedTraceError {
        match self.look {
            // With tolerance, a file of another format would lose its first lines unnoticed.
            Some(look) if self.totals.requests == 0 => ImportedTraceError::Other { bad, look },
            _ => ImportedTraceError::Bad { bad, format: self.format, tolerated: self.totals.bad },
        }
    }

    /// Reads the next line without its end, or the next record; false if there is none.
    fn read_line(&mut self) -> Result<bool, ImportedTraceError> {
        self.line.clear();
        let result = match self.parser.record() {
            Some(length) if self.format == Format::Oracle => {
                self.from.by_ref().take(length as u64).read_to_end(&mut self.line)
            }
            _ => self.from.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut self.line),
        };
        let length =
            result.map_err(|source| ImportedTraceError::Io { place: self.place(), source })?;
        if length == 0 {
            return Ok(false);
        }
        self.number += 1;
        if length as u64 == LONGEST_LINE {
            let reason = format!("it is longer than {LONGEST_LINE} bytes, so it is no request");
            return Err(self.refuse(Bad { place: self.place(), reason }));
        }
        if self.format != Format::Oracle {
            let end = self.line.trim_ascii_end().len();
            self.line.truncate(end);
        }
        Ok(true)
    }

    /// Reads on until there are requests; false at the end.
    fn fetch(&mut self) -> Result<bool, ImportedTraceError> {
        self.parsed.clear();
        self.next = 0;
        while self.parsed.is_empty() {
            if !self.read_line()? {
                return self.end();
            }
            if self.line.is_empty() || self.is_header() {
                continue;
            }
            self.totals.lines += 1;
            let parsed = self.parser.parse(&self.line, &mut self.parsed);
            match parsed.and_then(|()| self.check_order()) {
                Ok(()) => {}
                Err(Fault::PassedOver(name)) => self.pass_over(name),
                Err(Fault::Bad(reason)) => self.tolerate(reason)?,
            }
        }
        let counts = self.parsed.iter().map(|request| u64::from(request.count));
        self.totals.requests += counts.sum::<u64>();
        Ok(true)
    }

    /// A file in which nothing was understood is no file of this format.
    fn end(&mut self) -> Result<bool, ImportedTraceError> {
        if self.totals.requests == 0 && self.totals.passed_over.is_empty() {
            return Err(ImportedTraceError::Empty { format: self.format });
        }
        Ok(false)
    }

    /// KV-replay's files may name their columns.
    fn is_header(&self) -> bool {
        self.format == Format::KvReplay && self.number == 1 && self.line.starts_with(b"op,key,")
    }

    fn check_order(&mut self) -> Result<(), Fault> {
        let Some(request) = self.parsed.first() else { return Ok(()) };
        let at = request.at;
        if at < self.latest {
            let back = self.latest.since(at);
            return Err(Fault::Bad(format!("its time is {back} before that of the lines above")));
        }
        self.latest = at;
        Ok(())
    }

    fn pass_over(&mut self, name: String) {
        self.parsed.clear();
        self.totals.pass_over(name);
    }

    fn tolerate(&mut self, reason: String) -> Result<(), ImportedTraceError> {
        self.parsed.clear();
        let bad = Bad { place: self.place(), reason };
        let is_foreign = self.look.is_some() && self.totals.requests == 0;
        if is_foreign || self.totals.bad >= self.tolerated {
            return Err(self.refuse(bad));
        }
        self.totals.bad += 1;
        self.totals.first_bad.get_or_insert(bad);
        Ok(())
    }

    /// The error of a stage that cannot hold all lines of one stamp.
    pub(crate) fn crowd(most: usize, lines: u64) -> ImportedTraceError {
        ImportedTraceError::Crowd { place: Place::Line(lines), most }
    }
}

impl Iterator for Requests {
    type Item = Result<ImportedRequest, ImportedTraceError>;

    fn next(&mut self) -> Option<Result<ImportedRequest, ImportedTraceError>> {
        if self.is_over {
            return None;
        }
        if self.next == self.parsed.len() {
            match self.fetch() {
                Ok(true) => {}
                Ok(false) => {
                    self.is_over = true;
                    return None;
                }
                Err(error) => {
                    self.is_over = true;
                    return Some(Err(error));
                }
            }
        }
        let request = self.parsed[self.next];
        self.next += 1;
        Some(Ok(request))
    }
}

#[cfg(test)]
pub(crate) mod tests;
