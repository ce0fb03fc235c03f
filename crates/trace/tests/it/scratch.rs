//! Directories that go away with their tests, and the traces in them.

use std::path::{Path, PathBuf};

use assay_model::Source;
use assay_trace::{Digest, Header, Trace, TraceWriter, WrittenTrace, export_csv};
use tempfile::TempDir;

/// A directory that goes away with its test.
pub struct Scratch(TempDir);

impl Scratch {
    pub fn new() -> Scratch {
        Scratch(tempfile::tempdir().unwrap())
    }

    pub fn root(&self) -> &Path {
        self.0.path()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.root()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// A trace in a directory of its own.
pub struct Saved {
    pub scratch: Scratch,
    pub path: PathBuf,
    pub trace: Trace,
    pub written: WrittenTrace,
}

impl Saved {
    /// A trace of all that `source` issues.
    pub fn of(header: Header, source: &mut dyn Source) -> Saved {
        let scratch = Scratch::new();
        let path = scratch.path("t.trace");
        let mut writer = TraceWriter::create(&path, header).unwrap();
        let processes = source.len().unwrap();
        writer.write(source, 0..processes).unwrap();
        let written = writer.finish().unwrap();
        Saved { trace: Trace::open(&path).unwrap(), scratch, path, written }
    }
}

/// The trace `name` as an earlier release wrote it, with its operations as text, which are checked.
/// These files are never written again.
pub fn golden(name: &str, header: &Header, hash: &str) -> (PathBuf, String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let path = folder.join(format!("{name}.trace"));
    let trace = Trace::open(&path).unwrap();
    assert_eq!(trace.header(), header);
    let hash: Digest = hash.parse().unwrap();
    assert_eq!((trace.hash(), trace.verify().unwrap()), (hash, hash));
    let mut text = Vec::new();
    assert_eq!(export_csv(&trace, &mut text).unwrap(), trace.operations());
    let expected = std::fs::read_to_string(folder.join(format!("{name}.csv"))).unwrap();
    assert_eq!(String::from_utf8(text).unwrap(), expected);
    (path, expected)
}
