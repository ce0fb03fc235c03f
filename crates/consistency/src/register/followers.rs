//! The order of a session's operations, as numbers.
//!
//! The operations of a session are numbered by their start. One comes after another of its session
//! if it began when that one had ended; two of one moment have no order. As each has one first
//! operation that comes after it, its follower, numbers of 32 bits say all that times would.

/// The followers in sessions of which operations overlap, or are not in the history's order.
///
/// In all others the follower of an operation is the next one. Memory: 4 bytes per operation of
/// these sessions.
#[derive(Debug, Default)]
pub(super) struct Followers {
    /// By session and operation; nothing for a session that does one after another.
    overlapping: Vec<Vec<u32>>,
}

impl Followers {
    /// Of these sessions.
    pub(super) fn new(overlapping: Vec<Vec<u32>>) -> Followers {
        Followers { overlapping }
    }

    /// The number of the first operation of this session that comes after this one of it, or how
    /// many there are.
    pub(super) fn of(&self, session: u32, number: u32) -> u32 {
        let overlapping = self.overlapping.get(session as usize);
        let follower = overlapping.and_then(|followers| followers.get(number as usize));
        follower.copied().unwrap_or(number + 1)
    }
}
