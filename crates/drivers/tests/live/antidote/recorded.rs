//! Recorded requests with the answers of a live AntidoteDB, as the stand-in answers them.
//!
//! The file is of lines `CONNECTION > CODE HEX` and `CONNECTION < CODE HEX`, each part headed by
//! what it shows.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::TcpStream;

use super::start;

/// Where the recording is.
const FILE: &str = "ASSAY_ANTIDOTE_WIRE";
/// Parts about types that the stand-in does not have.
const LEFT_OUT: &str = "# counter, flag, mvreg, rrmap";

/// The recording's descriptors and clocks with those that the stand-in gave instead, as long.
#[derive(Default)]
struct Tokens(Vec<(Vec<u8>, Vec<u8>)>);

impl Tokens {
    /// What was opaque in an answer: the last field of bytes, which its length stands before.
    fn learn(&mut self, recorded: &[u8], own: &[u8]) {
        for length in [55, 56] {
            let head = [0x12, length as u8];
            let at = |bytes: &[u8]| bytes.windows(2).rposition(|pair| pair == head);
            let token = |bytes: &[u8]| {
                let begin = at(bytes)? + 2;
                bytes.get(begin..begin + length).map(<[u8]>::to_vec)
            };
            if let (Some(recorded), Some(own)) = (token(recorded), token(own)) {
                self.0.push((recorded, own));
            }
        }
    }

    fn replaced(&self, mut bytes: Vec<u8>, is_request: bool) -> Vec<u8> {
        for (recorded, own) in &self.0 {
            let (from, to) = if is_request { (recorded, own) } else { (own, recorded) };
            while let Some(at) = bytes.windows(from.len()).position(|part| part == from) {
                bytes[at..at + from.len()].copy_from_slice(to);
            }
        }
        bytes
    }
}

fn hex(text: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("it is hexadecimal");
    (0..text.len()).step_by(2).map(byte).collect()
}

fn receive(socket: &mut TcpStream) -> Option<(u8, Vec<u8>)> {
    let mut head = [0; 5];
    socket.read_exact(&mut head).ok()?;
    let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize - 1;
    let mut message = vec![0; length];
    socket.read_exact(&mut message).ok()?;
    Some((head[4], message))
}

#[test]
fn the_stand_in_answers_as_a_live_server_did() {
    let Some(path) = std::env::var_os(FILE) else {
        eprintln!("NOT RUN: no recording; name one by {FILE}=FILE");
        return;
    };
    let text = std::fs::read_to_string(path).expect("the recording can be read");
    let stand_in = start();
    let mut sockets: HashMap<&str, TcpStream> = HashMap::new();
    let (mut tokens, mut title, mut compared) = (Tokens::default(), "", 0);
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with('#') {
            title = line;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["1" | "2" | "3", ">", code, message @ ..] = &words[..] else { continue };
        let answer = lines.next_if(|line| line.split(' ').nth(1) == Some("<")).unwrap_or("");
        if title.starts_with(LEFT_OUT) {
            continue;
        }
        let connect = || TcpStream::connect(("127.0.0.1", stand_in.ports[0])).unwrap();
        let socket = sockets.entry(words[0]).or_insert_with(connect);
        let message = tokens.replaced(hex(message.first().unwrap_or(&"")), true);
        let length = (message.len() as u32 + 1).to_be_bytes();
        let code: u8 = code.parse().expect("a code is a number");
        socket.write_all(&[&length[..], &[code], &message].concat()).unwrap();
        let own = receive(socket);
        compared += 1;
        let expected: Vec<&str> = answer.split_whitespace().collect();
        match (expected.get(2..), own) {
            (None, None) => {}
            // The text of an error is not recorded.
            (Some(["0", ..]), Some((0, _))) => {}
            (Some([code, bytes]), Some((own_code, own))) => {
                let recorded = hex(bytes);
                tokens.learn(&recorded, &own);
                let own = tokens.replaced(own, false);
                assert_eq!((own_code.to_string().as_str(), own), (*code, recorded), "{title}");
            }
            (expected, own) => panic!("{title}\n{line}\n{expected:?}: {own:?}"),
        }
    }
    assert!(compared > 30, "only {compared} requests were compared");
    eprintln!("{compared} recorded requests were answered as a live server did");
}
