//! Statistics of a trace: mix, sizes, lengths of scans, popularity of keys.

mod frequent;
mod mix;
mod popularity;
mod sizes;
pub(crate) mod zipf;

use std::ops::Range;

use assay_model::{Filled, Kind, Operation, Source, SourceError};

pub(crate) use frequent::KeyHasher;
pub use mix::{Mix, MixRow, MixVerdict, compare_mix};
pub use popularity::{Accuracy, Hottest, KeyShare, Popularity, RankPoint, SharePoint};
pub use sizes::Sizes;
pub use zipf::ZipfFit;

use crate::header::Header;
use crate::reader::{ReadError, Trace};
use popularity::KeyCounts;
use sizes::SizeCounts;

/// How much memory and detail the figures of a trace may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatOptions {
    /// Up to this many distinct keys are counted exactly; beyond, they are estimated.
    ///
    /// A counted key takes 20 to 40 bytes. Estimates hold at most as many counters.
    pub exact_keys: usize,
    /// How many of the most popular keys to name.
    pub top: usize,
}

impl Default for StatOptions {
    /// Four million keys counted exactly, at most about 150 MB, with the ten most popular named.
    fn default() -> StatOptions {
        StatOptions { exact_keys: 1 << 22, top: 10 }
    }
}

/// The contents of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceStat {
    /// Operations counted.
    pub operations: u64,
    /// Transactions counted; a lone operation is one.
    pub transactions: u64,
    /// Processes counted.
    pub processes: u64,
    /// Operations of each kind, in the order of [`Kind::ALL`].
    pub kinds: Vec<(Kind, u64)>,
    /// Transactions of each type, by the names of the header.
    pub transaction_types: Vec<(String, u64)>,
    /// How often each query occurs, by the names of the header; empty without statements.
    pub queries: Vec<(String, u64)>,
    /// What a spec's proportions speak of: lone operations by kind, transactions by type.
    ///
    /// The read and the update within a read-modify-write count once, as a read-modify-write.
    pub mix: Vec<(String, u64)>,
    /// Bytes that a writing operation writes; `None` without writes.
    pub written: Option<Sizes>,
    /// Records that a scan may return; `None` without scans.
    pub scan_lengths: Option<Sizes>,
    /// How often each key is accessed; a scan counts for the key at which it starts.
    pub popularity: Popularity,
}

/// The figures of the processes of `source` with numbers in `processes`, or until it ends.
///
/// # Errors
/// If the source cannot be read any further.
pub fn stat(
    source: &mut dyn Source,
    processes: Range<u64>,
    header: &Header,
    options: StatOptions,
) -> Result<TraceStat, SourceError> {
    let mut stats = TraceStatBuilder::new(options);
    let mut operations = Vec::new();
    for process in processes {
        match source.fill(process, &mut operations)? {
            Filled::End => break,
            Filled::Process => stats.add(&operations),
        }
    }
    Ok(stats.finish(header))
}

impl Trace {
    /// The figures of the whole trace.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn stat(&self, options: StatOptions) -> Result<TraceStat, ReadError> {
        let mut stats = TraceStatBuilder::new(options);
        let mut reader = self.reader()?;
        let mut operations = Vec::new();
        while reader.advance(&mut operations)?.is_some() {
            stats.add(&operations);
        }
        Ok(stats.finish(self.header()))
    }
}

/// The figures while they grow, fed process by process.
pub struct TraceStatBuilder {
    options: StatOptions,
    operations: u64,
    transactions: u64,
    processes: u64,
    kinds: [u64; Kind::ALL.len()],
    lone_kinds: [u64; Kind::ALL.len()],
    types: Vec<u64>,
    /// Operations by their statement; the first counts those without.
    statements: Vec<u64>,
    written: SizeCounts,
    scan_lengths: SizeCounts,
    keys: KeyCounts,
}

impl TraceStatBuilder {
    /// No figures yet.
    pub fn new(options: StatOptions) -> TraceStatBuilder {
        TraceStatBuilder {
            options,
            operations: 0,
            transactions: 0,
            processes: 0,
            kinds: [0; Kind::ALL.len()],
            lone_kinds: [0; Kind::ALL.len()],
            types: Vec::new(),
            statements: Vec::new(),
            written: SizeCounts::new(),
            scan_lengths: SizeCounts::new(),
            keys: KeyCounts::new(options.exact_keys),
        }
    }

    /// Adds the operations of one process.
    pub fn add(&mut self, operations: &[Operation]) {
        self.processes += 1;
        let mut transaction = None;
        for operation in operations {
            self.operations += 1;
            self.kinds[operation.kind as usize] += 1;
            increment(&mut self.statements, operation.statement);
            if operation.transaction_type == 0 {
                self.lone_kinds[operation.kind as usize] += 1;
            }
            if transaction != Some(operation.transaction) {
                transaction = Some(operation.transaction);
                self.add_transaction(operation.transaction_type);
            }
            // How much a query writes or may return is not in its operation.
            match operation.kind {
                _ if operation.statement > 0 => {}
                Kind::Scan => self.scan_lengths.add(operation.limit),
                Kind::Update | Kind::Insert => self.written.add(operation.bytes),
                Kind::Read | Kind::Delete | Kind::Commit | Kind::Rollback => {}
            }
            if !operation.kind.ends_transaction() {
                self.keys.add(operation.key);
            }
        }
    }

    fn add_transaction(&mut self, number: u16) {
        self.transactions += 1;
        increment(&mut self.types, number);
    }

    /// The figures; `header` names the numbers.
    pub fn finish(self, header: &Header) -> TraceStat {
        let names = &header.transaction_types;
        let texts = header.script.iter().flat_map(|script| &script.queries);
        let requested = |number: usize| self.statements.get(number + 1).copied().unwrap_or(0);
        let queries = texts
            .enumerate()
            .map(|(number, query)| (query.name.clone(), requested(number)))
            .collect();
        let name = |number: usize| match names.get(number) {
            Some(name) => name.clone(),
            None => format!("type {number}"),
        };
        let count = |number: usize| self.types.get(number).copied().unwrap_or(0);
        let numbers = 0..names.len().max(self.types.len());
        let transaction_types: Vec<(String, u64)> =
            numbers.map(|number| (name(number), count(number))).collect();
        let lone = Kind::ALL.into_iter().map(|kind| {
            let count = self.lone_kinds[kind as usize];
            (kind.name().to_owned(), count)
        });
        let others = transaction_types.iter().skip(1).cloned();
        TraceStat {
            operations: self.operations,
            transactions: self.transactions,
            processes: self.processes,
            kinds: Kind::ALL.into_iter().map(|kind| (kind, self.kinds[kind as usize])).collect(),
            mix: lone.chain(others).filter(|(_, count)| *count > 0).collect(),
            transaction_types,
            queries,
            written: self.written.finish(),
            scan_lengths: self.scan_lengths.finish(),
            popularity: self.keys.finish(self.options.top),
        }
    }
}

fn increment(counts: &mut Vec<u64>, number: u16) {
    let place = usize::from(number);
    if counts.len() <= place {
        counts.resize(place + 1, 0);
    }
    counts[place] += 1;
}
