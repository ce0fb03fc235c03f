//! The simulated store as a server of its own, the list of its presets.

use std::fmt::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;

use anyhow::{Context, Result};
use assay_drivers::sim;
use assay_model::Seed;
use assay_run::clock::{be_punctual, monotonic};
use assay_sim::redis::Keyspace;
use assay_sim::server::{Served, Server};
use assay_sim::{csv, presets};
use assay_store::truth::Fault;
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueHint};

use crate::exit::{Exit, usage};
use crate::seed::draw_seed;
use crate::show::{finish, put};
use crate::signals::stop_flag;
use crate::units::duration_of;

/// What can be typed.
#[derive(Args, Debug)]
#[command(about = "Serve Redis clients, as slow and as faulty as configured")]
struct ServeArgs {
    /// A preset, a .toml or SickStore's .yml; then ?KEY=VALUE&…
    #[arg(long, value_name = "NAME|FILE", default_value = "healthy")]
    #[arg(value_hint = ValueHint::FilePath)]
    preset: String,
    /// Where; with port 0 the system chooses a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: String,
    /// Listen on an address that other machines reach
    #[arg(long)]
    expose: bool,
    /// End after this time; default: when interrupted
    #[arg(long = "for", value_name = "TIME")]
    length: Option<String>,
    /// The seed; default: drawn and shown
    #[arg(long, value_name = "N")]
    seed: Option<String>,
    /// Without delays and faults until a client sends SIM QUIESCE
    #[arg(long)]
    loading: bool,
    /// Write what really happened as CSV at the end
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    truth: Option<PathBuf>,
}

/// The command with its arguments.
pub fn command() -> Command {
    Command::new("sim")
        .alias("sick")
        .about("The simulated store, with known faults")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(ServeArgs::augment_args(Command::new("serve")))
        .subcommand(Command::new("presets").about("The presets of the simulated store"))
}

/// `assay sim`.
pub fn dispatch(matches: &ArgMatches) -> Result<Exit> {
    match matches.subcommand() {
        Some(("presets", _)) => list(),
        Some(("serve", matches)) => serve(matches),
        _ => Ok(Exit::Usage),
    }
}

fn list() -> Result<Exit> {
    let mut text = String::new();
    for (name, about) in presets::list() {
        writeln!(text, "{name:<20} {about}")?;
    }
    finish(&text)
}

fn serve(matches: &ArgMatches) -> Result<Exit> {
    let arguments = ServeArgs::from_arg_matches(matches)?;
    let config = sim::config(&arguments.preset).map_err(usage)?;
    let seed = match &arguments.seed {
        Some(seed) => {
            Seed(seed.parse().map_err(|_| usage(format!("--seed {seed} is no whole number")))?)
        }
        None => draw_seed()?,
    };
    let length = arguments.length.as_deref().map(|text| duration_of("--for", text)).transpose()?;
    if let Some(path) = &arguments.truth {
        // A place that cannot be written must not be found out when all is over.
        put("", Some(path))?;
    }
    let listener = listen(&arguments.listen, arguments.expose)?;
    let address = listener.local_addr().context("the socket has no address")?;
    let keyspace = match arguments.loading {
        true => Keyspace::to_be_loaded(config, seed),
        false => Keyspace::new(config, seed),
    };
    let keyspace = keyspace.map_err(usage)?;
    let stop = stop_flag()?;
    let name = &keyspace.world().config().name;
    let seed = keyspace.world().seed();
    put(&format!("the simulated store {name} (seed {seed}) listens on {address}\n"), None)?;
    let server = Server::new(listener, keyspace, monotonic)
        .context("the socket cannot be made to not block")?;
    be_punctual();
    let served = server.serve(length, &stop).context("cannot wait for clients")?;
    put(&summary(&served), None)?;
    if let Some(path) = &arguments.truth {
        put(&csv::table(&served.keyspace), Some(path))?;
    }
    Ok(Exit::Fine)
}

fn listen(text: &str, is_exposed: bool) -> Result<TcpListener> {
    let address: SocketAddr = text
        .parse()
        .map_err(|_| usage(format!("--listen {text} is no address; write 127.0.0.1:6380")))?;
    if !address.ip().is_loopback() && !is_exposed {
        return Err(usage(format!(
            "--listen {text} can be reached by other machines, and it asks nobody for a \
             password; give --expose too if you want that"
        )));
    }
    TcpListener::bind(address).map_err(|error| usage(format!("cannot listen on {text}: {error}")))
}

/// What the server did, in a few lines.
fn summary(served: &Served) -> String {
    let world = served.keyspace.world();
    let entries = world.log().entries();
    let mut text = format!(
        "{} connections, {} commands, {} of them requests to the store\n",
        served.connections,
        served.commands,
        world.count(),
    );
    for fault in Fault::ALL {
        let count = entries.iter().filter(|truth| truth.faults.has(fault)).count();
        if count > 0 {
            text.push_str(&format!("{:<16} {count}\n", fault.name()));
        }
    }
    if world.log().lost() > 0 {
        let lost = world.log().lost();
        text.push_str(&format!("{lost} requests did not fit into the truth log\n"));
    }
    text
}
