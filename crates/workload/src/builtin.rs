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

/// How large a first measurement is: records, operations, sessions of a closed loop.
type Sizes = (u64, u64, Option<u32>);

const USUAL: Sizes = (100_000, 1_000_000, None);
/// The article had 100 M large rows or 50 M small ones; a million fit a small machine.
const CHRONICLE: Sizes = (1_000_000, 10_000_000, None);
/// A few records that are written over and over, to be judged.
const REGISTER: Sizes = (50, 100_000, Some(16));

/// The sizes of a script are in its text; these count what it loads, and its operations in a
/// minute.
const fn script(records: u64, operations: u64) -> Sizes {
    (records, operations, None)
}

/// A workload of queries that is made to be judged; one session alone would show nothing.
const fn judged(records: u64) -> Sizes {
    (records, 100_000, Some(10))
}

/// Declares workloads, whose texts lie in `builtin/` under their names: the form of the texts with
/// the ending of their files, then for each its name, the sizes, what it is.
macro_rules! builtin {
    ($($form:ident $ending:literal { $($name:literal, $sizes:expr, $description:literal;)* })*) => {
        [$($({
            let (suggested_records, suggested_operations, suggested_sessions) = $sizes;
            BuiltinWorkload {
                name: $name,
                description: $description,
                form: SpecFormat::$form,
                text: include_str!(concat!("builtin/", $name, ".", $ending)),
                suggested_records,
                suggested_operations,
                suggested_sessions,
            }
        },)*)*]
    };
}

const ENTRIES: [BuiltinWorkload; 30] = builtin! {
    Properties "properties" {
        "ycsb-a", USUAL, "session store: half reads, half updates, some records hotter than others";
        "ycsb-b", USUAL, "photo tags: nearly all reads, one update in twenty";
        "ycsb-c", USUAL, "profile cache: nothing but reads";
        "ycsb-d", USUAL, "status updates: new records come in, the newest are read most";
        "ycsb-e", USUAL, "conversations: short scans, now and then a new record";
        "ycsb-f", USUAL, "user database: records are read, changed, written back";
    }
    Toml "toml" {
        "chronicle-100-50", CHRONICLE,
            "Chronicle Map's large rows, 10 x 100 B: half reads, half updates";
        "chronicle-100-95", CHRONICLE,
            "Chronicle Map's large rows, 10 x 100 B: one update in twenty";
        "chronicle-10-50", CHRONICLE,
            "Chronicle Map's small rows, 10 x 10 B: half reads, half updates";
        "chronicle-10-95", CHRONICLE, "Chronicle Map's small rows, 10 x 10 B: one update in twenty";
        "tpcc", script(600_000, 100_000),
            "TPC-C, a wholesaler: orders, payments, deliveries in transactions over nine tables";
        "tpcc-benchfoundry", script(4_211, 11_400),
            "BenchFoundry's variant of TPC-C as its generator writes it, misses included";
        "tpcc-benchfoundry-paper", script(4_211, 1_800),
            "BenchFoundry's variant of TPC-C as its paper describes it";
        "tpcc-benchfoundry-corrected", script(4_211, 1_300),
            "BenchFoundry's variant of TPC-C with reads of rows that exist";
        "consbench", script(10, 240_000),
            "how long old values are read after a write: one writer, many readers for each row";
        "consbench-repo", script(100, 36_000_000), "consbench as BenchFoundry's generator plans it";
        "fmke", script(13_350, 100_000),
            "FMKe, the Danish medicine card: prescriptions in lists of patients, pharmacies, staff";
        "list-append", judged(10_000),
            "lists that transactions append to and read, which shows every isolation anomaly";
        "bank", judged(8), "transfers between accounts, with snapshots whose sum must stay";
        "long-fork", judged(20_000),
            "keys that are written once, with readers of several: do all see one order?";
        "write-skew", judged(10_000), "transactions that read two keys and write one of them";
        "lost-update", judged(10_000),
            "transactions that read one key and then write it: is an update lost?";
        "causal-chain", judged(40_000),
            "a write that follows from another one, with readers of both";
        "set", judged(10_000),
            "additions to sets, with reads of whole sets, all at the end: is anything lost?";
        "counter", judged(4),
            "additions to counters, with reads of them: is anything lost or counted twice?";
        "facebook-etc", USUAL,
            "Facebook's memcached pool ETC of 2011: small values with a long tail, 30 : 1";
        "rocksdb-mixgraph", USUAL,
            "ZippyDB as db_bench's mixgraph models it: values of some dozen bytes";
        "register", REGISTER,
            "consistency: few records, read and replaced whole, and new ones, all read at the end";
        "register-rmw", REGISTER,
            "consistency: few records, each read and then replaced, all read at the end";
        "session-roaming", REGISTER,
            "consistency: register, with sessions that ask the next node each time";
    }
};

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
            operations.weights().map(|(_, weight)| weight)
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
