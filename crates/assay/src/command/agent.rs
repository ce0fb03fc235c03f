//! `assay agent`: carries out a share of a fleet's run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use assay_fleet::protocol::PROTOCOL;
use assay_fleet::{Collecting, FleetKeys, Hello, Job, Session};
use assay_history::Manifest;
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueHint};

use crate::exit::{Exit, as_usage, usage};
use crate::fleet::{self, FleetMember};
use crate::load_config::Purpose;
use crate::options::{Options, Origin, Settable};
use crate::run_plan::RunPlan;
use crate::seed::random;
use crate::setup::Setup;
use crate::signals::Listening;
use crate::units::duration_of;
use crate::{coordinator, machine, parent_death, run_dirs};

/// Variables that say which agent this is, where no option does: of an Indexed Job of Kubernetes,
/// of a step of Slurm.
const INDEXES: [&str; 2] = ["JOB_COMPLETION_INDEX", "SLURM_PROCID"];
/// The variable with the store, where the coordinator does not send it.
const TARGET: &str = "ASSAY_TARGET";

/// What parses the command of a job.
pub type ParseJob = dyn Fn(&[String]) -> Result<ArgMatches>;

/// What can be typed.
#[derive(Args, Debug)]
#[command(
    about = "Carry out a share of a run that `assay run … --agents N` coordinates",
    after_help = "Exit codes: 0 delivered, 2 refused, 4 the coordinator was lost or has called \
                  the run off; others as for `assay run`, if the share itself failed."
)]
struct AgentArgs {
    /// The coordinator
    #[arg(long, value_name = "HOST:PORT")]
    join: String,
    /// The agent.pem of the run's keys
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    keys: PathBuf,
    /// Its number, from 0 [default: JOB_COMPLETION_INDEX or SLURM_PROCID]
    #[arg(long, value_name = "N")]
    index: Option<String>,
    #[arg(short, long, value_name = "URL")]
    #[arg(help = "The store, if the coordinator does not send it [ASSAY_TARGET]")]
    target: Option<String>,
    /// How long the coordinator is waited for
    #[arg(long, value_name = "TIME", default_value = "10min")]
    wait: String,
    /// Where its part is kept until it is delivered
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    run_dir: Option<PathBuf>,
    /// Keep its part when it is delivered, too
    #[arg(long)]
    keep: bool,
}

/// The command with its arguments.
pub fn command() -> Command {
    AgentArgs::augment_args(Command::new("agent"))
}

/// `assay agent`.
pub fn agent(matches: &ArgMatches, parse: &ParseJob) -> Result<Exit> {
    parent_death::heed()?;
    // From now on an interrupt ends this process, also where it is the first of a container, for
    // which signals have no default.
    drop(Listening::begin()?);
    let arguments = AgentArgs::from_arg_matches(matches)?;
    let index = index(arguments.index.as_deref())?;
    let keys = FleetKeys::read(&arguments.keys).map_err(as_usage)?;
    let wait = duration_of("--wait", &arguments.wait)?.into();
    let dir = arguments.run_dir.unwrap_or_else(|| Path::new("runs").join(format!("agent-{index}")));
    run_dirs::require_free(&dir)?;
    let hello = Hello {
        protocol: PROTOCOL,
        version: fleet::build(),
        agent: index,
        host: fleet::host(),
        cores: machine::cores() as u32,
        boot_id: fleet::boot_id(),
        pid: std::process::id(),
        nonce: random()?,
    };
    let address = &arguments.join;
    let session = Session::join(address, keys, hello, wait).map_err(fleet::called_off)?;
    eprintln!("agent {index} of {} has joined {address}", session.agents());
    let member = Arc::new(FleetMember::new(session));
    let carried_out = carry_out(&member, &dir, (arguments.target.as_deref(), parse));
    match carried_out {
        Ok(()) => {
            match &member.session.job().collecting {
                Collecting::Leave => {
                    eprintln!("agent {index} has left its part in {}", dir.display());
                    return Ok(Exit::Fine);
                }
                Collecting::Bucket { url, .. } => {
                    eprintln!("agent {index} has put its part into {url}");
                }
                Collecting::Send => eprintln!("agent {index} has delivered its part"),
            }
            if !arguments.keep {
                remove(&dir);
            }
            Ok(Exit::Fine)
        }
        Err(error) => {
            // Whoever has been told that the run is off need not tell why. Once the others know
            // that it was this one, it is off for this one too, but that is no reason.
            let called_off = member.session.called_off();
            if called_off.is_none() {
                member.session.fail(&format!("{error:#}"));
            }
            if dir.exists() {
                eprintln!("what it kept is in {}", dir.display());
            }
            let reason = called_off.map(assay_fleet::AgentError::CalledOff);
            Err(reason.map_or(error, fleet::called_off))
        }
    }
}

/// The number of this agent.
fn index(typed: Option<&str>) -> Result<u32> {
    let variable = |name: &'static str| Some((name, std::env::var(name).ok()?));
    let (name, text) = match typed {
        Some(text) => ("--index", text.to_owned()),
        None => INDEXES.into_iter().find_map(variable).ok_or_else(|| {
            usage(format!(
                "which agent is this? give --index N, from 0; where an engine starts the agents, \
                 {} says it",
                INDEXES.join(" or ")
            ))
        })?,
    };
    text.trim().parse().map_err(|_| usage(format!("{name}: {text:?} is no number of an agent")))
}

/// Carries out the job, and delivers what came of it.
fn carry_out(
    member: &Arc<FleetMember>,
    dir: &Path,
    (target, parse): (Option<&str>, &ParseJob),
) -> Result<()> {
    let job = member.session.job().clone();
    if let Some((url, _)) = job.collecting.bucket(member.session.agent()) {
        fleet::require_access(&url)?;
    }
    let files = dir.with_extension("job");
    let words = fetch(member, &job, &files)?;
    let target = target.map(str::to_owned).or_else(|| std::env::var(TARGET).ok());
    let target = target.or_else(|| job.target.clone()).ok_or_else(|| {
        usage(format!(
            "the coordinator does not send the store's URL, because it has a password: give -t \
             URL or {TARGET} to each agent, or --send-credentials to the coordinator"
        ))
    })?;
    let ran = execute(member, &parse(&words)?, &target, dir);
    if files.exists() {
        remove(&files);
    }
    ran?;
    match member.session.called_off() {
        Some(reason) => Err(fleet::called_off(assay_fleet::AgentError::CalledOff(reason))),
        None => deliver(member, dir),
    }
}

/// Delivers what is in `dir`, as the job says.
fn deliver(member: &FleetMember, dir: &Path) -> Result<()> {
    let session = &member.session;
    if let Some((url, patience)) = session.job().collecting.bucket(session.agent()) {
        return session.put(dir, (&url, patience)).map_err(|error| match session.called_off() {
            Some(reason) => fleet::called_off(assay_fleet::AgentError::CalledOff(reason)),
            None => fleet::from_bucket(error).context("its part was not delivered"),
        });
    }
    match session.job().collecting {
        Collecting::Leave => {
            session.leave(dir);
            Ok(())
        }
        _ => session.deliver(dir).map_err(fleet::called_off),
    }
}

/// Fetches the files of `job` into `dir`; the words with their places.
fn fetch(member: &FleetMember, job: &Job, dir: &Path) -> Result<Vec<String>> {
    if !job.files.is_empty() {
        std::fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    }
    for (number, file) in job.files.iter().enumerate() {
        let bytes = member.session.fetch(number).map_err(fleet::called_off)?;
        let name = Path::new(&file.name).file_name().context("a file has a name")?;
        let path = dir.join(name);
        std::fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(coordinator::with_files(job, dir))
}

fn execute(
    member: &Arc<FleetMember>,
    matches: &ArgMatches,
    target: &str,
    dir: &Path,
) -> Result<()> {
    let (verb, matches) = matches.subcommand().context("a job is a command")?;
    let mut options = Options::gather(matches)?;
    options.become_share();
    options.target.set(target, Origin::Flag)?;
    options.run_dir.set(&dir.display().to_string(), Origin::Flag)?;
    let purpose = if verb == "load" { Purpose::Load } else { Purpose::Run };
    let mut setup = Setup::open(RunPlan::from(matches, options, purpose)?)?;
    setup.join_fleet(member);
    let finished = match purpose {
        Purpose::Load => setup.load_share(dir)?,
        _ => setup.run()?,
    };
    match finished.exit {
        // The coordinator finds the same in the manifests, and says it once for all.
        Exit::Fine | Exit::Interrupted | Exit::Usage | Exit::Unreachable => Ok(()),
        exit => {
            let reason = Manifest::read(dir).ok().and_then(|manifest| manifest.reason);
            let reason = reason.unwrap_or_else(|| format!("see {}", dir.display()));
            let message = format!("its share failed: {reason}");
            Err(crate::exit::Failure { exit, message }.into())
        }
    }
}

fn remove(dir: &Path) {
    if let Err(error) = std::fs::remove_dir_all(dir) {
        eprintln!("warning: cannot remove {}: {error}", dir.display());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_typed() {
        assert_eq!(index(Some("3")).unwrap(), 3);
        let error = index(Some("x")).unwrap_err().to_string();
        assert!(error.contains("--index: \"x\" is no number of an agent"), "{error}");
    }
}
