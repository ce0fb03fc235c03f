//! Latencies of operations as histograms that can be merged, for engines.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Mutex;

use assay_analysis::Histogram;
use assay_model::{Kind, Outcome, Phase, Record};
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::columns::records;
use crate::errors::{AssayError, WrongColumns, detached};
use crate::judge::Stream;

/// The columns that latencies need.
const COLUMNS: [&str; 7] = ["kind", "phase", "intended", "started", "ended", "outcome", "found"];

/// The names of the latencies, in the order in which they are kept.
const LATENCIES: [&str; 3] = ["response", "service", "lag"];

/// Histograms of response, service and lag by kind of operation, of measured operations that were
/// done and met their record: as the report has them.
#[pyclass(frozen, module = "assay._native")]
#[derive(Default)]
pub struct Latencies {
    by_kind: Mutex<BTreeMap<u8, [Values; 3]>>,
}

/// The values of one latency, with what the histogram rounds.
struct Values {
    histogram: Histogram,
    max: u64,
}

impl Values {
    fn new() -> Result<Values, String> {
        let histogram = Histogram::new(3).map_err(|error| error.to_string())?;
        Ok(Values { histogram, max: 0 })
    }

    fn add(&mut self, value: u64) -> Result<(), String> {
        self.max = self.max.max(value);
        self.histogram.record(value).map_err(|error| error.to_string())
    }
}

#[pymethods]
impl Latencies {
    /// Without values.
    #[new]
    fn new() -> Latencies {
        Latencies::default()
    }

    /// Adds the records of a stream.
    fn push(&self, py: Python<'_>, stream: Stream) -> PyResult<()> {
        let pushed = detached(py, || {
            for batch in stream.0 {
                let batch = batch.map_err(|error| error.to_string())?;
                self.add(&records(&batch, &COLUMNS)?.1)?;
            }
            Ok::<(), String>(())
        })?;
        pushed.map_err(WrongColumns::new_err)
    }

    /// The histograms as bytes: for each kind its code, then three times the maximum, the length
    /// and the histogram in HdrHistogram's format V2.
    fn partial<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.bytes().map_err(AssayError::new_err)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Adds the histograms of `partial`.
    fn merge(&self, partial: &[u8]) -> PyResult<()> {
        self.add_bytes(partial).ok_or_else(|| PyValueError::new_err("no partial of Latencies"))
    }

    /// The percentile in ns; nothing if there are no such operations.
    fn percentile(&self, operation: &str, percent: f64, kind: &str) -> PyResult<Option<u64>> {
        let which = LATENCIES.iter().position(|name| *name == kind);
        let which = which
            .ok_or_else(|| PyValueError::new_err("kind is \"response\", \"service\" or \"lag\""))?;
        if !(0.0..=100.0).contains(&percent) {
            return Err(PyValueError::new_err(format!(
                "{percent} is no percentile; give 0 to 100"
            )));
        }
        let wanted = Kind::from_name(operation).map(|kind| kind as u8);
        if wanted.is_none() && operation != "all" {
            return Err(PyValueError::new_err(format!("there is no kind {operation:?}")));
        }
        let by_kind = self.by_kind.lock().map_err(|_| AssayError::new_err("it is broken"))?;
        let mut all = Values::new().map_err(AssayError::new_err)?;
        for (code, values) in by_kind.iter() {
            if wanted.is_none_or(|wanted| wanted == *code) {
                let one = &values[which];
                all.histogram
                    .add(&one.histogram)
                    .map_err(|error| AssayError::new_err(error.to_string()))?;
                all.max = all.max.max(one.max);
            }
        }
        Ok(at(&all, percent / 100.0))
    }

    /// How many operations of each kind there are.
    fn counts(&self) -> PyResult<BTreeMap<&'static str, u64>> {
        let by_kind = self.by_kind.lock().map_err(|_| AssayError::new_err("it is broken"))?;
        let named = by_kind.iter().filter_map(|(code, values)| {
            Some((Kind::from_code(*code)?.name(), values[0].histogram.len()))
        });
        Ok(named.collect())
    }
}

/// The smallest value that a share of `quantile` does not exceed, as the analyzer has it.
fn at(values: &Values, quantile: f64) -> Option<u64> {
    let count = values.histogram.len();
    if count == 0 {
        return None;
    }
    let exact = quantile * count as f64;
    let rank = ((exact * (1.0 - 4.0 * f64::EPSILON)).ceil() as u64).clamp(1, count);
    let mut before = 0;
    for value in values.histogram.iter_recorded() {
        before += value.count_since_last_iteration();
        if before >= rank {
            return Some(value.value_iterated_to().min(values.max));
        }
    }
    Some(values.max)
}

impl Latencies {
    fn add(&self, records: &[Record]) -> Result<(), String> {
        let mut by_kind = self.by_kind.lock().map_err(|_| "it is broken".to_owned())?;
        let is_hit = |record: &&Record| {
            record.phase == Phase::Measure && record.outcome == Outcome::Done && record.found
        };
        for record in records.iter().filter(is_hit) {
            let code = record.kind as u8;
            let [response, service, lag] = values_of(&mut by_kind, code)?;
            response.add(record.ended.since(record.intended).0)?;
            service.add(record.ended.since(record.started).0)?;
            lag.add(record.started.since(record.intended).0)?;
        }
        Ok(())
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        let by_kind = self.by_kind.lock().map_err(|_| "it is broken".to_owned())?;
        let mut bytes = Vec::new();
        for (code, values) in by_kind.iter() {
            bytes.push(*code);
            for one in values {
                let mut histogram = Vec::new();
                V2Serializer::new()
                    .serialize(&one.histogram, &mut histogram)
                    .map_err(|error| error.to_string())?;
                bytes.extend(one.max.to_le_bytes());
                bytes.extend((histogram.len() as u64).to_le_bytes());
                bytes.extend(histogram);
            }
        }
        Ok(bytes)
    }

    fn add_bytes(&self, mut bytes: &[u8]) -> Option<()> {
        let mut by_kind = self.by_kind.lock().ok()?;
        while let Some((code, rest)) = bytes.split_first() {
            Kind::from_code(*code)?;
            bytes = rest;
            let mut read = Vec::new();
            for _ in LATENCIES {
                let (max, rest) = number(bytes)?;
                let (length, rest) = number(rest)?;
                let (histogram, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
                let histogram: Histogram =
                    Deserializer::new().deserialize(&mut { histogram }).ok()?;
                read.push(Values { histogram, max });
                bytes = rest;
            }
            // What was read does not grow, so it is added to one that does.
            for (one, other) in values_of(&mut by_kind, *code).ok()?.iter_mut().zip(read) {
                one.histogram.add(&other.histogram).ok()?;
                one.max = one.max.max(other.max);
            }
        }
        Some(())
    }
}

/// The values of the operations whose kind has this code, none yet if there were none.
fn values_of(
    by_kind: &mut BTreeMap<u8, [Values; 3]>,
    code: u8,
) -> Result<&mut [Values; 3], String> {
    match by_kind.entry(code) {
        Entry::Occupied(there) => Ok(there.into_mut()),
        Entry::Vacant(place) => Ok(place.insert([Values::new()?, Values::new()?, Values::new()?])),
    }
}

fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<8>()?;
    Some((u64::from_le_bytes(*number), rest))
}
