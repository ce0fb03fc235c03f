//! The study as one JSON object.
//!
//! Names are in alphabetical order.

use std::collections::BTreeMap;

use assay_analysis::compare::Spread;
use assay_analysis::matrix::{ClientsFit, Metric, Setup};
use assay_analysis::usl::{Peak, Usl, UslFit};
use assay_model::SheetValues;
use schemars::JsonSchema;
use serde::Serialize;

use super::published::figure_warnings;
use super::rows::{looks_at, refusal_text, refusals};
use super::sheet::matrix_sheet;
use super::words::{findings, metric_name};
use super::{FailedCell, MatrixStudy};
use crate::object::pretty;
use crate::units::Letters;
use crate::verdict::Finding;

/// The version of the object.
pub const MATRIX_SCHEMA: &str = "assay.study.1";

/// The study as one JSON object: setups with every metric's runs, then the table of all runs.
pub fn matrix_json(study: &MatrixStudy) -> String {
    pretty(&MatrixObject::new(study))
}

/// A study: stores × workloads × nodes × loads.
#[derive(JsonSchema, Serialize)]
#[schemars(title = "A study of stores, workloads, nodes and loads")]
pub struct MatrixObject<'a> {
    /// The version of this program.
    assay: &'a str,
    /// The command that repeats it, as one line for a shell.
    command: &'a str,
    /// The number of runs that came to their ends.
    done: usize,
    /// The runs that did not.
    failed: Vec<FailedCellObject<'a>>,
    /// What a reader must know before any figure, worst first.
    findings: Vec<MatrixFindingObject>,
    /// Whether it was stopped before all runs were made.
    is_interrupted: bool,
    /// The client machine, which also ran the labs' stores.
    machine: &'a str,
    /// Its name.
    name: &'a str,
    /// Setups that are in no ranking, with the reason.
    not_ranked: Vec<String>,
    /// The names of the runs in the order in which they were made.
    order: &'a [String],
    /// The number of runs that were planned.
    planned: usize,
    /// A row for each sort of operation of a run, by column; times are in nanoseconds.
    rows: Vec<BTreeMap<&'static str, SheetValue>>,
    /// The law of each store over the clients of closed loops, or why there is none.
    scalability: Vec<ScalabilityObject<'a>>,
    /// The operations and durations as a share of what the study file says.
    scale: f64,
    /// The version of this object.
    #[schemars(extend("const" = MATRIX_SCHEMA))]
    schema: &'static str,
    /// The seed from which the order and everything random in the runs follow.
    seed: u64,
    /// The setups with the runs of every metric.
    setups: Vec<SetupObject<'a>>,
    /// What it is about, in one line.
    title: &'a str,
    /// The time in nanoseconds that all runs took, with starting and filling their stores.
    took_ns: u64,
    /// Problems of the published figures; null if there are no published figures.
    warnings: Option<Vec<String>>,
}

impl MatrixObject<'_> {
    fn new(study: &MatrixStudy) -> MatrixObject<'_> {
        let letters = Letters::Unicode;
        let setup = |setup| SetupObject::new(study, setup);
        let scalability = |row| ScalabilityObject::new(study, row);
        let published = study.published.as_ref();
        MatrixObject {
            assay: &study.version,
            command: &study.command,
            done: study.matrix.cells.len(),
            failed: study.failed.iter().map(FailedCellObject::new).collect(),
            findings: findings(study, letters).into_iter().map(MatrixFindingObject::new).collect(),
            is_interrupted: study.is_interrupted,
            machine: &study.machine,
            name: &study.name,
            not_ranked: refusals(study),
            order: &study.order,
            planned: study.planned,
            rows: sheet_rows(study),
            scalability: study.figures.fits.iter().map(scalability).collect(),
            scale: study.scale,
            schema: MATRIX_SCHEMA,
            seed: study.seed,
            setups: study.matrix.setups().into_iter().map(setup).collect(),
            title: &study.title,
            took_ns: study.took.0,
            warnings: published.map(|published| figure_warnings(published, letters)),
        }
    }
}

/// One thing to know before any figure.
#[derive(JsonSchema, Serialize)]
struct MatrixFindingObject {
    /// What it is, in one or two words.
    name: &'static str,
    /// What it is, in a sentence.
    text: String,
}

impl MatrixFindingObject {
    fn new(Finding { name, text, .. }: Finding) -> MatrixFindingObject {
        MatrixFindingObject { name, text }
    }
}

/// A run that did not come to its end.
#[derive(JsonSchema, Serialize)]
struct FailedCellObject<'a> {
    /// Its name.
    cell: &'a str,
    /// Why.
    reason: &'a str,
}

impl FailedCellObject<'_> {
    fn new(failed: &FailedCell) -> FailedCellObject<'_> {
        FailedCellObject { cell: &failed.id, reason: &failed.reason }
    }
}

/// What a run has in common with its repetitions.
#[derive(JsonSchema, Serialize)]
struct SetupObject<'a> {
    /// The durability of the store.
    durability_class: &'static str,
    /// Whether the store keeps nothing: its figures are a floor, no ranking.
    is_no_op: bool,
    /// The name of the load.
    load: &'a str,
    /// The spread of each metric between the runs, by its name.
    metrics: BTreeMap<String, MetricObject>,
    /// The number of the store's nodes; null if it is not known.
    nodes: Option<usize>,
    /// The name of the store.
    store: &'a str,
    /// The name of the workload.
    workload: &'a str,
}

impl SetupObject<'_> {
    fn new(study: &MatrixStudy, setup: Setup) -> SetupObject<'_> {
        let metric = |metric: Metric| {
            let spread = study.figures.get(setup, metric)?;
            Some((metric_name(metric), MetricObject::new(spread)))
        };
        SetupObject {
            durability_class: study.durability_of(setup).name(),
            is_no_op: study.is_no_op(setup),
            load: &study.loads[setup.load].name,
            metrics: looks_at(study).into_iter().filter_map(metric).collect(),
            nodes: setup.nodes,
            store: &study.stores[setup.store].name,
            workload: &study.workloads[setup.workload],
        }
    }
}

/// The spread of a metric from run to run: nanoseconds, operations per second, or a share.
#[derive(JsonSchema, Serialize)]
struct MetricObject {
    /// The upper end of the 95 % interval of the mean, in the metric's unit; null of a single run.
    high: Option<f64>,
    /// The lower end of the 95 % interval of the mean, in the metric's unit; null of a single run.
    low: Option<f64>,
    /// The mean, in the metric's unit.
    mean: f64,
    /// The value of each run, in the metric's unit.
    runs: Vec<f64>,
}

impl MetricObject {
    fn new(spread: &Spread) -> MetricObject {
        MetricObject {
            high: spread.interval.map(|(_, high)| high),
            low: spread.interval.map(|(low, _)| low),
            mean: spread.mean,
            runs: spread.values.clone(),
        }
    }
}

/// The scalability law of a store over the clients of closed loops, or why there is none.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
enum ScalabilityObject<'a> {
    /// The law.
    Fit(FitObject<'a>),
    /// Why there is none.
    Refused(RefusedFitObject<'a>),
}

/// The universal scalability law of a store: throughput γ·N / (1 + α·(N − 1) + β·N·(N − 1)).
#[derive(JsonSchema, Serialize)]
struct FitObject<'a> {
    /// Contention.
    alpha: ParameterObject,
    /// The cost of agreement.
    beta: ParameterObject,
    /// The share of the variance between the points that the law explains.
    explained: f64,
    /// The throughput of one client in operations per second.
    gamma: ParameterObject,
    /// The most clients that were measured.
    measured_up_to: f64,
    /// The number of the store's nodes; null if it is not known.
    nodes: Option<usize>,
    /// The number of clients of the highest throughput; null if it was not nearly measured.
    peak: Option<PeakObject>,
    /// The name of the store.
    store: &'a str,
    /// The name of the workload.
    workload: &'a str,
}

/// A store without a law.
#[derive(JsonSchema, Serialize)]
struct RefusedFitObject<'a> {
    /// The number of the store's nodes; null if it is not known.
    nodes: Option<usize>,
    /// Why there is no law.
    refused: String,
    /// The name of the store.
    store: &'a str,
    /// The name of the workload.
    workload: &'a str,
}

/// A parameter of the law.
#[derive(JsonSchema, Serialize)]
struct ParameterObject {
    /// The ends of its 95 % interval; null if the runs do not tell the parameters apart.
    interval: Option<[f64; 2]>,
    /// Its value.
    value: f64,
}

/// The number of clients beyond which throughput falls.
#[derive(JsonSchema, Serialize)]
struct PeakObject {
    /// The number of clients.
    clients: f64,
    /// Whether more clients were measured; if not, it follows from the law.
    is_measured: bool,
}

impl ScalabilityObject<'_> {
    fn new<'a>(study: &'a MatrixStudy, row: &ClientsFit) -> ScalabilityObject<'a> {
        let (nodes, store) = (row.nodes, study.stores[row.store].name.as_str());
        let workload = study.workloads[row.workload].as_str();
        let fit = match &row.fit {
            Ok(fit) => fit,
            Err(reason) => {
                let refused = refusal_text(*reason);
                let object = RefusedFitObject { nodes, refused, store, workload };
                return ScalabilityObject::Refused(object);
            }
        };
        let UslFit { law: Usl { gamma, alpha, beta }, intervals, .. } = *fit;
        let parameter = |place: usize, value| ParameterObject {
            interval: intervals.map(|all| <[f64; 2]>::from(all[place])),
            value,
        };
        ScalabilityObject::Fit(FitObject {
            alpha: parameter(1, alpha),
            beta: parameter(2, beta),
            explained: fit.explained,
            gamma: parameter(0, gamma),
            measured_up_to: fit.measured_up_to,
            nodes,
            peak: match fit.peak {
                Peak::Measured(clients) => Some(PeakObject { clients, is_measured: true }),
                Peak::Expected(clients) => Some(PeakObject { clients, is_measured: false }),
                Peak::Unseen | Peak::Untold => None,
            },
            store,
            workload,
        })
    }
}

/// A value of the table of all runs.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
enum SheetValue {
    /// Words; empty if there is nothing to say.
    Text(String),
    /// A whole number; null if there is none.
    Count(Option<u64>),
    /// A number; null if there is none.
    Number(Option<f64>),
}

fn sheet_rows(study: &MatrixStudy) -> Vec<BTreeMap<&'static str, SheetValue>> {
    let mut rows = Vec::new();
    for column in matrix_sheet(study) {
        let values: Vec<SheetValue> = match column.values {
            SheetValues::Text(texts) => texts.into_iter().map(SheetValue::Text).collect(),
            SheetValues::Count(counts) => counts.into_iter().map(SheetValue::Count).collect(),
            SheetValues::Number(numbers) => numbers.into_iter().map(SheetValue::Number).collect(),
        };
        rows.resize_with(values.len(), BTreeMap::new);
        for (row, value) in rows.iter_mut().zip(values) {
            row.insert(column.name, value);
        }
    }
    rows
}
