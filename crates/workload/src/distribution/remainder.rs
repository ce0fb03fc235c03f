//! The remainder of a division by a number known beforehand, without dividing.

/// Divides by the same number again and again.
#[derive(Clone, Copy, Debug)]
pub struct Remainder {
    divisor: u64,
    reciprocal: u64,
}

impl Remainder {
    /// # Panics
    /// If `divisor` is zero or above 2^62.
    pub fn new(divisor: u64) -> Remainder {
        assert!((1..=1 << 62).contains(&divisor), "a divisor is from 1 to 2^62");
        let reciprocal = u64::try_from((1u128 << 64) / u128::from(divisor)).unwrap_or(u64::MAX);
        Remainder { divisor, reciprocal }
    }

    /// `number` modulo the divisor.
    ///
    /// The estimated quotient is at most 1 too small: the reciprocal is below 2^64/d by less than
    /// 1 (by 1 for d = 1), so the product is below n/d by less than 1, and its whole part is at
    /// least that of n/d less 1.
    #[inline]
    pub fn of(&self, number: u64) -> u64 {
        let quotient = ((u128::from(number) * u128::from(self.reciprocal)) >> 64) as u64;
        let rest = number - quotient * self.divisor;
        if rest >= self.divisor { rest - self.divisor } else { rest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::Seed;

    #[test]
    fn remainders_equal_those_of_a_division() {
        let divisors = [1, 2, 3, 7, 1000, 1001, 10_000_001, (1 << 31) + 1, (1 << 62) - 1, 1 << 62];
        for divisor in divisors {
            let remainder = Remainder::new(divisor);
            for number in [0, 1, divisor - 1, divisor, u64::MAX - 1, u64::MAX, 1 << 63] {
                assert_eq!(remainder.of(number), number % divisor, "{number} mod {divisor}");
            }
            for index in 0..10_000 {
                let number = Seed(1).draws(1, index).bits();
                assert_eq!(remainder.of(number), number % divisor, "{number} mod {divisor}");
            }
        }
    }
}
