//! Workloads that everybody knows, by name.

use crate::script::ScriptSpec;
use crate::spec::{Spec, SpecError, no_files};
use crate::ycsb::{self, Properties, Strictness};
use assay_model::closest;

mod twitter;

use twitter::CLUSTERS;

/// The form that an entry is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpecFormat {
    /// YCSB's properties.
    Properties,
    /// Our own TOML.
    Toml,
}

/// One built-in workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuiltinWorkload {
    /// Its name.
    pub name: &'static str,
    /// What it is, in one line.
    pub description: &'static str,
    /// The form of its text.
    pub form: SpecFormat,
    /// Its text, to be shown, copied, changed.
    pub text: &'static str,
    /// How many records make a first measurement worth looking at.
    pub suggested_records: u64,
    /// How many operations make a first measurement worth looking at.
    pub suggested_operations: u64,
    /// How many sessions of a closed loop it takes, if it is nothing without some.
    pub suggested_sessions: Option<u32>,
}

impl BuiltinWorkload {
    /// The workload itself, exactly as written, if it is one of SQL queries;
    /// [`BuiltinWorkload::spec`] is for others.
    pub fn script(&self) -> Option<ScriptSpec> {
        let is_script = self.form == SpecFormat::Toml && ScriptSpec::is_script(self.text);
        let read = || ScriptSpec::from_toml(self.without_run(), self.name);
        is_script.then(|| read().expect("a test reads every entry"))
    }

    /// The text without what it says of how the workload is run, which comes last.
    fn without_run(&self) -> &'static str {
        self.text.split_once("\n[run]\n").map_or(self.text, |(spec, _)| spec)
    }

    /// The workload itself, exactly as written, without how it is run.
    ///
    /// # Errors
    /// If it is one of SQL queries; see [`BuiltinWorkload::script`].
    pub fn spec(&self) -> Result<Spec, SpecError> {
        match self.form {
            SpecFormat::Toml => Spec::from_toml(self.without_run(), self.name, &no_files),
            SpecFormat::Properties => {
                let properties = Properties::parse(self.text.as_bytes(), self.name)?;
                Ok(ycsb::read(&properties, Strictness::Native, &no_files)?.spec)
            }
        }
    }
}

/// There is no such workload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no built-in workload is called {name:?}{}; it has {}", hint(.suggestion), names())]
pub struct FindError {
    /// The name that was looked for.
    pub name: String,
    /// The name that was most likely meant.
    pub suggestion: Option<&'static str>,
}

fn hint(suggestion: &Option<&'static str>) -> String {
    suggestion.map_or_else(String::new, |name| format!(" (did you mean {name:?}?)"))
}

fn names() -> String {
    let [first, .., last] = &CLUSTERS;
    let names = ENTRIES.map(|entry| entry.name).join(", ");
    format!("{names}, {} to {}", first.name, last.name)
}

/// All workloads.
pub fn all() -> impl Iterator<Item = &'static BuiltinWorkload> {
    let (entries, clusters): (&'static [BuiltinWorkload], &'static [BuiltinWorkload]) =
        (&ENTRIES, &CLUSTERS);
    entries.iter().chain(clusters)
}

/// Names that many workloads begin with, which a list shows in one line, with what they are.
pub const FAMILIES: [(&str, &str); 1] = [(
    "twitter-cluster-",
    "53 production caches of Twitter, after their published table: sizes, mix, popularity",
)];

/// The workload called `name`.
///
/// # Errors
/// If there is none; says which was most likely meant.
pub fn find(name: &str) -> Result<&'static BuiltinWorkload, FindError> {
    all().find(|entry| entry.name == name).ok_or_else(|| FindError {
        name: name.to_owned(),
        suggestion: closest(name, all().map(|entry| entry.name)),
    })
}

const fn ycsb(
    name: &'static str,
    description: &'static str,
    text: &'static str,
) -> BuiltinWorkload {
    BuiltinWorkload {
        name,
        description,
        form: SpecFormat::Properties,
        text,
        suggested_records: 100_000,
        suggested_operations: 1_000_000,
        suggested_sessions: None,
    }
}

/// The article had 100 M large rows or 50 M small ones; a million fit a small machine.
const fn chronicle(
    name: &'static str,
    description: &'static str,
    text: &'static str,
) -> BuiltinWorkload {
    BuiltinWorkload {
        name,
        description,
        form: SpecFormat::Toml,
        text,
        suggested_records: 1_000_000,
        suggested_operations: 10_000_000,
        suggested_sessions: None,
    }
}

/// The sizes of a script are in its text; these count what it loads, and its operations in a
/// minute.
const fn script(
    name: &'static str,
    description: &'static str,
    text: &'static str,
    (suggested_records, suggested_operations): (u64, u64),
) -> BuiltinWorkload {
    BuiltinWorkload {
        name,
        description,
        form: SpecFormat::Toml,
        text,
        suggested_records,
        suggested_operations,
        suggested_sessions: None,
    }
}

/// A workload of queries that is made to be judged; one session alone would show nothing.
const fn judged(
    name: &'static str,
    description: &'static str,
    text: &'static str,
    suggested_records: u64,
) -> BuiltinWorkload {
    let sizes = (suggested_records, 100_000);
    BuiltinWorkload { suggested_sessions: Some(10), ..script(name, description, text, sizes) }
}

/// A few records that are written over and over, to be judged.
const fn register(
    name: &'static str,
    description: &'static str,
    text: &'static str,
) -> BuiltinWorkload {
    BuiltinWorkload {
        name,
        description,
        form: SpecFormat::Toml,
        text,
        suggested_records: 50,
        suggested_operations: 100_000,
        suggested_sessions: Some(16),
    }
}

const ENTRIES: [BuiltinWorkload; 30] = [
    ycsb(
        "ycsb-a",
        "session store: half reads, half updates, some records hotter than others",
        include_str!("builtin/ycsb-a.properties"),
    ),
    ycsb(
        "ycsb-b",
        "photo tags: nearly all reads, one update in twenty",
        include_str!("builtin/ycsb-b.properties"),
    ),
    ycsb("ycsb-c", "profile cache: nothing but reads", include_str!("builtin/ycsb-c.properties")),
    ycsb(
        "ycsb-d",
        "status updates: new records come in, the newest are read most",
        include_str!("builtin/ycsb-d.properties"),
    ),
    ycsb(
        "ycsb-e",
        "conversations: short scans, now and then a new record",
        include_str!("builtin/ycsb-e.properties"),
    ),
    ycsb(
        "ycsb-f",
        "user database: records are read, changed, written back",
        include_str!("builtin/ycsb-f.properties"),
    ),
    chronicle(
        "chronicle-100-50",
        "Chronicle Map's large rows, 10 x 100 B: half reads, half updates",
        include_str!("builtin/chronicle-100-50.toml"),
    ),
    chronicle(
        "chronicle-100-95",
        "Chronicle Map's large rows, 10 x 100 B: one update in twenty",
        include_str!("builtin/chronicle-100-95.toml"),
    ),
    chronicle(
        "chronicle-10-50",
        "Chronicle Map's small rows, 10 x 10 B: half reads, half updates",
        include_str!("builtin/chronicle-10-50.toml"),
    ),
    chronicle(
        "chronicle-10-95",
        "Chronicle Map's small rows, 10 x 10 B: one update in twenty",
        include_str!("builtin/chronicle-10-95.toml"),
    ),
    script(
        "tpcc",
        "TPC-C, a wholesaler: orders, payments, deliveries in transactions over nine tables",
        include_str!("builtin/tpcc.toml"),
        (600_000, 100_000),
    ),
    script(
        "tpcc-benchfoundry",
        "BenchFoundry's variant of TPC-C as its generator writes it, misses included",
        include_str!("builtin/tpcc-benchfoundry.toml"),
        (4_211, 11_400),
    ),
    script(
        "tpcc-benchfoundry-paper",
        "BenchFoundry's variant of TPC-C as its paper describes it",
        include_str!("builtin/tpcc-benchfoundry-paper.toml"),
        (4_211, 1_800),
    ),
    script(
        "tpcc-benchfoundry-corrected",
        "BenchFoundry's variant of TPC-C with reads of rows that exist",
        include_str!("builtin/tpcc-benchfoundry-corrected.toml"),
        (4_211, 1_300),
    ),
    script(
        "consbench",
        "how long old values are read after a write: one writer, many readers for each row",
        include_str!("builtin/consbench.toml"),
        (10, 240_000),
    ),
    script(
        "consbench-repo",
        "consbench as BenchFoundry's generator plans it",
        include_str!("builtin/consbench-repo.toml"),
        (100, 36_000_000),
    ),
    script(
        "fmke",
        "FMKe, the Danish medicine card: prescriptions in lists of patients, pharmacies, staff",
        include_str!("builtin/fmke.toml"),
        (13_350, 100_000),
    ),
    judged(
        "list-append",
        "lists that transactions append to and read, which shows every isolation anomaly",
        include_str!("builtin/list-append.toml"),
        10_000,
    ),
    judged(
        "bank",
        "transfers between accounts, with snapshots whose sum must stay",
        include_str!("builtin/bank.toml"),
        8,
    ),
    judged(
        "long-fork",
        "keys that are written once, with readers of several: do all see one order?",
        include_str!("builtin/long-fork.toml"),
        20_000,
    ),
    judged(
        "write-skew",
        "transactions that read two keys and write one of them",
        include_str!("builtin/write-skew.toml"),
        10_000,
    ),
    judged(
        "lost-update",
        "transactions that read one key and then write it: is an update lost?",
        include_str!("builtin/lost-update.toml"),
        10_000,
    ),
    judged(
        "causal-chain",
        "a write that follows from another one, with readers of both",
        include_str!("builtin/causal-chain.toml"),
        40_000,
    ),
    judged(
        "set",
        "additions to sets, with reads of whole sets, all at the end: is anything lost?",
        include_str!("builtin/set.toml"),
        10_000,
    ),
    judged(
        "counter",
        "additions to counters, with reads of them: is anything lost or counted twice?",
        include_str!("builtin/counter.toml"),
        4,
    ),
    BuiltinWorkload {
        name: "facebook-etc",
        description: "Facebook's memcached pool ETC of 2011: small values with a long tail, 30 : \
                      1",
        form: SpecFormat::Toml,
        text: include_str!("builtin/facebook-etc.toml"),
        suggested_records: 100_000,
        suggested_operations: 1_000_000,
        suggested_sessions: None,
    },
    BuiltinWorkload {
        name: "rocksdb-mixgraph",
        description: "ZippyDB as db_bench's mixgraph models it: values of some dozen bytes",
        form: SpecFormat::Toml,
        text: include_str!("builtin/rocksdb-mixgraph.toml"),
        suggested_records: 100_000,
        suggested_operations: 1_000_000,
        suggested_sessions: None,
    },
    register(
        "register",
        "consistency: few records, read and replaced whole, and new ones, all read at the end",
        include_str!("builtin/register.toml"),
    ),
    register(
        "register-rmw",
        "consistency: few records, each read and then replaced, all read at the end",
        include_str!("builtin/register-rmw.toml"),
    ),
    register(
        "session-roaming",
        "consistency: register, with sessions that ask the next node each time",
        include_str!("builtin/session-roaming.toml"),
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{FieldLength, KeyDistribution};

    #[test]
    fn every_entry_is_a_workload() {
        for entry in all() {
            assert_eq!(find(entry.name), Ok(entry));
            if let Some(script) = entry.script() {
                assert_eq!(script.check().map_err(|error| error.to_string()), Ok(()));
                continue;
            }
            let spec = entry.spec().unwrap_or_else(|error| panic!("{error}"));
            let is_register = entry.suggested_records == 50;
            assert!(spec.dataset.records >= 1000 || is_register, "{}", entry.name);
        }
    }

    #[test]
    fn registers_can_be_judged() {
        for name in ["register", "register-rmw", "session-roaming"] {
            let spec = find(name).expect("it is there").spec().expect("it is fine");
            // One field of 13 bytes or more: each write carries a version, and replaces all.
            assert_eq!(spec.dataset.fields, 1, "{name}");
            assert!(matches!(spec.dataset.field_length, FieldLength::Constant(13..)), "{name}");
        }
    }

    #[test]
    fn a_cluster_of_twitter_has_the_sizes_of_the_table() {
        let spec = find("twitter-cluster-4").unwrap().spec().unwrap();
        assert_eq!(spec.dataset.field_length, FieldLength::Constant(2439));
        assert_eq!(spec.dataset.key_length, Some(FieldLength::Constant(67)));
        assert_eq!((spec.operations.read, spec.keys.theta), (0.93, Some(1.1004)));
        // Sets to new keys, 3.77 % compulsory misses, beside those to old ones.
        assert!((spec.operations.update + spec.operations.insert - 0.07).abs() < 1e-9);
        let unskewed = find("twitter-cluster-10").unwrap().spec().unwrap();
        assert_eq!(unskewed.keys.distribution, KeyDistribution::Uniform);
        let clusters = all().filter(|entry| entry.name.starts_with("twitter-cluster-"));
        assert_eq!(clusters.filter(|entry| entry.text.contains("CC BY 4.0")).count(), 53);
    }

    #[test]
    fn weights_equal_those_of_ycsbs_own_files() {
        let weights = |name: &str| {
            let operations = find(name).unwrap().spec().unwrap().operations;
            [
                operations.read,
                operations.update,
                operations.insert,
                operations.scan,
                operations.read_modify_write,
            ]
        };
        assert_eq!(weights("ycsb-a"), [0.5, 0.5, 0.0, 0.0, 0.0]);
        assert_eq!(weights("ycsb-b"), [0.95, 0.05, 0.0, 0.0, 0.0]);
        assert_eq!(weights("ycsb-c"), [1.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(weights("ycsb-d"), [0.95, 0.0, 0.05, 0.0, 0.0]);
        assert_eq!(weights("ycsb-e"), [0.0, 0.0, 0.05, 0.95, 0.0]);
        assert_eq!(weights("ycsb-f"), [0.5, 0.0, 0.0, 0.0, 0.5]);
    }

    #[test]
    fn an_unknown_name_gets_a_suggestion_with_the_list() {
        let error = find("ycbs-a").unwrap_err();
        assert_eq!(error.suggestion, Some("ycsb-a"));
        let expected = "no built-in workload is called \"ycbs-a\" (did you mean \"ycsb-a\"?); it \
             has";
        assert!(error.to_string().starts_with(expected), "{error}");
    }
}
