//! A real Redis on loopback, started for the benchmarks, stopped after them.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::bench::binary::{
    Binary, DONE, DONE_PER_S, expect_count, figure, lag_samples, rate_name, sample,
};
use crate::bench::{Case, Options, SECONDS};
use crate::needs;

/// One record of one field of 100 bytes, so that a read is a round trip rather than a transfer.
const SHAPE: [&str; 6] =
    ["-p", "recordcount=100000", "-p", "fieldcount=1", "-p", "fieldlength=100"];

/// Operations of a closed run; enough that starting the process hardly counts.
const OPERATIONS: u64 = 400_000;

/// Tries to reach a new server, a tenth of a second apart.
const TRIES: usize = 100;

/// A server that ends when the last case that uses it is dropped.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start() -> Result<Server> {
        let listener = TcpListener::bind("127.0.0.1:0").context("no free port")?;
        let port = listener.local_addr()?.port();
        drop(listener);
        let child = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
            .args(["--save", "", "--appendonly", "no", "--daemonize", "no"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .context("cannot run redis-server")?;
        let server = Server { child, url: format!("redis://127.0.0.1:{port}") };
        for _ in 0..TRIES {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(server);
            }
            sleep(Duration::from_millis(100));
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

/// Redis in open and closed loop. The server starts here, filled, if any case is wanted.
///
/// # Errors
/// If the server cannot be started or filled.
pub fn cases(
    assay: &Binary,
    options: &Options,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<Case>> {
    let rates = [20_000, 100_000, 250_000];
    let sessions = [1, 4, 16];
    let open_name = |rate: u64| format!("redis open ycsb-c {}", rate_name(rate));
    let closed_name = |sessions: u64| format!("redis closed ycsb-c {sessions}");
    let mut names = rates.map(open_name).into_iter().chain(sessions.map(closed_name));
    if !names.any(|name| wanted(&name)) {
        return Ok(Vec::new());
    }
    needs::provide(needs::FOR_REDIS)?;
    let server = Rc::new(Server::start()?);
    let mut load = vec!["load", "ycsb-c", "-t", &server.url, "--format", "json"];
    load.extend(SHAPE);
    assay.run(&load).context("cannot fill Redis")?;
    let seconds = options.scaled(SECONDS);
    let mut cases = Vec::new();
    for rate in rates {
        cases.push(open(assay, &server, open_name(rate), rate, seconds));
    }
    for count in sessions {
        let operations = options.scaled(OPERATIONS);
        cases.push(closed(assay, &server, closed_name(count), count, operations));
    }
    Ok(cases)
}

fn open(assay: &Binary, server: &Rc<Server>, name: String, rate: u64, seconds: u64) -> Case {
    let (assay, server) = (assay.clone(), Rc::clone(server));
    let run = move || {
        let (rate_text, duration) = (format!("{rate}/s"), format!("{seconds}s"));
        let mut arguments = vec!["run", "ycsb-c", "-t", &server.url, "--lanes", "1"];
        arguments.extend(["--rate", &rate_text, "--duration", &duration, "--format", "json"]);
        arguments.extend(SHAPE);
        let ran = assay.run(&arguments)?;
        lag_samples("redis", &rate_name(rate), &ran.json()?)
    };
    Case { name, run: Box::new(run) }
}

fn closed(
    assay: &Binary,
    server: &Rc<Server>,
    name: String,
    sessions: u64,
    operations: u64,
) -> Case {
    let (assay, server) = (assay.clone(), Rc::clone(server));
    let run = move || {
        let (sessions, count) = (sessions.to_string(), operations.to_string());
        // As the peer: a connection for each session, one request in flight on each.
        let url = format!("{}?connections={sessions}&depth=1", server.url);
        let mut arguments = vec!["run", "ycsb-c", "-t", &url, "--lanes", "1"];
        arguments.extend(["--closed", &sessions, "--operations", &count, "--format", "json"]);
        arguments.extend(SHAPE);
        let ran = assay.run(&arguments)?;
        let cpu = ran.cpu * 1e9 / operations as f64;
        let json = ran.json()?;
        expect_count(figure(&json, DONE)?, operations)?;
        Ok(vec![
            sample("redis, closed loop", &sessions, figure(&json, DONE_PER_S)?, "/s"),
            sample("redis, client CPU", &sessions, cpu, "ns"),
        ])
    };
    Case { name, run: Box::new(run) }
}
