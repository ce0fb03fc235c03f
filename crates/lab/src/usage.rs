//! Usage of the machine by a process, as the kernel counts it.

use std::fs;

/// Counters of one process since its start. What the kernel does not tell is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Processor time of all its threads, and of its children that have ended, in nanoseconds.
    pub cpu_ns: Option<u64>,
    /// Memory in RAM at present, in bytes.
    pub memory_bytes: Option<u64>,
    /// Bytes that it had the disk read.
    pub disk_read_bytes: Option<u64>,
    /// Bytes that it had the disk write.
    pub disk_written_bytes: Option<u64>,
}

/// The kernel counts processor time in hundredths of a second, wherever Linux runs today.
const TICK_NS: u64 = 10_000_000;
const PAGE_BYTES: u64 = 4096;

impl Usage {
    /// What process `pid` has used, as far as the kernel lets us see it.
    pub fn of(pid: u32) -> Usage {
        let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}"));
        let stat = read("stat").unwrap_or_default();
        let io = read("io").unwrap_or_default();
        Usage {
            cpu_ns: cpu(&stat),
            memory_bytes: memory(&stat),
            disk_read_bytes: counter(&io, "read_bytes:"),
            disk_written_bytes: counter(&io, "write_bytes:"),
        }
    }

    /// What process `pid` with all that it has started, and they, have used. Memory that they share
    /// counts for each of them.
    pub fn of_family(pid: u32) -> Usage {
        family(pid).into_iter().map(Usage::of).fold(Usage::default(), Usage::plus)
    }

    /// The sum of two processes; what only one of them knows counts for both.
    pub fn plus(self, other: Usage) -> Usage {
        let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one + other),
            (one, other) => one.or(other),
        };
        Usage {
            cpu_ns: sum(self.cpu_ns, other.cpu_ns),
            memory_bytes: sum(self.memory_bytes, other.memory_bytes),
            disk_read_bytes: sum(self.disk_read_bytes, other.disk_read_bytes),
            disk_written_bytes: sum(self.disk_written_bytes, other.disk_written_bytes),
        }
    }
}

/// Process `pid` with its descendants.
pub(crate) fn family(pid: u32) -> Vec<u32> {
    let mut all = vec![pid];
    let mut place = 0;
    while let Some(&parent) = all.get(place) {
        // The kernel lists the children of each thread by themselves.
        let threads = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
        for thread in threads {
            let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            all.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        }
        place += 1;
    }
    all
}

/// When the process was started, in ticks since the machine's start: with the number of the
/// process it names it for ever, although numbers are used again.
pub(crate) fn started(pid: u32) -> Option<u64> {
    field(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?, 22)
}

/// Whether process `pid` is still alive: one that was killed, and not waited for, is listed but is
/// not.
pub(crate) fn runs(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Whether process `pid` is suspended.
pub(crate) fn stands_still(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
}

/// Whether every thread of process `pid` is suspended, or has ended.
pub(crate) fn is_motionless(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads.map(|thread| fs::read_to_string(thread.path().join("stat"))).all(|stat| {
        let stat = stat.unwrap_or_default();
        stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['T', 'Z', 'X']))
    })
}

/// Field `number` of `/proc/PID/stat`, as `man proc` counts them. The name in parentheses, which
/// may hold spaces, is the second.
fn field(stat: &str, number: usize) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(number - 3)?.trim().parse().ok()
}

fn cpu(stat: &str) -> Option<u64> {
    let ticks: Option<Vec<u64>> = (14..=17).map(|number| field(stat, number)).collect();
    Some(ticks?.iter().sum::<u64>() * TICK_NS)
}

fn memory(stat: &str) -> Option<u64> {
    Some(field(stat, 24)? * PAGE_BYTES)
}

fn counter(io: &str, name: &str) -> Option<u64> {
    let line = io.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "42 (a (b) c) S 1 42 42 0 -1 4194560 1 2 3 4 150 50 7 3 20 0 5 0 12345 \
                        9000000 700 18446744073709551615 1 1";

    #[test]
    fn fields_count_from_behind_the_name() {
        assert_eq!(cpu(STAT), Some(2_100_000_000));
        assert_eq!(field(STAT, 22), Some(12_345));
        assert_eq!(memory(STAT), Some(700 * 4096));
        assert_eq!(cpu("42 (gone"), None);
    }

    #[test]
    fn counters_are_found_by_name() {
        let io = "rchar: 1\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 5\n";
        assert_eq!(counter(io, "read_bytes:"), Some(4096));
        assert_eq!(counter(io, "write_bytes:"), Some(8192));
    }

    #[test]
    fn a_family_is_a_process_with_its_descendants() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let family = family(std::process::id());
        assert!(family.contains(&child.id()) && family[0] == std::process::id(), "{family:?}");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn this_process_uses_memory() {
        assert!(Usage::of(std::process::id()).memory_bytes.is_some_and(|bytes| bytes > 100_000));
        assert_eq!(Usage::of(u32::MAX), Usage::default());
    }
}
