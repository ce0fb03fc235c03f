//! A fast hash of a key for choosing a lock or a shard; not for untrusted keys.

use assay_model::seed::mix;

/// Eight bytes at a time through [`mix`], begun with the length so that padding cannot collide.
///
/// All 64 bits are usable. The hash is the same in every process, and never part of a file.
#[inline]
pub fn key_hash(key: &[u8]) -> u64 {
    let (words, rest) = key.as_chunks::<8>();
    let mut hash = key.len() as u64;
    for word in words {
        hash = mix(hash ^ u64::from_le_bytes(*word)).wrapping_add(hash.rotate_left(23));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    mix(hash ^ u64::from_le_bytes(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_differ_by_zeros_or_length_differ() {
        let keys: [&[u8]; 6] = [b"", b"\0", b"\0\0", b"user1", b"user1\0", b"user1\0\0\0\0"];
        for (place, key) in keys.iter().enumerate() {
            for other in &keys[..place] {
                assert_ne!(key_hash(key), key_hash(other), "{key:?} {other:?}");
            }
        }
    }

    #[test]
    fn numbered_keys_fill_sixteen_shards_evenly() {
        let mut counts = [0u32; 16];
        for number in 0..16_000 {
            counts[(key_hash(format!("user{number}").as_bytes()) >> 60) as usize] += 1;
        }
        let chi_square: f64 =
            counts.iter().map(|&count| (f64::from(count) - 1000.0).powi(2) / 1000.0).sum();
        // 15 degrees of freedom: 99.9 % of uniform samples stay below 37.7.
        assert!(chi_square < 37.7, "chi-square {chi_square}: {counts:?}");
    }
}
