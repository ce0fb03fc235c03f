//! Directories of new runs; [`assay_results::run_dirs`] finds those that are there.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Result;
use assay_history::CreateError;
use assay_results::run_dirs::{GROUP, LOAD, MANIFEST, is_group, is_run_dir};

use crate::exit::as_usage;

/// A directory for a new run, such as `2026-11-21T18-30-12Z-ycsb-a-on-redis-7f3c`.
pub fn fresh(runs_dir: &Path, name: &str, seed: u64) -> PathBuf {
    let moment = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    // The name belongs into file systems that know no colon.
    let moment = moment.replace(':', "-");
    let name: String = name
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' })
        .collect();
    let stem = format!("{moment}-{name}-{:04x}", seed & 0xFFFF);
    let mut dir = runs_dir.join(&stem);
    let mut number = 2;
    while dir.exists() {
        dir = runs_dir.join(format!("{stem}-{number}"));
        number += 1;
    }
    dir
}

/// Checks that `dir` can become a run directory with the run directory of a load in it. Known
/// before the store is touched, an error costs nothing.
pub fn require_free(dir: &Path) -> Result<()> {
    for taken in [dir.to_owned(), dir.join(LOAD)] {
        if is_run_dir(&taken) {
            return Err(as_usage(CreateError::Taken { dir: taken, found: MANIFEST.to_owned() }));
        }
    }
    if is_group(dir) {
        let (dir, found) = (dir.to_owned(), GROUP.to_owned());
        return Err(as_usage(CreateError::Taken { dir, found }));
    }
    Ok(())
}
