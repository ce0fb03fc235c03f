//! The non-uniform draws of TPC-C with the names they lead to.

use assay_model::{Draws, Seed};

/// NURand(A, x, y) of clause 2.1.6: `a` is A, `c` is C, the range is `x..=y`.
///
/// The two draws are combined bit by bit, so numbers with many ones are drawn more often.
///
/// # Panics
/// In debug builds if `x` is above `y`.
pub fn nurand(a: u64, c: u64, x: u64, y: u64, draws: &mut Draws) -> u64 {
    debug_assert!(x <= y, "a range has at least one number");
    let of_a = draws.below(a + 1);
    let of_range = x + draws.below(y - x + 1);
    ((of_a | of_range) + c) % (y - x + 1) + x
}

/// A of clause 2.1.6, by what is drawn.
pub(super) const A_LAST: u64 = 255;
const A_CUSTOMER: u64 = 1023;
const A_ITEM: u64 = 8191;

/// Clause 4.3.2.3: the syllables of last names.
const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// The last name with this number, below 1000: a syllable for each digit.
///
/// # Panics
/// If the number is above 999.
pub fn last_name(number: u64) -> String {
    assert!(number < 1000, "last names are numbered from 0 to 999");
    [number / 100, number / 10 % 10, number % 10].map(|digit| SYLLABLES[digit as usize]).concat()
}

/// C of each range, constant for a whole run (clause 2.1.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Constants {
    /// For last names.
    pub last: u64,
    customer: u64,
    item: u64,
}

/// The stream of a seed that constants come from.
const STREAM: u64 = super::district::STREAMS + 0x40;

/// Clause 2.1.6.1: by how much C of last names in the run differs from that in the load, with two
/// exceptions.
const DELTAS: std::ops::RangeInclusive<u64> = 65..=119;
const NO_DELTAS: [u64; 2] = [96, 112];

/// C of last names in the load.
pub(super) fn constant_of_load(rows: Seed) -> u64 {
    rows.draws(STREAM, 0).below(A_LAST + 1)
}

impl Constants {
    /// The constants of a run with `seed` over rows of the seed `rows`.
    pub(super) fn of_run(seed: Seed, rows: Seed) -> Constants {
        let draws = &mut seed.draws(STREAM, 1);
        let loaded = constant_of_load(rows);
        let deltas: Vec<u64> = DELTAS.filter(|delta| !NO_DELTAS.contains(delta)).collect();
        let delta = deltas[draws.below(deltas.len() as u64) as usize];
        // One of the two directions always stays within 0..=A.
        let last = if loaded >= delta { loaded - delta } else { loaded + delta };
        Constants { last, customer: draws.below(A_CUSTOMER + 1), item: draws.below(A_ITEM + 1) }
    }

    /// The number of a customer of `customers` (clause 2.1.6: NURand(1023, 1, 3000)).
    pub(super) fn customer(&self, customers: u64, draws: &mut Draws) -> u64 {
        nurand(A_CUSTOMER, self.customer, 1, customers, draws)
    }

    /// The number of an item of `items` (clause 2.1.6: NURand(8191, 1, 100000)).
    pub(super) fn item(&self, items: u64, draws: &mut Draws) -> u64 {
        nurand(A_ITEM, self.item, 1, items, draws)
    }

    /// The number of a last name that one of `customers` has (NURand(255, 0, 999)).
    pub(super) fn name(&self, customers: u64, draws: &mut Draws) -> u64 {
        nurand(A_LAST, self.last, 0, customers.min(1000) - 1, draws)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::theory::{chi_square_holds, counted};

    #[test]
    fn last_names_are_syllables_of_the_digits() {
        assert_eq!(last_name(0), "BARBARBAR");
        assert_eq!(last_name(371), "PRICALLYOUGHT");
        assert_eq!(last_name(999), "EINGEINGEING");
    }

    /// How often NURand(255, 0, 999) gives each number, by going through all pairs of draws.
    fn theory(c: u64) -> Vec<f64> {
        let mut ways = vec![0.0; 1000];
        for (of_a, of_range) in (0..256).flat_map(|a| (0..1000).map(move |x| (a, x))) {
            ways[(((of_a | of_range) + c) % 1000) as usize] += 1.0 / 256_000.0;
        }
        ways
    }

    #[test]
    fn draws_follow_the_formula() {
        let expected = theory(157);
        let counts = counted(200_000, 1000, |draws| nurand(255, 157, 0, 999, draws));
        chi_square_holds(&counts, |number| expected[number]);
        let hottest = expected.iter().fold(0.0f64, |most, share| most.max(*share));
        assert!(hottest > 0.005, "some numbers come more often than one in a thousand: {hottest}");
    }

    #[test]
    fn draws_stay_in_their_range() {
        for index in 0..10_000 {
            let number = nurand(8191, 8000, 1, 20, &mut Seed(1).draws(1, index));
            assert!((1..=20).contains(&number));
        }
    }

    #[test]
    fn the_constant_of_a_run_keeps_its_distance_from_that_of_the_load() {
        for seed in 0..2_000 {
            let (run, rows) = (Seed(seed), Seed(seed * 7 + 1));
            let last = Constants::of_run(run, rows).last;
            let distance = last.abs_diff(constant_of_load(rows));
            assert!(last <= A_LAST && DELTAS.contains(&distance), "{last} {distance}");
            assert!(!NO_DELTAS.contains(&distance));
        }
    }
}
