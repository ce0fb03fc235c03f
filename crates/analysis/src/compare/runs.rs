//! Spread of one figure over several runs of one set-up.

use crate::Summary;
use crate::compare::figure::Figure;
use crate::compare::run_figure::RunFigures;
use crate::median::{median, sorted};
use crate::student::student;

/// The confidence of a run-level interval.
const CONFIDENCE: f64 = 0.95;

/// One figure of the runs of one set-up.
///
/// The values are each run's own; nothing here is a percentile of all operations together.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// The runs' values in the order of the runs.
    pub values: Vec<f64>,
    /// Half of the runs are at most this; the mean of the middle two for an even number.
    pub median: f64,
    /// The arithmetic mean of the runs' values.
    pub mean: f64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// The 95 % interval of the mean, mean ± t · s / √r with r − 1 degrees of freedom; none for a
    /// single run.
    pub interval: Option<(f64, f64)>,
    /// Standard deviation between runs as a share of the mean; none for a single run or a mean of
    /// zero.
    pub variation: Option<f64>,
}

/// The place of the run whose response p99 is the median of all, the lower one of two: it can stand
/// for the others.
///
/// # Panics
/// If there is no run.
pub fn median_run<'a>(runs: impl IntoIterator<Item = &'a Summary>) -> usize {
    let p99 = |run: &Summary| run.overall.hits.response.histogram.value_at_quantile(0.99);
    let mut order: Vec<(u64, usize)> =
        runs.into_iter().enumerate().map(|(place, run)| (p99(run), place)).collect();
    assert!(!order.is_empty(), "a set-up has at least one run");
    order.sort_unstable();
    order[(order.len() - 1) / 2].1
}

/// Sums up the values of runs.
///
/// # Panics
/// If there is none.
pub fn spread(values: &[f64]) -> Spread {
    assert!(!values.is_empty(), "a figure has the value of at least one run");
    let runs = values.len() as f64;
    let sorted = sorted(values.iter().copied());
    let mean = values.iter().sum::<f64>() / runs;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (values.len() > 1).then(|| (squares / (runs - 1.0)).sqrt());
    let interval = deviation.map(|deviation| {
        let reach = student(CONFIDENCE, runs - 1.0) * deviation / runs.sqrt();
        (mean - reach, mean + reach)
    });
    Spread {
        values: values.to_vec(),
        median: median(&sorted).unwrap_or(mean),
        mean,
        min: sorted[0],
        max: sorted[sorted.len() - 1],
        interval,
        variation: deviation.filter(|_| mean > 0.0).map(|deviation| deviation / mean),
    }
}

/// The figures that all runs of one set-up have, with their spread.
pub fn spreads(runs: &[RunFigures]) -> Vec<(Figure, Spread)> {
    let of = |figure: Figure| -> Option<(Figure, Spread)> {
        let values: Option<Vec<f64>> =
            runs.iter().map(|run| run.get(figure).map(|found| found.value)).collect();
        let values = values.filter(|values| !values.is_empty())?;
        Some((figure, spread(&values)))
    };
    Figure::all().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_runs_have_a_median_with_an_interval_of_their_mean() {
        let found = spread(&[10.0, 12.0, 11.0, 9.0, 13.0]);
        assert_eq!((found.median, found.mean, found.min, found.max), (11.0, 11.0, 9.0, 13.0));
        // s = √2.5, t of 4 degrees = 2.776.
        let reach = 2.776 * 2.5f64.sqrt() / 5f64.sqrt();
        let (low, high) = found.interval.unwrap();
        assert!((low - (11.0 - reach)).abs() < 0.01 && (high - (11.0 + reach)).abs() < 0.01);
        assert!((found.variation.unwrap() - 2.5f64.sqrt() / 11.0).abs() < 1e-12);
    }

    #[test]
    fn a_single_run_gives_no_spread_between_runs() {
        let found = spread(&[7.0]);
        assert_eq!((found.median, found.interval, found.variation), (7.0, None, None));
        assert_eq!(spread(&[1.0, 3.0]).median, 2.0);
        assert_eq!(spread(&[0.0, 0.0]).variation, None);
    }
}
