//! Key of a record, from its number.

use super::decimal::{self, Decimal};
use crate::hash::hash;
use crate::plan::lengths::Lengths;
use crate::spec::KeyOrder;

/// The bits of a recorded key's number that say how long the key is; 0 if unknown.
const LENGTH_BITS: u32 = 12;
const LENGTH_MAX: u64 = (1 << LENGTH_BITS) - 1;
/// The digits of a recorded key's name, in the order of their bytes.
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// The digits of the greatest name, 2^52 - 1: 62^9 is three times that.
const NAME_DIGITS: usize = 9;

/// The form of all keys of a data set.
#[derive(Clone, Debug)]
pub(crate) struct KeyForm {
    prefix: Vec<u8>,
    /// Digits, at least; shorter numbers get leading zeros.
    digits: usize,
    /// How the number stands in the key.
    order: KeyOrder,
    /// How long each key is, if not as long as its digits.
    lengths: Option<Lengths>,
    /// The prefix of hashed keys, if it is as long as `user` and long numbers get no zeros.
    usual: Option<[u8; decimal::PREFIX]>,
}

impl KeyForm {
    pub(crate) fn new(
        prefix: &[u8],
        digits: usize,
        order: KeyOrder,
        lengths: Option<Lengths>,
    ) -> KeyForm {
        let is_usual =
            order == KeyOrder::Hashed && lengths.is_none() && digits <= decimal::LONG_DIGITS;
        let usual = prefix.try_into().ok().filter(|_| is_usual);
        KeyForm { prefix: prefix.to_vec(), digits, order, lengths, usual }
    }

    /// Appends the key of record `number`.
    #[inline]
    pub(crate) fn append(&self, number: u64, into: &mut Vec<u8>) {
        if let Some(prefix) = self.usual {
            let hash = hash(number);
            if hash >= decimal::LONG {
                return decimal::append_long(prefix, hash, into);
            }
        }
        self.append_any(number, into);
    }

    /// Appends a key of any form.
    #[inline(never)]
    fn append_any(&self, number: u64, into: &mut Vec<u8>) {
        if self.order == KeyOrder::Recorded {
            return self.append_recorded(number, into);
        }
        let (zeros, digits) = self.parts(number);
        into.extend_from_slice(&self.prefix);
        into.resize(into.len() + zeros, b'0');
        digits.append(into);
    }

    /// Appends the key whose length is in its number: its name in digits of base 62, with zeros
    /// before them up to that length.
    ///
    /// No two names have the same digits, so no two numbers have the same key but those that
    /// differ in a length which the digits exceed.
    fn append_recorded(&self, number: u64, into: &mut Vec<u8>) {
        let (mut name, length) = (number >> LENGTH_BITS, (number & LENGTH_MAX) as usize);
        let mut digits = [b'0'; NAME_DIGITS];
        let mut first = NAME_DIGITS;
        while name > 0 || first == NAME_DIGITS {
            first -= 1;
            digits[first] = ALPHABET[(name % ALPHABET.len() as u64) as usize];
            name /= ALPHABET.len() as u64;
        }
        let digits = &digits[first..];
        let zeros = length.saturating_sub(self.prefix.len() + digits.len());
        into.extend_from_slice(&self.prefix);
        into.resize(into.len() + zeros, b'0');
        into.extend_from_slice(digits);
    }

    /// Gives the bytes of the key of record `number` to `visit`, one by one.
    ///
    /// Only for checked values, whose keys are not recorded ones.
    pub(crate) fn each_byte(&self, number: u64, mut visit: impl FnMut(u8)) {
        let (zeros, digits) = self.parts(number);
        self.prefix.iter().copied().for_each(&mut visit);
        (0..zeros).for_each(|_| visit(b'0'));
        digits.bytes().for_each(&mut visit);
    }

    fn parts(&self, number: u64) -> (usize, Decimal) {
        let digits = Decimal::new(match self.order {
            KeyOrder::Hashed => hash(number),
            KeyOrder::Ordered | KeyOrder::Recorded => number,
        });
        let expected = match &self.lengths {
            None => self.digits,
            Some(lengths) => (lengths.of(number, 0) as usize).saturating_sub(self.prefix.len()),
        };
        (expected.saturating_sub(digits.length), digits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(prefix: &str, digits: usize, hashed: bool, number: u64) -> String {
        let order = if hashed { KeyOrder::Hashed } else { KeyOrder::Ordered };
        let form = KeyForm::new(prefix.as_bytes(), digits, order, None);
        let (mut whole, mut bytes) = (Vec::new(), Vec::new());
        form.append(number, &mut whole);
        form.each_byte(number, |byte| bytes.push(byte));
        assert_eq!(whole, bytes);
        String::from_utf8(whole).unwrap()
    }

    #[test]
    fn keys_equal_those_of_ycsb() {
        assert_eq!(key("user", 1, true, 0), "user6284781860667377211");
        assert_eq!(key("user", 24, true, 42), "user000000055488592825689361");
        assert_eq!(key("user", 10, false, 42), "user0000000042");
        assert_eq!(key("user", 20, true, 0), "user06284781860667377211");
    }

    #[test]
    fn keys_take_any_prefix_with_the_largest_number() {
        assert_eq!(key("", 1, false, u64::MAX), "18446744073709551615");
        assert_eq!(key("a:", 1, false, 0), "a:0");
    }

    fn recorded(prefix: &str, name: u64, length: u64) -> String {
        let form = KeyForm::new(prefix.as_bytes(), 1, KeyOrder::Recorded, None);
        let mut bytes = Vec::new();
        form.append(name << 12 | length, &mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn recorded_keys_have_their_length_where_their_name_fits() {
        assert_eq!(recorded("", 61, 5), "0000z");
        assert_eq!(recorded("k:", 62, 5), "k:010");
        assert_eq!(recorded("", 0, 0), "0");
        assert_eq!(recorded("", (1 << 52) - 1, 3), "KcqObyjK3", "longer than recorded");
        assert_eq!(recorded("", (1 << 52) - 1, 4095).len(), 4095);
    }
}
