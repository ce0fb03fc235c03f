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
mod fresh;
mod kept;
mod machine;
mod peer;
mod redis;
mod table;
mod timed;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::metadata::{Metadata, Reach};
use crate::needs;
use binary::{Binary, ExecutorPath};
use figures::{Sample, figures};
use peer::Ycsb;
use redis::Clients;

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
    /// Its name among the built-in workloads.
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

    /// Whether a case of this name is to be measured.
    fn want(&self, name: &str) -> bool {
        self.filter.as_deref().is_none_or(|part| name.contains(part))
    }

    /// Whether everything is measured, at its size, often enough.
    fn are_in_full(&self) -> bool {
        self.filter.is_none() && !self.quick && self.runs >= RUNS
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
/// What was measured so far is kept after each run in `bench/numbers.md` of Cargo's target folder.
///
/// # Errors
/// If something cannot be built or started, or a measurement failed.
pub fn bench(root: &Path, options: &Options) -> Result<()> {
    let metadata = Metadata::read(root, Reach::Members)?;
    let folder = metadata.target.join("bench");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {folder:?}"))?;
    let assay = Binary { path: binary::build(root)?, scratch: folder.join("scratch") };
    let before = machine::describe()?;
    let mut cases = cases(root, &assay, &Ycsb::new(root, &folder), options)?;
    cases
        .extend(crates::cases(root, &metadata).into_iter().filter(|case| options.want(&case.name)));
    if cases.is_empty() {
        bail!("no case is called like {:?}", options.filter.as_deref().unwrap_or(""));
    }
    let page_of = |runs: usize, samples: &[Sample], failures: &[String]| {
        let options = Options { runs, ..options.clone() };
        table::page(&before, &options, &figures(samples), failures)
    };
    // If it is ended after an hour, its measurements until then are kept.
    let keep = |runs: usize, samples: &[Sample], failures: &[String]| {
        kept::in_part(&folder, &page_of(runs, samples, failures)).map(drop)
    };
    let (samples, failures) = measure(&cases, options.runs, keep);
    let page = page_of(options.runs, &samples, &failures);
    println!("\n{page}");
    let path = if options.are_in_full() && failures.is_empty() {
        kept::in_full(root, &page)?
    } else {
        kept::in_part(&folder, &page)?
    };
    println!("kept in {}", path.display());
    if let Some(failure) = failures.first() {
        bail!("{} measurements failed; the first: {failure}", failures.len());
    }
    Ok(())
}

/// The cases of whole commands that are wanted.
fn cases(root: &Path, assay: &Binary, ycsb: &Ycsb, options: &Options) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    // Ours beside the peer's of the same workload and size, so that they alternate.
    for workload in WORKLOADS {
        for size in SIZES {
            for path in [ExecutorPath::Ordinary, ExecutorPath::Bursts] {
                cases.push(binary::closed(assay, path, workload, options.scaled(size)));
            }
            cases.push(ycsb.basic(workload, options.scaled(size)));
            cases.push(bridge::case(root, assay, workload, options.scaled(size)));
        }
    }
    for size in SIZES {
        cases.push(binary::trace(assay, options.scaled(size)));
    }
    for rate in RATES {
        cases.push(floor::case(&binary::rate_name(rate), options.scaled(SECONDS)));
        cases.push(binary::open(assay, rate, options.scaled(SECONDS)));
    }
    cases.retain(|case| options.want(&case.name));
    cases.extend(redis::cases(&Clients { assay, ycsb }, options, |name| options.want(name))?);
    if cases.iter().any(|case| case.name.starts_with("peer")) {
        needs::provide(needs::FOR_PEER)?;
    }
    Ok(cases)
}

/// Measures all cases so often; `keep` gets the number of runs that are done with all that was
/// measured in them.
fn measure(
    cases: &[Case],
    runs: usize,
    mut keep: impl FnMut(usize, &[Sample], &[String]) -> Result<()>,
) -> (Vec<Sample>, Vec<String>) {
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
        if let Err(error) = keep(run, &samples, &failures) {
            eprintln!("{error:#}");
        }
    }
    (samples, failures)
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
    fn all_cases_at_their_sizes_often_enough_are_a_measurement_in_full() {
        let is_in_full =
            |arguments: &[&str]| Options::parse(arguments).expect("known options").are_in_full();
        assert!(is_in_full(&[]) && is_in_full(&["--runs", "5"]) && is_in_full(&["--runs", "6"]));
        for part in [&["redis"][..], &["--quick"], &["--runs", "4"]] {
            assert!(!is_in_full(part), "{part:?}");
        }
    }

    #[test]
    fn a_filter_is_a_part_of_a_name() {
        let options = Options::parse(&["peer redis"]).expect("one filter");
        assert!(options.want("peer redis closed ycsb-c 4"));
        assert!(!options.want("redis closed ycsb-c 4"));
    }

    #[test]
    fn a_case_that_fails_does_not_stop_the_others() {
        let case = |name: &str, works: bool| Case {
            name: name.to_owned(),
            run: Box::new(move || if works { Ok(Vec::new()) } else { bail!("broken") }),
        };
        let mut kept = Vec::new();
        let keep = |runs: usize, _: &[Sample], failures: &[String]| {
            kept.push((runs, failures.len()));
            Ok(())
        };
        let (_, failures) = measure(&[case("a", false), case("b", true)], 2, keep);
        assert_eq!(failures, ["a: broken", "a: broken"]);
        assert_eq!(kept, [(1, 1), (2, 2)], "after each run");
    }
}
