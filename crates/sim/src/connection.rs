//! One connection of the simulated server: its input and its pending replies.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use crate::redis::{Conversation, Keyspace, LONGEST_COMMAND};
use assay_model::Nanos;
use assay_store::resp::write;

/// Replies that may lie before a connection; beyond it nothing more is read from it.
///
/// A benchmark with a pipeline of a thousand stays far below; a client that never reads stops here.
const MOST_WAITING: usize = 100_000;

/// Bytes of replies that may lie before a connection.
const MOST_BYTES: usize = 64 << 20;

/// Bytes read at once.
const CHUNK: usize = 64 << 10;

/// Bytes read from one connection before the others have their turn.
const READ_PER_TURN: usize = 256 << 10;

/// Commands of one connection that are done before the others have their turn.
const COMMANDS_PER_TURN: u64 = 1_000;

/// Bytes that an idle connection may keep for what comes next.
const KEPT: usize = 1 << 20;

/// How long a client that says nothing more is kept waiting for its replies after the last one.
///
/// Whether it closed its side alone, or went away, shows only when something is written to it.
const TIMEOUT: Nanos = Nanos::from_secs(10);

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
    /// Whole commands may lie in the input, which had no room or no turn.
    has_more: bool,
    /// Nothing more is read.
    is_closing: bool,
    /// When the client closed its side, or when it was last written to after that.
    gone_at: Option<Nanos>,
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
            has_more: false,
            is_closing: false,
            gone_at: None,
            is_broken: false,
        }
    }

    /// Whether more may be read.
    pub fn wants_input(&self) -> bool {
        let is_long = self.input.len() - self.done > LONGEST_COMMAND;
        !self.is_closing && !self.has_more && !is_long && self.has_room()
    }

    /// Whether commands wait for nothing but their turn.
    pub fn wants_turn(&self) -> bool {
        self.has_more && self.has_room()
    }

    /// Whether something has to be written.
    pub fn wants_output(&self) -> bool {
        self.written < self.output.len()
    }

    /// Whether it has come to its end.
    pub fn is_over(&self, now: Nanos) -> bool {
        // What is never answered holds back all that comes after it.
        let is_silent = self.waiting.front().is_none_or(|(due, _)| *due == Nanos::NEVER);
        let is_done = is_silent && !self.wants_output() && !self.wants_turn();
        let is_forgotten = self.gone_at.is_some_and(|at| now.since(at) > TIMEOUT);
        self.is_broken || is_forgotten || (self.is_closing && is_done)
    }

    /// Whether the client has closed its side.
    pub fn is_gone(&self) -> bool {
        self.gone_at.is_some()
    }

    /// The client has closed its side: it may read replies but sends no more commands.
    pub fn part(&mut self, now: Nanos) {
        self.gone_at.get_or_insert(now);
    }

    /// When its next reply is due.
    pub fn due(&self) -> Option<Nanos> {
        self.waiting.front().map(|(due, _)| *due)
    }

    fn has_room(&self) -> bool {
        self.waiting.len() < MOST_WAITING && self.waiting_bytes + self.output.len() < MOST_BYTES
    }

    /// The other side is closed: no reply would be read.
    pub fn hang_up(&mut self) {
        self.is_broken = true;
    }

    /// Reads what has come, as much as one turn allows.
    pub fn read(&mut self, now: Nanos, scratch: &mut Vec<u8>) {
        scratch.resize(CHUNK, 0);
        let mut left = READ_PER_TURN;
        while left > 0 && self.wants_input() {
            match self.socket.read(scratch) {
                Ok(0) => {
                    self.is_closing = true;
                    self.part(now);
                }
                Ok(length) => {
                    left = left.saturating_sub(length);
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

    /// Does the commands that are whole, as many as one turn allows; tells how many.
    pub fn obey(&mut self, now: Nanos, keyspace: &mut Keyspace) -> u64 {
        let mut commands = 0;
        self.has_more = false;
        while self.done < self.input.len() && !self.conversation.is_over() {
            if commands >= COMMANDS_PER_TURN || !self.has_room() {
                self.has_more = true;
                break;
            }
            match self.conversation.hear(now, &self.input[self.done..], keyspace) {
                Ok(None) => break,
                Ok(Some(received)) => {
                    self.done += received.length;
                    self.waiting_bytes += received.reply.len();
                    self.waiting.push_back((received.due, received.reply));
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
            self.input.shrink_to(KEPT);
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
                Ok(length) => {
                    self.written += length;
                    self.gone_at = self.gone_at.map(|_| now);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {
                    self.is_broken = true;
                    return;
                }
            }
        }
        self.output.clear();
        self.output.shrink_to(KEPT);
        self.written = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Shutdown, TcpListener};

    use crate::config::Config;
    use assay_model::Seed;

    use super::*;

    /// A client, the server's end of its connection, and a store like `query`.
    fn pair(query: &str) -> (TcpStream, Connection, Keyspace) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (socket, _) = listener.accept().unwrap();
        socket.set_nonblocking(true).unwrap();
        let mut config = Config::default();
        config.set_all(query).unwrap();
        (client, Connection::new(socket, 0), Keyspace::new(config, Seed(1)).unwrap())
    }

    /// Reads until something has come.
    fn read(connection: &mut Connection, is_enough: impl Fn(&Connection) -> bool) {
        for _ in 0..10_000 {
            connection.read(Nanos::ZERO, &mut Vec::new());
            if is_enough(connection) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_micros(200));
        }
        panic!("what was sent did not come");
    }

    #[test]
    fn a_busy_connection_does_not_starve_others() {
        let (mut client, mut connection, mut keyspace) = pair("");
        let sender = std::thread::spawn(move || {
            let _ = client.write_all(&b"GET k\r\n".repeat(1 << 20));
        });
        read(&mut connection, |connection| !connection.input.is_empty());
        let (mut commands, mut turns) = (0, 0);
        while commands < 50_000 {
            assert!(connection.input.len() - connection.done <= READ_PER_TURN + CHUNK);
            let done = connection.obey(Nanos::ZERO, &mut keyspace);
            assert!(done <= COMMANDS_PER_TURN);
            assert!(!connection.has_more || !connection.wants_input(), "first what is there");
            commands += done;
            turns += 1;
            connection.waiting.clear();
            connection.waiting_bytes = 0;
            connection.read(Nanos::ZERO, &mut Vec::new());
        }
        assert!(turns >= 50);
        drop(connection);
        sender.join().unwrap();
    }

    #[test]
    fn commands_that_wait_for_their_turn_are_done_though_the_client_has_left() {
        let (mut client, mut connection, mut keyspace) = pair("");
        client.write_all(&b"GET k\r\n".repeat(3_500)).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        read(&mut connection, |connection| connection.is_closing);
        let mut commands = 0;
        loop {
            commands += connection.obey(Nanos::ZERO, &mut keyspace);
            connection.answer(Nanos::ZERO);
            if connection.is_over(Nanos::ZERO) {
                break;
            }
        }
        assert_eq!(commands, 3_500);
    }

    #[test]
    fn a_closed_client_frees_its_slot() {
        let (mut client, mut connection, mut keyspace) = pair("latency=1h");
        client.write_all(b"GET k\r\n").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        read(&mut connection, |connection| connection.is_closing);
        connection.obey(Nanos::ZERO, &mut keyspace);
        assert!(!connection.is_over(Nanos::from_secs(10)), "its reply may be received");
        assert!(connection.is_over(Nanos::from_secs(11)));
    }
}
