//! Clock of a server that can be moved: libfaketime stands between it and the C library.
//!
//! The offset is in a file, which the library reads anew each second, so a clock jumps while its
//! server runs. Monotonic clocks go on: what a real machine's step does not move is not moved.

use std::fs;
use std::path::{Path, PathBuf};

use crate::card::{GivenOptions, RecipeOption};
use crate::error::LabError;
use crate::package_cache::PackageCache;

/// The Debian package with the library.
const PACKAGE: &str = "libfaketime";
/// The library for programs with threads, in a folder of each architecture.
const LIBRARY: &str = "faketime/libfaketimeMT.so.1";

/// The option of recipes whose servers' clocks can be moved.
pub(crate) const CLOCK: RecipeOption =
    RecipeOption::choice("clock", &["system", MOVABLE], "system")
        .about("movable: `fault clock` lets the servers' clocks jump, by libfaketime");
const MOVABLE: &str = "movable";

/// Whether a lab with these options has clocks that can be moved.
pub fn has_movable_clocks(options: &GivenOptions) -> bool {
    options.get(&CLOCK) == MOVABLE
}

/// Where the library is; installed if that is possible and allowed.
pub(crate) fn library(package_cache: &PackageCache<'_>) -> Result<PathBuf, LabError> {
    let folders: Vec<PathBuf> = fs::read_dir("/usr/lib")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.to_string_lossy().contains("-linux-"))
        .collect();
    let folders: Vec<&str> = folders.iter().filter_map(|path| path.to_str()).collect();
    package_cache.debian_in(&folders, LIBRARY, PACKAGE)
}

/// The environment of a server whose clock the file moves.
pub(crate) fn environment(library: &Path, file: &Path) -> [(&'static str, String); 4] {
    [
        ("LD_PRELOAD", library.display().to_string()),
        ("FAKETIME_TIMESTAMP_FILE", file.display().to_string()),
        ("FAKETIME_CACHE_DURATION", "1".to_owned()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
    ]
}

/// Lets the clock be off by so many milliseconds.
pub(crate) fn set(file: &Path, offset_ms: i64) -> Result<(), LabError> {
    let sign = if offset_ms < 0 { '-' } else { '+' };
    let (seconds, rest) = (offset_ms.unsigned_abs() / 1000, offset_ms.unsigned_abs() % 1000);
    fs::write(file, format!("{sign}{seconds}.{rest:03}\n"))
        .map_err(|error| LabError::io(file, "cannot write", error))
}

/// Whether it is an offset, such as `+1h` or `-500ms`.
pub(crate) fn is_offset(text: &str) -> bool {
    offset_ms(text).is_some()
}

/// An offset in milliseconds, at most some years.
pub(crate) fn offset_ms(text: &str) -> Option<i64> {
    const MOST: i64 = 3_000 * 86_400_000;
    let units = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
    let (number, factor) =
        units.into_iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    let is_signed = number.starts_with(['+', '-']);
    let offset = number.parse::<i64>().ok().filter(|_| is_signed)?.checked_mul(factor)?;
    (offset != 0 && offset.abs() <= MOST).then_some(offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_have_a_sign_and_a_unit() {
        assert_eq!(offset_ms("+1h"), Some(3_600_000));
        assert_eq!(offset_ms("-500ms"), Some(-500));
        for wrong in ["1h", "+1", "+h", "+0s", "+9999999d", "+1y"] {
            assert_eq!(offset_ms(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_offset_is_written_in_seconds() {
        let folder = tempfile::tempdir().expect("there is room");
        let file = folder.path().join("clock");
        for (offset_ms, text) in [(3_600_000, "+3600.000\n"), (-500, "-0.500\n"), (0, "+0.000\n")] {
            set(&file, offset_ms).expect("it can be written");
            assert_eq!(fs::read_to_string(&file).expect("it is there"), text);
        }
    }
}
