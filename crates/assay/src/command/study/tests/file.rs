//! Tests of study files with the settings of this program.

use std::path::Path;

use assay_study::anomalies;
use assay_study::file::{DECIDED, StudyFile};

use crate::command::study::program::command_line;
use crate::options::KEYS;

const SMALL: &str = "workloads = [\"ycsb-a\"]\n[[store]]\nname = \"m\"\nurl = \"memory:\"\n";

fn read(text: &str) -> Result<StudyFile, String> {
    StudyFile::parse(text, Path::new("s.toml"), &command_line()).map_err(|error| error.to_string())
}

#[test]
fn a_small_study_needs_four_lines() {
    let file = read(SMALL).unwrap();
    assert_eq!((file.repetitions, file.stores.len(), file.fill.closed), (1, 1, 16));
    assert_eq!(file.name_of(Path::new("studies/kvbench.toml")), "kvbench");
    let named = read(&format!("name = \"x\"\nrecords = \"100k\"\n{SMALL}")).unwrap();
    assert_eq!((named.name_of(Path::new("y.toml")).as_str(), named.records), ("x", Some(100_000)));
}

#[test]
fn what_is_invalid_says_why() {
    for (text, part) in [
        (format!("repetition = 3\n{SMALL}"), "s.toml:1: unknown key \"repetition\"; did you mean"),
        (format!("repetitions = 0\n{SMALL}"), "repetitions = 0: nothing would be issued"),
        (format!("records = \"many\"\n{SMALL}"), "\"many\" is no whole number"),
        ("workloads = [\"a\"]\nstore = []\n".to_owned(), "no store"),
        (SMALL.replace("\"ycsb-a\"", ""), "no workload"),
        (SMALL.replace("url", "urls"), "unknown key \"urls\"; did you mean \"url\"?"),
        (format!("{SMALL}up = \"etcd\"\n"), "say either up"),
        (format!("{SMALL}nodes = [3]\n"), "nodes is for stores that are started here"),
        (format!("{SMALL}[[load]]\n"), "say either closed"),
        (format!("{SMALL}[[load]]\nrate = [\"1k/s\"]\n"), "a rate needs a duration"),
        (format!("{SMALL}[[load]]\nclosed = [0]\n"), "issues nothing"),
        (format!("{SMALL}[run]\ntimout = \"1s\"\n"), "did you mean timeout?"),
        (format!("{SMALL}[run]\nseed = 3\n"), "seed is not for settings"),
        (format!("{SMALL}[run]\nforce = \"yes\"\n"), "force is a switch: write force = true"),
        (format!("{SMALL}[run]\ntimeout = \"\"\n"), "timeout is empty"),
        (format!("{SMALL}[fill]\nwhen = \"each\"\n"), "unknown value \"each\""),
    ] {
        let reported = read(&text).unwrap_err();
        assert!(reported.contains(part), "{text}: {reported}");
    }
}

#[test]
fn what_a_study_decides_are_settings_that_exist() {
    for name in DECIDED.into_iter().chain(anomalies::file::DECIDED) {
        assert!(KEYS.iter().any(|key| key.name == name), "{name}");
    }
}

#[test]
fn the_studies_that_come_along_can_be_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    for (name, stores) in [("kvbench.toml", 3), ("chronicle.toml", 7), ("fmke.toml", 2)] {
        let file = StudyFile::read(&folder.join(name), &command_line()).unwrap();
        assert_eq!((file.stores.len(), file.repetitions), (stores, 3), "{name}");
    }
}

#[test]
fn what_is_kept_of_a_file_says_the_same_without_secrets() {
    let text = "# url = \"redis://me:old@h\"\n".to_owned()
        + "workloads = [\"ycsb-a\"]\n[run]\ntimeout = \"1s\"\n[[load]]\nclosed = [2]\n"
        + "[[store]]\nname = \"r\"\nurl = \"redis://me:s3\\u0063ret@h?password=s3cret\"\n"
        + "[[store]]\nname = \"e\"\nup = \"etcd\"\noption = { password = \"s3cret\" }\n\
           url-options = \"token=s3cret&a=1\"\nrun = { workers = 1 }\n\
           skip = [{ nodes = 3, reason = \"slow\" }]\n";
    let file = read(&text).unwrap();
    let kept =
        toml::to_string(&toml::Table::try_from(file.without_secrets(&command_line())).unwrap());
    let kept = kept.unwrap();
    assert!(!kept.contains("s3cret") && !kept.contains("old"), "{kept}");
    let again = read(&kept).unwrap();
    assert_eq!((again.load, again.run), (file.load, file.run));
    assert_eq!(again.stores[1].skip, file.stores[1].skip);
    assert_eq!(again.stores[1].url_options.as_deref(), Some("token=…&a=1"));
}

#[test]
fn secrets_are_hidden_everywhere() {
    for (flag, value, expected) in [
        ("target", "redis://bob:x=y@host/0?password=z&a=1", "redis://…@host/0?password=…&a=1"),
        ("url-options", "a=1&password=z", "a=1&password=…"),
        ("option", "password=z", "password=…"),
        ("timeout", "3s", "3s"),
    ] {
        assert_eq!(command_line().display(flag, value), expected, "{flag}");
    }
}
