//! The records of a run as an Arrow stream.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, LazyLock};
use std::thread;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Int8Array, Int64Array, RecordBatch, RecordBatchReader,
    StringArray, UInt16Array, UInt32Array, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use assay_history::{Batch, Columns, History};
use assay_model::{Kind, Nanos, Outcome, Phase, Reason, Record, Verified};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::AssayError;

/// Rows of a batch of the stream, about: 64k rows of 25 columns take 6 MB.
const ROWS: usize = 65_536;

/// Batches that are read ahead.
const AHEAD: usize = 2;

/// The records of a run, one row for each operation, as a source of Arrow streams.
///
/// Each call of `__arrow_c_stream__` reads the run directory anew, with bounded memory.
#[pyclass(frozen, module = "assay._native")]
pub struct RecordStream {
    dir: PathBuf,
}

impl RecordStream {
    /// Of the run in `dir`.
    pub fn new(dir: PathBuf) -> RecordStream {
        RecordStream { dir }
    }
}

#[pymethods]
impl RecordStream {
    /// An Arrow C stream of all records; consumers that want another schema cast themselves.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        stream_capsule(py, Box::new(RecordReader::start(&self.dir)?))
    }

    /// An Arrow C schema of the records.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = arrow_schema::ffi::FFI_ArrowSchema::try_from(SCHEMA.as_ref())
            .map_err(|error| AssayError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }
}

/// A capsule that hands `reader` over to whoever consumes Arrow streams.
pub fn stream_capsule(
    py: Python<'_>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'_, PyCapsule>> {
    let stream = FFI_ArrowArrayStream::new(reader);
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

/// The columns: `agent` and `worker`, then those of the history's files with their names.
static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    use DataType::{Boolean, Int64, UInt16, UInt32, UInt64};
    let word = || DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    let columns = [
        ("agent", UInt32, false),
        ("worker", UInt16, false),
        ("index", UInt64, false),
        ("session", UInt32, false),
        ("process", UInt64, false),
        ("transaction", UInt16, false),
        ("transaction_type", UInt16, false),
        ("ends_transaction", Boolean, false),
        ("kind", word(), false),
        ("phase", word(), false),
        ("key", UInt64, false),
        ("intended", Int64, false),
        ("started", Int64, false),
        ("ended", Int64, false),
        ("outcome", word(), false),
        ("found", Boolean, false),
        ("reason", word(), false),
        ("bytes", UInt32, false),
        ("rows", UInt32, false),
        ("version_written", UInt64, true),
        ("version_read", UInt64, true),
        ("verified", word(), false),
        ("verify_ns", UInt32, false),
        ("statement", UInt16, false),
        ("requests", UInt16, false),
        ("ends_process", Boolean, false),
        ("node", UInt16, false),
    ];
    let fields = columns.map(|(name, kind, is_null)| Field::new(name, kind, is_null));
    Arc::new(Schema::new(fields.to_vec()))
});

/// The words of the columns that have codes, in the order of their codes.
#[pyfunction]
pub fn words_of_columns() -> HashMap<&'static str, Vec<&'static str>> {
    HashMap::from([
        ("kind", names(&Kind::ALL, Kind::name)),
        ("phase", names(&Phase::ALL, Phase::name)),
        ("outcome", names(&Outcome::ALL, Outcome::name)),
        ("reason", names(&Reason::ALL, Reason::name)),
        ("verified", names(&Verified::ALL, Verified::name)),
    ])
}

/// What a thread that reads a history sends.
type Sent = Result<RecordBatch, String>;

/// Record batches that a thread of its own reads from a history.
struct RecordReader {
    batches: Receiver<Sent>,
}

impl RecordReader {
    fn start(dir: &Path) -> PyResult<RecordReader> {
        let dir = dir.to_owned();
        let (sender, batches) = sync_channel(AHEAD);
        let thread = thread::Builder::new().name("assay-records".to_owned());
        let spawned = thread.spawn(move || {
            if let Err(error) = read(&dir, &sender) {
                // The consumer may have gone.
                let _ = sender.send(Err(error));
            }
        });
        spawned.map_err(|error| AssayError::new_err(format!("cannot start a thread: {error}")))?;
        Ok(RecordReader { batches })
    }
}

impl Iterator for RecordReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let sent = self.batches.recv().ok()?;
        Some(sent.map_err(|text| ArrowError::ExternalError(text.into())))
    }
}

impl RecordBatchReader for RecordReader {
    fn schema(&self) -> SchemaRef {
        SCHEMA.clone()
    }
}

/// Reads the history in `dir` and sends it until the receiver is gone.
fn read(dir: &Path, sender: &SyncSender<Sent>) -> Result<(), String> {
    let mut history = History::open(dir).map_err(|error| error.to_string())?;
    let mut rows = Rows::default();
    let mut is_over = false;
    let damages = history
        .each_batch(Columns::ALL, |batch| {
            if is_over {
                return;
            }
            rows.add(batch);
            if rows.records.len() >= ROWS {
                is_over = sender.send(rows.take()).is_err();
            }
        })
        .map_err(|error| error.to_string())?;
    if let Some(damage) = damages.first() {
        return Err(damage.to_string());
    }
    if !rows.records.is_empty() && !is_over {
        let _ = sender.send(rows.take());
    }
    Ok(())
}

/// Records with the agent and the worker of each.
#[derive(Default)]
struct Rows {
    agents: Vec<u32>,
    workers: Vec<u16>,
    records: Vec<Record>,
}

impl Rows {
    fn add(&mut self, batch: Batch<'_>) {
        self.records.extend_from_slice(batch.records);
        self.agents.resize(self.records.len(), batch.agent);
        self.workers.resize(self.records.len(), batch.worker);
    }

    fn take(&mut self) -> Sent {
        let rows = std::mem::take(self);
        let records = &rows.records[..];
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt32Array::from(rows.agents)),
            Arc::new(UInt16Array::from(rows.workers)),
            longs(records, |r| r.index),
            ints(records, |r| r.session),
            longs(records, |r| r.process),
            shorts(records, |r| r.transaction),
            shorts(records, |r| r.transaction_type),
            flags(records, Record::ends_transaction),
            words(records, &names(&Kind::ALL, Kind::name), |r| r.kind as u8),
            words(records, &names(&Phase::ALL, Phase::name), |r| r.phase as u8),
            longs(records, |r| r.key),
            times(records, |r| r.intended),
            times(records, |r| r.started),
            times(records, |r| r.ended),
            words(records, &names(&Outcome::ALL, Outcome::name), |r| r.outcome as u8),
            flags(records, |r| r.found),
            words(records, &names(&Reason::ALL, Reason::name), |r| r.reason as u8),
            ints(records, |r| r.bytes),
            ints(records, |r| r.rows),
            versions(records, |r| r.version_written),
            versions(records, |r| r.version_read),
            words(records, &names(&Verified::ALL, Verified::name), |r| r.verified as u8),
            ints(records, |r| r.verify_ns),
            shorts(records, |r| r.statement),
            shorts(records, |r| r.requests),
            flags(records, Record::ends_process),
            shorts(records, |r| u16::from(r.node)),
        ];
        RecordBatch::try_new(SCHEMA.clone(), columns).map_err(|error| error.to_string())
    }
}

fn names<T: Copy>(all: &[T], name: fn(T) -> &'static str) -> Vec<&'static str> {
    all.iter().map(|one| name(*one)).collect()
}

fn longs(records: &[Record], of: impl Fn(&Record) -> u64) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(records.iter().map(of)))
}

fn ints(records: &[Record], of: impl Fn(&Record) -> u32) -> ArrayRef {
    Arc::new(UInt32Array::from_iter_values(records.iter().map(of)))
}

fn shorts(records: &[Record], of: impl Fn(&Record) -> u16) -> ArrayRef {
    Arc::new(UInt16Array::from_iter_values(records.iter().map(of)))
}

fn flags(records: &[Record], of: impl Fn(&Record) -> bool) -> ArrayRef {
    Arc::new(BooleanArray::from_iter(records.iter().map(|record| Some(of(record)))))
}

/// Nanoseconds since the run's epoch; −1 for what did not happen, as in the files.
fn times(records: &[Record], of: impl Fn(&Record) -> Nanos) -> ArrayRef {
    let nanos = |record| match of(record) {
        Nanos::NEVER => -1,
        time => i64::try_from(time.0).unwrap_or(i64::MAX),
    };
    Arc::new(Int64Array::from_iter_values(records.iter().map(nanos)))
}

/// Versions; null where there is none.
fn versions(records: &[Record], of: impl Fn(&Record) -> u64) -> ArrayRef {
    let versions = records.iter().map(|record| Some(of(record)).filter(|version| *version != 0));
    Arc::new(UInt64Array::from_iter(versions))
}

/// Words by their codes, which are their places in `names`.
fn words(records: &[Record], names: &[&str], of: impl Fn(&Record) -> u8) -> ArrayRef {
    // Signed, since pandas takes no others for its categories; there are fewer than 128 words.
    let codes = Int8Array::from_iter_values(records.iter().map(|record| of(record) as i8));
    let names = StringArray::from_iter_values(names.iter());
    Arc::new(DictionaryArray::<Int8Type>::new(codes, Arc::new(names)))
}
