//! A connection to one node, with one request under way at a time.

use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

use assay_driver_kit::task::poll_broken;
use assay_driver_kit::unavailable::Unavailable;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::options::Options;
use super::wire::{self, Garbled, LONGEST_MESSAGE, Reader, Value, put_bytes, put_text};

/// The version of the protocol that we speak: that of Ignite 2.9 to 2.17 and later.
const VERSION: [i16; 3] = [1, 7, 0];
/// The first word to a node.
const HELLO: u8 = 1;
/// What kind of client we are: a thin one.
const THIN: u8 = 2;
/// What we know besides the version, a bit each: bit 3, to ask where the nodes are.
const FEATURES: [u8; 1] = [1 << 3];
/// The longest greeting that is believed.
const LONGEST_GREETING: usize = 1 << 16;
/// The status of a greeting with a wrong user or password.
const WRONG_LOGIN: i32 = 2000;

/// A flag of an answer: it is an error.
const FAILED: i16 = 1;
/// A flag of an answer: the nodes, or who owns what, changed.
const MOVED: i16 = 2;

/// Room that is made before a read.
const ROOM: usize = 16 << 10;

/// The version of who owns what.
pub(super) type Topology = (i64, i32);

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// No node could be reached, so nothing was sent.
    Unreachable,
    /// The connection broke.
    Lost,
    /// The response is invalid.
    Garbled,
    /// The node says that it failed.
    Said(i32, String),
}

impl From<io::Error> for Trouble {
    fn from(_: io::Error) -> Trouble {
        Trouble::Lost
    }
}

impl From<Garbled> for Trouble {
    fn from(Garbled: Garbled) -> Trouble {
        Trouble::Garbled
    }
}

/// A connection to one node that let us in.
pub(super) struct Socket {
    stream: TcpStream,
    /// The node behind it.
    pub(super) node: u128,
    /// The newest version of the partition map that this node reported.
    pub(super) topology: Topology,
    next: i64,
    out: Vec<u8>,
    /// The last message that came, with its length.
    input: Vec<u8>,
    /// Where in it the answer begins.
    answer: usize,
}

impl Socket {
    /// Connects to a node with a handshake, or gives up after `timeout`.
    pub(super) async fn dial(
        at: &(String, u16),
        options: &Options,
        timeout: Duration,
    ) -> Result<Socket, Unavailable> {
        match tokio::time::timeout(timeout, greet(at, options)).await {
            Ok(socket) => socket,
            Err(_) => Err(Unavailable::unreachable(format!(
                "no greeting came within {} ms: either the node hangs or what listens there is no \
                 Ignite; check host and port",
                timeout.as_millis()
            ))),
        }
    }

    /// Sends `operation` with the body that `fill` appends; returns the body of the response.
    ///
    /// After an error other than [`Trouble::Said`] the connection is of no use any more.
    pub(super) async fn send(
        &mut self,
        operation: i16,
        fill: impl FnOnce(&mut Vec<u8>),
    ) -> Result<&[u8], Trouble> {
        self.next += 1;
        self.out.clear();
        wire::begin(operation, self.next, &mut self.out);
        fill(&mut self.out);
        wire::end(&mut self.out);
        self.stream.write_all(&self.out).await?;
        self.receive(LONGEST_MESSAGE).await?;
        let mut answer = Reader::new(&self.input[4..]);
        if answer.i64()? != self.next {
            return Err(Trouble::Garbled);
        }
        let flags = answer.i16()?;
        if flags & MOVED != 0 {
            self.topology = (answer.i64()?, answer.i32()?);
        }
        if flags & FAILED != 0 {
            let status = answer.i32()?;
            return Err(Trouble::Said(status, answer.text()?.unwrap_or_default().to_owned()));
        }
        self.answer = self.input.len() - answer.rest.len();
        Ok(self.answer())
    }

    /// The last answer.
    pub(super) fn answer(&self) -> &[u8] {
        &self.input[self.answer..]
    }

    /// Reads the next message, and nothing else, into `input`.
    async fn receive(&mut self, longest: usize) -> Result<(), Trouble> {
        self.input.clear();
        let mut whole = 4;
        while self.input.len() < whole {
            self.input.reserve((whole - self.input.len()).max(ROOM));
            if self.stream.read_buf(&mut self.input).await? == 0 {
                return Err(Trouble::Lost);
            }
            if whole == 4 && self.input.len() >= 4 {
                let length = Reader::new(&self.input).length()?;
                if length > longest {
                    return Err(Trouble::Garbled);
                }
                whole += length;
            }
        }
        // The server never sends by itself, and there is one request at a time.
        if self.input.len() > whole { Err(Trouble::Garbled) } else { Ok(()) }
    }

    /// Whether the idle connection broke.
    pub(super) fn poll_broken(&self, context: &mut Context<'_>) -> Poll<()> {
        poll_broken(&self.stream, context)
    }
}

async fn greet(at: &(String, u16), options: &Options) -> Result<Socket, Unavailable> {
    let unreachable = |error: io::Error| {
        Unavailable::unreachable(match error.kind() {
            io::ErrorKind::ConnectionRefused => format!("{error}; is the node running?"),
            _ => format!("{error}; check host and port"),
        })
    };
    let stream = TcpStream::connect((at.0.as_str(), at.1)).await.map_err(unreachable)?;
    stream.set_nodelay(true).map_err(unreachable)?;
    let (out, input) = (hello(options), Vec::new());
    let mut socket = Socket { stream, node: 0, topology: (0, 0), next: 0, out, input, answer: 0 };
    socket.stream.write_all(&socket.out).await.map_err(unreachable)?;
    let received = socket.receive(LONGEST_GREETING).await;
    match received.and_then(|()| Ok(read_greeting(&socket.input[4..])?)) {
        Ok(Ok(node)) => Ok(Socket { node, ..socket }),
        Ok(Err(refusal)) => Err(refusal),
        Err(_) => Err(stranger(&socket.input)),
    }
}

/// Our greeting: version, kind, what we know besides, user and password.
fn hello(options: &Options) -> Vec<u8> {
    let mut out = vec![0, 0, 0, 0, HELLO];
    VERSION.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
    out.push(THIN);
    put_bytes(&FEATURES, &mut out);
    if let Some(user) = &options.address.user {
        put_text(user.as_bytes(), &mut out);
        put_text(options.address.password.as_deref().unwrap_or_default().as_bytes(), &mut out);
    }
    wire::end(&mut out);
    out
}

/// The node after the handshake, or why permission was denied.
fn read_greeting(bytes: &[u8]) -> Result<Result<u128, Unavailable>, Garbled> {
    let mut greeting = Reader::new(bytes);
    if greeting.truth()? {
        let Value::Bytes(_features) = greeting.value()? else { return Err(Garbled) };
        let Value::Uuid(node) = greeting.value()? else { return Err(Garbled) };
        return Ok(Ok(node));
    }
    let version = [greeting.i16()?, greeting.i16()?, greeting.i16()?];
    let reported = greeting.text()?.unwrap_or("nothing").to_owned();
    let status = greeting.i32().unwrap_or_default();
    if status == WRONG_LOGIN {
        let reason = format!("it says: {reported}; check user and password");
        return Ok(Err(Unavailable::not_permitted(reason)));
    }
    let [major, minor, patch] = version;
    Ok(Err(Unavailable::unsupported(format!(
        "it says: {reported}; it speaks protocol {major}.{minor}.{patch}, we speak 1.7.0, which \
         Ignite 2.9 and later 2.x understand"
    ))))
}

/// Something that does not greet as Ignite 2 does.
fn stranger(input: &[u8]) -> Unavailable {
    if input.starts_with(b"IGNI") {
        return Unavailable::unsupported(
            "what answers is Ignite 3, whose protocol is another; name a cluster of Ignite 2",
        );
    }
    Unavailable::unreachable("what answers is no Ignite that we understand; check host and port")
}

#[cfg(test)]
mod tests {
    use assay_driver_kit::unavailable::UnavailableKind;

    use super::*;

    #[test]
    fn our_greeting_is_what_the_protocol_says() {
        let options: Options = "ignite://a:b@h".parse().unwrap();
        let expected = [
            26, 0, 0, 0, 1, 1, 0, 7, 0, 0, 0, 2, 12, 1, 0, 0, 0, 8, 9, 1, 0, 0, 0, b'a', 9, 1, 0,
            0, 0, b'b',
        ];
        assert_eq!(hello(&options), expected);
    }

    fn greeting(status: Option<i32>) -> Vec<u8> {
        let mut bytes = vec![0, 1, 0, 6, 0, 0, 0];
        put_text(b"no", &mut bytes);
        status.iter().for_each(|status| bytes.extend_from_slice(&status.to_le_bytes()));
        bytes
    }

    #[test]
    fn a_node_that_accepts_the_handshake_names_itself() {
        let mut bytes = vec![1];
        put_bytes(&[255, 1], &mut bytes);
        bytes.push(wire::code::UUID);
        bytes.extend_from_slice(&3_i64.to_le_bytes());
        bytes.extend_from_slice(&4_i64.to_le_bytes());
        assert_eq!(read_greeting(&bytes), Ok(Ok(3 << 64 | 4)));
    }

    #[test]
    fn a_node_that_refuses_the_handshake_says_why() {
        let refused = read_greeting(&greeting(Some(2000)));
        assert!(
            matches!(&refused, Ok(Err(it)) if it.kind == UnavailableKind::NotPermitted),
            "{refused:?}"
        );
        let refused = read_greeting(&greeting(None));
        let Ok(Err(Unavailable { kind: UnavailableKind::Unsupported, reason })) = refused else {
            panic!("{refused:?}")
        };
        assert!(reason.contains("it speaks protocol 1.6.0"), "{reason}");
    }

    #[test]
    fn ignite_3_is_distinguished_from_other_servers() {
        assert_eq!(stranger(b"IGNI\0\0").kind, UnavailableKind::Unsupported);
        assert_eq!(stranger(b"HTTP/1.1").kind, UnavailableKind::Unreachable);
        assert_eq!(read_greeting(b"\x01HTTP"), Err(Garbled));
    }
}
