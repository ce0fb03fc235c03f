//! A percentile of several intervals together, from the few percentiles that each has.
//!
//! Each interval's distribution is drawn through its percentiles, straight in the logarithm of the
//! latency; the sum is searched by bisection. Good to some percent, and equally so with and
//! without some of the intervals, which is what it is for.

use crate::summary::Quick;

/// The known points of an interval's distribution, from 1 ns on.
fn points(quick: &Quick) -> [(f64, f64); 6] {
    let ln = |value: assay_model::Nanos| (value.0.max(1) as f64).ln();
    let low = ln(quick.p50) - std::f64::consts::LN_2;
    [
        (low, 0.0),
        (ln(quick.p50), 0.5),
        (ln(quick.p90), 0.9),
        (ln(quick.p99), 0.99),
        (ln(quick.p999), 0.999),
        (ln(quick.max), 1.0),
    ]
}

/// The share of the interval's values that are at most e^`at`.
fn share(points: &[(f64, f64); 6], at: f64) -> f64 {
    let after = points.partition_point(|(value, _)| *value <= at);
    match after {
        0 => 0.0,
        6 => 1.0,
        _ => {
            let ((x, p), (y, q)) = (points[after - 1], points[after]);
            p + (q - p) * (at - x) / (y - x)
        }
    }
}

/// The value in nanoseconds that a share of `quantile` does not exceed; `None` of nothing.
pub fn quantile<'a>(intervals: impl Iterator<Item = &'a Quick>, quantile: f64) -> Option<f64> {
    let filled = intervals.filter(|quick| quick.count > 0);
    let curves: Vec<_> = filled.map(|quick| (quick.count as f64, points(quick))).collect();
    let total: f64 = curves.iter().map(|(count, _)| count).sum();
    let low = curves.iter().map(|(_, points)| points[0].0).reduce(f64::min)?;
    let high = curves.iter().map(|(_, points)| points[5].0).reduce(f64::max)?;
    let below = |at| curves.iter().map(|(count, points)| count * share(points, at)).sum::<f64>();
    let (mut low, mut high) = (low, high);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if below(middle) < quantile * total { low = middle } else { high = middle }
    }
    Some(high.exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::Nanos;

    fn quick(count: u64, p50: u64) -> Quick {
        let [p50, p90, p99, p999, max] = [1, 2, 4, 6, 8].map(|times| Nanos(p50 * times));
        Quick { count, p50, p90, p99, p999, max }
    }

    fn found(intervals: &[Quick], at: f64) -> f64 {
        quantile(intervals.iter(), at).unwrap()
    }

    #[test]
    fn equal_intervals_have_the_percentiles_of_one() {
        let all = [quick(100, 1000); 7];
        for (at, value) in [(0.5, 1000.0), (0.9, 2000.0), (0.99, 4000.0), (0.999, 6000.0)] {
            assert!((found(&all, at) / value - 1.0).abs() < 1e-6, "{at}");
        }
        assert_eq!(quantile([].iter(), 0.5), None);
    }

    #[test]
    fn a_slow_interval_moves_the_tail_by_its_share() {
        let mut all = vec![quick(1000, 1000); 30];
        let before = found(&all, 0.99);
        all[0] = quick(1000, 100_000);
        assert!(found(&all, 0.99) > before * 10.0);
        assert!(found(&all, 0.5) < 1100.0);
        assert!((found(&all[1..], 0.99) / before - 1.0).abs() < 1e-6);
    }
}
