//! The numbers of a block's records, column by column in groups that fit into the first cache.
//!
//! A column of a group is its first value as a varint, a width in bytes, then every value
//! exclusive-or'ed with the first at that width. A column that does not change costs two or three
//! bytes per group. Exclusive-or instead of a minimum keeps the loops free of 64-bit comparisons,
//! which the common x86-64 target cannot do in parallel.

use super::Header;
use assay_model::{Ends, Kind, Nanos, Outcome, Phase, Reason, Record, Verified, version};

/// Records of one group: 12 KiB of them stay in the first cache while each column is taken.
const GROUP: usize = 128;

/// The version of the format that brought the statement and the number of requests.
const STATEMENTS_SINCE: u16 = 2;

/// The version of the format that brought the node.
const NODES_SINCE: u16 = 3;

/// What the first record of a group is compared with.
#[derive(Default)]
struct Before {
    index: u64,
    process: u64,
    intended: u64,
}

pub(super) fn encode(records: &[Record], into: &mut Vec<u8>) {
    let mut before = Before::default();
    if let Some(first) = records.first() {
        before = Before { index: first.index, process: first.process, intended: first.intended.0 };
    }
    put_varint(before.index, into);
    put_varint(before.process, into);
    put_varint(before.intended, into);
    for group in records.chunks(GROUP) {
        encode_group(group, &mut before, into);
    }
}

fn encode_group(group: &[Record], before: &mut Before, into: &mut Vec<u8>) {
    put_steps(group, &mut before.index, into, |r| r.index);
    put_steps(group, &mut before.process, into, |r| r.process);
    put(group, into, |r| r.key);
    put_steps(group, &mut before.intended, into, |r| r.intended.0);
    put(group, into, |r| r.started.0.wrapping_sub(r.intended.0));
    put(group, into, |r| r.ended.0.wrapping_sub(r.started.0));
    put(group, into, |r| fold_version(r, r.version_written));
    put(group, into, |r| r.version_read);
    put(group, into, |r| u64::from(r.session));
    put(group, into, |r| u64::from(r.bytes));
    put(group, into, |r| u64::from(r.rows));
    put(group, into, |r| u64::from(r.verify_ns));
    put(group, into, |r| u64::from(r.transaction));
    put(group, into, |r| u64::from(r.transaction_type));
    put(group, into, |r| u64::from(r.statement) | u64::from(r.requests) << 16);
    put(group, into, |r| u64::from(r.node));
    put(group, into, shape);
}

/// The enumerations in two bytes and a bit; what varies most is lowest, so that one byte usually
/// suffices.
fn shape(r: &Record) -> u64 {
    r.kind as u64
        | u64::from(r.found) << 3
        | (r.outcome as u64) << 4
        | (r.verified as u64) << 6
        | (r.reason as u64) << 8
        | (r.phase as u64) << 13
        | u64::from(r.ends_transaction()) << 15
        | u64::from(r.ends_process()) << 16
}

fn set_shape(r: &mut Record, shape: u64) -> Option<()> {
    r.kind = Kind::from_code((shape & 7) as u8)?;
    r.found = shape >> 3 & 1 == 1;
    r.outcome = Outcome::from_code((shape >> 4 & 3) as u8)?;
    r.verified = Verified::from_code((shape >> 6 & 3) as u8)?;
    r.reason = Reason::from_code((shape >> 8 & 31) as u8)?;
    r.phase = Phase::from_code((shape >> 13 & 3) as u8)?;
    r.ends = Ends::of(shape >> 15 & 1 == 1, shape >> 16 & 1 == 1);
    Some(())
}

/// Swaps the version that the record is expected to write with 1; its own inverse.
///
/// A written version follows from index or key, so all but those of foreign plans become 0 or 1.
fn fold_version(r: &Record, version: u64) -> u64 {
    let expected = match r.phase {
        Phase::Load => version::loaded(r.key),
        Phase::WarmUp | Phase::Measure | Phase::Final => version::written(r.index),
    };
    match version {
        v if v == expected => 1,
        1 => expected,
        v => v,
    }
}

fn zigzag(step: u64) -> u64 {
    (step << 1) ^ (step >> 63).wrapping_neg()
}

fn unzigzag(folded: u64) -> u64 {
    (folded >> 1) ^ (folded & 1).wrapping_neg()
}

#[inline(always)]
fn put_steps(group: &[Record], before: &mut u64, into: &mut Vec<u8>, of: impl Fn(&Record) -> u64) {
    let mut column = [0; GROUP];
    let mut last = *before;
    for (slot, record) in column.iter_mut().zip(group) {
        let value = of(record);
        *slot = zigzag(value.wrapping_sub(last));
        last = value;
    }
    *before = last;
    pack(&column[..group.len()], into);
}

#[inline(always)]
fn put(group: &[Record], into: &mut Vec<u8>, of: impl Fn(&Record) -> u64) {
    let mut column = [0; GROUP];
    for (slot, record) in column.iter_mut().zip(group) {
        *slot = of(record);
    }
    pack(&column[..group.len()], into);
}

#[inline(never)]
fn pack(column: &[u64], into: &mut Vec<u8>) {
    let first = column[0];
    let spread = column.iter().fold(0, |spread, value| spread | (value ^ first));
    let width = (64 - spread.leading_zeros()).div_ceil(8) as u8;
    put_varint(first, into);
    into.push(width);
    match width {
        0 => {}
        1 => pack_at::<1>(column, first, into),
        2 => pack_at::<2>(column, first, into),
        3 => pack_at::<3>(column, first, into),
        4 => pack_at::<4>(column, first, into),
        5 => pack_at::<5>(column, first, into),
        6 => pack_at::<6>(column, first, into),
        7 => pack_at::<7>(column, first, into),
        _ => pack_at::<8>(column, first, into),
    }
}

#[inline(always)]
fn pack_at<const WIDTH: usize>(column: &[u64], first: u64, into: &mut Vec<u8>) {
    let start = into.len();
    into.resize(start + column.len() * WIDTH, 0);
    let (slots, _) = into[start..].as_chunks_mut::<WIDTH>();
    for (slot, value) in slots.iter_mut().zip(column) {
        slot.copy_from_slice(&(value ^ first).to_le_bytes()[..WIDTH]);
    }
}

fn put_varint(mut value: u64, into: &mut Vec<u8>) {
    while value >= 0x80 {
        into.push(value as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

/// Appends the block's records to `into`, or gives `None` if the bytes are invalid.
pub(super) fn decode(mut bytes: &[u8], header: &Header, into: &mut Vec<Record>) -> Option<()> {
    let mut before = Before {
        index: take_varint(&mut bytes)?,
        process: take_varint(&mut bytes)?,
        intended: take_varint(&mut bytes)?,
    };
    let start = into.len();
    into.resize(start + header.count as usize, Record::BLANK);
    for group in into[start..].chunks_mut(GROUP) {
        decode_group(&mut bytes, group, &mut before, header.version)?;
    }
    bytes.is_empty().then_some(())
}

fn decode_group(
    bytes: &mut &[u8],
    group: &mut [Record],
    before: &mut Before,
    version: u16,
) -> Option<()> {
    take_steps(bytes, group, &mut before.index, |r, v| r.index = v)?;
    take_steps(bytes, group, &mut before.process, |r, v| r.process = v)?;
    take(bytes, group, |r, v| r.key = v)?;
    take_steps(bytes, group, &mut before.intended, |r, v| r.intended = Nanos(v))?;
    take(bytes, group, |r, v| r.started = Nanos(v.wrapping_add(r.intended.0)))?;
    take(bytes, group, |r, v| r.ended = Nanos(v.wrapping_add(r.started.0)))?;
    take(bytes, group, |r, v| r.version_written = v)?;
    take(bytes, group, |r, v| r.version_read = v)?;
    take_narrow(bytes, group, |r, v: u32| r.session = v)?;
    take_narrow(bytes, group, |r, v: u32| r.bytes = v)?;
    take_narrow(bytes, group, |r, v: u32| r.rows = v)?;
    take_narrow(bytes, group, |r, v: u32| r.verify_ns = v)?;
    take_narrow(bytes, group, |r, v: u16| r.transaction = v)?;
    take_narrow(bytes, group, |r, v: u16| r.transaction_type = v)?;
    if version >= STATEMENTS_SINCE {
        take_narrow(bytes, group, |r, v: u32| {
            (r.statement, r.requests) = (v as u16, (v >> 16) as u16);
        })?;
    }
    if version >= NODES_SINCE {
        take_narrow(bytes, group, |r, v: u8| r.node = v)?;
    }
    let mut known = true;
    take(bytes, group, |r, v| known &= set_shape(r, v).is_some())?;
    for record in group.iter_mut() {
        record.version_written = fold_version(record, record.version_written);
    }
    known.then_some(())
}

#[inline(always)]
fn take_steps(
    bytes: &mut &[u8],
    group: &mut [Record],
    before: &mut u64,
    mut set: impl FnMut(&mut Record, u64),
) -> Option<()> {
    let mut last = *before;
    take(bytes, group, |record, folded| {
        last = last.wrapping_add(unzigzag(folded));
        set(record, last);
    })?;
    *before = last;
    Some(())
}

#[inline(always)]
fn take_narrow<T: TryFrom<u64>>(
    bytes: &mut &[u8],
    group: &mut [Record],
    mut set: impl FnMut(&mut Record, T),
) -> Option<()> {
    let mut fits = true;
    take(bytes, group, |record, value| match T::try_from(value) {
        Ok(value) => set(record, value),
        Err(_) => fits = false,
    })?;
    fits.then_some(())
}

#[inline(always)]
fn take(
    bytes: &mut &[u8],
    group: &mut [Record],
    mut set: impl FnMut(&mut Record, u64),
) -> Option<()> {
    let mut column = [0; GROUP];
    unpack(bytes, &mut column[..group.len()])?;
    for (record, value) in group.iter_mut().zip(column) {
        set(record, value);
    }
    Some(())
}

#[inline(never)]
fn unpack(bytes: &mut &[u8], column: &mut [u64]) -> Option<()> {
    let first = take_varint(bytes)?;
    let (&width, rest) = bytes.split_first()?;
    let (packed, rest) = rest.split_at_checked(column.len() * usize::from(width))?;
    *bytes = rest;
    match width {
        0 => column.fill(first),
        1 => unpack_at::<1>(packed, first, column),
        2 => unpack_at::<2>(packed, first, column),
        3 => unpack_at::<3>(packed, first, column),
        4 => unpack_at::<4>(packed, first, column),
        5 => unpack_at::<5>(packed, first, column),
        6 => unpack_at::<6>(packed, first, column),
        7 => unpack_at::<7>(packed, first, column),
        8 => unpack_at::<8>(packed, first, column),
        _ => return None,
    }
    Some(())
}

#[inline(always)]
fn unpack_at<const WIDTH: usize>(packed: &[u8], first: u64, column: &mut [u64]) {
    let (slots, _) = packed.as_chunks::<WIDTH>();
    for (value, slot) in column.iter_mut().zip(slots) {
        let mut bytes = [0; 8];
        bytes[..WIDTH].copy_from_slice(slot);
        *value = u64::from_le_bytes(bytes) ^ first;
    }
}

fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}
