//! State that the coordinator and its port share.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::gather::Incoming;
use crate::offset::{self, StampClock};
use crate::protocol::AgentState;
use crate::state::{Board, StatusRow};

/// What the threads of a coordinator share.
pub(crate) struct Shared {
    pub board: Mutex<Board>,
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

impl Shared {
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
        self.board().withdraw(reason, offset::moment());
    }

    /// Does what is due. An agent that says it has delivered, but has not, is not believed.
    pub fn tick(&self) {
        let mut board = self.board();
        board.tick(offset::moment(), self.clock.now());
        if board.leaves_parts() {
            return;
        }
        let delivered = board.status().into_iter();
        let delivered = delivered.filter(|row| row.state == Some(AgentState::Delivered));
        let incoming = self.incoming();
        let is_whole = |agent| incoming.get(&agent).is_some_and(Incoming::is_complete);
        let liar = delivered.map(|row| row.agent).find(|agent| !is_whole(*agent));
        if let Some(agent) = liar {
            let reason = format!("agent {agent} says that it has delivered, but has not");
            board.withdraw(reason, offset::moment());
        }
    }

    /// The table of agents, as JSON.
    pub fn status(&self) -> serde_json::Value {
        self.board().status().iter().map(StatusRow::json).collect()
    }
}
