//! Turns among the connections of this process that want to write.
//!
//! SQLite lets one connection write at a time. One that finds another at it sleeps for a while,
//! checks again, sleeps longer: a later request may be first, and the sleep is longer than most
//! transactions. Connections of one process need not guess when the other is done.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The right to write, which one holds at a time; the others have it in the order they came.
#[derive(Default)]
pub(super) struct Turns {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    is_taken: bool,
    waiting: VecDeque<u64>,
    next: u64,
}

impl Turns {
    /// Waits for the turn, `timeout` at most; tells whether it was obtained.
    #[must_use]
    pub(super) fn take(&self, timeout: Duration) -> bool {
        let mut state = self.lock();
        if !state.is_taken && state.waiting.is_empty() {
            state.is_taken = true;
            return true;
        }
        let number = state.next;
        state.next += 1;
        state.waiting.push_back(number);
        let others = |state: &mut State| state.is_taken || state.waiting.front() != Some(&number);
        let waited = self.ended.wait_timeout_while(state, timeout, others);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let is_ours = !others(&mut state);
        state.is_taken |= is_ours;
        state.waiting.retain(|other| *other != number);
        if !is_ours {
            // A waiting request may be first now.
            self.ended.notify_all();
        }
        is_ours
    }

    /// Ends the turn that [`Turns::take`] gave.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.is_taken = false;
        if !state.waiting.is_empty() {
            self.ended.notify_all();
        }
    }

    /// Nothing under this lock can panic midway.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn one_has_the_turn_until_it_ends() {
        let turns = Turns::default();
        assert!(turns.take(LONG));
        assert!(!turns.take(Duration::ZERO));
        assert!(!turns.take(Duration::from_millis(2)));
        turns.end();
        assert!(turns.take(Duration::ZERO));
    }

    #[test]
    fn many_threads_write_one_at_a_time() {
        let turns = Arc::new(Turns::default());
        let inside = Arc::new(AtomicU32::new(0));
        let work = |turns: Arc<Turns>, inside: Arc<AtomicU32>| {
            for _ in 0..200 {
                assert!(turns.take(LONG));
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                inside.fetch_sub(1, Ordering::SeqCst);
                turns.end();
            }
        };
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let (turns, inside) = (Arc::clone(&turns), Arc::clone(&inside));
                std::thread::spawn(move || work(turns, inside))
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert!(turns.take(Duration::ZERO));
    }

    #[test]
    fn an_abandoned_request_does_not_block_those_behind_it() {
        let turns = Arc::new(Turns::default());
        assert!(turns.take(LONG));
        let other = Arc::clone(&turns);
        let behind = std::thread::spawn(move || other.take(LONG));
        assert!(!turns.take(Duration::from_millis(5)));
        turns.end();
        assert!(behind.join().unwrap());
    }
}
