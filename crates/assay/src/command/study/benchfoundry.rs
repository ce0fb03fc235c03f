//! `assay study benchfoundry`: the runs of the experiment LOAD of the paper on BenchFoundry.
//!
//! D. Bermbach et al., "BenchFoundry: A Benchmarking Framework for Cloud Storage Services", ICSOC
//! 2017, section 5.

mod expected;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use assay_live::progress::Show;
use assay_model::{Seed, quantity};
use assay_report::precision::{Precision, PrecisionRun, RunEnd, document, precision_json};
use assay_report::units::rate;
use assay_results::shell::quoted;
use assay_study::precision::{dir_of, reason, starts, tabulate, unit_rate};
use assay_workload::script::benchfoundry::{BenchfoundrySpec, Starts as When};
use clap::ArgMatches;

use crate::command_line::typed;
use crate::exit::{Exit, from_open};
use crate::load_config::Purpose;
use crate::options::{Options, Origin, Settable};
use crate::run_plan::{RunPlan, changes};
use crate::setup::Setup;
use crate::show::{Display, Format, keep_hallmark};
use crate::workload::{Changes, Workload};
use crate::{atomic_file, machine, run_dirs, thresholds};

pub use expected::WITHOUT;

use expected::{StudyOptions, run_command, spec_of};

/// The result in the study's own directory.
const RESULT: &str = "study.json";

/// Where the data set's load is kept; `load` would look like a run's.
const DATASET: &str = "data-set";

/// A study under way.
struct RunningStudy {
    setup: Setup,
    expected: StudyOptions,
    spec: BenchfoundrySpec,
    changes: Changes,
    root: PathBuf,
    seed: Seed,
    loaded: &'static str,
    interrupts: u32,
}

/// `assay study benchfoundry`.
pub fn benchfoundry(matches: &ArgMatches) -> Result<Exit> {
    let options = Options::gather(matches)?;
    let expected = StudyOptions::from(matches, &options)?;
    let display = Display::from(&options)?;
    display.require(&options, "this study is", &FORMATS)?;
    let mut under = RunningStudy::begin(matches, options, expected)?;
    let listening = Arc::clone(&under.setup.listening);
    under.fill()?;
    // An interrupt between two runs must not lose those that were made.
    let during = listening.during();
    let mut runs = Vec::new();
    for place in 0..under.expected.factors.len() {
        let run = under.run(place);
        under.say(&run);
        runs.push(run);
        if under.interrupts > 1 {
            break;
        }
    }
    drop(during);
    let precision = under.precision(runs);
    atomic_file::write_in(&under.root, RESULT, &precision_json(&precision))?;
    display.show(|| document(&precision), |_| Ok(precision_json(&precision)))?;
    if under.setup.plan.show != Show::Nothing {
        eprintln!("kept in {}", under.root.display());
    }
    Ok(exit(&precision, under.interrupts))
}

impl RunningStudy {
    fn begin(
        matches: &ArgMatches,
        options: Options,
        expected: StudyOptions,
    ) -> Result<RunningStudy> {
        let mut changes = changes(matches, &options)?;
        let mut plan = RunPlan::from(matches, options, Purpose::Run)?;
        thresholds::take(&mut changes.sets);
        let spec = spec_of(&plan.workload)?.clone();
        expected.agree_with(&plan.options, &spec)?;
        plan.show = plan.show.without_dashboard();
        let seed = plan.seed;
        if plan.options.run_dir().is_none() {
            let name = format!("study-{}", plan.workload.name);
            plan.dir = run_dirs::fresh(plan.options.runs_dir(), &name, seed.0);
        }
        let root = plan.dir.clone();
        for factor in &expected.factors {
            run_dirs::require_free(&dir_of(&root, *factor))?;
        }
        let under = RunningStudy {
            setup: Setup::open(plan)?,
            expected,
            spec,
            changes,
            root,
            seed,
            loaded: "none",
            interrupts: 0,
        };
        // An invalid factor must be an error before the load.
        for factor in &under.expected.factors {
            under.workload(*factor)?;
        }
        Ok(under)
    }

    /// Loads the data set once, unless the store says that it is there.
    fn fill(&mut self) -> Result<()> {
        if self.setup.store.capabilities().is_no_op {
            self.loaded = "none: the store keeps nothing";
            return Ok(());
        }
        if !self.setup.plan.options.replace.is_on() && self.setup.has_note()? {
            self.loaded = "as it was found in the store";
            return Ok(());
        }
        self.setup.load(&self.root.join(DATASET))?.require_load()?;
        self.loaded = "loaded once, before the first run";
        Ok(())
    }

    /// The run with one load factor.
    fn workload(&self, factor: f64) -> Result<Workload> {
        let mut changes = self.changes.clone();
        changes.sets.extend(self.sets(factor));
        Workload::read(&self.expected.workload, &changes)
    }

    fn sets(&self, factor: f64) -> [String; 2] {
        let runtime = self.expected.warm_up + self.expected.duration;
        [
            format!("process.process_target_scaler={factor}"),
            format!("process.runtime={}", quantity::write_time(runtime)),
        ]
    }

    /// Runs the factor at `place`; its outcome is reported, not returned as an error.
    fn run(&mut self, place: usize) -> PrecisionRun {
        let factor = self.expected.factors[place];
        let dir = dir_of(&self.root, factor);
        let attempt = self.send(place);
        let is_stopped = matches!(attempt, Ok(Exit::Interrupted));
        self.interrupts += u32::from(is_stopped);
        let ending = match attempt {
            Ok(Exit::Fine) => RunEnd::Whole,
            Ok(Exit::Interrupted) => RunEnd::Interrupted,
            Ok(_) => RunEnd::Failed(reason(&dir)),
            Err(error) => RunEnd::Failed(format!("{error:#}")),
        };
        tabulate(&self.root, factor, &self.spec, ending, &|dir, analyzed| {
            keep_hallmark(dir, analyzed).map_err(|error| format!("{error:#}"))
        })
    }

    fn send(&mut self, place: usize) -> Result<Exit> {
        let factor = self.expected.factors[place];
        // What ended the run before does not end this one.
        self.setup.listening.control.go_on();
        self.setup.plan.workload = self.workload(factor)?;
        // New rows get keys of the run's seed: two runs of one seed would write the same.
        self.setup.plan.seed = Seed(self.seed.0.wrapping_add(place as u64 + 1));
        self.setup.plan.arrivals = self.setup.plan.seed;
        self.setup.plan.dir = dir_of(&self.root, factor);
        let planned = unit_rate(&self.spec) * factor;
        let duration = quantity::write_time(self.expected.duration);
        self.setup.plan.options.duration.set(&duration, Origin::Flag)?;
        if self.spec.process.starts == When::Model {
            self.setup.plan.options.rate.set(&planned.to_string(), Origin::Flag)?;
        }
        self.setup.plan.command = self.command(factor, planned);
        if self.setup.plan.show != Show::Nothing {
            let (number, of) = (place + 1, self.expected.factors.len());
            eprintln!("run {number} of {of}: factor {factor}, {} processes", rate(planned));
        }
        self.setup.store.flush().map_err(from_open)?;
        Ok(self.setup.run()?.exit)
    }

    /// The command that makes a run of its own.
    fn command(&self, factor: f64, planned: f64) -> Vec<String> {
        let mut words = run_command(&typed(), &self.expected.workload);
        for set in self.sets(factor) {
            words.extend(["--set".to_owned(), set]);
        }
        if self.spec.process.starts == When::Model {
            words.extend(["--rate".to_owned(), planned.to_string()]);
        }
        let duration = quantity::write_time(self.expected.duration);
        words.extend(["--duration".to_owned(), duration]);
        words.extend(["--seed".to_owned(), self.setup.plan.seed.to_string()]);
        words
    }

    /// A line on what came of a run.
    fn say(&self, run: &PrecisionRun) {
        match &run.ending {
            RunEnd::Whole => {}
            RunEnd::Interrupted if self.interrupts > 1 => {
                eprintln!("factor {} was interrupted too; the study ends here", run.factor);
            }
            RunEnd::Interrupted => eprintln!(
                "factor {} was interrupted; the study goes on, a second interrupt ends it",
                run.factor
            ),
            RunEnd::Failed(reason) => {
                eprintln!("warning: factor {} failed: {reason}; the study goes on", run.factor);
            }
        }
        if let (Some(p95), true) = (run.p95(), self.setup.plan.show != Show::Nothing) {
            eprintln!("factor {}: 95 % of the processes began within {p95}", run.factor);
        }
    }

    fn precision(&self, runs: Vec<PrecisionRun>) -> Precision {
        let capabilities = self.setup.store.capabilities();
        let mut command = typed();
        if !self.setup.plan.options.seed.is_given() {
            command.extend(["--seed".to_owned(), self.seed.to_string()]);
        }
        Precision {
            title: format!("{} on {}", self.setup.plan.workload.name, capabilities.name),
            command: quoted(&command),
            dir: self.root.display().to_string(),
            url: self.setup.url.clone(),
            is_no_op: capabilities.is_no_op,
            starts: format!("{}: {}", self.setup.plan.workload.name, starts(&self.spec)),
            loaded: self.loaded.to_owned(),
            unit_per_s: unit_rate(&self.spec),
            duration: self.expected.duration,
            seed: self.seed.0,
            machine: format!("{} x {}", machine::cores(), machine::processor()),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            runs,
        }
    }
}

/// Formats of the study.
const FORMATS: [Format; 4] = [Format::Text, Format::Json, Format::Markdown, Format::Html];

fn exit(precision: &Precision, interrupts: u32) -> Exit {
    let has_failed = |run: &PrecisionRun| matches!(run.ending, RunEnd::Failed(_));
    match interrupts {
        0 if precision.runs.iter().any(has_failed) => Exit::Internal,
        0 => Exit::Fine,
        _ => Exit::Interrupted,
    }
}
