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

/// The sum of squared distances from the mean.
pub fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}
