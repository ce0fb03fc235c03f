//! A finished distribution from counted buckets.

use assay_model::Nanos;

use crate::QUANTILES;
use crate::buckets::{Buckets, EXACT, highest};
use crate::confidence::Batches;
use crate::summary::{Distribution, Interval, Percentile};

/// Reads everything that is shown of one latency from its buckets.
pub fn distribution(
    buckets: &Buckets<EXACT>,
    batches: &Batches,
    min: Nanos,
    max: Nanos,
    mean_ns: f64,
) -> Distribution {
    let histogram = buckets.histogram();
    let count = histogram.len();
    let percentiles = if count == 0 {
        Vec::new()
    } else {
        let read = |quantile| percentile(buckets, batches, count, quantile, max);
        QUANTILES.iter().map(|&quantile| read(quantile)).collect()
    };
    let stddev_ns = if count == 0 { 0.0 } else { histogram.stdev() };
    Distribution { histogram, count, saturated: 0, mean_ns, stddev_ns, min, max, percentiles }
}

fn percentile(
    buckets: &Buckets<EXACT>,
    batches: &Batches,
    count: u64,
    quantile: f64,
    max: Nanos,
) -> Percentile {
    if quantile >= 1.0 {
        return Percentile { quantile, value: max, interval: Interval::Undefined };
    }
    let at = |rank| at_rank(buckets, rank, max);
    let value = at(rank(count, quantile));
    let interval = batches.interval(count, quantile, value, at);
    Percentile { quantile, value, interval }
}

/// The 1-based rank of the smallest value that a share of `quantile` does not exceed.
///
/// 0.99 · 100 must be 99, although a product of floating-point numbers may come out just above.
pub fn rank(count: u64, quantile: f64) -> u64 {
    let exact = quantile * count as f64;
    ((exact * (1.0 - 4.0 * f64::EPSILON)).ceil() as u64).clamp(1, count.max(1))
}

fn at_rank(buckets: &Buckets<EXACT>, rank: u64, max: Nanos) -> Nanos {
    let bucket = buckets.at_rank(rank).expect("a distribution with values has a bucket");
    Nanos(highest::<EXACT>(bucket)).min(max)
}
