//! A simulated store in the protocol of Redis: commands in, replies with their due times out.
//!
//! Strings and hashes are records of the [`World`], with versions, replicas, faults. A sorted
//! set is what an index is made of: its commands wait like any other request but it is kept once,
//! without versions. Whatever is no request (PING, HELLO, INFO …) is answered at once.
//!
//! Replies leave in the order of the commands, so one that is never answered holds back all that
//! come after it on the same connection, as it does with Redis.

mod command;
mod sorted;

use std::collections::BTreeMap;

use assay_model::{Nanos, Seed};

use super::config::Config;
use super::world::World;
use assay_store::resp::{Limits, ParseError, Parser, Protocol};
use sorted::Sorted;

/// What a client may make us hold: no record is longer than 64 MiB.
const LIMITS: Limits =
    Limits { depth: 2, elements: 1 << 20, line: 64 << 10, string: 64 << 20, frame: 256 << 20 };

/// Bytes that one command may have.
pub const LONGEST_COMMAND: usize = LIMITS.frame;

/// The store that commands act on.
#[derive(Debug)]
pub struct Keyspace {
    world: World,
    /// The number of the table of strings and hashes, then that of sorted sets.
    tables: [usize; 2],
    sets: BTreeMap<Vec<u8>, Sorted>,
}

impl Keyspace {
    /// An empty store, with its faults from the first request on.
    ///
    /// # Errors
    /// If `config` is invalid, with a sentence.
    pub fn new(config: Config, seed: Seed) -> Result<Keyspace, String> {
        let mut world = World::new(config, seed)?;
        let tables = [world.table("records"), world.table("sorted sets")];
        world.quiesce();
        Ok(Keyspace { world, tables, sets: BTreeMap::new() })
    }

    /// The same, but immediate and healthy until the command `SIM QUIESCE`.
    ///
    /// # Errors
    /// If `config` is invalid, with a sentence.
    pub fn to_be_loaded(config: Config, seed: Seed) -> Result<Keyspace, String> {
        let mut world = World::new(config, seed)?;
        let tables = [world.table("records"), world.table("sorted sets")];
        Ok(Keyspace { world, tables, sets: BTreeMap::new() })
    }

    /// The heart.
    pub fn world(&self) -> &World {
        &self.world
    }
}

/// One connection.
#[derive(Debug)]
pub struct Conversation {
    session: u32,
    protocol: Protocol,
    parser: Parser,
    name: Vec<u8>,
    /// When the last reply so far is due.
    last_due: Nanos,
    is_over: bool,
}

/// A command that was understood, or was not.
#[derive(Debug, PartialEq, Eq)]
pub struct ParsedCommand {
    /// How many bytes it took.
    pub length: usize,
    /// The reply.
    pub reply: Vec<u8>,
    /// When it is due; never before the reply before it.
    pub due: Nanos,
}

impl Conversation {
    /// The beginning of connection number `session`.
    pub fn new(session: u32) -> Conversation {
        Conversation {
            session,
            protocol: Protocol::Resp2,
            parser: Parser::new(LIMITS),
            name: Vec::new(),
            last_due: Nanos::ZERO,
            is_over: false,
        }
    }

    /// Whether the client has said QUIT: after the last reply the connection ends.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Does the command that `bytes` begins with, once all of it is there.
    ///
    /// # Errors
    /// If the bytes are no command. The connection cannot go on.
    pub fn hear(
        &mut self,
        now: Nanos,
        bytes: &[u8],
        keyspace: &mut Keyspace,
    ) -> Result<Option<ParsedCommand>, ParseError> {
        if bytes.first().is_some_and(|first| *first != b'*') {
            return self.hear_plain(now, bytes, keyspace);
        }
        let Some(length) = self.parser.parse(bytes)? else { return Ok(None) };
        let [_, words @ ..] = self.parser.tokens() else { return Ok(None) };
        let words: Vec<&[u8]> = words.iter().map(|token| token.bytes(bytes)).collect();
        Ok(Some(self.received(now, length, &words, keyspace)))
    }

    /// Plain words on a line, as people type them.
    fn hear_plain(
        &mut self,
        now: Nanos,
        bytes: &[u8],
        keyspace: &mut Keyspace,
    ) -> Result<Option<ParsedCommand>, ParseError> {
        let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
            return if bytes.len() > LIMITS.line { Err(ParseError::Length) } else { Ok(None) };
        };
        let line = bytes[..end].split(u8::is_ascii_whitespace);
        let words: Vec<&[u8]> = line.filter(|word| !word.is_empty()).collect();
        Ok(Some(self.received(now, end + 1, &words, keyspace)))
    }

    fn received(
        &mut self,
        now: Nanos,
        length: usize,
        words: &[&[u8]],
        keyspace: &mut Keyspace,
    ) -> ParsedCommand {
        let mut reply = Vec::new();
        let due = if words.is_empty() { now } else { self.obey(now, words, keyspace, &mut reply) };
        self.last_due = self.last_due.max(due);
        ParsedCommand { length, reply, due: self.last_due }
    }
}

#[cfg(test)]
mod tests;
