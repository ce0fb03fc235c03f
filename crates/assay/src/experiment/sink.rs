//! Sink that writes the records and values of a worker into the history.

use assay_history::{ReadsSink, WorkerSink};
use assay_model::{ObservedValue, Record};
use assay_run::Sink;

use crate::final_reads::UsedNumbers;

/// A sink of the history as the executor sees it.
pub struct HistorySink {
    /// For the records.
    pub records: WorkerSink,
    /// For the values that queries return, where they are judged.
    pub reads: Option<ReadsSink>,
    /// What its records have used up, if anybody asks.
    pub used: Option<UsedNumbers>,
}

impl Sink for HistorySink {
    #[inline]
    fn push(&mut self, record: Record) {
        if let Some(used) = &mut self.used {
            used.add(&record);
        }
        self.records.push(record);
    }

    fn observe(&mut self, value: ObservedValue) {
        if let Some(reads) = &mut self.reads {
            reads.push(value);
        }
    }

    fn flush(&mut self) {
        self.records.flush();
    }

    fn is_broken(&self) -> bool {
        self.records.is_broken()
    }

    fn room(&self) -> usize {
        self.records.room()
    }

    fn stalls(&self) -> u64 {
        self.records.stalls() + self.reads.as_ref().map_or(0, ReadsSink::stalls)
    }
}
