//! Validation of a specification's values.

use super::error::{Place, SpecError};
use super::length::FieldLength;
use super::section::{KeyDistribution, KeyOrder, KeysSection, ScanSection, Spec};
use super::text::place_of;
use super::think::ThinkTime;
use crate::distribution::{Exponential, Hotspot, Tail};

/// Record numbers are below this, so that TOML, Parquet or Java can hold them.
const RECORDS_END: u64 = 1 << 63;
/// Field numbers have 16 bits.
const FIELDS_MAX: u64 = u16::MAX as u64;
/// The size of an operation has 32 bits.
const BYTES_MAX: u64 = u32::MAX as u64;
/// A recent insert costs a worker one byte of memory for each transaction.
const VISIBLE_AFTER_MAX: u64 = 1 << 24;
/// Keys that YCSB would draw on average before one is in the store; more is no measurement.
const REDRAWS_MAX: f64 = 4096.0;
/// A worker keeps all operations of a process in flight in memory.
const TRANSACTIONS_MAX: u64 = 10_000;
/// Curves with heavier tails have no size that a store could hold.
const SHAPE_MAX: f64 = 100.0;
/// A key with more digits is longer than any store takes.
const DIGITS_MAX: u64 = 1024;

/// A value that is invalid, by its key in the TOML form.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) key: &'static str,
    pub(crate) value: String,
    pub(crate) reason: String,
}

impl Problem {
    /// Where the value is in a text.
    pub(crate) fn in_text(self, text: &str, origin: &str) -> SpecError {
        let place = place_of(text, origin, self.key);
        self.at(place)
    }

    /// At a place.
    pub(crate) fn at(self, place: Place) -> SpecError {
        let Problem { key, value, reason } = self;
        SpecError::Value { place, name: key.to_owned(), value, reason }
    }
}

/// Fails because of `value` under `key`.
pub(crate) fn problem(
    key: &'static str,
    value: impl ToString,
    reason: impl Into<String>,
) -> Result<(), Problem> {
    Err(Problem { key, value: value.to_string(), reason: reason.into() })
}

/// Fails at the first of `numbers` (key, value, least, most) that is out of its bounds.
pub(crate) fn check_bounds(numbers: &[(&'static str, u64, u64, u64)]) -> Result<(), Problem> {
    for &(key, value, least, most) in numbers {
        if !(least..=most).contains(&value) {
            return problem(key, value, format!("it must be from {least} to {most}"));
        }
    }
    Ok(())
}

impl Spec {
    /// Whether the values make sense together.
    ///
    /// # Errors
    /// Names the first key whose value does not.
    pub fn check(&self) -> Result<(), SpecError> {
        self.find_problem().map_err(|problem| problem.at(Place::default()))
    }

    pub(crate) fn find_problem(&self) -> Result<(), Problem> {
        self.check_records()?;
        self.check_fields()?;
        self.check_weights()?;
        self.check_process()?;
        self.check_parameters()?;
        self.check_keys()?;
        self.check_redraws()?;
        self.check_scan()
    }

    fn check_records(&self) -> Result<(), Problem> {
        let dataset = &self.dataset;
        if !(1..RECORDS_END).contains(&dataset.records) {
            let reason = "the number of records must be from 1 to 2^63 - 1";
            return problem("dataset.records", dataset.records, reason);
        }
        if self.operations.insert > 0.0 && dataset.records > RECORDS_END / 2 {
            let reason =
                "with inserts there are at most 2^62 records, so that new ones have numbers";
            return problem("dataset.records", dataset.records, reason);
        }
        if dataset.first >= dataset.records {
            let reason = format!("it must be below the number of records, {}", dataset.records);
            return problem("dataset.first", dataset.first, reason);
        }
        let room = dataset.records - dataset.first;
        match dataset.count {
            Some(0) => problem("dataset.count", 0, "a share has at least one record"),
            Some(count) if count > room => {
                let reason = format!(
                    "only {room} records follow record number {} of {}",
                    dataset.first, dataset.records
                );
                problem("dataset.count", count, reason)
            }
            _ => Ok(()),
        }
    }

    fn check_fields(&self) -> Result<(), Problem> {
        let dataset = &self.dataset;
        if !(1..=FIELDS_MAX).contains(&dataset.fields) {
            return problem(
                "dataset.fields",
                dataset.fields,
                "a record has from 1 to 65535 fields",
            );
        }
        if dataset.table.is_empty() {
            return problem("dataset.table", "\"\"", "a table needs a name");
        }
        if dataset.key_digits > DIGITS_MAX {
            return problem("dataset.key_digits", dataset.key_digits, "at most 1024 digits");
        }
        check_length("dataset.field_length", &dataset.field_length)?;
        if let Some(length) = &dataset.key_length {
            self.check_key_length(length)?;
        }
        let is_recorded = dataset.field_length == FieldLength::Recorded;
        if is_recorded && dataset.fields != 1 {
            let reason = "a trace records the length of one value, so a record has one field";
            return problem("dataset.fields", dataset.fields, reason);
        }
        let constant = matches!(dataset.field_length, FieldLength::Constant(_));
        if dataset.integrity && dataset.key_order == KeyOrder::Recorded {
            let reason = "checked values are not of a trace: their keys are hashed or ordered";
            return problem("dataset.key_order", "recorded", reason);
        }
        if dataset.integrity && !constant {
            let reason = "checked values need a constant field length";
            return problem("dataset.field_length", &dataset.field_length, reason);
        }
        if dataset.field_length.max().saturating_mul(dataset.fields) > BYTES_MAX {
            let reason = format!("{} such fields are more than 4 GiB", dataset.fields);
            return problem("dataset.field_length", &dataset.field_length, reason);
        }
        Ok(())
    }

    /// Keys are short, each for itself.
    fn check_key_length(&self, length: &FieldLength) -> Result<(), Problem> {
        const KEY: &str = "dataset.key_length";
        check_length(KEY, length)?;
        let reason = match () {
            () if *length == FieldLength::Recorded => {
                "the length of a key is in its number: \
                                                       key_order says so"
            }
            () if self.dataset.key_order == KeyOrder::Recorded => {
                "the lengths of recorded keys are in their numbers"
            }
            () if self.dataset.key_digits != 1 => "key_digits says already how long a key is",
            () if length.max() > DIGITS_MAX * 4 => "a key has at most 4096 bytes",
            () => return Ok(()),
        };
        problem(KEY, length, reason)
    }

    fn check_weights(&self) -> Result<(), Problem> {
        let weights = self.operations.weights();
        for (key, weight) in weights {
            if !(weight.is_finite() && weight >= 0.0) {
                return problem(key, weight, "a proportion must be a number from 0");
            }
        }
        let sum: f64 = weights.iter().map(|(_, weight)| weight).sum();
        if sum.is_infinite() {
            let reason = "the proportions add up to more than a number can say";
            return problem("operations.read", self.operations.read, reason);
        }
        if sum <= 0.0 {
            let reason = "at least one of the proportions of read, update, insert, scan, \
                          read-modify-write must be above 0";
            return problem("operations.read", self.operations.read, reason);
        }
        if self.operations.count == Some(0) {
            return problem("operations.count", 0, "a run has at least one operation");
        }
        Ok(())
    }

    fn check_process(&self) -> Result<(), Problem> {
        let process = &self.process;
        if !(1..=TRANSACTIONS_MAX).contains(&process.transactions) {
            let reason = "a process has from 1 to 10000 transactions";
            return problem("process.transactions", process.transactions, reason);
        }
        if process.transactions == 1 && process.think != ThinkTime::No {
            let reason = "a process of one transaction has no pause to think in; \
                          give process.transactions as well";
            return problem("process.think", process.think, reason);
        }
        Ok(())
    }

    /// A parameter of a distribution that is not the chosen one is a mistake, not a comment.
    fn check_parameters(&self) -> Result<(), Problem> {
        use KeyDistribution as Name;
        let keys = &self.keys;
        let text = |number: Option<f64>| number.map(|number| number.to_string());
        let zipfian: &[Name] = &[Name::Zipfian, Name::Latest, Name::YcsbLatest];
        let given: [(&'static str, Option<String>, &[Name]); 7] = [
            ("keys.theta", text(keys.theta), zipfian),
            ("keys.scatter", keys.scatter.map(|scatter| scatter.to_string()), &[Name::Zipfian]),
            ("keys.hot_records", text(keys.hot_records), &[Name::Hotspot]),
            ("keys.hot_operations", text(keys.hot_operations), &[Name::Hotspot]),
            ("keys.percentile", text(keys.percentile), &[Name::Exponential]),
            ("keys.fraction", text(keys.fraction), &[Name::Exponential]),
            (
                "keys.expected_inserts",
                keys.expected_inserts.map(|inserts| inserts.to_string()),
                &[Name::YcsbZipfian],
            ),
        ];
        for (key, value, users) in given {
            if let Some(value) = value.filter(|_| !users.contains(&keys.distribution)) {
                let name = keys.distribution.name();
                let reason = format!("it means nothing to the distribution {name}; leave it out");
                return problem(key, value, reason);
            }
        }
        Ok(())
    }

    fn check_keys(&self) -> Result<(), Problem> {
        let keys = &self.keys;
        if keys.visible_after > VISIBLE_AFTER_MAX {
            return problem(
                "keys.visible_after",
                keys.visible_after,
                "at most 16777216 transactions",
            );
        }
        match keys.distribution {
            KeyDistribution::YcsbLatest if !(keys.theta() > 0.0 && keys.theta() < 1.0) => {
                problem("keys.theta", keys.theta(), "ycsb-latest needs a number between 0 and 1")
            }
            KeyDistribution::Zipfian | KeyDistribution::Latest
                if !(keys.theta() > 0.0 && keys.theta() <= 100.0) =>
            {
                problem("keys.theta", keys.theta(), "the constant must be above 0, at most 100")
            }
            KeyDistribution::Hotspot => check_hotspot(keys, self.dataset.share()),
            KeyDistribution::Exponential => check_exponential(keys),
            _ => Ok(()),
        }
    }

    /// YCSB draws a key again while it is not in the store; that must end soon.
    fn check_redraws(&self) -> Result<(), Problem> {
        let records = self.dataset.records as f64;
        match self.keys.distribution {
            KeyDistribution::YcsbZipfian => {
                let inserts = self.expected_inserts();
                let items = self.dataset.share() as f64 + inserts as f64 + 1.0;
                let draws = items / (self.dataset.records - self.dataset.first) as f64;
                if draws > REDRAWS_MAX {
                    let reason = format!(
                        "room for so many inserts among {} records makes each key be drawn \
                         {draws:.0} times; load more records or issue fewer operations",
                        self.dataset.records
                    );
                    return problem("keys.expected_inserts", inserts, reason);
                }
                if items > (1u64 << 62) as f64 {
                    let reason = "ycsb-zipfian takes at most 2^62 records; zipfian takes more";
                    return problem("dataset.records", self.dataset.records, reason);
                }
                Ok(())
            }
            KeyDistribution::Exponential => {
                let range = records * self.keys.fraction();
                let share = Exponential::new(self.keys.percentile(), range).below(records);
                if share * REDRAWS_MAX < 1.0 {
                    let reason = "nearly all keys would be older than the oldest record";
                    return problem("keys.fraction", self.keys.fraction(), reason);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn check_scan(&self) -> Result<(), Problem> {
        let ScanSection { min, max, .. } = self.scan;
        if min == 0 {
            return problem("scan.min", min, "a scan reads at least one record");
        }
        if min > max {
            return problem("scan.min", min, format!("it must not be above scan.max, {max}"));
        }
        if max > u64::from(u32::MAX) {
            return problem("scan.max", max, "a scan reads at most 2^32 - 1 records");
        }
        Ok(())
    }

    /// How many inserts YCSB's zipfian makes room for: int(operations × proportion × 2).
    ///
    /// Without a number of operations, as though there were as many as records.
    pub(crate) fn expected_inserts(&self) -> u64 {
        let insert = self.operations.insert;
        let sum: f64 = self.operations.weights().iter().map(|(_, weight)| weight).sum();
        // YCSB takes the proportion as it stands; weights that are no proportions are normalised.
        let proportion = if (sum - 1.0).abs() < 1e-9 { insert } else { insert / sum };
        let operations = self.operations.count.unwrap_or(self.dataset.records);
        let twice = (operations as f64 * proportion * 2.0) as u64;
        let is_java_int = operations <= i32::MAX as u64;
        let likely = if is_java_int { twice.min(i32::MAX as u64) } else { twice };
        self.keys.expected_inserts.unwrap_or(likely)
    }
}

fn check_length(key: &'static str, length: &FieldLength) -> Result<(), Problem> {
    match length {
        FieldLength::Uniform { min, max } | FieldLength::Zipfian { min, max } if min > max => {
            problem(key, length, "the shortest must not be above the longest")
        }
        FieldLength::Histogram(histogram, _) => {
            let sum = histogram.counts.iter().try_fold(0u64, |sum, &count| sum.checked_add(count));
            if histogram.block == 0 || histogram.counts.is_empty() || matches!(sum, None | Some(0))
            {
                let reason = "a histogram needs a block above 0, counts with a sum above 0";
                return problem(key, length, reason);
            }
            let longest = histogram.block.checked_mul(histogram.counts.len() as u64);
            if longest.is_none_or(|longest| longest > BYTES_MAX) {
                let reason = "the longest field would be more than 4 GiB";
                return problem(key, length, reason);
            }
            Ok(())
        }
        FieldLength::HistogramFile(..) => {
            problem(key, length, "the histogram file has not been read")
        }
        FieldLength::Listed { sizes, counts } => {
            let sum = counts.iter().try_fold(0u64, |sum, &count| sum.checked_add(count));
            if sizes.len() != counts.len() || matches!(sum, None | Some(0)) {
                let reason = "a list needs as many counts as sizes, with a sum above 0";
                return problem(key, length, reason);
            }
            Ok(())
        }
        FieldLength::Tail(Tail { location, scale, shape, min, max, .. }) => {
            let is_curve = location.is_finite() && *scale > 0.0 && shape.abs() <= SHAPE_MAX;
            match is_curve && scale.is_finite() && min <= max {
                true => Ok(()),
                false => {
                    let reason = "a curve needs a scale above 0, a shape from -100 to 100, \
                                  bounds in their order";
                    problem(key, length, reason)
                }
            }
        }
        _ => Ok(()),
    }
}

fn check_hotspot(keys: &KeysSection, share: u64) -> Result<(), Problem> {
    for (key, value) in
        [("keys.hot_records", keys.hot_records()), ("keys.hot_operations", keys.hot_operations())]
    {
        if !(0.0..=1.0).contains(&value) {
            return problem(key, value, "a fraction must be from 0 to 1");
        }
    }
    if Hotspot::new(0, share, keys.hot_records(), keys.hot_operations()).is_none() {
        let reason = format!("of {share} records it leaves the hot or the cold set empty");
        return problem("keys.hot_records", keys.hot_records(), reason);
    }
    Ok(())
}

fn check_exponential(keys: &KeysSection) -> Result<(), Problem> {
    if !(keys.percentile() > 0.0 && keys.percentile() < 100.0) {
        let reason = "a percentile must be between 0 and 100, both excluded";
        return problem("keys.percentile", keys.percentile(), reason);
    }
    if !(keys.fraction() > 0.0 && keys.fraction().is_finite()) {
        return problem("keys.fraction", keys.fraction(), "a fraction of records must be above 0");
    }
    Ok(())
}
