//! Whole numbers as decimal digits, without the machinery of `format!`.

const EIGHT: u64 = 100_000_000;

/// The decimal digits of a number, in three words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decimal {
    /// Twenty-four characters, the first in the lowest byte; those behind the digits mean nothing.
    words: [u64; 3],
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
        Decimal { words, length: count - zeros as usize }
    }

    /// Appends the digits.
    ///
    /// Whole words are appended, which needs no call nor a detour through memory; what is too much
    /// is cut again.
    #[inline]
    pub(crate) fn append(&self, into: &mut Vec<u8>) {
        let end = into.len() + self.length;
        into.reserve(24);
        for word in self.words {
            into.extend_from_slice(&word.to_le_bytes());
        }
        into.truncate(end);
    }

    /// The digits one by one.
    pub(crate) fn bytes(&self) -> impl Iterator<Item = u8> + use<> {
        let words = self.words;
        (0..self.length).map(move |place| words[place / 8].to_le_bytes()[place % 8])
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
            let mut appended = b"x".to_vec();
            found.append(&mut appended);
            assert_eq!(appended, format!("x{number}").as_bytes());
            assert!(found.bytes().eq(number.to_string().bytes()), "{number}");
        }
    }
}
