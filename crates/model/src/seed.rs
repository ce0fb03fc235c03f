//! Counter-based randomness: draw `i` depends on (seed, stream, `i`) alone.
//!
//! The mixing function is the finaliser of SplitMix64 (Steele, Lea, Flood: "Fast splittable
//! pseudorandom number generators", OOPSLA 2014, variant 13 by Stafford). A [`Draws`] starts at a
//! mixed point and walks by the golden gamma, so any worker or agent can produce its share of a
//! stream alone and the union is the single-machine stream.

use std::fmt;

const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// The number from which everything random in a run follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seed(pub u64);

impl Seed {
    /// The draws of item `index` in `stream`.
    ///
    /// Streams are small constants that each user of randomness chooses for itself (arrivals,
    /// operations, values …), so that none can disturb another.
    #[inline]
    pub fn draws(self, stream: u64, index: u64) -> Draws {
        self.stream(stream).draws(index)
    }

    /// One stream by itself, for those who draw from it often.
    #[inline]
    pub fn stream(self, stream: u64) -> Stream {
        Stream { worker: mix(self.0 ^ mix(stream.wrapping_add(GOLDEN_GAMMA))) }
    }
}

/// One stream of a seed: what [`Seed::draws`] mixes once for all items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    worker: u64,
}

impl Stream {
    /// The draws of item `index`; the same as [`Seed::draws`] gives.
    #[inline]
    pub fn draws(self, index: u64) -> Draws {
        Draws { state: mix(self.worker ^ index.wrapping_mul(GOLDEN_GAMMA)) }
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A short sequence of independent draws that belong to one item.
#[derive(Clone, Debug)]
pub struct Draws {
    state: u64,
}

impl Draws {
    /// 64 uniform bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN_GAMMA);
        mix(self.state)
    }

    /// Uniform in [0, 1), a multiple of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in 0..`bound`, by Lemire's multiplication (bias below `bound` / 2^64).
    ///
    /// # Panics
    /// In debug builds if `bound` is zero.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0, "a draw below zero has no value");
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }
}

/// A bijection of 64-bit numbers in which every input bit moves about half of the output bits.
#[inline]
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_item_always_draws_the_same() {
        let mut once = Seed(7).draws(1, 42);
        let mut again = Seed(7).draws(1, 42);
        assert_eq!([once.bits(), once.bits()], [again.bits(), again.bits()]);
    }

    #[test]
    fn a_stream_draws_what_its_seed_draws() {
        let mut kept = Seed(7).stream(1).draws(42);
        assert_eq!(kept.bits(), Seed(7).draws(1, 42).bits());
    }

    #[test]
    fn neighbouring_items_and_streams_draw_differently() {
        let first = |stream, index| Seed(7).draws(stream, index).bits();
        assert_ne!(first(1, 42), first(1, 43));
        assert_ne!(first(1, 42), first(2, 42));
    }

    #[test]
    fn first_draws_of_many_items_are_uniform() {
        let mut counts = [0u32; 64];
        for index in 0..64_000 {
            counts[Seed(3).draws(5, index).below(64) as usize] += 1;
        }
        let chi_square: f64 =
            counts.iter().map(|&c| (f64::from(c) - 1000.0).powi(2) / 1000.0).sum();
        // 63 degrees of freedom: 99.9 % of uniform samples stay below 103.4.
        assert!(chi_square < 103.4, "chi-square {chi_square}");
    }
}
