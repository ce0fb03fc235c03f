//! Client options of YCSB: threads, target, measurement.

use std::fmt::Display;
use std::str::FromStr;

use super::properties::{Properties, Property, Strictness};
use crate::spec::{Place, SpecError};
use assay_model::quantity;

/// The start of a latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interval {
    /// When the call begins.
    Op,
    /// When the target throughput wanted it to begin.
    Intended,
    /// Both, reported apart.
    Both,
}

/// The properties of YCSB's client, with its defaults (0.17.0 where versions differ).
#[derive(Clone, Debug, PartialEq)]
pub struct ClientOptions {
    /// `db`: the class of the binding.
    pub db: Option<String>,
    /// `threadcount`: client threads.
    pub threads: u64,
    /// `target`: operations per second of all threads together; `None` is unthrottled.
    pub target: Option<f64>,
    /// `maxexecutiontime` in seconds; `None` is without limit.
    pub max_execution_seconds: Option<u64>,
    /// `dotransactions`: whether this is a run rather than a load; `None` if not given.
    pub do_transactions: Option<bool>,
    /// `core_workload_insertion_retry_limit`.
    pub insertion_retry_limit: u64,
    /// `core_workload_insertion_retry_interval` in seconds.
    pub insertion_retry_interval: u64,
    /// `core_workload_insertion_keep_going_on_error`.
    pub insertion_keeps_going: bool,
    /// `spin.sleep`: whether a throttled thread waits busily.
    pub spin_sleep: bool,
    /// `status`: whether status lines are printed.
    pub status: bool,
    /// `status.interval` in seconds.
    pub status_interval: u64,
    /// `label` of status lines.
    pub label: String,
    /// `measurementtype`.
    pub measurement_type: String,
    /// `measurement.interval`.
    pub interval: Interval,
    /// `measurement.trackjvm`.
    pub track_jvm: bool,
    /// `measurement.histogram.verbose`.
    pub histogram_verbose: bool,
    /// `histogram.buckets` of one millisecond.
    pub histogram_buckets: u64,
    /// `timeseries.granularity` in milliseconds.
    pub timeseries_granularity: u64,
    /// `measurement.raw.output_file`.
    pub raw_output_file: Option<String>,
    /// `measurement.raw.no_summary`.
    pub raw_no_summary: bool,
    /// `hdrhistogram.percentiles`.
    pub percentiles: Vec<f64>,
    /// `hdrhistogram.fileoutput`.
    pub hdr_file_output: bool,
    /// `hdrhistogram.output.path`.
    pub hdr_output_path: String,
    /// `reportlatencyforeacherror`.
    pub reports_each_error: bool,
    /// `latencytrackederrors`.
    pub tracked_errors: Vec<String>,
    /// `exporter`: the class.
    pub exporter: Option<String>,
    /// `exportfile`.
    pub export_file: Option<String>,
}

impl ClientOptions {
    pub(super) fn new(from: &Values<'_>) -> Result<ClientOptions, SpecError> {
        let target: f64 = from.number("target", 0.0)?;
        from.require("target", target >= 0.0, "it must be from 0, which is unthrottled")?;
        let threads = from.whole("threadcount")?.unwrap_or(1);
        from.require("threadcount", threads > 0, "a client has at least one thread")?;
        let status_interval = from.whole("status.interval")?.unwrap_or(10);
        from.require("status.interval", status_interval > 0, "it must be at least one second")?;
        Ok(ClientOptions {
            db: from.text("db"),
            threads,
            target: (target > 0.0).then_some(target),
            max_execution_seconds: from.whole("maxexecutiontime")?.filter(|&limit| limit > 0),
            do_transactions: from.truth("dotransactions")?,
            insertion_retry_limit: from.whole("core_workload_insertion_retry_limit")?.unwrap_or(0),
            insertion_retry_interval: from
                .whole("core_workload_insertion_retry_interval")?
                .unwrap_or(3),
            insertion_keeps_going: from.is("core_workload_insertion_keep_going_on_error")?,
            spin_sleep: from.is("spin.sleep")?,
            status: from.is("status")?,
            status_interval,
            label: from.text("label").unwrap_or_default(),
            measurement_type: from.one_of(
                "measurementtype",
                &[
                    ("hdrhistogram", "hdrhistogram".to_owned()),
                    ("histogram", "histogram".to_owned()),
                    ("hdrhistogram+histogram", "hdrhistogram+histogram".to_owned()),
                    ("hdrhistogram+raw", "hdrhistogram+raw".to_owned()),
                    ("timeseries", "timeseries".to_owned()),
                    ("raw", "raw".to_owned()),
                ],
            )?,
            interval: from.one_of(
                "measurement.interval",
                &[("op", Interval::Op), ("intended", Interval::Intended), ("both", Interval::Both)],
            )?,
            track_jvm: from.is("measurement.trackjvm")?,
            histogram_verbose: from.is("measurement.histogram.verbose")?,
            histogram_buckets: from.whole("histogram.buckets")?.unwrap_or(1000),
            timeseries_granularity: from.whole("timeseries.granularity")?.unwrap_or(1000),
            raw_output_file: from.text("measurement.raw.output_file"),
            raw_no_summary: from.is("measurement.raw.no_summary")?,
            percentiles: percentiles(from)?,
            hdr_file_output: from.is("hdrhistogram.fileoutput")?,
            hdr_output_path: from.text("hdrhistogram.output.path").unwrap_or_default(),
            reports_each_error: from.is("reportlatencyforeacherror")?,
            tracked_errors: from.list("latencytrackederrors"),
            exporter: from.text("exporter"),
            export_file: from.text("exportfile"),
        })
    }
}

fn percentiles(from: &Values<'_>) -> Result<Vec<f64>, SpecError> {
    let name = "hdrhistogram.percentiles";
    let texts = from.list(name);
    if texts.is_empty() {
        return Ok(vec![95.0, 99.0]);
    }
    let numbers: Option<Vec<f64>> = texts.iter().map(|text| text.parse().ok()).collect();
    numbers
        .filter(|numbers| numbers.iter().all(|number| (0.0..=100.0).contains(number)))
        .ok_or_else(|| from.wrong(name, "it must be numbers from 0 to 100 with commas between"))
}

/// Typed access to properties, with errors that say where a value was given.
pub(super) struct Values<'a> {
    pub(super) properties: &'a Properties,
    pub(super) strictness: Strictness,
}

impl Values<'_> {
    /// The trimmed value. Java's parsers take no blanks, so a file that YCSB reads stays the same.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.properties.get(name).map(|property| property.value.trim().to_owned())
    }

    /// Items between commas.
    pub(super) fn list(&self, name: &str) -> Vec<String> {
        let text = self.text(name).unwrap_or_default();
        let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
        items.map(str::to_owned).collect()
    }

    /// A whole number from 0.
    pub(super) fn whole(&self, name: &str) -> Result<Option<u64>, SpecError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let number = quantity::whole(&text);
        number.map(Some).ok_or_else(|| self.wrong(name, "it must be a whole number from 0"))
    }

    /// A finite number.
    pub(super) fn number(&self, name: &str, default: f64) -> Result<f64, SpecError> {
        let Some(text) = self.text(name) else { return Ok(default) };
        quantity::share(&text).ok_or_else(|| self.wrong(name, "it must be a number"))
    }

    /// As [`Values::number`], without a default.
    pub(super) fn some_number(&self, name: &str) -> Result<Option<f64>, SpecError> {
        self.properties.get(name).map(|_| self.number(name, 0.0)).transpose()
    }

    /// `true` or `false`. Java takes anything else for false, which hides mistakes.
    pub(super) fn truth(&self, name: &str) -> Result<Option<bool>, SpecError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        bool::from_str(&text.to_lowercase())
            .map(Some)
            .map_err(|_| self.wrong(name, "it must be true or false"))
    }

    /// As [`Values::truth`], false if not given.
    pub(super) fn is(&self, name: &str) -> Result<bool, SpecError> {
        Ok(self.truth(name)?.unwrap_or(false))
    }

    /// One of a few words, the first if not given.
    pub(super) fn one_of<T: Clone>(&self, name: &str, words: &[(&str, T)]) -> Result<T, SpecError> {
        let Some(text) = self.text(name) else { return Ok(words[0].1.clone()) };
        if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == text) {
            return Ok(meaning.clone());
        }
        let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let nearest = assay_model::closest(&text, names.iter().copied());
        let hint = nearest.map_or_else(String::new, |word| format!("; did you mean {word:?}?"));
        Err(self.wrong(name, &format!("it must be one of {}{hint}", names.join(", "))))
    }

    pub(super) fn require(&self, name: &str, holds: bool, reason: &str) -> Result<(), SpecError> {
        if holds { Ok(()) } else { Err(self.wrong(name, reason)) }
    }

    /// The value of `name` is invalid because of `reason`.
    pub(super) fn wrong(&self, name: &str, reason: &str) -> SpecError {
        match self.properties.get(name) {
            Some(Property { value, place }) => wrong(place, name, value, reason),
            None => wrong(&Place::default(), name, "not given", reason),
        }
    }
}

fn wrong(place: &Place, name: &str, value: impl Display, reason: &str) -> SpecError {
    SpecError::Value {
        place: place.clone(),
        name: name.to_owned(),
        value: value.to_string(),
        reason: reason.to_owned(),
    }
}
