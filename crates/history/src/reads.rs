//! Values that operations returned, as `reads.parquet`, for the judge of consistency.
//!
//! Only workloads that are made to be judged have it: one row per value, those of an operation in
//! their order. A row belongs to the record of the history with the same `index`.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use assay_model::ObservedValue;
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedFileWriter;

use crate::part::temporary;
use crate::place;
use crate::table::row::{self, TableRow, table_row};
use crate::table::{self, TableError};

/// Rows of a row group.
const GROUP: usize = 1 << 18;

/// Values that a worker gathers before it hands them over: 128 KiB.
const BATCH: usize = 4096;

/// Batches that may wait for the disk: a worker that finds so many there waits too.
const WAITING: usize = 256;

/// Writes the values of a run from a thread of its own.
pub struct ReadsWriter {
    path: PathBuf,
    thread: JoinHandle<Result<(), ParquetError>>,
}

table_row! {
    ObservedValue as "reads" {
        index => "index",
        item => "item",
        key => "key",
        value => "value",
    }
}

/// The values of one worker. Dropping it hands over what is left.
pub struct ReadsSink {
    values: Vec<ObservedValue>,
    out: SyncSender<Vec<ObservedValue>>,
    stalls: u64,
}

impl ReadsWriter {
    /// Begins the values of the run directory `dir`, with a sink for each of `workers` workers.
    ///
    /// # Errors
    /// If the file or the thread cannot be made.
    pub fn start(dir: &Path, workers: usize) -> Result<(ReadsWriter, Vec<ReadsSink>), TableError> {
        let path = place::reads(dir);
        let begin = || {
            let properties = row::differences(&["index", "item", "key", "value"]);
            let file = row::create::<ObservedValue>(&temporary(&path), properties)?;
            let (out, incoming) = sync_channel(WAITING);
            let thread = std::thread::Builder::new()
                .name("assay-reads".to_owned())
                .spawn(move || drain(file, &incoming))?;
            Ok((thread, out))
        };
        let (thread, out) =
            begin().map_err(|source| TableError::Write { path: path.clone(), source })?;
        let sink = |_| ReadsSink { values: Vec::with_capacity(BATCH), out: out.clone(), stalls: 0 };
        Ok((ReadsWriter { path, thread }, (0..workers).map(sink).collect()))
    }

    /// Waits until every [`ReadsSink`] is dropped, and completes the file; before this there is
    /// none.
    ///
    /// # Errors
    /// If the disk did not take it.
    pub fn finish(self) -> Result<(), TableError> {
        let ended = match self.thread.join() {
            Ok(ended) => ended,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        table::replace_listed(self.path, |_| ended)
    }
}

impl ReadsSink {
    /// Keeps one value.
    pub fn push(&mut self, value: ObservedValue) {
        self.values.push(value);
        if self.values.len() == BATCH {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let values = std::mem::replace(&mut self.values, Vec::with_capacity(BATCH));
        // The thread goes on to the end even if the disk fails, which it reports there.
        if let Err(TrySendError::Full(values)) = self.out.try_send(values) {
            self.stalls += 1;
            let _ = self.out.send(values);
        }
    }

    /// How often the worker had to wait for the disk.
    pub fn stalls(&self) -> u64 {
        self.stalls
    }
}

impl Drop for ReadsSink {
    fn drop(&mut self) {
        self.hand_over();
    }
}

/// Writes every batch that comes until all workers are gone.
fn drain(
    mut file: SerializedFileWriter<File>,
    incoming: &Receiver<Vec<ObservedValue>>,
) -> Result<(), ParquetError> {
    let mut rows: Vec<ObservedValue> = Vec::new();
    let mut failure = None;
    for batch in incoming {
        // The rest of what comes is not kept: the disk takes no more.
        if failure.is_some() {
            continue;
        }
        rows.extend(batch);
        if rows.len() >= GROUP {
            failure = row::write_group(&mut file, &rows).err();
            rows.clear();
        }
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    if !rows.is_empty() {
        row::write_group(&mut file, &rows)?;
    }
    table::finish(file)
}

/// Gives every value of the run directory `dir` to `each`; whether there is such a file.
///
/// # Errors
/// If the file is damaged.
pub fn each_read(dir: &Path, each: impl FnMut(ObservedValue)) -> Result<bool, TableError> {
    let read = |path: &Path| row::each(path, ObservedValue::fields()?, each);
    Ok(table::read_listed(place::reads(dir), "", read)?.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::tempdir;

    fn value(index: u64) -> ObservedValue {
        let value = (!index.is_multiple_of(7)).then_some(index as i64 - 5);
        ObservedValue { index, item: index as u32 % 9, key: u64::MAX - index, value }
    }

    fn read(dir: &Path) -> Option<Vec<ObservedValue>> {
        let mut values = Vec::new();
        each_read(dir, |value| values.push(value)).unwrap().then_some(values)
    }

    #[test]
    fn values_of_all_workers_come_back() {
        let dir = tempdir("reads");
        let (writer, mut sinks) = ReadsWriter::start(&dir, 2).unwrap();
        let count = GROUP as u64 + 10;
        (0..count).for_each(|index| sinks[index as usize % 2].push(value(index)));
        drop(sinks);
        writer.finish().unwrap();
        let mut found = read(&dir).unwrap();
        found.sort_by_key(|value| value.index);
        assert_eq!(found.len() as u64, count);
        assert!(found.iter().zip(0..).all(|(found, index)| *found == value(index)));
    }

    #[test]
    fn nothing_is_there_before_the_end() {
        let dir = tempdir("no-reads");
        let (writer, mut sinks) = ReadsWriter::start(&dir, 1).unwrap();
        sinks[0].push(value(1));
        drop((writer, sinks));
        assert_eq!(read(&dir), None);
    }

    #[test]
    fn a_changed_file_is_an_error_that_names_it() {
        let dir = tempdir("changed-reads");
        let (writer, mut sinks) = ReadsWriter::start(&dir, 1).unwrap();
        (0..100).for_each(|index| sinks[0].push(value(index)));
        drop(sinks);
        writer.finish().unwrap();
        let path = place::reads(&dir);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[40] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let error = each_read(&dir, |_| {}).unwrap_err().to_string();
        assert!(error.contains("reads.parquet"), "{error}");
        std::fs::remove_file(&path).unwrap();
        let error = each_read(&dir, |_| {}).unwrap_err().to_string();
        assert!(error.contains("listed and missing"), "{error}");
    }
}
