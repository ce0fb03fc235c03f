//! Values that operations returned, as `reads.parquet`, for the judge of consistency.
//!
//! Only workloads that are made to be judged have it: one row per value, those of an operation in
//! their order. A row belongs to the record of the history with the same `index`.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use assay_model::ObservedValue;
use parquet::basic::{Encoding, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::record::RowAccessor;
use parquet::schema::types::{Type, TypePtr};

use crate::part::{VERSION, VERSION_KEY, temporary};
use crate::place;
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
            let version = (VERSION_KEY, VERSION.to_string());
            let file = table::create(&temporary(&path), schema()?, properties(), version)?;
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
        let temporary = temporary(&self.path);
        let finished = ended.and_then(|()| Ok(table::publish_listed(&temporary, &self.path)?));
        if finished.is_err() {
            let _ = std::fs::remove_file(&temporary);
        }
        finished.map_err(|source| TableError::Write { path: self.path, source })
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
            failure = write_rows(&mut file, &rows).err();
            rows.clear();
        }
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    if !rows.is_empty() {
        write_rows(&mut file, &rows)?;
    }
    table::finish(file)
}

fn properties() -> Arc<WriterProperties> {
    let names = ["index", "item", "key", "value"];
    let properties = names.into_iter().fold(WriterProperties::builder(), |properties, name| {
        properties
            .set_column_dictionary_enabled(name.into(), false)
            .set_column_encoding(name.into(), Encoding::DELTA_BINARY_PACKED)
    });
    Arc::new(properties.build())
}

fn schema() -> Result<TypePtr, ParquetError> {
    let unsigned = |bits: i8| Some(LogicalType::integer(bits, false));
    let fields = vec![
        table::field("index", Physical::INT64, Repetition::REQUIRED, unsigned(64))?,
        table::field("item", Physical::INT32, Repetition::REQUIRED, unsigned(32))?,
        table::field("key", Physical::INT64, Repetition::REQUIRED, unsigned(64))?,
        table::field("value", Physical::INT64, Repetition::OPTIONAL, None)?,
    ];
    Ok(Arc::new(Type::group_type_builder("reads").with_fields(fields).build()?))
}

/// One row group, its columns in the order of the schema.
fn write_rows(
    file: &mut SerializedFileWriter<File>,
    rows: &[ObservedValue],
) -> Result<(), ParquetError> {
    let mut group = file.next_row_group()?;
    let column: Vec<i64> = rows.iter().map(|row| row.index as i64).collect();
    table::put::<Int64Type>(&mut group, &column, None)?;
    let column: Vec<i32> = rows.iter().map(|row| row.item as i32).collect();
    table::put::<Int32Type>(&mut group, &column, None)?;
    let column: Vec<i64> = rows.iter().map(|row| row.key as i64).collect();
    table::put::<Int64Type>(&mut group, &column, None)?;
    let column: Vec<i64> = rows.iter().filter_map(|row| row.value).collect();
    let levels: Vec<i16> = rows.iter().map(|row| i16::from(row.value.is_some())).collect();
    table::put::<Int64Type>(&mut group, &column, Some(&levels))?;
    group.close()?;
    Ok(())
}

/// Gives every value of the run directory `dir` to `each`; whether there is such a file.
///
/// # Errors
/// If the file is damaged.
pub fn each_read(dir: &Path, mut each: impl FnMut(ObservedValue)) -> Result<bool, TableError> {
    let read = |path: &Path| {
        let schema = schema()?.as_ref().clone();
        table::each_row(path, Some(schema), |row| {
            each(ObservedValue {
                index: row.get_ulong(0)?,
                item: row.get_uint(1)?,
                key: row.get_ulong(2)?,
                // The accessor knows no absence: it complains about it as about another type.
                value: row.get_long(3).ok(),
            });
            Ok(())
        })
    };
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
