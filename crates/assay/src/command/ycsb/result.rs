//! Result of a run in the words of YCSB's client.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use assay_analysis::Phases;
use assay_analysis::ycsb::{self as measure, Failures, Measurements, Measures, Status, Statuses};
use assay_history::Manifest;
use assay_model::Record;
use assay_report::ycsb::{self as block, Exporter, Form, MeasurementType};
use assay_results::{AnalyzedRun, analyze_beside};
use assay_workload::ycsb::{ClientOptions, Interval};

use super::version::Version;
use crate::exit::usage;
use crate::show::put;

/// The measurements and their output, according to the properties.
pub struct OutputOptions {
    exporter: Exporter,
    measurement: measure::Options,
    block: block::Options,
    options: ClientOptions,
}

impl OutputOptions {
    /// What the properties say.
    pub fn new(
        options: &ClientOptions,
        version: Version,
        statuses: Statuses,
    ) -> Result<OutputOptions> {
        let measurement_type = measurement_type(options);
        let buckets = match measurement_type.has(Form::Buckets) {
            true => options.histogram_buckets as usize,
            false => 0,
        };
        let measurement = measure::Options {
            phases: Phases::All,
            statuses,
            failures: failures(options),
            scans_per_record: version.measures_scans_per_record(),
            buckets,
            keeps_series: measurement_type.has(Form::Series),
            keeps_samples: measurement_type.has(Form::Raw),
        };
        let block = block::Options {
            interval: match options.interval {
                Interval::Op => block::Interval::Op,
                Interval::Intended => block::Interval::Intended,
                Interval::Both => block::Interval::Both,
            },
            measurement_type,
            percentiles: options.percentiles.clone(),
            granularity: options.timeseries_granularity,
            is_verbose: options.histogram_verbose,
            has_no_summary: options.raw_no_summary,
            transactions: Vec::new(),
        };
        Ok(OutputOptions {
            exporter: exporter(options)?,
            measurement,
            block,
            options: options.clone(),
        })
    }

    /// Analyzes the run in `dir`, of which `manifest` is known, and measures it as YCSB would on
    /// the way.
    pub fn analyze(&mut self, dir: &Path, manifest: Manifest) -> Result<(AnalyzedRun, Measures)> {
        self.block.transactions = manifest.history.transaction_types.clone();
        let mut measurements = Measurements::new(self.measurement.clone());
        let beside = &mut |records: &[Record]| measurements.push(records);
        let analyzed = analyze_beside(dir, manifest, None, beside)?;
        Ok((analyzed, measurements.finish()))
    }

    /// Prints the result.
    pub fn print(&self, analyzed: &AnalyzedRun, measures: &Measures) -> Result<()> {
        let raw = block::raw(measures, &self.block, analyzed.facts.started_unix_ms);
        self.print_raw(&raw)?;
        let output = self.options.export_file.as_deref().map(PathBuf::from);
        let lines = block::lines(measures, &self.block);
        put(&block::print(&lines, self.exporter), output.as_deref())?;
        if self.options.hdr_file_output {
            let (facts, summary) = (&analyzed.facts, &analyzed.summary);
            let logs = assay_report::ycsb_hdr_logs(facts, summary, measures, &self.block)?;
            for (name, log) in logs {
                let path = format!("{}{name}.hdr", self.options.hdr_output_path);
                put(&log, Some(Path::new(&path)))?;
            }
        }
        Ok(())
    }

    /// YCSB prints for each metric the file of its latencies, and appends to an existing file.
    fn print_raw(&self, raw: &[(String, String)]) -> Result<()> {
        let file = self.options.raw_output_file.as_deref().filter(|file| !file.is_empty());
        let remark = match file {
            None => "Raw data measurement: will output to stdout.\n".to_owned(),
            Some(file) => format!("Raw data measurement: will output to result file: {file}\n"),
        };
        put(&remark.repeat(raw.len()), None)?;
        let text: String = raw.iter().map(|(_, text)| text.as_str()).collect();
        let (false, Some(file)) = (raw.is_empty(), file) else { return put(&text, None) };
        let opened = std::fs::OpenOptions::new().create(true).append(true).open(file);
        let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
        written.with_context(|| format!("cannot write {file}"))
    }
}

/// The value of `measurementtype`; the properties were checked as they were read.
pub fn measurement_type(options: &ClientOptions) -> MeasurementType {
    let name = options.measurement_type.as_str();
    let found = block::MEASUREMENT_TYPES.into_iter().find(|one| one.name == name);
    found.unwrap_or(block::MEASUREMENT_TYPES[0])
}

/// `reportlatencyforeacherror` overrides `latencytrackederrors`, as in YCSB.
fn failures(options: &ClientOptions) -> Failures {
    const ALL: [Status; 7] = [
        Status::NotImplemented,
        Status::BadRequest,
        Status::Forbidden,
        Status::UnexpectedState,
        Status::ServiceUnavailable,
        Status::NotFound,
        Status::Error,
    ];
    if options.reports_each_error {
        return Failures::ByStatus;
    }
    let is_tracked =
        |status: &Status| options.tracked_errors.iter().any(|name| name == status.name());
    match options.tracked_errors.is_empty() {
        true => Failures::Together,
        false => Failures::Tracked(ALL.into_iter().filter(is_tracked).collect()),
    }
}

/// The exporter for the name of YCSB's class.
fn exporter(options: &ClientOptions) -> Result<Exporter> {
    match options.exporter.as_deref() {
        None => Ok(Exporter::Text),
        Some(class) if class.ends_with("JSONArrayMeasurementsExporter") => Ok(Exporter::JsonArray),
        Some(class) if class.ends_with("JSONMeasurementsExporter") => Ok(Exporter::Json),
        Some(class) if class.ends_with("TextMeasurementsExporter") => Ok(Exporter::Text),
        Some(class) => Err(usage(format!(
            "there is no exporter {class}; there are TextMeasurementsExporter, \
             JSONMeasurementsExporter, JSONArrayMeasurementsExporter"
        ))),
    }
}
