//! A server whose response has no end does not exhaust the memory.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::impostor;
use crate::opening::assert_error;
use crate::stores::store;
use crate::test_client::layout;

const MIB: u64 = 1 << 20;
/// The bytes between two checks, and those in the operating system's buffers of a connection.
const ON_THE_WAY: u64 = 512 * MIB;

/// Sends `text` for ever, as long as somebody reads; counts its bytes.
fn flood(socket: &mut TcpStream, text: &[u8], said: &AtomicU64) {
    let piece = text.repeat(1 + 65_536 / text.len());
    while socket.write_all(&piece).is_ok() {
        said.fetch_add(piece.len() as u64, Ordering::Relaxed);
    }
}

/// The URL of a server that follows `script`, with the count of its bytes so far.
fn flooding(script: fn(TcpStream, &AtomicU64)) -> (String, Arc<AtomicU64>) {
    let said = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&said);
    let port = impostor::listen(move |socket| {
        let counted = Arc::clone(&counted);
        std::thread::spawn(move || script(socket, &counted));
    });
    (format!("nats://127.0.0.1:{port}"), said)
}

/// Sends INFO, then responds to the first request with a message of nearly 4 GiB.
fn flood_a_request(mut socket: TcpStream, said: &AtomicU64) {
    let greeting = r#"INFO {"server_id":"x","server_name":"x","version":"2.10.0","go":"","host":"",
        "port":1,"headers":true,"max_payload":1048576,"proto":1}"#;
    let greeting = greeting.replace('\n', "") + "\r\n";
    if socket.write_all(greeting.as_bytes()).is_err() {
        return;
    }
    let received = BufReader::new(socket.try_clone().expect("there is a descriptor left"));
    for line in received.lines().map_while(Result::ok) {
        if line.starts_with("PING") {
            let _ = socket.write_all(b"PONG\r\n");
        }
        if line.starts_with("PUB") || line.starts_with("HPUB") {
            let _ = socket.write_all(b"MSG _INBOX.x 1 4000000000\r\n");
            return flood(&mut socket, b"x", said);
        }
    }
}

#[test]
fn an_endless_first_line_is_no_nats() {
    let (url, said) = flooding(|mut socket, said| flood(&mut socket, b"INFO ", said));
    let error = store(&url).prepare(&layout(1)).unwrap_err();
    assert_error(&error, "Unreachable", "no NATS that we understand");
    let said = said.load(Ordering::Relaxed);
    assert!(said < 32 * MIB, "{said} bytes were taken");
}

#[test]
fn an_answer_without_an_end_breaks_the_connection() {
    let (url, said) = flooding(flood_a_request);
    assert!(store(&url).prepare(&layout(1)).is_err());
    let said = said.load(Ordering::Relaxed);
    assert!(said > 64 * MIB && said < 128 * MIB + ON_THE_WAY, "{said} bytes were taken");
}
