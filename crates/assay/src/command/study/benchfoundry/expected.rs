//! Options of the study: factors, length, workload.

use anyhow::{Context, Result};
use assay_model::Nanos;
use assay_workload::ScriptSpec;
use assay_workload::script::benchfoundry::{BenchfoundrySpec, Starts};
use clap::ArgMatches;

use crate::command_line::{RESULT_FLAGS, without_flags};
use crate::exit::usage;
use crate::options::{Options, SettingText};
use crate::workload::{Workload, WorkloadSource};

/// How long the paper sustained each load.
const DURATION: Nanos = Nanos::from_secs(120);

/// More runs than this are a slip of the finger.
const MOST: usize = 100;

/// Larger factors are more load than one machine can generate.
const FACTOR_MAX: f64 = 1e6;

/// Settings of a run that the study decides.
pub const WITHOUT: [&str; 8] =
    ["rate", "speed", "closed", "think", "target-throughput", "operations", "repeat", "records"];

/// Flags that only this study knows, or whose values it chooses for each run.
const OWN_FLAGS: [&str; 3] = ["--factors", "--workload", "--duration"];

/// What is wanted.
pub struct StudyOptions {
    /// SPEC.
    pub workload: String,
    /// The load factors in the order in which they run.
    pub factors: Vec<f64>,
    /// How long each run measures.
    pub duration: Nanos,
    /// The warm-up of each run.
    pub warm_up: Nanos,
}

impl StudyOptions {
    /// Reads what was typed.
    pub fn from(matches: &ArgMatches, options: &Options) -> Result<StudyOptions> {
        let is_of_load = |setting: &&SettingText| WITHOUT.contains(&setting.key().name);
        let mut given = options.all().into_iter().filter(|setting| setting.is_given());
        if let Some(setting) = given.find(is_of_load) {
            return Err(setting.wrong("the load factors set the load of each run"));
        }
        let duration = options.duration.get().unwrap_or(DURATION);
        if duration == Nanos::ZERO {
            return Err(options.duration.wrong("nothing would be issued; give more than 0s"));
        }
        let text = |name: &str| matches.get_one::<String>(name).map(String::as_str);
        Ok(StudyOptions {
            workload: text("spec").context("the workload has a default")?.to_owned(),
            factors: factors(text("factors").context("the factors have a default")?)?,
            duration,
            warm_up: options.warm_up.get().unwrap_or(Nanos::ZERO),
        })
    }

    /// Whether the settings go together with what the workload says of its own schedule.
    pub fn agree_with(&self, options: &Options, spec: &BenchfoundrySpec) -> Result<()> {
        if spec.process.starts != Starts::Model && options.arrivals.is_given() {
            let reason = "the workload says itself when processes begin; \
                          --workload tpcc-benchfoundry-corrected leaves it to the load model";
            return Err(options.arrivals.wrong(reason));
        }
        Ok(())
    }
}

/// Load factors between commas.
fn factors(text: &str) -> Result<Vec<f64>> {
    let mut factors = Vec::new();
    for word in text.split(',').map(str::trim) {
        let factor = word.parse::<f64>().ok().filter(|factor| *factor > 0.0);
        let factor = factor.filter(|factor| *factor <= FACTOR_MAX).ok_or_else(|| {
            usage(format!(
                "--factors: {word:?} is no load factor; give numbers above 0, such as 1,5,25"
            ))
        })?;
        if factors.contains(&factor) {
            return Err(usage(format!("--factors: {word} is there twice")));
        }
        factors.push(factor);
    }
    match factors.len() > MOST {
        true => Err(usage(format!("--factors: {} are more than {MOST} runs", factors.len()))),
        false => Ok(factors),
    }
}

/// The specification of a workload that this study can run.
pub fn spec_of(workload: &Workload) -> Result<&BenchfoundrySpec> {
    match &workload.requested {
        WorkloadSource::Script(ScriptSpec::TpccBenchfoundry(spec)) => Ok(spec),
        _ => Err(usage(format!(
            "--workload: {} has no load factor; give tpcc-benchfoundry, tpcc-benchfoundry-paper, \
             tpcc-benchfoundry-corrected or a TOML file with workload = \"tpcc-benchfoundry\"",
            workload.name
        ))),
    }
}

/// The command line of one run as far as it does not depend on the factor.
pub fn run_command(typed: &[String], workload: &str) -> Vec<String> {
    let mut words = vec!["assay".to_owned(), "run".to_owned(), workload.to_owned()];
    let typed = without_flags(&typed[3..], &[&OWN_FLAGS[..], &RESULT_FLAGS].concat());
    words.extend(typed.into_iter().filter(|word| word != "--replace"));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_numbers_above_zero_each_once() {
        assert_eq!(factors("1, 2.5,625").unwrap(), [1.0, 2.5, 625.0]);
        for (text, why) in [
            ("1,x", "\"x\" is no load factor"),
            ("0", "\"0\" is no load factor"),
            ("nan", "no load factor"),
            ("5,5", "there twice"),
            ("", "\"\" is no load factor"),
        ] {
            let error = factors(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn a_run_of_the_study_is_repeated_as_a_run() {
        let typed = "assay study benchfoundry -t sqlite:a --factors 1,5 --replace -o a.html \
                     --workload=x --duration 3s --seed 4";
        let typed: Vec<String> = typed.split_whitespace().map(str::to_owned).collect();
        let words = run_command(&typed, "tpcc-benchfoundry");
        assert_eq!(words.join(" "), "assay run tpcc-benchfoundry -t sqlite:a");
    }
}
