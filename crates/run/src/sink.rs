//! Sink of a worker's records.

use assay_model::{ObservedValue, Record};

/// Takes the records of one worker, in the order in which operations end.
pub trait Sink {
    /// Keeps one record. On the hot path: a copy into a buffer, nothing more.
    fn push(&mut self, record: Record);

    /// Keeps one value that an operation returned, before the record of that operation.
    fn observe(&mut self, value: ObservedValue);

    /// Hands over what is buffered, so that a crash loses nothing of it.
    fn flush(&mut self);

    /// Whether records can no longer be kept, so that the run has to end.
    fn is_broken(&self) -> bool;

    /// How many records can be pushed, one upon the other, before one of them costs more than a
    /// copy; 0 if each may.
    ///
    /// A store that responds at once gets bursts of no more operations than that: within a
    /// burst the time that a push takes belongs to the next operation.
    fn room(&self) -> usize {
        0
    }

    /// How often [`Sink::push`] had to wait for the history.
    fn stalls(&self) -> u64;
}

impl Sink for Vec<Record> {
    fn push(&mut self, record: Record) {
        Vec::push(self, record);
    }

    /// Forgets it.
    fn observe(&mut self, _value: ObservedValue) {}

    fn flush(&mut self) {}

    fn is_broken(&self) -> bool {
        false
    }

    fn room(&self) -> usize {
        self.capacity() - self.len()
    }

    fn stalls(&self) -> u64 {
        0
    }
}
