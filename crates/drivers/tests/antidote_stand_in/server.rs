//! A stand-in for AntidoteDB: its protocol before data centres in memory; it is not AntidoteDB.
//!
//! It has frames, the messages 116 to 128 without those for clusters, the types counter (3),
//! add-wins set (4), last-write-wins register (5) and grow-only map (8), snapshots, certification
//! (the first committer of an object wins), descriptors and clocks that nobody can read anything
//! from, and the errors of the server. It was written after recorded answers of a live server.
//! Beside that it does what a test tells it: faults, and all that can happen to a process.

#[path = "wire.rs"]
mod wire;
#[path = "world.rs"]
mod world;

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use wire::{Fields, put_bytes, put_number};
use world::{Clock, Problem, World};

/// The longest request that is taken.
const LONGEST_REQUEST: usize = 64 << 20;
/// Connections that are served at a time, as many as the server's own.
const MOST_CONNECTIONS: usize = 1024;
/// Lengths as the server's own have them.
const DESCRIPTOR_LENGTH: usize = 55;
const CLOCK_LENGTH: usize = 56;
const DESCRIPTOR: &str = "assay stand-in ";
const CLOCK: &str = "clock ";

/// What is started.
#[derive(Clone, Debug)]
pub struct Config {
    /// At most three.
    pub data_centres: usize,
    /// How long after its commit a write is seen elsewhere.
    pub delay: Duration,
    /// Whether the first committer wins.
    pub certify: bool,
    /// The port of the first data centre, the others follow it; 0 means any free ones.
    pub port: u16,
}

impl Default for Config {
    fn default() -> Config {
        Config { data_centres: 1, delay: Duration::from_secs(1), certify: true, port: 0 }
    }
}

/// What happens instead of an answer.
#[allow(dead_code, reason = "each test takes what it needs")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The connection is closed, and nothing is done.
    Close,
    /// The request is carried out, and the connection closed.
    CloseAfterwards,
    /// Nothing comes.
    Silence,
    /// An error with a stack trace, and nothing is done.
    Error,
    /// `success = false` with this code.
    Denied(u64),
    /// These bytes, and the connection is closed.
    Bytes(&'static [u8]),
}

/// A server for each data centre, in threads of this process.
pub struct StandIn {
    pub ports: Vec<u16>,
    state: Arc<State>,
    /// Those that take connections.
    listeners: Mutex<Vec<JoinHandle<()>>>,
}

struct State {
    world: Mutex<World>,
    begun: Instant,
    is_frozen: AtomicBool,
    is_dead: AtomicBool,
    sockets: Mutex<BTreeMap<u64, TcpStream>>,
    /// What is to happen to the next request of each code.
    faults: Mutex<Vec<(u8, Fault)>>,
    /// How many requests of each code came.
    counts: Mutex<BTreeMap<u8, usize>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StandIn {
    pub fn start(config: &Config) -> io::Result<StandIn> {
        assert!((1..=3).contains(&config.data_centres), "a clock has room for three");
        let delay = config.delay.as_micros() as u64;
        let state = Arc::new(State {
            world: Mutex::new(World::new(config.data_centres, delay, config.certify)),
            begun: Instant::now(),
            is_frozen: AtomicBool::new(false),
            is_dead: AtomicBool::new(false),
            sockets: Mutex::default(),
            faults: Mutex::default(),
            counts: Mutex::default(),
        });
        let mut stand_in = StandIn { ports: Vec::new(), state, listeners: Mutex::default() };
        for home in 0..config.data_centres {
            let port = if config.port == 0 { 0 } else { config.port + home as u16 };
            let port = stand_in.listen(home, port)?;
            stand_in.ports.push(port);
        }
        Ok(stand_in)
    }

    /// Serves data centre `home` until the stand-in is killed; the port that it listens at.
    fn listen(&self, home: usize, port: u16) -> io::Result<u16> {
        let listener = TcpListener::bind(("127.0.0.1", port))?;
        let port = listener.local_addr()?.port();
        let state = Arc::clone(&self.state);
        lock(&self.listeners).push(std::thread::spawn(move || accept(home, &listener, &state)));
        Ok(port)
    }

    /// Closes every connection, and takes none any more.
    pub fn kill(&self) {
        self.state.is_dead.store(true, Ordering::SeqCst);
        for port in &self.ports {
            // The thread that listens wakes up and ends.
            let _ = TcpStream::connect(("127.0.0.1", *port));
        }
        for listener in lock(&self.listeners).drain(..) {
            let _ = listener.join();
        }
        for socket in lock(&self.state.sockets).values() {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// The URL of all data centres, before the options.
    pub fn url(&self) -> String {
        let hosts = self.ports.iter().map(|port| format!("127.0.0.1:{port}"));
        format!("antidote://{}", hosts.collect::<Vec<_>>().join(","))
    }
}

#[allow(dead_code, reason = "each test takes what it needs")]
impl StandIn {
    /// Lets this happen to the next request of that code.
    pub fn fault(&self, code: u8, fault: Fault) {
        lock(&self.state.faults).push((code, fault));
    }

    /// How many requests of that code came.
    pub fn count(&self, code: u8) -> usize {
        lock(&self.state.counts).get(&code).copied().unwrap_or(0)
    }

    /// Assigns to a register, as any client may.
    pub fn assign_register(&self, bucket: &str, key: &str, value: &str) {
        let message = |parts: &[(u64, &[u8])]| {
            let mut out = Vec::new();
            parts.iter().for_each(|(number, bytes)| put_bytes(*number, bytes, &mut out));
            out
        };
        let mut object = message(&[(1, key.as_bytes()), (3, bucket.as_bytes())]);
        put_number(2, world::REGISTER, &mut object);
        let operation = message(&[(3, &message(&[(1, value.as_bytes())]))]);
        let update = message(&[(1, &object), (2, &operation)]);
        let request = message(&[(1, b""), (2, &update)]);
        let answer = self.state.answer(0, 122, &request);
        assert!(answer.is_some_and(|answer| answer[4] == 127), "it is committed");
    }

    pub fn freeze(&self) {
        self.state.is_frozen.store(true, Ordering::SeqCst);
    }

    pub fn thaw(&self) {
        self.state.is_frozen.store(false, Ordering::SeqCst);
    }

    /// Listens again, with what was there.
    pub fn restart(&self) {
        self.state.is_dead.store(false, Ordering::SeqCst);
        self.state.is_frozen.store(false, Ordering::SeqCst);
        for (home, port) in self.ports.iter().enumerate() {
            // For a moment it may be the port of a connection of somebody else's.
            let begun = Instant::now();
            while let Err(error) = self.listen(home, *port) {
                assert!(begun.elapsed() < Duration::from_secs(10), "port {port}: {error}");
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Takes connections until the stand-in is killed.
fn accept(home: usize, listener: &TcpListener, state: &Arc<State>) {
    for socket in listener.incoming().map_while(Result::ok) {
        if state.is_dead.load(Ordering::SeqCst) {
            return;
        }
        let Ok(kept) = socket.try_clone() else { continue };
        let mut sockets = lock(&state.sockets);
        let number = sockets.last_key_value().map_or(0, |(last, _)| last + 1);
        if sockets.len() >= MOST_CONNECTIONS {
            continue;
        }
        sockets.insert(number, kept);
        let state = Arc::clone(state);
        std::thread::spawn(move || {
            let _ = converse(home, socket, &state);
            // The one that is kept would hold the connection open.
            lock(&state.sockets).remove(&number);
        });
    }
}

/// Answers the requests of one connection, one after the other.
fn converse(home: usize, mut socket: TcpStream, state: &State) -> io::Result<()> {
    socket.set_nodelay(true)?;
    loop {
        let mut head = [0; 5];
        socket.read_exact(&mut head)?;
        let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let Some(length) = length.checked_sub(1).filter(|length| *length < LONGEST_REQUEST) else {
            return Ok(());
        };
        let mut message = Vec::new();
        (&mut socket).take(length as u64).read_to_end(&mut message)?;
        if message.len() < length {
            return Ok(());
        }
        while state.is_frozen.load(Ordering::SeqCst) && !state.is_dead.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        if state.is_dead.load(Ordering::SeqCst) {
            // What waited for a process that is killed is not carried out.
            return Ok(());
        }
        *lock(&state.counts).entry(head[4]).or_default() += 1;
        let Some(frame) = state.respond(home, head[4], &message) else { return Ok(()) };
        match frame {
            Reply::Frame(frame) => socket.write_all(&frame)?,
            Reply::Last(bytes) => return socket.write_all(&bytes),
            Reply::Silence => {}
        }
    }
}

enum Reply {
    Frame(Vec<u8>),
    /// The connection is closed after these bytes.
    Last(Vec<u8>),
    Silence,
}

impl State {
    fn now(&self) -> u64 {
        self.begun.elapsed().as_micros() as u64
    }

    /// The answer to a request; none closes the connection.
    fn respond(&self, home: usize, code: u8, message: &[u8]) -> Option<Reply> {
        let mut faults = lock(&self.faults);
        let place = faults.iter().position(|(other, _)| *other == code);
        let fault = place.map(|place| faults.remove(place).1);
        drop(faults);
        match fault {
            None => {}
            Some(Fault::Close) => return None,
            Some(Fault::CloseAfterwards) => {
                self.answer(home, code, message);
                return None;
            }
            Some(Fault::Silence) => return Some(Reply::Silence),
            Some(Fault::Error) => return Some(Reply::Frame(told("{error,told}\n  a stack trace"))),
            Some(Fault::Denied(reason)) => return Some(Reply::Frame(denied(code, reason))),
            Some(Fault::Bytes(bytes)) => return Some(Reply::Last(bytes.into())),
        }
        self.answer(home, code, message).map(Reply::Frame)
    }

    /// Carries out a request, waiting where its snapshot is not there yet.
    fn answer(&self, home: usize, code: u8, message: &[u8]) -> Option<Vec<u8>> {
        if !(116..=123).contains(&code) || code == 117 {
            // The codec of the server knows 135, the server does not; others it cannot read.
            return (code == 135).then(|| told("{unknown_message,135}"));
        }
        let request = Fields::parse(message)?;
        loop {
            let mut world = lock(&self.world);
            let outcome = carry_out(&mut world, home, self.now(), code, &request);
            drop(world);
            return match outcome {
                Ok(answer) => Some(answer),
                Err(Problem::Denied(reason)) => Some(denied(code, reason)),
                Err(Problem::Error(text)) if code != 123 => Some(told(&text)),
                // The server cannot encode the failure of a static read.
                Err(Problem::Error(_)) => None,
                Err(Problem::Wait(_)) if self.is_dead.load(Ordering::SeqCst) => None,
                Err(Problem::Wait(micros)) => {
                    std::thread::sleep(Duration::from_micros(micros.min(20_000)));
                    continue;
                }
            };
        }
    }
}

fn carry_out(
    world: &mut World,
    home: usize,
    now: u64,
    code: u8,
    request: &Fields<'_>,
) -> Result<Vec<u8>, Problem> {
    match code {
        119 => {
            let transaction = world.start(home, now, &wanted(request)?)?;
            Ok(success(124, Some(&descriptor(home, transaction))))
        }
        116 => {
            let transaction = transaction(request.bytes(2))?;
            let read = read(world, home, transaction, request.all(1))?;
            Ok(frame(126, &read))
        }
        118 => {
            let transaction = transaction(request.bytes(2))?;
            for update in request.all(1) {
                world.update(home, transaction, update)?;
            }
            Ok(success(111, None))
        }
        120 => {
            world.abort(home, transaction(request.bytes(1))?)?;
            Ok(success(111, None))
        }
        121 => {
            let clock = world.commit(home, now, transaction(request.bytes(1))?)?;
            Ok(success(127, Some(&encode_clock(&clock))))
        }
        _ => carry_out_static(world, home, now, code, request),
    }
}

/// A transaction in one request: of updates, or of reads.
fn carry_out_static(
    world: &mut World,
    home: usize,
    now: u64,
    code: u8,
    request: &Fields<'_>,
) -> Result<Vec<u8>, Problem> {
    let head = request.message(1).ok_or_else(|| Problem::Error("{badarg,…}".into()))?;
    let transaction = world.start(home, now, &wanted(&head)?)?;
    if code == 122 {
        let updates = request.all(2).try_for_each(|one| world.update(home, transaction, one));
        if updates.is_err() {
            world.abort(home, transaction)?;
        }
        updates?;
        let clock = world.commit(home, now, transaction)?;
        return Ok(success(127, Some(&encode_clock(&clock))));
    }
    let read = read(world, home, transaction, request.all(2));
    let clock = world.commit(home, now, transaction)?;
    let (mut commit, mut out) = (Vec::new(), Vec::new());
    put_number(1, 1, &mut commit);
    put_bytes(2, &encode_clock(&clock), &mut commit);
    put_bytes(1, &read?, &mut out);
    put_bytes(2, &commit, &mut out);
    Ok(frame(128, &out))
}

fn read<'a>(
    world: &World,
    home: usize,
    transaction: u64,
    objects: impl Iterator<Item = &'a [u8]>,
) -> Result<Vec<u8>, Problem> {
    let mut out = Vec::new();
    put_number(1, 1, &mut out);
    for object in objects {
        put_bytes(2, &world.read(home, transaction, object)?, &mut out);
    }
    Ok(out)
}

/// Bytes of a fixed length, as text with dots behind it.
fn padded(text: String, length: usize) -> Vec<u8> {
    format!("{text:.<length$}").into_bytes()
}

fn descriptor(home: usize, transaction: u64) -> Vec<u8> {
    padded(format!("{DESCRIPTOR}{home} {transaction:016x}"), DESCRIPTOR_LENGTH)
}

/// The transaction of a descriptor that the stand-in gave.
fn transaction(descriptor: Option<&[u8]>) -> Result<u64, Problem> {
    let text = descriptor.and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default();
    let hex = text.strip_prefix(DESCRIPTOR).and_then(|rest| rest.get(2..18));
    let number = hex.and_then(|hex| u64::from_str_radix(hex, 16).ok());
    number.ok_or_else(|| Problem::Error("{badarg,[{erlang,binary_to_term,…}]}".into()))
}

fn encode_clock(clock: &Clock) -> Vec<u8> {
    let times: String = clock.iter().map(|time| format!("{time:016x}")).collect();
    padded(format!("{CLOCK}{times}"), CLOCK_LENGTH)
}

/// The clock that a transaction must include; the Erlang term `ignore` means none.
fn wanted(head: &Fields<'_>) -> Result<Clock, Problem> {
    let Some(bytes) = head.bytes(1).filter(|bytes| !bytes.is_empty()) else {
        return Ok(Clock::new());
    };
    if bytes.ends_with(b"ignore") {
        return Ok(Clock::new());
    }
    let text = std::str::from_utf8(bytes).ok().and_then(|text| text.strip_prefix(CLOCK));
    let text = text.map(|text| text.trim_end_matches('.'));
    let time = |at: usize| u64::from_str_radix(text?.get(at..at + 16)?, 16).ok();
    let times = (0..text.map_or(0, str::len)).step_by(16).map(time);
    let clock: Option<Clock> = times.collect();
    let clock = clock.filter(|clock| !clock.is_empty());
    clock.ok_or_else(|| Problem::Error("{badarg,[{erlang,binary_to_term,…}]}".into()))
}

fn frame(code: u8, message: &[u8]) -> Vec<u8> {
    let length = (message.len() as u32 + 1).to_be_bytes();
    [&length[..], &[code], message].concat()
}

fn success(code: u8, bytes: Option<&[u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    put_number(1, 1, &mut out);
    bytes.into_iter().for_each(|bytes| put_bytes(2, bytes, &mut out));
    frame(code, &out)
}

/// `success = false`, in the shape that the answer to a request of `code` has.
fn denied(code: u8, reason: u64) -> Vec<u8> {
    let (answer, number) = match code {
        119 => (124, 3),
        116 => (126, 3),
        118 | 120 => (111, 2),
        123 => (128, 3),
        _ => (127, 3),
    };
    let mut out = Vec::new();
    put_number(1, 0, &mut out);
    put_number(number, reason, &mut out);
    if answer != 128 {
        return frame(answer, &out);
    }
    let mut both = Vec::new();
    put_bytes(1, &out, &mut both);
    put_bytes(2, &out, &mut both);
    frame(answer, &both)
}

fn told(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    put_bytes(1, text.as_bytes(), &mut out);
    put_number(2, 0, &mut out);
    frame(0, &out)
}
