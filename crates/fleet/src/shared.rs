//! State that the coordinator and its port share.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;

use crate::gather::Incoming;
use crate::offset::{self, StampClock};
use crate::state::{Board, StatusRow};

/// What the threads of a coordinator share.
pub(crate) struct Shared {
    pub board: Mutex<Board>,
    /// Rung when agents are to hear something at once.
    pub bell: Bell,
    pub incoming: Mutex<HashMap<u32, Incoming>>,
    /// The files that agents fetch.
    pub files: Vec<Bytes>,
    /// What they deliver goes into a folder each below this.
    pub pieces: PathBuf,
    /// The clock that is compared with those of the agents.
    pub clock: StampClock,
    /// Whether the coordinator has ended.
    pub is_over: AtomicBool,
}

/// Calls the agents, which ask for news only now and then, by their next probe, which is due then.
#[derive(Default)]
pub(crate) struct Bell {
    calls: Mutex<u64>,
    rung: Condvar,
}

impl Bell {
    pub fn ring(&self) {
        *self.calls.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.rung.notify_all();
    }

    /// Waits for another call than the first `heard` ones, at most for `pause`; how many there have
    /// been.
    pub fn wait(&self, heard: u64, pause: Duration) -> u64 {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.rung.wait_timeout_while(calls, pause, |calls| *calls == heard);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Shared {
    /// Changes what is known, and calls the agents if they are to hear of it.
    pub fn act<T>(&self, act: impl FnOnce(&mut Board) -> T) -> T {
        let mut board = self.board();
        let before = board.orders();
        let acted = act(&mut board);
        if board.orders() != before {
            self.bell.ring();
        }
        acted
    }

    pub fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn incoming(&self) -> MutexGuard<'_, HashMap<u32, Incoming>> {
        self.incoming.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn piece_dir(&self, agent: u32) -> PathBuf {
        self.pieces.join(format!("agent-{agent}"))
    }

    pub fn withdraw(&self, reason: String) {
        self.act(|board| board.withdraw(reason, offset::moment()));
    }

    /// Does what is due.
    pub fn tick(&self) {
        self.act(|board| {
            board.tick(offset::moment(), self.clock.now());
            if let Some(agent) = self.liar(board) {
                let reason = format!("agent {agent} says that it has delivered, but has not");
                board.withdraw(reason, offset::moment());
            }
        });
    }

    /// An agent that says it has delivered, but has not.
    fn liar(&self, board: &Board) -> Option<u32> {
        if board.leaves_parts() {
            return None;
        }
        let incoming = self.incoming();
        let is_whole = |agent| incoming.get(&agent).is_some_and(Incoming::is_complete);
        board.delivered().find(|agent| !is_whole(*agent))
    }

    /// The table of agents, as JSON.
    pub fn status(&self) -> serde_json::Value {
        self.board().status().iter().map(StatusRow::json).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_call_ends_the_pause_of_everybody_who_has_not_heard_it() {
        let bell = Arc::new(Bell::default());
        let pauses = [0, 0].map(|heard| {
            let bell = Arc::clone(&bell);
            std::thread::spawn(move || bell.wait(heard, Duration::from_secs(60)))
        });
        bell.ring();
        assert_eq!(pauses.map(|pause| pause.join().unwrap()), [1, 1]);
        assert_eq!(bell.wait(1, Duration::from_millis(1)), 1, "it was heard");
    }
}
