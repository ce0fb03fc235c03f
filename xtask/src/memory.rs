//! A folder for the temporary files of tests, in memory.
//!
//! What a test's server keeps need not outlive the machine, and on a virtual disk the kernel spends
//! processor time on each of its flushes.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use tempfile::{Builder, TempDir};

use crate::process::output;

/// Where programs look for the folder of temporary files.
pub const TEMPORARY: &str = "TMPDIR";

/// Files there are in memory.
const MEMORY: &str = "/dev/shm";
/// What a folder's name begins with; the process that made it follows.
const PREFIX: &str = "assay-check-";
/// The room for each of the tests that run at the same time, in MiB; four took up to 1350.
const ROOM_MIB: u64 = 600;

/// Such a folder for so many tests at a time, which every user may use. None if the caller has
/// chosen another one, there is no room, or no program may be run from there.
pub fn folder(tests: usize) -> Option<TempDir> {
    let needed = ROOM_MIB * tests as u64;
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let has_room = free_mib()? >= needed && available_mib(&read("/proc/meminfo"))? >= needed;
    if std::env::var_os(TEMPORARY).is_some() || !has_room || !runs_programs(&read("/proc/mounts")) {
        return None;
    }
    remove_what_is_left();
    let prefix = format!("{PREFIX}{}-", std::process::id());
    let folder = Builder::new().prefix(&prefix).tempdir_in(MEMORY).ok()?;
    fs::set_permissions(folder.path(), Permissions::from_mode(0o1777)).ok()?;
    Some(folder)
}

/// What may still be written there.
fn free_mib() -> Option<u64> {
    let mut df = Command::new("df");
    df.args(["--output=avail", "--block-size=1M", MEMORY]);
    output(&mut df).ok()?.lines().last()?.trim().parse().ok()
}

/// The memory that programs could get, by what the kernel says of it.
fn available_mib(reported: &str) -> Option<u64> {
    let line = reported.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib >> 10)
}

/// Whether there is memory among these mounts from which programs may be run; of two mounts at the
/// same place the later one covers the earlier.
fn runs_programs(mounts: &str) -> bool {
    let mut mounts = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let last = mounts.rfind(|words| words.get(1) == Some(&MEMORY)).unwrap_or_default();
    let has = |option| last.get(3).is_some_and(|all| all.split(',').any(|one| one == option));
    last.get(2) == Some(&"tmpfs") && has("rw") && !has("noexec")
}

/// Removes the folders of checks that were killed.
fn remove_what_is_left() {
    for entry in fs::read_dir(MEMORY).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        if process.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
            // What is another user's stays.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_if_programs_may_run_there() {
        let usual = "proc /proc proc rw,noexec 0 0\ntmpfs /dev/shm tmpfs rw,nosuid 0 0\n";
        let forbidden = "shm /dev/shm tmpfs rw,nosuid,noexec,size=65536k 0 0\n";
        assert!(runs_programs(usual) && runs_programs(&format!("{forbidden}{usual}")));
        assert!(!runs_programs(forbidden) && !runs_programs(&format!("{usual}{forbidden}")));
        assert!(!runs_programs("tmpfs /run tmpfs rw 0 0\n"));
        assert!(!runs_programs("/dev/sda1 /dev/shm ext4 rw 0 0\n"));
        assert!(!runs_programs("tmpfs /dev/shm tmpfs ro 0 0\n"));
    }

    #[test]
    fn memory_is_counted_in_mebibytes() {
        assert_eq!(available_mib("MemTotal: 9 kB\nMemAvailable:  2097152 kB\n"), Some(2048));
        assert_eq!(available_mib("MemTotal: 9 kB\n"), None);
    }
}
