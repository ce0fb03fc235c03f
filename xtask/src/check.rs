//! Everything that must hold before a change is good, step by step.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use tempfile::{Builder, TempDir};

use crate::metadata::{Metadata, Reach, cargo};
use crate::process::{output, run};
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

/// Where programs look for the folder of temporary files.
const TEMPORARY: &str = "TMPDIR";
/// Files there are in memory. What a test's server keeps need not outlive the machine, and on a
/// virtual disk its flushes took a third of the processors' time.
const MEMORY: &str = "/dev/shm";
/// The room that has to be there, in MiB; the tests took up to 1350 at a time.
const ROOM_MIB: u64 = 4096;

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
    let memory = in_memory()?;
    environment
        .extend(memory.as_ref().and_then(|folder| Some((TEMPORARY, folder.path().to_str()?))));
    suite::test(root, &arguments, &environment, suite::QUARANTINE, |line| println!("{line}"))?;
    for (what, how) in LEFT_OUT {
        println!("NOT RUN: {what}: {how}");
    }
    Ok(())
}

/// A folder for temporary files in memory, which every user may enter, unless the caller has chosen
/// one, there is no room, or no program may be run from there.
fn in_memory() -> Result<Option<TempDir>> {
    let mut df = Command::new("df");
    df.args(["--output=avail", "--block-size=1M", MEMORY]);
    let reported = output(&mut df).unwrap_or_default();
    let room = reported.lines().last().and_then(|line| line.trim().parse::<u64>().ok());
    let has_room = room.is_some_and(|room| room >= ROOM_MIB);
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    if std::env::var_os(TEMPORARY).is_some() || !has_room || !runs_programs(&mounts) {
        return Ok(None);
    }
    let mut folder = Builder::new();
    folder.prefix("assay-").permissions(Permissions::from_mode(0o755));
    folder.tempdir_in(MEMORY).context("cannot make a folder in memory").map(Some)
}

/// Whether these mounts have one in memory from which programs may be run.
fn runs_programs(mounts: &str) -> bool {
    mounts.lines().any(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        words.get(1) == Some(&MEMORY)
            && words.get(3).is_some_and(|options| !options.split(',').any(|one| one == "noexec"))
    })
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
    fn memory_is_used_if_programs_may_run_there() {
        assert!(runs_programs("proc /proc proc rw,noexec 0 0\ntmpfs /dev/shm tmpfs rw,nosuid 0 0"));
        assert!(!runs_programs("shm /dev/shm tmpfs rw,nosuid,nodev,noexec,size=65536k 0 0"));
        assert!(!runs_programs("tmpfs /run tmpfs rw 0 0\n"));
    }

    #[test]
    fn findings_fail_a_step() {
        assert!(report(Vec::new()).is_ok());
        assert_eq!(report(vec!["a".into()]).expect_err("one finding").to_string(), "1 finding");
    }
}
