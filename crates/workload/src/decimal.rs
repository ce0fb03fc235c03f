//! Whole numbers as decimal digits, without the machinery of `format!`.

const EIGHT: u64 = 100_000_000;

/// The decimal digits of a number, with room behind them.
///
/// The room lets callers copy a fixed number of bytes, which needs no call, then cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decimal {
    /// Twenty-four bytes, of which the first are digits.
    pub(crate) padded: [u8; 24],
    /// How many are digits.
    pub(crate) length: usize,
}

impl Decimal {
    /// The digits of `number`, without leading zeros.
    #[inline]
    pub(crate) fn new(number: u64) -> Decimal {
        let (high, low) = (number / EIGHT, number % EIGHT);
        let (top, middle) = (high / EIGHT, high % EIGHT);
        // Groups that are zero fall away whole, the last one excepted.
        let (groups, count) = match (top, high) {
            (0, 0) => ([eight_digits(low), 0, 0], 8),
            (0, _) => ([eight_digits(middle), eight_digits(low), 0], 16),
            _ => ([eight_digits(top), eight_digits(middle), eight_digits(low)], 24),
        };
        // The first byte that is not '0' is that of the lowest set bit.
        let zeros = ((groups[0] ^ ZEROS).trailing_zeros() / 8).min(7);
        let shift = zeros * 8;
        let joined = |low: u64, high: u64| low >> shift | (high << 1) << (63 - shift);
        let words =
            [joined(groups[0], groups[1]), joined(groups[1], groups[2]), groups[2] >> shift];
        let mut padded = [0; 24];
        for (bytes, word) in padded.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
        Decimal { padded, length: count - zeros as usize }
    }

    #[inline]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.padded[..self.length]
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
        }
    }
}
