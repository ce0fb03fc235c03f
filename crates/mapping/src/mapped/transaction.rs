//! Transactions of the inner store that queries run in.

use std::collections::HashMap;

use crate::key_value::program::{Program, Rows};

/// How a query on its way stands to a transaction of the inner store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TransactionMode {
    /// It is in none: the store has none, or it is one request, which is atomic by itself.
    #[default]
    Alone,
    /// It is one by itself, which it commits before it is answered.
    Own,
    /// It is a step of one that its process ends.
    Step,
}

/// The transactions of the inner store that are open, by session.
#[derive(Debug, Default)]
pub(super) struct Open {
    /// The requests of each until now.
    sessions: HashMap<u32, TransactionStep>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TransactionStep {
    Nothing,
    /// So its session has its connection.
    Something,
}

impl Open {
    pub(super) fn begin(&mut self, session: u32) {
        self.sessions.insert(session, TransactionStep::Nothing);
    }

    /// Notes that the transaction of `session`, if there is one, sends a request.
    pub(super) fn send(&mut self, session: u32) {
        if let Some(requested) = self.sessions.get_mut(&session) {
            *requested = TransactionStep::Something;
        }
    }

    pub(super) fn end(&mut self, session: u32) {
        self.sessions.remove(&session);
    }

    pub(super) fn has(&self, session: u32) -> bool {
        self.sessions.contains_key(&session)
    }

    /// Whether the inner client keeps a connection for `session`, so that it need not be ready for
    /// the next request: waiting until another session ends might be for ever.
    pub(super) fn holds_connection(&self, session: u32) -> bool {
        self.sessions.get(&session) == Some(&TransactionStep::Something)
    }
}

/// Whether `program` needs no more than one request, whatever the store holds.
pub(super) fn is_one_request(program: &Program) -> bool {
    match program {
        Program::Select(reading, _) => matches!(&reading.accesses[..], [step] if step.is_get),
        Program::Write(writing) => {
            let reads = matches!(writing.rows, Rows::Found(_) | Rows::New { check: Some(_), .. });
            let [copy] = &writing.copies[..] else { return writing.copies.is_empty() && !reads };
            copy.partners.accesses.is_empty() && !reads
        }
    }
}
