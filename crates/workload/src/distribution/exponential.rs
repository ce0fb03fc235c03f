//! Exponentially distributed distances from the newest record.

use assay_model::Draws;

/// YCSB's exponential generator.
#[derive(Clone, Copy, Debug)]
pub struct Exponential {
    gamma: f64,
}

impl Exponential {
    /// `percentile` per cent of the distances are below `range`.
    pub fn new(percentile: f64, range: f64) -> Exponential {
        Exponential { gamma: -libm::log(1.0 - percentile / 100.0) / range }
    }

    /// One distance.
    #[inline]
    pub fn draw(&self, draws: &mut Draws) -> f64 {
        -libm::log(draws.unit()) / self.gamma
    }

    /// The probability of a distance below `range`.
    pub fn below(&self, range: f64) -> f64 {
        -libm::expm1(-self.gamma * range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::theory::kolmogorov_smirnov_holds;
    use assay_model::Seed;

    #[test]
    fn distances_are_exponential_with_the_percentile_in_place() {
        let exponential = Exponential::new(95.0, 857.142_857_1);
        let mut sample: Vec<f64> =
            (0..50_000).map(|index| exponential.draw(&mut Seed(8).draws(1, index))).collect();
        let below = sample.iter().filter(|&&distance| distance < 857.142_857_1).count();
        assert!((below as f64 / 50_000.0 - 0.95).abs() < 0.004, "{below} of 50000");
        kolmogorov_smirnov_holds(&mut sample, |x| exponential.below(x));
    }
}
