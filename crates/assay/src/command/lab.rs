//! The lab: stores that are started here, looked at, changed, ended.

mod describe;
mod list;
mod logs;
mod up;

use std::io::ErrorKind;

use anyhow::Result;
use assay_lab::supervisor::{self, Supervision};
use assay_lab::{FAULTS, Fault, FaultTarget, Injection, LabClient, LabEntry, Labs, clean, recipes};
use assay_model::Nanos;
use assay_run::clock::monotonic;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use crate::command::text;
use crate::exit::{self, Exit, usage};
use crate::lab::house;
use crate::lab::job_spec::require_driver;
use crate::lab::probe::probe;
use crate::options::Options;
use crate::seed::draw_seed;
use crate::show::{finish, put};

pub use list::{Readiness, readiness};

use self::logs::LogsArgs;
use self::up::UpArgs;

/// What can be typed.
pub fn command(places: [Arg; 2], install: Arg) -> Command {
    let logs = LogsArgs::augment_args(Command::new("logs"));
    let down = DownArgs::augment_args(Command::new("down"));
    let verbs = [up().arg(install), status(), logs, scale(), fault(), down, list()];
    let verbs = verbs.map(|verb| verb.args(places.clone()));
    Command::new("lab")
        .about("Start a store on this machine, with as many nodes as it can have")
        .after_help(
            "Start here:  assay lab up redis\n\
             Then:        assay bench ycsb-a --lab redis\n\
             At the end:  assay lab down redis\n\
             \n\
             `assay bench ycsb-a --up redis` does all three. `assay lab ls` shows what can be \
             started.",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(verbs)
        .subcommand(
            Command::new("keep")
                .hide(true)
                .about("The process that holds a lab; `assay lab up` starts it")
                .arg(Arg::new("name").value_name("NAME")),
        )
        .subcommand(
            Command::new("watchdog")
                .hide(true)
                .about("The watchdog of a supervisor, which starts it"),
        )
}

/// The lab that is meant.
#[derive(Args, Debug)]
struct LabArg {
    /// The lab's name, or its folder; may be left out if only one is up
    #[arg(value_name = "NAME")]
    lab: Option<String>,
}

fn up() -> Command {
    let command = Command::new("up")
        .arg(text("nodes", "N", "How many nodes; default: as `assay lab ls` says"))
        .arg(text("version", "V", "Which version; default: the first of `assay lab ls`"))
        .arg(
            text("network", "WHERE", "loopback, or with root a network namespace for each node")
                .value_parser(["loopback", "namespaces"])
                .hide_possible_values(true)
                .default_value("loopback"),
        )
        .arg(
            text("option", "NAME=VALUE", "An option of the store, as `assay lab ls` has them")
                .action(ArgAction::Append),
        )
        .arg(text(
            "disk",
            "SIZE",
            "As root: a disk of its own for each node, such as 512M, which can lose power",
        ))
        .arg(
            Arg::new("proxy")
                .long("proxy")
                .action(ArgAction::SetTrue)
                .help("Let clients go through a proxy, so that links can be late, slow, cut"),
        )
        .arg(
            Arg::new("proxy-peers")
                .long("proxy-peers")
                .action(ArgAction::SetTrue)
                .help("Let nodes reach each other through a proxy, for `fault … --peers`"),
        );
    UpArgs::augment_args(command)
}

fn status() -> Command {
    LabArg::augment_args(Command::new("status"))
        .about("The labs that are up, with their nodes")
        .arg(
            text("format", "FORMAT", "text or json")
                .value_parser(["text", "json"])
                .hide_possible_values(true)
                .default_value("text"),
        )
}

fn scale() -> Command {
    LabArg::augment_args(Command::new("scale"))
        .about("Add or remove nodes")
        .arg(text("nodes", "M", "How many there shall be").required(true))
}

/// What can be typed to break something.
#[derive(Args, Debug)]
#[command(about = "Break something in a lab, or mend it", allow_missing_positional = true)]
struct FaultArgs {
    #[command(flatten)]
    lab: LabArg,
    /// Which one; see below
    #[arg(value_name = "FAULT", value_parser = faults(), hide_possible_values = true)]
    fault: String,
    /// A number from 1, leader, minority, majority, all or random
    #[arg(long, value_name = "N")]
    node: Option<String>,
    /// By how much, for a fault that has an amount
    #[arg(long, value_name = "AMOUNT")]
    by: Option<String>,
    /// Of links: those with the other nodes, not with clients
    #[arg(long)]
    peers: bool,
    /// What random nodes follow from; default: drawn
    #[arg(long, value_name = "SEED")]
    seed: Option<String>,
}

fn faults() -> PossibleValuesParser {
    let names = FAULTS.iter().map(|row| PossibleValue::new(row.name).aliases(row.aliases));
    PossibleValuesParser::new(names)
}

fn fault() -> Command {
    let lines = FAULTS.iter().map(|row| format!("  {:<17} {}", row.name, row.about));
    let lines: Vec<String> = lines.collect();
    FaultArgs::augment_args(Command::new("fault"))
        .after_help(format!("Faults:\n{}", lines.join("\n")))
}

/// What can be typed to end a lab.
#[derive(Args, Debug)]
#[command(about = "End a lab, data included")]
struct DownArgs {
    #[command(flatten)]
    lab: LabArg,
    /// All labs
    #[arg(long)]
    all: bool,
}

fn list() -> Command {
    Command::new("ls")
        .about("The stores that can be started, with their missing requirements")
        .arg(Arg::new("store").value_name("STORE").help("Only this one"))
}

/// `assay lab`.
pub fn dispatch(matches: &ArgMatches) -> Result<Exit> {
    match matches.subcommand() {
        Some(("up", matches)) => up::up(matches),
        Some(("status", matches)) => show_status(matches),
        Some(("logs", matches)) => logs::logs(matches),
        Some(("scale", matches)) => change_size(matches),
        Some(("fault", matches)) => inject_fault(matches),
        Some(("down", matches)) => end(matches),
        Some(("ls", matches)) => list::list(matches),
        Some(("keep", _)) => keep(),
        Some(("watchdog", _)) => {
            supervisor::watchdog()?;
            Ok(Exit::Fine)
        }
        _ => Ok(Exit::Usage),
    }
}

/// The supervisor of a lab, which this process is from now on.
fn keep() -> Result<Exit> {
    let supervision = Supervision { now: monotonic, check: require_driver, probe };
    Ok(exit::from_number(supervisor::keep(supervision)?))
}

fn labs(matches: &ArgMatches) -> Result<Labs> {
    house::labs(&Options::gather(matches)?)
}

fn word<'a>(matches: &'a ArgMatches, name: &str) -> Option<&'a str> {
    matches.get_one::<String>(name).map(String::as_str)
}

/// A number of nodes, or of a node.
fn number(matches: &ArgMatches, name: &str) -> Result<Option<usize>> {
    word(matches, name).map(|text| from_one(name, text)).transpose()
}

fn from_one(name: &str, text: &str) -> Result<usize> {
    match text.parse() {
        Ok(0) | Err(_) => Err(usage(format!("--{name} {text}: give a whole number from 1"))),
        Ok(number) => Ok(number),
    }
}

fn show_status(matches: &ArgMatches) -> Result<Exit> {
    let labs = labs(matches)?;
    let found = match word(matches, "lab") {
        Some(name) => vec![labs.find(Some(name))?],
        None => labs.all(),
    };
    let observed: Vec<describe::LabView> = found.into_iter().map(describe::look).collect();
    let text = match word(matches, "format") {
        Some("json") => describe::json(&observed)?,
        _ if observed.is_empty() => "no lab is up; `assay lab up STORE` starts one\n".to_owned(),
        _ => describe::text(&observed),
    };
    finish(&text)
}

fn change_size(matches: &ArgMatches) -> Result<Exit> {
    let nodes = number(matches, "nodes")?.unwrap_or(1);
    let client = LabClient::of(labs(matches)?.find(word(matches, "lab"))?)?;
    client.scale(nodes, &mut |text| eprintln!("{text}"))?;
    after(&client)
}

fn inject_fault(matches: &ArgMatches) -> Result<Exit> {
    let arguments = FaultArgs::from_arg_matches(matches)?;
    let fault = Fault::named(&arguments.fault).map_err(usage)?;
    let wrong = |error| usage(format!("--node: {error}"));
    let node = arguments.node.map(|text| text.parse::<FaultTarget>().map_err(wrong)).transpose()?;
    let seed = match arguments.seed {
        Some(seed) => seed.parse().map_err(|_| usage(format!("--seed {seed}: give a number")))?,
        None => draw_seed()?.0,
    };
    let injection = Injection { fault, node, by: arguments.by, peers: arguments.peers, seed };
    injection.check().map_err(usage)?;
    let client = LabClient::of(labs(matches)?.find(arguments.lab.lab.as_deref())?)?;
    let (_, injected) = client.fault(&injection, &mut |text| eprintln!("{text}"))?;
    let verified = Nanos(injected.verified_ns);
    let text = injection.text_of(&injected.nodes);
    eprintln!("{text} is done, verified {verified} after it began");
    after(&client)
}

/// Shows the lab as it is after something was done.
fn after(client: &LabClient) -> Result<Exit> {
    finish(&describe::one(&client.status()?, client.folder()))
}

fn end(matches: &ArgMatches) -> Result<Exit> {
    let DownArgs { lab: LabArg { lab }, all: is_all } = DownArgs::from_arg_matches(matches)?;
    let labs = labs(matches)?;
    let all = labs.all();
    if is_all {
        if lab.is_some() {
            return Err(usage("--all is about all labs: leave the name out"));
        }
        return end_all(all);
    }
    match lab.as_deref() {
        None if all.is_empty() => finish("no lab is up: there is nothing to end\n"),
        None => end_all(vec![labs.find(None)?]),
        Some(name) => match is_idle_recipe(&labs, name) {
            true => finish(&format!("no lab {name} is up: there is nothing to end\n")),
            false => end_all(vec![labs.find(Some(name))?]),
        },
    }
}

/// Whether the name is a recipe's whose lab is not there: ending it twice is no mistake.
fn is_idle_recipe(labs: &Labs, name: &str) -> bool {
    labs.get(name).is_none() && recipes::find(name).is_ok()
}

fn end_all(found: Vec<LabEntry>) -> Result<Exit> {
    for found in found {
        let name = found.name.clone();
        let text = match end_one(found)? {
            true => format!("lab {name} is down\n"),
            false => format!("lab {name} was gone already; what it left is removed\n"),
        };
        put(&text, None)?;
    }
    Ok(Exit::Fine)
}

/// Ends a lab; false if its supervisor was gone, so that only its files were removed.
fn end_one(found: LabEntry) -> Result<bool> {
    let LabEntry { name, folder, link, is_held } = found.clone();
    match is_held.then(|| LabClient::of(found).and_then(|client| client.down())) {
        Some(Ok(())) => return Ok(true),
        // It may have been killed in this moment; of one that goes on, nothing can be removed.
        Some(Err(error)) => clean(&folder).map_err(|_| error)?,
        None => clean(&folder)?,
    }
    match link.map(std::fs::remove_file) {
        Some(Err(error)) if error.kind() != ErrorKind::NotFound => {
            Err(usage(format!("cannot remove the link of lab {name}: {error}")))
        }
        _ => Ok(false),
    }
}
