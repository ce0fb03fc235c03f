//! Blocks come back as they were written, or not at all.

use super::*;
use crate::samples;

const PLACE: Place = Place { worker: 3, sequence: 7, first: 700, run: RunTag(5) };

fn block(records: &[Record]) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(PLACE, records, &mut bytes);
    bytes
}

fn read(bytes: &[u8]) -> Result<Vec<Record>, BlockError> {
    let header = Header::parse(bytes)?;
    let payload = bytes.get(HEADER_BYTES..header.block_bytes()).ok_or(BlockError::Torn)?;
    let mut records = Vec::new();
    decode(&header, payload, &mut records)?;
    Ok(records)
}

#[test]
fn wild_records_come_back_as_they_were() {
    for (seed, count) in [(1, 0), (2, 1), (3, 127), (4, 128), (5, 129), (6, 4096)] {
        let records = samples::wild(seed, count);
        assert_eq!(read(&block(&records)), Ok(records), "{count} records of seed {seed}");
    }
}

#[test]
fn ycsb_records_take_about_twenty_bytes() {
    let records = samples::ycsb_a(0, 4096, 1_000_000);
    let bytes = block(&records);
    assert_eq!(read(&bytes), Ok(records));
    let each = bytes.len() as f64 / 4096.0;
    assert!(each < 25.0, "{each} bytes per record");
}

#[test]
fn a_header_tells_where_its_block_stands() {
    let header = Header::parse(&block(&samples::wild(1, 10))).unwrap();
    assert_eq!((header.worker, header.sequence, header.first, header.count), (3, 7, 700, 10));
    assert_eq!(header.run, RunTag(5));
}

#[test]
fn a_changed_bit_anywhere_is_found() {
    let bytes = block(&samples::wild(9, 20));
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        assert!(read(&changed).is_err(), "a flip in byte {at} went unnoticed");
    }
}

#[test]
fn a_block_cut_anywhere_is_torn() {
    let bytes = block(&samples::wild(9, 20));
    for length in 0..bytes.len() {
        assert_eq!(read(&bytes[..length]), Err(BlockError::Torn), "cut at {length}");
    }
}

#[test]
fn a_newer_block_is_named_as_such() {
    let mut bytes = block(&samples::wild(9, 2));
    bytes[8..10].copy_from_slice(&(VERSION + 1).to_le_bytes());
    let sum = crc32fast::hash(&bytes[..HEADER_BYTES - 4]);
    bytes[HEADER_BYTES - 4..HEADER_BYTES].copy_from_slice(&sum.to_le_bytes());
    assert_eq!(read(&bytes), Err(BlockError::Newer { found: VERSION + 1 }));
}

#[test]
fn garbage_behind_a_right_checksum_is_refused() {
    let mut bytes = block(&samples::wild(9, 2));
    let start = HEADER_BYTES;
    bytes.truncate(start + 5);
    let mut header = Header::parse(&bytes).unwrap();
    header.length = 5;
    header.checksum = crc32fast::hash(&bytes[start..]);
    assert_eq!(decode(&header, &bytes[start..], &mut Vec::new()), Err(BlockError::Payload));
}
