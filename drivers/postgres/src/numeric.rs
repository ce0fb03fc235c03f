//! PostgreSQL's binary format of exact decimal numbers.
//!
//! Four 16-bit numbers, big-endian: how many digits to the base 10000 follow, the weight of the
//! first (its power of 10000), the sign, how many decimal places are shown; then the digits.
//! Source: `numeric_send` in PostgreSQL's `src/backend/utils/adt/numeric.c`.

use assay_model::Decimal;
use bytes::BytesMut;

const NEGATIVE: u16 = 0x4000;
const POSITIVE: u16 = 0;
/// Decimal places of one digit.
const PLACES: i32 = 4;
const RADIX: u128 = 10_000;

/// Appends `decimal`.
pub(super) fn write(decimal: Decimal, out: &mut BytesMut) {
    let scale = i32::from(decimal.scale);
    // The point comes between two digits once the places behind it are a multiple of four.
    let behind = (scale + PLACES - 1) / PLACES;
    let filled = u128::from(decimal.mantissa.unsigned_abs())
        * 10u128.pow((behind * PLACES - scale).unsigned_abs());
    let mut digits: Vec<u16> = Vec::with_capacity(12);
    let mut rest = filled;
    while rest > 0 {
        digits.push((rest % RADIX) as u16);
        rest /= RADIX;
    }
    let weight = digits.len() as i32 - 1 - behind;
    let zeros = digits.iter().take_while(|&&digit| digit == 0).count();
    let digits = &digits[zeros..];
    let sign = if decimal.mantissa < 0 { NEGATIVE } else { POSITIVE };
    let weight = if digits.is_empty() { 0 } else { weight };
    for part in [digits.len() as u16, weight as i16 as u16, sign, u16::from(decimal.scale)] {
        out.extend_from_slice(&part.to_be_bytes());
    }
    for digit in digits.iter().rev() {
        out.extend_from_slice(&digit.to_be_bytes());
    }
}

/// The number that `bytes` are, with as many places as it shows, at most `most_places`. `None` if
/// it is no number, or none of 64 bits.
pub(super) fn read(bytes: &[u8], most_places: u8) -> Option<Decimal> {
    let mut parts = bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
    let count = usize::from(parts.next()?);
    let weight = i32::from(parts.next()? as i16);
    let sign = parts.next()?;
    let scale = u8::try_from(parts.next()?).ok().filter(|&scale| scale <= most_places)?;
    (sign == NEGATIVE || sign == POSITIVE).then_some(())?;
    let mut mantissa: i128 = 0;
    let mut found = 0;
    for digit in parts.take(count) {
        mantissa = mantissa.checked_mul(RADIX as i128)?.checked_add(digit.into())?;
        found += 1;
    }
    (found == count).then_some(())?;
    // The last digit counts units of 10 to the power of this.
    let exponent = PLACES * (weight + 1 - i32::try_from(count).ok()?);
    let shift = exponent + i32::from(scale);
    let factor = 10i128.checked_pow(shift.unsigned_abs())?;
    // Places beyond the shown ones are zeros.
    let mantissa = if shift >= 0 { mantissa.checked_mul(factor)? } else { mantissa / factor };
    let mantissa = i64::try_from(mantissa).ok()?;
    Some(Decimal { mantissa: if sign == NEGATIVE { -mantissa } else { mantissa }, scale })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        let mut out = BytesMut::new();
        write(text.parse().unwrap(), &mut out);
        out.to_vec()
    }

    /// The 16-bit parts of the encoding, as PostgreSQL's `numeric_send` gives them.
    fn check(text: &str, parts: &[u16]) {
        let expected: Vec<u8> = parts.iter().flat_map(|part| part.to_be_bytes()).collect();
        assert_eq!(bytes(text), expected, "{text}");
        assert_eq!(read(&expected, 18), Some(text.parse().unwrap()), "{text}");
    }

    #[test]
    fn numbers_are_written_as_the_server_writes_them() {
        check("0", &[0, 0, 0, 0]);
        check("0.00", &[0, 0, 0, 2]);
        check("1", &[1, 0, 0, 0, 1]);
        check("-1", &[1, 0, NEGATIVE, 0, 1]);
        check("12345.678", &[3, 1, 0, 3, 1, 2345, 6780]);
        check("10000", &[1, 1, 0, 0, 1]);
        check("0.0001", &[1, u16::MAX, 0, 4, 1]);
        check("0.00000001", &[1, u16::MAX - 1, 0, 8, 1]);
        check("12.50", &[2, 0, 0, 2, 12, 5000]);
    }

    #[test]
    fn every_number_of_64_bits_comes_back() {
        for text in ["9223372036854775807", "-9223372036854775807", "9.223372036854775807", "-0.05"]
        {
            assert_eq!(read(&bytes(text), 18), Some(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_of_64_bits_is_none() {
        let parts = |parts: &[u16]| -> Vec<u8> {
            parts.iter().flat_map(|part| part.to_be_bytes()).collect()
        };
        // Not a number, too many places, too large, cut short.
        assert_eq!(read(&parts(&[0, 0, 0xC000, 0]), 18), None);
        assert_eq!(read(&parts(&[0, 0, 0, 19]), 18), None);
        assert_eq!(read(&parts(&[1, 4, 0, 0, 9999]), 18), None);
        assert_eq!(read(&parts(&[2, 0, 0, 0, 1]), 18), None);
        assert_eq!(read(&[0], 18), None);
    }
}
