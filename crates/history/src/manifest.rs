//! Manifest of a run, as `run.toml`: everything that is needed to reproduce it.
//!
//! Unknown keys are skipped when reading, absent ones take their defaults, so that releases can
//! read each other's manifests within one format version.

mod earlier;
mod load;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::io::Write;
use std::path::{Path, PathBuf};

use assay_model::{Setting, named_enum};
use serde::{Deserialize, Serialize};

use crate::part::publish;
use crate::place;
use crate::table;

pub use load::{
    ExecutionSection, HeldStretch, LoadPhase, LoadSection, LoadSettings, RateChangeSection,
    Spinning, TuneStepSection,
};

/// The version of the manifest format that this crate writes.
pub const VERSION: u32 = 1;

/// The whole of `run.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Manifest {
    /// Version of this format.
    pub format: u32,
    /// How far the run came.
    pub state: State,
    /// Why it is interrupted or failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The run itself.
    pub run: RunSection,
    /// The workload.
    pub spec: SpecSection,
    /// The load.
    pub load: LoadSection,
    /// What became of it.
    pub execution: ExecutionSection,
    /// What was examined.
    pub store: StoreSection,
    /// The client machine.
    pub machine: MachineSection,
    /// What a reader of the history needs to know.
    pub history: HistorySection,
    /// How many operations ended in which way.
    pub counters: OperationCounts,
    /// What the instrument itself needs, if that was measured before the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor: Option<FloorSection>,
    /// Changed thresholds of the hallmark, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub hallmark: BTreeMap<String, f64>,
    /// The parts of the run in time.
    pub phases: Vec<PhaseSection>,
    /// Remarks that belong beside the figures.
    pub notes: Vec<String>,
    /// What must hold of the store's rows after the run, with what was found.
    pub findings: Vec<FindingSection>,
    /// The agents of a fleet, or the one whose share of a run this is; none if one process has
    /// issued everything.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentSection>,
    /// What the coordinator of a fleet has done itself; none if this is no fleet's run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coordinator: Option<CoordinatorSection>,
}

named_enum! {
    /// How far a run came.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum State {
        /// It goes on, or its process was killed.
        #[default]
        Running => "running",
        /// It came to its planned end.
        Finished => "finished",
        /// It was stopped before, by a person or a kill; its records can be analyzed.
        Interrupted => "interrupted",
        /// Something of ours or the machine's went wrong.
        Failed => "failed",
    }
}

/// The run itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunSection {
    /// A name that no other run has.
    pub id: String,
    /// The command line, word by word, secrets redacted.
    pub command: Vec<String>,
    /// The version of Assay.
    pub assay: String,
    /// When it began, as text with a time zone.
    pub started: String,
    /// When it ended; empty while it goes on.
    pub ended: String,
}

/// The workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SpecSection {
    /// Its name, for example `ycsb-a`.
    pub name: String,
    /// The seed; numbers that TOML cannot hold are written as text.
    #[serde(with = "wide")]
    pub seed: u64,
    /// The hash of the trace, in hexadecimal digits.
    pub trace_hash: String,
    /// The spec's own text, complete.
    pub text: String,
}

/// What was examined.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoreSection {
    /// Its URL without secrets.
    pub url: String,
    /// Its kind, for example `redis`.
    pub name: String,
    /// Its version as it tells it.
    pub version: String,
    /// What the analysis has to know of its client.
    pub capabilities: CapabilitiesSection,
    /// Its effective settings.
    pub settings: Vec<SettingSection>,
}

/// What the analysis has to know of a store's client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CapabilitiesSection {
    /// Whether it answers without doing anything.
    pub no_op: bool,
    /// How its calls come back; absent if nobody has said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<CallForm>,
    /// Whether what is written survives the process.
    pub persistent: bool,
    /// Whether an update of some fields keeps the others.
    pub keeps_other_fields: bool,
    /// The isolation of its transactions; `none` without them, absent if nobody has said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<String>,
    /// What its library sends again by itself; `none` if it sends nothing twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden_retries: Option<String>,
}

impl CapabilitiesSection {
    /// Each name in the file with its value as text, empty if it is absent.
    pub fn named(&self) -> [(&'static str, String); 6] {
        [
            ("no_op", self.no_op.to_string()),
            ("calls", self.calls.map_or("", CallForm::name).to_owned()),
            ("persistent", self.persistent.to_string()),
            ("keeps_other_fields", self.keeps_other_fields.to_string()),
            ("isolation", self.isolation.clone().unwrap_or_default()),
            ("hidden_retries", self.hidden_retries.clone().unwrap_or_default()),
        ]
    }
}

named_enum! {
    /// How calls of a client come back.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum CallForm {
        /// At once, in the process.
        Inline => "inline",
        /// They keep their thread until then.
        Blocking => "blocking",
        /// Later, over a connection that takes others meanwhile.
        Pipelined => "pipelined",
    }
}

/// One effective setting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SettingSection {
    /// The store's own name for it.
    pub name: String,
    /// Its value.
    pub value: String,
    /// What it means for the figures.
    pub meaning: String,
}

impl From<Setting> for SettingSection {
    fn from(Setting { name, value, meaning }: Setting) -> SettingSection {
        SettingSection { name, value, meaning }
    }
}

impl From<SettingSection> for Setting {
    fn from(SettingSection { name, value, meaning }: SettingSection) -> Setting {
        Setting { name, value, meaning }
    }
}

/// One rule about the store's rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FindingSection {
    /// What it is called.
    pub name: String,
    /// What must hold.
    pub rule: String,
    /// `held` or `violated`.
    pub verdict: String,
    /// Where, with both sides if it does not hold.
    pub text: String,
}

/// The client machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MachineSection {
    /// Operating system and kernel.
    pub system: String,
    /// The model of its processor.
    pub processor: String,
    /// Processors that we could use.
    pub cores: u32,
    /// Its memory.
    pub memory_bytes: u64,
    /// Anything else worth knowing, by name, for example `governor`.
    pub facts: BTreeMap<String, String>,
}

/// What a reader of the history needs to know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HistorySection {
    /// The number of this agent.
    pub agent: u32,
    /// The most operations of one process: index = process × width + place.
    pub width: u64,
    /// The names of the transaction types, by number.
    pub transaction_types: Vec<String>,
    /// The names of the queries; a record's `statement` is the place here plus one. Empty if
    /// records were accessed by key.
    pub queries: Vec<String>,
    /// The names of the store's nodes; a record's `node` is the place here plus one. Empty if no
    /// operation says which node answered it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// How keys are made from record numbers.
    pub key_shape: String,
    /// Records that were kept.
    pub records: u64,
    /// The checksum over the written records, in hexadecimal digits; empty if unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sum: String,
    /// Records that were lost, because the disk failed.
    pub lost: u64,
    /// How often a worker waited for the disk.
    pub stalls: u64,
}

/// How many operations ended in which way: offered = done + refused + unknown + dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OperationCounts {
    /// Operations whose time came.
    pub offered: u64,
    /// Answered.
    pub done: u64,
    /// Certainly did not happen.
    pub refused: u64,
    /// The outcome is unknown.
    pub unknown: u64,
    /// Never left us.
    pub dropped: u64,
}

/// The same operations and load against the null store, for a short time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FloorSection {
    /// How long.
    pub duration_ns: u64,
    /// How many operations entered its figures.
    pub operations: u64,
    /// Arrivals per second; absent in a closed loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<f64>,
    /// Its response times by percentile, for example `p99`; those that enough operations tell.
    pub response_ns: BTreeMap<String, u64>,
    /// Its service times, likewise.
    pub service_ns: BTreeMap<String, u64>,
}

/// One agent of a fleet: its share of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentSection {
    /// Its number, from 0.
    pub agent: u32,
    /// How many agents the run has.
    pub agents: u32,
    /// Its machine's name.
    pub host: String,
    /// Processors that it could use.
    pub cores: u32,
    /// Its workers.
    #[serde(rename = "threads")]
    pub workers: u32,
    /// Workers of the agents before it.
    pub first_worker: u32,
    /// How many of its operations ended in which way.
    pub counters: OperationCounts,
    /// Records that it kept.
    pub records: u64,
    /// The checksum over them, in hexadecimal digits.
    pub sum: String,
    /// The sum of the fingerprints of its operations, in hexadecimal digits.
    pub fingerprint: String,
    /// The hash of what it executed, in hexadecimal digits.
    pub executed_hash: String,
    /// The numbers that its records have used, if there are to be final reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<UsedSection>,
    /// Its epoch was at least so much later than that of the run, in nanoseconds; less than zero
    /// is earlier. Absent if its clock was not probed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_least_ns: Option<i64>,
    /// Its epoch was at most so much later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_most_ns: Option<i64>,
}

/// The numbers that records have used: each from 0 to before this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UsedSection {
    /// Of operations.
    pub indexes: u64,
    /// Of processes.
    pub processes: u64,
    /// Of records that were inserted.
    pub inserted: u64,
}

/// The part of a fleet's coordinator, which issues none of the operations: it acts on the store
/// during the run, and reads it when the run is over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CoordinatorSection {
    /// The number under which its records are kept: the first that no agent has.
    pub part: u32,
    /// Its machine's name.
    pub host: String,
    /// Records that it kept: those of the final reads.
    pub records: u64,
    /// The checksum over them, in hexadecimal digits.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sum: String,
}

/// One part of a run in time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PhaseSection {
    /// The phase's name.
    pub name: String,
    /// When it began, in nanoseconds on the run's time axis.
    pub from_ns: u64,
    /// When it ended, likewise.
    pub to_ns: u64,
}

impl Default for Manifest {
    fn default() -> Manifest {
        Manifest {
            format: VERSION,
            state: State::Running,
            reason: None,
            run: RunSection::default(),
            spec: SpecSection::default(),
            load: LoadSection::default(),
            execution: ExecutionSection::default(),
            store: StoreSection::default(),
            machine: MachineSection::default(),
            history: HistorySection::default(),
            counters: OperationCounts::default(),
            floor: None,
            hallmark: BTreeMap::new(),
            phases: Vec::new(),
            notes: Vec::new(),
            findings: Vec::new(),
            agents: Vec::new(),
            coordinator: None,
        }
    }
}

/// `run.toml` could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// It is not there or cannot be read.
    #[error("cannot read {path}: {source}; name the directory of a run")]
    Read {
        /// The manifest.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is no manifest.
    #[error("{path} is not a manifest: {source}")]
    Parse {
        /// The manifest.
        path: PathBuf,
        /// What is wrong, with the line.
        source: Box<toml::de::Error>,
    },
    /// It was written by a later release.
    #[error("{path} has format {found}, newer than {VERSION}; use the release that wrote it")]
    Newer {
        /// The manifest.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// It cannot be turned into text.
    #[error("cannot turn the manifest into text: {source}")]
    Format {
        /// What is wrong.
        source: Box<toml::ser::Error>,
    },
    /// It cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The manifest.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Manifest {
    /// Reads `run.toml` of the run directory `dir`.
    ///
    /// # Errors
    /// If it is absent, is no manifest, or is of a newer format.
    pub fn read(dir: &Path) -> Result<Manifest, ManifestError> {
        let path = place::manifest(dir);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(source) => return Err(ManifestError::Read { path, source }),
        };
        // The format comes first: a newer manifest may not parse as ours.
        let found = match toml::from_str::<OnlyFormat>(&text) {
            Ok(only) => only.format,
            Err(error) => return Err(ManifestError::Parse { path, source: Box::new(error) }),
        };
        if found > VERSION {
            return Err(ManifestError::Newer { path, found });
        }
        parse(&text).map_err(|error| ManifestError::Parse { path, source: Box::new(error) })
    }

    /// Writes `run.toml` of the run directory `dir`; a reader sees the old one or the new one,
    /// whole.
    ///
    /// # Errors
    /// If the disk does not take it; an earlier manifest then stays.
    pub fn write(&self, dir: &Path) -> Result<(), ManifestError> {
        let path = place::manifest(dir);
        let text = toml::to_string_pretty(self)
            .map_err(|error| ManifestError::Format { source: Box::new(error) })?;
        let temporary = crate::part::temporary(&path);
        let replaced = match self.state {
            State::Running => replace(&temporary, &path, text.as_bytes()),
            // From now on nobody changes it unseen.
            _ => put(&temporary, text.as_bytes())
                .and_then(|()| table::publish_listed(&temporary, &path)),
        };
        if replaced.is_err() {
            let _ = std::fs::remove_file(&temporary);
        }
        replaced.map_err(|source| ManifestError::Write { path, source })
    }

    /// Whether more than one clock has timed the records.
    pub fn has_several_clocks(&self) -> bool {
        self.agents.len() > 1 || self.coordinator.as_ref().is_some_and(|own| own.records > 0)
    }

    /// Whether `run.toml` of the run directory `dir` is as the end of its run has left it; true of
    /// earlier releases, which did not note it.
    pub fn is_as_written(dir: &Path) -> bool {
        table::check_listed(&place::manifest(dir)).is_ok()
    }

    /// What the parts of the history repeat, so that each can be understood by itself.
    pub fn facts(&self) -> Vec<(String, String)> {
        let facts = [
            ("assay.run.id", self.run.id.clone()),
            ("assay.version", self.run.assay.clone()),
            ("assay.started", self.run.started.clone()),
            ("assay.spec", self.spec.name.clone()),
            ("assay.seed", self.spec.seed.to_string()),
            ("assay.trace_hash", self.spec.trace_hash.clone()),
            ("assay.width", self.history.width.to_string()),
            ("assay.transaction_types", self.history.transaction_types.join(",")),
            ("assay.queries", self.history.queries.join(",")),
            ("assay.nodes", self.history.nodes.join(",")),
            ("assay.key_shape", self.history.key_shape.clone()),
            (PHASES_KEY, self.phases_text()),
        ];
        facts.map(|(key, value)| (key.to_owned(), value)).into()
    }

    /// The phases as the parts repeat them: `warm-up 0..5, measure 5..20`; empty before a run ends.
    pub fn phases_text(&self) -> String {
        let text =
            |phase: &PhaseSection| format!("{} {}..{}", phase.name, phase.from_ns, phase.to_ns);
        self.phases.iter().map(text).collect::<Vec<_>>().join(", ")
    }
}

/// The fact that tells the phases.
pub const PHASES_KEY: &str = "assay.phases";

#[derive(Deserialize)]
struct OnlyFormat {
    format: u32,
}

fn parse(text: &str) -> Result<Manifest, toml::de::Error> {
    let written: toml::Table = toml::from_str(text)?;
    let mut current = written.clone();
    earlier::upgrade(&mut current);
    // Only the text itself tells in which line an error is.
    if current == written { toml::from_str(text) } else { current.try_into() }
}

/// Puts `bytes` into the place of `path`, whole or not at all.
pub(crate) fn replace(temporary: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    put(temporary, bytes)?;
    publish(temporary, path)
}

/// Writes `bytes` into the file at `path`, down to the disk.
fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Numbers that TOML's signed integers cannot hold are written as text.
mod wide {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Wide {
        Number(u64),
        Text(String),
    }

    pub(super) fn serialize<S: Serializer>(value: &u64, into: S) -> Result<S::Ok, S::Error> {
        match i64::try_from(*value) {
            Ok(small) => into.serialize_i64(small),
            Err(_) => into.serialize_str(&value.to_string()),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        match Wide::deserialize(from)? {
            Wide::Number(number) => Ok(number),
            Wide::Text(text) => text.parse().map_err(D::Error::custom),
        }
    }

    /// The same of a number that may be absent.
    pub(super) mod optional {
        use serde::{Deserializer, Serializer};

        pub(crate) fn serialize<S: Serializer>(
            value: &Option<u64>,
            into: S,
        ) -> Result<S::Ok, S::Error> {
            match value {
                Some(value) => super::serialize(value, into),
                None => into.serialize_none(),
            }
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
            from: D,
        ) -> Result<Option<u64>, D::Error> {
            super::deserialize(from).map(Some)
        }
    }
}

#[cfg(test)]
mod tests;
