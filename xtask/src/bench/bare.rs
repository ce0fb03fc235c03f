//! What the machine takes for a round trip to Redis, whoever asks.
//!
//! A client with a request in flight on each of its connections cannot do with less than one call
//! to send, one to wait while nothing is there, one to receive. What these cost, which is mostly
//! the system's network and waking the server, no client can save.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};

/// The first record that YCSB loads, asked as its binding for Redis asks for a whole record.
const REQUEST: &[u8] = b"*2\r\n$7\r\nHGETALL\r\n$23\r\nuser6284781860667377211\r\n";

/// How an answer with one field begins; what follows is its 100 bytes and the end of the line.
const HEAD: &[u8] = b"*2\r\n$6\r\nfield0\r\n$100\r\n";

/// Bytes of a whole answer.
const ANSWER: usize = HEAD.len() + 100 + 2;

/// A server that is silent for so long has died.
const PATIENCE: Duration = Duration::from_secs(10);

/// Asks the server on `port` for `operations` records, one after the other on each of `sessions`
/// connections, from one thread; returns that thread's processor time per operation in ns.
///
/// # Errors
/// If the server cannot be reached, falls silent, or answers something else than such a record.
pub fn processor_time(port: u16, sessions: u64, operations: u64) -> Result<f64> {
    let connect = |_| Connection::open(port);
    let mut connections = (0..sessions).map(connect).collect::<Result<Vec<Connection>>>()?;
    let before = own_time();
    let mut asked = 0;
    for connection in connections.iter_mut().take(operations as usize) {
        connection.ask()?;
        asked += 1;
    }
    let mut answered = 0;
    while answered < operations {
        for place in ready(&connections)? {
            if !connections[place].has_answered()? {
                continue;
            }
            answered += 1;
            if asked < operations {
                connections[place].ask()?;
                asked += 1;
            }
        }
    }
    Ok((own_time() - before) / operations as f64)
}

/// Processor time of this thread so far, in ns.
fn own_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// The places of those connections on which something has come; waits until there is one.
fn ready(connections: &[Connection]) -> Result<Vec<usize>> {
    let patience = Timespec::try_from(PATIENCE).context("patience")?;
    let watched = |connection| PollFd::new(connection, PollFlags::IN);
    let mut watched: Vec<PollFd<'_>> =
        connections.iter().map(|connection| watched(&connection.stream)).collect();
    ensure!(poll(&mut watched, Some(&patience))? > 0, "Redis is silent");
    let has_come = |(place, fd): (usize, &PollFd<'_>)| (!fd.revents().is_empty()).then_some(place);
    Ok(watched.iter().enumerate().filter_map(has_come).collect())
}

/// A connection with at most one request in flight.
struct Connection {
    stream: TcpStream,
    /// Bytes of the answer that have come.
    come: usize,
    answer: [u8; ANSWER],
}

impl Connection {
    fn open(port: u16) -> Result<Connection> {
        let stream = TcpStream::connect(("127.0.0.1", port)).context("cannot reach Redis")?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, come: 0, answer: [0; ANSWER] })
    }

    fn ask(&mut self) -> Result<()> {
        self.come = 0;
        self.stream.write_all(REQUEST).context("cannot ask Redis")
    }

    /// Takes what has come; whether that is all of the answer.
    fn has_answered(&mut self) -> Result<bool> {
        match self.stream.read(&mut self.answer[self.come..]).context("cannot hear Redis")? {
            0 => bail!("Redis hung up"),
            more => self.come += more,
        }
        let known = self.come.min(HEAD.len());
        let (told, expected) = (&self.answer[..known], &HEAD[..known]);
        ensure!(told == expected, "Redis told {:?}", String::from_utf8_lossy(told));
        Ok(self.come == ANSWER)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::net::TcpListener;
    use std::thread::{self, JoinHandle};

    use super::*;

    /// A server for one connection that gives `answer` to each of its requests, in two pieces;
    /// returns how many those were.
    fn server(answer: Vec<u8>) -> (u16, JoinHandle<usize>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let serve = move || {
            let mut stream = listener.accept().expect("a client").0;
            let lines = BufReader::new(stream.try_clone().expect("a clone")).lines();
            let mut requests = 0;
            for line in lines.map_while(Result::ok) {
                if !line.starts_with("user") {
                    continue;
                }
                requests += 1;
                let (head, tail) = answer.split_at(answer.len() / 2);
                for piece in [head, tail] {
                    // A client that has had enough is gone.
                    let _ = stream.write_all(piece);
                    thread::sleep(Duration::from_millis(1));
                }
            }
            requests
        };
        (port, thread::spawn(serve))
    }

    fn record() -> Vec<u8> {
        [HEAD, &[b'x'; 100], b"\r\n"].concat()
    }

    #[test]
    fn every_operation_is_one_request() {
        let (port, server) = server(record());
        let taken = processor_time(port, 1, 20).expect("20 answers");
        assert!(taken > 0.0);
        assert_eq!(server.join().expect("the server ends"), 20);
    }

    #[test]
    fn a_record_of_another_shape_is_no_answer() {
        let (port, server) = server(b"*0\r\n".to_vec());
        let told = processor_time(port, 1, 20).expect_err("no such record").to_string();
        assert!(told.starts_with("Redis told"), "{told}");
        server.join().expect("the server ends");
    }

    #[test]
    fn a_server_that_hangs_up_is_told() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let server = thread::spawn(move || drop(listener.accept()));
        assert!(processor_time(port, 1, 20).is_err());
        server.join().expect("the server ends");
    }
}
