//! The identity of parts: whether each belongs to the run whose directory it lies in.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::{OpenError, list};
use crate::manifest::Manifest;
use crate::part::{AGENT_KEY, WORKER_KEY};
use crate::place;

/// The identity of a run, which parts repeat from `run.toml`.
const IDENTITY: [&str; 3] = ["assay.run.id", "assay.seed", "assay.trace_hash"];

/// Bytes of two files that are compared at once.
const CHUNK: usize = 1 << 16;

/// A part with an identity.
pub(super) struct Claim<'a> {
    pub agent: u32,
    pub worker: u16,
    pub path: &'a Path,
    pub facts: &'a [(String, String)],
}

impl Claim<'_> {
    fn fact(&self, key: &str) -> Option<&str> {
        self.facts.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// Fails if the part is of another run than `manifest`; what either does not say is no
    /// contradiction, so parts of earlier releases pass.
    pub fn check_run(&self, manifest: &Manifest) -> Result<(), OpenError> {
        if manifest.run.id.is_empty() {
            return Ok(());
        }
        for (key, own) in manifest.facts() {
            let is_identity = IDENTITY.contains(&key.as_str()) && !own.is_empty();
            let Some(found) = self.fact(&key).filter(|found| is_identity && *found != own) else {
                continue;
            };
            return Err(OpenError::Foreign {
                path: self.path.to_path_buf(),
                what: key.trim_start_matches("assay.").replace(['.', '_'], " "),
                found: found.to_owned(),
                own,
            });
        }
        Ok(())
    }

    /// Fails if the part is another one under a second name, which would count it twice.
    pub fn check_place(&self, dir: &Path) -> Result<(), OpenError> {
        let number = |key| self.fact(key).and_then(|text| text.parse::<u32>().ok());
        let reported =
            number(AGENT_KEY).zip(number(WORKER_KEY).and_then(|n| u16::try_from(n).ok()));
        let doubled = |original| OpenError::Doubled { path: self.path.to_path_buf(), original };
        match reported {
            Some((agent, worker)) if (agent, worker) == (self.agent, self.worker) => Ok(()),
            Some((agent, worker)) => Err(doubled(place::part(dir, agent, worker))),
            None => match self.twin(dir)? {
                Some(twin) => Err(doubled(twin)),
                None => Ok(()),
            },
        }
    }

    /// An earlier part with the same bytes: parts of earlier releases have no identity.
    fn twin(&self, dir: &Path) -> Result<Option<std::path::PathBuf>, OpenError> {
        for (agent, folder) in list(&place::history(dir), "agent=", "")? {
            for (worker, other) in list(&folder, "part-", ".parquet")? {
                let is_earlier = (agent, worker) < (self.agent, u32::from(self.worker));
                if is_earlier && is_same(self.path, &other).unwrap_or(false) {
                    return Ok(Some(other));
                }
            }
        }
        Ok(None)
    }
}

fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    let (mut one, mut other) = (File::open(one)?, File::open(other)?);
    let length = one.metadata()?.len();
    if length != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut left, mut right) = (vec![0; CHUNK], vec![0; CHUNK]);
    let mut at = 0;
    while at < length {
        let count = CHUNK.min((length - at) as usize);
        one.read_exact(&mut left[..count])?;
        other.read_exact(&mut right[..count])?;
        if left[..count] != right[..count] {
            return Ok(false);
        }
        at += count as u64;
    }
    Ok(true)
}
