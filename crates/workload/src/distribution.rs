//! Distributions of keys, lengths, kinds: each maps uniform draws to numbers.
//!
//! Nothing here keeps a hidden state: a draw is a function of the generator's parameters with the
//! [`Draws`](assay_model::Draws) of one item. Floating-point functions come from `libm` or from
//! [`power`], never from the platform, so that every machine gives the same numbers.

pub mod fixed_power;
pub mod power;
pub mod remainder;
pub mod zeta;

pub mod range;

pub mod scatter;
pub mod scrambled;
pub mod zipf;
pub mod zipfian;

pub mod exponential;
pub mod hotspot;
pub mod latest;

pub mod discrete;
pub mod histogram;
pub mod listed;
pub mod tail;

pub use discrete::Discrete;
pub use exponential::Exponential;
pub use fixed_power::FixedPower;
pub use histogram::{Counting, Histogram, HistogramError};
pub use hotspot::Hotspot;
pub use latest::SkewedLatest;
pub use listed::Listed;
pub use power::Power;
pub use range::{Sequential, Uniform};
pub use remainder::Remainder;
pub use scatter::Scatter;
pub use scrambled::ScrambledZipfian;
pub use tail::{Curve, Tail};
pub use zipf::Zipf;
pub use zipfian::Zipfian;

#[cfg(test)]
pub(crate) mod theory;
