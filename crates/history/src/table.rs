//! Parquet files that may be damaged: every way in which they can be is an error.

use std::cell::Cell;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Once;

use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::record::Row;
use parquet::schema::types::Type;

/// More rows per byte than in any valid file: if a footer claims more, its rows are not read.
const ROWS_PER_BYTE: u64 = 8;

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
