//! The index of dispersion of counts: how bursty arrivals are beside a Poisson process.

/// Σ (c − e)² / Σ e, times m / (m − 1): about 1 for a Poisson process, 0 for even arrivals.
///
/// `expected` is scaled to the sum of the counts, since whether there were enough is another
/// question; with equal expectations this is variance by mean (Cox, Lewis, "The Statistical
/// Analysis of Series of Events", 1966, 4.4). `None` with fewer than two counts, or of nothing.
pub fn index(counts: &[f64], expected: &[f64]) -> Option<f64> {
    let m = counts.len().min(expected.len());
    let (sum, planned) = (counts[..m].iter().sum::<f64>(), expected[..m].iter().sum::<f64>());
    if m < 2 || sum <= 0.0 || planned <= 0.0 {
        return None;
    }
    let scale = sum / planned;
    let squares: f64 = counts.iter().zip(expected).map(|(c, e)| (c - e * scale).powi(2)).sum();
    Some(squares / sum * m as f64 / (m as f64 - 1.0))
}

/// Three standard deviations of the index of `m` counts of a Poisson process.
pub fn chance(m: usize) -> f64 {
    3.0 * (2.0 / (m as f64 - 1.0).max(1.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_variance_by_mean() {
        // Mean 2, sum of squares 2 + 2, variance 4 / 3.
        let found = index(&[2.0, 1.0, 3.0, 1.0 + 1.0 - 1.0 + 2.0 - 1.0], &[1.0; 4]).unwrap();
        let expected = 2.0 / 3.0 / 2.0;
        assert!((found - expected).abs() < 1e-12, "{found}");
        assert_eq!(index(&[5.0; 10], &[2.0; 10]), Some(0.0));
    }

    #[test]
    fn counts_that_follow_a_planned_ramp_are_not_bursty() {
        assert_eq!(index(&[10.0, 20.0, 30.0], &[1.0, 2.0, 3.0]), Some(0.0));
        assert!(index(&[10.0, 20.0, 30.0], &[1.0, 1.0, 1.0]).unwrap() > 4.0);
        assert_eq!(index(&[1.0], &[1.0]), None);
        assert_eq!(index(&[0.0, 0.0], &[1.0, 1.0]), None);
    }
}
