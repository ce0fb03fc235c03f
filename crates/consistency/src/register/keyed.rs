//! One operation of a history as it is dealt out: numbers only, 48 bytes.

use assay_model::Outcome;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::register::prepared::NEVER;
use crate::register::{Access, RegisterHistory, RegisterOperation, WrittenValue};

/// An operation with the values that it read and wrote.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct KeyedOperation {
    pub(super) key: u64,
    /// One more than the history's; never where the outcome is not done.
    pub(super) started: u64,
    pub(super) ended: u64,
    /// What it wrote, or read if it wrote nothing.
    value: u64,
    pub(super) place: u32,
    pub(super) session: u32,
    /// Its number in its session ([`crate::register::successors`]).
    pub(super) number: u32,
    pub(super) agent: u16,
    has_read: u8,
    /// Its [`Write`], as a number.
    write: u8,
}

/// Whether an operation has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Write {
    /// No value that anybody could read, or must not read.
    No = 0,
    /// It certainly has not: nobody may read its value.
    Refused = 1,
    /// Nobody knows.
    Unknown = 2,
    /// It certainly has.
    Done = 3,
}

impl KeyedOperation {
    pub(super) fn new(from: &RegisterOperation, place: u32, session: u32) -> KeyedOperation {
        let is_done = from.outcome == Outcome::Done;
        let (has_read, value, written) = match from.access {
            Access::Read(read) => (true, read, None),
            Access::Write(written) => (false, written, Some(written)),
            Access::ReadThenWrite { written, .. } => (true, written, Some(written)),
        };
        let write = match (written, from.outcome) {
            (None, _) => Write::No,
            (_, Outcome::Done) => Write::Done,
            // A deletion that did not happen leaves no value that nobody may read.
            (Some(WrittenValue::ABSENT), Outcome::Refused) => Write::No,
            (_, Outcome::Refused) => Write::Refused,
            _ => Write::Unknown,
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
            value: value.0,
            place,
            session,
            number: 0,
            agent: from.agent,
            has_read: u8::from(is_done && has_read),
            write: write as u8,
        }
    }

    pub(super) fn has_read(&self) -> bool {
        self.has_read != 0
    }

    pub(super) fn write(&self) -> Write {
        [Write::No, Write::Refused, Write::Unknown, Write::Done][usize::from(self.write & 3)]
    }

    /// What it read, if it has; `history` is the one that it was dealt out of.
    pub(super) fn read(&self, history: &RegisterHistory) -> u64 {
        if self.write() == Write::No {
            return self.value;
        }
        // It is looked up, far away in memory, for the few only that have read and written.
        match history.operations[self.place as usize].access {
            Access::ReadThenWrite { read, .. } => read.0,
            Access::Read(_) | Access::Write(_) => self.value,
        }
    }

    /// What it wrote, if it has.
    pub(super) fn written(&self) -> u64 {
        self.value
    }

    pub(super) fn is_done(&self) -> bool {
        self.has_read() || self.write() == Write::Done
    }

    /// From when on an operation of its session comes after it. Of two that began and ended at one
    /// moment, as where a simulated store takes no time, nobody knows which was first.
    pub(super) fn over(&self) -> u64 {
        self.ended.max(self.started.saturating_add(1))
    }
}
