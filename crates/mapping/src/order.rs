//! Keys whose bytes sort as the values that they are made of.
//!
//! A key is the values of its columns one after another. Each value is self-delimiting, no value's
//! encoding is the beginning of another's, so that keys sort column by column, a prefix of columns
//! is a prefix of bytes, turning over all bits turns the order around. The idea is that of the
//! tuple layer of FoundationDB; numbers with a fraction are our own addition:
//!
//! * no value: `00`, before everything else;
//! * whole part of an exact number or a moment: `80 + n` with n bytes of it, big-endian, if it is
//!   not negative; `80 - n` with n bytes of `number + 256^n - 1` if it is; then `00` for no
//!   fraction, or `01` with the fraction in units of 10^-18, 8 bytes big-endian;
//! * floating-point: `01`, then 8 bytes with the sign turned over, all bits if negative;
//! * text and bytes: `01`, the bytes with `00 FF` for each `00`, then `00 00`;
//! * truth: `01`, then `00` or `01`.

use assay_model::datum::SCALE_MAX;
use assay_model::query::Direction;
use assay_model::{Datum, Decimal};

const NULL: u8 = 0;
const PRESENT: u8 = 1;
/// The whole number 0; more bytes on either side of it.
const ZERO: u8 = 0x80;

/// Appends the encoding of `datum`.
///
/// Values of one column must have been brought to one type before: numbers with and without a
/// fraction sort together, all other types do not.
pub fn encode(datum: &Datum<'_>, direction: Direction, into: &mut Vec<u8>) {
    let begin = into.len();
    match *datum {
        Datum::Null => into.push(NULL),
        Datum::Int(number) | Datum::Timestamp(number) => {
            encode_exact(Decimal { mantissa: number, scale: 0 }, into);
        }
        Datum::Decimal(decimal) => encode_exact(decimal, into),
        Datum::Double(number) => {
            into.push(PRESENT);
            // Both zeros are one value.
            let bits = if number == 0.0 { 0 } else { number.to_bits() };
            let turned = if bits >> 63 == 0 { bits | 1 << 63 } else { !bits };
            into.extend(turned.to_be_bytes());
        }
        Datum::Text(text) => encode_bytes(text.as_bytes(), into),
        Datum::Bytes(bytes) => encode_bytes(bytes, into),
        Datum::Bool(truth) => into.extend([PRESENT, u8::from(truth)]),
    }
    if direction == Direction::Descending {
        into[begin..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

fn encode_exact(decimal: Decimal, into: &mut Vec<u8>) {
    let unit = 10_i64.pow(u32::from(decimal.scale.min(SCALE_MAX)));
    let whole = i128::from(decimal.mantissa.div_euclid(unit));
    let fraction = decimal.mantissa.rem_euclid(unit) * (10_i64.pow(u32::from(SCALE_MAX)) / unit);
    let bits = i128::BITS - whole.unsigned_abs().leading_zeros();
    let length = bits.div_ceil(8) as u8;
    let displayed = if whole < 0 { whole + (1_i128 << (8 * u32::from(length))) - 1 } else { whole };
    into.push(if whole < 0 { ZERO - length } else { ZERO + length });
    into.extend_from_slice(&displayed.to_be_bytes()[16 - usize::from(length)..]);
    match fraction {
        0 => into.push(0),
        fraction => {
            into.push(1);
            into.extend(fraction.to_be_bytes());
        }
    }
}

/// The whole number that `key` begins with, and what follows it; none if it begins with something
/// else.
pub fn decode_whole(key: &[u8], direction: Direction) -> Option<(i64, &[u8])> {
    let turn = if direction == Direction::Descending { 0xFF } else { 0 };
    let (first, rest) = key.split_first()?;
    let first = first ^ turn;
    let length = usize::from(first.abs_diff(ZERO));
    let (digits, rest) = rest.split_at_checked(length).filter(|_| length <= 8)?;
    let (end, rest) = rest.split_first()?;
    if end ^ turn != 0 {
        return None;
    }
    let displayed = digits.iter().fold(0, |sum, byte| sum << 8 | i128::from(byte ^ turn));
    let lowest = if first < ZERO { (1_i128 << (8 * length)) - 1 } else { 0 };
    Some((i64::try_from(displayed - lowest).ok()?, rest))
}

fn encode_bytes(bytes: &[u8], into: &mut Vec<u8>) {
    into.push(PRESENT);
    for &byte in bytes {
        into.push(byte);
        if byte == 0 {
            into.push(0xFF);
        }
    }
    into.extend([0, 0]);
}

/// Turns `key` into the least key behind all that begin with it; `false` if there is no such key.
pub fn step_over(key: &mut Vec<u8>) -> bool {
    while let Some(last) = key.pop() {
        if last < 0xFF {
            key.push(last + 1);
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests;
