//! Turns the requests of an imported trace into two traces of ours.
//!
//! One has the operations, the other what a store must hold before.

use std::path::{Path, PathBuf};

use assay_model::{Fields, Kind, Nanos, Operation, Phase, Seed};

use super::first_access::{FirstAccesses, KEYS_MAX, State};
use super::request::{ImportedRequest, TimestampPrecision, ValueSize, Verb};
use super::requests::{ImportedTraceError, ReadTotals, RequestSource};
use super::stage::{self, Next, StampSpacing};
use crate::columns::Schedules;
use crate::hash::Digest;
use crate::header::Header;
use crate::writer::{TraceWriter, WriteError, WrittenTrace};

/// What every trace's name ends with.
const ENDING: &str = ".trace";
/// What the name of a trace that a load writes ends with.
const LOAD_ENDING: &str = ".load.trace";

/// An imported trace could not be imported.
#[derive(Debug, thiserror::Error)]
pub enum TraceImportError {
    /// It could not be read.
    #[error(transparent)]
    Read(#[from] ImportedTraceError),
    /// A trace of ours could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// There are too many keys.
    #[error(
        "the import has more than {most} keys, and all are held in memory; take a part of the keys \
         by --sample-keys"
    )]
    Keys {
        /// The bound.
        most: usize,
    },
    /// Every request was left out.
    #[error("of {requests} requests none is left: {why}")]
    Nothing {
        /// Requests in the file.
        requests: u64,
        /// What left them out.
        why: &'static str,
    },
}

/// The transformations of an imported trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Importing {
    /// The share of the keys to keep, above 0, at most 1.
    pub sample_keys: f64,
    /// The number of key spaces in which each request is repeated.
    pub replicate: u32,
    /// The speed-up over the original schedule.
    pub speed: f64,
    /// How requests with the same stamp are placed within it.
    pub spread: StampSpacing,
    /// At most so many operations.
    pub operations: Option<u64>,
    /// The size of values of unknown size, in bytes.
    pub value_size: u32,
    /// The size of values for keys that were only looked for in vain, if these are to be there.
    pub fill_misses: Option<u32>,
    /// The most keys; all are held in memory.
    pub keys_max: usize,
}

impl Default for Importing {
    /// Everything as it was; values of unknown size have 100 bytes.
    fn default() -> Importing {
        Importing {
            sample_keys: 1.0,
            replicate: 1,
            speed: 1.0,
            spread: StampSpacing::Even,
            operations: None,
            value_size: 100,
            fill_misses: None,
            keys_max: KEYS_MAX,
        }
    }
}

/// What is known of an imported trace when its header is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportFacts {
    /// Operations of each kind, by the kind's code.
    pub kinds: [u64; Kind::ALL.len()],
    /// Distinct keys.
    pub keys: u64,
    /// The hash of what a load writes; `None` if nothing must be there before.
    pub preload: Option<Digest>,
}

impl ImportFacts {
    /// Operations of `kind`.
    pub fn of(&self, kind: Kind) -> u64 {
        self.kinds[kind as usize]
    }
}

/// The summary of an import.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The operations.
    pub written: WrittenTrace,
    /// What must be there before.
    pub preload: Option<WrittenTrace>,
    /// Bytes of values that must be there before.
    pub preload_bytes: u64,
    /// Mix and keys.
    pub facts: ImportFacts,
    /// What was read.
    pub totals: ReadTotals,
    /// Whether it has times of its own.
    pub schedules: Schedules,
    /// From the first to the last request, as they will be issued.
    pub span: Nanos,
    /// Reads that had found nothing.
    pub missed: u64,
    /// Writes of unknown size.
    pub guessed: u64,
}

/// The path of the trace that is loaded before the trace at `path` is run.
pub fn load_path(path: &Path) -> PathBuf {
    let name = path.as_os_str().to_string_lossy();
    let stem = name.strip_suffix(ENDING).unwrap_or(&name);
    PathBuf::from(format!("{stem}{LOAD_ENDING}"))
}

/// Writes the requests as a trace at `path`, and the data that they need at [`load_path`].
///
/// `header` is that of the trace but for its spec, which `spec` writes when all is known.
///
/// # Errors
/// If the requests cannot be read, none is left, or a file cannot be written.
pub fn import(
    mut requests: impl RequestSource,
    path: &Path,
    importing: &Importing,
    header: &Header,
    spec: &dyn Fn(&ImportFacts) -> String,
) -> Result<Imported, TraceImportError> {
    let timestamps = requests.timestamps();
    let mut taken = Taken::begin(path, importing, header.clone(), timestamps)?;
    let mut left = importing.operations.unwrap_or(u64::MAX);
    for next in staged(&mut requests, importing, timestamps) {
        if left == 0 {
            break;
        }
        left -= 1;
        taken.add(&next?)?;
    }
    if taken.process == 0 {
        let requests = requests.totals().requests;
        let why = match () {
            () if requests == 0 => "none of its commands is supported",
            () if importing.sample_keys < 1.0 => "--sample-keys keeps none of their keys",
            () => "--operations keeps none of them",
        };
        return Err(TraceImportError::Nothing { requests, why });
    }
    taken.finish(header, spec, requests.totals())
}

/// The requests after all stages.
fn staged<'a>(
    requests: &'a mut impl RequestSource,
    importing: &Importing,
    timestamps: TimestampPrecision,
) -> Box<dyn Iterator<Item = Next> + 'a> {
    let sampled = stage::sampled(requests, importing.sample_keys);
    let replicated = stage::replicated(sampled, importing.replicate);
    match timestamps {
        TimestampPrecision::Absent => Box::new(stage::repeated(replicated)),
        TimestampPrecision::Each(unit) => {
            Box::new(stage::spread(replicated, unit, importing.spread))
        }
    }
}

/// A trace that is being written.
struct Taken<'a> {
    path: &'a Path,
    importing: &'a Importing,
    writer: TraceWriter,
    schedules: Schedules,
    first_accesses: FirstAccesses,
    facts: ImportFacts,
    process: u64,
    first: Option<Nanos>,
    span: Nanos,
    missed: u64,
    guessed: u64,
}

impl<'a> Taken<'a> {
    fn begin(
        path: &'a Path,
        importing: &'a Importing,
        header: Header,
        timestamps: TimestampPrecision,
    ) -> Result<Taken<'a>, WriteError> {
        let schedules = match timestamps {
            TimestampPrecision::Absent => Schedules::Absent,
            TimestampPrecision::Each(_) => Schedules::Recorded,
        };
        let writer = TraceWriter::begin(path, header, schedules)?;
        Ok(Taken {
            path,
            importing,
            writer,
            schedules,
            first_accesses: FirstAccesses::default(),
            facts: ImportFacts::default(),
            process: 0,
            first: None,
            span: Nanos::ZERO,
            missed: 0,
            guessed: 0,
        })
    }

    fn add(&mut self, request: &ImportedRequest) -> Result<(), TraceImportError> {
        let first = *self.first.get_or_insert(request.at);
        let offset = Nanos((request.at.since(first).0 as f64 / self.importing.speed) as u64);
        let kind = request.verb.kind();
        let writes = matches!(kind, Kind::Insert | Kind::Update);
        let bytes = match request.value {
            _ if !writes => 0,
            ValueSize::Bytes(size) => size,
            ValueSize::Unknown | ValueSize::Absent => {
                self.guessed += 1;
                self.importing.value_size
            }
        };
        let is_miss = request.verb == Verb::Get && request.value == ValueSize::Absent;
        self.missed += u64::from(is_miss);
        let operation = lone(self.process, request.key, kind, bytes);
        let intended = (self.schedules == Schedules::Recorded).then_some(offset);
        self.writer.push(self.process, &[operation], intended)?;
        let most = self.importing.keys_max;
        if !self.first_accesses.add(request, most) {
            return Err(TraceImportError::Keys { most });
        }
        self.facts.kinds[kind as usize] += 1;
        self.process += 1;
        self.span = offset;
        Ok(())
    }

    fn finish(
        mut self,
        header: &Header,
        spec: &dyn Fn(&ImportFacts) -> String,
        totals: ReadTotals,
    ) -> Result<Imported, TraceImportError> {
        let (preload, preload_bytes) = self.write_preload(header, spec)?;
        self.facts.preload = preload.map(|written| written.hash);
        self.writer.describe(spec(&self.facts), self.facts.keys);
        Ok(Imported {
            written: self.writer.finish()?,
            preload,
            preload_bytes,
            facts: self.facts,
            totals,
            schedules: self.schedules,
            span: self.span,
            missed: self.missed,
            guessed: self.guessed,
        })
    }

    /// Writes what must be there before, if anything must, with the sum of its bytes.
    fn write_preload(
        &mut self,
        header: &Header,
        spec: &dyn Fn(&ImportFacts) -> String,
    ) -> Result<(Option<WrittenTrace>, u64), TraceImportError> {
        let keys = std::mem::take(&mut self.first_accesses).sorted();
        let header = Header { phase: Phase::Load, ..header.clone() };
        let mut writer: Option<TraceWriter> = None;
        let (mut process, mut sum) = (0, 0);
        self.facts.keys = keys.len() as u64;
        for (key, first_access) in keys {
            let size = match (first_access.state, self.importing.fill_misses) {
                (State::Needed, _) => first_access.size.unwrap_or(self.importing.value_size),
                (State::Missed, Some(size)) => size,
                (State::Missed, None) | (State::Written, _) => continue,
            };
            let writer = match &mut writer {
                Some(writer) => writer,
                none => none.insert(TraceWriter::create(load_path(self.path), header.clone())?),
            };
            writer.push(process, &[lone(process, key, Kind::Insert, size)], None)?;
            process += 1;
            sum += u64::from(size);
        }
        let Some(mut writer) = writer else { return Ok((None, 0)) };
        writer.describe(spec(&self.facts), self.facts.keys);
        Ok((Some(writer.finish()?), sum))
    }
}

/// The operation of a process with no other one.
pub(crate) fn lone(process: u64, key: u64, kind: Kind, bytes: u32) -> Operation {
    Operation {
        index: process,
        key,
        kind,
        fields: Fields::All,
        limit: 1,
        bytes,
        statement: 0,
        transaction: 0,
        transaction_type: 0,
        ends_transaction: true,
        think: Nanos::ZERO,
    }
}

/// The default seed of everything random in an imported trace: an import of the same
/// file gives the same trace.
pub const USUAL_SEED: Seed = Seed(0);

#[cfg(test)]
mod tests;
