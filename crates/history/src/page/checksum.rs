//! Puts a checksum into the header of a Parquet page.
//!
//! Parquet has room for the CRC-32 of a page's bytes (field 4 of `PageHeader` in
//! `parquet.thrift`), but the writer of the `parquet` crate leaves it out. Without it, a bit that
//! flips on the disk would change a latency unnoticed.

/// Thrift's compact protocol: the field after the last one, a whole number of 32 bits.
const NEXT_FIELD_I32: u8 = 0x15;

/// The header of the page whose bytes have the CRC-32 `sum`; `None` if `header` has another form
/// than three numbers (type and two sizes), no checksum, then the header of that type of page.
pub(super) fn with_checksum(header: &[u8], sum: u32) -> Option<Vec<u8>> {
    let mut at = 0;
    for _ in 0..3 {
        if *header.get(at)? != NEXT_FIELD_I32 {
            return None;
        }
        let last = header[at + 1..].iter().position(|byte| byte & 0x80 == 0)?;
        at += 2 + last;
    }
    let next = *header.get(at)?;
    // The upper half counts on from field 3, so the room of field 4 must be free.
    if next >> 4 < 2 {
        return None;
    }
    let mut with = header[..at].to_vec();
    with.push(NEXT_FIELD_I32);
    put_i32(sum as i32, &mut with);
    with.push(next - 0x10);
    with.extend_from_slice(&header[at + 1..]);
    Some(with)
}

/// Zigzag, then seven bits per byte, the lowest first.
fn put_i32(value: i32, into: &mut Vec<u8>) {
    let mut rest = ((value << 1) ^ (value >> 31)) as u32;
    while rest >= 0x80 {
        into.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    into.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Data page of 300 bytes: type 0, twice 300, then field 5 with a struct that ends at once.
    const HEADER: [u8; 11] = [0x15, 0x00, 0x15, 0xD8, 0x04, 0x15, 0xD8, 0x04, 0x2C, 0x00, 0x00];

    #[test]
    fn the_checksum_is_field_four() {
        let with = with_checksum(&HEADER, 1).unwrap();
        assert_eq!(with[..8], HEADER[..8]);
        assert_eq!(with[8..], [0x15, 0x02, 0x1C, 0x00, 0x00]);
    }

    #[test]
    fn a_checksum_of_the_upper_half_is_negative() {
        let with = with_checksum(&HEADER, u32::MAX).unwrap();
        assert_eq!(with[8..10], [0x15, 0x01]);
        let with = with_checksum(&HEADER, 1 << 31).unwrap();
        assert_eq!(with[8..14], [0x15, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F]);
    }

    #[test]
    fn a_header_of_another_form_is_left_alone() {
        let with = with_checksum(&HEADER, 7).unwrap();
        assert_eq!(with_checksum(&with, 7), None, "it has one already");
        for length in 0..9 {
            assert_eq!(with_checksum(&HEADER[..length], 7), None);
        }
        assert_eq!(with_checksum(&[0x25; 11], 7), None);
    }
}
