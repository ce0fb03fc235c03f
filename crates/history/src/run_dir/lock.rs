//! Lock of a run directory: one process at a time writes it.
//!
//! The operating system's lock on an open file ends with its process, however that ends, so a
//! lock file that a killed run left behind is stale by itself. The process number in it is for
//! people only.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::place;

/// The run directory could not be locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds it.
    #[error("{dir} is in use by process {pid}; wait until it ends or stop it")]
    Held {
        /// The run directory.
        dir: PathBuf,
        /// The process, as it wrote itself down; empty if it had no time to.
        pid: String,
    },
    /// The lock file cannot be made or locked.
    #[error("cannot lock {path}: {source}")]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Held until dropped.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    pub(super) fn take(dir: &Path) -> Result<Lock, LockError> {
        let path = place::lock(dir);
        let failed = |source| LockError::Lock { path: path.clone(), source };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::Error(source)) => return Err(failed(source)),
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                file.read_to_string(&mut pid).map_err(failed)?;
                let pid = pid.trim().to_owned();
                return Err(LockError::Held { dir: dir.to_path_buf(), pid });
            }
        }
        if !is_still_there(&file, &path).map_err(failed)? {
            // Its holder ended between our opening and our locking, and took the name along.
            return Err(LockError::Held { dir: dir.to_path_buf(), pid: String::new() });
        }
        // A full disk must not keep a repair from starting, so the number is not insisted on.
        let _ = file
            .set_len(0)
            .and_then(|()| file.write_all(format!("{}\n", std::process::id()).as_bytes()));
        Ok(Lock { path, _file: file })
    }
}

fn is_still_there(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(named) => Ok((named.dev(), named.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The lock itself ends when the file is closed; a name that stays does no harm.
        let _ = std::fs::remove_file(&self.path);
    }
}
