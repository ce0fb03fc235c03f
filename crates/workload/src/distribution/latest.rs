//! YCSB's skewed-latest distribution: the newer a record, the more popular.

use assay_model::Draws;

use crate::distribution::zipfian::Zipfian;

/// Numbers up to the newest one; the distance from it is zipfian.
///
/// With `last` the newest number, YCSB draws among `last` distances, so number 0 never comes.
#[derive(Clone, Debug)]
pub struct SkewedLatest {
    distances: Zipfian,
}

impl SkewedLatest {
    /// A generator for a record set that has `last` as its newest number at first.
    ///
    /// # Panics
    /// If `theta` is not between 0 and 1, both excluded.
    pub fn new(last: u64, theta: f64) -> SkewedLatest {
        SkewedLatest { distances: Zipfian::new(last.max(1), theta) }
    }

    /// One number, with `last` as the newest. `last` must not fall from call to call.
    #[inline]
    pub fn draw(&mut self, last: u64, draws: &mut Draws) -> u64 {
        self.distances.grow(last);
        last - self.distances.rank(draws.unit(), last).min(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::theory::counted;

    #[test]
    fn shares_equal_those_observed_in_ycsb() {
        let mut latest = SkewedLatest::new(999, 0.99);
        let counts = counted(400_000, 1000, |draws| latest.draw(999, draws));
        let share = |number: usize| counts[number] as f64 / 400_000.0;
        assert_eq!(counts[0], 0, "number 0 never comes");
        assert!((share(999) - 0.1293).abs() < 0.002, "newest {}", share(999));
        assert!((share(998) - 0.0652).abs() < 0.002, "next {}", share(998));
    }

    #[test]
    fn the_newest_number_stays_the_hottest_while_numbers_are_added() {
        let mut latest = SkewedLatest::new(999, 0.99);
        latest.distances.grow(1999);
        let counts = counted(100_000, 2000, |draws| latest.draw(1999, draws));
        let hottest = counts.iter().enumerate().max_by_key(|(_, count)| **count);
        assert_eq!(hottest.map(|(number, _)| number), Some(1999));
    }

    #[test]
    fn a_single_record_is_always_drawn() {
        let mut latest = SkewedLatest::new(0, 0.99);
        assert_eq!(counted(100, 2, |draws| latest.draw(0, draws)), [100, 0]);
    }
}
