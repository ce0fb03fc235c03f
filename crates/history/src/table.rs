//! Tables beside the history, as Parquet files: written with a checksum, read as if damaged.

use std::cell::Cell;
use std::fs::File;
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
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

/// More rows per byte than in any valid file: if a footer claims more, its rows are not read.
const ROWS_PER_BYTE: u64 = 8;

/// The metadata key of the checksum: how many rows there are, how many bytes stand before the
/// footer, their CRC-32.
const SUM_KEY: &str = "assay.sum";

/// A file whose bytes are summed up as they are written.
pub(crate) struct Summed {
    file: File,
    sum: Hasher,
    length: u64,
}

impl Write for Summed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.sum.update(&bytes[..count]);
        self.length += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

/// Begins the table at `path`; `metadata` says in its footer what it is.
pub(crate) fn create(
    path: &Path,
    schema: TypePtr,
    properties: WriterPropertiesPtr,
    metadata: (&str, String),
) -> Result<SerializedFileWriter<Summed>, ParquetError> {
    let out = Summed { file: File::create(path)?, sum: Hasher::new(), length: 0 };
    let mut table = SerializedFileWriter::new(out, schema, properties)?;
    table.append_key_value_metadata(KeyValue::new(metadata.0.to_owned(), metadata.1));
    Ok(table)
}

/// Completes the table, down to the disk.
pub(crate) fn finish(mut table: SerializedFileWriter<Summed>) -> Result<(), ParquetError> {
    table.flush()?;
    let rows: i64 = table.flushed_row_groups().iter().map(|group| group.num_rows()).sum();
    let Summed { sum, length, .. } = table.inner();
    let sum = format!("{rows} {length} {:08x}", sum.clone().finalize());
    table.append_key_value_metadata(KeyValue::new(SUM_KEY.to_owned(), sum));
    table.finish()?;
    Ok(table.inner().file.sync_all()?)
}

/// Compares the rows that the footer promises, and the bytes before it, with the checksum; older
/// files have none.
fn check_sum(path: &Path, table: &SerializedFileReader<File>) -> Result<(), ParquetError> {
    let metadata = table.metadata().file_metadata().key_value_metadata();
    let entry = metadata.and_then(|all| all.iter().find(|entry| entry.key == SUM_KEY));
    let Some(entry) = entry else { return Ok(()) };
    let expected = entry.value.as_deref().unwrap_or_default();
    let length = expected.split(' ').nth(1).and_then(|length| length.parse().ok());
    let mut rest = File::open(path)?.take(length.unwrap_or_default());
    let (mut sum, mut chunk, mut read) = (Hasher::new(), vec![0; 1 << 16], 0);
    loop {
        let count = rest.read(&mut chunk)?;
        if count == 0 {
            break;
        }
        sum.update(&chunk[..count]);
        read += count;
    }
    let groups = table.metadata().row_groups().iter();
    let rows = groups.fold(0i64, |sum, group| sum.wrapping_add(group.num_rows()));
    match format!("{rows} {read} {:08x}", sum.finalize()) == expected {
        true => Ok(()),
        false => Err(ParquetError::General("it is not what its checksum says".to_owned())),
    }
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
    check_sum(path, &file)?;
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
