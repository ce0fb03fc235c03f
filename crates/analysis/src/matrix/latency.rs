//! Throughput with its latency: a point of the curve that many clients draw.

use assay_model::Kind;

use super::{LatencyStatistic, Matrix, Metric, OperationFilter, Setup};
use crate::compare::Spread;

/// The means over the runs of one setup.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyPoint {
    /// Done per second.
    pub throughput: Spread,
    /// The median of the response time, in nanoseconds.
    pub p50: Spread,
    /// The 99th percentile of the response time, in nanoseconds.
    pub p99: Spread,
    /// Refused, unknown and dropped as a share of what was offered.
    pub failed: f64,
    /// Rows that a scan returned, if there were scans: the length of a list.
    pub rows_per_scan: Option<f64>,
}

impl Matrix {
    /// The point of a setup, if it has runs with answers.
    pub(super) fn latency_point(&self, setup: Setup) -> Option<LatencyPoint> {
        let response = |place| Metric::Response(OperationFilter::All, place);
        let runs: Vec<_> = self.runs(setup).collect();
        let failed = runs.iter().map(|cell| cell.figures.failed).sum::<f64>() / runs.len() as f64;
        let scans = runs.iter().filter_map(|cell| cell.figures.of(SCANS));
        let (rows, done) = scans
            .fold((0, 0), |(rows, done), scan| (rows + scan.counts.rows, done + scan.counts.done));
        Some(LatencyPoint {
            throughput: self.spread(setup, Metric::Throughput)?,
            p50: self.spread(setup, response(LatencyStatistic::P50))?,
            p99: self.spread(setup, response(LatencyStatistic::P99))?,
            failed,
            rows_per_scan: (done > 0).then(|| rows as f64 / done as f64),
        })
    }
}

const SCANS: OperationFilter = OperationFilter::Kind(Kind::Scan);
