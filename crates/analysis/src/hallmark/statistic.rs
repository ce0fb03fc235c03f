//! Statistics that checks are made of, each a pure function of a few numbers.

pub mod autocorrelation;
pub mod changes;
pub mod dispersion;
pub mod distance;
pub mod mixture;
pub mod mser;
pub mod theil_sen;

/// The arithmetic mean; 0 if there is nothing.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// How often a normal variable is more than `sigmas` standard deviations off, either way.
///
/// Rational approximation 7.1.26 of M. Abramowitz and I. Stegun, "Handbook of Mathematical
/// Functions" (1964), for the error function: right to 2e-7.
pub fn beyond_sigmas(sigmas: f64) -> f64 {
    let x = sigmas.max(0.0) / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let terms = [0.254_829_592, -0.284_496_736, 1.421_413_741, -1.453_152_027, 1.061_405_429];
    let sum = terms.iter().rev().fold(0.0, |sum, term| (sum + term) * t);
    sum * (-x * x).exp()
}

/// The sum of squared distances from the mean.
pub fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations_are_as_rare_as_tables_say() {
        for (sigmas, table) in [(0.0, 1.0), (1.0, 0.317_311), (2.0, 0.045_5), (3.0, 0.002_7)] {
            let found = beyond_sigmas(sigmas);
            assert!((found - table).abs() < 1e-6, "{sigmas}: {found}");
        }
    }
}
