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
use assay_fleet::{Bucket, BucketError, Collecting, bucket};
use assay_model::Nanos;

use crate::exit::{Exit, Failure, as_usage, usage};
use crate::options::{Affair, Options, SettingText, TypedSetting};

/// More agents than this are a mistake.
const AGENTS_MAX: u64 = 1024;

/// The least time that a fleet waits for anything.
const LENGTH_MIN: Nanos = Nanos::from_secs(1);

/// How long a bucket is tried before the run begins.
const ACCESS_PATIENCE: Duration = Duration::from_secs(5);
/// The object with which that is tried.
const STARTED: &str = "started";

/// How many agents there are to be; none for a run of this process alone.
pub fn agents(options: &Options) -> Result<Option<u32>> {
    let Some(agents) = options.agents.get() else {
        let is_of_fleet = |setting: &&SettingText| setting.key().affair == Affair::Fleet;
        let mut typed = options.all().into_iter().filter(|setting| setting.is_typed());
        return match typed.find(is_of_fleet) {
            Some(setting) => Err(setting.wrong("only a fleet has that; give --agents N")),
            None => Ok(None),
        };
    };
    if agents == 0 || agents > AGENTS_MAX {
        return Err(options.agents.wrong(format!("give a number from 1 to {AGENTS_MAX}")));
    }
    if options.via.is_given() && !options.local.is_on() {
        return Err(options.via.wrong(
            "the server in between is on this machine: give --local as well, or start `assay fmke \
             serve` and name its URL",
        ));
    }
    collecting(options, "")?;
    length(&options.wait)?;
    length(&options.lease)?;
    Ok(Some(agents as u32))
}

/// Where agents put their parts; in a bucket, into `folder`.
pub fn collecting(options: &Options, folder: &str) -> Result<Collecting> {
    match options.deliver.text() {
        None | Some("send") => Ok(Collecting::Send),
        Some("leave") => Ok(Collecting::Leave),
        Some(url) if bucket::is_bucket(url) => {
            bucket::parsed(url).map_err(as_usage)?;
            if !bucket::IS_BUILT {
                return Err(as_usage(BucketError::NotBuilt(url.to_owned())));
            }
            let patience_ms = length(&options.wait)?.as_millis() as u64;
            Ok(Collecting::Bucket { url: bucket::within(url, folder), patience_ms })
        }
        Some(text) => Err(options
            .deliver
            .wrong(format!("{text:?} is none of send, leave, s3://BUCKET/PREFIX"))),
    }
}

/// Says early if the folder `url` of a bucket cannot be written or read.
pub fn require_access(url: &str) -> Result<()> {
    let access =
        Bucket::open(url, ACCESS_PATIENCE).and_then(|bucket| bucket.require_access(STARTED));
    access.map_err(from_bucket)
}

/// A failure of a bucket, with the code that fits.
pub fn from_bucket(error: BucketError) -> anyhow::Error {
    let exit = match &error {
        BucketError::Unreachable { .. } | BucketError::Denied { .. } => Exit::Unreachable,
        error if error.is_of_settings() => Exit::Usage,
        BucketError::NoPart(_) => Exit::Usage,
        BucketError::Ended => Exit::Interrupted,
        _ => Exit::Internal,
    };
    Failure { exit, message: error.to_string() }.into()
}

/// As [`agents`], for a command of several runs: an agent serves one, so they have to be started
/// here.
pub fn agents_here(options: &Options) -> Result<Option<u32>> {
    match agents(options)? {
        Some(_) if !options.local.is_on() => Err(options.agents.wrong(
            "this command makes several runs, and an agent serves one: give --local as well",
        )),
        agents => Ok(agents),
    }
}

/// A length of time that is long enough for news to come.
pub fn length(setting: &TypedSetting<Nanos>) -> Result<Duration> {
    match setting.get() {
        Some(length) if length >= LENGTH_MIN => Ok(Duration::from(length)),
        _ => Err(setting.wrong(format!("give at least {LENGTH_MIN}"))),
    }
}

/// Writes a file that only its owner may read. Fails if it is there already.
pub fn write_secret(path: &std::path::Path, text: &str) -> Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(0o600).open(path);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| usage(format!("cannot write {}: {error}", path.display())))
}
