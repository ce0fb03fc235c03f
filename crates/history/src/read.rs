//! A history read back, sealed or not, in batches of records.

mod identity;
mod part;

use std::io;
use std::path::{Path, PathBuf};

use assay_model::Record;
use parquet::errors::ParquetError;

use crate::block::RunTag;
use crate::blocks::{BlocksError, Damage, WorkerBlocks};
use crate::column::Columns;
use crate::manifest::Manifest;
use crate::place;
use crate::sum::RecordSum;
use identity::Claim;
use part::PartFile;

/// The history of one run, of all its agents.
#[derive(Debug)]
pub struct History {
    pieces: Vec<Piece>,
    facts: Vec<(String, String)>,
}

/// One worker of one agent.
#[derive(Debug)]
struct Piece {
    agent: u32,
    worker: u16,
    records: u64,
    form: PieceForm,
}

#[derive(Debug)]
enum PieceForm {
    Sealed(PartFile),
    Blocks(PathBuf, RunTag),
}

/// Some records of one worker.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The agent that issued the operation.
    pub agent: u32,
    /// The worker that issued the operation.
    pub worker: u16,
    /// The records; columns that were not wanted hold what [`Record::BLANK`] holds.
    pub records: &'a [Record],
}

/// A history could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no such directory.
    #[error("{dir} is not a directory; name the directory of a run")]
    NoRunDir {
        /// What was named.
        dir: PathBuf,
    },
    /// The run directory has no history.
    #[error("{dir} holds neither a sealed history nor blocks of one; was it ever run?")]
    NoHistory {
        /// The run directory.
        dir: PathBuf,
    },
    /// A directory cannot be listed.
    #[error("cannot list {path}: {source}")]
    List {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A part is truncated or something else.
    #[error(
        "{path} is not a complete history file ({source}); \
         copy it again, or take it away to read the others"
    )]
    Part {
        /// The part.
        path: PathBuf,
        /// What its reader said.
        source: ParquetError,
    },
    /// A part belongs to another run.
    #[error(
        "{path} is of another run: its {what} is {found:?}, that in run.toml is {own:?}; take it \
         away, or put this run's own part in its place"
    )]
    Foreign {
        /// The part.
        path: PathBuf,
        /// The difference.
        what: String,
        /// The value in the part.
        found: String,
        /// The value in `run.toml`.
        own: String,
    },
    /// A part is there a second time.
    #[error(
        "{path} is a copy of {original}: its operations would be counted twice; take it away, or \
         rename it if there is no other"
    )]
    Doubled {
        /// The copy.
        path: PathBuf,
        /// The part that it is.
        original: PathBuf,
    },
    /// Another tool has compressed a part.
    #[error(
        "{path} is compressed with {codec}, which is not supported: rewrite it without, for \
         example with Python's pyarrow.parquet: write_table(read_table({name}), {name}, \
         compression='none')", name = format_args!("'{}'", path.display())
    )]
    Compressed {
        /// The part.
        path: PathBuf,
        /// How.
        codec: String,
    },
    /// A part lacks a column.
    #[error("{path} has no column `{column}`, so it is not a history of ours")]
    Column {
        /// The part.
        path: PathBuf,
        /// The column.
        column: &'static str,
    },
    /// A part was written by a later release.
    #[error("{path} has history format {found}, newer than {known}; use the release that wrote it")]
    Newer {
        /// The part.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version that this release reads.
        known: u32,
    },
    /// Blocks cannot be read.
    #[error(transparent)]
    Blocks(#[from] BlocksError),
}

/// A history could not be read to its end.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A part is damaged.
    #[error("cannot read column `{column}` of {path}: {source}; the file is damaged")]
    Part {
        /// The part.
        path: PathBuf,
        /// The column.
        column: &'static str,
        /// What went wrong.
        source: ParquetError,
    },
    /// The records of a part are not those that were written.
    #[error(
        "{path} does not hold the records that were written; the file is damaged, copy it again"
    )]
    Changed {
        /// The part.
        path: PathBuf,
    },
    /// Blocks cannot be read.
    #[error(transparent)]
    Blocks(#[from] BlocksError),
}

impl History {
    /// Opens the history in the run directory `dir`: its sealed parts, and the blocks of workers
    /// that are not sealed yet.
    ///
    /// # Errors
    /// If there is no history, or a part is truncated, of another run, there twice or of a newer
    /// format.
    pub fn open(dir: &Path) -> Result<History, OpenError> {
        if !dir.is_dir() {
            return Err(OpenError::NoRunDir { dir: dir.to_path_buf() });
        }
        let mut history = History { pieces: Vec::new(), facts: Vec::new() };
        // Its readers report an absent or damaged one.
        let manifest = Manifest::read(dir).unwrap_or_default();
        for (agent, path) in list(&place::history(dir), "agent=", "")? {
            history.add_parts(dir, agent, &path, &manifest)?;
        }
        history.add_blocks(dir, &manifest)?;
        if history.pieces.is_empty() {
            return Err(OpenError::NoHistory { dir: dir.to_path_buf() });
        }
        Ok(history)
    }

    fn add_parts(
        &mut self,
        dir: &Path,
        agent: u32,
        folder: &Path,
        manifest: &Manifest,
    ) -> Result<(), OpenError> {
        for (worker, path) in list(folder, "part-", ".parquet")? {
            let Ok(worker) = u16::try_from(worker) else { continue };
            let (part, facts) = PartFile::open(&path)?;
            let claim = Claim { agent, worker, path: part.path(), facts: &facts };
            claim.check_run(manifest)?;
            claim.check_place(dir)?;
            if self.facts.is_empty() {
                self.facts = facts;
            }
            let records = part.rows();
            self.pieces.push(Piece { agent, worker, records, form: PieceForm::Sealed(part) });
        }
        Ok(())
    }

    /// Adds workers whose blocks were never sealed; a sealed worker's blocks are leftovers.
    fn add_blocks(&mut self, dir: &Path, manifest: &Manifest) -> Result<(), OpenError> {
        let agent = manifest.history.agent;
        let run = RunTag::of(&manifest.facts());
        for (worker, path) in list(&place::blocks(dir), "lane=", ".blk")? {
            let Ok(worker) = u16::try_from(worker) else { continue };
            if self.pieces.iter().any(|piece| (piece.agent, piece.worker) == (agent, worker)) {
                continue;
            }
            let records = WorkerBlocks::open(&path, worker, run)?.count()?;
            self.pieces.push(Piece { agent, worker, records, form: PieceForm::Blocks(path, run) });
            if self.facts.is_empty() {
                self.facts = manifest.facts();
            }
        }
        Ok(())
    }

    /// How many records there are; for damaged blocks, how many their headers promise.
    pub fn records(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.records).sum()
    }

    /// The checksum over all records according to the parts; `None` if one of them, or a worker
    /// that is not sealed, has none. [`History::each_batch`] with all columns verifies it.
    pub fn sum(&self) -> Option<RecordSum> {
        self.pieces.iter().try_fold(RecordSum::default(), |mut sum, piece| {
            let PieceForm::Sealed(part) = &piece.form else { return None };
            sum += part.sum?;
            Some(sum)
        })
    }

    /// Agents with their workers, as they are read.
    pub fn workers(&self) -> impl Iterator<Item = (u32, u16)> {
        self.pieces.iter().map(|piece| (piece.agent, piece.worker))
    }

    /// Whether every worker is sealed.
    pub fn is_sealed(&self) -> bool {
        self.pieces.iter().all(|piece| matches!(piece.form, PieceForm::Sealed(_)))
    }

    /// The agents whose records are here, rising.
    pub fn agents(&self) -> Vec<u32> {
        let mut agents: Vec<_> = self.pieces.iter().map(|piece| piece.agent).collect();
        agents.sort_unstable();
        agents.dedup();
        agents
    }

    /// What the writer wanted readers to know, as key-value pairs of the first part.
    pub fn facts(&self) -> &[(String, String)] {
        &self.facts
    }

    /// The value of one fact.
    pub fn fact(&self, key: &str) -> Option<&str> {
        self.facts.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// Gives every record to `each`, worker by worker, in batches: of a sealed worker a few hundred
    /// records, of another one a block.
    ///
    /// Only `columns` are read. Within a worker, pages of 8192 records come in the order of
    /// completion; within a page, records come by rising index. Memory does not grow with the
    /// length of the run.
    ///
    /// Returns the damage that was found in unsealed blocks; sealed workers had theirs reported
    /// when they were sealed.
    ///
    /// # Errors
    /// If a file cannot be read to its end.
    pub fn each_batch(
        &mut self,
        columns: Columns,
        mut each: impl FnMut(Batch<'_>),
    ) -> Result<Vec<Damage>, ReadError> {
        let mut damage = Vec::new();
        for piece in &self.pieces {
            let (agent, worker) = (piece.agent, piece.worker);
            let mut give = |records: &[Record]| each(Batch { agent, worker, records });
            match &piece.form {
                PieceForm::Sealed(part) => part.each_batch(columns, &mut give)?,
                PieceForm::Blocks(path, run) => {
                    damage.extend(each_block(path, worker, *run, &mut give)?);
                }
            }
        }
        Ok(damage)
    }
}

fn list(dir: &Path, prefix: &str, suffix: &str) -> Result<Vec<(u32, PathBuf)>, OpenError> {
    place::numbered(dir, prefix, suffix)
        .map_err(|source| OpenError::List { path: dir.to_path_buf(), source })
}

fn each_block(
    path: &Path,
    worker: u16,
    run: RunTag,
    each: &mut impl FnMut(&[Record]),
) -> Result<Vec<Damage>, ReadError> {
    let mut blocks = WorkerBlocks::open(path, worker, run)?;
    let mut records = Vec::new();
    while blocks.next_block(&mut records)? {
        each(&records);
        records.clear();
    }
    Ok(blocks.damage().to_vec())
}

#[cfg(test)]
mod tests;
