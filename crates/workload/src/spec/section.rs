//! The sections of a specification with their keys.

use assay_model::named_enum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::length::FieldLength;
use super::number;
use super::think::ThinkTime;

/// The number of transactions by which an insert is older than a read that may meet it.
const VISIBLE_AFTER: u64 = 1024;

/// A workload: the records, the operations on them, the keys those are about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// The records that a load writes.
    pub dataset: DatasetSection,
    /// The operations of a run.
    pub operations: OperationsSection,
    /// How many transactions one client issues.
    #[serde(skip_serializing_if = "ProcessSection::is_default")]
    pub process: ProcessSection,
    /// What sessions do.
    #[serde(skip_serializing_if = "SessionsSection::is_default")]
    pub sessions: SessionsSection,
    /// The records that it accesses.
    pub keys: KeysSection,
    /// How long its scans are.
    pub scan: ScanSection,
}

/// The records that a load writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DatasetSection {
    /// How many records the whole data set has; below 2^63. YCSB: `recordcount`.
    #[serde(with = "number::Whole")]
    pub records: u64,
    /// The number of the first record of this share. YCSB: `insertstart`.
    #[serde(with = "number::Whole")]
    pub first: u64,
    /// How many records this share has; all from `first` on if left out. YCSB: `insertcount`.
    #[serde(with = "number::Whole", skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The name of the table. YCSB: `table`.
    pub table: String,
    /// How many fields a record has. YCSB: `fieldcount`.
    #[serde(with = "number::Whole")]
    pub fields: u64,
    /// Fields are named by this with their number. YCSB: `fieldnameprefix`.
    pub field_prefix: String,
    /// The length of each field in bytes. YCSB: `fieldlength` with its companions.
    pub field_length: FieldLength,
    /// What each key begins with. YCSB: always `user`.
    pub key_prefix: String,
    /// Whether the number in a key is hashed. YCSB: `insertorder`.
    pub key_order: KeyOrder,
    /// The least number of digits in a key. YCSB: `zeropadding`.
    #[serde(with = "number::Whole")]
    pub key_digits: u64,
    /// The length of each key in bytes, instead of `key_digits`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_length: Option<FieldLength>,
    /// Whether values follow from key with field, so that reads are checked. YCSB: `dataintegrity`.
    pub integrity: bool,
    /// The seed of the values, if it is not that of the run.
    #[serde(with = "number::Whole", skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The hash of the trace that a load writes, beside the trace whose spec this is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preload: Option<String>,
}

impl Default for DatasetSection {
    fn default() -> DatasetSection {
        DatasetSection {
            records: 0,
            first: 0,
            count: None,
            table: "usertable".to_owned(),
            fields: 10,
            field_prefix: "field".to_owned(),
            field_length: FieldLength::Constant(100),
            key_prefix: "user".to_owned(),
            key_order: KeyOrder::Hashed,
            key_digits: 1,
            key_length: None,
            integrity: false,
            seed: None,
            preload: None,
        }
    }
}

impl DatasetSection {
    /// How many records this share has.
    pub fn share(&self) -> u64 {
        self.count.unwrap_or(self.records.saturating_sub(self.first))
    }

    /// Whether only a trace has the lengths of values or keys, so that nothing else can be run.
    pub fn is_recorded(&self) -> bool {
        self.field_length == FieldLength::Recorded || self.key_order == KeyOrder::Recorded
    }
}

named_enum! {
    /// Whether the number in a key is hashed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum KeyOrder {
        /// Neighbouring records are far apart in the store.
        Hashed => "hashed",
        /// Keys count up as records do, if `key_digits` makes them equally long.
        Ordered => "ordered",
        /// The number says how long the key is, as in an imported trace.
        Recorded => "recorded",
    }
}

/// The operations of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OperationsSection {
    /// How many transactions; without end if left out. YCSB: `operationcount`.
    #[serde(with = "number::Whole", skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The weight of reads.
    #[serde(with = "number::Share")]
    pub read: f64,
    /// The weight of updates.
    #[serde(with = "number::Share")]
    pub update: f64,
    /// The weight of inserts.
    #[serde(with = "number::Share")]
    pub insert: f64,
    /// The weight of scans.
    #[serde(with = "number::Share")]
    pub scan: f64,
    /// The weight of reads that are followed by an update of the same record.
    #[serde(with = "number::Share")]
    pub read_modify_write: f64,
    /// Which fields reads return. YCSB: `readallfields`, `readallfieldsbyname`.
    pub read_fields: ReadFields,
    /// Which fields updates write. YCSB: `writeallfields`.
    pub write_fields: WriteFields,
}

impl OperationsSection {
    /// The proportions with their keys.
    pub(crate) fn weights(&self) -> [(&'static str, f64); 5] {
        [
            ("operations.read", self.read),
            ("operations.update", self.update),
            ("operations.insert", self.insert),
            ("operations.scan", self.scan),
            ("operations.read_modify_write", self.read_modify_write),
        ]
    }
}

impl Default for OperationsSection {
    fn default() -> OperationsSection {
        OperationsSection {
            count: None,
            read: 0.0,
            update: 0.0,
            insert: 0.0,
            scan: 0.0,
            read_modify_write: 0.0,
            read_fields: ReadFields::All,
            write_fields: WriteFields::One,
        }
    }
}

/// How much one client issues, one transaction after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProcessSection {
    /// How many transactions a process has. YCSB: always 1.
    #[serde(with = "number::Whole")]
    pub transactions: u64,
    /// How long it thinks before each of them but the first.
    pub think: ThinkTime,
}

impl Default for ProcessSection {
    fn default() -> ProcessSection {
        ProcessSection { transactions: 1, think: ThinkTime::No }
    }
}

impl ProcessSection {
    /// A specification that says nothing of processes is written as it always was, so that kept
    /// traces keep their hashes.
    fn is_default(&self) -> bool {
        *self == ProcessSection::default()
    }
}

/// What sessions do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SessionsSection {
    /// Whether each request goes to the next of the store's nodes, whichever session it is of,
    /// where nodes can be chosen.
    pub roam: bool,
}

impl SessionsSection {
    /// A specification that says nothing of sessions is written as it always was, so that kept
    /// traces keep their hashes.
    fn is_default(&self) -> bool {
        *self == SessionsSection::default()
    }
}

/// Which fields reads return.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadFields {
    /// All of them, without naming them.
    All,
    /// All of them, each by its name; scans do not name them, as in YCSB.
    Named,
    /// One that is drawn uniformly.
    One,
}

/// Which fields updates write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WriteFields {
    /// One that is drawn uniformly.
    One,
    /// All of them.
    All,
}

/// The records that a run accesses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KeysSection {
    /// How popular records are. YCSB: `requestdistribution`.
    pub distribution: KeyDistribution,
    /// The constant of `zipfian`, `latest` or `ycsb-latest`; 0.99 if left out.
    #[serde(with = "number::Share", skip_serializing_if = "Option::is_none")]
    pub theta: Option<f64>,
    /// Whether `zipfian` spreads popular records over the record set; true if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scatter: Option<bool>,
    /// The fraction of records in the hot set of `hotspot`; 0.2 if left out.
    #[serde(with = "number::Share", skip_serializing_if = "Option::is_none")]
    pub hot_records: Option<f64>,
    /// The fraction of operations on the hot set of `hotspot`; 0.8 if left out.
    #[serde(with = "number::Share", skip_serializing_if = "Option::is_none")]
    pub hot_operations: Option<f64>,
    /// Per cent of the operations on the newest records of `exponential`; 95 if left out.
    #[serde(with = "number::Share", skip_serializing_if = "Option::is_none")]
    pub percentile: Option<f64>,
    /// The fraction of records that count as newest for `exponential`; 0.8571428571 if left out.
    #[serde(with = "number::Share", skip_serializing_if = "Option::is_none")]
    pub fraction: Option<f64>,
    /// How many inserts `ycsb-zipfian` makes room for; twice the likely number if left out.
    #[serde(with = "number::Whole", skip_serializing_if = "Option::is_none")]
    pub expected_inserts: Option<u64>,
    /// By how many transactions an insert must be older than a read that may meet it; `settle` in
    /// earlier releases.
    #[serde(alias = "settle", with = "number::Whole")]
    pub visible_after: u64,
}

impl Default for KeysSection {
    fn default() -> KeysSection {
        KeysSection {
            distribution: KeyDistribution::Uniform,
            theta: None,
            scatter: None,
            hot_records: None,
            hot_operations: None,
            percentile: None,
            fraction: None,
            expected_inserts: None,
            visible_after: VISIBLE_AFTER,
        }
    }
}

impl KeysSection {
    /// The constant of the zipfian distributions.
    pub fn theta(&self) -> f64 {
        self.theta.unwrap_or(0.99)
    }

    /// Whether popular records are spread over the record set.
    pub fn scatter(&self) -> bool {
        self.scatter.unwrap_or(true)
    }

    /// The fraction of records in the hot set.
    pub fn hot_records(&self) -> f64 {
        self.hot_records.unwrap_or(0.2)
    }

    /// The fraction of operations on the hot set.
    pub fn hot_operations(&self) -> f64 {
        self.hot_operations.unwrap_or(0.8)
    }

    /// Per cent of the operations on the newest records.
    pub fn percentile(&self) -> f64 {
        self.percentile.unwrap_or(95.0)
    }

    /// The fraction of records that count as newest. YCSB's comment says 1/7, its number is 6/7.
    pub fn fraction(&self) -> f64 {
        self.fraction.unwrap_or(0.857_142_857_1)
    }
}

named_enum! {
    /// How popular records are.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum KeyDistribution {
        /// All alike.
        Uniform => "uniform",
        /// One after the other.
        Sequential => "sequential",
        /// Zipf's law over the loaded records.
        Zipfian => "zipfian",
        /// What YCSB calls zipfian: scrambled, bit for bit, less skewed than Zipf's law.
        YcsbZipfian => "ycsb-zipfian",
        /// Zipf's law over the distance from the newest record.
        Latest => "latest",
        /// What YCSB calls latest.
        YcsbLatest => "ycsb-latest",
        /// A hot set of the lowest record numbers.
        Hotspot => "hotspot",
        /// Exponentially fewer the older they are.
        Exponential => "exponential",
    }
}

/// How long scans are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ScanSection {
    /// The fewest records of a scan. YCSB: `minscanlength`.
    #[serde(with = "number::Whole")]
    pub min: u64,
    /// The most records of a scan. YCSB: `maxscanlength`.
    #[serde(with = "number::Whole")]
    pub max: u64,
    /// The distribution of scan lengths. YCSB: `scanlengthdistribution`.
    pub distribution: ScanDistribution,
}

impl Default for ScanSection {
    fn default() -> ScanSection {
        ScanSection { min: 1, max: 1000, distribution: ScanDistribution::Uniform }
    }
}

/// The distribution of scan lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ScanDistribution {
    /// All alike.
    Uniform,
    /// YCSB's zipfian with the constant 0.99: the shortest is the most likely.
    Zipfian,
}
