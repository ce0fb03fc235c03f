//! Truth log of a store that knows the outcome of each request, as `truth.parquet`.
//!
//! Only a store that computes its answers knows. One row per request, in order of the requests; a
//! row belongs to the record of the history with the same session whose `started` is its `at`.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use assay_model::{Kind, Nanos};
use parquet::errors::ParquetError;
use parquet::file::reader::FileReader;
use parquet::file::writer::SerializedFileWriter;
use parquet::record::RowAccessor;

use crate::part::temporary;
use crate::place;
use crate::table::row::{self, TableRow, table_row};
use crate::table::{self, TableError};

/// Rows that are gathered before they are written: a few MB.
const GROUP: usize = 1 << 16;

/// The column of the faults that a request had, and its name in earlier releases.
const FAULTS: &str = "faults";
const OLD_FAULTS: &str = "illnesses";

/// What really happened to one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TruthRow {
    /// When the request came, on the run's time axis.
    pub at: Nanos,
    /// When its answer was due; `None` if it was never to be answered.
    pub answered_at: Option<Nanos>,
    /// The conversation that it belonged to.
    pub session: u32,
    /// The request.
    pub kind: Kind,
    /// The record's key; where a scan started. Bytes that are no text become question marks.
    pub key: String,
    /// The node that answered, from 0.
    pub node: u16,
    /// Names of the response's faults, joined by `+`; empty without faults.
    pub faults: String,
    /// The store's own number of the version that was shown or written, if there was one.
    pub version: Option<u64>,
    /// How many newer versions of the record a read did not show.
    pub versions_behind: u32,
    /// How long before the read the newest version that it did not show had been written.
    pub staleness: Nanos,
    /// For a fresh read that found something: how long before it that version had been written.
    pub read_after_write: Option<Nanos>,
}

table_row! {
    TruthRow as "truth" {
        at => "at",
        answered_at => "answered_at",
        session => "session",
        kind => "kind",
        key => "key",
        node => "node",
        faults => "faults",
        version => "version",
        versions_behind => "versions_behind",
        staleness => "staleness",
        read_after_write => "read_after_write",
    }
}

/// Writes the truth of one run directory, row by row.
pub struct TruthWriter {
    path: PathBuf,
    file: SerializedFileWriter<File>,
    rows: Vec<TruthRow>,
    /// The first thing that went wrong; later rows are then not kept.
    broken: Option<ParquetError>,
}

impl TruthWriter {
    /// Begins the truth of the run directory `dir`.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn create(dir: &Path) -> Result<TruthWriter, TableError> {
        let path = place::truth(dir);
        let rising = ["at", "answered_at", "session", "version", "read_after_write"];
        match row::create::<TruthRow>(&temporary(&path), row::differences(&rising)) {
            Ok(file) => Ok(TruthWriter { path, file, rows: Vec::new(), broken: None }),
            Err(source) => Err(TableError::Write { path, source }),
        }
    }

    /// Keeps one row. [`TruthWriter::finish`] returns its errors.
    pub fn push(&mut self, row: TruthRow) {
        self.rows.push(row);
        if self.rows.len() == GROUP {
            self.write_group();
        }
    }

    /// Completes the file; before this there is none.
    ///
    /// # Errors
    /// If the disk did not take it.
    pub fn finish(mut self) -> Result<(), TableError> {
        self.write_group();
        table::replace_listed(self.path, |_| match self.broken {
            Some(source) => Err(source),
            None => table::finish(self.file),
        })
    }

    fn write_group(&mut self) {
        if !self.rows.is_empty() && self.broken.is_none() {
            self.broken = row::write_group(&mut self.file, &self.rows).err();
        }
        self.rows.clear();
    }
}

/// Reads the truth log of the run directory `dir`; `None` if there is none.
///
/// # Errors
/// If the file is damaged, or holds kinds that this release does not know.
pub fn read_truth(dir: &Path) -> Result<Option<Vec<TruthRow>>, TableError> {
    table::read_listed(place::truth(dir), "", read)
}

/// How many requests of the run in the run directory `dir` each fault affected, by its name, as the
/// store says; `None` if there is no log.
///
/// # Errors
/// If the file is damaged.
pub fn count_faults(dir: &Path) -> Result<Option<BTreeMap<String, u64>>, TableError> {
    table::read_listed(place::truth(dir), "", count)
}

fn count(path: &Path) -> Result<BTreeMap<String, u64>, ParquetError> {
    let faults = row::field::<String>(faults_column(path)?)?;
    let schema = row::schema(TruthRow::NAME, vec![faults])?;
    let mut counts = BTreeMap::new();
    table::each_row(path, Some(schema), |row| {
        let names = row.get_string(0)?.split('+').filter(|name| !name.is_empty());
        for name in names {
            match counts.get_mut(name) {
                Some(count) => *count += 1,
                None => drop(counts.insert(name.to_owned(), 1)),
            }
        }
        Ok(())
    })?;
    Ok(counts)
}

/// The name of the column of the faults in this file.
fn faults_column(path: &Path) -> Result<&'static str, ParquetError> {
    let file = table::open(path)?;
    let columns = file.metadata().file_metadata().schema_descr().columns();
    let has_faults = columns.iter().any(|column| column.name() == FAULTS);
    Ok(if has_faults { FAULTS } else { OLD_FAULTS })
}

fn read(path: &Path) -> Result<Vec<TruthRow>, ParquetError> {
    let mut fields = TruthRow::fields()?;
    for field in fields.iter_mut().filter(|field| field.name() == FAULTS) {
        *field = row::field::<String>(faults_column(path)?)?;
    }
    let mut rows = Vec::new();
    row::each(path, fields, |row| rows.push(row))?;
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::tempdir;

    fn row(at: u64) -> TruthRow {
        TruthRow {
            at: Nanos(at),
            answered_at: (!at.is_multiple_of(7)).then_some(Nanos(at + 800_000)),
            session: at as u32,
            kind: Kind::ALL[at as usize % Kind::ALL.len()],
            key: format!("user{at}"),
            node: (at % 3) as u16,
            faults: if at.is_multiple_of(5) { "stale+torn".to_owned() } else { String::new() },
            version: (at > 1).then_some(at * 3),
            versions_behind: at as u32 % 4,
            staleness: Nanos(at % 9),
            read_after_write: at.is_multiple_of(2).then_some(Nanos(at)),
        }
    }

    fn write(dir: &Path, rows: impl Iterator<Item = TruthRow>) {
        let mut writer = TruthWriter::create(dir).unwrap();
        rows.for_each(|row| writer.push(row));
        writer.finish().unwrap();
    }

    #[test]
    fn the_truth_comes_back() {
        let dir = tempdir("truth");
        let far = TruthRow { session: u32::MAX, node: u16::MAX, ..row(1 << 61) };
        let rows: Vec<TruthRow> = (0..20).map(row).chain([far]).collect();
        write(&dir, rows.iter().cloned());
        assert_eq!(read_truth(&dir).unwrap(), Some(rows));
    }

    #[test]
    fn rows_of_several_groups_keep_their_order() {
        let dir = tempdir("long-truth");
        let count = GROUP as u64 + 10;
        write(&dir, (0..count).map(row));
        let rows = read_truth(&dir).unwrap().unwrap();
        assert_eq!(rows.len() as u64, count);
        assert!(rows.iter().enumerate().all(|(place, found)| *found == row(place as u64)));
    }

    #[test]
    fn a_run_directory_of_a_store_that_does_not_know_has_none() {
        assert_eq!(read_truth(&tempdir("no-truth")).unwrap(), None);
    }

    #[test]
    fn nothing_is_there_before_the_end() {
        let dir = tempdir("torn-truth");
        let mut writer = TruthWriter::create(&dir).unwrap();
        writer.push(row(1));
        drop(writer);
        assert_eq!(read_truth(&dir).unwrap(), None);
    }

    #[test]
    fn a_cut_file_is_an_error_that_names_it() {
        let dir = tempdir("cut-truth");
        write(&dir, (0..9).map(row));
        let path = place::truth(&dir);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();
        let error = read_truth(&dir).unwrap_err().to_string();
        assert!(error.contains("truth.parquet"), "{error}");
    }
}
