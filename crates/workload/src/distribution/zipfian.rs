//! YCSB's zipfian generator: the approximation of Gray et al. with a settable constant.
//!
//! J. Gray, P. Sundaresan, S. Englert, K. Baclawski, P. J. Weinberger: "Quickly generating
//! billion-record synthetic databases", SIGMOD 1994. Ranks 0 and 1 have their exact Zipf
//! probabilities; the others follow a continuous curve that is fitted to the sum.
//! [`Zipf`](super::Zipf) is the exact distribution; this one exists because YCSB's numbers come
//! from it.

use assay_model::Draws;

use crate::distribution::fixed_power::FixedPower;
use crate::distribution::power::Power;
use crate::distribution::zeta;

/// 2^52 + 2^51: adding it leaves the nearest integer in the low bits of the mantissa.
const ROUNDER: f64 = 6_755_399_441_055_744.0;
/// Those low bits; far above the largest number whose whole part the guard lets us be sure of.
const WHOLE: u64 = (1 << 51) - 1;

/// Ranks from 0, the most popular, to `items` − 1.
#[derive(Clone, Debug)]
pub struct Zipfian {
    items: u64,
    counted: u64,
    theta: f64,
    alpha: f64,
    zeta_two: f64,
    zeta: f64,
    eta: f64,
    second: f64,
    guard: f64,
    power: Box<Power>,
    near_one: Option<FixedPower>,
}

impl Zipfian {
    /// A generator for `items` items.
    ///
    /// # Panics
    /// If there are no items, or `theta` is not between 0 and 1, both excluded.
    pub fn new(items: u64, theta: f64) -> Zipfian {
        assert!(items > 0, "a zipfian distribution needs an item");
        let zeta = zeta::zeta(items, theta);
        let eta = eta(items, theta, zeta::zeta(2, theta), zeta);
        Zipfian::with_constants(items, theta, zeta, eta)
    }

    /// A generator with known constants.
    ///
    /// # Panics
    /// As [`Zipfian::new`].
    pub fn with_constants(items: u64, theta: f64, zeta: f64, eta: f64) -> Zipfian {
        assert!(items > 0, "a zipfian distribution needs an item");
        assert!(theta > 0.0 && theta < 1.0, "this formula needs a constant between 0 and 1");
        let alpha = 1.0 / (1.0 - theta);
        Zipfian {
            items,
            counted: items,
            theta,
            alpha,
            zeta_two: zeta::zeta(2, theta),
            zeta,
            eta,
            second: 1.0 + libm::pow(0.5, theta),
            guard: Power::error(14.0, alpha),
            power: Box::default(),
            near_one: FixedPower::new(alpha),
        }
    }

    /// The zeta that normalises it now.
    pub fn zeta(&self) -> f64 {
        self.zeta
    }

    /// YCSB's eta.
    pub fn eta(&self) -> f64 {
        self.eta
    }

    /// Makes room for `count` items. As in YCSB, the numerator of eta keeps the original number.
    pub fn grow(&mut self, count: u64) {
        if count > self.counted {
            self.zeta = zeta::extend(self.zeta, self.counted, count, self.theta);
            self.counted = count;
            self.eta = eta(self.items, self.theta, self.zeta_two, self.zeta);
        }
    }

    /// One rank.
    #[inline]
    pub fn draw(&self, draws: &mut Draws) -> u64 {
        self.rank(draws.unit(), self.counted)
    }

    /// The rank of `unit`, a number in [0, 1), among `count` items.
    ///
    /// Equal to [`Zipfian::rank_by_formula`] for every input: the quick power is known to be right
    /// within a guard, so where no whole number lies within that guard, the formula has the same
    /// whole part; elsewhere, once in thousands of draws, the formula itself is evaluated.
    #[inline(always)]
    pub fn rank(&self, unit: f64, count: u64) -> u64 {
        let scaled = unit * self.zeta;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < self.second {
            return 1;
        }
        let x = self.eta * unit - self.eta + 1.0;
        if let Some(near_one) = &self.near_one
            && let Some(power) = near_one.of(x)
        {
            let quick = count as f64 * power;
            return match surely_whole(quick, near_one.error()) {
                Some(whole) => whole,
                None => self.rank_by_formula(unit, count),
            };
        }
        self.rank_by_logarithm(unit, x, count)
    }

    /// The rank where the constant is so high, or the items are so few, that x is not near 1.
    fn rank_by_logarithm(&self, unit: f64, x: f64, count: u64) -> u64 {
        // Below e^-14 the guard does not hold; it takes a constant near 0 to get there.
        if x < 1e-6 {
            return self.rank_by_formula(unit, count);
        }
        let quick = count as f64 * self.power.pow(x, self.alpha);
        surely_whole(quick, self.guard).unwrap_or_else(|| self.rank_by_formula(unit, count))
    }

    /// The rank of `unit` as the paper's formula and `libm` give it.
    #[cold]
    pub fn rank_by_formula(&self, unit: f64, count: u64) -> u64 {
        let scaled = unit * self.zeta;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < self.second {
            return 1;
        }
        (count as f64 * libm::pow(self.eta * unit - self.eta + 1.0, self.alpha)) as u64
    }
}

/// The whole part of `quick`, if it is the same for every number within a relative `guard` of it.
#[inline]
fn surely_whole(quick: f64, guard: f64) -> Option<u64> {
    // Whatever is not near a whole number has its whole part as the nearest one to half less.
    let middle = quick - 0.5;
    let shifted = middle + ROUNDER;
    let off = middle - (shifted - ROUNDER);
    let whole = shifted.to_bits() & WHOLE;
    (off.abs() + quick * guard < 0.5).then_some(whole)
}

fn eta(items: u64, theta: f64, zeta_two: f64, zeta: f64) -> f64 {
    (1.0 - libm::pow(2.0 / items as f64, 1.0 - theta)) / (1.0 - zeta_two / zeta)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::theory::counted;
    use assay_model::Seed;

    #[test]
    fn parameters_equal_those_of_ycsb() {
        let zipfian = Zipfian::new(1000, 0.99);
        assert_eq!(zipfian.alpha, 99.99999999999991);
        assert!((zipfian.zeta() - 7.728953217284729).abs() < 1e-13);
        assert!((zipfian.eta() - 0.07480608670689805).abs() < 1e-14);
    }

    #[test]
    fn quick_ranks_equal_the_formula() {
        for (items, theta) in
            [(1, 0.99), (2, 0.99), (3, 0.5), (1000, 0.01), (1000, 0.99), (1 << 40, 0.999)]
        {
            let zipfian = Zipfian::new(items, theta);
            for index in 0..100_000 {
                let unit = Seed(4).draws(1, index).unit();
                assert_eq!(
                    zipfian.rank(unit, items),
                    zipfian.rank_by_formula(unit, items),
                    "u = {unit:?} of {items} with {theta}"
                );
            }
        }
    }

    #[test]
    fn quick_ranks_equal_the_formula_on_both_sides_of_every_step() {
        let zipfian = Zipfian::new(100_000, 0.99);
        for rank in (2..100_000u64).step_by(37) {
            let (mut low, mut high) = (0u64, 1u64 << 53);
            let unit = |draw: u64| draw as f64 / (1u64 << 53) as f64;
            while low + 1 < high {
                let middle = low.midpoint(high);
                let below = zipfian.rank_by_formula(unit(middle), 100_000) < rank;
                (low, high) = if below { (middle, high) } else { (low, middle) };
            }
            for draw in high - 2..(high + 2).min(1 << 53) {
                let expected = zipfian.rank_by_formula(unit(draw), 100_000);
                assert_eq!(zipfian.rank(unit(draw), 100_000), expected, "draw {draw}");
            }
        }
    }

    #[test]
    fn growing_extends_the_sum_but_keeps_the_first_number_in_eta() {
        let mut grown = Zipfian::new(1000, 0.99);
        grown.grow(10_000);
        assert!((grown.zeta() - 10.224361459595578).abs() < 1e-12);
        let expected =
            (1.0 - libm::pow(2.0 / 1000.0, 1.0 - 0.99)) / (1.0 - 1.5034777750283594 / grown.zeta());
        assert!((grown.eta() - expected).abs() < 1e-14);
    }

    #[test]
    fn the_first_two_ranks_have_their_zipf_probabilities() {
        let zipfian = Zipfian::new(1000, 0.99);
        let counts = counted(400_000, 1000, |draws| zipfian.draw(draws));
        let share = |rank: usize| counts[rank] as f64 / 400_000.0;
        assert!((share(0) - 1.0 / 7.728953217284729).abs() < 0.002);
        assert!((share(1) - 0.5f64.powf(0.99) / 7.728953217284729).abs() < 0.002);
    }
}
