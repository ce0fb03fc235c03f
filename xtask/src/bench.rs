//! Our own figures against their bars, beside a peer in the same run.
//!
//! Every case is run several times, case after case and then all over again, so that a machine that
//! gets slower or busier disturbs all of them alike. What counts is the median; the spread is
//! printed beside it. These are measurements, never tests: nothing fails because it is slow.

mod bars;
mod binary;
mod bridge;
mod crates;
mod figures;
mod floor;
mod machine;
mod peer;
mod redis;
mod table;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::check::run_cargo;
use crate::needs;
use binary::Binary;
use figures::{Sample, figures};

/// What is to be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Only cases whose name contains this.
    pub filter: Option<String>,
    /// How often.
    pub runs: usize,
    /// Whether sizes and times are a tenth, to see that everything works.
    pub quick: bool,
}

/// The workloads that the peer has too.
const WORKLOADS: [Workload; 3] = [
    Workload { name: "ycsb-a", reads: 0.5 },
    Workload { name: "ycsb-b", reads: 0.95 },
    Workload { name: "ycsb-c", reads: 1.0 },
];

/// Operations of a closed run.
const SIZES: [u64; 3] = [1_000_000, 5_000_000, 20_000_000];

/// Arrivals per second of an open run against the null store.
const RATES: [u64; 3] = [100_000, 500_000, 1_000_000];

/// How long an open run is.
const SECONDS: u64 = 10;

/// A mixture of reads with updates.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Its name in the gallery.
    name: &'static str,
    /// The share of reads; the rest are updates.
    reads: f64,
}

/// How often each case is run unless the command line says otherwise.
const RUNS: usize = 5;

impl Options {
    /// Reads the command line after `bench`.
    ///
    /// # Errors
    /// If something in it is unknown.
    pub fn parse(arguments: &[&str]) -> Result<Options> {
        let mut options = Options { filter: None, runs: RUNS, quick: false };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match *argument {
                "--quick" => options.quick = true,
                "--runs" => {
                    let runs = rest.next().context("--runs needs a number")?;
                    options.runs = runs.parse().with_context(|| format!("--runs {runs:?}"))?;
                }
                flag if flag.starts_with('-') => bail!("bench knows no {flag:?}"),
                filter if options.filter.is_none() => options.filter = Some(filter.to_owned()),
                other => bail!("bench takes one filter, {other:?} is the second"),
            }
        }
        if options.runs == 0 {
            bail!("--runs 0 measures nothing");
        }
        Ok(options)
    }

    /// A size, or a tenth of it in a quick run.
    pub fn scaled(&self, size: u64) -> u64 {
        if self.quick { (size / 10).max(1) } else { size }
    }
}

/// Something that can be measured again and again.
pub struct Case {
    /// Its name, for the filter.
    pub name: String,
    /// Measures once.
    pub run: Box<dyn Fn() -> Result<Vec<Sample>>>,
}

/// Measures, prints the table, keeps it in `docs/numbers.md` if everything was measured in full.
///
/// # Errors
/// If something cannot be built or started, or a case failed in every run.
pub fn bench(root: &Path, options: &Options) -> Result<()> {
    let folder = root.join("target/bench");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {folder:?}"))?;
    // The default stores, with the bridge to Java.
    let build = ["build", "--release", "--package", "assay", "--features", "assay/jvm"];
    run_cargo(root, &build, &[])?;
    let before = machine::describe()?;
    let cases = cases(root, &folder, options)?;
    if cases.is_empty() {
        bail!("no case is called like {:?}", options.filter.as_deref().unwrap_or(""));
    }
    let (samples, failures) = measure(&cases, options.runs);
    let figures = figures(&samples);
    let page = table::page(&before, options, &figures, &failures);
    println!("\n{page}");
    keep(root, options, &page)?;
    if let Some(failure) = failures.first() {
        bail!("{} measurements failed; the first: {failure}", failures.len());
    }
    Ok(())
}

fn cases(root: &Path, folder: &Path, options: &Options) -> Result<Vec<Case>> {
    let assay = Binary { path: root.join("target/release/assay"), scratch: folder.join("scratch") };
    let wanted = |name: &str| options.filter.as_deref().is_none_or(|part| name.contains(part));
    let mut cases = Vec::new();
    // Ours beside the peer's of the same workload and size, so that they alternate.
    for workload in WORKLOADS {
        for size in SIZES {
            cases.push(binary::closed(&assay, workload, options.scaled(size)));
            cases.push(peer::case(folder, workload, options.scaled(size)));
            cases.push(bridge::case(root, &assay, workload, options.scaled(size)));
        }
    }
    for size in SIZES {
        cases.push(binary::trace(&assay, options.scaled(size)));
    }
    for rate in RATES {
        cases.push(floor::case(&binary::rate_name(rate), options.scaled(SECONDS)));
        cases.push(binary::open(&assay, rate, options.scaled(SECONDS)));
    }
    cases.retain(|case| wanted(&case.name));
    if cases.iter().any(|case| case.name.starts_with("peer")) {
        needs::provide(needs::FOR_PEER)?;
    }
    cases.extend(redis::cases(&assay, options, &wanted)?);
    cases.extend(crates::cases(root)?.into_iter().filter(|case| wanted(&case.name)));
    Ok(cases)
}

fn measure(cases: &[Case], runs: usize) -> (Vec<Sample>, Vec<String>) {
    let mut samples = Vec::new();
    let mut failures = Vec::new();
    for run in 1..=runs {
        for case in cases {
            println!("run {run} of {runs}: {}", case.name);
            match (case.run)() {
                Ok(measured) => samples.extend(measured),
                Err(error) => failures.push(format!("{}: {error:#}", case.name)),
            }
        }
    }
    (samples, failures)
}

fn keep(root: &Path, options: &Options, page: &str) -> Result<()> {
    let in_full = options.filter.is_none() && !options.quick;
    let path: PathBuf =
        root.join(if in_full { "docs/numbers.md" } else { "target/bench/numbers.md" });
    fs::write(&path, page).with_context(|| format!("cannot write {path:?}"))?;
    println!("kept in {}", path.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_says_what_is_measured() {
        let parsed = Options::parse(&["redis", "--runs", "3", "--quick"]).expect("known options");
        assert_eq!(parsed, Options { filter: Some("redis".into()), runs: 3, quick: true });
        assert_eq!(parsed.scaled(1_000), 100);
    }

    #[test]
    fn unknown_options_are_errors() {
        for wrong in [&["--fast"][..], &["--runs"], &["--runs", "x"], &["--runs", "0"], &["a", "b"]]
        {
            assert!(Options::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_case_that_fails_does_not_stop_the_others() {
        let case = |name: &str, works: bool| Case {
            name: name.to_owned(),
            run: Box::new(move || if works { Ok(Vec::new()) } else { bail!("broken") }),
        };
        let (_, failures) = measure(&[case("a", false), case("b", true)], 2);
        assert_eq!(failures, ["a: broken", "a: broken"]);
    }
}
