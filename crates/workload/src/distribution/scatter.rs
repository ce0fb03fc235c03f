//! A fixed bijection that spreads neighbouring ranks over the record set.

/// Maps 0..n to 0..n, one to one.
///
/// Three rounds of an odd multiplication and a shifted exclusive-or, each a bijection of b-bit
/// numbers, where 2^b is the least power of two that holds n. A result outside 0..n is mapped
/// again ("cycle walking": J. Black, P. Rogaway, "Ciphers with arbitrary finite domains", CT-RSA
/// 2002), which takes fewer than two turns on average. The constants do not depend on a seed:
/// the hot records of a data set are the same in every run, as in YCSB.
#[derive(Clone, Copy, Debug)]
pub struct Scatter {
    n: u64,
    mask: u64,
    shift: u32,
}

const ROUNDS: [(u64, u64); 3] = [
    (0x9E37_79B9_7F4A_7C15, 0x6A09_E667_F3BC_C909),
    (0xBF58_476D_1CE4_E5B9, 0xBB67_AE85_84CA_A73B),
    (0x94D0_49BB_1331_11EB, 0x3C6E_F372_FE94_F82B),
];

impl Scatter {
    /// # Panics
    /// If `n` is zero.
    pub fn new(n: u64) -> Scatter {
        assert!(n > 0, "there is nothing to scatter");
        let bits = (64 - (n - 1).leading_zeros()).max(2);
        Scatter { n, mask: u64::MAX >> (64 - bits), shift: bits.div_ceil(2) }
    }

    /// The place of `rank`, which is below n.
    #[inline]
    pub fn place(&self, rank: u64) -> u64 {
        let mut place = rank;
        loop {
            for (factor, summand) in ROUNDS {
                place = place.wrapping_mul(factor).wrapping_add(summand) & self.mask;
                place ^= place >> self.shift;
            }
            if place < self.n {
                return place;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_taken_once() {
        for n in [1, 2, 3, 4, 5, 100, 1000, 4096, 4097] {
            let scatter = Scatter::new(n);
            let mut places: Vec<u64> = (0..n).map(|rank| scatter.place(rank)).collect();
            places.sort_unstable();
            assert!(places.iter().copied().eq(0..n), "n = {n}");
        }
    }

    #[test]
    fn hot_ranks_are_no_neighbours() {
        let scatter = Scatter::new(1_000_000);
        let mut places: Vec<u64> = (0..100).map(|rank| scatter.place(rank)).collect();
        places.sort_unstable();
        let nearest = places.windows(2).map(|pair| pair[1] - pair[0]).min();
        assert!(nearest.is_some_and(|gap| gap > 1), "{nearest:?}");
        let quarter = places.iter().filter(|&&place| place < 250_000).count();
        assert!((10..=40).contains(&quarter), "{quarter} of 100 in the first quarter");
    }
}
