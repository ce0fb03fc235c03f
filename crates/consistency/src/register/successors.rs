//! The order of a session's operations, as numbers.
//!
//! The operations of a session are numbered by their start. One comes after another of its session
//! if it began when that one had ended; two of one moment have no order. As each has one first
//! operation that comes after it, its successor, numbers of 32 bits say all that times would.

/// Where the successors of a session would begin that does one operation after another.
pub(super) const SEQUENTIAL: u32 = u32::MAX;

/// The successors in sessions of which operations overlap, as those of a load do, which are all at
/// one moment before the run.
///
/// In all others the successor of an operation is the next one. Memory: nothing if no session
/// overlaps, else 4 bytes per session and 4 per operation of those that do, 16 more for these while
/// they are worked out.
#[derive(Debug, Default)]
pub(super) struct Successors {
    /// Where the successors of each session begin, or [`SEQUENTIAL`].
    begins: Vec<u32>,
    /// By session and operation.
    overlapping: Vec<u32>,
}

impl Successors {
    /// Those of sessions with these operations, by session and number: when each began and was
    /// over. `begins` is as in [`Successors`].
    pub(super) fn new(begins: Vec<u32>, operations: &[(u64, u64)]) -> Successors {
        let mut overlapping = Vec::with_capacity(operations.len());
        let firsts: Vec<u32> =
            begins.iter().copied().filter(|begin| *begin != SEQUENTIAL).collect();
        let ends = firsts.iter().skip(1).map(|end| *end as usize).chain([operations.len()]);
        for (first, end) in firsts.iter().zip(ends) {
            let session = &operations[*first as usize..end];
            let successor = |(number, (_, over)): (usize, &(u64, u64))| {
                // Nothing comes after itself, whatever the last moment that a number holds says.
                session.partition_point(|(started, _)| started < over).max(number + 1) as u32
            };
            overlapping.extend(session.iter().enumerate().map(successor));
        }
        Successors { begins, overlapping }
    }

    /// The number of the first operation of this session that comes after this one of it, or how
    /// many there are. Of operations without an end nobody knows.
    pub(super) fn of(&self, session: u32, number: u32) -> u32 {
        match self.begins.get(session as usize) {
            None | Some(&SEQUENTIAL) => number + 1,
            Some(begin) => self.overlapping[(begin + number) as usize],
        }
    }
}
