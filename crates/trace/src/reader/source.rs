//! The operations of a trace, process by process.

use std::sync::Arc;

use assay_model::{Arguments, Filled, Nanos, Operation, Source, SourceError};

use super::cursor::{Cursor, Extra};
use super::{Body, ReadError};
use crate::columns::Schedules;
use crate::script::Checks;
use crate::writer::Entry;

/// A trace as a source: one worker's own reader.
///
/// For a process that is missing between others, as in a part of a split trace, it fails
/// with an error that says so.
pub struct TraceSource {
    cursor: Cursor,
    /// The least process number that may be read next.
    least: u64,
    intended: Nanos,
    origin: i64,
    extra: Extra,
    /// What the operations of a trace with statements must obey; `None` without.
    checks: Option<Checks>,
}

impl TraceSource {
    pub(super) fn open(body: Arc<Body>) -> Result<TraceSource, ReadError> {
        let script = body.facts.header.script.as_ref();
        let checks = script.map(|script| Checks::new(Some(script)));
        Ok(TraceSource {
            cursor: Cursor::open(body)?,
            least: 0,
            intended: Nanos::ZERO,
            origin: 0,
            extra: Extra::default(),
            checks,
        })
    }

    /// Puts the operations of the next process that the trace holds into `into`, which is cleared
    /// first. Gives the process's number, or `None` at the end.
    ///
    /// # Errors
    /// If the trace cannot be read any further.
    pub fn advance(&mut self, into: &mut Vec<Operation>) -> Result<Option<u64>, ReadError> {
        into.clear();
        self.extra.clear();
        let Some(&process) = self.cursor.processes().first() else { return Ok(None) };
        let before = std::mem::replace(&mut self.intended, self.cursor.intended());
        self.origin = self.cursor.origin();
        loop {
            let rows = self.cursor.processes();
            let count = rows.iter().take_while(|&&row| row == process).count();
            let is_whole = count < rows.len() || count == 0;
            if count > 0 {
                self.cursor.take(count, into, &mut self.extra)?;
            }
            if is_whole {
                let process = process as u64;
                self.least = process.saturating_add(1);
                if self.checks.is_some() {
                    self.check(process, into, before)?;
                }
                return Ok(Some(process));
            }
        }
    }

    /// What a process of a trace with statements must obey beyond its numbers.
    fn check(
        &self,
        process: u64,
        operations: &[Operation],
        before: Nanos,
    ) -> Result<(), ReadError> {
        let path = || self.cursor.body().path.clone();
        if self.intended < before {
            return Err(ReadError::Early { path: path(), process });
        }
        let Some(checks) = &self.checks else { return Ok(()) };
        let faults = operations.iter().enumerate().filter_map(|(place, operation)| {
            checks.operation(operation, &self.extra.arguments, place)
        });
        let hints = checks.hints(process, operations, &self.extra.hints);
        match faults.chain(hints).next() {
            Some(source) => Err(ReadError::Statement { path: path(), source }),
            None => Ok(()),
        }
    }

    /// The arguments of the operations that were read last; empty for records by key.
    pub fn issued_with(&self) -> &Arguments {
        &self.extra.arguments
    }

    /// The process found last as a writer takes it; `operations` are the ones that were found.
    pub fn entry<'a>(&'a self, process: u64, operations: &'a [Operation]) -> Entry<'a> {
        let is_recorded = self.cursor.body().schedules == Schedules::Recorded;
        Entry {
            process,
            operations,
            arguments: &self.extra.arguments,
            intended: is_recorded.then_some(self.intended),
            origin: self.origin,
            hints: &self.extra.hints,
        }
    }

    /// The intended offset of the process that was read last; zero without a recorded schedule.
    pub fn intended(&self) -> Nanos {
        self.intended
    }

    /// Finds `process`, and puts its operations into `into`.
    fn find(
        &mut self,
        process: u64,
        into: &mut Vec<Operation>,
    ) -> Result<ProcessLookup, ReadError> {
        if self.cursor.processes().first() == Some(&(process as i64)) {
            self.advance(into)?;
            return Ok(ProcessLookup::Process);
        }
        into.clear();
        self.extra.clear();
        let is_before = |&row: &i64| (row as u64) < process;
        if self.cursor.processes().last().is_some_and(is_before) {
            self.cursor.skip_groups(process)?;
        }
        loop {
            let rows = self.cursor.processes();
            let count = rows.iter().take_while(|row| is_before(row)).count();
            match rows.get(count) {
                None if count == 0 => return Ok(ProcessLookup::End),
                None => self.cursor.skip(count)?,
                Some(&next) if next as u64 == process => {
                    self.cursor.skip(count)?;
                    self.advance(into)?;
                    return Ok(ProcessLookup::Process);
                }
                Some(&next) => return Ok(ProcessLookup::Missing { next: next as u64 }),
            }
        }
    }
}

enum ProcessLookup {
    Process,
    Missing { next: u64 },
    End,
}

impl Source for TraceSource {
    /// One more than the highest process number, also if the trace is a part.
    fn len(&self) -> Option<u64> {
        Some(self.cursor.body().facts.end)
    }

    fn width(&self) -> u64 {
        self.cursor.body().facts.header.width
    }

    #[inline]
    fn fill(&mut self, process: u64, into: &mut Vec<Operation>) -> Result<Filled, SourceError> {
        if process < self.least {
            let reason = "a trace is read forwards: ask for rising process numbers".to_owned();
            return Err(SourceError { process, reason });
        }
        match self.find(process, into) {
            Ok(ProcessLookup::Process) => Ok(Filled::Process),
            Ok(ProcessLookup::End) => Ok(Filled::End),
            Ok(ProcessLookup::Missing { next }) => {
                let path = self.cursor.body().path.display();
                let part = match self.cursor.body().facts.header.part {
                    Some(part) => format!("it is part {} of {}", part.index, part.of),
                    None => "it has a gap".to_owned(),
                };
                let reason = format!("trace {path} goes on with process {next}: {part}");
                Err(SourceError { process, reason })
            }
            Err(error) => Err(SourceError { process, reason: error.to_string() }),
        }
    }

    fn arguments(&mut self, into: &mut Arguments) {
        into.clone_from(&self.extra.arguments);
    }
}

/// The intended offsets of a recorded schedule.
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
