//! Throughput with client CPU per operation against a PostgreSQL of its own on loopback.
//!
//! Prints `bench postgres.<name> <connections> <value> <unit>`: point reads of a record of one
//! field, in a closed loop with one session per connection on one worker; and updates of it, with
//! the server's fsync off, so that the figures are the machine's and not the disk's. Server and
//! client share the machine's cores; CPU per operation is the client's. `pgbench` lines are the
//! same reads by the server's own tool.

#[path = "../tests/live/postgres/server.rs"]
#[allow(dead_code, reason = "the live tests use the rest of it")]
mod postgres;
#[path = "../tests/live/server_process.rs"]
#[allow(dead_code, reason = "the live tests use the rest of it")]
mod server_process;

use std::fs;
use std::ops::Range;
use std::process::Command;
use std::time::{Duration, Instant};

use assay_driver_postgres::Postgres;
use assay_model::{Kind, Layout, Nanos, Table};
use assay_store::{Answer, Answers, Client, Request, Store, Ticket, Values};
use postgres::{Server, program};
use rustix::time::{ClockId, clock_gettime};

const RECORDS: u64 = 1_000;
const VALUE: [u8; 100] = [b'v'; 100];
const OPERATIONS: u64 = 20_000;
const CONNECTIONS: [usize; 3] = [1, 4, 16];

fn main() {
    let server = Server::start(&["fsync=off"]);
    let open = |connections: usize| {
        let url = server.url(&format!("?connections={connections}"));
        let store = Postgres::from_url(&url).expect("the URL is right");
        store.prepare(&layout()).expect("the server is there");
        store.open(0).expect("the server is there")
    };
    Loop::new(open(4)).run(Kind::Insert, RECORDS);
    for connections in CONNECTIONS {
        let mut issuing = Loop::new(open(connections));
        for (name, kind) in [("read", Kind::Read), ("update", Kind::Update)] {
            issuing.run(kind, 1_000);
            let (start, cpu) = (Instant::now(), cpu_time());
            issuing.run(kind, OPERATIONS);
            let each = (cpu_time() - cpu).as_secs_f64() * 1e6 / OPERATIONS as f64;
            let rate = OPERATIONS as f64 / start.elapsed().as_secs_f64();
            println!("bench postgres.{name}.rate {connections} {rate:.0} op/s");
            println!("bench postgres.{name}.cpu {connections} {each:.1} us/op");
        }
        let rate = pgbench(&server, connections);
        println!("bench postgres.pgbench.rate {connections} {rate:.0} op/s");
    }
}

/// Reads a second that the server's own tool reaches in three seconds.
fn pgbench(server: &Server, connections: usize) -> f64 {
    let path = server.folder().join("script.sql");
    fs::write(&path, READ).expect("the folder is ours");
    let output = Command::new(program("pgbench"))
        .args(["-h", "127.0.0.1", "-p", &server.port.to_string(), "-U", "postgres", "-n"])
        .args(["-M", "prepared", "-T", "3", "-c", &connections.to_string(), "-f"])
        .arg(&path)
        .arg("postgres")
        .output()
        .expect("pgbench comes with the server");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("tps = "));
    let rate = line.and_then(|line| line.split(' ').next()).and_then(|rate| rate.parse().ok());
    rate.expect("pgbench tells its rate")
}

/// The read as `pgbench` writes it.
const READ: &str = "\\set n random(0, 999)\n\
                    SELECT field0 FROM usertable WHERE ycsb_key = 'user' || :n;\n";

fn layout() -> Layout {
    let fields = vec!["field0".into()];
    Layout {
        tables: vec![Table { name: "usertable".into(), fields, needs_key_order: false }],
        records: RECORDS,
    }
}

/// A client in a closed loop.
struct Loop {
    client: Box<dyn Client>,
    epoch: Instant,
    next: u64,
}

struct Count(u64);

impl Answers for Count {
    fn answer(&mut self, _ticket: Ticket, answer: Answer<'_>) {
        assert!(matches!(answer, Answer::Done(_)), "{answer:?}");
        self.0 += 1;
    }
}

impl Loop {
    fn new(client: Box<dyn Client>) -> Loop {
        Loop { client, epoch: Instant::now(), next: 0 }
    }

    fn run(&mut self, kind: Kind, operations: u64) {
        let mut count = Count(0);
        let mut requested = 0;
        while count.0 < operations {
            while requested < operations && self.client.is_ready() {
                self.start(kind, requested, &mut count);
                requested += 1;
            }
            let now = Nanos::from(self.epoch.elapsed());
            let before = count.0;
            self.client.poll(now, &mut count);
            if count.0 == before {
                self.client.wait(Duration::from_millis(10));
            }
        }
    }

    fn start(&mut self, kind: Kind, number: u64, count: &mut Count) {
        let key = format!("user{}", number.wrapping_mul(7_919) % RECORDS);
        let spans: [(u16, Range<u32>); 1] = [(0, 0..VALUE.len() as u32)];
        let values = match kind {
            Kind::Read => Values::NONE,
            _ => Values::new(&spans, &VALUE),
        };
        let request = Request { values, ..Request::new(kind, key.as_bytes()) };
        self.next += 1;
        let now = Nanos::from(self.epoch.elapsed());
        self.client.start(now, Ticket(self.next), &request, count);
    }
}

/// Processor time of this process.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
