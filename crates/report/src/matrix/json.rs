//! The study as one JSON object.
//!
//! Names are in alphabetical order.

use std::collections::BTreeMap;

use assay_analysis::compare::Spread;
use assay_analysis::matrix::{ClientsFit, Metric, Setup};
use assay_analysis::usl::{Peak, Refusal, Usl, UslFit};
use assay_model::SheetValues;
use schemars::JsonSchema;
use serde::Serialize;

use super::published::figure_warnings;
use super::rows::{looks_at, refusal_text, refusals};
use super::sheet::matrix_sheet;
use super::words::{findings, metric_name};
use super::{FailedCell, MatrixStudy};
use crate::object::{objects, pretty};
use crate::units::Letters;
use crate::verdict::Finding;

/// The version of the object.
pub const MATRIX_SCHEMA: &str = "assay.study.1";

/// The study as one JSON object: setups with every metric's runs, then the table of all runs.
pub fn matrix_json(study: &MatrixStudy) -> String {
    pretty(&MatrixObject::new(study))
}

objects! {
/// A study: stores × workloads × nodes × loads.
#[schemars(title = "A study of stores, workloads, nodes and loads")]
pub struct MatrixObject<'a>(study: &'a MatrixStudy)
where
    let letters = Letters::Unicode;
    let setup = |setup| SetupObject::new(study, setup);
    let scalability = |row| scalability(study, row);
    let published = study.published.as_ref();
{
    /// The version of this program.
    assay: &'a str = &study.version,
    /// The command that repeats it, as one line for a shell.
    command: &'a str = &study.command,
    /// The number of runs that came to their ends.
    done: usize = study.matrix.cells.len(),
    /// The runs that did not.
    failed: Vec<FailedCellObject<'a>> = study.failed.iter().map(FailedCellObject::new).collect(),
    /// What a reader must know before any figure, worst first.
    findings: Vec<MatrixFindingObject> =
        findings(study, letters).into_iter().map(MatrixFindingObject::new).collect(),
    /// Whether it was stopped before all runs were made.
    is_interrupted: bool,
    /// The client machine, which also ran the labs' stores.
    machine: &'a str = &study.machine,
    /// Its name.
    name: &'a str = &study.name,
    /// Setups that are in no ranking, with the reason.
    not_ranked: Vec<String> = refusals(study),
    /// The names of the runs in the order in which they were made.
    order: &'a [String] = &study.order,
    /// The number of runs that were planned.
    planned: usize,
    /// A row for each sort of operation of a run, by column; times are in nanoseconds.
    rows: Vec<BTreeMap<&'static str, SheetValue>> = sheet_rows(study),
    /// The law of each store over the clients of closed loops, or why there is none.
    scalability: Vec<ScalabilityObject<'a>> = study.figures.fits.iter().map(scalability).collect(),
    /// The operations and durations as a share of what the study file says.
    scale: f64,
    /// The version of this object.
    #[schemars(extend("const" = MATRIX_SCHEMA))]
    schema: &'static str = MATRIX_SCHEMA,
    /// The seed from which the order and everything random in the runs follow.
    seed: u64,
    /// The setups with the runs of every metric.
    setups: Vec<SetupObject<'a>> = study.matrix.setups().into_iter().map(setup).collect(),
    /// What it is about, in one line.
    title: &'a str = &study.title,
    /// The time in nanoseconds that all runs took, with starting and filling their stores.
    took_ns: u64 = study.took.0,
    /// Problems of the published figures; null if there are no published figures.
    warnings: Option<Vec<String>> = published.map(|published| figure_warnings(published, letters)),
}

/// One thing to know before any figure.
struct MatrixFindingObject(finding: Finding) {
    /// What it is, in one or two words.
    name: &'static str,
    /// What it is, in a sentence.
    text: String,
}

/// A run that did not come to its end.
struct FailedCellObject<'a>(failed: &'a FailedCell) {
    /// Its name.
    cell: &'a str = &failed.id,
    /// Why.
    reason: &'a str = &failed.reason,
}

/// What a run has in common with its repetitions.
struct SetupObject<'a>(study: &'a MatrixStudy, setup: Setup)
where
    let metric = |metric: Metric| {
        let spread = study.figures.get(setup, metric)?;
        Some((metric_name(metric), MetricObject::new(spread)))
    };
{
    /// The durability of the store.
    durability_class: &'static str = study.durability_of(setup).name(),
    /// Whether the store keeps nothing: its figures are a floor, no ranking.
    is_no_op: bool = study.is_no_op(setup),
    /// The name of the load.
    load: &'a str = &study.loads[setup.load].name,
    /// The spread of each metric between the runs, by its name.
    metrics: BTreeMap<String, MetricObject> =
        looks_at(study).into_iter().filter_map(metric).collect(),
    /// The number of the store's nodes; null if it is not known.
    nodes: Option<usize> = setup.nodes,
    /// The name of the store.
    store: &'a str = &study.stores[setup.store].name,
    /// The name of the workload.
    workload: &'a str = &study.workloads[setup.workload],
}

/// The spread of a metric from run to run: nanoseconds, operations per second, or a share.
struct MetricObject(spread: &Spread) {
    /// The upper end of the 95 % interval of the mean, in the metric's unit; null of a single run.
    high: Option<f64> = spread.interval.map(|(_, high)| high),
    /// The lower end of the 95 % interval of the mean, in the metric's unit; null of a single run.
    low: Option<f64> = spread.interval.map(|(low, _)| low),
    /// The mean, in the metric's unit.
    mean: f64,
    /// The value of each run, in the metric's unit.
    runs: Vec<f64> = spread.values.clone(),
}

/// The universal scalability law of a store: throughput γ·N / (1 + α·(N − 1) + β·N·(N − 1)).
struct FitObject<'a>(fit: &UslFit, study: &'a MatrixStudy, row: &ClientsFit)
where
    let Usl { gamma, alpha, beta } = fit.law;
    let parameter = |place: usize, value| {
        ParameterObject::new(value, fit.intervals.map(|all| all[place]))
    };
{
    /// Contention.
    alpha: ParameterObject = parameter(1, alpha),
    /// The cost of agreement.
    beta: ParameterObject = parameter(2, beta),
    /// The share of the variance between the points that the law explains.
    explained: f64,
    /// The throughput of one client in operations per second.
    gamma: ParameterObject = parameter(0, gamma),
    /// The most clients that were measured.
    measured_up_to: f64,
    /// The number of the store's nodes; null if it is not known.
    nodes: Option<usize> = row.nodes,
    /// The number of clients of the highest throughput; null if it was not nearly measured.
    peak: Option<PeakObject> = match fit.peak {
        Peak::Measured(clients) | Peak::Expected(clients) => {
            Some(PeakObject::new(clients, fit.peak))
        }
        Peak::Unseen | Peak::Untold => None,
    },
    /// The name of the store.
    store: &'a str = &study.stores[row.store].name,
    /// The name of the workload.
    workload: &'a str = &study.workloads[row.workload],
}

/// A store without a law.
struct RefusedFitObject<'a>(row: &ClientsFit, study: &'a MatrixStudy, reason: Refusal) {
    /// The number of the store's nodes; null if it is not known.
    nodes: Option<usize>,
    /// Why there is no law.
    refused: String = refusal_text(reason),
    /// The name of the store.
    store: &'a str = &study.stores[row.store].name,
    /// The name of the workload.
    workload: &'a str = &study.workloads[row.workload],
}

/// A parameter of the law.
struct ParameterObject(value: f64, interval: Option<(f64, f64)>) {
    /// The ends of its 95 % interval; null if the runs do not tell the parameters apart.
    interval: Option<[f64; 2]> = interval.map(<[f64; 2]>::from),
    /// Its value.
    value: f64 = value,
}

/// The number of clients beyond which throughput falls.
struct PeakObject(clients: f64, peak: Peak) {
    /// The number of clients.
    clients: f64 = clients,
    /// Whether more clients were measured; if not, it follows from the law.
    is_measured: bool = matches!(peak, Peak::Measured(_)),
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

fn scalability<'a>(study: &'a MatrixStudy, row: &ClientsFit) -> ScalabilityObject<'a> {
    match &row.fit {
        Ok(fit) => ScalabilityObject::Fit(FitObject::new(fit, study, row)),
        Err(reason) => ScalabilityObject::Refused(RefusedFitObject::new(row, study, *reason)),
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
