//! Several runs of one set-up, as a directory with `repeat.toml`.

use std::io;
use std::path::{Path, PathBuf};

use assay_model::named_enum;
use serde::{Deserialize, Serialize};

use crate::manifest::replace;

/// The version of the format that this crate writes.
pub const VERSION: u32 = 1;

/// The whole of `repeat.toml`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Repeat {
    /// Version of this format.
    pub format: u32,
    /// When the first run began, as text with a time zone.
    pub started: String,
    /// The command line, word by word, secrets redacted.
    pub command: Vec<String>,
    /// How many runs were wanted.
    #[serde(alias = "wanted")]
    pub expected: u32,
    /// In which state a run meets the store.
    pub state: Meeting,
    /// The runs that came to their end, in order.
    pub runs: Vec<RepeatedRun>,
}

/// One run of the group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RepeatedRun {
    /// Its run directory, a directory in the group's.
    #[serde(alias = "bundle")]
    pub run_dir: String,
    /// From which its arrivals follow, in decimal digits.
    pub arrival_seed: String,
}

named_enum! {
    /// In which state each run of a group meets the store.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Meeting {
        /// A store of its own, loaded for it.
        #[default]
        Fresh => "fresh",
        /// The same store, loaded again over what the run before left.
        Reloaded => "reloaded",
        /// The same store with what the run before left.
        Kept => "kept",
    }
}

/// `repeat.toml` could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RepeatError {
    /// It is not there or cannot be read.
    #[error("cannot read {path}: {source}; name the directory of repeated runs")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is no such file.
    #[error("{path} does not describe repeated runs: {source}")]
    Parse {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the line.
        source: Box<toml::de::Error>,
    },
    /// It was written by a later release.
    #[error("{path} has format {found}, newer than {VERSION}; use the release that wrote it")]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// It cannot be turned into text.
    #[error("cannot turn the list of runs into text: {source}")]
    Format {
        /// What is wrong.
        source: Box<toml::ser::Error>,
    },
    /// It cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Repeat {
    /// Where it is in the directory `dir`.
    pub fn path(dir: &Path) -> PathBuf {
        dir.join("repeat.toml")
    }

    /// Reads `repeat.toml` of the directory `dir`.
    ///
    /// # Errors
    /// If it is absent, is none, or is of a newer format.
    pub fn read(dir: &Path) -> Result<Repeat, RepeatError> {
        let path = Repeat::path(dir);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(source) => return Err(RepeatError::Read { path, source }),
        };
        let repeat: Repeat = toml::from_str(&text)
            .map_err(|error| RepeatError::Parse { path: path.clone(), source: Box::new(error) })?;
        if repeat.format > VERSION {
            return Err(RepeatError::Newer { path, found: repeat.format });
        }
        Ok(repeat)
    }

    /// Writes `repeat.toml` of the directory `dir`, which is made if it is not there; a reader
    /// sees the old one or the new one, whole.
    ///
    /// # Errors
    /// If the disk does not take it; an earlier one then stays.
    pub fn write(&self, dir: &Path) -> Result<(), RepeatError> {
        let path = Repeat::path(dir);
        let text = toml::to_string_pretty(&Repeat { format: VERSION, ..self.clone() })
            .map_err(|error| RepeatError::Format { source: Box::new(error) })?;
        let temporary = crate::part::temporary(&path);
        let written =
            std::fs::create_dir_all(dir).and_then(|()| replace(&temporary, &path, text.as_bytes()));
        if written.is_err() {
            let _ = std::fs::remove_file(&temporary);
        }
        written.map_err(|source| RepeatError::Write { path, source })
    }

    /// The run directories of the runs that came to their end, in the directory `dir`.
    pub fn run_dirs(&self, dir: &Path) -> Vec<PathBuf> {
        self.runs.iter().map(|run| dir.join(&run.run_dir)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::tempdir;

    fn repeat() -> Repeat {
        let run = |number: u32| RepeatedRun {
            run_dir: number.to_string(),
            arrival_seed: u64::MAX.to_string(),
        };
        Repeat {
            format: VERSION,
            started: "2026-11-22T00:00:00Z".to_owned(),
            command: vec!["assay".to_owned(), "run".to_owned()],
            expected: 3,
            state: Meeting::Kept,
            runs: vec![run(1), run(2)],
        }
    }

    #[test]
    fn what_was_written_is_read() {
        let dir = tempdir("repeat-written").join("group");
        repeat().write(&dir).unwrap();
        assert_eq!(Repeat::read(&dir).unwrap(), repeat());
        assert_eq!(repeat().run_dirs(&dir), [dir.join("1"), dir.join("2")]);
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 1, "nothing temporary is left");
    }

    #[test]
    fn a_newer_format_is_refused() {
        let dir = tempdir("repeat-newer");
        std::fs::write(Repeat::path(&dir), "format = 2\n").unwrap();
        let error = Repeat::read(&dir).unwrap_err().to_string();
        assert!(error.ends_with("has format 2, newer than 1; use the release that wrote it"));
    }
}
