//! Tests of reading histories, sealed or not.

use assay_model::{Outcome, version};
use std::collections::BTreeMap;

use super::*;
use crate::column::Column;
use crate::manifest::Manifest;
use crate::run_dir::RunDir;
use crate::samples::{self, tempdir};
use crate::writer::Memory;

/// How far apart the bits are that are flipped one by one; 1 takes a minute.
const BITS: usize = 43;

/// A run directory whose workers hold `workers`, not sealed.
fn written(dir: &Path, workers: &[Vec<Record>]) -> RunDir {
    let run_dir = RunDir::create(dir).unwrap();
    let (writer, sinks) = run_dir.writer(workers.len() as u16, Memory::default()).unwrap();
    for (mut sink, records) in sinks.into_iter().zip(workers) {
        records.iter().for_each(|record| sink.push(*record));
    }
    writer.finish().unwrap();
    run_dir
}

fn read(dir: &Path, columns: Columns) -> BTreeMap<(u32, u16), Vec<Record>> {
    let mut history = History::open(dir).unwrap();
    let mut workers = BTreeMap::<_, Vec<Record>>::new();
    let damage = history
        .each_batch(columns, |batch| {
            workers.entry((batch.agent, batch.worker)).or_default().extend(batch.records);
        })
        .unwrap();
    assert_eq!(damage, []);
    assert_eq!(history.records(), workers.values().map(|l| l.len() as u64).sum::<u64>());
    workers
}

fn by_index(mut records: Vec<Record>) -> Vec<Record> {
    records.sort_by_key(|record| {
        (record.index, record.process, record.key, record.started, record.ended)
    });
    records
}

#[test]
fn ordinary_records_come_back_from_blocks_and_from_parts() {
    let dir = tempdir("ordinary");
    let workers = [samples::ycsb_a(0, 30_001, 1000), samples::ycsb_a(50_000, 9_000, 1000)];
    let mut run_dir = written(&dir, &workers);
    assert!(!History::open(&dir).unwrap().is_sealed());
    let unsealed = read(&dir, Columns::ALL);
    let sealed = run_dir.seal(0, &[("assay.width".to_owned(), "1".to_owned())]).unwrap();
    assert_eq!((sealed.records(), sealed.parts.len()), (39_001, 2));
    let after = read(&dir, Columns::ALL);
    assert_eq!(after, unsealed);
    assert_eq!(after[&(0, 0)], workers[0]);
    assert_eq!(after[&(0, 1)], workers[1]);
    let history = History::open(&dir).unwrap();
    assert!(history.is_sealed());
    assert_eq!(history.fact("assay.width"), Some("1"));
    assert!(!place::blocks(&dir).exists(), "sealed blocks are gone");
}

#[test]
fn wild_records_of_every_count_come_back() {
    for (seed, count) in [(1, 0), (2, 1), (3, 129), (4, 8192), (5, 8193), (6, 40_000)] {
        let dir = tempdir("wild");
        let records = samples::wild(seed, count);
        written(&dir, std::slice::from_ref(&records)).seal(0, &[]).unwrap();
        let back = read(&dir, Columns::ALL).remove(&(0, 0)).unwrap_or_default();
        assert_eq!(by_index(back), by_index(records), "{count} records of seed {seed}");
    }
}

#[test]
fn every_word_comes_back() {
    let dir = tempdir("words");
    let one = samples::wild(1, 1)[0];
    let mut records = Vec::new();
    for reason in assay_model::Reason::ALL {
        for outcome in Outcome::ALL {
            let index = records.len() as u64;
            records.push(Record { index, reason, outcome, ..one });
        }
    }
    written(&dir, std::slice::from_ref(&records)).seal(0, &[]).unwrap();
    assert_eq!(read(&dir, Columns::ALL)[&(0, 0)], records);
}

#[test]
fn only_wanted_columns_are_read() {
    let dir = tempdir("wanted");
    let records = samples::ycsb_a(0, 5000, 1000);
    written(&dir, std::slice::from_ref(&records)).seal(0, &[]).unwrap();
    let back = read(&dir, Columns::of(&[Column::Key, Column::VersionWritten]));
    for (back, record) in back[&(0, 0)].iter().zip(&records) {
        let expected =
            Record { key: record.key, version_written: record.version_written, ..Record::BLANK };
        assert_eq!(*back, expected);
    }
    let writes = records.iter().filter(|r| r.version_written != version::NONE).count();
    assert!(writes > 2000);
}

#[test]
fn records_in_disorder_are_sorted_by_index_within_pages() {
    // Those of one worker, of one of many workers, far apart, very far apart, and two of each.
    let indices: [fn(u64) -> u64; 5] = [
        |place| place,
        |place| 5 * place,
        |place| 1000 * place,
        |place| place << 40,
        |place| place / 2,
    ];
    for (number, index) in indices.into_iter().enumerate() {
        let dir = tempdir(&format!("jumbled-{number}"));
        let mut records = samples::ycsb_a(0, 20_000, 1000);
        for record in &mut records {
            record.index = index(record.index);
        }
        for group in records.chunks_mut(7) {
            group.reverse();
        }
        written(&dir, std::slice::from_ref(&records)).seal(0, &[]).unwrap();
        let back = read(&dir, Columns::ALL).remove(&(0, 0)).unwrap();
        let rows = crate::part::PAGE_ROWS;
        for (page, written) in back.chunks(rows).zip(records.chunks_mut(rows)) {
            written.sort_by_key(|record| record.index);
            assert!(page == written, "{number}");
        }
        assert_eq!(back.len(), records.len());
    }
}

#[test]
fn several_agents_are_read_as_one() {
    let (dir, other) = (tempdir("agents"), tempdir("agents-other"));
    let (ours, theirs) = (samples::ycsb_a(0, 100, 10), samples::ycsb_a(100, 50, 10));
    written(&dir, std::slice::from_ref(&ours)).seal(0, &[]).unwrap();
    written(&other, std::slice::from_ref(&theirs)).seal(1, &[]).unwrap();
    std::fs::rename(place::agent(&other, 1), place::agent(&dir, 1)).unwrap();
    let workers = read(&dir, Columns::ALL);
    assert_eq!((&workers[&(0, 0)], &workers[&(1, 0)]), (&ours, &theirs));
    assert_eq!(History::open(&dir).unwrap().agents(), [0, 1]);
}

#[test]
fn unsealed_blocks_belong_to_the_agent_of_the_manifest() {
    let dir = tempdir("unsealed-agent");
    let mut run_dir = written(&dir, &[samples::ycsb_a(0, 10, 10)]);
    let mut manifest = Manifest::default();
    manifest.history.agent = 3;
    manifest.history.width = 2;
    run_dir.write_manifest(&manifest).unwrap();
    assert_eq!(History::open(&dir).unwrap().agents(), [3]);
    assert_eq!(History::open(&dir).unwrap().fact("assay.width"), Some("2"));
}

#[test]
fn what_is_no_history_gets_a_clear_error() {
    let dir = tempdir("no-history");
    let error = History::open(&dir.join("absent")).unwrap_err();
    assert!(matches!(error, OpenError::NoRunDir { .. }), "{error}");
    let error = History::open(&dir).unwrap_err();
    assert!(matches!(error, OpenError::NoHistory { .. }), "{error}");
}

#[test]
fn a_part_cut_anywhere_is_named() {
    let dir = tempdir("cut-part");
    written(&dir, &[samples::ycsb_a(0, 100, 10)]).seal(0, &[]).unwrap();
    let path = place::part(&dir, 0, 0);
    let bytes = std::fs::read(&path).unwrap();
    for length in (0..bytes.len()).step_by(7) {
        std::fs::write(&path, &bytes[..length]).unwrap();
        let error = History::open(&dir).unwrap_err();
        assert!(matches!(error, OpenError::Part { .. }), "cut at {length}: {error}");
        assert!(error.to_string().contains("part-0.parquet"));
    }
}

#[test]
fn a_changed_bit_in_a_part_is_an_error_or_changes_no_record() {
    let dir = tempdir("changed-part");
    let whole = written(&dir, &[samples::ycsb_a(0, 300, 10)]).seal(0, &[]).unwrap().sum();
    let path = place::part(&dir, 0, 0);
    let bytes = std::fs::read(&path).unwrap();
    let mut noticed = 0;
    for bit in (0..bytes.len() * 8).step_by(BITS) {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, &changed).unwrap();
        let mut sum = RecordSum::default();
        let read = History::open(&dir).is_ok_and(|mut history| {
            history.each_batch(Columns::ALL, |batch| sum.add(batch.records)).is_ok()
        });
        assert!(!read || sum == whole, "bit {bit} changes records in silence");
        noticed += usize::from(!read);
    }
    assert!(noticed > 0);
}

#[test]
fn a_history_that_another_tool_compressed_is_not_called_damaged() {
    let dir = tempdir("compressed-part");
    written(&dir, &[samples::ycsb_a(0, 10, 10)]).seal(0, &[]).unwrap();
    let path = place::part(&dir, 0, 0);
    let mut bytes = std::fs::read(&path).unwrap();
    // The codec of a column follows its name in the footer: field 4, of which zstd is number 6.
    let name = b"index\x15\x00";
    let at = bytes.windows(name.len()).position(|window| window == name).unwrap();
    bytes[at + name.len() - 1] = 12;
    std::fs::write(&path, bytes).unwrap();
    let error = History::open(&dir).unwrap_err();
    assert!(matches!(error, OpenError::Compressed { .. }), "{error}");
    let said = error.to_string();
    assert!(said.contains("is compressed with zstd, which is not supported: rewrite it"), "{said}");
}

/// A run directory of one worker with a manifest of its own, sealed.
fn named(name: &str, id: &str, records: &[Record]) -> PathBuf {
    let dir = tempdir(name);
    let mut run_dir = written(&dir, &[records.to_vec()]);
    let mut manifest = Manifest::default();
    manifest.run.id = id.to_owned();
    run_dir.write_manifest(&manifest).unwrap();
    run_dir.seal(0, &manifest.facts()).unwrap();
    dir
}

#[test]
fn a_part_of_another_run_or_under_another_name_is_refused() {
    let records = samples::ycsb_a(0, 10, 10);
    let (dir, other) = (named("mine", "mine", &records), named("theirs", "theirs", &records));
    let (own, second) = (place::part(&dir, 0, 0), place::part(&dir, 0, 1));
    std::fs::copy(&own, &second).unwrap();
    let error = History::open(&dir).unwrap_err();
    assert!(
        matches!(&error, OpenError::Doubled { path, original }
        if *path == second && *original == own),
        "{error}"
    );
    std::fs::remove_file(&second).unwrap();
    std::fs::copy(place::part(&other, 0, 0), &own).unwrap();
    let error = History::open(&dir).unwrap_err();
    assert!(matches!(error, OpenError::Foreign { .. }), "{error}");
}

#[test]
fn a_copy_of_a_part_that_does_not_say_which_it_is_is_known_by_its_bytes() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v2");
    let dir = tempdir("old-twice");
    std::fs::create_dir_all(place::agent(&dir, 0)).unwrap();
    for worker in [0, 5] {
        std::fs::copy(place::part(&golden, 0, 0), place::part(&dir, 0, worker)).unwrap();
    }
    let error = History::open(&dir).unwrap_err();
    assert!(matches!(error, OpenError::Doubled { .. }), "{error}");
}

#[test]
fn the_sum_of_the_parts_is_that_of_the_records() {
    let dir = tempdir("summed");
    let workers = [samples::wild(5, 3_000), samples::wild(6, 20_000)];
    let mut run_dir = written(&dir, &workers);
    assert_eq!(History::open(&dir).unwrap().sum(), None, "blocks have none");
    let sealed = run_dir.seal(0, &[]).unwrap();
    let mut sum = RecordSum::default();
    workers.iter().for_each(|records| sum.add(records));
    assert_eq!(sealed.sum(), sum);
    assert_eq!(History::open(&dir).unwrap().sum(), Some(sum));
    read(&dir, Columns::ALL);
}

#[test]
fn a_newer_history_is_named_as_such() {
    let dir = tempdir("newer-part");
    let key = crate::part::VERSION_KEY.to_owned();
    let mut run_dir = written(&dir, &[samples::ycsb_a(0, 10, 10)]);
    // The first pair of a key counts for readers, so the newer version must take its place.
    run_dir.seal(0, &[]).unwrap();
    let path = place::part(&dir, 0, 0);
    let bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(key.len()).position(|w| w == key.as_bytes()).unwrap() + key.len();
    let known = bytes[at..].iter().position(|byte| *byte == b'3').unwrap() + at;
    let mut newer = bytes;
    newer[known] = b'4';
    std::fs::write(&path, newer).unwrap();
    let error = History::open(&dir).unwrap_err();
    assert!(matches!(error, OpenError::Newer { found: 4, known: 3, .. }), "{error}");
}
