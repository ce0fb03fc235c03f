//! A connection to one node, with one request under way at a time.

use std::io;
use std::task::{Context, Poll};

use assay_driver_kit::task::poll_broken;
use prost::Message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::messages::{ErrorResponse, Question, code};

/// The longest answer that is believed: what is longer is no answer of a record.
const LONGEST_ANSWER: usize = 64 << 20;
/// Room that is made before a read, however long an answer claims to be.
const ROOM: usize = 16 << 10;
/// Buffers that grew beyond this are let go.
const KEPT: usize = 1 << 20;
/// Bytes before a message: its length with the code, and the code.
const HEAD: usize = 5;

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The connection broke.
    Lost(String),
    /// The response is invalid.
    Garbled(String),
    /// The server failed, in its words; the connection goes on.
    Said(String),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        Trouble::Lost(error.to_string())
    }
}

/// A connection to a node.
pub(super) struct Socket {
    stream: TcpStream,
    out: Vec<u8>,
    /// What came of the frame that is awaited.
    input: Vec<u8>,
}

impl Socket {
    pub(super) async fn connect(host: &str, port: u16) -> io::Result<Socket> {
        let stream = TcpStream::connect((host, port)).await?;
        stream.set_nodelay(true)?;
        Ok(Socket { stream, out: Vec::new(), input: Vec::new() })
    }

    /// Sends `question`, and waits for its answer.
    ///
    /// After an error other than [`Trouble::Said`] the connection is of no use any more.
    pub(super) async fn send<Q: Question>(&mut self, question: &Q) -> Result<Q::Answer, Trouble> {
        frame(Q::CODE, question, &mut self.out)?;
        self.stream.write_all(&self.out).await?;
        self.receive().await?;
        let answer = answer::<Q>(&self.input);
        self.out.shrink_to(KEPT);
        self.input.clear();
        self.input.shrink_to(KEPT);
        answer
    }

    /// Reads the next frame, and nothing else, into `input`.
    async fn receive(&mut self) -> Result<(), Trouble> {
        self.input.clear();
        let mut whole = HEAD;
        while self.input.len() < whole {
            self.input.reserve(ROOM);
            if self.stream.read_buf(&mut self.input).await? == 0 {
                return Err(Trouble::Lost("the server closed it".into()));
            }
            if let Some(length) = self.input.first_chunk::<4>() {
                let length = u32::from_be_bytes(*length) as usize;
                if length == 0 || length > LONGEST_ANSWER {
                    let why = format!("an answer of {length} bytes is none");
                    return Err(Trouble::Garbled(why));
                }
                whole = 4 + length;
            }
        }
        match self.input.len() == whole {
            true => Ok(()),
            // The server never sends by itself, and there is one request at a time.
            false => Err(Trouble::Garbled("more came than an answer".into())),
        }
    }

    /// Whether the idle connection broke.
    pub(super) fn poll_broken(&self, context: &mut Context<'_>) -> Poll<()> {
        poll_broken(&self.stream, context)
    }
}

/// Writes a message with its code and its length into `out`, over what was there.
fn frame(code: u8, message: &impl Message, out: &mut Vec<u8>) -> Result<(), Trouble> {
    let length = u32::try_from(message.encoded_len() + 1);
    let length = length.map_err(|_| Trouble::Said("a request is shorter than 4 GiB".into()))?;
    out.clear();
    out.extend_from_slice(&length.to_be_bytes());
    out.push(code);
    message.encode(out).map_err(|error| Trouble::Said(error.to_string()))
}

/// The answer to `Q` in a frame that has all its bytes.
fn answer<Q: Question>(input: &[u8]) -> Result<Q::Answer, Trouble> {
    let garbled = |error: prost::DecodeError| Trouble::Garbled(error.to_string());
    let Some((&code, message)) = input.get(4..).and_then(<[u8]>::split_first) else {
        return Err(Trouble::Garbled("an answer without a code".into()));
    };
    match code {
        code::ERROR => {
            let ErrorResponse { text, .. } = ErrorResponse::decode(message).map_err(garbled)?;
            Err(Trouble::Said(first_line(&text)))
        }
        _ if code == Q::ANSWER => Q::Answer::decode(message).map_err(garbled),
        _ => Err(Trouble::Garbled(format!("a message of code {code} is no answer to {}", Q::CODE))),
    }
}

/// The beginning of a text that has a stack trace.
fn first_line(text: &[u8]) -> String {
    const MOST: usize = 200;
    let text = String::from_utf8_lossy(&text[..text.len().min(4 * MOST)]);
    text.lines().next().unwrap_or_default().chars().take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::super::messages::{CommitTransaction, StartTransaction, StaticRead};
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let pair = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
        (0..text.len()).step_by(2).map(pair).collect()
    }

    #[test]
    fn a_frame_is_length_code_and_message() {
        let mut out = vec![9; 3];
        frame(119, &StartTransaction::after(None), &mut out).unwrap();
        assert_eq!(out, [0, 0, 0, 3, 119, 0x12, 0]);
        frame(121, &CommitTransaction { descriptor: vec![7] }, &mut out).unwrap();
        assert_eq!(out, [0, 0, 0, 4, 121, 0x0a, 1, 7]);
    }

    #[test]
    fn an_answer_has_the_code_of_its_question() {
        let told = answer::<StartTransaction>(&hex("000000077c080112020102"));
        assert_eq!(told.unwrap().descriptor, Some(vec![1, 2]));
        let refused = answer::<CommitTransaction>(&hex("000000057f08001803")).unwrap();
        assert_eq!((refused.success, refused.error), (false, Some(3)));
        let other = answer::<StaticRead>(&hex("000000077c080112020102"));
        assert!(matches!(other, Err(Trouble::Garbled(_))), "{other:?}");
    }

    #[test]
    fn an_error_is_told_by_its_first_line() {
        let mut out = Vec::new();
        let text = [b"{badmatch,x}\n  at y".as_slice(), &[b'z'; 5000]].concat();
        frame(0, &ErrorResponse { text, code: 0 }, &mut out).unwrap();
        let told = answer::<StaticRead>(&out);
        assert_eq!(told, Err(Trouble::Said("{badmatch,x}".into())));
    }

    #[test]
    fn what_is_cut_is_garbled() {
        for text in ["00000000", "000000057c0801120a01", "000000037cffff"] {
            let told = answer::<StartTransaction>(&hex(text));
            assert!(matches!(told, Err(Trouble::Garbled(_))), "{text}: {told:?}");
        }
        // A message of proto2 without a field that it must have is taken as if it were false.
        assert!(!answer::<StartTransaction>(&hex("000000017c")).unwrap().success);
    }
}
