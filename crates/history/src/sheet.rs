//! A table of figures as one Parquet file: what a study found, one row per run.

use std::path::Path;
use std::sync::Arc;

use assay_model::{SheetColumn, SheetValues};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::record::Field;

use crate::part::{publish, temporary};
use crate::table::row::{field, put, schema};
use crate::table::{self, TableError};

/// The metadata key that says what the table is.
const KEY: &str = "assay.table";

/// Writes a table to `path`, replacing an earlier one; `name` says in the file what it is.
///
/// # Errors
/// If the disk does not take it; an earlier one then stays.
pub fn write_sheet(path: &Path, name: &str, columns: &[SheetColumn]) -> Result<(), TableError> {
    let temporary = temporary(path);
    let written = write(&temporary, name, columns).and_then(|()| Ok(publish(&temporary, path)?));
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written.map_err(|source| TableError::Write { path: path.to_owned(), source })
}

/// Reads the rows of a table, every value as text.
///
/// # Errors
/// If the file is damaged or is none.
pub fn read_sheet(path: &Path) -> Result<Vec<Vec<String>>, TableError> {
    read(path).map_err(|source| TableError::Read { path: path.to_owned(), source, advice: "" })
}

fn write(path: &Path, name: &str, columns: &[SheetColumn]) -> Result<(), ParquetError> {
    let fields = columns.iter().map(|column| match column.values {
        SheetValues::Text(_) => field::<String>(column.name),
        SheetValues::Count(_) => field::<Option<u64>>(column.name),
        SheetValues::Number(_) => field::<Option<f64>>(column.name),
    });
    let schema = Arc::new(schema("row", fields.collect::<Result<_, _>>()?)?);
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file = table::create(path, schema, properties, (KEY, name.to_owned()))?;
    let mut group = file.next_row_group()?;
    for column in columns {
        match &column.values {
            SheetValues::Text(texts) => put(&mut group, texts, |text| text)?,
            SheetValues::Count(counts) => put(&mut group, counts, |count| count)?,
            SheetValues::Number(numbers) => put(&mut group, numbers, |number| number)?,
        }
    }
    group.close()?;
    table::finish(file)
}

fn read(path: &Path) -> Result<Vec<Vec<String>>, ParquetError> {
    let text = |field: &Field| match field {
        Field::Null => String::new(),
        Field::Str(text) => text.clone(),
        other => other.to_string(),
    };
    let mut rows = Vec::new();
    table::each_row(path, None, |row| {
        rows.push(row.get_column_iter().map(|(_, field)| text(field)).collect());
        Ok(())
    })?;
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::tempdir;

    fn column(name: &'static str, values: SheetValues) -> SheetColumn {
        SheetColumn { name, values }
    }

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let path = tempdir("sheet").join("cells.parquet");
        let columns = [
            column("store", SheetValues::Text(vec!["etcd".to_owned(), String::new()])),
            column("done", SheetValues::Count(vec![Some(100_000), None])),
            column("mean_ns", SheetValues::Number(vec![None, Some(0.5)])),
        ];
        write_sheet(&path, "cells", &columns).unwrap();
        write_sheet(&path, "cells", &columns).unwrap();
        assert_eq!(read_sheet(&path).unwrap(), [["etcd", "100000", ""], ["", "", "0.5"]]);
    }

    #[test]
    fn a_table_without_rows_is_one() {
        let path = tempdir("sheet-empty").join("cells.parquet");
        write_sheet(&path, "cells", &[column("n", SheetValues::Count(Vec::new()))]).unwrap();
        assert_eq!(read_sheet(&path).unwrap().len(), 0);
    }

    #[test]
    fn what_is_no_table_is_an_error_that_names_it() {
        let path = tempdir("sheet-none").join("cells.parquet");
        std::fs::write(&path, "no parquet").unwrap();
        let error = read_sheet(&path).unwrap_err().to_string();
        assert!(error.contains("cells.parquet"), "{error}");
    }
}
