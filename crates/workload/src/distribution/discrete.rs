//! A choice among a few things with weights.

use assay_model::Draws;

/// Draws have this many bits before they become a number in [0, 1).
const DRAW_BITS: u32 = 53;

/// Chooses one of `N` places 0, 1, … with given weights.
///
/// YCSB walks through the weights and subtracts each from a uniform number until one is larger.
/// The place is monotone in the draw, so the draws at which it changes are found once, by
/// bisection over all 2^53 draws with YCSB's own arithmetic; a choice is then a few comparisons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discrete<const N: usize> {
    /// The first draw of each place.
    starts: [u64; N],
}

impl<const N: usize> Discrete<N> {
    /// # Panics
    /// If there are no weights, or one is negative or not finite, or all are zero.
    pub fn new(weights: &[f64; N]) -> Discrete<N> {
        let sum: f64 = weights.iter().sum();
        assert!(weights.iter().all(|&weight| weight >= 0.0), "a weight is not negative");
        assert!(sum > 0.0 && sum.is_finite(), "weights have a positive sum");
        Discrete { starts: std::array::from_fn(|place| first_draw(weights, sum, place)) }
    }

    /// The place of 64 uniform bits.
    #[inline]
    pub fn place(&self, bits: u64) -> usize {
        let draw = bits >> (64 - DRAW_BITS);
        let mut place = 0;
        for start in &self.starts[1..] {
            place += usize::from(draw >= *start);
        }
        place
    }

    /// One place.
    #[inline]
    pub fn draw(&self, draws: &mut Draws) -> usize {
        self.place(draws.bits())
    }

    /// The draws, as 53-bit numbers, that choose `place`: the first of them, the first beyond.
    pub fn interval(&self, place: usize) -> (u64, u64) {
        let start = |place: usize| self.starts.get(place).copied().unwrap_or(1 << DRAW_BITS);
        (start(place), start(place + 1))
    }
}

/// The least draw whose place is `place` or a later one.
fn first_draw(weights: &[f64], sum: f64, place: usize) -> u64 {
    let (mut low, mut high) = (0u64, 1u64 << DRAW_BITS);
    while low < high {
        let middle = low.midpoint(high);
        if walk(weights, sum, middle) >= place {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// YCSB's walk; a number that rounding leaves beyond all weights belongs to the last positive one.
fn walk(weights: &[f64], sum: f64, draw: u64) -> usize {
    let mut value = draw as f64 * (1.0 / (1u64 << DRAW_BITS) as f64);
    let mut last = 0;
    for (place, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
        if value < weight / sum {
            return place;
        }
        value -= weight / sum;
        last = place;
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::theory::{chi_square_holds, counted};
    use assay_model::Seed;

    #[test]
    fn choices_follow_the_weights() {
        let weights = [50.0, 30.0, 0.0, 15.0, 5.0];
        let discrete = Discrete::new(&weights);
        let counts = counted(100_000, 5, |draws| discrete.draw(draws) as u64);
        assert_eq!(counts[2], 0, "a weight of zero is never chosen");
        let without_zero: Vec<u64> = [0, 1, 3, 4].map(|place: usize| counts[place]).to_vec();
        chi_square_holds(&without_zero, |cell| [0.5, 0.3, 0.15, 0.05][cell]);
    }

    #[test]
    fn comparisons_choose_what_the_walk_chooses() {
        let weights = [0.1, 0.2, 0.0, 0.3, 0.4];
        let discrete = Discrete::new(&weights);
        let sum = weights.iter().sum();
        for index in 0..100_000 {
            let bits = Seed(9).draws(1, index).bits();
            assert_eq!(discrete.place(bits), walk(&weights, sum, bits >> 11));
        }
    }

    #[test]
    fn intervals_hold_exactly_the_draws_of_a_place() {
        let discrete = Discrete::new(&[0.95, 0.0, 0.05]);
        let (first, end) = discrete.interval(2);
        assert_eq!(end, 1 << 53);
        assert_eq!(discrete.place(first << 11), 2);
        assert_eq!(discrete.place((first - 1) << 11), 0);
        assert_eq!(discrete.interval(1), (first, first));
    }
}
