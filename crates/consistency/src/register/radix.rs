//! Stable radix sort of numbers by an integer key.
//!
//! Least significant digit first, as in Knuth, The Art of Computer Programming 3, §5.2.5; bits
//! that are the same everywhere at both ends are left out, so keys below 2^20 cost two passes
//! however wide their type is.

/// Most bits of a digit: more buckets than pages that the processor can look up at once are slow.
const DIGIT_MAX: u32 = 10;
/// Moves per item beyond which counting is faster than insertion.
const MOVES: usize = 4;
/// Below this many, comparing is faster than counting.
const SMALL: usize = 256;

/// Sorts items by a key; equal ones keep their order.
pub(super) fn sort_by_key<T: Copy + Default>(items: &mut Vec<T>, key: impl Fn(&T) -> u64) {
    if insert_all(items, &key) {
        return;
    }
    if items.len() < SMALL {
        items.sort_by_key(key);
        return;
    }
    let first = key(&items[0]);
    let varying = items.iter().fold(0, |bits, item| bits | (key(item) ^ first));
    let (begin, end) = (varying.trailing_zeros(), u64::BITS - varying.leading_zeros());
    let passes = (end - begin).div_ceil(DIGIT_MAX);
    let digit = (end - begin).div_ceil(passes);
    let mut target = vec![T::default(); items.len()];
    let mut places = vec![0; 1 << digit];
    for shift in (begin..end).step_by(digit as usize) {
        let bucket = |item: &T| (key(item) >> shift) as usize & ((1 << digit) - 1);
        distribute(items, &mut target, &mut places, bucket);
        std::mem::swap(items, &mut target);
    }
}

/// Sorts by insertion unless that takes, beyond an allowance, more than a few moves per item so
/// far: most lists here are nearly in order, as operations that begin one after another mostly end
/// so, and write rising values.
fn insert_all<T: Copy>(items: &mut [T], key: impl Fn(&T) -> u64) -> bool {
    let mut moves = MOVES * SMALL;
    for place in 1..items.len() {
        moves += MOVES;
        let item = items[place];
        let mut to = place;
        while to > 0 && key(&items[to - 1]) > key(&item) {
            items[to] = items[to - 1];
            to -= 1;
        }
        items[to] = item;
        moves = match moves.checked_sub(place - to) {
            Some(moves) => moves,
            None => return false,
        };
    }
    true
}

fn distribute<T: Copy>(
    source: &[T],
    target: &mut [T],
    places: &mut [usize],
    bucket: impl Fn(&T) -> usize,
) {
    places.fill(0);
    for item in source {
        places[bucket(item)] += 1;
    }
    let mut begin = 0;
    for place in places.iter_mut() {
        begin += std::mem::replace(place, begin);
    }
    for item in source {
        let place = &mut places[bucket(item)];
        target[*place] = *item;
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
            sort_by_key(&mut pairs, |pair| pair.0);
            assert_eq!(pairs, expected);
        }
    }
}
