//! Places of arrivals that keep to a beat, each late by a random part of it.

use assay_model::seed::Stream;

/// The place of arrival `index`: index + share · u, u uniform in [0, 1).
///
/// What timers of many devices do. Gaps have mean 1 and the coefficient of variation
/// share / √6; a late arrival does not delay the next, so counts stay as even as the beat.
#[inline]
pub fn place(stream: Stream, index: u64, share: f64) -> f64 {
    index as f64 + share * stream.draws(index).unit()
}
