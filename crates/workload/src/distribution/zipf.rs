//! Zipf's law over the record set, exactly, for any constant above 0 with up to 2^63 records.
//!
//! W. Hörmann, G. Derflinger: "Rejection-inversion to generate variates from monotone discrete
//! distributions", ACM TOMACS 6(3), 1996. The integral of the hat is inverted at a uniform point
//! and rounded; the shortcut `s` accepts nearly all points without a look at the histogram's own
//! bar. One draw costs the same for ten records as for 2^63, without any table.

use assay_model::Draws;

use crate::distribution::power::Power;

/// Constants this near to 1 use series, because 1/(1 − theta) would lose too many digits.
const NEAR_ONE: f64 = 1e-6;

/// Ranks from 0, the most popular, to n − 1; P(rank) is proportional to (rank + 1)^-theta.
#[derive(Clone, Debug)]
pub struct Zipf {
    n: u64,
    theta: f64,
    /// The integral of the hat up to 1.5, less the bar of rank 0.
    start: f64,
    /// The integral of the hat up to n + 0.5.
    end: f64,
    shortcut: f64,
    power: Box<Power>,
}

impl Zipf {
    /// # Panics
    /// If `n` is zero or above 2^63, or `theta` is not above 0 with at most 100.
    pub fn new(n: u64, theta: f64) -> Zipf {
        assert!(theta > 0.0 && theta <= 100.0, "a zipfian constant is above 0, at most 100");
        let mut zipf =
            Zipf { n: 1, theta, start: 0.0, end: 0.0, shortcut: 0.0, power: Box::default() };
        zipf.start = zipf.integral(1.5) - 1.0;
        zipf.shortcut = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.bar(2.0));
        zipf.resize(n);
        zipf
    }

    /// Changes the number of ranks to `n`.
    ///
    /// # Panics
    /// If `n` is zero or above 2^63.
    pub fn resize(&mut self, n: u64) {
        assert!((1..=1 << 63).contains(&n), "the number of records is from 1 to 2^63");
        self.n = n;
        self.end = self.integral(n as f64 + 0.5);
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> u64 {
        self.n
    }

    /// One rank. Takes 1.0 to 1.3 uniform draws on average.
    #[inline]
    pub fn draw(&self, draws: &mut Draws) -> u64 {
        loop {
            let point = self.end + draws.unit() * (self.start - self.end);
            let x = self.inverse(point);
            let rank = ((x + 0.5) as u64).clamp(1, self.n);
            let bar = rank as f64;
            if bar - x <= self.shortcut || point >= self.integral(bar + 0.5) - self.bar(bar) {
                return rank - 1;
            }
        }
    }

    /// x^-theta.
    fn bar(&self, x: f64) -> f64 {
        self.power.pow(x, -self.theta)
    }

    /// ∫ t^-theta dt from 1 to x.
    fn integral(&self, x: f64) -> f64 {
        let rise = 1.0 - self.theta;
        if rise.abs() < NEAR_ONE {
            let ln = self.power.ln(x);
            return ln * exp_slope(rise * ln);
        }
        (self.power.pow(x, rise) - 1.0) / rise
    }

    /// The x up to which the integral is `area`.
    #[inline]
    fn inverse(&self, area: f64) -> f64 {
        let rise = 1.0 - self.theta;
        if rise.abs() < NEAR_ONE {
            return self.power.exp(area * ln_slope(rise * area));
        }
        // Rounding must not leave the domain of the logarithm.
        let inner = (1.0 + area * rise).max(f64::MIN_POSITIVE);
        self.power.pow(inner, 1.0 / rise)
    }
}

/// (e^t − 1) / t for small t.
fn exp_slope(t: f64) -> f64 {
    1.0 + t / 2.0 * (1.0 + t / 3.0 * (1.0 + t / 4.0))
}

/// ln(1 + t) / t for small t.
fn ln_slope(t: f64) -> f64 {
    1.0 - t * (1.0 / 2.0 - t * (1.0 / 3.0 - t / 4.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::theory::{chi_square_holds, counted, kolmogorov_smirnov_holds};
    use crate::distribution::zeta;
    use assay_model::Seed;

    #[test]
    fn draws_follow_zipfs_law() {
        for theta in [0.2, 0.5, 0.99, 1.0 - 1e-7, 1.0, 1.2, 3.0] {
            for n in [10, 1000] {
                let zipf = Zipf::new(n, theta);
                let counts = counted(300_000, n as usize, |draws| zipf.draw(draws));
                let sum = zeta::zeta(n, theta);
                chi_square_holds(&counts, |rank| libm::pow(rank as f64 + 1.0, -theta) / sum);
            }
        }
    }

    #[test]
    fn draws_among_a_hundred_million_records_follow_zipfs_law() {
        let (n, theta) = (100_000_000, 0.99);
        let zipf = Zipf::new(n, theta);
        let sum = zeta::zeta(n, theta);
        // Ranks are spread over their unit so that the Kolmogorov–Smirnov bound of continuous
        // distributions holds; the law is a line within each unit.
        let mut sample: Vec<f64> = (0..50_000)
            .map(|index| {
                let draws = &mut Seed(5).draws(1, index);
                zipf.draw(draws) as f64 + draws.unit()
            })
            .collect();
        let up_to = |x: f64| {
            let whole = x as u64;
            let bar = libm::pow(whole as f64 + 1.0, -theta);
            let below = if whole > 10_000 {
                // The midpoint rule is exact to 10^-9 here and does not sum the whole way.
                let edge = |x: f64| libm::pow(x + 0.5, 1.0 - theta) / (1.0 - theta);
                zeta::zeta(10_000, theta) + edge(whole as f64) - edge(10_000.0)
            } else {
                zeta::zeta(whole, theta)
            };
            (below + (x - whole as f64) * bar) / sum
        };
        kolmogorov_smirnov_holds(&mut sample, up_to);
    }

    #[test]
    fn the_steepest_law_nearly_always_draws_the_first_rank() {
        // The integral of the bars beyond some hundred ranks is below any number.
        for (n, theta) in [(1_295, 100.0), (1_000_000, 100.0), (3_000_000, 50.0), (1 << 63, 30.0)] {
            let zipf = Zipf::new(n, theta);
            let counts = counted(100_000, 3, |draws| zipf.draw(draws).min(2));
            assert_eq!(counts, [100_000, 0, 0], "{n} records, constant {theta}");
        }
    }

    #[test]
    fn a_single_record_is_always_drawn() {
        let zipf = Zipf::new(1, 0.99);
        assert_eq!(counted(1000, 2, |draws| zipf.draw(draws)), [1000, 0]);
    }

    #[test]
    fn ranks_of_the_largest_record_set_stay_within_it() {
        let zipf = Zipf::new(1 << 63, 0.5);
        let largest = (0..10_000).map(|index| zipf.draw(&mut Seed(6).draws(1, index))).max();
        assert!(largest.is_some_and(|rank| (1 << 62..1 << 63).contains(&rank)), "{largest:?}");
    }
}
