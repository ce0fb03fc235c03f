//! Tables beside the history, as Parquet files: written with a checksum, read as if damaged.

pub(crate) mod row;

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Once;

use crc32fast::Hasher;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::file::writer::SerializedFileWriter;
use parquet::record::Row;
use parquet::schema::types::{Type, TypePtr};

use crate::part::{publish, temporary};

/// A table beside the history could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// It cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: ParquetError,
    },
    /// It cannot be read.
    #[error("cannot read {path}: {source}{advice}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: ParquetError,
        /// What to do, behind a semicolon; empty if there is nothing to say.
        advice: &'static str,
    },
}

/// More rows per byte than in any valid file: if a footer claims more, its rows are not read.
const ROWS_PER_BYTE: u64 = 8;

/// Begins the table at `path`; `metadata` says in its footer what it is.
pub(crate) fn create(
    path: &Path,
    schema: TypePtr,
    properties: WriterPropertiesPtr,
    metadata: (&str, String),
) -> Result<SerializedFileWriter<File>, ParquetError> {
    let mut table = SerializedFileWriter::new(File::create(path)?, schema, properties)?;
    table.append_key_value_metadata(KeyValue::new(metadata.0.to_owned(), metadata.1));
    Ok(table)
}

/// Completes the table, down to the disk.
pub(crate) fn finish(mut table: SerializedFileWriter<File>) -> Result<(), ParquetError> {
    table.finish()?;
    Ok(table.inner().sync_all()?)
}

/// Lets `write` fill the table at `path`, lists it, and replaces an earlier one.
pub(crate) fn replace_listed(
    path: PathBuf,
    write: impl FnOnce(&Path) -> Result<(), ParquetError>,
) -> Result<(), TableError> {
    let temporary = temporary(&path);
    let written = write(&temporary).and_then(|()| Ok(publish_listed(&temporary, &path)?));
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written.map_err(|source| TableError::Write { path, source })
}

/// What `read` makes of the table at `path`, which is as it was listed; `None` if there is none.
pub(crate) fn read_listed<T>(
    path: PathBuf,
    advice: &'static str,
    read: impl FnOnce(&Path) -> Result<T, ParquetError>,
) -> Result<Option<T>, TableError> {
    let found = check_listed(&path).and_then(|()| path.exists().then(|| read(&path)).transpose());
    found.map_err(|source| TableError::Read { path, source, advice })
}

/// The file beside the tables of a run directory that lists them, a line each: CRC-32, bytes, name.
const SUMS: &str = "tables.sum";

/// The list of checksums in the run directory `dir`.
pub(crate) fn sums(dir: &Path) -> PathBuf {
    dir.join(SUMS)
}

/// Renames the complete table `temporary` to `path` and lists its checksum.
///
/// A table that is read without its line in the list is of an earlier release, or of a run that was
/// killed between the two steps.
pub(crate) fn publish_listed(temporary: &Path, path: &Path) -> io::Result<()> {
    let line = sum_line(temporary, path)?;
    let list = path.with_file_name(SUMS);
    let listed = std::fs::read_to_string(&list).unwrap_or_default();
    let others: Vec<&str> = listed.lines().filter(|line| !is_about(line, path)).collect();
    // A kill in between must not leave the new table beside the line of the old one.
    if others.len() < listed.lines().count() {
        put_list(&list, &others)?;
    }
    publish(temporary, path)?;
    put_list(&list, &[&others[..], &[&line]].concat())
}

fn put_list(list: &Path, lines: &[&str]) -> io::Result<()> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let temporary = temporary(list);
    let written = std::fs::write(&temporary, text).and_then(|()| publish(&temporary, list));
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

/// Compares the table at `path` with its line in the list; it may be missing only without one.
pub(crate) fn check_listed(path: &Path) -> Result<(), ParquetError> {
    let listed = std::fs::read_to_string(path.with_file_name(SUMS)).unwrap_or_default();
    let Some(line) = listed.lines().find(|line| is_about(line, path)) else { return Ok(()) };
    let wrong = |reason: &str| Err(ParquetError::General(format!("{SUMS}: {reason}")));
    match path.exists() {
        false => wrong("it is listed and missing"),
        true if sum_line(path, path)? == line => Ok(()),
        true => wrong("its checksum is another"),
    }
}

fn is_about(line: &str, path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| line.ends_with(name))
}

/// The line of the table `path` whose bytes are in `file`.
fn sum_line(file: &Path, path: &Path) -> io::Result<String> {
    let mut file = File::open(file)?;
    let (mut sum, mut chunk, mut length) = (Hasher::new(), vec![0; 1 << 16], 0);
    loop {
        let count = file.read(&mut chunk)?;
        if count == 0 {
            break;
        }
        sum.update(&chunk[..count]);
        length += count;
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(format!("{:08x} {length} {name}", sum.finalize()))
}

// tidy: allow globals: a hook cannot be given a value.
thread_local! {
    /// Whether this thread reads a file that may be damaged.
    static READS: Cell<bool> = const { Cell::new(false) };
}

/// Runs `read`, in which the library panics on some kinds of damage, so that those are errors too
/// and nothing is printed.
pub(crate) fn guarded<T>(
    read: impl FnOnce() -> Result<T, ParquetError>,
) -> Result<T, ParquetError> {
    // tidy: allow globals: the hook belongs to the process; it changes what a panic prints while
    // a damaged file is read, nothing else.
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let reported = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !READS.get() {
                reported(panic);
            }
        }));
    });
    let before = READS.replace(true);
    // A panic leaves only the reader in an undefined state, and it is not used again.
    let result = catch_unwind(AssertUnwindSafe(read));
    READS.set(before);
    result.unwrap_or_else(|_| Err(ParquetError::General("its metadata are damaged".to_owned())))
}

/// Opens the file at `path`, whose columns are not compressed.
pub(crate) fn open(path: &Path) -> Result<SerializedFileReader<File>, ParquetError> {
    let file = File::open(path)?;
    let file = guarded(|| SerializedFileReader::new(file))?;
    match codec(&file) {
        None => Ok(file),
        Some(codec) => {
            let reason = format!("it is compressed with {codec}, which is not supported");
            Err(ParquetError::General(reason))
        }
    }
}

/// How the first compressed column of `file` is compressed.
pub(crate) fn codec(file: &SerializedFileReader<File>) -> Option<String> {
    let groups = file.metadata().row_groups().iter();
    let codecs = groups.flat_map(|group| group.columns()).map(|column| column.compression());
    let codec = codecs.into_iter().find(|codec| *codec != Compression::UNCOMPRESSED)?;
    // Some have levels, which do not matter here.
    let name = format!("{codec:?}");
    name.split('(').next().map(str::to_lowercase)
}

/// Gives every row of the file at `path` to `each`, with the columns of `schema`.
pub(crate) fn each_row(
    path: &Path,
    schema: Option<Type>,
    mut each: impl FnMut(&Row) -> Result<(), ParquetError>,
) -> Result<(), ParquetError> {
    let file = open(path)?;
    let bytes = std::fs::metadata(path)?.len();
    guarded(|| {
        let groups = file.metadata().row_groups().iter();
        let rows = groups.fold(0u64, |sum, group| sum.saturating_add(group.num_rows() as u64));
        if rows > bytes.saturating_mul(ROWS_PER_BYTE) {
            let reason = format!("its {bytes} bytes promise {rows} rows");
            return Err(ParquetError::General(reason));
        }
        let mut found = 0;
        for row in file.get_row_iter(schema)? {
            each(&row?)?;
            found += 1;
        }
        match found == rows {
            true => Ok(()),
            false => Err(ParquetError::General(format!("it holds {found} of its {rows} rows"))),
        }
    })
}
