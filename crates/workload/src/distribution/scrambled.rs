//! YCSB's scrambled zipfian: a rank among ten billion, hashed into the record set.
//!
//! It is not a Zipf distribution over the record set: the hottest of 1001 records gets 3.85 % of
//! the draws where Zipf's law with 0.99 gives 12.9 %. It exists because YCSB calls it zipfian.

use assay_model::Draws;

use crate::distribution::remainder::Remainder;
use crate::distribution::zipfian::Zipfian;
use crate::hash::hash;

const RANKS: u64 = 10_000_000_001;
const THETA: f64 = 0.99;
const ZETA: f64 = 26.46902820178302;
/// As the JVM computes it; `libm` ends up one unit in the last place above.
const ETA: f64 = 0.21220003380967406;

/// Numbers `first`..`first + items`.
#[derive(Clone, Debug)]
pub struct ScrambledZipfian {
    first: u64,
    items: Remainder,
    ranks: Zipfian,
}

impl ScrambledZipfian {
    /// # Panics
    /// If `items` is zero or above 2^62.
    pub fn new(first: u64, items: u64) -> ScrambledZipfian {
        let ranks = Zipfian::with_constants(RANKS, THETA, ZETA, ETA);
        ScrambledZipfian { first, items: Remainder::new(items), ranks }
    }

    /// One number.
    #[inline(always)]
    pub fn draw(&self, draws: &mut Draws) -> u64 {
        self.number(draws.unit())
    }

    /// The number of `unit`, in [0, 1).
    #[inline(always)]
    pub fn number(&self, unit: f64) -> u64 {
        self.first + self.items.of(hash(self.ranks.rank(unit, RANKS)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::theory::counted;

    #[test]
    fn numbers_equal_those_of_ycsb() {
        let zipfian = ScrambledZipfian::new(0, 1001);
        assert_eq!(zipfian.ranks.eta(), 0.21220003380967406);
        let points = [
            (0.01, 144),
            (0.05, 610),
            (0.06, 213),
            (0.1, 942),
            (0.2, 421),
            (0.25, 809),
            (0.5, 367),
            (0.9, 991),
            (0.99, 745),
        ];
        for (unit, number) in points {
            assert_eq!(zipfian.number(unit), number, "u = {unit}");
        }
    }

    #[test]
    fn shares_equal_those_observed_in_ycsb() {
        let zipfian = ScrambledZipfian::new(0, 1001);
        let mut counts = counted(1_000_000, 1001, |draws| zipfian.draw(draws));
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let share = |top: usize| counts[..top].iter().sum::<u64>() as f64 / 1e6;
        assert!((share(1) - 0.0385).abs() < 0.001, "hottest {}", share(1));
        assert!((share(200) - 0.400).abs() < 0.003, "hottest fifth {}", share(200));
    }
}
