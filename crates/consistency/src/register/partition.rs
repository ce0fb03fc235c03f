//! Operations by record, brought together without jumping through the history.
//!
//! Following a sorted list of places would miss the cache and the table of pages once for each
//! operation. So the history is read in its order and its operations are dealt out to as many
//! parts as a processor can write to at once; each part, with all operations of its records, is
//! then sorted within the cache (a partitioned sort, as in Manegold, Boncz, Kersten, Optimizing
//! Main-Memory Join on Modern Hardware, 2002).

use std::ops::RangeInclusive;

use assay_model::Outcome;

use crate::register::prepared::{NEVER, NONE};
use crate::register::successors::{SEQUENTIAL, Successors};
use crate::register::{Access, RegisterOperation, WrittenValue};

/// Operations of a part: some hundred kilobytes, for as long as there are not too many parts.
const PART: usize = 4096;
/// Parts: one page for each is what the processor's table of pages has room for.
const PARTS_MAX: usize = 256;

/// An operation with the values that it read and wrote.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyedOperation {
    pub(super) key: u64,
    /// One more than the history's; never where the outcome is not done.
    pub(super) started: u64,
    pub(super) ended: u64,
    pub(super) read: u64,
    pub(super) written: u64,
    pub(super) place: u32,
    pub(super) session: u32,
    /// Its number in its session ([`crate::register::successors`]).
    pub(super) number: u32,
    pub(super) agent: u16,
    pub(super) has_read: bool,
    pub(super) write: Write,
}

/// Whether an operation has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Write {
    /// No value that anybody could read, or must not read.
    No,
    /// It certainly has not: nobody may read its value.
    Refused,
    /// Nobody knows.
    Unknown,
    /// It certainly has.
    Done,
}

impl KeyedOperation {
    fn new(from: &RegisterOperation, place: u32, session: u32) -> KeyedOperation {
        let is_done = from.outcome == Outcome::Done;
        let is_refused = from.outcome == Outcome::Refused;
        let (read, written) = match from.access {
            Access::Read(read) => (Some(read), None),
            Access::Write(written) => (None, Some(written)),
            Access::ReadThenWrite { read, written } => (Some(read), Some(written)),
        };
        let write = match written {
            None => Write::No,
            // A deletion that did not happen leaves no value that nobody may read.
            Some(WrittenValue::ABSENT) if is_refused => Write::No,
            Some(_) if is_refused => Write::Refused,
            Some(_) if is_done => Write::Done,
            Some(_) => Write::Unknown,
        };
        // An answer before its request: both times are doubtful, so the interval is the widest.
        let (started, ended) = match is_done {
            true => (from.started.min(from.ended).0, from.started.max(from.ended).0),
            false => (from.started.0, NEVER),
        };
        KeyedOperation {
            key: from.key,
            started: started.saturating_add(1),
            ended: ended.saturating_add(1),
            read: read.map_or(0, |read| read.0),
            written: written.map_or(0, |written| written.0),
            place,
            session,
            number: 0,
            agent: from.agent,
            has_read: is_done && read.is_some(),
            write,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.has_read || self.write == Write::Done
    }

    /// From when on an operation of its session comes after it. Of two that began and ended at one
    /// moment, as where a simulated store takes no time, nobody knows which was first.
    pub(super) fn over(&self) -> u64 {
        self.ended.max(self.started.saturating_add(1))
    }
}

/// What one pass over a history tells before its operations are dealt out.
#[derive(Debug)]
pub(super) struct Survey {
    /// Operations of each part.
    counts: Vec<usize>,
    pub(super) has_known: bool,
    greatest_session: u32,
    least_agent: u16,
    greatest_agent: u16,
}

impl Survey {
    pub(super) fn new(history: &[RegisterOperation]) -> Survey {
        let parts = (history.len() / PART).clamp(1, PARTS_MAX);
        let mut survey = Survey {
            counts: vec![0; 1 << parts.ilog2()],
            has_known: false,
            greatest_session: 0,
            least_agent: u16::MAX,
            greatest_agent: 0,
        };
        for operation in history {
            survey.has_known |= operation.outcome == Outcome::Done;
            survey.greatest_session = survey.greatest_session.max(operation.session);
            survey.least_agent = survey.least_agent.min(operation.agent);
            survey.greatest_agent = survey.greatest_agent.max(operation.agent);
            let part = part(operation.key, survey.counts.len());
            survey.counts[part] += usize::from(says_something(operation));
        }
        survey
    }

    /// From the first agent to the last.
    pub(super) fn agents(&self) -> RangeInclusive<u16> {
        self.least_agent..=self.greatest_agent
    }

    /// The operations that say something, in parts that share no record.
    pub(super) fn deal_out(
        &self,
        history: &[RegisterOperation],
        sessions: &mut Sessions,
    ) -> Vec<Vec<KeyedOperation>> {
        let mut parts: Vec<Vec<KeyedOperation>> =
            self.counts.iter().map(|count| Vec::with_capacity(*count)).collect();
        let sayers = history.iter().zip(0..).filter(|(operation, _)| says_something(operation));
        for (operation, place) in sayers {
            let session = sessions.number(operation.session);
            let part = part(operation.key, self.counts.len());
            let mut operation = KeyedOperation::new(operation, place, session);
            sessions.dealt[session as usize].add(&mut operation);
            parts[part].push(operation);
        }
        parts
    }
}

/// The part of a record among so many, a power of two.
///
/// Multiplied, so that neighbours, which may be popular together, are dealt out evenly.
fn part(key: u64, parts: usize) -> usize {
    let product = (key ^ (key >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (product >> 32) as usize & (parts - 1)
}

fn says_something(operation: &RegisterOperation) -> bool {
    match operation.outcome {
        Outcome::Done => true,
        Outcome::Dropped => false,
        Outcome::Refused | Outcome::Unknown => !matches!(operation.access, Access::Read(_)),
    }
}

/// What was dealt out of one session.
#[derive(Clone, Debug, Default)]
pub(super) struct DealtSession {
    operations: u32,
    pub(super) reads: u32,
    /// When the last of them began, and all that have ended were over.
    started: u64,
    over: u64,
    /// Whether one began before another that the history has before it.
    is_shuffled: bool,
    /// Whether one began when another was not over.
    overlaps: bool,
}

impl DealtSession {
    fn add(&mut self, operation: &mut KeyedOperation) {
        operation.number = self.operations;
        self.operations += 1;
        self.reads += u32::from(operation.has_read);
        self.is_shuffled |= operation.started < self.started;
        self.overlaps |= self.is_shuffled || operation.started < self.over;
        self.started = self.started.max(operation.started);
        if operation.is_done() {
            self.over = self.over.max(operation.over());
        }
    }
}

/// Numbers of sessions without gaps, and what was dealt out of each.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    /// The number of each session that has one, or the sessions in their order if those are far
    /// apart.
    direct: Vec<u32>,
    sorted: Vec<u32>,
    /// By number.
    pub(super) dealt: Vec<DealtSession>,
}

impl Sessions {
    pub(super) fn new(operations: &[RegisterOperation], survey: &Survey) -> Sessions {
        let greatest = survey.greatest_session as usize;
        if greatest <= operations.len().max(1024) {
            let direct = vec![NONE; greatest + 1];
            return Sessions { direct, ..Sessions::default() };
        }
        let mut sorted: Vec<u32> = operations.iter().map(|operation| operation.session).collect();
        sorted.sort_unstable();
        sorted.dedup();
        let dealt = vec![DealtSession::default(); sorted.len()];
        Sessions { direct: Vec::new(), sorted, dealt }
    }

    /// The order of each session's operations. Those that the history does not have in the order of
    /// their start get their numbers anew.
    pub(super) fn successors(&self, parts: &mut [Vec<KeyedOperation>]) -> Successors {
        if !self.dealt.iter().any(|session| session.overlaps) {
            return Successors::default();
        }
        self.number_shuffled(parts);
        let mut count = 0;
        let begin = |session: &DealtSession| {
            let begin = if session.overlaps { count } else { SEQUENTIAL };
            count += if session.overlaps { session.operations } else { 0 };
            begin
        };
        let begins: Vec<u32> = self.dealt.iter().map(begin).collect();
        let mut operations = vec![(0, 0); count as usize];
        for one in parts.iter().flatten() {
            let begin = begins[one.session as usize];
            if begin != SEQUENTIAL {
                operations[(begin + one.number) as usize] = (one.started, one.over());
            }
        }
        Successors::new(begins, &operations)
    }

    fn number_shuffled(&self, parts: &mut [Vec<KeyedOperation>]) {
        if !self.dealt.iter().any(|session| session.is_shuffled) {
            return;
        }
        let is_shuffled = |one: &&mut KeyedOperation| self.dealt[one.session as usize].is_shuffled;
        let mut operations: Vec<_> = parts.iter_mut().flatten().filter(is_shuffled).collect();
        operations.sort_unstable_by_key(|one| (one.session, one.started, one.place));
        for session in operations.chunk_by_mut(|one, other| one.session == other.session) {
            session.iter_mut().zip(0..).for_each(|(one, number)| one.number = number);
        }
    }

    /// The number of a session, a new one if it has none.
    fn number(&mut self, session: u32) -> u32 {
        let Some(number) = self.direct.get_mut(session as usize) else {
            return self.sorted.partition_point(|other| *other < session) as u32;
        };
        if *number == NONE {
            *number = self.dealt.len() as u32;
            self.dealt.push(DealtSession::default());
        }
        *number
    }
}
