//! Data set: what a load and its run must agree on.

use assay_model::Seed;
use assay_model::seed::mix;
use serde::{Deserialize, Serialize};

use super::length::FieldLength;
use super::section::{DatasetSection, KeyOrder};
use crate::value_header;

/// A data set as it lies in a store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dataset {
    /// The name of the table.
    pub table: String,
    /// How many records the whole data set has.
    pub records: u64,
    /// The number of the first record of this share.
    pub first: u64,
    /// How many records this share has.
    pub count: u64,
    /// How many fields a record has.
    pub fields: u64,
    /// Fields are named by this with their number.
    pub field_prefix: String,
    /// The length of each field.
    pub field_length: FieldLength,
    /// What each key begins with.
    pub key_prefix: String,
    /// Whether the number in a key is hashed.
    pub key_order: KeyOrder,
    /// The least number of digits in a key.
    pub key_digits: u64,
    /// The length of each key, if it is not that of its digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_length: Option<FieldLength>,
    /// Whether values follow from key with field.
    pub integrity: bool,
    /// The seed of the values as text, if they carry a version; otherwise they can be known from
    /// nothing, so that any seed will do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<String>,
    /// The hash of the trace that was loaded, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preload: Option<String>,
}

impl Dataset {
    pub(super) fn of(section: &DatasetSection, seed: Seed) -> Dataset {
        let carries =
            !section.integrity && section.field_length.max() >= value_header::LENGTH as u64;
        Dataset {
            table: section.table.clone(),
            records: section.records,
            first: section.first,
            count: section.share(),
            fields: section.fields,
            field_prefix: section.field_prefix.clone(),
            field_length: section.field_length.clone(),
            key_prefix: section.key_prefix.clone(),
            key_order: section.key_order,
            key_digits: section.key_digits,
            key_length: section.key_length.clone(),
            integrity: section.integrity,
            seed: carries.then(|| section.seed.unwrap_or(seed.0).to_string()),
            preload: section.preload.clone(),
        }
    }

    /// In sentences, why a run of `self` cannot start on a store that holds `found`.
    ///
    /// Empty if it can. A run may use a part of the records that were loaded.
    pub fn differences(&self, found: &Dataset) -> Vec<String> {
        let text = |text: &dyn std::fmt::Debug| format!("{text:?}");
        let optional = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
        let length = |length: &Option<FieldLength>| match length {
            Some(length) => length.to_string(),
            None => "that of its digits".to_owned(),
        };
        let pairs = [
            ("dataset.table", text(&self.table), text(&found.table)),
            ("dataset.records", self.records.to_string(), found.records.to_string()),
            ("dataset.fields", self.fields.to_string(), found.fields.to_string()),
            ("dataset.field_prefix", text(&self.field_prefix), text(&found.field_prefix)),
            ("dataset.field_length", self.field_length.to_string(), found.field_length.to_string()),
            ("dataset.key_prefix", text(&self.key_prefix), text(&found.key_prefix)),
            (
                "dataset.key_order",
                self.key_order.name().to_owned(),
                found.key_order.name().to_owned(),
            ),
            ("dataset.key_digits", self.key_digits.to_string(), found.key_digits.to_string()),
            ("dataset.key_length", length(&self.key_length), length(&found.key_length)),
            ("dataset.integrity", self.integrity.to_string(), found.integrity.to_string()),
            ("dataset.seed", optional(&self.seed), optional(&found.seed)),
            ("dataset.preload", optional(&self.preload), optional(&found.preload)),
        ];
        let mut differences: Vec<String> = pairs
            .into_iter()
            .filter(|(_, expected, found)| expected != found)
            .map(|(key, expected, found)| {
                format!("{key} is {expected} here, but the store was loaded with {found}")
            })
            .collect();
        let (last, found_last) = (self.first + self.count - 1, found.first + found.count - 1);
        if self.first < found.first || last > found_last {
            differences.push(format!(
                "records {} to {last} are accessed, but the store was loaded with {} to \
                 {found_last}",
                self.first, found.first
            ));
        }
        differences
    }

    /// A number that differs between data sets whose values must not be mistaken for each other.
    ///
    /// FNV-1a over everything that is in a value or decides where it lies. How many records were
    /// loaded is left out, so that a run over a part recognises the values.
    pub(crate) fn digest(&self) -> u64 {
        // What was not there before says nothing, so that stores keep their digests.
        let key_length = match &self.key_length {
            Some(length) => format!("\0{length}"),
            None => String::new(),
        };
        let text = format!(
            "{}\0{}\0{}\0{}\0{}\0{}\0{}\0{:?}{key_length}",
            self.table,
            self.fields,
            self.field_prefix,
            self.field_length,
            self.key_prefix,
            self.key_order.name(),
            self.key_digits,
            self.seed,
        );
        let start = 0xCBF2_9CE4_8422_2325u64;
        mix(text
            .bytes()
            .fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(1_099_511_628_211)))
    }
}
