//! Chunks reach the disk whole, in order, or are counted as lost.

use std::sync::mpsc;
use std::sync::{Condvar, Mutex};

use super::*;
use crate::block::{HEADER_BYTES, Header};
use crate::samples;

/// Takes bytes until its room is used up, like a disk that runs full.
struct Small {
    room: usize,
    kept: mpsc::Sender<Vec<u8>>,
}

impl Append for Small {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() > self.room {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        self.room -= bytes.len();
        self.kept.send(bytes.to_vec()).unwrap();
        Ok(())
    }
}

fn on_disk_of(room: usize) -> (Writer, WorkerSink, mpsc::Receiver<Vec<u8>>) {
    let (kept, blocks) = mpsc::channel();
    let files = vec![(PathBuf::from("lane"), Box::new(Small { room, kept }) as Box<dyn Append>)];
    let (writer, mut sinks) = start_with(files, RunTag::default(), Memory::default()).unwrap();
    (writer, sinks.remove(0), blocks)
}

fn records_in(blocks: mpsc::Receiver<Vec<u8>>) -> Vec<Record> {
    let mut records = Vec::new();
    for (sequence, bytes) in blocks.iter().enumerate() {
        let header = Header::parse(&bytes).unwrap();
        assert_eq!(header.sequence as usize, sequence);
        assert_eq!(header.first as usize, records.len());
        block::decode(&header, &bytes[HEADER_BYTES..], &mut records).unwrap();
    }
    records
}

#[test]
fn everything_pushed_arrives_in_order() {
    let (writer, mut sink, blocks) = on_disk_of(usize::MAX);
    let records = samples::ycsb_a(0, 3 * CHUNK_RECORDS as u64 + 5, 1000);
    records.iter().for_each(|record| sink.push(*record));
    drop(sink);
    let written = writer.finish().unwrap();
    assert_eq!((written.records, written.blocks), (records.len() as u64, 4));
    assert_eq!(records_in(blocks), records);
}

#[test]
fn a_flush_hands_over_a_partial_chunk() {
    let (writer, mut sink, blocks) = on_disk_of(usize::MAX);
    sink.push(samples::wild(1, 1)[0]);
    sink.flush();
    let bytes = blocks.recv().unwrap();
    assert_eq!(Header::parse(&bytes).unwrap().count, 1);
    sink.flush();
    drop(sink);
    assert_eq!(writer.finish().unwrap().blocks, 1, "an empty flush writes nothing");
}

#[test]
fn a_full_disk_is_remembered_and_the_rest_is_counted() {
    let (writer, mut sink, blocks) = on_disk_of(150_000);
    let records = samples::ycsb_a(0, 40_000, 1000);
    records.iter().for_each(|record| sink.push(*record));
    while !sink.is_broken() {
        std::thread::yield_now();
    }
    drop(sink);
    let error = writer.finish().unwrap_err();
    assert_eq!(error.source.kind(), io::ErrorKind::StorageFull);
    assert!(error.written.records > 0);
    assert_eq!(error.written.records + error.lost, 40_000);
    let kept = records_in(blocks);
    assert_eq!(kept, records[..kept.len()]);
    assert_eq!(kept.len() as u64, error.written.records);
}

/// Takes nothing until the gate opens.
struct Gated(Arc<(Mutex<bool>, Condvar)>);

impl Append for Gated {
    fn append(&mut self, _: &[u8]) -> io::Result<()> {
        let (open, opened) = &*self.0;
        drop(opened.wait_while(open.lock().unwrap(), |open| !*open).unwrap());
        Ok(())
    }
}

#[test]
fn a_slow_disk_grows_the_pool_then_stalls_the_worker_without_loss() {
    let gate = Arc::new((Mutex::new(false), Condvar::new()));
    let out = Box::new(Gated(Arc::clone(&gate))) as Box<dyn Append>;
    let memory = Memory { bytes_per_worker: 6 * CHUNK_BYTES };
    let (writer, mut sinks) =
        start_with(vec![(PathBuf::from("lane"), out)], RunTag::default(), memory).unwrap();
    let mut sink = sinks.remove(0);
    let record = samples::wild(1, 1)[0];
    let chunk = CHUNK_RECORDS;
    (0..5 * chunk).for_each(|_| sink.push(record));
    assert_eq!((sink.stalls(), sink.chunks), (0, 6));
    let opener = std::thread::spawn(move || {
        *gate.0.lock().unwrap() = true;
        gate.1.notify_all();
    });
    (0..20 * chunk).for_each(|_| sink.push(record));
    opener.join().unwrap();
    assert!(sink.chunks <= 6);
    drop(sink);
    assert_eq!(writer.finish().unwrap().records, 25 * chunk as u64);
}

#[test]
fn the_file_of_a_full_device_is_named() {
    let dir = tempdir("full-device");
    std::fs::create_dir_all(place::blocks(&dir)).unwrap();
    let path = place::block_file(&dir, 0);
    let file = OpenOptions::new().append(true).open("/dev/full").unwrap();
    let out = Box::new(BlockFile { file, length: 0 }) as Box<dyn Append>;
    let (writer, mut sinks) =
        start_with(vec![(path.clone(), out)], RunTag::default(), Memory::default()).unwrap();
    sinks[0].push(samples::wild(1, 1)[0]);
    drop(sinks);
    let error = writer.finish().unwrap_err();
    assert_eq!((error.path.clone(), error.lost), (path, 1));
    assert!(error.to_string().contains("1 are lost"), "{error}");
}

#[test]
fn a_second_writer_in_the_same_directory_is_refused() {
    let dir = tempdir("second-writer");
    let (writer, sinks) = Writer::start(&dir, 2, RunTag::default(), Memory::default()).unwrap();
    let again = Writer::start(&dir, 2, RunTag::default(), Memory::default()).err().unwrap();
    assert!(matches!(again, StartError::Taken { .. }), "{again}");
    drop(sinks);
    assert_eq!(writer.finish().unwrap(), Written::default());
}

use crate::samples::tempdir;
