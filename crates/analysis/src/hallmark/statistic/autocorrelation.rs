//! The period of the strongest oscillation in a series.
//!
//! The autocorrelation r_k = Σ (x_i − x̄)(x_{i+k} − x̄) / Σ (x_i − x̄)² (Box, Jenkins, "Time Series
//! Analysis", 1970, 2.1) of what oscillates has peaks at the multiples of its period. Divided by
//! the whole sum of squares it falls with k, so that the first of equal peaks is the highest.

use super::{mean, squares};

/// Standard deviations, 1/√n each, that the highest of many peaks of noise does not reach.
const SIGMAS: f64 = 3.3;

/// The lag of the highest peak, from 2 to half of the series, if it is a correlation of at least
/// `least` that chance does not explain.
pub fn period(values: &[f64], least: f64) -> Option<usize> {
    let n = values.len();
    let total = squares(values);
    if n < 4 || total <= 0.0 {
        return None;
    }
    let mean = mean(values);
    let at = |lag: usize| {
        let pairs = values.iter().zip(&values[lag..]);
        pairs.map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / total
    };
    let r: Vec<f64> = (0..=n / 2 + 1).map(at).collect();
    // What falls slowly from lag 0 on is a drift; peaks count once it has gone below zero.
    let first = r.iter().position(|&r| r < 0.0)?;
    let peaks = (first.max(2)..=n / 2).filter(|&k| r[k] >= r[k - 1] && r[k] >= r[k + 1]);
    let highest = peaks.max_by(|&a, &b| r[a].total_cmp(&r[b]).then(b.cmp(&a)))?;
    (r[highest] >= least.max(SIGMAS / (n as f64).sqrt())).then_some(highest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::Seed;

    #[test]
    fn the_period_of_a_spike_is_found() {
        let spikes = |n: u64, period| -> Vec<f64> {
            (0..n).map(|i| if i % period == 3 { 10.0 } else { 1.0 }).collect()
        };
        assert_eq!(period(&spikes(60, 7), 0.3), Some(7));
        assert_eq!(period(&spikes(60, 20), 0.3), Some(20));
    }

    #[test]
    fn noise_a_constant_and_a_drift_have_none() {
        let found = |seed| {
            let noise: Vec<f64> = (0..60).map(|i| Seed(seed).draws(1, i).unit()).collect();
            period(&noise, 0.3).is_some()
        };
        assert!((0..200).filter(|&seed| found(seed)).count() <= 4);
        assert_eq!(period(&[3.0; 40], 0.3), None);
        let drift: Vec<f64> = (0..40).map(f64::from).collect();
        assert_eq!(period(&drift, 0.3), None);
    }
}
