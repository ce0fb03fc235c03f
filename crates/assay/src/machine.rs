//! Description of the client machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// How many threads can run at once.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The processor's name, as far as the system tells.
pub fn processor() -> String {
    let found = fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    found.unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

/// The machine's memory; 0 where the system does not tell.
pub fn memory_bytes() -> u64 {
    let found = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    });
    found.unwrap_or(0) << 10
}

/// What else decides how punctual this machine is, as far as it tells.
pub fn facts() -> BTreeMap<String, String> {
    [
        ("clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        ("governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        ("load_average", "/proc/loadavg"),
    ]
    .into_iter()
    .filter_map(|(name, path)| {
        let text = fs::read_to_string(path).ok()?;
        Some((name.to_owned(), text.trim().to_owned()))
    })
    .collect()
}

/// The operating system with its version.
pub fn system() -> String {
    match fs::read_to_string("/proc/sys/kernel/osrelease") {
        Ok(release) => format!("Linux {}", release.trim()),
        Err(_) => std::env::consts::OS.to_owned(),
    }
}

/// The load average of the last minute, where the system tells.
pub fn load_average() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}

/// Memory that this process holds, where the system tells.
pub fn memory_resident() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|line| line.starts_with("VmRSS:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? << 10)
}

/// The file system that `path` is or would be on, with what it is on: `ext4 /dev/sda1`.
pub fn file_system(path: &Path) -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let there = path.ancestors().find_map(|path| path.canonicalize().ok())?;
    mounted(&mounts, &there)
}

/// `proc(5)`: the fifth field is where it is mounted; behind ` - ` are its type and source.
fn mounted(mounts: &str, path: &Path) -> Option<String> {
    let of_line = |line: &str| {
        let (place, what) = line.split_once(" - ")?;
        let place = Path::new(place.split(' ').nth(4)?);
        let mut what = what.split(' ');
        let named = format!("{} {}", what.next()?, what.next()?);
        path.starts_with(place).then_some((place.as_os_str().len(), named))
    };
    // Of equal places the later one covers the earlier.
    mounts.lines().filter_map(of_line).max_by_key(|(length, _)| *length).map(|(_, named)| named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_on_the_nearest_mount_above() {
        let mounts = "21 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n\
                      22 21 0:5 / /dev/shm rw,nosuid - tmpfs tmpfs rw\n\
                      23 21 8:2 /x /data rw - xfs /dev/sdb rw\n";
        for (path, expected) in [
            ("/home/me", "ext4 /dev/sda1"),
            ("/dev/shm/labs", "tmpfs tmpfs"),
            ("/data", "xfs /dev/sdb"),
            ("/database", "ext4 /dev/sda1"),
        ] {
            assert_eq!(mounted(mounts, Path::new(path)).as_deref(), Some(expected), "{path}");
        }
        assert!(file_system(Path::new("/no/such/folder")).is_some());
    }
}
