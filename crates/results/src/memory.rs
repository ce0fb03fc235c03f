//! Bounds on the operations of a run that are judged, by the memory that there is.

use std::fs;

/// What judging takes for each operation on a single record, in all, where each has a session of
/// its own: measured, with the process itself, on 1 and 4 million of an open loop, 352 to 364, and
/// 396 to 403 where 5 % of the reads are stale; less where sessions are few.
const BYTES_PER_OPERATION: u64 = 400;
/// What judging takes for each query of a transaction: measured on files of lists, 1.6 kB for each
/// transaction of two.
const BYTES_PER_QUERY: u64 = 800;
/// Where the system does not tell what is available.
const BYTES_UNTOLD: u64 = 2_000_000_000;

/// The most operations that are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationBounds {
    /// On single records: more are judged in parts, or a sample of the records.
    pub of_records: usize,
    /// Queries of transactions: more are not judged.
    pub of_queries: usize,
}

impl OperationBounds {
    /// Beside the analysis of a run: about 100 MB, more for transactions.
    pub const BESIDE_ANALYSIS: OperationBounds = OperationBounds::same(400_000);

    /// As many of both.
    pub const fn same(most: usize) -> OperationBounds {
        OperationBounds { of_records: most, of_queries: most }
    }

    /// What can be judged within `bytes` of memory; of [`usable`] if none are given.
    pub fn within(bytes: Option<u64>) -> OperationBounds {
        let bytes = bytes.or_else(usable).unwrap_or(BYTES_UNTOLD);
        let most = |each: u64| usize::try_from((bytes / each).max(1)).unwrap_or(usize::MAX);
        OperationBounds { of_records: most(BYTES_PER_OPERATION), of_queries: most(BYTES_PER_QUERY) }
    }
}

/// Memory that programs can have without others being driven out, where the system tells: bytes.
pub fn available() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? << 10)
}

/// Four fifths of what is available: what judging may take unless something else is said.
pub fn usable() -> Option<u64> {
    Some(available()? / 5 * 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_memory_is_one_of_operations() {
        let bounds = OperationBounds::within(Some(8_000_000));
        assert_eq!(bounds, OperationBounds { of_records: 20_000, of_queries: 10_000 });
        assert_eq!(OperationBounds::within(Some(0)), OperationBounds::same(1), "one is kept");
        assert!(usable() < available(), "something is left for others");
    }
}
