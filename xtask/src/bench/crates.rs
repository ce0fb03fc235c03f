//! The crates' own micro-benchmarks: plain programs that print one line per figure.

use std::path::Path;

use anyhow::{Result, bail};

use crate::bench::Case;
use crate::bench::figures::Sample;
use crate::metadata::{Metadata, Target, cargo};
use crate::process::output;

/// One case for each file in a `benches` folder of the workspace at `root`.
pub fn cases(root: &Path, metadata: &Metadata) -> Vec<Case> {
    let mut cases = Vec::new();
    for package in &metadata.packages {
        for bench in package.benches() {
            let (root, name, bench) = (root.to_owned(), package.name.clone(), bench.clone());
            cases.push(Case {
                name: format!("bench {name} {}", bench.name),
                run: Box::new(move || run(&root, &name, &bench)),
            });
        }
    }
    cases
}

fn run(root: &Path, package: &str, bench: &Target) -> Result<Vec<Sample>> {
    let mut command = cargo();
    command.args(["bench", "--quiet", "--package", package, "--bench", &bench.name]);
    command.args(["--features", &bench.required_features.join(",")]).current_dir(root);
    let samples = parse(&output(&mut command)?);
    if samples.is_empty() {
        bail!("it prints no line `bench NAME SIZE VALUE UNIT`");
    }
    Ok(samples)
}

/// The figures among the lines of a benchmark.
fn parse(text: &str) -> Vec<Sample> {
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let is_figure = words.next() == Some("bench");
        let (what, size, value) = (words.next()?, words.next()?, words.next()?);
        let unit = words.collect::<Vec<_>>().join(" ");
        is_figure.then_some(Sample {
            what: what.to_owned(),
            size: size.to_owned(),
            value: value.parse().ok()?,
            unit,
        })
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_distinguished_from_other_lines() {
        let text = "warming up\nbench seal 1M 9.5 Mrecords/s\nbench broken x\nbenchmark done 1 2\n";
        let expected = Sample {
            what: "seal".into(),
            size: "1M".into(),
            value: 9.5,
            unit: "Mrecords/s".into(),
        };
        assert_eq!(parse(text), [expected]);
    }
}
