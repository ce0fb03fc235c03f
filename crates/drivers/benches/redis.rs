//! Throughput with client CPU per operation against a redis-server of its own on loopback.
//!
//! Prints `bench <name> <depth> <value> <unit>`. `driver` is our client in a closed loop that keeps
//! `depth` requests in flight on one connection; `floor` sends the same commands, encoded before,
//! in batches of `depth` over a bare socket, counting bytes instead of looking at replies;
//! `connections.floor` has one request in flight on each of as many sockets as its size says.
//! Server and client share the machine's cores, so throughput is the machine's, CPU per operation
//! is the client's.

#[path = "../tests/live/server.rs"]
#[allow(dead_code, reason = "the live tests use the rest of it")]
mod server;
#[path = "../tests/live/server_process.rs"]
#[allow(dead_code, reason = "the live tests use the rest of it")]
mod server_process;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::time::{Duration, Instant};

use assay_driver_redis::Redis;
use assay_model::{Kind, Layout, Nanos, Table};
use assay_store::resp::write;
use assay_store::{Answer, Answers, Client, Request, Store, Ticket, Values};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::{ClockId, clock_gettime};
use server::Server;

const RECORDS: usize = 10_000;
const VALUE: [u8; 100] = [b'v'; 100];
const RUNS: usize = 3;
const RATES: [usize; 3] = [50_000, 125_000, 250_000];
const DEPTHS: [usize; 3] = [1, 16, 64];
const CONNECTIONS: [usize; 3] = [1, 4, 16];

/// The request that is repeated for different records.
struct Case {
    name: &'static str,
    options: &'static str,
    fields: u16,
    kind: Kind,
    /// The words before the key, for the floor, with those after it.
    floor: (&'static [&'static [u8]], &'static [&'static [u8]]),
    reply_bytes: usize,
}

const CASES: [Case; 4] = [
    Case {
        name: "get-1x100",
        options: "layout=string&",
        fields: 1,
        kind: Kind::Read,
        floor: (&[b"GET"], &[]),
        reply_bytes: 108,
    },
    Case {
        name: "hgetall-1x100",
        options: "",
        fields: 1,
        kind: Kind::Read,
        floor: (&[b"HGETALL"], &[]),
        reply_bytes: 124,
    },
    Case {
        name: "hgetall-10x100",
        options: "",
        fields: 10,
        kind: Kind::Read,
        floor: (&[b"HGETALL"], &[]),
        reply_bytes: 1205,
    },
    Case {
        name: "hmset-1x100",
        options: "",
        fields: 10,
        kind: Kind::Update,
        floor: (&[b"HMSET"], &[b"field0", &VALUE]),
        reply_bytes: 5,
    },
];

fn main() {
    for case in &CASES {
        let server = Server::start(&[]);
        let url = |depth| server.url(&format!("?{}depth={depth}", case.options));
        let redis = Redis::from_url(&url(64)).expect("the URL is right");
        redis.prepare(&layout(case.fields)).expect("the server is there");
        load(&mut Loop::open(&redis), case);
        if case.fields == 1 {
            let redis = Redis::from_url(&url(100_000)).expect("the URL is right");
            redis.prepare(&layout(case.fields)).expect("the server is there");
            for rate in RATES {
                open_loop(&redis, case, rate);
            }
        }
        for depth in DEPTHS {
            let operations = if depth == 1 { 30_000 } else { 200_000 };
            let redis = Redis::from_url(&url(depth)).expect("the URL is right");
            redis.prepare(&layout(case.fields)).expect("the server is there");
            report("driver", case, depth, operations, || {
                let mut client = Loop::open(&redis);
                client.run(case, case.kind, operations, depth);
            });
            report("floor", case, depth, operations, || {
                floor(server.port, case, operations, depth);
            });
        }
        for connections in CONNECTIONS {
            report("connections.floor", case, connections, 100_000, || {
                floor_of_connections(server.port, case, 100_000, connections);
            });
        }
    }
}

fn layout(fields: u16) -> Layout {
    let fields = (0..fields).map(|number| format!("field{number}")).collect();
    Layout {
        tables: vec![Table { name: "usertable".into(), fields, needs_key_order: false }],
        records: RECORDS as u64,
    }
}

/// Requests at a constant rate for a second, on a worker that never sleeps: what the store's client
/// adds to the lag of an open loop. Prints how late requests left, and how many a second.
fn open_loop(redis: &Redis, case: &Case, rate: usize) {
    let mut client = Loop::open(redis);
    let mut count = Count::default();
    let mut lags: Vec<u64> = Vec::with_capacity(rate);
    let mut now = Nanos::ZERO;
    while count.answered < rate {
        now = Nanos::from(client.epoch.elapsed());
        while lags.len() < rate && client.client.is_ready() {
            let intended = Nanos(lags.len() as u64 * 1_000_000_000 / rate as u64);
            if intended > now {
                break;
            }
            client.start(now, case.kind, lags.len(), &mut count);
            lags.push(now.since(intended).0);
        }
        client.client.poll(now, &mut count);
    }
    lags.sort_unstable();
    let name = case.name;
    let percentile = |percent: usize| lags[(lags.len() - 1) * percent / 100] as f64 / 1e3;
    println!("bench redis.{name}.open.rate {rate} {:.0} op/s", rate as f64 / now.as_secs_f64());
    println!("bench redis.{name}.open.lag-p50 {rate} {:.1} us", percentile(50));
    println!("bench redis.{name}.open.lag-p99 {rate} {:.1} us", percentile(99));
}

/// Prints the medians of [`RUNS`] runs.
fn report(who: &str, case: &Case, depth: usize, operations: usize, mut run: impl FnMut()) {
    let mut rates = Vec::new();
    let mut cpus = Vec::new();
    for _ in 0..RUNS {
        let (start, cpu) = (Instant::now(), cpu_time());
        run();
        rates.push(operations as f64 / start.elapsed().as_secs_f64());
        cpus.push((cpu_time() - cpu).as_secs_f64() * 1e6 / operations as f64);
    }
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[RUNS / 2]
    };
    let name = case.name;
    println!("bench redis.{name}.{who}.rate {depth} {:.0} op/s", median(rates));
    println!("bench redis.{name}.{who}.cpu {depth} {:.2} us/op", median(cpus));
}

/// User with system time of this process: the client alone, the server is another process.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn load(client: &mut Loop, case: &Case) {
    client.run(case, Kind::Insert, RECORDS, 64);
}

fn key(operation: usize) -> String {
    format!("user{:019}", operation % RECORDS)
}

/// Our client in a closed loop.
struct Loop {
    client: Box<dyn Client>,
    epoch: Instant,
    keys: Vec<String>,
    spans: Vec<(u16, Range<u32>)>,
}

#[derive(Default)]
struct Count {
    answered: usize,
    bytes: usize,
}

impl Answers for Count {
    fn answer(&mut self, _ticket: Ticket, answer: Answer<'_>) {
        let Answer::Done(reply) = answer else { panic!("the server refused: {answer:?}") };
        assert!(reply.found, "every record was loaded");
        reply.rows.each(|field| self.bytes += field.value.len());
        self.answered += 1;
    }
}

impl Loop {
    fn open(redis: &Redis) -> Loop {
        let client = redis.open(0).expect("the server is there");
        let keys = (0..RECORDS).map(key).collect();
        Loop { client, epoch: Instant::now(), keys, spans: Vec::new() }
    }

    fn start(&mut self, now: Nanos, kind: Kind, number: usize, count: &mut Count) {
        let request = Request {
            values: Values::new(&self.spans, &VALUE),
            ..Request::new(kind, self.keys[number % RECORDS].as_bytes())
        };
        self.client.start(now, Ticket(number as u64), &request, count);
    }

    fn run(&mut self, case: &Case, kind: Kind, operations: usize, depth: usize) {
        self.spans.clear();
        let written = match kind {
            Kind::Insert => case.fields,
            Kind::Update => 1,
            _ => 0,
        };
        self.spans.extend((0..written).map(|field| (field, 0..VALUE.len() as u32)));
        let mut count = Count::default();
        let mut started = 0;
        while count.answered < operations {
            let now = Nanos::from(self.epoch.elapsed());
            while started < operations && started - count.answered < depth {
                self.start(now, kind, started, &mut count);
                started += 1;
            }
            let before = count.answered;
            self.client.poll(now, &mut count);
            if count.answered == before {
                self.client.wait(Duration::from_millis(100));
            }
        }
        if kind == Kind::Read {
            assert_eq!(count.bytes, operations * usize::from(case.fields) * VALUE.len());
        }
    }
}

/// The least that any client does for the same: one write, then reads until all is there.
fn floor(port: u16, case: &Case, operations: usize, depth: usize) {
    let mut socket = greeted(port);
    let mut room = vec![0; 1 << 16];
    let commands = commands(case);
    let mut out = Vec::new();
    for batch in 0..operations / depth {
        out.clear();
        for number in 0..depth {
            out.extend(&commands[(batch * depth + number) % RECORDS]);
        }
        socket.write_all(&out).expect("the server is there");
        let mut missing = depth * case.reply_bytes;
        while missing > 0 {
            let count = socket.read(&mut room).expect("the server answers");
            assert!(count > 0 && count <= missing, "replies have the length that we think");
            missing -= count;
        }
    }
}

/// The same with one request in flight on each connection: a wait for all of them, then one read
/// and one write for each that has answered.
fn floor_of_connections(port: u16, case: &Case, operations: usize, connections: usize) {
    let mut sockets: Vec<TcpStream> = (0..connections).map(|_| greeted(port)).collect();
    let mut missing = vec![case.reply_bytes; connections];
    let mut room = vec![0; 1 << 16];
    let commands = commands(case);
    let mut next = commands.iter().cycle();
    let mut send = |mut socket: &TcpStream| {
        let command = next.next().expect("there is a record");
        socket.write_all(command).expect("the server is there");
    };
    sockets.iter().for_each(&mut send);
    let mut answered = 0;
    while answered < operations {
        let watched = |socket| PollFd::new(socket, PollFlags::IN);
        let mut watched: Vec<PollFd<'_>> = sockets.iter().map(watched).collect();
        poll(&mut watched, None).expect("sockets can be waited for");
        let woken: Vec<bool> = watched.iter().map(|fd| !fd.revents().is_empty()).collect();
        for place in (0..connections).filter(|&place| woken[place]) {
            let count = sockets[place].read(&mut room).expect("the server answers");
            assert!(count > 0 && count <= missing[place], "replies have the length that we think");
            missing[place] -= count;
            if missing[place] > 0 {
                continue;
            }
            answered += 1;
            missing[place] = case.reply_bytes;
            // Responses to requests beyond the last operation stay in their sockets.
            send(&sockets[place]);
        }
    }
}

/// A bare socket to a server that speaks RESP3 with it.
fn greeted(port: u16) -> TcpStream {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).expect("the server is there");
    socket.set_nodelay(true).expect("it is a TCP socket");
    let mut hello = Vec::new();
    write::command(&[b"HELLO", b"3"], &mut hello);
    socket.write_all(&hello).expect("the server is there");
    std::thread::sleep(Duration::from_millis(5));
    let greeted = socket.read(&mut [0; 1 << 12]).expect("the server answers");
    assert!(greeted > 0);
    socket
}

/// The command of `case` for each record.
fn commands(case: &Case) -> Vec<Vec<u8>> {
    let command = |number| {
        let key = key(number);
        let words = [case.floor.0, &[key.as_bytes()], case.floor.1].concat();
        let mut command = Vec::new();
        write::command(&words, &mut command);
        command
    };
    (0..RECORDS).map(command).collect()
}
