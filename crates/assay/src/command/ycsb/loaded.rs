//! Notes of the data that `assay ycsb load` has loaded into a store, in the directory of the runs.
//!
//! `assay load` keeps such a note in the store; there YCSB's own loader would leave its records and
//! nothing else, so this one does too.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::note::Note;

/// Where the notes are, within the directory of the runs.
const FOLDER: &str = ".ycsb";

/// Keeps `note` for the store at `url`, which has no secrets in it.
pub fn keep(runs_dir: &Path, url: &str, note: &Note) -> Result<()> {
    let path = path(runs_dir, url);
    let written = std::fs::create_dir_all(runs_dir.join(FOLDER)).and_then(|()| {
        let text = format!("# What `assay ycsb load` put into {url}\n{}", note.to_text());
        std::fs::write(&path, text)
    });
    written.with_context(|| format!("cannot write {}", path.display()))
}

/// The note for the store at `url`, if there is one.
pub fn find(runs_dir: &Path, url: &str) -> Result<Option<Note>> {
    let path = path(runs_dir, url);
    match std::fs::read_to_string(&path) {
        Ok(text) => Note::parse(&text, &path.display().to_string()).map(Some),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// A file for each URL: URLs hold what file names may not.
fn path(runs_dir: &Path, url: &str) -> PathBuf {
    // FNV-1a, 64 bits.
    let hash = url.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    runs_dir.join(FOLDER).join(format!("{hash:016x}.toml"))
}

#[cfg(test)]
mod tests {
    use assay_workload::ScriptDataset;

    use super::*;
    use crate::note::Loaded;

    #[test]
    fn a_note_is_found_by_its_url() {
        let dir = tempfile::tempdir().unwrap();
        let workload = "trace".to_owned();
        let dataset = ScriptDataset { workload, sizes: Default::default(), seed: None };
        let note = Note::loaded(&Loaded::Script(dataset));
        keep(dir.path(), "redis://h:1", &note).unwrap();
        assert_eq!(find(dir.path(), "redis://h:1").unwrap(), Some(note));
        assert_eq!(find(dir.path(), "redis://h:2").unwrap(), None);
    }
}
