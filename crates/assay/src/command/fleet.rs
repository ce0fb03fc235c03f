//! `assay fleet`: keys, a look at a fleet, joining of parts that were left where they are.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use assay_fleet::client::ControlClient;
use assay_fleet::keys::KeyFiles;
use assay_fleet::{Bucket, FleetKeys, bucket, merge};
use assay_model::Nanos;
use assay_results::analyze_run;
use clap::{Arg, ArgMatches, Command, ValueHint};

use crate::command::text;
use crate::exit::{Exit, Failure, as_usage, usage};
use crate::fleet::{from_bucket, write_secret};
use crate::options::Options;
use crate::show::{Display, finish, keep_hallmark, show};
use crate::units::duration_of;

/// How long keys are valid, if nothing else is said.
const VALID: &str = "7d";
/// How long a bucket that is away is tried.
const BUCKET_PATIENCE: Duration = Duration::from_secs(30);
/// How long the coordinator is waited for.
const STATUS_TIMEOUT: Duration = Duration::from_secs(5);

/// What can be typed; `display` are the settings of what is shown.
pub fn command(display: impl IntoIterator<Item = Arg>) -> Command {
    let keys = Command::new("keys")
        .about("Make the keys of a fleet: coordinator.pem, and agent.pem for all agents")
        .arg(
            text("output", "DIR", "Where to")
                .short('o')
                .required(true)
                .value_hint(ValueHint::DirPath),
        )
        .arg(text("valid", "TIME", "How long they are valid [default: 7d]"));
    let status = Command::new("status")
        .about("How far the agents of a fleet are")
        .arg(text("join", "HOST:PORT", "The coordinator").required(true))
        .arg(
            text("keys", "FILE", "The agent.pem of the run's keys")
                .required(true)
                .value_hint(ValueHint::FilePath),
        );
    let merge = Command::new("merge")
        .about("Join the parts of all agents into one run directory")
        .arg(
            Arg::new("parts")
                .value_name("DIR")
                .required(true)
                .num_args(1..)
                .value_hint(ValueHint::DirPath)
                .help(
                    "The run directory of each agent, and that of the coordinator if it is there; \
                     s3://BUCKET/PREFIX/RUN for all that are in a bucket",
                ),
        )
        .arg(
            text("run-dir", "DIR", "The run directory of the whole")
                .required(true)
                .value_hint(ValueHint::DirPath),
        )
        .args(display);
    Command::new("fleet")
        .about("Many machines, one run: keys, status, merge")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands([keys, status, merge])
}

/// `assay fleet …`.
pub fn dispatch(matches: &ArgMatches) -> Result<Exit> {
    match matches.subcommand() {
        Some(("keys", matches)) => keys(matches),
        Some(("status", matches)) => status(matches),
        Some(("merge", matches)) => merge_parts(matches),
        _ => Ok(Exit::Usage),
    }
}

fn keys(matches: &ArgMatches) -> Result<Exit> {
    let text = |name: &str| matches.get_one::<String>(name).map(String::as_str);
    let dir = Path::new(text("output").context("clap requires --output")?);
    let valid = duration_of("--valid", text("valid").unwrap_or(VALID))?.into();
    std::fs::create_dir_all(dir)
        .map_err(|error| usage(format!("cannot create {}: {error}", dir.display())))?;
    let files = KeyFiles::generate(valid)?;
    for (name, text) in [("coordinator.pem", files.coordinator), ("agent.pem", files.agent)] {
        write_secret(&dir.join(name), &text)?;
    }
    let valid = humantime::format_duration(valid);
    finish(&format!(
        "{0}/coordinator.pem is for the coordinator, {0}/agent.pem for every agent; valid for \
             {valid}\n",
        dir.display()
    ))
}

fn status(matches: &ArgMatches) -> Result<Exit> {
    let text = |name: &str| matches.get_one::<String>(name).map(String::as_str);
    let keys = FleetKeys::read(Path::new(text("keys").context("clap requires --keys")?));
    let address = text("join").context("clap requires --join")?;
    let away = |error: assay_fleet::client::CallError| Failure {
        exit: Exit::Unreachable,
        message: error.to_string(),
    };
    let mut client = ControlClient::new(address, &keys.map_err(as_usage)?).map_err(away)?;
    let rows = client.get("/v1/status", STATUS_TIMEOUT).map_err(away)?;
    let rows: Vec<serde_json::Value> =
        serde_json::from_slice(&rows).context("the coordinator's answer is no table")?;
    let mut lines =
        vec!["agent  state      threads    operations      failed    lag max  host".to_owned()];
    for row in rows {
        let word = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let number = |name: &str| row[name].as_u64().unwrap_or_default();
        lines.push(format!(
            "{:>5}  {:<9}  {:>7}  {:>12}  {:>10}  {:>9}  {}",
            number("agent"),
            word("state"),
            number("workers"),
            number("offered"),
            number("failed"),
            Nanos(number("lag_ns")).to_string(),
            word("host")
        ));
    }
    finish(&(lines.join("\n") + "\n"))
}

/// The folders of `parts`, of which those in a bucket are fetched into `pieces`; that, if there are
/// such.
fn fetched<'a>(
    parts: impl Iterator<Item = &'a String>,
    pieces: &Path,
) -> Result<(Vec<PathBuf>, Option<PathBuf>)> {
    let (mut folders, mut is_fetched) = (Vec::new(), false);
    for part in parts {
        if !bucket::is_bucket(part) {
            folders.push(PathBuf::from(part));
            continue;
        }
        is_fetched = true;
        let parts = Bucket::open(part, BUCKET_PATIENCE).and_then(|bucket| bucket.parts());
        for url in parts.map_err(from_bucket)? {
            let folder = pieces.join(format!("part-{}", folders.len()));
            let fetched = Bucket::open(&url, BUCKET_PATIENCE)
                .and_then(|bucket| bucket.fetch(&folder, &|| true));
            fetched.map_err(from_bucket)?;
            folders.push(folder);
        }
    }
    Ok((folders, is_fetched.then(|| pieces.to_owned())))
}

fn merge_parts(matches: &ArgMatches) -> Result<Exit> {
    let options = Options::gather(matches)?;
    let display = Display::from(&options)?;
    let dir = matches.get_one::<String>("run-dir").context("clap requires --run-dir")?;
    let parts = matches.get_many::<String>("parts").into_iter().flatten();
    let (parts, fetched) = fetched(parts, &Path::new(dir).join("pieces"))?;
    let mut manifest = merge(Path::new(dir), &parts, false).map_err(as_usage)?;
    if let Some(fetched) = fetched {
        std::fs::remove_dir_all(&fetched)
            .with_context(|| format!("cannot remove {}", fetched.display()))?;
    }
    if manifest.coordinator.is_none() {
        manifest.notes.push(
            "merged without the coordinator's part, which has the probes of the clocks: events of \
             two agents cannot be ordered"
                .to_owned(),
        );
        manifest.write(Path::new(dir))?;
    }
    let analyzed = analyze_run(Path::new(dir), None)?;
    keep_hallmark(Path::new(dir), &analyzed)?;
    show(&analyzed, &display)?;
    Ok(Exit::Fine)
}
