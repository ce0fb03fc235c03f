//! Parquet's delta binary packing of numbers.
//!
//! Source: Apache Parquet format, Encodings.md, "Delta Encoding (DELTA_BINARY_PACKED = 5)". Blocks
//! have 128 values in four miniblocks, the sizes that every reader was tested with.

const BLOCK: usize = 128;
const MINIBLOCK: usize = 32;
const MINIBLOCKS: usize = BLOCK / MINIBLOCK;

/// Appends `values`, 64-bit numbers in two's complement, to `into`.
///
/// For columns of 32 bits the values are zero-extended; differences are then taken modulo 2^32, as
/// the format requires.
pub(super) fn encode(values: &[u64], bits: Bits, into: &mut Vec<u8>) {
    put_varint(BLOCK as u64, into);
    put_varint(MINIBLOCKS as u64, into);
    put_varint(values.len() as u64, into);
    let Some((&first, rest)) = values.split_first() else {
        put_varint(0, into);
        return;
    };
    put_varint(zigzag(bits.signed(first)), into);
    let mut before = first;
    let mut deltas = [0i64; BLOCK];
    for block in rest.chunks(BLOCK) {
        for (delta, &value) in deltas.iter_mut().zip(block) {
            *delta = bits.signed(value.wrapping_sub(before));
            before = value;
        }
        encode_block(&mut deltas, block.len(), bits, into);
    }
}

/// How wide a column's numbers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bits {
    /// INT32.
    Narrow,
    /// INT64.
    Wide,
}

impl Bits {
    fn signed(self, value: u64) -> i64 {
        match self {
            Bits::Narrow => i64::from(value as u32 as i32),
            Bits::Wide => value as i64,
        }
    }

    fn mask(self) -> u64 {
        match self {
            Bits::Narrow => u64::from(u32::MAX),
            Bits::Wide => u64::MAX,
        }
    }
}

fn encode_block(deltas: &mut [i64; BLOCK], count: usize, bits: Bits, into: &mut Vec<u8>) {
    let least = deltas[..count].iter().copied().min().expect("a chunk is never empty");
    put_varint(zigzag(least), into);
    // Padding with the least delta makes the last miniblock full of zeros.
    deltas[count..].fill(least);
    let mut packed = [0u64; BLOCK];
    for (slot, delta) in packed.iter_mut().zip(deltas.iter()) {
        *slot = delta.wrapping_sub(least) as u64 & bits.mask();
    }
    let widths_at = into.len();
    into.extend([0; MINIBLOCKS]);
    let (miniblocks, _) = packed.as_chunks::<MINIBLOCK>();
    for (number, miniblock) in miniblocks.iter().enumerate().take(count.div_ceil(MINIBLOCK)) {
        let spread = miniblock.iter().fold(0, |spread, value| spread | value);
        let width = 64 - spread.leading_zeros();
        into[widths_at + number] = width as u8;
        pack(miniblock, width, into);
    }
}

/// Appends 32 values of `width` bits each, lowest bits first.
fn pack(values: &[u64; MINIBLOCK], width: u32, into: &mut Vec<u8>) {
    match width {
        0 => {}
        1..=32 => pack_narrow(values, width, into),
        _ => pack_wide(values, width, into),
    }
}

fn pack_narrow(values: &[u64; MINIBLOCK], width: u32, into: &mut Vec<u8>) {
    let mut words = [0u8; 4 * MINIBLOCK];
    let (slots, _) = words.as_chunks_mut::<4>();
    let mut waiting = 0u64;
    let mut filled = 0;
    let mut at = 0;
    for value in values {
        waiting |= value << filled;
        filled += width;
        if filled >= 32 {
            slots[at] = (waiting as u32).to_le_bytes();
            at += 1;
            waiting >>= 32;
            filled -= 32;
        }
    }
    into.extend_from_slice(&words[..4 * width as usize]);
}

fn pack_wide(values: &[u64; MINIBLOCK], width: u32, into: &mut Vec<u8>) {
    let mut waiting = 0u128;
    let mut filled = 0;
    for value in values {
        waiting |= u128::from(*value) << filled;
        filled += width;
        while filled >= 32 {
            into.extend_from_slice(&(waiting as u32).to_le_bytes());
            waiting >>= 32;
            filled -= 32;
        }
    }
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn put_varint(mut value: u64, into: &mut Vec<u8>) {
    while value >= 0x80 {
        into.push(value as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}
