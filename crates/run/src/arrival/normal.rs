//! A standard normal number, from two draws.

use std::f64::consts::TAU;

use assay_model::Draws;

/// By Box and Muller ("A note on the generation of random normal deviates", 1958). One of the
/// pair is thrown away: an arrival has draws of its own, and no use for the other.
#[inline]
pub(crate) fn normal(draws: &mut Draws) -> f64 {
    let radius = (-2.0 * libm::log(1.0 - draws.unit())).sqrt();
    radius * libm::cos(TAU * draws.unit())
}
