//! The operations of a trace, process by process.

use std::sync::Arc;

use assay_model::{Filled, Nanos, Operation, Source, SourceError};

use super::cursor::Cursor;
use super::{Body, ReadError};

/// A trace as a source: one lane's own reader.
///
/// Asked for a process that is missing between others, as in a part of a split trace, it fails
/// with an error that says so.
pub struct TraceSource {
    cursor: Cursor,
    /// The least process number that may be asked for next.
    least: u64,
    intended: Nanos,
}

impl TraceSource {
    pub(super) fn open(body: Arc<Body>) -> Result<TraceSource, ReadError> {
        Ok(TraceSource { cursor: Cursor::open(body)?, least: 0, intended: Nanos::ZERO })
    }

    /// Puts the operations of the next process that the trace holds into `into`, which is cleared
    /// first. Gives the process's number, or `None` at the end.
    ///
    /// # Errors
    /// If the trace cannot be read any further.
    pub fn advance(&mut self, into: &mut Vec<Operation>) -> Result<Option<u64>, ReadError> {
        into.clear();
        let Some(&process) = self.cursor.processes().first() else { return Ok(None) };
        self.intended = self.cursor.intended();
        loop {
            let rows = self.cursor.processes();
            let count = rows.iter().take_while(|&&row| row == process).count();
            let is_whole = count < rows.len() || count == 0;
            if count > 0 {
                self.cursor.take(count, into)?;
            }
            if is_whole {
                let process = process as u64;
                self.least = process.saturating_add(1);
                return Ok(Some(process));
            }
        }
    }

    /// The intended offset of the process that was found last; zero without a baked schedule.
    pub fn intended(&self) -> Nanos {
        self.intended
    }

    /// Finds `process`, and puts its operations into `into`.
    fn find(&mut self, process: u64, into: &mut Vec<Operation>) -> Result<Found, ReadError> {
        if self.cursor.processes().first() == Some(&(process as i64)) {
            self.advance(into)?;
            return Ok(Found::Process);
        }
        into.clear();
        let is_before = |&row: &i64| (row as u64) < process;
        if self.cursor.processes().last().is_some_and(is_before) {
            self.cursor.skip_groups(process)?;
        }
        loop {
            let rows = self.cursor.processes();
            let count = rows.iter().take_while(|row| is_before(row)).count();
            match rows.get(count) {
                None if count == 0 => return Ok(Found::End),
                None => self.cursor.skip(count)?,
                Some(&next) if next as u64 == process => {
                    self.cursor.skip(count)?;
                    self.advance(into)?;
                    return Ok(Found::Process);
                }
                Some(&next) => return Ok(Found::Missing { next: next as u64 }),
            }
        }
    }
}

enum Found {
    Process,
    Missing { next: u64 },
    End,
}

impl Source for TraceSource {
    /// One more than the highest process number, also if the trace is a part.
    fn len(&self) -> Option<u64> {
        Some(self.cursor.body().end)
    }

    fn width(&self) -> u64 {
        self.cursor.body().header.width
    }

    #[inline]
    fn fill(&mut self, process: u64, into: &mut Vec<Operation>) -> Result<Filled, SourceError> {
        if process < self.least {
            let reason = "a trace is read forwards: ask for rising process numbers".to_owned();
            return Err(SourceError { process, reason });
        }
        match self.find(process, into) {
            Ok(Found::Process) => Ok(Filled::Process),
            Ok(Found::End) => Ok(Filled::End),
            Ok(Found::Missing { next }) => {
                let path = self.cursor.body().path.display();
                let part = match self.cursor.body().header.part {
                    Some(part) => format!("it is part {} of {}", part.index, part.of),
                    None => "it has a gap".to_owned(),
                };
                let reason = format!("trace {path} goes on with process {next}: {part}");
                Err(SourceError { process, reason })
            }
            Err(error) => Err(SourceError { process, reason: error.to_string() }),
        }
    }
}

/// The intended offsets of a baked schedule.
pub struct Schedule {
    source: TraceSource,
    operations: Vec<Operation>,
}

impl Schedule {
    pub(super) fn open(source: TraceSource) -> Schedule {
        Schedule { source, operations: Vec::new() }
    }

    /// When `process` is intended, from the start of the run; `None` if there is no such process
    /// or higher one. Numbers must rise.
    ///
    /// # Errors
    /// If the trace cannot be read any further, or holds higher processes but not this one.
    pub fn intended(&mut self, process: u64) -> Result<Option<Nanos>, SourceError> {
        match self.source.fill(process, &mut self.operations)? {
            Filled::Process => Ok(Some(self.source.intended())),
            Filled::End => Ok(None),
        }
    }
}
