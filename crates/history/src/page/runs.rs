//! Parquet's hybrid of runs with bit-packed groups, for small codes, truth values, null flags.
//!
//! Source: Apache Parquet format, Encodings.md, "Run Length Encoding / Bit-Packing Hybrid". A run
//! shorter than eight equal codes stays in a bit-packed stretch, as packing it costs no more.

/// Groups of eight in one bit-packed stretch, at most: the header then stays within two bytes.
const GROUPS_MAX: usize = 512;

/// Appends `codes`, each below 2^`width`, to `into`.
pub(super) fn encode(codes: &[u8], width: u32, into: &mut Vec<u8>) {
    let mut rest = codes;
    while !rest.is_empty() {
        let run = run_length(rest);
        if run >= 8 || run == rest.len() {
            put_varint((run as u64) << 1, into);
            if width > 0 {
                into.push(rest[0]);
            }
            rest = &rest[run..];
        } else {
            let groups = packed_groups(rest);
            put_varint((groups as u64) << 1 | 1, into);
            let taken = rest.len().min(groups * 8);
            pack(&rest[..taken], width, into);
            rest = &rest[taken..];
        }
    }
}

/// How many codes at the start are equal.
fn run_length(codes: &[u8]) -> usize {
    let (eights, _) = codes.as_chunks::<8>();
    let whole = eights.iter().take_while(|eight| **eight == [codes[0]; 8]).count() * 8;
    whole + codes[whole..].iter().take_while(|code| **code == codes[0]).count()
}

/// How many groups of eight to pack before the next group of eight equal codes.
fn packed_groups(codes: &[u8]) -> usize {
    let (eights, rest) = codes.as_chunks::<8>();
    let mixed = eights.iter().take(GROUPS_MAX).take_while(|eight| **eight != [eight[0]; 8]).count();
    let at_end = mixed == eights.len() && !rest.is_empty() && mixed < GROUPS_MAX;
    (mixed + usize::from(at_end)).max(1)
}

fn pack(codes: &[u8], width: u32, into: &mut Vec<u8>) {
    for group in codes.chunks(8) {
        let mut bits = 0u64;
        for (place, code) in group.iter().enumerate() {
            bits |= u64::from(*code) << (place as u32 * width);
        }
        into.extend_from_slice(&bits.to_le_bytes()[..width as usize]);
    }
}

/// The codes of `bytes`, up to `count`, appended to `into`; `None` if the bytes are invalid.
pub(crate) fn decode(mut bytes: &[u8], width: u32, count: usize, into: &mut Vec<u8>) -> Option<()> {
    let end = into.len() + count;
    while into.len() < end {
        let header = take_varint(&mut bytes)?;
        let expected = end - into.len();
        if header & 1 == 0 {
            let run = usize::try_from(header >> 1).ok()?.min(expected);
            let code = if width == 0 { 0 } else { *bytes.split_off_first()? };
            into.resize(into.len() + run, code);
        } else {
            let groups = usize::try_from(header >> 1).ok()?;
            let packed = bytes.split_off(..groups.checked_mul(width as usize)?.min(bytes.len()))?;
            unpack(packed, width, groups.min(expected.div_ceil(8)), into);
            if into.len() < end && bytes.is_empty() {
                return None;
            }
            into.truncate(end);
        }
    }
    Some(())
}

fn unpack(packed: &[u8], width: u32, groups: usize, into: &mut Vec<u8>) {
    if width == 0 {
        into.resize(into.len() + groups * 8, 0);
        return;
    }
    let mask = (1u64 << width) - 1;
    for group in packed.chunks(width as usize) {
        let mut bytes = [0; 8];
        bytes[..group.len()].copy_from_slice(group);
        let bits = u64::from_le_bytes(bytes);
        into.extend((0..8).map(|place| (bits >> (place * width) & mask) as u8));
    }
}

fn put_varint(mut value: u64, into: &mut Vec<u8>) {
    while value >= 0x80 {
        into.push(value as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.split_off_first()?;
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}
