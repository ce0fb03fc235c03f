//! A manifest comes back as it was written.

use super::*;
use crate::samples::tempdir;

fn full() -> Manifest {
    Manifest {
        state: State::Interrupted,
        reason: Some("Ctrl-C".to_owned()),
        spec: SpecSection {
            name: "ycsb-a".to_owned(),
            seed: u64::MAX,
            trace_hash: "00ff".to_owned(),
            text: "recordcount = 1000\n# it's \"quoted\" '''\n".to_owned(),
        },
        store: StoreSection {
            settings: vec![SettingSection {
                name: "appendfsync".to_owned(),
                value: "everysec".to_owned(),
                meaning: "a crash loses a second".to_owned(),
            }],
            capabilities: BTreeMap::from([("scan".to_owned(), "true".to_owned())]),
            ..StoreSection::default()
        },
        counters: Counters { offered: 4, done: 1, refused: 1, unknown: 1, dropped: 1 },
        phases: vec![PhaseSection { name: "load".to_owned(), from_ns: 0, to_ns: 9 }],
        notes: vec!["a remark".to_owned()],
        ..Manifest::default()
    }
}

#[test]
fn everything_comes_back() {
    let dir = tempdir("manifest");
    full().write(&dir).unwrap();
    assert_eq!(Manifest::read(&dir).unwrap(), full());
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 2, "no temporary file stays");
}

#[test]
fn a_manifest_that_was_edited_after_the_end_is_known() {
    let dir = tempdir("edited-manifest");
    let running = Manifest { state: State::Running, ..full() };
    running.write(&dir).unwrap();
    assert!(Manifest::is_as_written(&dir), "nobody knows yet what the end will be");
    for _ in 0..2 {
        full().write(&dir).unwrap();
        assert!(Manifest::is_as_written(&dir));
    }
    let path = place::manifest(&dir);
    let text = std::fs::read_to_string(&path).unwrap().replace("everysec", "always");
    std::fs::write(&path, text).unwrap();
    assert!(!Manifest::is_as_written(&dir));
    full().write(&dir).unwrap();
    assert!(Manifest::is_as_written(&dir));
}

#[test]
fn unknown_keys_and_absent_sections_are_tolerated() {
    let dir = tempdir("manifest-unknown");
    let text = "format = 1\nstate = \"finished\"\ncolour = \"red\"\n[spec]\nseed = 7\nmood = 1\n";
    std::fs::write(place::manifest(&dir), text).unwrap();
    let manifest = Manifest::read(&dir).unwrap();
    assert_eq!((manifest.state, manifest.spec.seed), (State::Finished, 7));
}

#[test]
fn a_newer_manifest_is_named_even_if_it_looks_different() {
    let dir = tempdir("manifest-newer");
    std::fs::write(place::manifest(&dir), "format = 2\nstate = [\"paused\"]\n").unwrap();
    let error = Manifest::read(&dir).unwrap_err();
    assert!(matches!(error, ManifestError::Newer { found: 2, .. }), "{error}");
}

#[test]
fn a_garbled_manifest_is_named_with_its_line() {
    let dir = tempdir("manifest-garbled");
    std::fs::write(place::manifest(&dir), "format = 1\nstate = \"asleep\"\n").unwrap();
    let error = Manifest::read(&dir).unwrap_err().to_string();
    assert!(error.contains("run.toml") && error.contains("line 2"), "{error}");
}
