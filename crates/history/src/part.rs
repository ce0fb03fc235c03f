//! One sealed Parquet file: the records of one worker.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_model::Record;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;

use crate::column::{self, Column};
use crate::page::ColumnChunk;
use crate::sum::RecordSum;

/// The version of the history format that this crate writes.
pub const VERSION: u32 = 3;
/// The metadata key that holds the version.
pub(crate) const VERSION_KEY: &str = "assay.history.version";

/// The metadata key of the sum over the part's records.
pub(crate) const SUM_KEY: &str = "assay.history.sum";
/// The metadata keys of the agent and the worker whose records these are.
pub(crate) const AGENT_KEY: &str = "assay.agent";
pub(crate) const WORKER_KEY: &str = "assay.lane";

/// Rows after which a page ends, with the block that brings it there.
pub(crate) const PAGE_ROWS: usize = 8192;
/// Rows whose records stay in the first cache while every column is taken from them.
const TILE_ROWS: usize = 128;
/// Bits that the place of a record in its page takes.
const PLACE_BITS: u32 = 17;
/// The most indices per row, from the least to the greatest of a page, at which rows are ordered
/// without a sort. A worker has each n-th index of a run with n workers.
const SPARSE_MOST: usize = 8;
/// No row has this index.
const NO_ROW: u32 = u32::MAX;
/// Rows of one row group, the unit that readers skip or share out.
pub(crate) const GROUP_ROWS: usize = 1 << 20;

/// Writes one part below a temporary name.
pub(crate) struct PartWriter {
    file: SerializedFileWriter<File>,
    temporary: PathBuf,
    path: PathBuf,
    chunks: Vec<ColumnChunk>,
    pending: Vec<Record>,
    order: Vec<u32>,
    keys: Vec<u64>,
    /// The row of each index of a page.
    table: Vec<u32>,
    group_rows: usize,
    rows: u64,
    sum: RecordSum,
}

/// The result of sealing a part.
pub(crate) struct Finished {
    pub records: u64,
    pub bytes: u64,
    pub sum: RecordSum,
}

/// The name under which a part is written before it is complete.
pub(crate) fn temporary(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    PathBuf::from(name)
}

impl PartWriter {
    /// Begins the part that will be called `path`; an unfinished earlier attempt is overwritten.
    pub(crate) fn create(
        path: &Path,
        facts: &[(String, String)],
    ) -> Result<PartWriter, ParquetError> {
        let temporary = temporary(path);
        let properties = WriterProperties::builder()
            .set_created_by(format!("assay-history {}", env!("CARGO_PKG_VERSION")))
            .set_statistics_enabled(EnabledStatistics::None)
            .set_offset_index_disabled(true)
            .build();
        let out = File::create(&temporary)?;
        let mut file = SerializedFileWriter::new(out, column::schema()?, Arc::new(properties))?;
        let version = KeyValue::new(VERSION_KEY.to_owned(), VERSION.to_string());
        file.append_key_value_metadata(version);
        for (key, value) in facts {
            file.append_key_value_metadata(KeyValue::new(key.clone(), value.clone()));
        }
        let chunks = Column::ALL
            .into_iter()
            .map(|column| ColumnChunk::new(column, file.schema_descr().column(column as usize)))
            .collect();
        Ok(PartWriter {
            file,
            temporary,
            path: path.to_path_buf(),
            chunks,
            pending: Vec::with_capacity(PAGE_ROWS),
            order: Vec::new(),
            keys: Vec::new(),
            table: Vec::new(),
            group_rows: 0,
            rows: 0,
            sum: RecordSum::default(),
        })
    }

    /// Where the next records go; call [`PartWriter::end_block`] after adding some.
    pub(crate) fn pending(&mut self) -> &mut Vec<Record> {
        &mut self.pending
    }

    /// Writes a page if enough records wait for it.
    pub(crate) fn end_block(&mut self) -> Result<(), ParquetError> {
        if self.pending.len() >= PAGE_ROWS { self.end_page() } else { Ok(()) }
    }

    fn end_page(&mut self) -> Result<(), ParquetError> {
        self.sort_page();
        for tile in self.order.chunks(TILE_ROWS) {
            for chunk in &mut self.chunks {
                chunk.gather(&self.pending, tile);
            }
        }
        for chunk in &mut self.chunks {
            chunk.end_page()?;
        }
        self.sum.add(&self.pending);
        self.group_rows += self.pending.len();
        self.rows += self.pending.len() as u64;
        self.pending.clear();
        if self.group_rows >= GROUP_ROWS {
            self.end_group()?;
        }
        Ok(())
    }

    /// Orders the page's rows by index, in which six columns rise steadily instead of jumping.
    fn sort_page(&mut self) {
        let rows = self.pending.len() as u32;
        self.order.clear();
        if self.pending.is_sorted_by_key(|record| record.index) {
            self.order.extend(0..rows);
            return;
        }
        let indices = self.pending.iter().map(|record| record.index);
        let least = indices.clone().min().unwrap_or(0);
        let span = indices.clone().max().unwrap_or(0) - least;
        if span < (SPARSE_MOST * self.pending.len()) as u64 && self.order_by_table(least, span) {
            return;
        }
        if rows > 1 << PLACE_BITS || span >= 1 << (64 - PLACE_BITS) {
            self.order.extend(0..rows);
            self.order.sort_by_key(|place| self.pending[*place as usize].index);
            return;
        }
        // Index and place in one number sort several times as fast as records do.
        self.keys.clear();
        let numbered = self.pending.iter().zip(0u64..);
        self.keys
            .extend(numbered.map(|(record, place)| (record.index - least) << PLACE_BITS | place));
        self.keys.sort_unstable();
        let place = |key: &u64| (key & ((1 << PLACE_BITS) - 1)) as u32;
        self.order.extend(self.keys.iter().map(place));
    }

    /// Orders rows whose indices lie between `least` and `span` more, without comparing them, by a
    /// table of all these indices; `false` if two rows have the same.
    fn order_by_table(&mut self, least: u64, span: u64) -> bool {
        self.table.clear();
        self.table.resize(span as usize + 1, NO_ROW);
        for (record, place) in self.pending.iter().zip(0u32..) {
            let row = &mut self.table[(record.index - least) as usize];
            if *row != NO_ROW {
                return false;
            }
            *row = place;
        }
        self.order.extend(self.table.iter().filter(|row| **row != NO_ROW));
        true
    }

    fn end_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        for chunk in &mut self.chunks {
            let closed = chunk.close()?;
            group.append_column(&closed.bytes, closed.close)?;
        }
        group.close()?;
        self.group_rows = 0;
        Ok(())
    }

    /// Adds to the metadata.
    pub(crate) fn note(&mut self, key: &str, value: &str) {
        self.file.append_key_value_metadata(KeyValue::new(key.to_owned(), value.to_owned()));
    }

    /// Completes the file, syncs it to disk, renames it to its final name.
    pub(crate) fn finish(mut self) -> Result<Finished, ParquetError> {
        if !self.pending.is_empty() {
            self.end_page()?;
        }
        if self.group_rows > 0 {
            self.end_group()?;
        }
        let sum = self.sum;
        self.note(SUM_KEY, &sum.to_string());
        self.file.finish()?;
        let file = self.file.inner();
        file.sync_all()?;
        let bytes = file.metadata()?.len();
        publish(&self.temporary, &self.path)?;
        Ok(Finished { records: self.rows, bytes, sum })
    }
}

/// Renames a complete file, then forces the new name to disk.
pub(crate) fn publish(temporary: &Path, path: &Path) -> io::Result<()> {
    std::fs::rename(temporary, path)?;
    match path.parent() {
        Some(dir) if dir.as_os_str().is_empty() => File::open(".")?.sync_all(),
        Some(dir) => File::open(dir)?.sync_all(),
        None => Ok(()),
    }
}
