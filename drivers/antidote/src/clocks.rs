//! The last commit clock of each session, as opaque bytes.

use std::collections::HashMap;
use std::mem;

/// Sessions that are remembered at least. In the open model every process is a session of its own,
/// and nobody says that it has ended: those that did nothing while as many others did are
/// forgotten.
const REMEMBERED: usize = 1 << 14;
/// A clock that is longer is not kept: one has some ten bytes for each data centre.
const LONGEST: usize = 1 << 12;

/// Clocks by session, in two generations.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    recent: HashMap<u32, Vec<u8>>,
    old: HashMap<u32, Vec<u8>>,
}

impl Clocks {
    /// The clock that the next transaction of `session` must include.
    pub(super) fn of(&self, session: u32) -> Option<&Vec<u8>> {
        self.recent.get(&session).or_else(|| self.old.get(&session))
    }

    /// `session` has seen, or written, what was there at `clock`.
    pub(super) fn set(&mut self, session: u32, clock: Vec<u8>) {
        if clock.len() > LONGEST {
            return;
        }
        if self.recent.len() >= REMEMBERED && !self.recent.contains_key(&session) {
            self.old = mem::take(&mut self.recent);
        }
        self.recent.insert(session, clock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_its_last_clock() {
        let mut clocks = Clocks::default();
        assert_eq!(clocks.of(1), None);
        clocks.set(1, vec![1]);
        clocks.set(2, vec![2]);
        clocks.set(1, vec![3]);
        assert_eq!((clocks.of(1), clocks.of(2)), (Some(&vec![3]), Some(&vec![2])));
        clocks.set(2, vec![0; LONGEST + 1]);
        assert_eq!(clocks.of(2), Some(&vec![2]));
    }

    #[test]
    fn sessions_that_are_over_are_forgotten_and_others_are_not() {
        let mut clocks = Clocks::default();
        for process in 0..10 * REMEMBERED as u32 {
            clocks.set(process, vec![1]);
            clocks.set(u32::MAX, vec![2]);
            assert!(clocks.recent.len() + clocks.old.len() <= 2 * REMEMBERED + 1);
        }
        assert_eq!(clocks.of(u32::MAX), Some(&vec![2]));
        assert_eq!(clocks.of(0), None);
    }
}
