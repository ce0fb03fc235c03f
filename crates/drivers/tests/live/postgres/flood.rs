//! A server whose response has no end does not exhaust the memory.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use assay_model::Reason;

use crate::impostor;
use crate::stores::{store, wide_client};
use crate::test_client::{RequestResult, layout, read};

const MIB: u64 = 1 << 20;
/// The operating system's buffers of a connection, both ends together.
const ON_THE_WAY: u64 = 16 * MIB;

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("a message is short").to_be_bytes();
    [&[tag][..], &length, body].concat()
}

/// A row of one value.
fn row(value: &[u8]) -> Vec<u8> {
    let length = u32::try_from(value.len()).expect("a value is short").to_be_bytes();
    message(b'D', &[&[0, 1][..], &length, value].concat())
}

/// A message that a server may send at any time.
fn parameter() -> Vec<u8> {
    message(b'S', b"name\0value\0")
}

/// The description of rows with one column of text.
fn description() -> Vec<u8> {
    let rest = [0, 0, 0, 0, 0, 0, 0, 0, 0, 25, 255, 255, 255, 255, 255, 255, 0, 0];
    message(b'T', &[&[0, 1][..], b"field0\0", &rest].concat())
}

/// The place of the flood in the protocol.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    Greeting,
    BesideARun,
    Query,
}

/// Sends `text` for ever, as long as somebody reads; counts its bytes.
fn flood(socket: &mut (impl Read + Write), text: &[u8], said: &AtomicU64) {
    let piece = text.repeat(1 + 65_536 / text.len());
    while socket.write_all(&piece).is_ok() {
        said.fetch_add(piece.len() as u64, Ordering::Relaxed);
    }
}

/// One message of a client: its tag with its body.
fn hear(socket: &mut (impl Read + Write), has_tag: bool) -> Option<(u8, Vec<u8>)> {
    let mut head = [0; 5];
    let from = usize::from(!has_tag);
    socket.read_exact(&mut head[from..]).ok()?;
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
    let mut body = vec![0; usize::try_from(length).ok()? - 4];
    socket.read_exact(&mut body).ok()?;
    Some((head[0], body))
}

fn converse(mut socket: impl Read + Write, at: Where, said: &AtomicU64) -> Option<()> {
    hear(&mut socket, false)?;
    socket.write_all(&message(b'R', &[0; 4])).ok()?;
    if at == Where::Greeting {
        flood(&mut socket, &parameter(), said);
        return None;
    }
    let ready = message(b'Z', b"I");
    socket.write_all(&ready).ok()?;
    loop {
        let (tag, body) = hear(&mut socket, true)?;
        let text = String::from_utf8_lossy(&body).into_owned();
        let answer = match tag {
            b'Q' if at == Where::BesideARun => {
                flood(&mut socket, &parameter(), said);
                return None;
            }
            b'Q' if text.contains("attname") => {
                let rows = ["ycsb_key", "field0"].map(|name| row(name.as_bytes())).concat();
                [description(), rows, message(b'C', b"SELECT 2\0"), ready.clone()].concat()
            }
            b'Q' => [message(b'C', b"SET\0"), ready.clone()].concat(),
            b'P' => {
                let count = (1..9).filter(|place| text.contains(&format!("${place}"))).count();
                let types = [0, 0, 0, 25].repeat(count);
                let count = u8::try_from(count).expect("it is below nine");
                [message(b'1', b""), message(b't', &[&[0, count][..], &types].concat())].concat()
            }
            b'D' => description(),
            b'B' => {
                socket.write_all(&message(b'2', b"")).ok()?;
                flood(&mut socket, &row(b"x"), said);
                return None;
            }
            b'S' => ready.clone(),
            _ => Vec::new(),
        };
        socket.write_all(&answer).ok()?;
    }
}

/// The URL of a server that floods there, with the count of its bytes so far.
fn flooding(at: Where) -> (String, Arc<AtomicU64>) {
    let said = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&said);
    let port = impostor::listen(move |socket| {
        let counted = Arc::clone(&counted);
        std::thread::spawn(move || converse(socket, at, &counted));
    });
    (format!("postgres://127.0.0.1:{port}/db?connections=1"), said)
}

fn check(said: &AtomicU64, most: u64) {
    let said = said.load(Ordering::Relaxed);
    assert!(said > most / 4 && said < most + ON_THE_WAY, "{said} bytes were taken");
}

#[test]
fn a_handshake_without_an_end_is_cut_off() {
    let (url, said) = flooding(Where::Greeting);
    let result = store(&url).prepare(&layout(1)).unwrap_err().to_string();
    assert!(result.contains("more than any answer"), "{result}");
    check(&said, MIB);
}

#[test]
fn an_answer_without_an_end_beside_a_run_is_cut_off() {
    let (url, said) = flooding(Where::BesideARun);
    let result = store(&url).prepare(&layout(1)).unwrap_err().to_string();
    assert!(result.contains("longer than any answer"), "{result}");
    check(&said, 16 * MIB);
}

#[test]
fn rows_without_an_end_are_cut_off() {
    let (url, said) = flooding(Where::Query);
    let mut test_client = wide_client(&url, 1);
    test_client.expect(&read("user1"), RequestResult::Unknown(Reason::ConnectionLost));
    // The connection is made anew at once, and no request is sent.
    check(&said, 64 * MIB);
}

#[test]
fn an_answer_without_an_end_over_a_socket_file_is_cut_off() {
    for (at, most, says) in [
        (Where::Greeting, MIB, "more than any answer"),
        (Where::BesideARun, 16 * MIB, "longer than any answer"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
        let said = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&said);
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                converse(socket, at, &counted);
            }
        });
        let url = format!("postgres:///db?host={}&connections=1", folder.path().display());
        let result = store(&url).prepare(&layout(1)).unwrap_err().to_string();
        assert!(result.contains(says), "{result}");
        check(&said, most);
    }
}
