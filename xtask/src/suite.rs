//! The tests, those of real servers among them.
//!
//! Some hundreds of tests start servers, kill them, fill them and freeze them, on machines that
//! others use too. A test that such a machine upset says nothing about the change at hand, so the
//! few that fail are run once more, one at a time with the machine to themselves. What fails
//! twice fails; what did not is named as unsteady, for it is to be repaired all the same.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::metadata::cargo;

/// More tests than this do not fail by chance.
const FEW: usize = 4;

/// Runs `cargo test` with `arguments`; the few tests that fail are run once more.
///
/// # Errors
/// If cargo cannot be run, a test does not build, many fail, or one fails twice.
pub fn test(root: &Path, arguments: &[&str]) -> Result<()> {
    let first = requested(root, &[arguments, &["--no-fail-fast"]].concat())?;
    if first.is_fine {
        return Ok(());
    }
    // What has crashed, or said nothing of a failure, is not known by name.
    let is_simulated = first.is_whole();
    let failed = first.failed;
    if !is_simulated || failed.is_empty() || failed.len() > FEW {
        bail!("cargo {} failed", arguments.join(" "));
    }
    println!("== once more, one at a time: {}", listed(&failed));
    let names: Vec<&str> = failed.iter().map(String::as_str).collect();
    let alone = [arguments, &["--", "--exact", "--test-threads=1"], &names].concat();
    let second = requested(root, &alone)?;
    if !second.is_fine || !failed.is_subset(&second.passed) {
        bail!("failed twice, or did not run again: {}", listed(&(&failed - &second.passed)));
    }
    println!("UNSTEADY: failed once, passed alone; repair them: {}", listed(&failed));
    Ok(())
}

/// What came of issuing tests.
#[derive(Debug, Default)]
struct SuiteResult {
    is_fine: bool,
    /// Test binaries that have begun, those that came to their end.
    begun: usize,
    ended: usize,
    /// Tests that failed, as the binaries count them.
    counted: usize,
    passed: BTreeSet<String>,
    failed: BTreeSet<String>,
}

impl SuiteResult {
    /// Whether every binary came to its end, and every failure has a name.
    fn is_whole(&self) -> bool {
        self.begun == self.ended && self.counted == self.failed.len()
    }

    /// Takes note of a line that a test binary has printed.
    fn hear(&mut self, line: &str) {
        if line.starts_with("running ") && line.trim_end_matches('s').ends_with(" test") {
            self.begun += 1;
        }
        if let Some(result) = line.strip_prefix("test result: ") {
            self.ended += 1;
            let count = |part: &str| part.trim().strip_suffix(" failed")?.parse::<usize>().ok();
            self.counted += result.split([';', '.']).find_map(count).unwrap_or_default();
        }
        let Some((name, verdict)) =
            line.strip_prefix("test ").and_then(|rest| rest.rsplit_once(" ... "))
        else {
            return;
        };
        let name = name.trim_end_matches(" - should panic").to_owned();
        match verdict {
            "ok" => drop(self.passed.insert(name)),
            "FAILED" => drop(self.failed.insert(name)),
            _ => {}
        }
    }
}

/// Runs cargo with its output shown, and listened to.
fn requested(root: &Path, arguments: &[&str]) -> Result<SuiteResult> {
    let mut command = Command::new(cargo());
    command.current_dir(root).args(arguments).stdout(Stdio::piped());
    let mut child = command.spawn().context("cannot run cargo")?;
    let output = child.stdout.take().context("cargo has no output")?;
    let mut requested = SuiteResult::default();
    for line in BufReader::new(output).split(b'\n') {
        let line = line.context("cannot read what cargo prints")?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        requested.hear(&line);
    }
    requested.is_fine = child.wait().context("cannot wait for cargo")?.success();
    Ok(requested)
}

fn listed(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Whatever the target directory of the outer run is, crates of the same name do not share one.
    const OWN: &[&str] = &["test", "--offline", "--lib", "--target-dir", "target"];

    /// A crate whose test passes from the run on that finds `runs` marks of earlier ones.
    fn crate_that_passes_after(runs: usize) -> tempfile::TempDir {
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
                 assert!(runs.len() >= {runs});\n\
             }}\n"
        );
        fs::write(dir.path().join("src/lib.rs"), source).unwrap();
        dir
    }

    #[test]
    fn what_fails_once_is_run_again_and_what_fails_twice_fails() {
        for (runs, is_fine, expected) in [(0, true, 1), (1, true, 2), (2, false, 2)] {
            let dir = crate_that_passes_after(runs);
            let reported = test(dir.path(), OWN);
            assert_eq!(reported.is_ok(), is_fine, "{runs}: {reported:?}");
            let requested = fs::read_to_string(dir.path().join("runs")).unwrap().len();
            assert_eq!(requested, expected, "{runs}");
        }
    }

    #[test]
    fn what_does_not_build_fails_at_once() {
        let dir = crate_that_passes_after(0);
        fs::write(dir.path().join("src/lib.rs"), "fn broken(").unwrap();
        let reported = test(dir.path(), OWN).unwrap_err().to_string();
        assert!(reported.starts_with("cargo test"), "{reported}");
    }

    #[test]
    fn a_binary_that_crashed_is_not_forgiven() {
        let received = |lines: &[&str]| {
            let mut requested = SuiteResult::default();
            lines.iter().for_each(|line| requested.hear(line));
            requested.is_whole()
        };
        let (begun, failed) = ("running 2 tests", "test a ... FAILED");
        let reported = "test result: FAILED. 1 passed; 1 failed; 0 ignored; finished in 0.1s";
        assert!(received(&[
            begun,
            failed,
            reported,
            "running 1 test",
            "test result: ok. 1 passed; 0 failed"
        ]));
        assert!(!received(&[begun, failed, reported, "running 1 test"]));
        assert!(!received(&[begun, "noise test a ... FAILED", reported]));
    }

    #[test]
    fn only_what_is_said_of_a_test_counts() {
        let mut requested = SuiteResult::default();
        for line in [
            "test a::b ... ok",
            "test c - should panic ... FAILED",
            "test d ... ignored",
            "test result: ok. 3 passed",
            "running 3 tests",
        ] {
            requested.hear(line);
        }
        assert_eq!(
            (listed(&requested.passed), listed(&requested.failed)),
            ("a::b".into(), "c".into())
        );
    }
}
