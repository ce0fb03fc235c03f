//! Whole numbers as decimal digits, without the machinery of `format!`.

/// The most digits that a 64-bit number has.
pub(crate) const DIGITS_MAX: usize = 20;

const EIGHT: u64 = 100_000_000;

/// The decimal digits of a number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decimal {
    digits: [u8; 24],
    start: usize,
}

impl Decimal {
    /// The digits of `number`, without leading zeros.
    #[inline]
    pub(crate) fn new(number: u64) -> Decimal {
        let (high, low) = (number / EIGHT, number % EIGHT);
        let (top, middle) = (high / EIGHT, high % EIGHT);
        let groups = [eight_digits(top), eight_digits(middle), eight_digits(low)];
        let mut digits = [0; 24];
        for (place, group) in groups.iter().enumerate() {
            digits[place * 8..place * 8 + 8].copy_from_slice(&group.to_le_bytes());
        }
        // The first byte that is not '0', by its lowest set bit; the last byte always counts.
        let zeros = |group: u64| (group ^ ZEROS).trailing_zeros() as usize / 8;
        let start = match (top, high) {
            (0, 0) => 16 + zeros(groups[2]).min(7),
            (0, _) => 8 + zeros(groups[1]),
            _ => zeros(groups[0]),
        };
        Decimal { digits, start }
    }

    #[inline]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.digits[self.start..]
    }
}

const ZEROS: u64 = 0x3030_3030_3030_3030;

/// Eight ASCII digits of a number below 10^8, the first in the lowest byte.
///
/// Halves, quarters, single digits are split off side by side in one word; n / 100 and n / 10 are
/// multiplications that are exact for these ranges (P. Khuong, "How to print integers really
/// fast", 2017).
#[inline]
fn eight_digits(number: u64) -> u64 {
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007F_0000_007F;
    let pairs = hundreds | ((fours - hundreds * 100) << 16);
    let tens = ((pairs * 103) >> 10) & 0x000F_000F_000F_000F;
    let digits = tens | ((pairs - tens * 10) << 8);
    digits + ZEROS
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::Seed;

    #[test]
    fn digits_equal_those_of_the_standard_library() {
        let mut numbers = vec![0, u64::MAX, EIGHT - 1, EIGHT, EIGHT * EIGHT - 1, EIGHT * EIGHT];
        for digits in 0..20 {
            let power = 10u64.pow(digits);
            numbers.extend([power - 1, power, power + 1, power / 7 * 9]);
            let draws = (0..2000).map(|index| Seed(1).draws(1, index).below(power));
            numbers.extend(draws);
        }
        for number in numbers {
            let found = Decimal::new(number);
            assert_eq!(found.as_bytes(), number.to_string().as_bytes());
            assert!(found.as_bytes().len() <= DIGITS_MAX);
        }
    }
}
