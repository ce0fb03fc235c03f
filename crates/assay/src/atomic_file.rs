//! Atomic files: they get their name once they are complete, so a full disk leaves no partial file.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::exit::usage;

/// Writes `text` into the file at `path`, atomically. Code 2 if it cannot be created, 1 if it
/// cannot be written: an earlier file then stays.
pub fn write_text(path: &Path, text: &str) -> Result<()> {
    write(path, |file| Ok(file.write_all(text.as_bytes())?))
}

/// Writes `text` into the file `name` of the directory `dir`, which is made if it is missing.
pub fn write_in(dir: &Path, name: &str, text: &str) -> Result<()> {
    let path = dir.join(name);
    fs::create_dir_all(dir).with_context(|| format!("cannot write {}", path.display()))?;
    write_text(&path, text)
}

/// Lets `write` fill the file at `path`, atomically; anything but a regular file, such as a pipe,
/// is written directly. Code 2 if it cannot be created, else that of the error: an earlier file
/// then stays.
pub fn write(path: &Path, write: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    let is_other = path.metadata().is_ok_and(|there| !there.is_file());
    // A symbolic link is followed, and stays.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let made = if is_other { path.to_owned() } else { partial(&target) };
    let mut file = File::create(&made)
        .map_err(|error| usage(format!("cannot write {}: {error}", path.display())))?;
    if is_other {
        return write(&mut file).with_context(|| format!("cannot write {}", path.display()));
    }
    let whole = write(&mut file)
        .and_then(|()| Ok(file.sync_all()?))
        .and_then(|()| Ok(fs::rename(&made, &target)?));
    if whole.is_err() {
        let _ = fs::remove_file(&made);
    }
    whole.with_context(|| format!("cannot write {}", path.display()))
}

/// Whether a disk, a quota or a limit on file sizes is exhausted: no fault of the command line.
pub fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

fn partial(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".partial");
    PathBuf::from(name)
}
