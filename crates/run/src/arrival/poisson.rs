//! The gaps of a Poisson process.

use assay_model::Seed;

/// The stream of draws that belongs to arrival gaps.
const STREAM: u64 = 0x6172_7269;

/// The gap before arrival `index`, in units of the mean gap: exponential with mean 1.
///
/// By inversion, −ln(1 − u). The logarithm is libm's, not the system's, so that the bytes of a
/// schedule are the same on every machine.
#[inline]
pub fn gap(seed: Seed, index: u64) -> f64 {
    -libm::log(1.0 - seed.draws(STREAM, index).unit())
}
