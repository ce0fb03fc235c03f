//! Freshness of a build against its sources.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result};

/// Whether `built` is there, no older than any of `sources`: files, or folders with all in them.
///
/// # Errors
/// If a source cannot be looked at.
pub fn is_fresh(built: &Path, sources: &[impl AsRef<Path>]) -> Result<bool> {
    let mut newest = SystemTime::UNIX_EPOCH;
    for source in sources {
        newest = newest.max(changed(source.as_ref())?);
    }
    Ok(changed(built).is_ok_and(|built| built >= newest))
}

/// When `path`, or something in it, was changed last.
fn changed(path: &Path) -> Result<SystemTime> {
    let looked = || format!("cannot look at {path:?}");
    let metadata = path.metadata().with_context(looked)?;
    let mut newest = metadata.modified().with_context(looked)?;
    if metadata.is_dir() {
        for entry in fs::read_dir(path).with_context(looked)? {
            newest = newest.max(changed(&entry.with_context(looked)?.path())?);
        }
    }
    Ok(newest)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_older_than_a_source_is_stale() {
        let dir = tempfile::tempdir().expect("a folder can be made");
        let begun = SystemTime::now();
        let at = |path: &str, seconds: u64| {
            let path = dir.path().join(path);
            let file = fs::File::options().append(true).create(true).open(&path);
            let time = begun + Duration::from_secs(seconds);
            file.and_then(|file| file.set_modified(time)).expect("a file can be made");
            path
        };
        let sources = dir.path().join("sources");
        fs::create_dir(&sources).expect("a folder can be made");
        at("sources/a", 10_000);
        let built = dir.path().join("built");
        assert!(!is_fresh(&built, &[&sources]).expect("the sources are there"), "not there");
        for (seconds, expected) in [(9_999, false), (10_000, true), (10_001, true)] {
            let built = at("built", seconds);
            assert_eq!(is_fresh(&built, &[&sources]).ok(), Some(expected), "{seconds}");
        }
        assert!(is_fresh(&built, &[dir.path().join("none")]).is_err());
    }
}
