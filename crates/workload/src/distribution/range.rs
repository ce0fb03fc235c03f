//! Numbers of a range that are all alike: drawn uniformly, or one after the other.

use assay_model::Draws;

/// Every number of `first`..`first + count` is as likely as any other.
#[derive(Clone, Copy, Debug)]
pub struct Uniform {
    /// The smallest number.
    pub first: u64,
    /// How many numbers, at least one.
    pub count: u64,
}

impl Uniform {
    /// One number.
    #[inline]
    pub fn draw(&self, draws: &mut Draws) -> u64 {
        self.first + draws.below(self.count)
    }
}

/// The numbers of `first`..`first + count` in turn, from the first again after the last.
#[derive(Clone, Copy, Debug)]
pub struct Sequential {
    /// The smallest number.
    pub first: u64,
    /// How many numbers, at least one.
    pub count: u64,
}

impl Sequential {
    /// The number of turn `turn`, counted from 0.
    #[inline]
    pub fn at(&self, turn: u64) -> u64 {
        self.first + turn % self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::theory::{chi_square_holds, counted};

    #[test]
    fn uniform_draws_spread_evenly() {
        let uniform = Uniform { first: 5, count: 50 };
        let counts = counted(100_000, 50, |draws| uniform.draw(draws) - 5);
        chi_square_holds(&counts, |_| 1.0 / 50.0);
    }

    #[test]
    fn turns_start_over_after_the_last() {
        let sequential = Sequential { first: 5, count: 4 };
        let found: Vec<u64> = (0..6).map(|turn| sequential.at(turn)).collect();
        assert_eq!(found, [5, 6, 7, 8, 5, 6]);
    }
}
