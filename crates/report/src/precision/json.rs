//! The study as one JSON object.
//!
//! Names are in alphabetical order.

use std::collections::BTreeMap;

use assay_analysis::{BOX_QUANTILES, Boxplot};

use super::{PAPER, Precision, PrecisionRun, RunEnd, findings, paper};
use crate::object::{objects, pretty};
use crate::units::{Letters, percentile_name};
use crate::verdict::Finding;

/// The name of the JSON form.
pub const PRECISION_SCHEMA: &str = "assay.study-benchfoundry.1";

/// The study as one JSON object, times in nanoseconds.
pub fn precision_json(precision: &Precision) -> String {
    pretty(&PrecisionObject::new(precision))
}

objects! {
/// Punctuality of processes under growing load.
#[schemars(title = "Punctuality of processes under growing load")]
pub struct PrecisionObject<'a>(precision: &'a Precision) {
    /// The version of this program.
    assay: &'a str = &precision.version,
    /// The command that repeats it, as one line for a shell.
    command: &'a str = &precision.command,
    /// The directory that keeps a run directory for each run.
    dir: &'a str = &precision.dir,
    /// How long each run measures, in nanoseconds.
    duration_ns: u64 = precision.duration.0,
    /// What a reader must know before any figure, worst first.
    findings: Vec<Finding> = findings(precision, Letters::Unicode),
    /// The data set, in words.
    loaded: &'a str = &precision.loaded,
    /// The client machine.
    machine: &'a str = &precision.machine,
    /// Whether the store keeps nothing: its figures are a floor, no ranking.
    no_op: bool = precision.is_no_op,
    /// What the paper says of its own runs.
    paper: [&'static str; 3] = PAPER,
    /// The runs in the order in which they were made.
    runs: Vec<PrecisionRunObject<'a>> =
        precision.runs.iter().map(PrecisionRunObject::new).collect(),
    /// The version of this object.
    #[schemars(extend("const" = PRECISION_SCHEMA))]
    schema: &'static str = PRECISION_SCHEMA,
    /// The seed from which those of the runs follow.
    seed: u64,
    /// When processes begin, in words.
    starts: &'a str = &precision.starts,
    /// The store's URL without secrets.
    store: &'a str = &precision.url,
    /// A headline of a few words.
    title: &'a str = &precision.title,
    /// Processes per second at the factor 1.
    unit_per_s: f64,
}

/// The run of one load factor.
struct PrecisionRunObject<'a>(run: &'a PrecisionRun)
where
    let figures = run.figures.as_ref();
    let (ending, reason) = match &run.ending {
        RunEnd::Whole => ("whole", None),
        RunEnd::Interrupted => ("interrupted", None),
        RunEnd::Failed(reason) => ("failed", Some(reason.as_str())),
    };
{
    /// Processes that were done, per second of the run; null if nothing was measured.
    done_per_s: Option<f64> = figures.map(|figures| figures.done_per_s),
    /// How it ended.
    #[schemars(extend("enum" = ["whole", "interrupted", "failed"]))]
    ending: &'static str = ending,
    /// The load factor.
    factor: f64,
    /// The number of processes that were refused, unknown or dropped; null if nothing was measured.
    failed: Option<u64> = figures.map(|figures| figures.failed),
    /// The hallmark's verdict; null if nothing was measured.
    hallmark: Option<&'a str> = figures.map(|figures| figures.hallmark.as_str()),
    /// The reasons of the hallmark; null if nothing was measured.
    hallmark_reasons: Option<&'a str> = figures.map(|figures| figures.reasons.as_str()),
    /// What the paper says of this factor.
    paper: &'static str = paper(run.factor),
    /// Processes per second that were planned.
    planned_per_s: f64,
    /// Why it failed; null if it did not.
    reason: Option<&'a str> = reason,
    /// Response times of whole processes that were done, in nanoseconds by percentile, and their
    /// number (`count`); null if there are none.
    response_ns: Option<BTreeMap<String, u64>> =
        figures.and_then(|figures| figures.response).map(boxplot),
    /// The name of its run directory in the study's directory.
    run_dir: &'a str = &run.run_dir,
    /// Started − intended of the first operation of each process, in nanoseconds by percentile, and
    /// their number (`count`); null if there are none.
    scheduling_latency_ns: Option<BTreeMap<String, u64>> =
        figures.and_then(|figures| figures.starts).map(boxplot),
}
}

fn boxplot(found: Boxplot) -> BTreeMap<String, u64> {
    let quantiles = BOX_QUANTILES.iter().zip(found.quantiles);
    let named = quantiles.map(|(quantile, time)| (percentile_name(*quantile), time.0));
    named.chain([("count".to_owned(), found.count), ("max".to_owned(), found.max.0)]).collect()
}
