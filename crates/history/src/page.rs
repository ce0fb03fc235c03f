//! One column of a row group as Parquet pages.
//!
//! The `parquet` crate writes page headers (but for their checksum), footer and metadata; the
//! bytes inside the pages are encoded here, because its own writer hashes every word of every row.
//! Per page the smaller of two encodings is taken: codes into a dictionary of at most 256 values
//! while the column has no more, packed differences otherwise.

mod checksum;
mod delta;
mod dictionary;
pub(crate) mod runs;

use std::io::Write as _;

use assay_model::Record;
use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use crate::column::{Column, Shape};
use delta::Bits;
use dictionary::Dictionary;

/// Collects the pages of one column until its row group is full.
pub(crate) struct ColumnChunk {
    column: Column,
    descriptor: ColumnDescPtr,
    dictionary: Dictionary,
    pages: TrackedWrite<Vec<u8>>,
    rows: u64,
    values: Vec<u64>,
    codes: Vec<u8>,
    content: Vec<u8>,
}

/// A finished column of a row group.
pub(crate) struct ClosedChunk {
    /// Its pages.
    pub(crate) bytes: Bytes,
    /// What the footer says about them.
    pub(crate) close: ColumnCloseResult,
}

impl ColumnChunk {
    pub(crate) fn new(column: Column, descriptor: ColumnDescPtr) -> ColumnChunk {
        ColumnChunk {
            column,
            descriptor,
            dictionary: Dictionary::default(),
            pages: TrackedWrite::new(Vec::new()),
            rows: 0,
            values: Vec::new(),
            codes: Vec::new(),
            content: Vec::new(),
        }
    }

    /// Adds this column's part of `records`, taken in `order`, to the current page.
    pub(crate) fn gather(&mut self, records: &[Record], order: &[u32]) {
        self.column.gather(records, order, &mut self.values);
    }

    /// Encodes what was gathered since the last page.
    pub(crate) fn end_page(&mut self) -> Result<(), ParquetError> {
        let rows = self.values.len();
        self.content.clear();
        if self.column.shape() == Shape::NonZero {
            self.put_null_flags();
        }
        let encoding = self.put_values();
        self.values.clear();
        self.rows += rows as u64;
        let page = Page::DataPage {
            buf: Bytes::copy_from_slice(&self.content),
            num_values: rows as u32,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        write_page(&mut self.pages, page)
    }

    fn put_values(&mut self) -> Encoding {
        if self.column.shape() == Shape::Flag {
            narrow(&self.values, &mut self.codes);
            put_sized_runs(&self.codes, &mut self.content);
            return Encoding::RLE;
        }
        let Some(&first) = self.values.first() else {
            // A page of nulls must not require a dictionary that may never come.
            return Encoding::PLAIN;
        };
        let known = if is_constant(&self.values) {
            let known = self.dictionary.code(&[first], &mut self.codes);
            self.codes.resize(self.values.len(), self.codes.first().copied().unwrap_or(0));
            known
        } else {
            self.dictionary.code(&self.values, &mut self.codes)
        };
        if known {
            let width = self.dictionary.width();
            self.content.push(width as u8);
            runs::encode(&self.codes, width, &mut self.content);
            return Encoding::RLE_DICTIONARY;
        }
        delta::encode(&self.values, self.bits(), &mut self.content);
        Encoding::DELTA_BINARY_PACKED
    }

    /// Writes which values are there, then keeps only those.
    fn put_null_flags(&mut self) {
        self.codes.clear();
        self.codes.extend(self.values.iter().map(|value| u8::from(*value != 0)));
        put_sized_runs(&self.codes, &mut self.content);
        // `retain` would branch on every value, which nobody can foresee for reads among writes.
        let mut kept = 0;
        for at in 0..self.values.len() {
            let value = self.values[at];
            self.values[kept] = value;
            kept += usize::from(value != 0);
        }
        self.values.truncate(kept);
    }

    fn bits(&self) -> Bits {
        match self.column.shape() {
            Shape::Unsigned(64) | Shape::Time | Shape::NonZero => Bits::Wide,
            Shape::Unsigned(_) | Shape::Flag | Shape::Word => Bits::Narrow,
        }
    }

    /// The finished column; this one is empty again afterwards.
    pub(crate) fn close(&mut self) -> Result<ClosedChunk, ParquetError> {
        let empty = TrackedWrite::new(Vec::new());
        let pages = std::mem::replace(&mut self.pages, empty).into_inner()?;
        let mut bytes = Vec::new();
        let dictionary = std::mem::take(&mut self.dictionary);
        let mut encodings = vec![Encoding::RLE, Encoding::PLAIN];
        if !dictionary.entries().is_empty() {
            bytes = self.dictionary_page(&dictionary)?;
            encodings.push(Encoding::RLE_DICTIONARY);
        }
        if dictionary.is_full() {
            encodings.push(Encoding::DELTA_BINARY_PACKED);
        }
        let first_page_at = bytes.len() as i64;
        bytes.extend_from_slice(&pages);
        let rows = std::mem::take(&mut self.rows);
        let metadata = ColumnChunkMetaData::builder(self.descriptor.clone())
            .set_encodings(encodings)
            .set_compression(Compression::UNCOMPRESSED)
            .set_num_values(rows as i64)
            .set_total_compressed_size(bytes.len() as i64)
            .set_total_uncompressed_size(bytes.len() as i64)
            .set_data_page_offset(first_page_at)
            .set_dictionary_page_offset((first_page_at > 0).then_some(0))
            .build()?;
        let close = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: rows,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok(ClosedChunk { bytes: Bytes::from(bytes), close })
    }

    fn dictionary_page(&self, dictionary: &Dictionary) -> Result<Vec<u8>, ParquetError> {
        let mut content = Vec::new();
        for &entry in dictionary.entries() {
            match self.column.word(entry) {
                Some(word) => {
                    content.extend_from_slice(&(word.len() as u32).to_le_bytes());
                    content.extend_from_slice(word.as_bytes());
                }
                None if self.bits() == Bits::Narrow => {
                    content.extend_from_slice(&(entry as u32).to_le_bytes());
                }
                None => content.extend_from_slice(&entry.to_le_bytes()),
            }
        }
        let page = Page::DictionaryPage {
            buf: Bytes::from(content),
            num_values: dictionary.entries().len() as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        let mut into = TrackedWrite::new(Vec::new());
        write_page(&mut into, page)?;
        into.into_inner()
    }
}

/// Whether all values are equal; cheap, and true for half of the columns of most runs.
fn is_constant(values: &[u64]) -> bool {
    let first = values.first().copied().unwrap_or(0);
    values.iter().fold(0, |spread, value| spread | (value ^ first)) == 0
}

fn narrow(values: &[u64], into: &mut Vec<u8>) {
    into.clear();
    into.extend(values.iter().map(|value| *value as u8));
}

/// Appends codes of one bit behind their length, as null flags and truth values are stored.
fn put_sized_runs(codes: &[u8], into: &mut Vec<u8>) {
    let start = into.len();
    into.extend([0; 4]);
    runs::encode(codes, 1, into);
    let length = (into.len() - start - 4) as u32;
    into[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

fn write_page(into: &mut TrackedWrite<Vec<u8>>, page: Page) -> Result<(), ParquetError> {
    let size = page.buffer().len();
    let sum = crc32fast::hash(page.buffer());
    let mut written = TrackedWrite::new(Vec::new());
    SerializedPageWriter::new(&mut written).write_page(CompressedPage::new(page, size))?;
    let written = written.into_inner()?;
    let (header, content) = written.split_at(written.len() - size);
    let header = checksum::with_checksum(header, sum).ok_or_else(|| {
        ParquetError::General("a page header has no room for a checksum".to_owned())
    })?;
    into.write_all(&header)?;
    into.write_all(content)?;
    Ok(())
}

#[cfg(test)]
mod tests;
