//! The blocks of one worker, read back in order, without the damaged ones.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use assay_model::Record;

use crate::block::{self, BlockError, HEADER_BYTES, Header, MAGIC, RunTag};

/// A stretch of a block file that could not be read, or records that must have been there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The worker.
    pub worker: u16,
    /// The block file.
    pub path: PathBuf,
    /// Where the stretch begins, in bytes from the start of the file.
    pub offset: u64,
    /// Its bytes; zero if whole blocks are absent.
    pub bytes: u64,
    /// What it looks like.
    pub form: DamageKind,
    /// The records that are known to have been there; `None` if the end of the file is torn so
    /// if unknown.
    pub records_missing: Option<u64>,
}

/// What damage looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageKind {
    /// The file ends within a block: the process was killed while it wrote.
    TornTail,
    /// Bytes are not what was written.
    Corrupt,
    /// The blocks on both sides are intact, but do not follow each other.
    Absent,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = match self.form {
            DamageKind::TornTail => "torn tail",
            DamageKind::Corrupt => "corrupt block",
            DamageKind::Absent => "absent block",
        };
        let (path, offset, bytes) = (self.path.display(), self.offset, self.bytes);
        write!(f, "{form} in {path} at byte {offset}, {bytes} bytes skipped, ")?;
        match self.records_missing {
            Some(records) => write!(f, "{records} records missing"),
            None => write!(f, "an unknown number of records missing"),
        }
    }
}

/// A block file could not be read at all.
#[derive(Debug, thiserror::Error)]
pub enum BlocksError {
    /// The system refused.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The block file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It was written by a later release.
    #[error("cannot read {path}: {source}")]
    Newer {
        /// The block file.
        path: PathBuf,
        /// Which version it has.
        source: BlockError,
    },
    /// It was written by another run.
    #[error(
        "{path} is of another run than run.toml beside it; take it away, or put this run's own \
         blocks in its place"
    )]
    Foreign {
        /// The block file.
        path: PathBuf,
    },
}

/// Reads one worker's file block by block; memory is bounded by the largest block.
pub(crate) struct WorkerBlocks {
    file: File,
    path: PathBuf,
    worker: u16,
    run: RunTag,
    length: u64,
    at: u64,
    records_before: u64,
    buffer: Vec<u8>,
    damage: Vec<Damage>,
}

impl WorkerBlocks {
    /// Opens the file of `worker` in the directory of `run`.
    pub(crate) fn open(path: &Path, worker: u16, run: RunTag) -> Result<WorkerBlocks, BlocksError> {
        let failed = |source| BlocksError::Read { path: path.to_path_buf(), source };
        let file = File::open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        Ok(WorkerBlocks {
            file,
            path: path.to_path_buf(),
            worker,
            run,
            length,
            at: 0,
            records_before: 0,
            buffer: Vec::new(),
            damage: Vec::new(),
        })
    }

    /// What could not be read so far.
    pub(crate) fn damage(&self) -> &[Damage] {
        &self.damage
    }

    /// Appends the records of the next intact block to `into`; false at the end.
    pub(crate) fn next_block(&mut self, into: &mut Vec<Record>) -> Result<bool, BlocksError> {
        while self.at < self.length {
            match self.read_block(into)? {
                Ok(header) => {
                    self.check_run(&header)?;
                    self.note_absent(&header);
                    self.at += header.block_bytes() as u64;
                    self.records_before = header.first + u64::from(header.count);
                    return Ok(true);
                }
                Err(source @ BlockError::Newer { .. }) => {
                    return Err(BlocksError::Newer { path: self.path.clone(), source });
                }
                Err(_) => self.skip_damage()?,
            }
        }
        Ok(false)
    }

    /// The records in intact headers, without decoding anything.
    pub(crate) fn count(&mut self) -> Result<u64, BlocksError> {
        let mut records = 0;
        while self.at < self.length {
            match self.header_at(self.at)? {
                Ok(header) if self.at + header.block_bytes() as u64 <= self.length => {
                    self.check_run(&header)?;
                    records += u64::from(header.count);
                    self.at += header.block_bytes() as u64;
                }
                _ => self.skip_damage()?,
            }
        }
        Ok(records)
    }

    fn check_run(&self, header: &Header) -> Result<(), BlocksError> {
        match header.run.contradicts(self.run) {
            true => Err(BlocksError::Foreign { path: self.path.clone() }),
            false => Ok(()),
        }
    }

    fn read_block(
        &mut self,
        into: &mut Vec<Record>,
    ) -> Result<Result<Header, BlockError>, BlocksError> {
        let header = match self.header_at(self.at)? {
            Ok(header) => header,
            Err(error) => return Ok(Err(error)),
        };
        let mut payload = std::mem::take(&mut self.buffer);
        let read =
            self.read_at(self.at + HEADER_BYTES as u64, header.length as usize, &mut payload);
        let decoded = read.map(|()| block::decode(&header, &payload, into).map(|()| header));
        self.buffer = payload;
        decoded
    }

    fn header_at(&self, at: u64) -> Result<Result<Header, BlockError>, BlocksError> {
        let mut bytes = [0; HEADER_BYTES];
        let there = self.length.saturating_sub(at).min(HEADER_BYTES as u64) as usize;
        self.fill(at, &mut bytes[..there])?;
        let header = Header::parse(&bytes[..there]);
        Ok(header.and_then(|header| {
            let ours = header.worker == self.worker && header.first >= self.records_before;
            if ours { Ok(header) } else { Err(BlockError::Header) }
        }))
    }

    /// Fills `into` with up to `count` bytes from `at`; fewer at the end of the file.
    fn read_at(&self, at: u64, count: usize, into: &mut Vec<u8>) -> Result<(), BlocksError> {
        let there = self.length.saturating_sub(at).min(count as u64) as usize;
        into.resize(there, 0);
        self.fill(at, into)
    }

    fn fill(&self, at: u64, into: &mut [u8]) -> Result<(), BlocksError> {
        self.file
            .read_exact_at(into, at)
            .map_err(|source| BlocksError::Read { path: self.path.clone(), source })
    }

    /// Moves behind the damage that begins here, then remembers it.
    fn skip_damage(&mut self) -> Result<(), BlocksError> {
        let header = self.header_at(self.at)?.ok();
        let next = self.next_header(self.at + 1)?;
        let records_missing = match &next {
            Some((_, next)) => Some(next.first - self.records_before),
            None => header.map(|header| {
                header.first.saturating_add(u64::from(header.count)) - self.records_before
            }),
        };
        let whole = header.is_some_and(|h| self.at + h.block_bytes() as u64 <= self.length);
        let form = if next.is_some() || whole { DamageKind::Corrupt } else { DamageKind::TornTail };
        let end = next.map_or(self.length, |(at, _)| at);
        self.damage.push(Damage {
            worker: self.worker,
            path: self.path.clone(),
            offset: self.at,
            bytes: end - self.at,
            form,
            records_missing,
        });
        self.records_before += records_missing.unwrap_or(0);
        self.at = end;
        Ok(())
    }

    /// The first intact header at or after `from`.
    fn next_header(&self, from: u64) -> Result<Option<(u64, Header)>, BlocksError> {
        const WINDOW: usize = 1 << 16;
        let mut window = Vec::new();
        let mut start = from;
        while start < self.length {
            self.read_at(start, WINDOW, &mut window)?;
            for (place, bytes) in window.windows(MAGIC.len()).enumerate() {
                if bytes != MAGIC {
                    continue;
                }
                let at = start + place as u64;
                if let Ok(header) = self.header_at(at)? {
                    return Ok(Some((at, header)));
                }
            }
            // Overlap, so that a magic across two windows is seen.
            start += (WINDOW - MAGIC.len() + 1) as u64;
        }
        Ok(None)
    }

    fn note_absent(&mut self, header: &Header) {
        if header.first == self.records_before {
            return;
        }
        self.damage.push(Damage {
            worker: self.worker,
            path: self.path.clone(),
            offset: self.at,
            bytes: 0,
            form: DamageKind::Absent,
            records_missing: Some(header.first - self.records_before),
        });
    }
}

#[cfg(test)]
mod tests;
