//! The tests, those of real servers among them.
//!
//! A test that fails fails the check: nothing is run again. What may fail is in the quarantine, by
//! name with the reason. A test that cannot run here, or of which a part cannot, says so in a line
//! that begins with a mark, whether it fails or passes; such tests are listed apart with their
//! number.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::num::NonZero;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::metadata::cargo;

/// A test that may fail until it is repaired.
pub struct Quarantined {
    /// Its name, as its binary prints it.
    pub name: &'static str,
    /// Why it is here, and what is known so far.
    pub reason: &'static str,
}

/// The tests that may fail for now. A line leaves when its test is repaired.
pub const QUARANTINE: &[Quarantined] = &[];

/// The first words of the line in which a test says that it did not run.
const MARK: &str = "NOT RUN: ";

/// How many lines of what a failed test printed are shown again at the end.
const LONGEST_REPORT: usize = 60;

/// Runs `cargo test` with `arguments` and `environment`; `show` is given each line for the reader.
///
/// # Errors
/// If cargo cannot be run, a test does not build, a test binary does not come to its end, or a test
/// fails that is not in the `quarantine`.
pub fn test(
    root: &Path,
    arguments: &[&str],
    environment: &[(&str, &str)],
    quarantine: &[Quarantined],
    show: fn(&str),
) -> Result<()> {
    let mut command = of_tests(root, arguments);
    command.envs(environment.iter().copied());
    let results = run(command, show)?;
    results.remarks(quarantine).iter().for_each(|line| show(line));
    if results.is_fine {
        return Ok(());
    }
    let failed = results.broken(quarantine);
    // Once more at the end, where a reader of thousands of lines looks.
    failed.iter().flat_map(|name| results.report(name)).for_each(|line| show(&line));
    if !failed.is_empty() {
        bail!("{} tests failed: {}", failed.len(), failed.join(", "));
    }
    // What has crashed, or said nothing of a failure, is not known by name.
    if !results.is_whole() || results.failed.is_empty() {
        bail!("cargo {} failed", arguments.join(" "));
    }
    Ok(())
}

/// The outcome of the tests.
#[derive(Debug, Default)]
struct Results {
    is_fine: bool,
    /// Test binaries that have begun, those that came to their end.
    begun: usize,
    ended: usize,
    /// Tests that failed, as the binaries count them.
    counted: usize,
    failed: BTreeSet<String>,
    /// Why tests did not run, by their names; some of them are among those that failed.
    not_run: BTreeMap<String, String>,
    /// What the tests that failed printed, by their names.
    printed: BTreeMap<String, Vec<String>>,
    /// The test whose output is printed at this line.
    section: Option<String>,
    /// Whether the output of tests that passed is being printed.
    is_among_successes: bool,
}

impl Results {
    /// Whether every binary came to its end, and every failure has a name.
    fn is_whole(&self) -> bool {
        self.begun == self.ended && self.counted == self.failed.len()
    }

    /// The tests that failed and may not.
    fn broken(&self, quarantine: &[Quarantined]) -> Vec<&str> {
        let may_fail = |name: &str| {
            self.not_run.contains_key(name) || quarantine.iter().any(|one| one.name == name)
        };
        self.failed.iter().map(String::as_str).filter(|name| !may_fail(name)).collect()
    }

    /// What a test that failed printed, its last lines if it is much.
    fn report(&self, name: &str) -> Vec<String> {
        let printed = self.printed.get(name).map(Vec::as_slice).unwrap_or_default();
        let last = &printed[printed.len().saturating_sub(LONGEST_REPORT)..];
        let heading = format!("FAILED: {name}");
        std::iter::once(heading).chain(last.iter().map(|line| format!("  {line}"))).collect()
    }

    /// What is printed even if the check passes.
    fn remarks(&self, quarantine: &[Quarantined]) -> Vec<String> {
        let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, reason) in &self.not_run {
            reasons.entry(reason).or_default().push(name);
        }
        let mut lines: Vec<String> = reasons
            .iter()
            .map(|(reason, names)| {
                let tests = if names.len() == 1 { "test" } else { "tests" };
                format!("{MARK}{} {tests}, for {reason}: {}", names.len(), names.join(", "))
            })
            .collect();
        let failed = quarantine.iter().filter(|one| self.failed.contains(one.name));
        lines.extend(failed.map(|one| format!("QUARANTINED: {} failed: {}", one.name, one.reason)));
        lines
    }

    /// Takes a line that a test binary has printed.
    fn read_line(&mut self, line: &str) {
        if line.starts_with("running ") && line.trim_end_matches('s').ends_with(" test") {
            self.begun += 1;
        }
        match line {
            "successes:" => self.is_among_successes = true,
            "failures:" => self.is_among_successes = false,
            _ => {}
        }
        if let Some(result) = line.strip_prefix("test result: ") {
            self.is_among_successes = false;
            self.ended += 1;
            self.section = None;
            let count = |part: &str| part.trim().strip_suffix(" failed")?.parse::<usize>().ok();
            self.counted += result.split([';', '.']).find_map(count).unwrap_or_default();
        }
        if line == "failures:" {
            self.section = None;
        }
        let section = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----"));
        if let Some(name) = section {
            self.section = Some(without_remark(name));
        } else if let (Some(name), false) = (&self.section, self.is_among_successes) {
            self.printed.entry(name.clone()).or_default().push(line.to_owned());
        }
        if let (Some(name), Some(reason)) = (&self.section, line.strip_prefix(MARK)) {
            self.not_run.insert(name.clone(), reason.to_owned());
        }
        let result = line.strip_prefix("test ").and_then(|rest| rest.rsplit_once(" ... "));
        if let Some((name, "FAILED")) = result {
            self.failed.insert(without_remark(name));
        }
    }
}

fn without_remark(name: &str) -> String {
    name.trim_end_matches(" - should panic").to_owned()
}

/// Cargo with these arguments; of passing tests it prints all that they print.
fn of_tests(root: &Path, arguments: &[&str]) -> Command {
    let mut command = cargo();
    command.current_dir(root).args(arguments).args(["--no-fail-fast", "--", "--show-output"]);
    command.arg(format!("--test-threads={}", threads()));
    command
}

/// How many tests run at the same time: they wait for servers and clocks more than they work.
pub fn threads() -> usize {
    2 * std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Runs cargo with its output shown, but for what tests print that pass, and read.
fn run(mut command: Command, show: fn(&str)) -> Result<Results> {
    command.stdout(Stdio::piped());
    let mut child = command.spawn().context("cannot run cargo")?;
    let output = child.stdout.take().context("cargo has no output")?;
    let mut results = Results::default();
    for line in BufReader::new(output).split(b'\n') {
        let line = line.context("cannot read what cargo prints")?;
        let line = String::from_utf8_lossy(&line);
        results.read_line(&line);
        if !results.is_among_successes {
            show(&line);
        }
    }
    results.is_fine = child.wait().context("cannot wait for cargo")?.success();
    Ok(results)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Whatever the target directory of the outer run is, crates of the same name do not share one.
    const OWN: &[&str] = &["test", "--offline", "--lib", "--target-dir", "target"];
    const NONE: &[Quarantined] = &[];
    const MOODY: &[Quarantined] = &[Quarantined { name: "moody", reason: "it is moody" }];

    /// Shows nothing: the results of these runs are not those of the run around them.
    fn quiet(_line: &str) {}

    /// A crate with a test `moody` of this body, which also counts its runs, beside a steady one.
    fn crate_with(body: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let manifest = "[package]\nname = \"moody\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
                        [workspace]\n";
        fs::write(dir.path().join("Cargo.toml"), manifest).unwrap();
        fs::create_dir(dir.path().join("src")).unwrap();
        let source = format!(
            "#[test] fn steady() {{}}\n\
             #[test] fn moody() {{\n\
                 let runs = std::fs::read_to_string(\"runs\").unwrap_or_default();\n\
                 std::fs::write(\"runs\", format!(\"{{runs}}.\")).unwrap();\n\
                 {body}\n\
             }}\n"
        );
        fs::write(dir.path().join("src/lib.rs"), source).unwrap();
        dir
    }

    #[test]
    fn a_test_that_fails_fails_the_check_and_is_not_run_again() {
        let dir = crate_with("assert!(!runs.is_empty());");
        let error = test(dir.path(), OWN, &[], NONE, quiet).unwrap_err().to_string();
        assert_eq!(error, "1 tests failed: moody");
        assert_eq!(fs::read_to_string(dir.path().join("runs")).unwrap(), ".");
        assert!(test(dir.path(), OWN, &[], NONE, quiet).is_ok(), "the second run of it passes");
    }

    #[test]
    fn a_test_in_quarantine_may_fail() {
        let dir = crate_with("panic!();");
        assert!(test(dir.path(), OWN, &[], NONE, quiet).is_err());
        assert!(test(dir.path(), OWN, &[], MOODY, quiet).is_ok());
    }

    #[test]
    fn a_test_that_cannot_run_here_does_not_fail_the_check() {
        let dir = crate_with("panic!(\"NOT RUN: Go is not installed\");");
        assert!(test(dir.path(), OWN, &[], NONE, quiet).is_ok());
    }

    #[test]
    fn a_test_that_passes_without_having_run_is_listed() {
        let dir = crate_with("println!(\"seen\"); eprintln!(\"NOT RUN: no root\");");
        let results = run(of_tests(dir.path(), OWN), quiet).unwrap();
        assert!(results.is_fine);
        assert_eq!(results.remarks(NONE), ["NOT RUN: 1 test, for no root: moody"]);
    }

    #[test]
    fn output_of_tests_that_passed_is_told_from_that_of_failed_ones() {
        let mut results = Results::default();
        let mut is_hidden = |line: &str| {
            results.read_line(line);
            results.is_among_successes
        };
        assert!(!is_hidden("test a ... ok"));
        assert!(is_hidden("successes:") && is_hidden("---- a stdout ----") && is_hidden("text"));
        assert!(!is_hidden("failures:") && !is_hidden("---- b stdout ----"));
        assert!(is_hidden("successes:") && !is_hidden("test result: ok. 1 passed; 0 failed"));
    }

    #[test]
    fn what_does_not_build_fails() {
        let dir = crate_with("");
        fs::write(dir.path().join("src/lib.rs"), "fn broken(").unwrap();
        let error = test(dir.path(), OWN, &[], NONE, quiet).unwrap_err().to_string();
        assert!(error.starts_with("cargo test"), "{error}");
    }

    fn read(lines: &[&str]) -> Results {
        let mut results = Results::default();
        lines.iter().for_each(|line| results.read_line(line));
        results
    }

    #[test]
    fn tests_that_did_not_run_are_named_with_their_number() {
        let results = read(&[
            "running 3 tests",
            "test a::b ... FAILED",
            "test a::c ... FAILED",
            "test d ... FAILED",
            "---- a::b stdout ----",
            "thread 'a::b' panicked at tests/x.rs:1:2:",
            "NOT RUN: no Go",
            "---- a::c stdout ----",
            "NOT RUN: no Go",
            "---- d stdout ----",
            "assertion failed",
            "test result: FAILED. 0 passed; 3 failed; 0 ignored; finished in 0.1s",
        ]);
        assert_eq!(results.remarks(NONE), ["NOT RUN: 2 tests, for no Go: a::b, a::c"]);
        assert_eq!(results.broken(NONE), ["d"]);
    }

    #[test]
    fn what_a_failed_test_printed_is_shown_again() {
        let results = read(&[
            "test a ... ok",
            "test d ... FAILED",
            "successes:",
            "---- a stdout ----",
            "seen",
            "failures:",
            "---- d stdout ----",
            "assertion failed",
            "failures:",
            "    d",
            "test result: FAILED. 1 passed; 1 failed; 0 ignored; finished in 0.1s",
        ]);
        assert_eq!(results.report("d"), ["FAILED: d", "  assertion failed"]);
        assert_eq!(results.report("a"), ["FAILED: a"]);
    }

    #[test]
    fn a_failure_in_quarantine_is_reported() {
        let results = read(&["test moody ... FAILED"]);
        assert_eq!(results.remarks(MOODY), ["QUARANTINED: moody failed: it is moody"]);
        assert!(read(&["test moody ... ok"]).remarks(MOODY).is_empty());
    }

    #[test]
    fn a_crashed_test_binary_fails_the_check() {
        let is_whole = |lines: &[&str]| read(lines).is_whole();
        let (begun, failed) = ("running 2 tests", "test a ... FAILED");
        let ended = "test result: FAILED. 1 passed; 1 failed; 0 ignored; finished in 0.1s";
        let second = ["running 1 test", "test result: ok. 1 passed; 0 failed"];
        assert!(is_whole(&[begun, failed, ended, second[0], second[1]]));
        assert!(!is_whole(&[begun, failed, ended, "running 1 test"]));
        assert!(!is_whole(&[begun, "noise test a ... FAILED", ended]));
    }

    #[test]
    fn only_what_is_said_of_a_test_counts() {
        let results = read(&[
            "test a::b ... ok",
            "test c - should panic ... FAILED",
            "test d ... ignored",
            "test result: ok. 3 passed",
            "NOT RUN: printed by nobody",
        ]);
        assert_eq!(results.failed, BTreeSet::from(["c".to_owned()]));
        assert!(results.not_run.is_empty());
    }
}
