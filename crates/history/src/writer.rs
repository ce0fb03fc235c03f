//! The one background thread that turns the workers' chunks into blocks on disk.
//!
//! A worker fills a chunk of records, hands it over, takes an empty one back. Nothing is lost while
//! the disk works: if the thread lags, a worker's pool grows up to [`Memory::bytes_per_worker`];
//! beyond that the worker waits and counts a stall. If the disk fails, the first error is kept, all
//! later records are counted as lost, and [`WorkerSink::is_broken`] tells the executor to stop.

mod worker;

use std::fs::{File, OpenOptions};
use std::io;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use assay_model::Record;

use crate::block::{self, Place, RunTag};
use crate::place;

pub use worker::WorkerSink;

/// Records of one chunk, hence of a full block: small enough for the second cache, large enough
/// that handing it over costs less than a nanosecond per record.
pub const CHUNK_RECORDS: usize = 4096;

/// Bytes of one chunk.
const CHUNK_BYTES: usize = CHUNK_RECORDS * size_of::<Record>();

/// Chunks that each worker owns from the start: one to fill, one on the way, one being encoded, one
/// on the way back.
const CHUNKS_AT_START: usize = 4;

/// How long the thread naps before it lets a worker wake it: a fast worker fills two chunks
/// meanwhile.
const NAP: Duration = Duration::from_millis(1);

/// How much memory the workers' chunks may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The bound for one worker; at least the chunks it starts with.
    pub bytes_per_worker: usize,
}

impl Default for Memory {
    /// 64 MiB: a tenth of a second of six million records per second, time enough for a disk that
    /// pauses to write back.
    fn default() -> Memory {
        Memory { bytes_per_worker: 64 << 20 }
    }
}

impl Memory {
    fn chunks(self) -> usize {
        (self.bytes_per_worker / CHUNK_BYTES).max(CHUNKS_AT_START)
    }
}

/// The history could not be begun.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The worker's file exists already.
    #[error("{path} is there already; every run needs a directory of its own")]
    Taken {
        /// The file.
        path: PathBuf,
    },
    /// A file or directory could not be made.
    #[error("cannot create {path}: {source}")]
    Create {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The background thread could not be started.
    #[error("cannot start the thread that writes the history: {source}")]
    Thread {
        /// What the system said.
        source: io::Error,
    },
}

/// The disk failed while the history was written.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot write {path}: {source}; {} records are kept and {lost} are lost; \
     free some space, then see what is there with `assay report`",
    written.records
)]
pub struct WriteError {
    /// The file that failed first.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
    /// What was written.
    pub written: Written,
    /// Records that were handed over, or pushed, after the failure.
    pub lost: u64,
}

/// What a writer put on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Records in blocks.
    pub records: u64,
    /// Blocks.
    pub blocks: u64,
    /// Bytes of these blocks.
    pub bytes: u64,
}

/// The shared state of workers and thread.
#[derive(Default)]
struct Shared {
    broken: AtomicBool,
    lost: AtomicU64,
}

/// A chunk on its way to the disk.
struct Full {
    worker: u16,
    records: Vec<Record>,
}

/// Takes whole blocks, one after the other.
trait Append: Send {
    /// Appends all of `bytes`, or leaves what was there before.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
}

/// A block file that forgets a block which did not fit.
struct BlockFile {
    file: File,
    length: u64,
}

impl Append for BlockFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.file.write_all(bytes) {
            // If even this fails, the torn tail is found by its checksum.
            let _ = self.file.set_len(self.length);
            return Err(error);
        }
        self.length += bytes.len() as u64;
        Ok(())
    }
}

/// The file of one worker's blocks.
struct WorkerFile {
    path: PathBuf,
    out: Box<dyn Append>,
    empties: Sender<Vec<Record>>,
    blocks: u32,
    records: u64,
}

/// The first failure.
struct Failure {
    path: PathBuf,
    source: io::Error,
}

/// Owns the background thread of a run's history.
pub struct Writer {
    thread: JoinHandle<(Written, Option<Failure>)>,
    shared: Arc<Shared>,
}

impl Writer {
    /// Creates the block files of `workers` workers of `run` in the run directory `dir` and starts
    /// the thread.
    ///
    /// The sinks come in the order of the workers' numbers. The files are not synced: what a worker
    /// handed over survives a crash of the process, not a power failure.
    ///
    /// # Errors
    /// If a block file is there already or cannot be made, or the thread cannot be started.
    pub fn start(
        dir: &Path,
        workers: u16,
        run: RunTag,
        memory: Memory,
    ) -> Result<(Writer, Vec<WorkerSink>), StartError> {
        let blocks = place::blocks(dir);
        std::fs::create_dir_all(&blocks)
            .map_err(|source| StartError::Create { path: blocks, source })?;
        let mut files = Vec::new();
        for worker in 0..workers {
            let path = place::block_file(dir, worker);
            let file: Box<dyn Append> = Box::new(create(&path)?);
            files.push((path, file));
        }
        start_with(files, run, memory)
    }

    /// Waits until every [`WorkerSink`] is dropped and every chunk is written.
    ///
    /// # Errors
    /// If the disk failed at any time; the error says how much was kept.
    pub fn finish(self) -> Result<Written, WriteError> {
        let (written, failure) = match self.thread.join() {
            Ok(end) => end,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        let lost = self.shared.lost.load(Ordering::Acquire);
        match failure {
            None => Ok(written),
            Some(Failure { path, source }) => Err(WriteError { path, source, written, lost }),
        }
    }
}

fn create(path: &Path) -> Result<BlockFile, StartError> {
    match OpenOptions::new().append(true).create_new(true).open(path) {
        Ok(file) => Ok(BlockFile { file, length: 0 }),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(StartError::Taken { path: path.to_path_buf() })
        }
        Err(source) => Err(StartError::Create { path: path.to_path_buf(), source }),
    }
}

fn start_with(
    files: Vec<(PathBuf, Box<dyn Append>)>,
    run: RunTag,
    memory: Memory,
) -> Result<(Writer, Vec<WorkerSink>), StartError> {
    let shared = Arc::new(Shared::default());
    // As many places as there are chunks: sending never waits, only taking an empty one does.
    let (full, incoming) = sync_channel(memory.chunks() * files.len().max(1));
    let mut workers = Vec::new();
    let mut sinks = Vec::new();
    for (worker, (path, out)) in files.into_iter().enumerate() {
        let (empties, back) = channel();
        for _ in 1..CHUNKS_AT_START {
            empties.send(worker::fresh_chunk()).expect("the receiver is held below");
        }
        sinks.push(WorkerSink::new(worker as u16, full.clone(), back, memory.chunks(), &shared));
        workers.push(WorkerFile { path, out, empties, blocks: 0, records: 0 });
    }
    drop(full);
    let observed = Arc::clone(&shared);
    let thread = std::thread::Builder::new()
        .name("assay-history".to_owned())
        .spawn(move || drain(&incoming, workers, run, &observed))
        .map_err(|source| StartError::Thread { source })?;
    Ok((Writer { thread, shared }, sinks))
}

/// Writes every chunk that comes until all workers are gone.
fn drain(
    incoming: &Receiver<Full>,
    mut workers: Vec<WorkerFile>,
    run: RunTag,
    shared: &Shared,
) -> (Written, Option<Failure>) {
    let mut written = Written::default();
    let mut failure = None;
    let mut bytes = Vec::with_capacity(CHUNK_BYTES);
    while let Some(Full { worker, mut records }) = next(incoming) {
        let file = &mut workers[usize::from(worker)];
        if failure.is_some() {
            shared.lost.fetch_add(records.len() as u64, Ordering::Release);
        } else {
            let place = Place { worker, sequence: file.blocks, first: file.records, run };
            block::encode(place, &records, &mut bytes);
            match file.out.append(&bytes) {
                Ok(()) => {
                    file.blocks += 1;
                    file.records += records.len() as u64;
                    written.blocks += 1;
                    written.records += records.len() as u64;
                    written.bytes += bytes.len() as u64;
                }
                Err(source) => {
                    shared.lost.fetch_add(records.len() as u64, Ordering::Release);
                    shared.broken.store(true, Ordering::Release);
                    failure = Some(Failure { path: file.path.clone(), source });
                }
            }
        }
        records.clear();
        // A worker that is gone needs no chunk back.
        let _ = file.empties.send(records);
    }
    (written, failure)
}

/// The next chunk, or `None` when all workers are gone.
///
/// A worker that finds this thread asleep has to wake it, which costs it tens of microseconds on a
/// virtual machine. So the thread naps before it waits: while chunks come thick and fast, it finds
/// the next by itself.
fn next(incoming: &Receiver<Full>) -> Option<Full> {
    if let Ok(full) = incoming.try_recv() {
        return Some(full);
    }
    std::thread::sleep(NAP);
    incoming.recv().ok()
}

#[cfg(test)]
mod tests;
