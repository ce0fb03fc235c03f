//! One query in execution: the rows found so far, and the next access.

use std::ops::Range;

use assay_model::query::{Change, Term};
use assay_model::{Datum, Fields, Kind, Reason};
use assay_sql::fit;
use assay_store::answer::{encode_field, encode_row};
use assay_store::{Answer, Reply, Rows as Found, Ticket};

use super::Prepared;
use super::lines::{self, Lines, NOWHERE, Slot};
use super::table::Stored;
use super::transaction::TransactionMode;
use super::value;
use crate::key_value::path::{FIRST_BATCH, LARGEST_BATCH};
use crate::key_value::program::{
    Action, Condition, Program, Reading, Rows, Selected, Source, Step, Writing,
};
use crate::order;

/// A query on its way. Its buffers are used again for the next one.
#[derive(Debug, Default)]
pub(super) struct QueryExecution {
    pub(super) ticket: Named,
    /// The request that it waits for.
    pub(super) requested: Named,
    pub(super) session: u32,
    pub(super) is_live: bool,
    pub(super) standing: TransactionMode,
    pub(super) requests: u16,
    query: usize,
    writes: bool,
    stage: Stage,
    /// Encoded values: arguments, what was found, what is to be written.
    buffer: Vec<u8>,
    arguments: Vec<Slot>,
    /// The rows of the current access, with those that it has found.
    lines: Lines,
    next: Lines,
    access: usize,
    line: usize,
    /// The rows that are written, old half and new.
    written: Lines,
    copy: usize,
    has_written: bool,
    is_found: bool,
    key: Vec<u8>,
    end: Option<Vec<u8>>,
    batch: u32,
    /// What came back, field by field of the table.
    incoming: Lines,
    got: Option<Got>,
    /// The encoded rows of the answer, while its transaction is committed.
    answer: Vec<u8>,
}

/// A ticket, or none yet.
pub(super) type Named = Option<Ticket>;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Begin,
    Check,
    Read,
    Partners,
    Write,
    Commit,
}

#[derive(Clone, Copy, Debug)]
enum Got {
    Done(bool),
    Refused(Reason),
    Unknown(Reason),
}

/// The next step of a job.
pub(super) enum Next {
    /// It sends the outgoing request.
    Ask,
    /// It has ended.
    End(End),
}

/// How a job ended; rows are encoded in the outgoing buffer.
pub(super) enum End {
    Done(bool),
    Refused(Reason),
    Unknown(Reason),
}

/// A request to the inner store, or the rows of an answer.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    pub(super) table: u16,
    pub(super) kind: Option<Kind>,
    pub(super) limit: u32,
    pub(super) end: Vec<u8>,
    pub(super) wants_keys: bool,
    pub(super) key: Vec<u8>,
    pub(super) spans: Vec<(u16, Range<u32>)>,
    pub(super) bytes: Vec<u8>,
}

impl Outgoing {
    pub(super) const FIELDS: Fields = Fields::All;

    fn begin(&mut self, kind: Kind, table: u16, key: &[u8], limit: u32) {
        self.kind = Some(kind);
        self.table = table;
        self.limit = limit;
        self.end.clear();
        self.wants_keys = false;
        self.key.clear();
        self.key.extend_from_slice(key);
        self.spans.clear();
        self.bytes.clear();
    }
}

/// An operation that goes no further.
type Stop = End;

impl QueryExecution {
    /// Begins query number `query` of the catalogue.
    pub(super) fn begin<'a>(
        &mut self,
        ticket: Ticket,
        session: u32,
        query: usize,
        arguments: impl Iterator<Item = Datum<'a>>,
    ) {
        self.ticket = Some(ticket);
        self.requested = None;
        self.session = session;
        self.is_live = true;
        self.requests = 0;
        self.query = query;
        self.stage = Stage::Begin;
        self.buffer.clear();
        self.arguments.clear();
        for argument in arguments {
            let slot = lines::keep(&argument, &mut self.buffer);
            self.arguments.push(slot);
        }
        self.copy = 0;
        self.has_written = false;
        self.is_found = false;
        self.got = None;
    }

    /// Takes the response to its request.
    pub(super) fn take(&mut self, prepared: &Prepared, answer: Answer<'_>) {
        self.got = Some(match answer {
            Answer::Refused(reason) => Got::Refused(reason),
            Answer::Unknown(reason) => Got::Unknown(reason),
            Answer::Done(reply) => {
                if matches!(self.stage, Stage::Check | Stage::Read | Stage::Partners) {
                    let table = self.step(prepared).table;
                    self.keep_rows(&prepared.tables[usize::from(table)], reply.rows);
                }
                Got::Done(reply.found)
            }
        });
    }

    pub(super) fn is_answered(&self) -> bool {
        self.got.is_some()
    }

    fn keep_rows(&mut self, table: &Stored, rows: Found<'_>) {
        let width = table.fields.len();
        self.incoming.begin(width);
        let (incoming, buffer) = (&mut self.incoming, &mut self.buffer);
        let mut guess = 0;
        let count = rows.count() as usize;
        rows.each(|field| {
            while incoming.count() <= field.row as usize {
                incoming.push(&[]);
                guess = 0;
            }
            if table.is_in_key && field.name.is_empty() {
                let line = incoming.line_mut(field.row as usize);
                return table.decode_key(field.value, buffer, line);
            }
            let is_it = |place: usize| table.fields[place].as_bytes() == field.name;
            let place = match guess < width && is_it(guess) {
                true => Some(guess),
                false => (0..width).find(|place| is_it(*place)),
            };
            let Some(place) = place else { return };
            guess = place + 1;
            let begin = buffer.len() as u32;
            buffer.extend_from_slice(field.value);
            let line = incoming.line_mut(field.row as usize);
            line[place] = (begin, buffer.len() as u32);
        });
        while incoming.count() < count {
            incoming.push(&[]);
        }
    }

    /// Goes on until a request is needed, or all is done and, if it is a transaction by
    /// itself, committed.
    pub(super) fn advance(&mut self, prepared: &Prepared, out: &mut Outgoing) -> Next {
        if self.stage == Stage::Commit {
            return Next::End(self.committed(out));
        }
        match self.go_on(prepared, out) {
            Next::End(End::Done(found)) if self.is_to_commit() => {
                self.is_found = found;
                self.stage = Stage::Commit;
                std::mem::swap(&mut self.answer, &mut out.bytes);
                out.begin(Kind::Commit, 0, &[], 0);
                Next::Ask
            }
            next => next,
        }
    }

    fn is_to_commit(&self) -> bool {
        self.standing == TransactionMode::Own && self.requested.is_some()
    }

    fn committed(&mut self, out: &mut Outgoing) -> End {
        std::mem::swap(&mut self.answer, &mut out.bytes);
        match self.got.take() {
            Some(Got::Done(_)) => End::Done(self.is_found),
            Some(Got::Refused(reason)) => End::Refused(reason),
            Some(Got::Unknown(reason)) => End::Unknown(reason),
            None => End::Unknown(Reason::Garbled),
        }
    }

    fn go_on(&mut self, prepared: &Prepared, out: &mut Outgoing) -> Next {
        let program = &prepared.programs[self.query];
        self.writes = matches!(program, Program::Write(_));
        let moved = match program {
            Program::Select(reading, selected) => {
                self.advance_select(prepared, (reading, selected), out)
            }
            Program::Write(writing) => self.advance_write(prepared, writing, out),
        };
        moved.unwrap_or_else(Next::End)
    }

    fn advance_select(
        &mut self,
        prepared: &Prepared,
        (reading, selected): (&Reading, &Selected),
        out: &mut Outgoing,
    ) -> Result<Next, Stop> {
        let limit = self.limit(selected)?;
        if self.stage == Stage::Begin {
            self.stage = Stage::Read;
            self.begin_reading(reading);
            self.lines.push(&[]);
            if limit == Some(0) {
                self.lines.truncate(0);
            }
        }
        let early = limit.filter(|_| selected.stops_early);
        if self.read(prepared, reading, early, out)? {
            return Ok(Next::Ask);
        }
        self.sort(selected);
        if let Some(limit) = limit {
            self.lines.truncate(limit as usize);
        }
        out.bytes.clear();
        for number in 0..self.lines.count() {
            encode_row(selected.output.len() as u16, &mut out.bytes);
            for slot in &selected.output {
                let slot = self.lines.line(number)[usize::from(*slot)];
                let value = lines::bytes(&self.buffer, slot).unwrap_or(NULL);
                encode_field(b"", value, &mut out.bytes);
            }
        }
        Ok(Next::End(End::Done(self.lines.count() > 0)))
    }

    fn limit(&self, selected: &Selected) -> Result<Option<u32>, Stop> {
        let Some(term) = &selected.limit else { return Ok(None) };
        match self.term(term) {
            Datum::Int(rows) => Ok(Some(u32::try_from(rows.max(0)).unwrap_or(u32::MAX))),
            _ => Err(End::Refused(Reason::Malformed)),
        }
    }

    fn sort(&mut self, selected: &Selected) {
        if selected.sort.is_empty() {
            return;
        }
        let mut keys: Vec<(Vec<u8>, usize)> = (0..self.lines.count())
            .map(|number| {
                let mut key = Vec::new();
                for &(slot, direction) in &selected.sort {
                    let slot = self.lines.line(number)[usize::from(slot)];
                    order::encode(&lines::datum(&self.buffer, slot), direction, &mut key);
                }
                (key, number)
            })
            .collect();
        keys.sort_unstable();
        let numbers: Vec<usize> = keys.into_iter().map(|(_, number)| number).collect();
        self.lines.arrange(&numbers);
    }

    fn advance_write(
        &mut self,
        prepared: &Prepared,
        writing: &Writing,
        out: &mut Outgoing,
    ) -> Result<Next, Stop> {
        loop {
            match self.stage {
                Stage::Begin => {
                    if self.begin_write(prepared, writing, out)? {
                        return Ok(Next::Ask);
                    }
                }
                Stage::Check => {
                    let is_taken =
                        self.done(false)? && self.is_row(prepared, self.step(prepared).table);
                    if is_taken {
                        return Err(End::Refused(Reason::Exists));
                    }
                    self.begin_copies(writing)?;
                }
                Stage::Read => {
                    let Rows::Found(reading) = &writing.rows else { break };
                    if self.read(prepared, reading, None, out)? {
                        return Ok(Next::Ask);
                    }
                    std::mem::swap(&mut self.lines, &mut self.written);
                    self.is_found = self.written.count() > 0;
                    self.begin_copies(writing)?;
                }
                Stage::Partners => {
                    let Some(copy) = writing.copies.get(self.copy) else { break };
                    if self.read(prepared, &copy.partners, None, out)? {
                        return Ok(Next::Ask);
                    }
                    self.stage = Stage::Write;
                    self.line = 0;
                }
                Stage::Write => {
                    if let Some(end) = self.write(prepared, writing, out)? {
                        return Ok(end);
                    }
                }
                Stage::Commit => break,
            }
        }
        out.bytes.clear();
        Ok(Next::End(End::Done(self.is_found)))
    }

    /// Finds the rows to write; tells whether that needs a request.
    fn begin_write(
        &mut self,
        prepared: &Prepared,
        writing: &Writing,
        out: &mut Outgoing,
    ) -> Result<bool, Stop> {
        let width = writing.types.len();
        self.written.begin(2 * width);
        match &writing.rows {
            Rows::Found(reading) => {
                self.stage = Stage::Read;
                self.begin_reading(reading);
                self.lines.push(&[]);
            }
            Rows::Keyed(columns) => {
                self.written.push(&[]);
                for (column, term) in columns {
                    let value = self.term(term);
                    let kind = writing.types[usize::from(*column)];
                    let value = value::compared(value, kind).filter(|value| !value.is_null());
                    let Some(value) = value else {
                        self.written.truncate(0);
                        break;
                    };
                    self.put(value_bytes(&value), usize::from(*column));
                }
                self.begin_copies(writing)?;
            }
            Rows::New { columns, check } => {
                self.written.push(&[]);
                for column in 0..width {
                    let term = columns.iter().find(|(one, _)| usize::from(*one) == column);
                    let value = term.map_or(Datum::Null, |(_, term)| self.term(term));
                    let value = fit(value, writing.types[column]);
                    let value = value.ok_or(End::Refused(Reason::Malformed))?;
                    if value.is_null() && writing.needed.contains(&(column as u16)) {
                        return Err(End::Refused(Reason::Malformed));
                    }
                    self.put(value_bytes(&value), width + column);
                }
                self.is_found = true;
                match check {
                    None => self.begin_copies(writing)?,
                    Some(step) => {
                        self.stage = Stage::Check;
                        let line = self.written.line(0).to_vec();
                        self.lines.begin(2 * width);
                        self.lines.push(&line);
                        (self.line, self.access) = (0, 0);
                        return Ok(self.send(prepared, step, FIRST_BATCH, out));
                    }
                }
            }
        }
        Ok(false)
    }

    /// Keeps `value` as slot `slot` of the first row that is written.
    fn put(&mut self, value: Vec<u8>, slot: usize) {
        let begin = self.buffer.len() as u32;
        self.buffer.extend_from_slice(&value);
        self.written.line_mut(0)[slot] = (begin, self.buffer.len() as u32);
    }

    /// Computes the new values, then goes to the first copy.
    fn begin_copies(&mut self, writing: &Writing) -> Result<(), Stop> {
        let width = writing.types.len();
        let is_new = matches!(writing.rows, Rows::New { .. });
        for number in 0..self.written.count() {
            if is_new {
                break;
            }
            self.written.line_mut(number).copy_within(..width, width);
            for (column, change) in &writing.changes {
                let place = usize::from(*column);
                let old = lines::datum(&self.buffer, self.written.line(number)[place]);
                let sum = |term, is_subtracted| value::sum(old, self.term(term), is_subtracted);
                let appended;
                let new = match change {
                    Change::Set(term) => Some(self.term(term)),
                    Change::Add(term) => sum(term, false),
                    Change::Subtract(term) => sum(term, true),
                    Change::Append(term) => {
                        appended = value::appended(old, self.term(term));
                        appended
                            .as_ref()
                            .map(|text| text.as_deref().map_or(Datum::Null, Datum::Text))
                    }
                };
                let new = new.and_then(|new| fit(new, writing.types[place]));
                let is_missing = |new: &Datum<'_>| new.is_null() && writing.needed.contains(column);
                let new = new.filter(|new| !is_missing(new));
                let new = value_bytes(&new.ok_or(End::Refused(Reason::Malformed))?);
                let begin = self.buffer.len() as u32;
                self.buffer.extend_from_slice(&new);
                let end = self.buffer.len() as u32;
                self.written.line_mut(number)[width + place] = (begin, end);
            }
        }
        self.begin_copy(writing, 0);
        Ok(())
    }

    fn begin_copy(&mut self, writing: &Writing, copy: usize) {
        self.copy = copy;
        self.stage = Stage::Partners;
        if let Some(copy) = writing.copies.get(copy) {
            self.begin_reading(&copy.partners);
            for number in 0..self.written.count() {
                self.lines.push(self.written.line(number));
            }
        }
    }

    fn begin_reading(&mut self, reading: &Reading) {
        self.lines.begin(usize::from(reading.width));
        self.next.begin(usize::from(reading.width));
        (self.access, self.line) = (0, 0);
    }

    /// The access whose answer is awaited.
    fn step<'a>(&self, prepared: &'a Prepared) -> &'a Step {
        let step = match (&prepared.programs[self.query], self.stage) {
            (Program::Select(reading, _), _) => reading.accesses.get(self.access),
            (Program::Write(writing), Stage::Partners) => {
                writing.copies[self.copy].partners.accesses.get(self.access)
            }
            (Program::Write(writing), _) => match &writing.rows {
                Rows::Found(reading) => reading.accesses.get(self.access),
                Rows::New { check, .. } => check.as_ref(),
                Rows::Keyed(_) => None,
            },
        };
        step.expect("an answer is awaited only while there is an access")
    }

    /// What the store answered to the last request, if that was a success.
    ///
    /// Within a transaction nothing is left of a write that fails, nor of what was written before
    /// it: no commit was or will be sent. Rows whose response is lost may all the
    /// same have been read.
    fn done(&mut self, is_write: bool) -> Result<bool, Stop> {
        let remains = is_write && self.standing == TransactionMode::Alone;
        match self.got.take() {
            Some(Got::Done(found)) => Ok(found),
            Some(Got::Unknown(reason)) if remains || !self.writes => Err(End::Unknown(reason)),
            Some(Got::Refused(reason) | Got::Unknown(reason)) => Err(self.failed(reason)),
            None => Err(End::Unknown(Reason::Garbled)),
        }
    }

    /// The end of a query of which what was written so far is all that happened.
    fn failed(&self, reason: Reason) -> End {
        match self.has_written && self.standing == TransactionMode::Alone {
            true => End::Unknown(reason),
            false => End::Refused(reason),
        }
    }

    /// Goes on with a read; tells whether a request is sent. If not, `lines` has what it
    /// found.
    fn read(
        &mut self,
        prepared: &Prepared,
        reading: &Reading,
        early: Option<u32>,
        out: &mut Outgoing,
    ) -> Result<bool, Stop> {
        while let Some(step) = reading.accesses.get(self.access) {
            if self.got.is_some() {
                let early = early.filter(|_| self.access == 0);
                match self.receive(prepared, step, early)? {
                    true => self.line += 1,
                    false => {
                        self.begin_scan(prepared, step, out);
                        return Ok(true);
                    }
                }
                continue;
            }
            if self.line == self.lines.count() {
                std::mem::swap(&mut self.lines, &mut self.next);
                self.next.begin(usize::from(reading.width));
                (self.line, self.access) = (0, self.access + 1);
                continue;
            }
            let batch = early.map_or(FIRST_BATCH, |early| early.clamp(1, LARGEST_BATCH));
            if self.send(prepared, step, batch, out) {
                return Ok(true);
            }
            self.line += 1;
        }
        Ok(false)
    }

    /// Prepares the first request of `step` for the present line; `false` if nothing can match.
    fn send(&mut self, prepared: &Prepared, step: &Step, batch: u32, out: &mut Outgoing) -> bool {
        let table = &prepared.tables[usize::from(step.table)];
        self.key.clear();
        self.batch = batch;
        let mut key = std::mem::take(&mut self.key);
        let mut end = None;
        let matches = self.range(table, step, &mut key, &mut end);
        self.key = key;
        self.end = end;
        match matches {
            true if step.is_get => out.begin(Kind::Read, step.table, &self.key, 1),
            true => self.begin_scan(prepared, step, out),
            false => {}
        }
        matches
    }

    fn begin_scan(&self, prepared: &Prepared, step: &Step, out: &mut Outgoing) {
        out.begin(Kind::Scan, step.table, &self.key, self.batch);
        out.end.extend_from_slice(self.end.as_deref().unwrap_or_default());
        out.wants_keys = prepared.tables[usize::from(step.table)].is_in_key;
    }

    /// The first key and the end of the range of `step`; `false` if no row can match.
    fn range(
        &self,
        table: &Stored,
        step: &Step,
        start: &mut Vec<u8>,
        end: &mut Option<Vec<u8>>,
    ) -> bool {
        for (place, source) in step.bound.iter().enumerate() {
            let datum = self.source(source);
            if datum.is_null() || !table.encode_key(place, datum, start) {
                return false;
            }
        }
        if step.is_get {
            return true;
        }
        let prefix = start.clone();
        let mut behind = prefix.clone();
        *end = order::step_over(&mut behind).then_some(behind);
        let place = step.bound.len();
        for (bound, is_upper) in [(&step.lower, false), (&step.upper, true)] {
            let Some((source, is_included)) = bound else { continue };
            let datum = self.source(source);
            let mut key = prefix.clone();
            if datum.is_null() || !table.encode_key(place, datum, &mut key) {
                return false;
            }
            // In a descending key the greatest values come first.
            let is_end = is_upper != table.is_descending(place);
            if is_end == *is_included {
                order::step_over(&mut key);
            }
            match is_end {
                true => *end = Some(key),
                false => *start = key,
            }
        }
        if start.is_empty() {
            // Not every store takes an empty key, and no key is below this one.
            start.push(0);
        }
        end.as_ref().is_none_or(|end| *start < *end)
    }

    /// Takes what came back for the present line; tells whether that was all.
    fn receive(
        &mut self,
        prepared: &Prepared,
        step: &Step,
        early: Option<u32>,
    ) -> Result<bool, Stop> {
        let found = self.done(false)?;
        let count = if found { self.incoming.count() } else { 0 };
        if step.is_get {
            if count > 0 && self.is_row(prepared, step.table) {
                self.accept(step, 0);
            }
            return Ok(true);
        }
        let table = &prepared.tables[usize::from(step.table)];
        let (mut key, mut last) = (Vec::new(), Vec::new());
        for row in 0..count {
            key.clear();
            if !self.key_of(table, row, &mut key) {
                continue;
            }
            last.clone_from(&key);
            if key < self.key {
                // The store does not scan in the order of keys, so the missing rows are unknown.
                return Err(End::Refused(Reason::Garbled));
            }
            if self.end.as_ref().is_some_and(|end| key >= *end) {
                return Ok(true);
            }
            self.accept(step, row);
            if early.is_some_and(|early| self.next.count() >= early as usize) {
                return Ok(true);
            }
        }
        if count < self.batch as usize {
            return Ok(true);
        }
        if !last.is_empty() {
            last.push(0);
            self.key = last;
        } else if self.batch >= LARGEST_BATCH {
            // None of them is a row, so the next key is unknown.
            return Err(End::Refused(Reason::Garbled));
        }
        self.batch = (self.batch * 4).min(LARGEST_BATCH);
        Ok(false)
    }

    /// Whether the first of the rows that came back is one: an update of a row that was not there
    /// may leave some of its fields, without those of the key.
    fn is_row(&self, prepared: &Prepared, table: u16) -> bool {
        let keys = prepared.tables[usize::from(table)].key.len();
        self.incoming.count() > 0
            && self.incoming.line(0)[..keys].iter().all(|slot| *slot != NOWHERE)
    }

    fn key_of(&self, table: &Stored, row: usize, into: &mut Vec<u8>) -> bool {
        let line = self.incoming.line(row);
        (0..table.key.len()).all(|place| {
            let slot = line[place];
            slot != NOWHERE && table.encode_key(place, lines::datum(&self.buffer, slot), into)
        })
    }

    /// Adds a row that came back to the present line, if all conditions hold.
    fn accept(&mut self, step: &Step, row: usize) {
        let line = self.next.push(self.lines.line(self.line));
        for (slot, field) in step.takes.iter().zip(self.incoming.line(row)) {
            if *field != NOWHERE {
                line[usize::from(*slot)] = *field;
            }
        }
        let last = self.next.count() - 1;
        let holds = |condition: &Condition| {
            let line = self.next.line(last);
            let left = lines::datum(&self.buffer, line[usize::from(condition.slot)]);
            let right = match &condition.right {
                Source::Term(term) => self.term(term),
                Source::Slot(slot) => lines::datum(&self.buffer, line[usize::from(*slot)]),
            };
            let right = value::alike(right, &left);
            right.is_some_and(|right| value::holds(&left, condition.comparison, &right))
        };
        if !step.conditions.iter().all(holds) {
            self.next.pop();
        }
    }

    fn source<'a>(&'a self, source: &'a Source) -> Datum<'a> {
        match source {
            Source::Term(term) => self.term(term),
            Source::Slot(slot) => {
                let line = self.lines.line(self.line);
                lines::datum(&self.buffer, line[usize::from(*slot)])
            }
        }
    }

    fn term<'a>(&'a self, term: &'a Term) -> Datum<'a> {
        match term {
            Term::Literal(bytes) => Datum::decode(bytes).map_or(Datum::Null, |(datum, _)| datum),
            Term::Parameter(number) => self
                .arguments
                .get(usize::from(*number))
                .map_or(Datum::Null, |slot| lines::datum(&self.buffer, *slot)),
        }
    }

    /// Goes on with the writes of the present copy.
    fn write(
        &mut self,
        prepared: &Prepared,
        writing: &Writing,
        out: &mut Outgoing,
    ) -> Result<Option<Next>, Stop> {
        let copy = &writing.copies[self.copy];
        if self.got.is_some() {
            let found = self.done(true)?;
            self.has_written = true;
            self.is_found |= found;
            self.line += 1;
        }
        if self.line == self.lines.count() {
            self.begin_copy(writing, self.copy + 1);
            return Ok(None);
        }
        let table = &prepared.tables[usize::from(copy.table)];
        let line = self.lines.line(self.line);
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        let is_key = copy.key.iter().enumerate().all(|(place, slot)| {
            let datum = lines::datum(&self.buffer, line[usize::from(*slot)]);
            table.encode_key(place, datum, &mut key)
        });
        let kind = match copy.action {
            Action::Put => Kind::Insert,
            Action::Patch => Kind::Update,
            Action::Remove => Kind::Delete,
        };
        out.begin(kind, copy.table, &key, 1);
        self.key = key;
        if !is_key {
            return Err(self.failed(Reason::Malformed));
        }
        for (field, slot) in &copy.fields {
            let begin = out.bytes.len() as u32;
            let value = lines::bytes(&self.buffer, line[usize::from(*slot)]);
            out.bytes.extend_from_slice(value.unwrap_or(NULL));
            out.spans.push((*field, begin..out.bytes.len() as u32));
        }
        Ok(Some(Next::Ask))
    }
}

/// The encoding of no value.
const NULL: &[u8] = &[0];

fn value_bytes(datum: &Datum<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    datum.encode(&mut bytes);
    bytes
}

impl End {
    pub(super) fn answer<'a>(&self, rows: &'a [u8]) -> Answer<'a> {
        match *self {
            End::Done(found) => Answer::Done(Reply { found, rows: Found::Encoded(rows) }),
            End::Refused(reason) => Answer::Refused(reason),
            End::Unknown(reason) => Answer::Unknown(reason),
        }
    }
}
