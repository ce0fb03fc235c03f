//! Fleet: a command that several processes carry out together, as one run.
//!
//! The coordinator (`coordinator.rs`) is the command itself with `--agents N`: it prepares the
//! store, sends agents the same command, starts them at one moment, joins what they deliver. An
//! agent carries the command out as if it were alone, but for its member: its share, its start.

pub mod figures;
mod machines;
mod member;

pub use machines::{boot_id, build, host};
pub use member::{FleetMember, called_off};

use std::time::Duration;

use anyhow::Result;
use assay_model::Nanos;

use crate::exit::usage;
use crate::options::Options;
use crate::via::Via;

/// More agents than this are a mistake.
const AGENTS_MAX: u64 = 1024;

/// The least time that a fleet waits for anything.
const LENGTH_MIN: Nanos = Nanos::from_secs(1);

/// The settings of a coordinator, which agents do not get.
pub const SETTINGS: [&str; 7] = ["agents", "local", "listen", "keys", "wait", "lease", "deliver"];

/// How many agents there are to be; none for a run of this process alone.
///
/// # Errors
/// If the number is invalid, or a setting does not fit a fleet, or only fits one.
pub fn agents(options: &Options) -> Result<Option<u32>> {
    let Some(agents) = options.count("agents")? else {
        let typed = SETTINGS.into_iter().skip(1).find(|name| options.is_typed(name));
        return match typed {
            Some(name) => Err(options.wrong(name, "only a fleet has that; give --agents N")),
            None => Ok(None),
        };
    };
    if agents == 0 || agents > AGENTS_MAX {
        return Err(options.wrong("agents", &format!("give a number from 1 to {AGENTS_MAX}")));
    }
    if Via::is_wanted(options)? && !options.is_local()? {
        return Err(options.wrong(
            "via",
            "the server in between is on this machine: give --local as well, or start `assay fmke \
             serve` and name its URL",
        ));
    }
    leaves_parts(options)?;
    ["wait", "lease"].into_iter().try_for_each(|name| length(options, name).map(drop))?;
    Ok(Some(agents as u32))
}

/// Whether agents leave their parts where they are.
///
/// # Errors
/// If the setting is neither.
pub fn leaves_parts(options: &Options) -> Result<bool> {
    options.choice("deliver", &[("send", false), ("leave", true)])
}

/// As [`agents`], for a command of several runs: an agent serves one, so they have to be started
/// here.
///
/// # Errors
/// If they are not.
pub fn agents_here(options: &Options) -> Result<Option<u32>> {
    match agents(options)? {
        Some(_) if !options.is_local()? => Err(options.wrong(
            "agents",
            "this command makes several runs, and an agent serves one: give --local as well",
        )),
        agents => Ok(agents),
    }
}

/// A length of time that is long enough for news to come.
///
/// # Errors
/// If it is shorter.
pub fn length(options: &Options, name: &str) -> Result<Duration> {
    match options.duration(name)? {
        Some(length) if length >= LENGTH_MIN => Ok(Duration::from(length)),
        _ => Err(options.wrong(name, &format!("give at least {LENGTH_MIN}"))),
    }
}

/// Writes a file that only its owner may read.
///
/// # Errors
/// If it is there already or cannot be written.
pub fn write_secret(path: &std::path::Path, text: &str) -> Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(0o600).open(path);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| usage(format!("cannot write {}: {error}", path.display())))
}
