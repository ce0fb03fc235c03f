//! Splits a trace into parts for several agents.

use std::path::{Path, PathBuf};

use crate::header::{Header, Part};
use crate::reader::{ReadError, Trace};
use crate::writer::{TraceWriter, WriteError, WrittenTrace};

/// The most parts, each of which gathers its own row group of about 8 MB while it is written.
pub const MOST_PARTS: u32 = 256;

/// A trace could not be split.
#[derive(Debug, thiserror::Error)]
pub enum SplitError {
    /// The trace could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A part could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The number of parts is invalid.
    #[error("cannot split {processes} processes into {parts} parts: give 1 to {most}")]
    Parts {
        /// The kind of request.
        parts: u32,
        /// How many processes there are.
        processes: u64,
        /// The most parts possible.
        most: u64,
    },
    /// The trace is a part itself.
    #[error("this trace is part {index} of {of}: split the whole trace instead")]
    Part {
        /// Which part.
        index: u32,
        /// Of how many.
        of: u32,
    },
}

/// Writes `parts` files into `directory`, called `NAME.part-0.trace`, `NAME.part-1.trace` … after
/// `name`: part i holds the processes p with p mod `parts` = i, under their old numbers.
///
/// The sums of the parts add up to the sum of the whole; each part is sealed by itself.
///
/// # Errors
/// If the trace cannot be read, a part would be empty, or the file system refuses.
pub fn split(
    trace: &Trace,
    parts: u32,
    directory: impl AsRef<Path>,
    name: &str,
) -> Result<Vec<(PathBuf, WrittenTrace)>, SplitError> {
    if let Some(Part { index, of }) = trace.header().part {
        return Err(SplitError::Part { index, of });
    }
    let processes = trace.processes();
    let most = processes.min(u64::from(MOST_PARTS));
    if parts == 0 || u64::from(parts) > most {
        return Err(SplitError::Parts { parts, processes, most });
    }
    let mut writers = Vec::with_capacity(parts as usize);
    for index in 0..parts {
        let path = directory.as_ref().join(format!("{name}.part-{index}.trace"));
        let part = Some(Part { index, of: parts });
        let header = Header { part, ..trace.header().clone() };
        let writer = TraceWriter::begin(&path, header, trace.schedules())?;
        writers.push((path, writer));
    }
    deal(trace, &mut writers)?;
    let finish = |(path, writer): (PathBuf, TraceWriter)| Ok((path, writer.finish()?));
    writers.into_iter().map(finish).collect()
}

/// Gives every process to its part.
fn deal(trace: &Trace, writers: &mut [(PathBuf, TraceWriter)]) -> Result<(), SplitError> {
    let parts = writers.len() as u64;
    let mut reader = trace.reader()?;
    let mut operations = Vec::new();
    while let Some(process) = reader.advance(&mut operations)? {
        let (_, writer) = &mut writers[(process % parts) as usize];
        writer.push_entry(&reader.entry(process, &operations))?;
    }
    Ok(())
}
