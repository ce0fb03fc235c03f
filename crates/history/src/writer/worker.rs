//! One worker's sink of the history: it takes the executor's records.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError};

use assay_model::Record;

use super::{CHUNK_RECORDS, CHUNKS_AT_START, Full, Shared};

/// Takes the records of one worker, in the order of completion.
///
/// Dropping it hands over what is left, like [`WorkerSink::flush`].
pub struct WorkerSink {
    chunk: Vec<Record>,
    worker: u16,
    full: SyncSender<Full>,
    back: Receiver<Vec<Record>>,
    pub(super) chunks: usize,
    chunks_max: usize,
    stalls: u64,
    shared: Arc<Shared>,
}

/// An empty chunk whose pages the system has already given us.
pub(super) fn fresh_chunk() -> Vec<Record> {
    let mut chunk = vec![Record::BLANK; CHUNK_RECORDS];
    chunk.clear();
    chunk
}

impl WorkerSink {
    pub(super) fn new(
        worker: u16,
        full: SyncSender<Full>,
        back: Receiver<Vec<Record>>,
        chunks_max: usize,
        shared: &Arc<Shared>,
    ) -> WorkerSink {
        let shared = Arc::clone(shared);
        let chunks = CHUNKS_AT_START;
        WorkerSink {
            chunk: fresh_chunk(),
            worker,
            full,
            back,
            chunks,
            chunks_max,
            stalls: 0,
            shared,
        }
    }

    /// Keeps one record.
    ///
    /// Costs a copy; every [`CHUNK_RECORDS`] records a chunk is handed over. Waits only if the
    /// writer lags by the whole bound of memory, which [`WorkerSink::stalls`] counts.
    #[inline]
    pub fn push(&mut self, record: Record) {
        self.chunk.push(record);
        if self.chunk.len() == CHUNK_RECORDS {
            self.flush();
        }
    }

    /// Hands over what has been pushed so far; a kill afterwards does not lose it.
    #[cold]
    pub fn flush(&mut self) {
        if self.chunk.is_empty() {
            return;
        }
        if self.is_broken() {
            return self.forget();
        }
        let next = self.empty_chunk();
        let records = std::mem::replace(&mut self.chunk, next);
        if let Err(unsent) = self.full.send(Full { worker: self.worker, records }) {
            self.chunk = unsent.0.records;
            self.forget();
        }
    }

    /// How many records can be pushed up to the one with which a chunk is handed over.
    #[inline]
    pub fn room(&self) -> usize {
        CHUNK_RECORDS - self.chunk.len()
    }

    /// How often a push had to wait for the writer.
    pub fn stalls(&self) -> u64 {
        self.stalls
    }

    /// Whether the disk failed, so that records are being lost: the run should stop.
    #[inline]
    pub fn is_broken(&self) -> bool {
        self.shared.broken.load(Ordering::Relaxed)
    }

    /// The worker's number.
    pub fn worker(&self) -> u16 {
        self.worker
    }

    fn empty_chunk(&mut self) -> Vec<Record> {
        match self.back.try_recv() {
            Ok(chunk) => chunk,
            Err(TryRecvError::Empty) if self.chunks < self.chunks_max => {
                self.chunks += 1;
                fresh_chunk()
            }
            Err(TryRecvError::Empty) => {
                self.stalls += 1;
                // An error means that the writer is gone; sending will notice.
                self.back.recv().unwrap_or_default()
            }
            Err(TryRecvError::Disconnected) => Vec::new(),
        }
    }

    fn forget(&mut self) {
        self.shared.lost.fetch_add(self.chunk.len() as u64, Ordering::Release);
        self.shared.broken.store(true, Ordering::Release);
        self.chunk.clear();
    }
}

impl Drop for WorkerSink {
    fn drop(&mut self) {
        self.flush();
    }
}
