//! One sealed part: its columns, read side by side.

use std::fs::File;
use std::path::{Path, PathBuf};

use assay_model::Record;
use parquet::basic::{Encoding, Repetition};
use parquet::column::page::{Page, PageReader};
use parquet::column::reader::{ColumnReaderImpl, get_column_reader, get_typed_column_reader};
use parquet::data_type::{BoolType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader};
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::schema::types::ColumnDescriptor;

use super::{OpenError, ReadError};
use crate::column::{Column, Columns, Shape};
use crate::page::runs;
use crate::part::{SUM_KEY, VERSION, VERSION_KEY};
use crate::sum::RecordSum;
use crate::table::{self, guarded};

/// Records of one batch: few enough to stay in the first cache while columns are laid into them.
const BATCH: usize = 256;

/// More values than any valid page has: a damaged header that claims more is an error.
const PAGE_VALUES_MOST: usize = 1 << 24;

/// An open part.
pub(super) struct PartFile {
    path: PathBuf,
    file: SerializedFileReader<File>,
    /// Where each column is; `None` if the file's version does not have it yet.
    places: Vec<Option<usize>>,
    /// The sum over its records, if its release wrote one.
    pub sum: Option<RecordSum>,
}

impl std::fmt::Debug for PartFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PartFile").field("path", &self.path).finish_non_exhaustive()
    }
}

impl PartFile {
    /// Opens a part; gives its key-value pairs too.
    pub(super) fn open(path: &Path) -> Result<(PartFile, Vec<(String, String)>), OpenError> {
        let failed = |source| OpenError::Part { path: path.to_path_buf(), source };
        let file = File::open(path).map_err(|source| failed(source.into()))?;
        let file = guarded(|| SerializedFileReader::new(file)).map_err(failed)?;
        let metadata = file.metadata().file_metadata();
        let facts: Vec<(String, String)> = metadata
            .key_value_metadata()
            .into_iter()
            .flatten()
            .map(|pair| (pair.key.clone(), pair.value.clone().unwrap_or_default()))
            .collect();
        let fact = |name: &str| facts.iter().find(|(key, _)| key == name).map(|(_, text)| text);
        let found = fact(VERSION_KEY).and_then(|text| text.parse().ok()).unwrap_or(VERSION);
        if found > VERSION {
            let path = path.to_path_buf();
            return Err(OpenError::Newer { path, found, known: VERSION });
        }
        if let Some(codec) = table::codec(&file) {
            return Err(OpenError::Compressed { path: path.to_path_buf(), codec });
        }
        let places = places(path, &file, found)?;
        let sum = fact(SUM_KEY).and_then(|text| RecordSum::parse(text));
        Ok((PartFile { path: path.to_path_buf(), file, places, sum }, facts))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn rows(&self) -> u64 {
        self.file.metadata().file_metadata().num_rows() as u64
    }

    pub(super) fn each_batch(
        &self,
        columns: Columns,
        each: &mut impl FnMut(&[Record]),
    ) -> Result<(), ReadError> {
        let mut records = vec![Record::BLANK; BATCH];
        let (mut sum, mut rows) = (RecordSum::default(), 0);
        for number in 0..self.file.num_row_groups() {
            let group =
                guarded(|| self.file.get_row_group(number)).map_err(|e| self.failed(None, e))?;
            let mut readers = self.readers(&*group, columns)?;
            let mut left = group.metadata().num_rows() as usize;
            while left > 0 {
                let count = left.min(BATCH);
                for reader in &mut readers {
                    guarded(|| reader.read(&mut records[..count]))
                        .map_err(|error| self.failed(Some(reader.column), error))?;
                }
                if columns == Columns::ALL {
                    sum.add(&records[..count]);
                }
                each(&records[..count]);
                left -= count;
                rows += count as u64;
            }
        }
        let is_other = columns == Columns::ALL && self.sum.is_some_and(|written| written != sum);
        match is_other || rows != self.rows() {
            true => Err(ReadError::Changed { path: self.path.clone() }),
            false => Ok(()),
        }
    }

    fn readers(
        &self,
        group: &dyn RowGroupReader,
        columns: Columns,
    ) -> Result<Vec<ColumnValues>, ReadError> {
        Column::ALL
            .into_iter()
            .filter(|column| columns.contains(*column))
            .filter_map(|column| self.places[column as usize].map(|place| (column, place)))
            .map(|(column, place)| {
                guarded(|| ColumnValues::open(group, column, place))
                    .map_err(|error| self.failed(Some(column), error))
            })
            .collect()
    }

    fn failed(&self, column: Option<Column>, source: ParquetError) -> ReadError {
        let column = column.map_or("any", Column::name);
        ReadError::Part { path: self.path.clone(), column, source }
    }
}

/// Where each column is in the file.
fn places(
    path: &Path,
    file: &SerializedFileReader<File>,
    version: u32,
) -> Result<Vec<Option<usize>>, OpenError> {
    let schema = file.metadata().file_metadata().schema_descr();
    Column::ALL
        .into_iter()
        .map(|column| {
            let named = |place: &usize| {
                let found = schema.column(*place);
                found.name() == column.name() && fits(column, &found)
            };
            if column.since() > version {
                return Ok(None);
            }
            let place = (0..schema.num_columns()).find(named);
            place.map(Some).ok_or_else(|| OpenError::Column {
                path: path.to_path_buf(),
                column: column.name(),
            })
        })
        .collect()
}

fn fits(column: Column, found: &ColumnDescriptor) -> bool {
    let (physical, _, repetition) = column.stored();
    let levels = i16::from(repetition == Repetition::OPTIONAL);
    found.physical_type() == physical
        && found.max_def_level() == levels
        && found.max_rep_level() == 0
}

/// One column of a row group on its way into records.
struct ColumnValues {
    column: Column,
    form: ColumnForm,
}

enum ColumnForm {
    Long(Typed<Int64Type>),
    NonZero(Typed<Int64Type>, Vec<i16>, Vec<i64>),
    Int(Typed<Int32Type>),
    Flag(Typed<BoolType>),
    Word(Words),
}

/// A reader of the library, with room for a batch.
struct Typed<T: DataType> {
    reader: ColumnReaderImpl<T>,
    values: Vec<T::T>,
}

impl<T: DataType> Typed<T> {
    fn read(&mut self, count: usize, levels: Option<&mut Vec<i16>>) -> Result<(), ParquetError> {
        self.values.clear();
        let (rows, _, _) = self.reader.read_records(count, levels, None, &mut self.values)?;
        if rows == count { Ok(()) } else { Err(ends_early()) }
    }
}

fn ends_early() -> ParquetError {
    ParquetError::General("the column ends before its row group does".to_owned())
}

impl ColumnValues {
    fn open(
        group: &dyn RowGroupReader,
        column: Column,
        place: usize,
    ) -> Result<ColumnValues, ParquetError> {
        let pages = group.get_column_page_reader(place)?;
        let descriptor = group.metadata().column(place).column_descr_ptr();
        let form = if column.shape() == Shape::Word {
            ColumnForm::Word(Words::new(column, pages))
        } else {
            let reader = get_column_reader(descriptor, pages);
            match column.shape() {
                Shape::Unsigned(64) | Shape::Time => ColumnForm::Long(typed(reader)),
                Shape::NonZero => ColumnForm::NonZero(typed(reader), Vec::new(), Vec::new()),
                Shape::Flag => ColumnForm::Flag(typed(reader)),
                Shape::Unsigned(_) | Shape::Word => ColumnForm::Int(typed(reader)),
            }
        };
        Ok(ColumnValues { column, form })
    }

    /// Fills this column of all `records` with the next values.
    fn read(&mut self, records: &mut [Record]) -> Result<(), ParquetError> {
        let count = records.len();
        match &mut self.form {
            ColumnForm::Long(typed) => {
                typed.read(count, None)?;
                self.column.scatter(typed.values.iter().map(|value| *value as u64), records);
            }
            ColumnForm::NonZero(typed, levels, spread) => {
                levels.clear();
                typed.read(count, Some(levels))?;
                // One more value, so that the place behind the last can be looked at without a
                // branch that depends on the level.
                typed.values.push(0);
                let mut place = 0;
                spread.clear();
                spread.extend(levels.iter().map(|level| {
                    let value = typed.values[place] * i64::from(*level);
                    place += *level as usize;
                    value
                }));
                self.column.scatter(spread.iter().map(|value| *value as u64), records);
            }
            ColumnForm::Int(typed) => {
                typed.read(count, None)?;
                self.column.scatter(typed.values.iter().map(|value| *value as u64), records);
            }
            ColumnForm::Flag(typed) => {
                typed.read(count, None)?;
                self.column.scatter(typed.values.iter().map(|value| u64::from(*value)), records);
            }
            ColumnForm::Word(words) => {
                let codes = words.read(count)?;
                self.column.scatter(codes.iter().map(|code| u64::from(*code)), records);
            }
        }
        Ok(())
    }
}

fn typed<T: DataType>(reader: parquet::column::reader::ColumnReader) -> Typed<T> {
    Typed { reader: get_typed_column_reader(reader), values: Vec::with_capacity(BATCH) }
}

/// Reads a column of words as codes, without making a string of each.
struct Words {
    column: Column,
    pages: Box<dyn PageReader>,
    /// Our code for each entry of the file's dictionary.
    dictionary: Vec<u8>,
    codes: Vec<u8>,
    given: usize,
}

impl Words {
    fn new(column: Column, pages: Box<dyn PageReader>) -> Words {
        Words { column, pages, dictionary: Vec::new(), codes: Vec::new(), given: 0 }
    }

    /// The next `count` codes.
    fn read(&mut self, count: usize) -> Result<&[u8], ParquetError> {
        while self.codes.len() - self.given < count {
            self.codes.drain(..self.given);
            self.given = 0;
            let page = self.pages.get_next_page()?.ok_or_else(ends_early)?;
            self.take_page(&page)?;
        }
        let start = self.given;
        self.given += count;
        Ok(&self.codes[start..self.given])
    }

    fn take_page(&mut self, page: &Page) -> Result<(), ParquetError> {
        let count = page.num_values() as usize;
        if count > PAGE_VALUES_MOST {
            return Err(ParquetError::General(format!("a page promises {count} values")));
        }
        match page {
            Page::DictionaryPage { buf, .. } => {
                self.dictionary = plain_words(self.column, buf, count)?;
            }
            Page::DataPage { buf, encoding: Encoding::RLE_DICTIONARY, .. }
            | Page::DataPage { buf, encoding: Encoding::PLAIN_DICTIONARY, .. } => {
                self.take_codes(buf, count)?;
            }
            Page::DataPage { buf, encoding: Encoding::PLAIN, .. } => {
                self.codes.extend(plain_words(self.column, buf, count)?);
            }
            other => {
                let (kind, encoding) = (other.page_type(), other.encoding());
                return Err(ParquetError::NYI(format!("words in a {kind} encoded {encoding}")));
            }
        }
        Ok(())
    }

    fn take_codes(&mut self, bytes: &[u8], count: usize) -> Result<(), ParquetError> {
        let nonsense = || ParquetError::General("a page of words is invalid".to_owned());
        let (&width, bytes) = bytes.split_first().ok_or_else(nonsense)?;
        if width > 8 {
            return Err(nonsense());
        }
        let before = self.codes.len();
        runs::decode(bytes, u32::from(width), count, &mut self.codes).ok_or_else(nonsense)?;
        for code in &mut self.codes[before..] {
            *code = *self.dictionary.get(usize::from(*code)).ok_or_else(nonsense)?;
        }
        Ok(())
    }
}

/// The codes of `count` words that stand behind each other with their lengths.
fn plain_words(column: Column, mut bytes: &[u8], count: usize) -> Result<Vec<u8>, ParquetError> {
    let mut codes = Vec::new();
    for _ in 0..count {
        let word = take_word(&mut bytes).ok_or_else(ends_early)?;
        let code = column.code(word).ok_or_else(|| {
            let word = String::from_utf8_lossy(word);
            ParquetError::General(format!(
                "`{word}` is no {} that this release knows",
                column.name()
            ))
        })?;
        codes.push(code);
    }
    Ok(codes)
}

fn take_word<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (word, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *bytes = rest;
    Some(word)
}
