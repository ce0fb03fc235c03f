//! One client of the sick server: what it said, what it will hear.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use assay_model::Nanos;
use assay_store::resp::write;
use assay_store::sick::redis::{Conversation, Keyspace};

/// Replies that may lie before a connection; beyond it nothing more is read from it.
///
/// A benchmark with a pipeline of a thousand stays far below; a client that never reads stops here.
const MOST_WAITING: usize = 100_000;

/// Bytes of replies that may lie before a connection.
const MOST_BYTES: usize = 64 << 20;

/// Bytes read at once.
const CHUNK: usize = 64 << 10;

/// A connection.
pub struct Connection {
    /// The socket, which does not block.
    pub socket: TcpStream,
    conversation: Conversation,
    input: Vec<u8>,
    /// How much of the input has been done.
    done: usize,
    waiting: VecDeque<(Nanos, Vec<u8>)>,
    waiting_bytes: usize,
    output: Vec<u8>,
    written: usize,
    /// Nothing more is read.
    is_closing: bool,
    /// It is broken.
    is_broken: bool,
}

impl Connection {
    /// The beginning of connection number `session`.
    pub fn new(socket: TcpStream, session: u32) -> Connection {
        Connection {
            socket,
            conversation: Conversation::new(session),
            input: Vec::new(),
            done: 0,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            output: Vec::new(),
            written: 0,
            is_closing: false,
            is_broken: false,
        }
    }

    /// Whether more may be read.
    pub fn wants_input(&self) -> bool {
        !self.is_closing && self.has_room()
    }

    /// Whether something has to be written.
    pub fn wants_output(&self) -> bool {
        self.written < self.output.len()
    }

    /// Whether it has come to its end.
    pub fn is_over(&self) -> bool {
        // What is never answered holds back all that comes after it.
        let is_silent = self.waiting.front().is_none_or(|(due, _)| *due == Nanos::NEVER);
        self.is_broken || (self.is_closing && is_silent && !self.wants_output())
    }

    /// When its next reply is due.
    pub fn due(&self) -> Option<Nanos> {
        self.waiting.front().map(|(due, _)| *due)
    }

    fn has_room(&self) -> bool {
        self.waiting.len() < MOST_WAITING && self.waiting_bytes + self.output.len() < MOST_BYTES
    }

    /// The other side is gone for good: nobody would hear any reply.
    pub fn hang_up(&mut self) {
        self.is_broken = true;
    }

    /// Reads what has come.
    pub fn read(&mut self, scratch: &mut Vec<u8>) {
        scratch.resize(CHUNK, 0);
        while self.wants_input() {
            match self.socket.read(scratch) {
                Ok(0) => self.is_closing = true,
                Ok(length) => {
                    self.input.extend_from_slice(&scratch[..length]);
                    if length < CHUNK {
                        return;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.is_broken = true,
            }
            if self.is_broken {
                return;
            }
        }
    }

    /// Does the commands that are whole; tells how many.
    pub fn obey(&mut self, now: Nanos, keyspace: &mut Keyspace) -> u64 {
        let mut commands = 0;
        while self.done < self.input.len() && self.has_room() && !self.conversation.is_over() {
            match self.conversation.hear(now, &self.input[self.done..], keyspace) {
                Ok(None) => break,
                Ok(Some(heard)) => {
                    self.done += heard.length;
                    self.waiting_bytes += heard.reply.len();
                    self.waiting.push_back((heard.due, heard.reply));
                    commands += 1;
                }
                Err(error) => {
                    let mut reply = Vec::new();
                    write::error(&format!("ERR Protocol error: {error}"), &mut reply);
                    let due = self.waiting.back().map_or(now, |(due, _)| *due);
                    self.waiting_bytes += reply.len();
                    self.waiting.push_back((due, reply));
                    self.is_closing = true;
                    self.done = self.input.len();
                }
            }
        }
        self.is_closing |= self.conversation.is_over();
        if self.done == self.input.len() {
            self.input.clear();
            self.done = 0;
        } else if self.done > CHUNK {
            self.input.drain(..self.done);
            self.done = 0;
        }
        commands
    }

    /// Writes the replies that are due.
    pub fn answer(&mut self, now: Nanos) {
        while self.waiting.front().is_some_and(|(due, _)| *due <= now) {
            let Some((_, reply)) = self.waiting.pop_front() else { break };
            self.waiting_bytes -= reply.len();
            self.output.extend_from_slice(&reply);
        }
        while self.wants_output() {
            match self.socket.write(&self.output[self.written..]) {
                Ok(length) => self.written += length,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {
                    self.is_broken = true;
                    return;
                }
            }
        }
        self.output.clear();
        self.written = 0;
    }
}
