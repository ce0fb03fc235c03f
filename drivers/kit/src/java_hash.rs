//! The number that Java makes of a text.

/// Java's `String.hashCode`: the sum of c·31^(n−1−i) over UTF-16 units, modulo 2^32, signed.
///
/// Source: the documentation of `java.lang.String`. Bytes that are not UTF-8 count as U+FFFD,
/// which is what Java makes of them.
#[inline]
pub fn java_hash(key: &[u8]) -> i32 {
    if key.is_ascii() {
        return key.iter().fold(0, |hash, &byte| step(hash, u16::from(byte)));
    }
    String::from_utf8_lossy(key).encode_utf16().fold(0, step)
}

#[inline]
fn step(hash: i32, unit: u16) -> i32 {
    hash.wrapping_mul(31).wrapping_add(i32::from(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_that_java_prints() {
        for (key, hash) in [
            ("", 0),
            ("a", 97),
            ("hello", 99_162_322),
            ("polygenelubricants", i32::MIN),
            ("Aa", 2112),
            ("BB", 2112),
            ("ä", 228),
            ("😀", 1_772_899),
        ] {
            assert_eq!(java_hash(key.as_bytes()), hash, "{key}");
        }
    }
}
