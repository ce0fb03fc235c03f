//! Paths within a run directory.

use std::path::{Path, PathBuf};

/// The manifest.
pub fn manifest(dir: &Path) -> PathBuf {
    dir.join("run.toml")
}

/// The events.
pub fn events(dir: &Path) -> PathBuf {
    dir.join("events.parquet")
}

/// What was seen of the machines.
pub fn observations(dir: &Path) -> PathBuf {
    dir.join("observations.parquet")
}

/// The probes of the agents' clocks.
pub fn clock(dir: &Path) -> PathBuf {
    dir.join("clock.parquet")
}

/// What the store says really happened.
pub fn truth(dir: &Path) -> PathBuf {
    dir.join("truth.parquet")
}

/// The values that operations returned.
pub fn reads(dir: &Path) -> PathBuf {
    dir.join("reads.parquet")
}

/// The lock file of the run directory while a process writes it.
pub fn lock(dir: &Path) -> PathBuf {
    dir.join("lock")
}

/// The file that keeps a little of the disk free for the end of the run.
pub fn reserve(dir: &Path) -> PathBuf {
    dir.join("reserve")
}

/// The blocks of a run that has not been sealed.
pub fn blocks(dir: &Path) -> PathBuf {
    dir.join("blocks")
}

/// The blocks of one worker.
pub fn block_file(dir: &Path, worker: u16) -> PathBuf {
    blocks(dir).join(format!("lane={worker}.blk"))
}

/// The sealed history of all agents.
pub fn history(dir: &Path) -> PathBuf {
    dir.join("history")
}

/// The sealed history of one agent.
pub fn agent(dir: &Path, agent: u32) -> PathBuf {
    history(dir).join(format!("agent={agent}"))
}

/// The sealed history of one worker of one agent.
pub fn part(dir: &Path, agent_number: u32, worker: u16) -> PathBuf {
    agent(dir, agent_number).join(format!("part-{worker}.parquet"))
}

/// The number between `prefix` and `suffix` in a file name.
pub fn number(path: &Path, prefix: &str, suffix: &str) -> Option<u32> {
    let name = path.file_name()?.to_str()?;
    name.strip_prefix(prefix)?.strip_suffix(suffix)?.parse().ok()
}

/// The entries of `dir` whose names are a number between `prefix` and `suffix`, by that number.
///
/// # Errors
/// If the directory is there but cannot be listed; a missing one has no entries.
pub fn numbered(dir: &Path, prefix: &str, suffix: &str) -> std::io::Result<Vec<(u32, PathBuf)>> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if let Some(number) = number(&path, prefix, suffix) {
            found.push((number, path));
        }
    }
    found.sort();
    Ok(found)
}
