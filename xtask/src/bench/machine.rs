//! Machine that the figures come from.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

/// The machine, as far as it decides figures.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The processor's name.
    pub processor: String,
    /// How many threads it runs at once.
    pub cores: usize,
    /// Its memory in GiB.
    pub memory: f64,
    /// Operating system with its version.
    pub kernel: String,
    /// The day.
    pub date: String,
    /// Load averages when the benchmarks began.
    pub load: String,
    /// The compiler.
    pub compiler: String,
}

/// Looks at this machine.
///
/// # Errors
/// If it does not tell.
pub fn describe() -> Result<Machine> {
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kibibytes: f64 = field(&memory, "MemTotal")
        .and_then(|value| value.split(' ').next()?.parse().ok())
        .unwrap_or(0.0);
    Ok(Machine {
        processor: field(&processor, "model name").unwrap_or_else(|| "unknown".to_owned()),
        cores: std::thread::available_parallelism()?.get(),
        memory: kibibytes / (1024.0 * 1024.0),
        kernel: plain_kernel(&output("uname", &["-sr"])?),
        date: output("date", &["-u", "+%F"])?,
        load: fs::read_to_string("/proc/loadavg")
            .map(|text| text.split(' ').take(3).collect::<Vec<_>>().join(" "))
            .unwrap_or_else(|_| "unknown".to_owned()),
        compiler: output("rustc", &["--version"])?,
    })
}

/// The kernel without what a distributor or host has added to its version.
fn plain_kernel(text: &str) -> String {
    text.split('-').next().unwrap_or(text).to_owned()
}

/// The value of the first line `name : value`.
fn field(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn output(program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .with_context(|| format!("cannot run {program}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_called_by_its_version() {
        assert_eq!(plain_kernel("Linux 6.1.0-13-amd64"), "Linux 6.1.0");
    }

    #[test]
    fn fields_are_found_by_name() {
        let text = "processor\t: 0\nmodel name\t: Some CPU @ 2.1GHz\n";
        assert_eq!(field(text, "model name").as_deref(), Some("Some CPU @ 2.1GHz"));
        assert_eq!(field(text, "bogomips"), None);
    }
}
