//! Stable radix sort of numbers by an integer key.
//!
//! Least significant digit first, as in Knuth, The Art of Computer Programming 3, §5.2.5; digits
//! that are the same everywhere are left out, so keys below 2^22 cost two passes however wide
//! their type is.

/// Bits of a digit: counters of 2^11 buckets stay in the first cache.
const DIGIT: u32 = 11;
const BUCKETS: usize = 1 << DIGIT;
/// Below this many, comparing is faster than counting.
const SMALL: usize = 256;

/// Sorts pairs by their first half; equal ones keep their order.
pub(super) fn sort_by_key(pairs: &mut Vec<(u64, u32)>) {
    if pairs.windows(2).all(|two| two[0].0 <= two[1].0) {
        return;
    }
    if pairs.len() < SMALL {
        pairs.sort_by_key(|pair| pair.0);
        return;
    }
    let first = pairs[0].0;
    let varying = pairs.iter().fold(0, |bits, pair| bits | (pair.0 ^ first));
    let mut target = vec![(0, 0); pairs.len()];
    for shift in (0..u64::BITS).step_by(DIGIT as usize) {
        if (varying >> shift) & (BUCKETS as u64 - 1) != 0 {
            distribute(pairs, &mut target, shift);
            std::mem::swap(pairs, &mut target);
        }
    }
}

fn distribute(source: &[(u64, u32)], target: &mut [(u64, u32)], shift: u32) {
    let digit = |key: u64| (key >> shift) as usize & (BUCKETS - 1);
    let mut places = [0_usize; BUCKETS];
    for pair in source {
        places[digit(pair.0)] += 1;
    }
    let mut begin = 0;
    for place in &mut places {
        begin += std::mem::replace(place, begin);
    }
    for pair in source {
        let place = &mut places[digit(pair.0)];
        target[*place] = *pair;
        *place += 1;
    }
}

#[cfg(test)]
mod tests {
    use assay_model::Seed;

    use super::*;

    #[test]
    fn pairs_are_sorted_and_equal_ones_keep_their_order() {
        for (size, bits) in [(0, 1), (1, 64), (100, 8), (5_000, 3), (5_000, 30), (5_000, 64)] {
            let mut draws = Seed(size).draws(1, bits);
            let key = |draw: u64| draw >> (64 - bits);
            let mut pairs: Vec<(u64, u32)> =
                (0..size).map(|place| (key(draws.bits()), place as u32)).collect();
            let mut expected = pairs.clone();
            expected.sort();
            sort_by_key(&mut pairs);
            assert_eq!(pairs, expected);
        }
    }
}
