//! Distance of gaps from their distribution, apart from shifts too small to matter.
//!
//! The Kolmogorov–Smirnov distance sup |F(x) − G(x)|, except that F may be shifted by up to a
//! tolerance δ either way: the least ε with G(x − δ) − ε ≤ F(x) ≤ G(x + δ) + ε for all x. This is
//! the idea of the Lévy metric, with the two axes apart since one is time and the other a share.

/// The distance of `sorted` values to the distribution function `scheduled`.
pub fn to_distribution(sorted: &[f64], scheduled: impl Fn(f64) -> f64, tolerance: f64) -> f64 {
    let n = sorted.len() as f64;
    let excess = |(place, &value): (usize, &f64)| {
        let above = (place + 1) as f64 / n - scheduled(value + tolerance);
        let below = scheduled(value - tolerance) - place as f64 / n;
        above.max(below)
    };
    sorted.iter().enumerate().map(excess).fold(0.0, f64::max)
}

/// The distance of `sorted` values to other sorted values.
pub fn to_sample(sorted: &[f64], others: &[f64], tolerance: f64) -> f64 {
    one_sided(sorted, others, tolerance).max(one_sided(others, sorted, tolerance))
}

/// sup F(x) − G(x + δ), where F is that of `these` and G that of `those`.
fn one_sided(these: &[f64], those: &[f64], tolerance: f64) -> f64 {
    let (n, m) = (these.len() as f64, those.len() as f64);
    let mut reached = 0;
    let mut excess = 0.0f64;
    for (place, value) in these.iter().enumerate() {
        while reached < those.len() && those[reached] <= value + tolerance {
            reached += 1;
        }
        excess = excess.max((place + 1) as f64 / n - reached as f64 / m);
    }
    excess
}

/// The distance that chance alone makes once in a thousand times, with `n` values (Kolmogorov's
/// limiting distribution; M. A. Stephens, JASA 69, 1974).
pub fn chance(n: usize) -> f64 {
    1.949 / (n as f64).max(1.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::Seed;

    fn exponential(x: f64) -> f64 {
        if x <= 0.0 { 0.0 } else { 1.0 - (-x).exp() }
    }

    #[test]
    fn the_distance_to_a_uniform_distribution_is_known() {
        let uniform = |x: f64| x.clamp(0.0, 1.0);
        // F jumps to 2/3 at 0.4, where the promise is 0.4.
        let found = to_distribution(&[0.2, 0.4, 0.9], uniform, 0.0);
        assert!((found - (2.0 / 3.0 - 0.4)).abs() < 1e-12, "{found}");
    }

    #[test]
    fn exponential_gaps_are_near_and_constant_ones_far() {
        let mut gaps: Vec<f64> =
            (0..10_000).map(|i| -(1.0 - Seed(1).draws(1, i).unit()).ln()).collect();
        gaps.sort_unstable_by(f64::total_cmp);
        assert!(to_distribution(&gaps, exponential, 0.0) < chance(10_000));
        // 1 − 1/e of exponential gaps are below their mean, none of constant ones.
        let found = to_distribution(&[1.0; 100], exponential, 0.0);
        assert!((found - (1.0 - (-1.0f64).exp())).abs() < 1e-12, "{found}");
    }

    #[test]
    fn a_shift_within_the_tolerance_is_not_seen() {
        let constant = |x: f64| f64::from(x >= 1.0);
        let gaps = [0.97, 0.98, 1.0, 1.01, 1.3];
        assert!((to_distribution(&gaps, constant, 0.05) - 0.2).abs() < 1e-12);
        let others = [1.0, 1.0, 1.0, 1.0, 1.0];
        assert!((to_sample(&gaps, &others, 0.05) - 0.2).abs() < 1e-12);
        assert!((to_sample(&gaps, &others, 0.4) - 0.0).abs() < 1e-12);
    }
}
