//! A pool of random characters that values are cut from.

use assay_model::{Draws, Seed};

use crate::plan::streams;

/// Random characters come in groups: one 32-bit draw gives six.
const GROUP: usize = 6;
/// Places where a value can start; with [`TAIL`] the pool has 320 KiB, which a core's second cache
/// holds: four times as many cost 7 % of a closed loop against the null store. Of the 160 values
/// in a block of 16 KiB a handful overlap, so a store's compression finds next to nothing.
const STARTS: usize = (1 << 18) / GROUP;
/// Values up to this length are one copy.
const TAIL: usize = 64 << 10;

/// A quarter of a mebibyte of characters with YCSB's alphabet.
#[derive(Debug)]
pub(crate) struct Pool {
    bytes: Vec<u8>,
}

impl Pool {
    /// The pool of `seed`.
    pub(crate) fn new(seed: Seed) -> Pool {
        let length = STARTS * GROUP + TAIL;
        let mut bytes = Vec::with_capacity(length + GROUP);
        let draws = &mut seed.draws(streams::POOL, 0);
        while bytes.len() < length {
            bytes.extend_from_slice(&group(draws));
        }
        bytes.truncate(length);
        Pool { bytes }
    }

    /// Where the value with these 64 mixed bits starts.
    #[inline]
    pub(crate) fn start(bits: u64) -> usize {
        ((u128::from(bits) * STARTS as u128) >> 64) as usize * GROUP
    }

    /// Appends the first `length` characters of the value that starts at `start`.
    ///
    /// A start is a multiple of the group length, so the character at place *p* of a value has the
    /// alphabet of place *p* mod 6, as in YCSB.
    #[inline]
    pub(crate) fn append(&self, start: usize, length: usize, into: &mut Vec<u8>) {
        match self.bytes.get(start..start + length) {
            Some(slice) => into.extend_from_slice(slice),
            None => self.append_long(start, length, into),
        }
    }

    #[cold]
    fn append_long(&self, start: usize, length: usize, into: &mut Vec<u8>) {
        let lap = STARTS * GROUP;
        let mut place = 0;
        while place < length {
            let offset = (start + place) % lap;
            let piece = (length - place).min(lap - offset);
            into.extend_from_slice(&self.bytes[offset..offset + piece]);
            place += piece;
        }
    }
}

/// YCSB's six characters of one 32-bit draw: ASCII 32 to 127, not equally likely.
fn group(draws: &mut Draws) -> [u8; GROUP] {
    characters(draws.bits() as i32)
}

fn characters(draw: i32) -> [u8; GROUP] {
    [
        ((draw & 31) + 32) as u8,
        (((draw >> 5) & 63) + 32) as u8,
        (((draw >> 10) & 95) + 32) as u8,
        (((draw >> 15) & 31) + 32) as u8,
        (((draw >> 20) & 63) + 32) as u8,
        (((draw >> 25) & 95) + 32) as u8,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_equal_those_of_ycsb() {
        assert_eq!(characters(0), [32; 6]);
        assert_eq!(characters(-1), [63, 95, 127, 63, 95, 127]);
        // 0x8000_0001: the sign is drawn into the sixth character, as Java's shift does.
        assert_eq!(characters(i32::MIN | 1), [33, 32, 32, 32, 32, 32 + (0x40 & 95)]);
    }

    #[test]
    fn values_start_at_groups_all_over_the_pool() {
        assert_eq!(Pool::start(0), 0);
        assert_eq!(Pool::start(u64::MAX), (STARTS - 1) * GROUP);
        assert_eq!(Pool::start(u64::MAX / 3) % GROUP, 0);
    }

    #[test]
    fn long_values_go_round_the_pool() {
        let pool = Pool::new(Seed(1));
        let lap = STARTS * GROUP;
        let mut value = Vec::new();
        pool.append(lap - 6, 2 * lap, &mut value);
        assert_eq!(value.len(), 2 * lap);
        assert_eq!(value[..6], pool.bytes[lap - 6..lap]);
        assert_eq!(value[6..lap], pool.bytes[..lap - 6]);
        assert_eq!(value[..lap], value[lap..]);
    }

    #[test]
    fn short_values_are_the_beginning_of_the_long_ones() {
        let pool = Pool::new(Seed(1));
        let (mut long, mut short) = (Vec::new(), Vec::new());
        pool.append(60, 100, &mut long);
        pool.append(60, 13, &mut short);
        assert_eq!(long[..13], short);
        assert!(long.iter().all(|byte| (32..=127).contains(byte)));
    }
}
