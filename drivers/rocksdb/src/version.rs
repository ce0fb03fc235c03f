//! Version of RocksDB, by the log that it writes.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// RocksDB's diary in its directory; begun anew each time it is opened.
const DIARY: &str = "LOG";

/// How much of the diary is looked at; the version stands in its first lines.
const BEGINNING: u64 = 16 << 10;

/// The version of the library that opened the database in `directory`, for example `11.8.1`. The
/// library that is linked may be another than that which this program was built for.
pub(super) fn describe(directory: &Path) -> Option<String> {
    let diary = File::open(directory.join(DIARY)).ok()?;
    let lines = BufReader::new(diary.take(BEGINNING)).lines();
    lines.map_while(Result::ok).find_map(|line| version(&line).map(str::to_owned))
}

/// A line reads `2026/11/22-06:58:00.123456 1234 RocksDB version: 11.8.1`.
fn version(line: &str) -> Option<&str> {
    line.split_once("RocksDB version: ").map(|(_, version)| version.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_stands_in_its_line() {
        let line = "2026/11/22-06:58:00.123456 140012 RocksDB version: 11.8.1";
        assert_eq!(version(line), Some("11.8.1"));
        assert_eq!(version("2026/11/22-06:58:00.123457 140012 Git sha 0"), None);
    }
}
