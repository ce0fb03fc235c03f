//! YCSB's hash of a record's number, for keys and for the scrambled zipfian.

const FNV_OFFSET: u64 = 0xCBF2_9CE4_8422_2325;
const FNV_PRIME: u64 = 1_099_511_628_211;

/// FNV-1a over its eight octets, lowest first, made positive.
///
/// Octets that are zero only multiply, so the upper half of small numbers is one multiplication.
/// The result for i64::MIN is 2^63 here where YCSB prints a minus sign; no number below 2^32 gets
/// there.
#[inline]
pub fn hash(number: u64) -> u64 {
    let mut hash = FNV_OFFSET;
    let mut rest = number;
    for _ in 0..4 {
        hash = (hash ^ (rest & 0xFF)).wrapping_mul(FNV_PRIME);
        rest >>= 8;
    }
    if rest == 0 {
        const FOUR_ROUNDS: u64 = FNV_PRIME.wrapping_pow(4);
        return (hash.wrapping_mul(FOUR_ROUNDS) as i64).unsigned_abs();
    }
    for _ in 0..4 {
        hash = (hash ^ (rest & 0xFF)).wrapping_mul(FNV_PRIME);
        rest >>= 8;
    }
    (hash as i64).unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_equal_those_of_ycsb() {
        let vectors = [
            (0, 6284781860667377211),
            (1, 8517097267634966620),
            (2, 1820151046732198393),
            (3, 4052466453699787802),
            (4, 3232700585171816769),
            (5, 1000385178204227360),
            (9, 9105318085603802964),
            (10, 2408371864701034737),
            (99, 6405349725575133178),
            (100, 879817313296471393),
            (255, 8064062821143829734),
            (256, 2056600594528442646),
            (999, 2071219101098386137),
            (1000, 5952875239596136740),
            (65535, 8476454546330126581),
            (65536, 3733039891711757428),
            (99999, 7592201923306675823),
            (100_000, 2382277743992889674),
            (999_999, 2744965632448235251),
            (1_000_000, 1011632231655643464),
            ((1 << 31) - 1, 627943977067101855),
            ((-(1i64 << 31)) as u64, 8292642442000284767),
            (1 << 31, 5860980763039959109),
            (1 << 32, 634246865027890484),
            (10_000_000_000, 1201321332300452516),
            (i64::MAX as u64, 8289549613075766851),
        ];
        for (number, expected) in vectors {
            assert_eq!(hash(number), expected, "hash of {number}");
        }
    }
}
