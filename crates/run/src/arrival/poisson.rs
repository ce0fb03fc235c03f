//! The gaps of a Poisson process.

use assay_model::seed::Stream;

/// The gap before arrival `index`, in units of the mean gap: exponential with mean 1.
///
/// By inversion, −ln(1 − u). The logarithm is libm's, not the system's, so that the bytes of a
/// schedule are the same on every machine.
#[inline]
pub fn gap(stream: Stream, index: u64) -> f64 {
    -libm::log(1.0 - stream.draws(index).unit())
}
