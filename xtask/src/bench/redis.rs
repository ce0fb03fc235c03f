//! A real Redis on loopback, started for the benchmarks, stopped after them.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::bench::binary::{
    Binary, DONE, DONE_PER_S, expect_count, figure, lag_samples, rate_name, sample,
};
use crate::bench::figures::Sample;
use crate::bench::peer::{Loop, REDIS_BINDING, Ycsb};
use crate::bench::{Case, Options, SECONDS, floor};
use crate::needs;

/// One record of one field of 100 bytes, so that a read is a round trip rather than a transfer.
const SHAPE: [&str; 3] = ["recordcount=100000", "fieldcount=1", "fieldlength=100"];

/// Operations of a closed run; enough that starting the process hardly counts.
const OPERATIONS: u64 = 400_000;

/// Arrivals per second of the open runs.
const RATES: [u64; 3] = [20_000, 100_000, 250_000];

/// Sessions of the closed runs.
const SESSIONS: [u64; 3] = [1, 4, 16];

/// Tries to reach a new server, a tenth of a second apart.
const TRIES: usize = 100;

/// A server that ends when the last case that uses it is dropped.
struct Server {
    child: Child,
    url: String,
    port: u16,
}

/// The number of the last processor.
fn last_processor() -> Result<usize> {
    Ok(thread::available_parallelism()?.get() - 1)
}

impl Server {
    /// Starts it, held to the last processor by its own setting. Where few processors are, the
    /// system now and then moves a busy server to the core of its client, for
    /// milliseconds; to a machine of its own it could not.
    fn start() -> Result<Server> {
        let listener = TcpListener::bind("127.0.0.1:0").context("no free port")?;
        let port = listener.local_addr()?.port();
        drop(listener);
        let last = last_processor()?;
        let child = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
            .args(["--save", "", "--appendonly", "no", "--daemonize", "no"])
            .args(["--server_cpulist", &last.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .context("cannot run redis-server")?;
        let server = Server { child, url: format!("redis://127.0.0.1:{port}"), port };
        for _ in 0..TRIES {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(server);
            }
            thread::sleep(Duration::from_millis(100));
        }
        bail!("redis-server does not answer on port {port}")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Ending a child that has ended already fails, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One thing that is measured on Redis.
#[derive(Clone, Copy)]
enum Part {
    /// What the machine takes away beside a busy server.
    Floor { per_s: u64 },
    /// Ours in open loop.
    Open { per_s: u64 },
    /// Ours in closed loop.
    Closed { sessions: u64 },
    /// YCSB's client in the same closed loop.
    Peer { sessions: u64 },
}

impl Part {
    /// All of them: what is compared with each other, one after the other.
    fn all() -> impl Iterator<Item = Part> {
        let open = RATES.map(|per_s| [Part::Floor { per_s }, Part::Open { per_s }]);
        let closed = SESSIONS.map(|sessions| [Part::Closed { sessions }, Part::Peer { sessions }]);
        open.into_iter().chain(closed).flatten()
    }

    /// The name of its case.
    fn name(self) -> String {
        match self {
            Part::Floor { per_s } => format!("redis open floor {}", rate_name(per_s)),
            Part::Open { per_s } => format!("redis open ycsb-c {}", rate_name(per_s)),
            Part::Closed { sessions } => format!("redis closed ycsb-c {sessions}"),
            Part::Peer { sessions } => format!("peer redis closed ycsb-c {sessions}"),
        }
    }
}

/// What measures on Redis.
pub struct Clients<'a> {
    /// Ours.
    pub assay: &'a Binary,
    /// The peer's.
    pub ycsb: &'a Ycsb,
}

/// Those cases on Redis that are wanted. The server starts here, filled, if any is.
///
/// # Errors
/// If the server cannot be started or filled.
pub fn cases(
    clients: &Clients<'_>,
    options: &Options,
    expected: impl Fn(&str) -> bool,
) -> Result<Vec<Case>> {
    let parts: Vec<Part> = Part::all().filter(|part| expected(&part.name())).collect();
    if parts.is_empty() {
        return Ok(Vec::new());
    }
    let server = filled(clients.assay)?;
    Ok(parts.into_iter().map(|part| case(part, clients, &server, options)).collect())
}

/// A server that has the records.
fn filled(assay: &Binary) -> Result<Rc<Server>> {
    needs::provide(needs::FOR_REDIS)?;
    let server = Rc::new(Server::start()?);
    let mut load = vec!["load", "ycsb-c", "-t", &server.url, "--format", "json"];
    load.extend(SHAPE.iter().flat_map(|&property| ["-p", property]));
    assay.run(&load).context("cannot fill Redis")?;
    Ok(server)
}

fn case(part: Part, clients: &Clients<'_>, server: &Rc<Server>, options: &Options) -> Case {
    let (seconds, operations) = (options.scaled(SECONDS), options.scaled(OPERATIONS));
    let (assay, ycsb, server) = (clients.assay.clone(), clients.ycsb.clone(), Rc::clone(server));
    let run: Box<dyn Fn() -> Result<Vec<Sample>>> = match part {
        Part::Floor { per_s } => {
            return floor::beside_a_server(part.name(), &rate_name(per_s), seconds);
        }
        Part::Open { per_s } => Box::new(move || open(&assay, &server, per_s, seconds)),
        Part::Closed { sessions } => {
            Box::new(move || closed(&assay, &server, Closed { sessions, operations }))
        }
        Part::Peer { sessions } => {
            Box::new(move || peer(&ycsb, &server, Closed { sessions, operations }))
        }
    };
    Case { name: part.name(), run }
}

/// A closed loop.
struct Closed {
    /// How many sessions; a thread is one for the peer.
    sessions: u64,
    /// Operations of all of them.
    operations: u64,
}

fn open(assay: &Binary, server: &Server, per_s: u64, seconds: u64) -> Result<Vec<Sample>> {
    let (rate, duration) = (format!("{per_s}/s"), format!("{seconds}s"));
    let mut arguments = vec!["run", "ycsb-c", "-t", &server.url, "--threads", "1"];
    arguments.extend(["--rate", &rate, "--duration", &duration, "--format", "json"]);
    if last_processor()? > 0 {
        // The server has the last one.
        arguments.extend(["--cpu-list", "0"]);
    }
    arguments.extend(SHAPE.iter().flat_map(|&property| ["-p", property]));
    let ran = assay.run(&arguments)?;
    lag_samples("redis", &rate_name(per_s), &ran.json()?)
}

fn closed(assay: &Binary, server: &Server, requested: Closed) -> Result<Vec<Sample>> {
    let (sessions, count) = (requested.sessions.to_string(), requested.operations.to_string());
    // As the peer: a connection for each session, one request in flight on each.
    let url = format!("{}?connections={sessions}&depth=1", server.url);
    let mut arguments = vec!["run", "ycsb-c", "-t", &url, "--threads", "1"];
    arguments.extend(["--closed", &sessions, "--operations", &count, "--format", "json"]);
    arguments.extend(SHAPE.iter().flat_map(|&property| ["-p", property]));
    let ran = assay.run(&arguments)?;
    let cpu = ran.cpu * 1e9 / requested.operations as f64;
    let json = ran.json()?;
    expect_count(figure(&json, DONE)?, requested.operations)?;
    Ok(vec![
        sample("redis, closed loop", &sessions, figure(&json, DONE_PER_S)?, "/s"),
        sample("redis, client CPU", &sessions, cpu, "ns"),
    ])
}

/// Accesses the records that ours accesses, with as many threads as ours has sessions.
fn peer(ycsb: &Ycsb, server: &Server, requested: Closed) -> Result<Vec<Sample>> {
    let Closed { sessions, operations } = requested;
    let port = format!("redis.port={}", server.port);
    let reads = ["readproportion=1.0", "updateproportion=0", &port];
    let properties = [&SHAPE[..], &reads].concat();
    let ran = ycsb.run(&Loop {
        store: REDIS_BINDING,
        threads: sessions,
        operations,
        properties: &properties,
    })?;
    let (size, cpu) = (sessions.to_string(), ran.cpu * 1e9 / operations as f64);
    Ok(vec![
        sample("YCSB on Redis, closed loop", &size, ran.done_per_s, "/s"),
        sample("YCSB on Redis, client CPU", &size, cpu, "ns"),
    ])
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The names of the cases that a filter leaves.
    fn left(filter: &str) -> Vec<String> {
        Part::all().map(Part::name).filter(|name| name.contains(filter)).collect()
    }

    #[test]
    fn every_case_has_a_name_of_its_own() {
        let names = left("");
        assert_eq!(names.len(), 12);
        assert!(names.iter().enumerate().all(|(at, name)| !names[..at].contains(name)));
    }

    #[test]
    fn a_filter_finds_the_peer_or_the_floor_by_themselves() {
        let peers = ["1", "4", "16"].map(|size| format!("peer redis closed ycsb-c {size}"));
        assert_eq!(left("peer"), peers);
        assert_eq!(left("peer redis"), peers);
        assert_eq!(left("floor").len(), 3);
        assert_eq!(left("redis closed ycsb-c 4"), ["redis closed ycsb-c 4", &peers[1]]);
    }

    #[test]
    fn no_server_is_started_if_nothing_is_wanted() {
        let nowhere = Path::new("/nowhere");
        let assay = &Binary { path: nowhere.into(), scratch: nowhere.into() };
        let clients = Clients { assay, ycsb: &Ycsb::new(nowhere, nowhere) };
        let options = Options { filter: Some("null".into()), runs: 1, quick: true };
        let cases = cases(&clients, &options, |_| false).expect("nothing is started");
        assert!(cases.is_empty());
    }
}
