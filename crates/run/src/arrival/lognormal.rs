//! Independent gaps whose logarithm is normal: many short ones, few very long ones.

use assay_model::seed::Stream;

use super::normal::normal;

/// The parameters (μ, σ) of the lognormal distribution with mean 1 and this coefficient of
/// variation: σ² = ln(1 + cv²), μ = −σ²/2.
pub fn parameters(cv: f64) -> (f64, f64) {
    let variance = libm::log1p(cv * cv);
    (-variance / 2.0, variance.sqrt())
}

/// The gap before arrival `index`, in units of the mean gap.
#[inline]
pub fn gap(stream: Stream, index: u64, (mu, sigma): (f64, f64)) -> f64 {
    libm::exp(mu + sigma * normal(&mut stream.draws(index)))
}
