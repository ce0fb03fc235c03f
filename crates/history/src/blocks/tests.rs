//! Whatever happens to a block file, intact blocks are read, the others are named.

use super::*;
use crate::block::Place;
use crate::samples::{self, tempdir};

/// A file of four blocks of ten records each, its records, and where each block ends.
fn four_blocks() -> (Vec<u8>, Vec<Record>, Vec<usize>) {
    let records = samples::ycsb_a(0, 40, 1000);
    let (mut file, mut ends, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    for (sequence, chunk) in records.chunks(10).enumerate() {
        let first = sequence as u64 * 10;
        let place = Place { worker: 0, sequence: sequence as u32, first, run: RunTag::default() };
        block::encode(place, chunk, &mut bytes);
        file.extend_from_slice(&bytes);
        ends.push(file.len());
    }
    (file, records, ends)
}

fn read(path: &Path, bytes: &[u8]) -> (Vec<Record>, Vec<Damage>) {
    std::fs::write(path, bytes).unwrap();
    let mut blocks = WorkerBlocks::open(path, 0, RunTag::default()).unwrap();
    let mut records = Vec::new();
    while blocks.next_block(&mut records).unwrap() {}
    let counted = WorkerBlocks::open(path, 0, RunTag::default()).unwrap().count().unwrap();
    assert!(counted >= records.len() as u64);
    (records, blocks.damage().to_vec())
}

#[test]
fn an_intact_file_is_read_whole() {
    let (file, records, _) = four_blocks();
    assert_eq!(read(&tempdir("intact").join("b"), &file), (records, Vec::new()));
}

#[test]
fn a_file_torn_at_any_byte_keeps_every_whole_block() {
    let (file, records, ends) = four_blocks();
    let path = tempdir("torn").join("b");
    for length in 0..file.len() {
        let whole = ends.iter().filter(|end| **end <= length).count();
        let (kept, damage) = read(&path, &file[..length]);
        assert_eq!(kept, records[..whole * 10], "cut at {length}");
        let clean = length == 0 || ends.contains(&length);
        assert_eq!(damage.is_empty(), clean, "cut at {length}");
        for Damage { form, offset, bytes, records_missing, .. } in damage {
            assert_eq!((form, offset + bytes), (DamageKind::TornTail, length as u64));
            let start = if whole == 0 { 0 } else { ends[whole - 1] };
            let reported = length - start >= HEADER_BYTES;
            assert_eq!(records_missing, reported.then_some(10), "cut at {length}");
        }
    }
}

#[test]
fn a_flipped_bit_anywhere_costs_one_block_and_is_named() {
    let (file, records, ends) = four_blocks();
    let path = tempdir("flipped").join("b");
    for at in 0..file.len() {
        let mut bytes = file.clone();
        bytes[at] ^= 0x10;
        let hit = ends.iter().filter(|end| **end <= at).count();
        let (kept, damage) = read(&path, &bytes);
        let expected: Vec<_> = records
            .chunks(10)
            .enumerate()
            .filter(|(n, _)| *n != hit)
            .flat_map(|(_, c)| c)
            .collect();
        assert_eq!(kept.iter().collect::<Vec<_>>(), expected, "flip in byte {at}");
        assert_eq!(damage.len(), 1, "flip in byte {at}");
        if hit < 3 {
            assert_eq!(
                (damage[0].form, damage[0].records_missing),
                (DamageKind::Corrupt, Some(10))
            );
        }
    }
}

#[test]
fn a_block_that_was_cut_out_is_missed() {
    let (mut file, records, ends) = four_blocks();
    file.drain(ends[0]..ends[2]);
    let (kept, damage) = read(&tempdir("cut-out").join("b"), &file);
    assert_eq!(kept, [&records[..10], &records[30..]].concat());
    assert_eq!((damage[0].form, damage[0].records_missing), (DamageKind::Absent, Some(20)));
}

#[test]
fn a_file_of_garbage_is_one_damage() {
    let (kept, damage) = read(&tempdir("garbage").join("b"), &[0x93; 200_000]);
    assert!(kept.is_empty());
    assert_eq!((damage.len(), damage[0].bytes, damage[0].records_missing), (1, 200_000, None));
}
