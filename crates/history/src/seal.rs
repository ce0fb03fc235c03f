//! Turns the blocks of a finished or interrupted run into Parquet parts.
//!
//! Each worker is sealed by itself: write the part below a temporary name, force it to disk, rename
//! it, delete the blocks. The name follows from the worker, so a seal that was killed anywhere can
//! simply be done again.

use std::io;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;

use crate::block::RunTag;
use crate::blocks::{BlocksError, Damage, WorkerBlocks};
use crate::part::{self, AGENT_KEY, Finished, PartWriter, WORKER_KEY};
use crate::place;
use crate::sum::RecordSum;

/// The metadata key that lists what was damaged when the part was sealed.
pub(crate) const DAMAGE_KEY: &str = "assay.history.damage";

/// What sealing made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sealed {
    /// The parts made now, by worker; workers that were sealed before are not among them.
    pub parts: Vec<SealedPart>,
    /// What could not be read of the blocks.
    pub damage: Vec<Damage>,
}

/// One part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedPart {
    /// The worker.
    pub worker: u16,
    /// The file.
    pub path: PathBuf,
    /// Its records.
    pub records: u64,
    /// Its bytes.
    pub bytes: u64,
    /// The sum over its records.
    pub sum: RecordSum,
}

impl Sealed {
    /// Records of all parts.
    pub fn records(&self) -> u64 {
        self.parts.iter().map(|part| part.records).sum()
    }

    /// The sum over the records of all parts.
    pub fn sum(&self) -> RecordSum {
        let mut sum = RecordSum::default();
        self.parts.iter().for_each(|part| sum += part.sum);
        sum
    }

    /// Bytes of all parts.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes).sum()
    }
}

/// The history could not be sealed; blocks that are not sealed stay, so nothing is lost.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// A block file cannot be read.
    #[error(transparent)]
    Blocks(#[from] BlocksError),
    /// The disk is full.
    #[error(
        "the disk is full, so the history in {} stays unsealed (nothing of it is lost and it can \
         be analysed as it is); free some space, then run `assay history repair {}`",
        dir.display(), dir.display()
    )]
    Full {
        /// The run directory.
        dir: PathBuf,
    },
    /// A part cannot be written.
    #[error("cannot write {path}: {source}; then run `assay history repair {}`", dir.display())]
    Write {
        /// The run directory.
        dir: PathBuf,
        /// The part or directory.
        path: PathBuf,
        /// What went wrong.
        source: ParquetError,
    },
}

/// Whether a disk, a quota or a limit on file sizes is exhausted.
pub(crate) fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

pub(crate) fn no_room(error: &ParquetError) -> bool {
    match error {
        ParquetError::External(source) => source.downcast_ref::<io::Error>().is_some_and(is_full),
        _ => false,
    }
}

/// Seals all blocks of the run directory `dir` as the history of `agent`.
///
/// `facts` go into the metadata of every part. The caller holds the run directory's lock.
///
/// # Errors
/// If blocks cannot be read or parts cannot be written; workers sealed until then stay sealed, the
/// others keep their blocks.
pub(crate) fn seal(
    dir: &Path,
    agent: u32,
    facts: &[(String, String)],
) -> Result<Sealed, SealError> {
    let blocks = place::blocks(dir);
    let workers = place::numbered(&blocks, "lane=", ".blk")
        .map_err(|source| BlocksError::Read { path: blocks.clone(), source })?;
    let into = place::agent(dir, agent);
    std::fs::create_dir_all(&into).map_err(|source| failed(dir, &into, source.into()))?;
    let mut sealed = Sealed::default();
    for (worker, path) in workers {
        // Block files are named by worker numbers only.
        let Ok(worker) = u16::try_from(worker) else { continue };
        let part = place::part(dir, agent, worker);
        let mut damaged = false;
        if !part.exists() {
            let own = [(AGENT_KEY, agent), (WORKER_KEY, u32::from(worker))];
            let own = own.map(|(key, number)| (key.to_owned(), number.to_string()));
            let facts = [facts, &own].concat();
            let (made, damage) = seal_worker(dir, &path, &part, worker, &facts)?;
            damaged =
                damage.iter().any(|damage| damage.form != crate::blocks::DamageKind::TornTail);
            sealed.parts.push(made);
            sealed.damage.extend(damage);
        }
        retire(&path, damaged).map_err(|source| failed(dir, &path, source.into()))?;
    }
    // Not empty if damaged blocks are kept as evidence; that is as it should be.
    let _ = std::fs::remove_dir(&blocks);
    Ok(sealed)
}

fn failed(dir: &Path, path: &Path, source: ParquetError) -> SealError {
    if no_room(&source) {
        return SealError::Full { dir: dir.to_path_buf() };
    }
    SealError::Write { dir: dir.to_path_buf(), path: path.to_path_buf(), source }
}

/// Deletes sealed blocks; those in which something was damaged are kept under another name.
fn retire(path: &Path, damaged: bool) -> io::Result<()> {
    if damaged {
        return std::fs::rename(path, path.with_extension("damaged"));
    }
    std::fs::remove_file(path)
}

fn seal_worker(
    dir: &Path,
    path: &Path,
    part: &Path,
    worker: u16,
    facts: &[(String, String)],
) -> Result<(SealedPart, Vec<Damage>), SealError> {
    let mut blocks = WorkerBlocks::open(path, worker, RunTag::of(facts))?;
    let written = write_part(&mut blocks, part, facts);
    if written.is_err() {
        // Its room is needed more urgently than the fragment.
        let _ = std::fs::remove_file(part::temporary(part));
    }
    let Finished { records, bytes, sum } = match written {
        Ok(finished) => finished,
        Err(WorkerError::Blocks(error)) => return Err(error.into()),
        Err(WorkerError::Part(error)) => return Err(failed(dir, part, error)),
    };
    let made = SealedPart { worker, path: part.to_path_buf(), records, bytes, sum };
    Ok((made, blocks.damage().to_vec()))
}

/// The step of sealing that failed.
#[derive(Debug, thiserror::Error)]
enum WorkerError {
    #[error(transparent)]
    Blocks(#[from] BlocksError),
    #[error(transparent)]
    Part(#[from] ParquetError),
}

fn write_part(
    blocks: &mut WorkerBlocks,
    path: &Path,
    facts: &[(String, String)],
) -> Result<Finished, WorkerError> {
    let mut part = PartWriter::create(path, facts)?;
    while blocks.next_block(part.pending())? {
        part.end_block()?;
    }
    if !blocks.damage().is_empty() {
        let lines: Vec<_> = blocks.damage().iter().map(ToString::to_string).collect();
        part.note(DAMAGE_KEY, &lines.join("\n"));
    }
    Ok(part.finish()?)
}
