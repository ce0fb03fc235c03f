//! The index of dispersion of counts: how bursty arrivals are beside a Poisson process.

/// What a standard normal variable exceeds once in a thousand times.
const THOUSANDTH: f64 = 3.09;

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

/// How far above 1 the index of a Poisson process is once in a thousand times, where so many were
/// `expected`.
///
/// A count's squared distance has the variance 2e² + e, so stretches in which more is expected
/// weigh more: the index is about χ²/k of as many degrees k of freedom as give its variance. The
/// quantile is that of E. B. Wilson and M. M. Hilferty (PNAS 17, 1931).
pub fn chance(expected: &[f64]) -> f64 {
    let sum: f64 = expected.iter().sum();
    let squares: f64 = expected.iter().map(|e| e * e + e / 2.0).sum();
    if squares <= 0.0 {
        return 0.0;
    }
    let degrees = (sum * sum / squares * (1.0 - 1.0 / expected.len() as f64)).max(1.0);
    let ninth = 2.0 / (9.0 * degrees);
    (1.0 - ninth + THOUSANDTH * ninth.sqrt()).powi(3) - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_variance_by_mean() {
        // Mean 2, sum of squared distances 0 + 1 + 1 + 0, variance 2 / 3.
        let found = index(&[2.0, 1.0, 3.0, 2.0], &[1.0; 4]).unwrap();
        assert!((found - 1.0 / 3.0).abs() < 1e-12, "{found}");
        assert_eq!(index(&[5.0; 10], &[2.0; 10]), Some(0.0));
    }

    #[test]
    fn counts_that_follow_a_planned_ramp_are_not_bursty() {
        assert_eq!(index(&[10.0, 20.0, 30.0], &[1.0, 2.0, 3.0]), Some(0.0));
        assert!(index(&[10.0, 20.0, 30.0], &[1.0, 1.0, 1.0]).unwrap() > 4.0);
        assert_eq!(index(&[1.0], &[1.0]), None);
        assert_eq!(index(&[0.0, 0.0], &[1.0, 1.0]), None);
    }

    #[test]
    fn chance_is_that_of_chi_squared_and_more_where_expectations_differ() {
        // The 99.9th percentile of χ² with 19 degrees of freedom is 43.82.
        let many = chance(&[1e6; 20]);
        assert!((many - (43.82 / 19.0 - 1.0)).abs() < 0.01, "{many}");
        let spiked = |place| if place < 5 { 1e6 } else { 1e5 };
        let spiked: Vec<f64> = (0..20).map(spiked).collect();
        assert!(chance(&spiked) > 1.5 * many);
        assert!(chance(&[0.1; 20]) > 1.5 * many);
        assert_eq!(chance(&[]), 0.0);
    }
}
