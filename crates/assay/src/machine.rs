//! What the machine that asks is like.

use std::collections::BTreeMap;
use std::fs;

use assay_drivers::registry::Surroundings;

/// What stores may ask about the place where this program runs.
pub fn surroundings() -> Surroundings {
    Surroundings {
        variable: |name| std::env::var_os(name),
        program: || std::env::current_exe().ok(),
    }
}

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

/// Memory that programs can have without others being driven out, where the system tells.
pub fn memory_free() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? << 10)
}
