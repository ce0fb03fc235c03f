//! Latency over throughput as the clients of a closed loop become more.

use assay_analysis::matrix::{LatencyPoint, Metric, OperationFilter, Place, Setup};

use super::MatrixStudy;
use super::rows::closed_loads;
use crate::table::{Align, Table};
use crate::units::{Letters, percent, plural};

use super::words::value;

const RESPONSE: fn(Place) -> Metric = |place| Metric::Response(OperationFilter::All, place);

/// One store with one workload on one number of nodes.
pub struct LatencyCurve {
    /// What its points have in common; the load is that of the first.
    pub setup: Setup,
    /// Numbers of clients with what was found, rising: two at least.
    pub points: Vec<(u32, LatencyPoint)>,
}

/// Every curve with two points at least; what keeps nothing has none.
pub fn latency_curves(study: &MatrixStudy) -> Vec<LatencyCurve> {
    let mut loads: Vec<(usize, u32)> = closed_loads(study).collect();
    loads.sort_by_key(|(_, clients)| *clients);
    let mut kinds: Vec<Setup> = study.matrix.setups();
    kinds.retain(|setup| !study.is_no_op(*setup));
    kinds.iter_mut().for_each(|setup| setup.load = loads.first().map_or(0, |(load, _)| *load));
    kinds.sort_unstable_by_key(|setup| (setup.nodes, setup.workload, setup.store));
    kinds.dedup();
    let curve = |setup: Setup| {
        let points = loads.iter().filter_map(|(load, clients)| {
            Some((*clients, study.matrix.latency_point(Setup { load: *load, ..setup })?))
        });
        LatencyCurve { setup, points: points.collect() }
    };
    kinds.into_iter().map(curve).filter(|curve| curve.points.len() > 1).collect()
}

/// The points of all curves.
pub fn latency_table(study: &MatrixStudy, letters: Letters) -> Table {
    let (left, right) = (Align::Left, Align::Right);
    let mut table = Table::new(&[
        ("workload", left),
        ("store", left),
        ("load", right),
        ("throughput", right),
        ("p50", right),
        ("p99", right),
        ("failed", right),
        ("rows per scan", right),
    ]);
    for curve in latency_curves(study) {
        for (clients, point) in &curve.points {
            table.row(vec![
                study.workloads[curve.setup.workload].clone(),
                super::setup_name(study, curve.setup),
                plural((*clients).into(), "client"),
                value(Metric::Throughput, point.throughput.mean, letters),
                value(RESPONSE(Place::P50), point.p50.mean, letters),
                value(RESPONSE(Place::P99), point.p99.mean, letters),
                percent(point.failed),
                point.rows_per_scan.map_or("-".to_owned(), |rows| format!("{rows:.1}")),
            ]);
        }
    }
    table
}
