//! A server that says what the test wants it to say.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// Listens on a free port and answers every connection by `script`, until the test process ends.
pub fn listen(script: impl Fn(TcpStream) + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("this machine has a loopback");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        for socket in listener.incoming().map_while(Result::ok) {
            script(socket);
        }
    });
    port
}

/// Says the same to every connection before it is asked, then closes it; its port.
pub fn says(text: &'static [u8]) -> u16 {
    listen(move |mut socket| drop(socket.write_all(text)))
}

/// Says the same to everybody who has asked something, and closes the connection when the client
/// has had time to read it; its port.
pub fn answers(text: &'static [u8]) -> u16 {
    listen(move |mut socket| {
        // A connection that is closed with bytes unread is reset.
        let _ = socket.read(&mut [0; 4096]);
        let _ = socket.write_all(text);
        std::thread::sleep(Duration::from_millis(200));
    })
}

/// Replies from `answers` to each command with a word of it, `+PONG` to PING, `+OK` to every other.
///
/// An answer that ends in `!` closes the connection after it.
pub fn converse(mut socket: TcpStream, answers: &[(&str, &str)]) {
    let mut parser = assay_store::resp::Parser::new(assay_store::resp::Limits::REPLY);
    let mut received = Vec::new();
    let mut room = [0; 4096];
    loop {
        while let Some(length) = parser.parse(&received).expect("our driver speaks the protocol") {
            let first = parser.tokens()[1].bytes(&received).to_ascii_uppercase();
            let command = String::from_utf8_lossy(&first).into_owned();
            received.drain(..length);
            let answer = answers.iter().find(|(word, _)| *word == command);
            let usual = if command == "PING" { "+PONG\r\n" } else { "+OK\r\n" };
            let answer = answer.map_or(usual, |(_, answer)| *answer);
            let (text, is_last) = match answer.strip_suffix('!') {
                Some(text) => (text, true),
                None => (answer, false),
            };
            if socket.write_all(text.as_bytes()).is_err() || is_last {
                return;
            }
        }
        match socket.read(&mut room) {
            Ok(0) | Err(_) => return,
            Ok(count) => received.extend_from_slice(&room[..count]),
        }
    }
}
