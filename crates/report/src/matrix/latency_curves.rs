//! Latency over throughput as clients become more, or arrivals faster.

use assay_analysis::matrix::{LatencyPoint, LatencyStatistic, Metric, OperationFilter, Setup};

use super::rows::{closed_loads, setup_name};
use super::{MatrixStudy, StudyLoad};
use crate::table::Table;
use crate::units::{Letters, percent, plural};

use super::words::value;

const RESPONSE: fn(LatencyStatistic) -> Metric =
    |statistic| Metric::Response(OperationFilter::All, statistic);

/// One store with one workload on one number of nodes, under loads of one sort.
pub struct LatencyCurve {
    /// What its points have in common; the load is that of the first.
    pub setup: Setup,
    /// Whether its arrivals do not wait.
    pub is_open: bool,
    /// Places of loads with what was found, two at least: rising numbers of clients, or rates in
    /// the order of the study file.
    pub points: Vec<(usize, LatencyPoint)>,
}

/// Every curve with two points at least, of closed loops first; what keeps nothing has none.
pub fn latency_curves(study: &MatrixStudy) -> Vec<LatencyCurve> {
    let mut closed: Vec<(usize, u32)> = closed_loads(study).collect();
    closed.sort_by_key(|(_, clients)| *clients);
    let closed: Vec<usize> = closed.into_iter().map(|(load, _)| load).collect();
    let is_open = |load: &usize| study.loads[*load].clients.is_none();
    let open: Vec<usize> = (0..study.loads.len()).filter(is_open).collect();
    let mut curves = of_loads(study, &closed, false);
    curves.extend(of_loads(study, &open, true));
    curves
}

fn of_loads(study: &MatrixStudy, loads: &[usize], is_open: bool) -> Vec<LatencyCurve> {
    let Some(first) = loads.first() else { return Vec::new() };
    let mut kinds: Vec<Setup> = study.matrix.setups();
    kinds.retain(|setup| !study.is_no_op(*setup));
    kinds.iter_mut().for_each(|setup| setup.load = *first);
    kinds.sort_unstable_by_key(|setup| (setup.nodes, setup.workload, setup.store));
    kinds.dedup();
    let curve = |setup: Setup| {
        let points = loads.iter().filter_map(|load| {
            let point = study.figures.points.get(&Setup { load: *load, ..setup })?;
            Some((*load, point.clone()))
        });
        LatencyCurve { setup, is_open, points: points.collect() }
    };
    kinds.into_iter().map(curve).filter(|curve| curve.points.len() > 1).collect()
}

/// What stands beside the point of a load: its clients; a rate is told by the axis.
pub fn load_label(study: &MatrixStudy, load: usize) -> String {
    study.loads[load].clients.map_or_else(String::new, |clients| clients.to_string())
}

/// The same in words.
pub fn load_text(study: &MatrixStudy, load: usize) -> String {
    let StudyLoad { name, clients, .. } = &study.loads[load];
    clients.map_or_else(|| name.clone(), |clients| plural(clients.into(), "client"))
}

/// The points of all curves.
pub fn latency_table(study: &MatrixStudy, letters: Letters) -> Table {
    let rows = |point: &LatencyPoint| Some(format!("{:.1}", point.rows_per_scan?));
    let curves = latency_curves(study);
    let points = curves
        .iter()
        .flat_map(|curve| curve.points.iter().map(|(load, point)| (curve.setup, *load, point)));
    Table::of(points)
        .left("workload", |(setup, ..)| &study.workloads[setup.workload])
        .left("store", |(setup, ..)| setup_name(study, *setup))
        .right("load", |(_, load, _)| load_text(study, *load))
        .right("throughput", |(.., at)| value(Metric::Throughput, at.throughput.mean, letters))
        .right("p50", |(.., at)| value(RESPONSE(LatencyStatistic::P50), at.p50.mean, letters))
        .right("p99", |(.., at)| value(RESPONSE(LatencyStatistic::P99), at.p99.mean, letters))
        .right("failed", |(.., at)| percent(at.failed))
        .right("rows per scan", |(.., at)| rows(at).unwrap_or("-".to_owned()))
        .build()
}
