//! Everything that must hold before a change is good, step by step.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::memory::{self, TEMPORARY};
use crate::metadata::{Metadata, Reach, cargo};
use crate::process::run;
use crate::{arrows, deny, needs, suite, tidy};

/// One step.
pub struct Step {
    /// What it is called on the command line.
    pub name: &'static str,
    run: fn(&Path) -> Result<()>,
}

/// The steps, the quick ones first.
pub const STEPS: [Step; 8] = [
    Step { name: "fmt", run: |root| run_cargo(root, &["fmt", "--all", "--check"], &[]) },
    Step { name: "tidy", run: run_tidy },
    Step { name: "arrows", run: run_arrows },
    Step { name: "deny", run: run_deny },
    Step { name: "lean", run: run_lean },
    Step { name: "clippy", run: run_clippy },
    Step { name: "doc", run: run_doc },
    Step { name: "test", run: run_test },
];

/// The stores that are checked: RocksDB's C++ alone would take twenty minutes of two processors.
pub const STORES: &str = "assay/all-but-rocksdb";

/// The wheel has its own chore, because it needs Python's packages: `cargo xtask wheel`.
const WITHOUT_WHEEL: [&str; 2] = ["--exclude", "assay-python"];

/// Where the program `java` looks for options beside those that it is started with.
const JAVA_OPTIONS: &str = "JDK_JAVA_OPTIONS";
/// For servers that live for seconds: without the compiler that pays off later, and without a proof
/// of each released class that it is sound.
const SHORT_LIVED: &str =
    "-XX:TieredStopAtLevel=1 -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote";

/// What no step runs, with how it is run.
const LEFT_OUT: [(&str, &str); 2] = [
    ("the RocksDB driver", "cargo test -p assay-driver-rocksdb --features rocksdb"),
    ("the wheel", "cargo xtask wheel"),
];

/// Runs the steps from `from` on, or all of them, until one fails.
///
/// # Errors
/// If there is no such step, or one fails.
pub fn check(root: &Path, from: Option<&str>) -> Result<()> {
    let first = match from {
        Some(name) => position(name)?,
        None => 0,
    };
    let begun = Instant::now();
    for step in &STEPS[first..] {
        println!("== {}", step.name);
        let begun = Instant::now();
        let result = (step.run)(root);
        let verdict = if result.is_ok() { "ok" } else { "FAILED" };
        println!("== {} {verdict} {:.1} s", step.name, begun.elapsed().as_secs_f64());
        result.with_context(|| {
            format!("step {0} failed; go on with `cargo xtask check --from {0}`", step.name)
        })?;
    }
    println!("== all steps passed in {:.0} s", begun.elapsed().as_secs_f64());
    Ok(())
}

/// Runs one step alone.
///
/// # Errors
/// If there is no such step, or it fails.
pub fn run_step(root: &Path, name: &str) -> Result<()> {
    (STEPS[position(name)?].run)(root)
}

fn position(name: &str) -> Result<usize> {
    STEPS.iter().position(|step| step.name == name).with_context(|| {
        let names: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        format!("no step {name:?}; there are {}", names.join(", "))
    })
}

fn run_tidy(root: &Path) -> Result<()> {
    let metadata = Metadata::read(root, Reach::Members)?;
    report(tidy::tidy(root, &metadata)?.iter().map(ToString::to_string).collect())
}

fn run_arrows(root: &Path) -> Result<()> {
    report(arrows::arrows(&Metadata::read(root, Reach::Members)?))
}

fn run_deny(root: &Path) -> Result<()> {
    report(deny::deny(root, &Metadata::read(root, Reach::Everything)?)?)
}

/// The binary with the default features, without the optional stores.
fn run_lean(root: &Path) -> Result<()> {
    let arguments = ["clippy", "-p", "assay", "-p", "assay-drivers", "--", "-D", "warnings"];
    run_cargo(root, &arguments, &[])
}

fn run_clippy(root: &Path) -> Result<()> {
    let arguments = ["clippy", "--workspace", "--all-targets", "--features", STORES];
    run_cargo(root, &[&arguments[..], &WITHOUT_WHEEL, &["--", "-D", "warnings"]].concat(), &[])
}

fn run_doc(root: &Path) -> Result<()> {
    let arguments = ["doc", "--workspace", "--features", STORES, "--no-deps"];
    let arguments = [&arguments[..], &["--document-private-items"], &WITHOUT_WHEEL].concat();
    run_cargo(root, &arguments, &[("RUSTDOCFLAGS", "-D warnings")])
}

fn run_test(root: &Path) -> Result<()> {
    needs::provide(needs::FOR_TESTS)?;
    let arguments = ["test", "--workspace", "--features", STORES];
    let arguments = [&arguments[..], &WITHOUT_WHEEL].concat();
    let java = std::env::var(JAVA_OPTIONS).unwrap_or_default();
    let java = format!("{java} {SHORT_LIVED}");
    let mut environment = vec![(JAVA_OPTIONS, java.trim())];
    let memory = memory::folder(suite::threads());
    environment
        .extend(memory.as_ref().and_then(|folder| Some((TEMPORARY, folder.path().to_str()?))));
    let place = memory.as_ref().map_or_else(std::env::temp_dir, |folder| folder.path().to_owned());
    println!("temporary files are in {}", place.display());
    suite::test(root, &arguments, &environment, suite::QUARANTINE, |line| println!("{line}"))?;
    for (what, how) in LEFT_OUT {
        println!("NOT RUN: {what}: {how}");
    }
    Ok(())
}

fn report(findings: Vec<String>) -> Result<()> {
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        1 => bail!("1 finding"),
        count => bail!("{count} findings"),
    }
}

/// Runs Cargo at `root` with its output going where ours goes.
///
/// # Errors
/// If it cannot be run, or fails.
pub fn run_cargo(root: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Result<()> {
    let mut command = cargo();
    command.current_dir(root).args(arguments).envs(environment.iter().copied());
    run(&mut command).with_context(|| format!("cargo {} failed", arguments.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_found_by_name() {
        assert_eq!(position("fmt").ok(), Some(0));
        assert_eq!(position("test").ok(), Some(STEPS.len() - 1));
    }

    #[test]
    fn an_unknown_step_is_an_error_that_names_the_known_ones() {
        let error = position("lint").expect_err("there is no such step").to_string();
        assert!(error.contains("clippy"), "{error}");
    }

    #[test]
    fn findings_fail_a_step() {
        assert!(report(Vec::new()).is_ok());
        assert_eq!(report(vec!["a".into()]).expect_err("one finding").to_string(), "1 finding");
    }
}
