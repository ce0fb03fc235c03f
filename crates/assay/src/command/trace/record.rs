//! `assay trace record`: what passes between clients and a store becomes a trace.

mod capture;
mod postgres;
mod proxy;
mod resp;
mod statement;

use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use assay_model::{Nanos, Seed};
use assay_run::clock;
use assay_trace::imported::import::USUAL_SEED;
use assay_trace::imported::{ImportFacts, Importing, TraceImportError};
use assay_workload::PlanPhase;
use clap::{ArgMatches, Command, ValueHint};

use super::import::{describe, recorded};
use super::{number, path};
use crate::command::text;
use crate::exit::{Exit, Failure, as_usage, usage};
use crate::show::put;
use crate::signals::stop_flag_heard_once;
use crate::units;
use crate::workload::{Workload, WorkloadSource};
use capture::{Capture, Recorded};
use postgres::Statements;
use proxy::{NewTap, Proxy};
use resp::Commands;

/// How long the store may take to accept a connection before anything is recorded.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The port of a Redis whose URL names none.
const REDIS_PORT: u16 = 6379;
/// The port of a PostgreSQL whose URL names none.
const POSTGRES_PORT: u16 = 5432;
const EXAMPLE: &str = "redis://127.0.0.1:6379 or postgres://127.0.0.1:5432";

/// What can be typed.
pub fn command() -> Command {
    Command::new("record")
        .about("Pass on what clients send to a store, and keep it as a trace with its timing")
        .after_help(
            "Clients connect to --listen instead of the store. ^C, SIGTERM or the end of --for\n\
             ends the recording and the connections, and seals the trace.\n\
             What must be in the store before goes to OUT.load.trace; load, bench find it there.",
        )
        .arg(text("listen", "ADDRESS", "Where clients connect, as 127.0.0.1:7000").required(true))
        .arg(
            text("to", "URL", "The store: redis://HOST:PORT or postgres://HOST:PORT")
                .required(true),
        )
        .arg(
            text("output", "OUT", "The trace")
                .short('o')
                .required(true)
                .value_hint(ValueHint::FilePath),
        )
        .arg(text("for", "TIME", "Record for so long [default: until ^C]"))
        .arg(text("value-size", "SIZE", "Values whose size nobody knows [default: 100]"))
}

/// `assay trace record`.
pub fn record(matches: &ArgMatches) -> Result<Exit> {
    let output = path(matches, "output")?;
    let listen = listener(matches)?;
    let StoreAddress { address, displayed, tap } = store(matches)?;
    let length = matches
        .get_one::<String>("for")
        .map(|text| units::duration(text).map_err(|error| usage(format!("--for: {error}"))))
        .transpose()?;
    let importing = importing(matches)?;
    let ended = stop_flag_heard_once()?;
    let (capture, captured) = Capture::new();
    let capture = Arc::new(capture);
    let place = listen.local_addr().context("the listener has no address")?;
    Proxy::start(listen, address, tap, Arc::clone(&capture))?;
    eprintln!("recording what {place} passes on to {displayed}; ^C seals {}", output.display());
    let until = length.map_or(Nanos::NEVER, |length| clock::monotonic().saturating_add(length));
    let source = Recorded::new(captured, Arc::clone(&capture), ended, until);
    let from = format!("{place}, which passes on to {displayed}");
    write(source, &capture, &output, &importing, &from)
}

/// Writes the trace while requests come, and tells what it has.
fn write(
    source: Recorded,
    capture: &Capture,
    output: &Path,
    importing: &Importing,
    from: &str,
) -> Result<Exit> {
    let seed: Seed = USUAL_SEED;
    let plan = recorded(&ImportFacts::default()).and_then(|spec| {
        Workload::plain("recorded", WorkloadSource::Records(Box::new(spec)))
            .plan(seed, PlanPhase::Run)
    })?;
    let spec = |facts: &ImportFacts| match recorded(facts) {
        Ok(spec) => format!("{}{}", capture.losses().remark(), spec.to_toml()),
        Err(error) => unreachable!("counts make a spec: {error}"),
    };
    let imported =
        assay_trace::imported::import(source, output, importing, &plan.header(seed), &spec);
    let losses = capture.losses();
    let imported = imported.map_err(|error| match error {
        TraceImportError::Nothing { requests: 0, .. } => usage(format!(
            "nothing was recorded: no command that a trace can hold passed{}; clients must \
             connect to --listen, not to the store",
            losses.sentence()
        )),
        other => as_usage(other),
    })?;
    let mut text = describe(from, output, importing, &imported);
    if losses.is_any() {
        text.push_str(&format!("\nINCOMPLETE{}\n", losses.sentence()));
    }
    put(&text, None)?;
    Ok(if losses.is_any() { Exit::Internal } else { Exit::Fine })
}

fn importing(matches: &ArgMatches) -> Result<Importing> {
    let usual = Importing::default();
    let Some(size) = number(matches, "value-size")? else { return Ok(usual) };
    let most = assay_trace::imported::request::VALUE_MAX;
    let size = u32::try_from(size).ok().filter(|size| u64::from(*size) <= most);
    let value_size = size.ok_or_else(|| usage("--value-size: a value has at most 512MiB"))?;
    Ok(Importing { value_size, ..usual })
}

fn listener(matches: &ArgMatches) -> Result<TcpListener> {
    let text = matches.get_one::<String>("listen").context("--listen is needed")?;
    let address: SocketAddr = text.parse().map_err(|_| {
        usage(format!("--listen is an address with a port, such as 127.0.0.1:7000, not {text:?}"))
    })?;
    TcpListener::bind(address).map_err(|error| {
        usage(format!("--listen {address}: {error}; choose a free port of this machine"))
    })
}

/// The store behind the recording.
struct StoreAddress {
    address: SocketAddr,
    /// Its URL as it may be shown.
    displayed: String,
    /// What understands its clients.
    tap: NewTap,
}

/// The store of `--to`, which must accept a connection.
fn store(matches: &ArgMatches) -> Result<StoreAddress> {
    let url = matches.get_one::<String>("to").context("--to is needed")?;
    let displayed = assay_drivers::registry::without_secrets(url);
    let wrong = |why: &str| usage(format!("--to {displayed}: {why}; a right one is {EXAMPLE}"));
    let (scheme, rest) = url.split_once("://").ok_or_else(|| wrong("there is no ://"))?;
    let (port, tap): (u16, NewTap) = match scheme {
        "redis" | "valkey" => (REDIS_PORT, || Box::new(Commands::new())),
        "postgres" | "postgresql" => (POSTGRES_PORT, || Box::new(Statements::new())),
        "rediss" | "valkeys" => {
            return Err(wrong("what is encrypted cannot be read on the way; record without TLS"));
        }
        _ => return Err(wrong("only what Redis, Valkey or PostgreSQL is sent can be recorded")),
    };
    if rest.contains('@') {
        return Err(wrong("a recording needs no user or password: clients send their own"));
    }
    if rest.contains(['/', '?']) {
        return Err(wrong("a database or options are for clients to choose"));
    }
    let with_port = match rest.rsplit_once(':') {
        Some((_, port)) if port.parse::<u16>().is_ok() => rest.to_owned(),
        _ => format!("{rest}:{port}"),
    };
    let address = reached(&with_port).map_err(|why| Failure {
        exit: Exit::Unreachable,
        message: format!("cannot reach {displayed}: {why}; start the store, or correct --to"),
    })?;
    Ok(StoreAddress { address, displayed, tap })
}

/// The first address of `host:port`, if a connection with it can be made.
fn reached(host: &str) -> Result<SocketAddr, String> {
    let mut addresses = host.to_socket_addrs().map_err(|error| error.to_string())?;
    let address = addresses.next().ok_or("it has no address")?;
    TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).map_err(|error| error.to_string())?;
    Ok(address)
}
