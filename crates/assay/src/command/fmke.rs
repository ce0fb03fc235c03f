//! `assay fmke serve`: FMKe's application server in front of any store.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use assay_drivers::registry;
use assay_fmke::{AnswerStyle, FmkeServer, ServeError, ServerConfig, ServerLimits, ServerTls};
use assay_model::Seed;
use assay_run::clock;
use assay_store::{Existing, OpenError, Store};
use assay_workload::PlanPhase;
use assay_workload::script::fmke::FmkeLayout;
use clap::builder::TypedValueParser;
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueHint};

use crate::compiled::Compiled;
use crate::exit::{Exit, Failure, as_usage, from_open, usage};
use crate::note::{Loaded, Note};
use crate::opening::open_store;
use crate::options::Options;
use crate::show::put;
use crate::signals::stop_flag;
use crate::units::duration_of;
use crate::workload::{Changes, Workload};
use crate::{completion, mapped, parent_death};

/// How often the command looks whether it is to end.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What can be typed.
#[derive(Args, Debug)]
#[command(about = "Serve FMKe's HTTP interface from a store, until it is interrupted")]
struct ServeArgs {
    /// The store; `assay stores` lists them
    #[arg(short, long, value_name = "URL", add = completion::stores())]
    target: String,
    /// How prescriptions lie in it
    #[arg(long, value_name = "LAYOUT", default_value = FmkeLayout::Normalised.name())]
    #[arg(value_parser = FmkeLayout::ALL.map(FmkeLayout::name))]
    layout: String,
    /// Where; with port 0 the system chooses a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9090")]
    listen: String,
    /// Whose answers, where servers differ: docs/fmke.md
    #[arg(long, value_name = "WHOSE", default_value = AnswerStyle::default().name())]
    #[arg(value_parser = AnswerStyle::ALL.map(AnswerStyle::name))]
    compat: String,
    /// Operations at the store [default: 256]
    #[arg(long, value_name = "N", value_parser = number(1, 65_536))]
    in_flight: Option<usize>,
    /// Operations that wait; more are answered with 503 [default: 1024]
    #[arg(long, value_name = "N", value_parser = number(0, 1_000_000))]
    queue: Option<usize>,
    /// Threads with a client each [default: one per processor]
    #[arg(long, value_name = "N", value_parser = number(1, 1024))]
    workers: Option<usize>,
    /// Threads of each worker for calls that block [default: 4]
    #[arg(long, value_name = "N", value_parser = number(1, 1024))]
    blocking_threads: Option<usize>,
    /// Connections of callers [default: 4096]
    #[arg(long, value_name = "N", value_parser = number(1, 1_000_000))]
    connections: Option<usize>,
    /// The wait for an answer of the store [default: 10s]
    #[arg(long, value_name = "TIME")]
    store_timeout: Option<String>,
    /// Serve HTTPS with this certificate, in PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's key, in PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// End after this time
    #[arg(long = "for", value_name = "TIME")]
    length: Option<String>,
    /// Drop the rows of FMKe that are there already
    #[arg(long)]
    replace: bool,
}

/// A parser of whole numbers in these bounds.
fn number(least: u64, most: u64) -> impl TypedValueParser<Value = usize> {
    clap::value_parser!(u64).range(least..=most).map(|number| number as usize)
}

/// The command with its arguments.
pub fn command() -> Command {
    Command::new("fmke")
        .about("FMKe's application server")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(ServeArgs::augment_args(Command::new("serve")))
}

/// `assay fmke …`.
pub fn dispatch(matches: &ArgMatches) -> Result<Exit> {
    match matches.subcommand() {
        Some(("serve", matches)) => serve(matches),
        _ => Ok(Exit::Usage),
    }
}

fn serve(matches: &ArgMatches) -> Result<Exit> {
    parent_death::heed()?;
    let arguments = ServeArgs::from_arg_matches(matches)?;
    let length = arguments.length.as_deref().map(|text| duration_of("--for", text)).transpose()?;
    let config = config(&arguments)?;
    let listen = &arguments.listen;
    let address: SocketAddr = listen
        .parse()
        .map_err(|_| usage(format!("--listen {listen} is no address; write 127.0.0.1:9090")))?;
    let listener = TcpListener::bind(address)
        .map_err(|error| usage(format!("--listen: cannot listen on {listen}: {error}")))?;
    let stop = stop_flag()?;
    let store = open(&arguments.target, config.layout, arguments.replace)?;
    let server = FmkeServer::start(listener, store, &config).map_err(from_serve)?;
    announce(&server, &config)?;
    let begun = Instant::now();
    let is_over = |at: Duration| length.is_some_and(|length| at >= Duration::from(length));
    while !stop.load(Ordering::Relaxed) && !is_over(begun.elapsed()) {
        if !server.is_whole() {
            break;
        }
        thread::sleep(LOOK_EVERY);
    }
    match server.stop() {
        true => Ok(Exit::Fine),
        false => Err(Failure {
            exit: Exit::Internal,
            message: "a thread of the server has panicked, see above".to_owned(),
        }
        .into()),
    }
}

/// The line that says where it is, which `--via http` reads.
fn announce(server: &FmkeServer, config: &ServerConfig) -> Result<()> {
    let (layout, compat) = (config.layout.name(), config.compat.name());
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    let address = server.address();
    if !address.ip().is_loopback() {
        eprintln!(
            "warning: {address} can be reached from other machines, and nobody is asked who they \
             are"
        );
    }
    let store = &config.store_url;
    put(&format!("fmke ({layout}, {compat}) on {store}: {scheme}://{address}\n"), None)?;
    Ok(())
}

fn config(arguments: &ServeArgs) -> Result<ServerConfig> {
    let usual = ServerLimits::default();
    let store_timeout = match &arguments.store_timeout {
        None => usual.store_timeout,
        Some(time) => duration_of("--store-timeout", time)?.into(),
    };
    let tls = match (&arguments.tls_cert, &arguments.tls_key) {
        (Some(certificate), Some(key)) => {
            Some(ServerTls::from_files(certificate, key).map_err(as_usage)?)
        }
        _ => None,
    };
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let compat = AnswerStyle::ALL.into_iter().find(|one| one.name() == arguments.compat);
    Ok(ServerConfig {
        layout: layout(&arguments.layout)?,
        compat: compat.unwrap_or_default(),
        workers: arguments.workers.unwrap_or(processors),
        blocking_threads: arguments.blocking_threads.unwrap_or(4),
        limits: ServerLimits {
            in_flight: arguments.in_flight.unwrap_or(usual.in_flight),
            queue: arguments.queue.unwrap_or(usual.queue),
            connections: arguments.connections.unwrap_or(usual.connections),
            store_timeout,
            ..usual
        },
        tls,
        store_url: registry::without_secrets(&arguments.target),
        clock: clock::monotonic,
    })
}

fn layout(name: &str) -> Result<FmkeLayout> {
    let found = FmkeLayout::ALL.into_iter().find(|layout| layout.name() == name);
    found.ok_or_else(|| usage(format!("--layout: there is no {name:?}")))
}

fn from_serve(error: ServeError) -> anyhow::Error {
    match error {
        ServeError::Store(error) => from_open(error),
        ServeError::Machine(_) => {
            Failure { exit: Exit::Internal, message: error.to_string() }.into()
        }
        other => as_usage(other),
    }
}

/// The store, ready for the queries of `layout`. What it holds must have that layout; one that
/// holds nothing gets empty relations.
fn open(url: &str, layout: FmkeLayout, replaces: bool) -> Result<Arc<dyn Store>> {
    let store = open_store(url, Seed(0))?;
    let displayed = registry::without_secrets(url);
    let note = match replaces {
        true => None,
        false => store.note().map_err(from_open)?,
    };
    let note = note.map(|text| Note::parse(&text, &displayed)).transpose()?;
    let workload = workload(layout, note.as_ref(), &displayed)?;
    let plan = workload.plan(Seed(0), PlanPhase::Run)?;
    let store = mapped::taking_queries(store, &workload, Seed(0), &Options::default())?;
    prepare(&*store, &plan, replaces, note.is_some())?;
    if note.is_none() {
        // Sizes are not known: they are what callers make them.
        let dataset = match plan.loaded() {
            Loaded::Script(dataset) => Loaded::Script(assay_workload::ScriptDataset {
                sizes: Default::default(),
                ..dataset
            }),
            other => other,
        };
        store.keep_note(&Note::loaded(&dataset).to_text()).map_err(from_open)?;
    }
    Ok(store)
}

/// The workload that was loaded, as far as the store says.
fn workload(layout: FmkeLayout, note: Option<&Note>, store: &str) -> Result<Workload> {
    let mut sets = vec![format!("layout={}", layout.name())];
    if let Some(note) = note {
        if let Loaded::Script(dataset) = &note.dataset {
            sets.extend(dataset.sizes.iter().map(|(name, size)| format!("dataset.{name}={size}")));
        }
        let plain =
            Workload::read("fmke", &Changes { sets: sets[..1].to_vec(), ..Changes::default() })?;
        let expected = plain.dataset(Seed(0));
        if !expected.is_of(&note.dataset) {
            let differences = expected.differences(&note.dataset).join("\n  ");
            return Err(usage(format!(
                "{store} holds other data:\n  {differences}\n\
                 name its --layout, or drop it with --replace"
            )));
        }
    }
    Workload::read("fmke", &Changes { sets, ..Changes::default() })
}

fn prepare(store: &dyn Store, plan: &Compiled, replaces: bool, is_loaded: bool) -> Result<()> {
    let catalogue = plan.catalogue().context("fmke has queries")?;
    if replaces {
        return store.prepare_queries(catalogue, Existing::Replace).map_err(from_open);
    }
    if !is_loaded {
        match store.prepare_queries(catalogue, Existing::Refuse) {
            // Somebody else has made them.
            Err(OpenError::Contents { .. }) => {}
            other => return other.map_err(from_open),
        }
    }
    store.prepare_queries(catalogue, Existing::Use).map_err(from_open)
}
