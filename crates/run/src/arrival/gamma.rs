//! Independent gaps with a gamma distribution: more even than Poisson's, or more ragged.

use assay_model::Draws;
use assay_model::seed::Stream;

use super::normal::normal;

/// The shape of the gamma distribution with this coefficient of variation: 1 / cv².
pub fn rate_profile(cv: f64) -> f64 {
    1.0 / (cv * cv)
}

/// The gap before arrival `index`, in units of the mean gap: gamma with `rate_profile`, scaled to
/// mean 1.
#[inline]
pub fn gap(stream: Stream, index: u64, rate_profile: f64) -> f64 {
    let draws = &mut stream.draws(index);
    if rate_profile >= 1.0 {
        return draw(draws, rate_profile) / rate_profile;
    }
    // A gamma of one more times a power of a uniform number is the gamma itself.
    let greater = draw(draws, rate_profile + 1.0);
    greater * libm::pow(1.0 - draws.unit(), 1.0 / rate_profile) / rate_profile
}

/// Marsaglia and Tsang, "A simple method for generating gamma variables" (2000); the shape is at
/// least 1. The draws belong to one arrival, so it may take as many as it needs: at worst one
/// attempt in twenty fails.
fn draw(draws: &mut Draws, rate_profile: f64) -> f64 {
    let d = rate_profile - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(draws);
        let root = 1.0 + c * x;
        if root <= 0.0 {
            continue;
        }
        let v = root * root * root;
        let u = 1.0 - draws.unit();
        if libm::log(u) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return d * v;
        }
    }
}
