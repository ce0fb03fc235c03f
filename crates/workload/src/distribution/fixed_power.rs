//! Powers of numbers just below 1 with one exponent, in a third of the time of [`Power`].
//!
//! [`Power`]: super::Power
//!
//! x^a = c^a × (1 + t)^a, where c is the middle of the step that x lies in and t = (x − c) / c.
//! The first factor comes from a table, the second from its binomial series, whose coefficients are
//! the same for every step because the exponent is. Only additions, multiplications: the result is
//! the same on every machine.

/// Steps between 0.5 and 1: a power of two, so that the step is a part of the number's bits.
const STEPS: usize = 1024;
/// The bits of a mantissa that tell the place within a step.
const PLACE_BITS: u32 = 42;
/// The terms of the series that are used, after the 1.
const TERMS: usize = 7;
/// With a first term left out above this, powers would have to be computed twice too often.
const TRUNCATION_MAX: f64 = 1e-14;

/// x^a for one a.
#[derive(Clone, Debug)]
pub struct FixedPower {
    steps: Box<[Step]>,
    coefficients: [f64; TERMS],
    error: f64,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    reciprocal: f64,
    power: f64,
}

impl FixedPower {
    /// For one exponent; `None` if it is so large that the series would need more terms.
    pub fn new(exponent: f64) -> Option<FixedPower> {
        let mut coefficients = [0.0; TERMS];
        let mut coefficient = 1.0;
        for (before, place) in coefficients.iter_mut().enumerate() {
            coefficient *= (exponent - before as f64) / (before as f64 + 1.0);
            *place = coefficient;
        }
        // The first term left out at the edge of the lowest step, with an e for those behind it.
        let edge: f64 = 1.0 / (2.0 * STEPS as f64);
        let next = coefficient * (exponent - TERMS as f64) / (TERMS as f64 + 1.0);
        let truncation = std::f64::consts::E * next.abs() * edge.powi(TERMS as i32 + 1);
        if truncation > TRUNCATION_MAX || exponent.abs() * edge > 1.0 {
            return None;
        }
        let steps = (0..STEPS).map(|step| {
            let centre = 0.5 + (step as f64 + 0.5) / (2 * STEPS) as f64;
            Step { reciprocal: 1.0 / centre, power: libm::pow(centre, exponent) }
        });
        let error = 4.0 * (truncation + 16.0 * f64::EPSILON);
        Some(FixedPower { steps: steps.collect(), coefficients, error })
    }

    /// A bound on the relative error of [`FixedPower::of`], four times what was reckoned.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// x^a, or `None` if x is not within [0.5, 1).
    #[inline]
    pub fn of(&self, x: f64) -> Option<f64> {
        const HALF_EXPONENT: u64 = 1022;
        let bits = x.to_bits();
        if bits >> 52 != HALF_EXPONENT {
            return None;
        }
        let centre = f64::from_bits(bits >> PLACE_BITS << PLACE_BITS | 1 << (PLACE_BITS - 1));
        let step = &self.steps[(bits >> PLACE_BITS) as usize % STEPS];
        // The difference is exact, so t is right to one unit in its last place.
        let t = (x - centre) * step.reciprocal;
        let [c1, c2, c3, c4, c5, c6, c7] = self.coefficients;
        let (t2, low) = (t * t, 1.0 + c1 * t);
        let (t4, middle) = (t2 * t2, c2 + c3 * t);
        let high = (c4 + c5 * t) + t2 * (c6 + c7 * t);
        Some(step.power * ((low + t2 * middle) + t4 * high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::Seed;

    #[test]
    fn powers_agree_with_libm_within_the_bound() {
        for exponent in [0.5, 2.0, 10.0, 99.99999999999991, -50.0] {
            let power = FixedPower::new(exponent).unwrap();
            assert!(power.error() < 1e-13, "{}", power.error());
            for index in 0..200_000 {
                let x = 0.5 + 0.5 * Seed(1).draws(1, index).unit();
                let (found, expected) = (power.of(x).unwrap(), libm::pow(x, exponent));
                assert!(
                    (found / expected - 1.0).abs() < power.error() / 4.0,
                    "{x}^{exponent} is {expected}, found {found}"
                );
            }
        }
    }

    #[test]
    fn both_ends_of_every_step_are_within_the_bound() {
        let power = FixedPower::new(99.99999999999991).unwrap();
        for step in 0..STEPS as u64 {
            let first = 0.5f64.to_bits() + (step << PLACE_BITS);
            for bits in [first, first + (1 << PLACE_BITS) - 1] {
                let x = f64::from_bits(bits);
                let ratio = power.of(x).unwrap() / libm::pow(x, 99.99999999999991);
                assert!((ratio - 1.0).abs() < power.error() / 4.0, "{x}");
            }
        }
    }

    #[test]
    fn what_the_series_cannot_do_is_left_to_others() {
        let power = FixedPower::new(100.0).unwrap();
        assert_eq!([0.49, 1.0, -0.7, 0.0].map(|x| power.of(x)), [None; 4]);
        assert!(FixedPower::new(1000.0).is_none());
    }
}
