//! The study as one JSON object.
//!
//! Names are in alphabetical order.

use std::collections::BTreeMap;

use assay_analysis::{BOX_QUANTILES, Boxplot};
use schemars::JsonSchema;
use serde::Serialize;

use super::{PAPER, Precision, PrecisionRun, RunEnd, findings, paper};
use crate::object::pretty;
use crate::units::{Letters, percentile_name};
use crate::verdict::Finding;

/// The name of the JSON form.
pub const PRECISION_SCHEMA: &str = "assay.study-benchfoundry.1";

/// The study as one JSON object, times in nanoseconds.
pub fn precision_json(precision: &Precision) -> String {
    pretty(&PrecisionObject::new(precision))
}

/// Punctuality of processes under growing load.
#[derive(JsonSchema, Serialize)]
#[schemars(title = "Punctuality of processes under growing load")]
pub struct PrecisionObject<'a> {
    /// The version of this program.
    assay: &'a str,
    /// The command that repeats it, as one line for a shell.
    command: &'a str,
    /// The directory that keeps a run directory for each run.
    dir: &'a str,
    /// How long each run measures, in nanoseconds.
    duration_ns: u64,
    /// What a reader must know before any figure, worst first.
    findings: Vec<Finding>,
    /// The data set, in words.
    loaded: &'a str,
    /// The client machine.
    machine: &'a str,
    /// Whether the store keeps nothing: its figures are a floor, no ranking.
    no_op: bool,
    /// What the paper says of its own runs.
    paper: [&'static str; 3],
    /// The runs in the order in which they were made.
    runs: Vec<PrecisionRunObject<'a>>,
    /// The version of this object.
    #[schemars(extend("const" = PRECISION_SCHEMA))]
    schema: &'static str,
    /// The seed from which those of the runs follow.
    seed: u64,
    /// When processes begin, in words.
    starts: &'a str,
    /// The store's URL without secrets.
    store: &'a str,
    /// A headline of a few words.
    title: &'a str,
    /// Processes per second at the factor 1.
    unit_per_s: f64,
}

impl PrecisionObject<'_> {
    fn new(precision: &Precision) -> PrecisionObject<'_> {
        PrecisionObject {
            assay: &precision.version,
            command: &precision.command,
            dir: &precision.dir,
            duration_ns: precision.duration.0,
            findings: findings(precision, Letters::Unicode),
            loaded: &precision.loaded,
            machine: &precision.machine,
            no_op: precision.is_no_op,
            paper: PAPER,
            runs: precision.runs.iter().map(PrecisionRunObject::new).collect(),
            schema: PRECISION_SCHEMA,
            seed: precision.seed,
            starts: &precision.starts,
            store: &precision.url,
            title: &precision.title,
            unit_per_s: precision.unit_per_s,
        }
    }
}

/// The run of one load factor.
#[derive(JsonSchema, Serialize)]
struct PrecisionRunObject<'a> {
    /// Processes that were done, per second of the run; null if nothing was measured.
    done_per_s: Option<f64>,
    /// How it ended.
    #[schemars(extend("enum" = ["whole", "interrupted", "failed"]))]
    ending: &'static str,
    /// The load factor.
    factor: f64,
    /// The number of processes that were refused, unknown or dropped; null if nothing was measured.
    failed: Option<u64>,
    /// The hallmark's verdict; null if nothing was measured.
    hallmark: Option<&'a str>,
    /// The reasons of the hallmark; null if nothing was measured.
    hallmark_reasons: Option<&'a str>,
    /// What the paper says of this factor.
    paper: &'static str,
    /// Processes per second that were planned.
    planned_per_s: f64,
    /// Why it failed; null if it did not.
    reason: Option<&'a str>,
    /// Response times of whole processes that were done, in nanoseconds by percentile, and their
    /// number (`count`); null if there are none.
    response_ns: Option<BTreeMap<String, u64>>,
    /// The name of its run directory in the study's directory.
    run_dir: &'a str,
    /// Started − intended of the first operation of each process, in nanoseconds by percentile, and
    /// their number (`count`); null if there are none.
    scheduling_latency_ns: Option<BTreeMap<String, u64>>,
}

impl PrecisionRunObject<'_> {
    fn new(run: &PrecisionRun) -> PrecisionRunObject<'_> {
        let figures = run.figures.as_ref();
        let (ending, reason) = match &run.ending {
            RunEnd::Whole => ("whole", None),
            RunEnd::Interrupted => ("interrupted", None),
            RunEnd::Failed(reason) => ("failed", Some(reason.as_str())),
        };
        PrecisionRunObject {
            done_per_s: figures.map(|figures| figures.done_per_s),
            ending,
            factor: run.factor,
            failed: figures.map(|figures| figures.failed),
            hallmark: figures.map(|figures| figures.hallmark.as_str()),
            hallmark_reasons: figures.map(|figures| figures.reasons.as_str()),
            paper: paper(run.factor),
            planned_per_s: run.planned_per_s,
            reason,
            response_ns: figures.and_then(|figures| figures.response).map(boxplot),
            run_dir: &run.run_dir,
            scheduling_latency_ns: figures.and_then(|figures| figures.starts).map(boxplot),
        }
    }
}

fn boxplot(found: Boxplot) -> BTreeMap<String, u64> {
    let quantiles = BOX_QUANTILES.iter().zip(found.quantiles);
    let named = quantiles.map(|(quantile, time)| (percentile_name(*quantile), time.0));
    named.chain([("count".to_owned(), found.count), ("max".to_owned(), found.max.0)]).collect()
}
