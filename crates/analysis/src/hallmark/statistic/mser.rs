//! End of the warm-up of a series, by the marginal standard error rule (MSER).
//!
//! K. P. White, "An effective truncation heuristic for bias reduction in simulation output",
//! Simulation 69 (1997), with batches of 5 (White, Cobb, Spratt, WSC 2000): of the batch means z,
//! leave out the first d that minimise Σ_{i>d} (z_i − z̄_d)² / (n − d)². The last batches are no
//! candidates, for of a few that happen to be alike the sum is next to nothing (Hoad, Robinson,
//! Davies, WSC 2008, who leave out five; with a quarter of all batches a noisy end never won over
//! a true warm-up in our simulations).

/// Intervals per batch, where there are many.
const BATCH: usize = 5;
/// With fewer batches than this, batches are made smaller.
const BATCHES: usize = 20;
/// Batches at the end that are always kept, at least.
const KEPT: usize = 5;
/// The part of all batches that is always kept, one in so many.
const KEPT_OF: usize = 4;

/// How many of `values` to leave out at the beginning.
pub fn truncation(values: &[f64]) -> usize {
    let size = (values.len() / BATCHES).clamp(1, BATCH);
    let means: Vec<f64> = values.chunks_exact(size).map(super::mean).collect();
    // From the end on: count, mean and sum of squares of what is kept (Welford's recursion).
    let (mut mean, mut squares) = (0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (kept, (d, value)) in (1..).zip(means.iter().enumerate().rev()) {
        let difference = value - mean;
        mean += difference / f64::from(kept);
        squares += difference * (value - mean);
        let error = squares / f64::from(kept).powi(2);
        if kept as usize >= KEPT.max(means.len() / KEPT_OF) && error <= best.0 {
            best = (error, d);
        }
    }
    best.1 * size
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::Seed;

    fn noisy(n: u64, level: impl Fn(u64) -> f64) -> Vec<f64> {
        (0..n).map(|i| level(i) * (0.95 + 0.1 * Seed(4).draws(1, i).unit())).collect()
    }

    #[test]
    fn a_constant_loses_nothing() {
        assert_eq!(truncation(&[7.0; 100]), 0);
        assert_eq!(truncation(&[]), 0);
        assert_eq!(truncation(&[1.0, 9.0]), 0);
    }

    #[test]
    fn a_slow_beginning_is_cut_off() {
        let cut = truncation(&noisy(200, |i| if i < 20 { 3.0 } else { 1.0 }));
        assert!((20..=40).contains(&cut), "{cut}");
        let cut = truncation(&noisy(30, |i| if i < 4 { 3.0 } else { 1.0 }));
        assert!((4..=12).contains(&cut), "{cut}");
    }

    #[test]
    fn a_run_that_never_becomes_steady_loses_more_than_half() {
        assert!(truncation(&noisy(200, |i| i as f64 + 1.0)) > 100);
    }
}
