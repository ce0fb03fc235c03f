//! This program, as a study calls it.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use anyhow::Result;
use assay_drivers::registry;
use assay_model::Seed;
use assay_results::AnalyzedRun;
use assay_run::clock;
use assay_store::Calls;
use assay_study::command_line::{CommandLine, CommandSetting};
use assay_study::commands::{CellCommand, Target};
use assay_study::program::{Cluster, Machine, Program, WorkloadFacts};
use assay_workload::PlanPhase;

use super::shift::Shift;
use crate::arrivals::Calendar;
use crate::lab::house;
use crate::load_config::{LoadConfig, Purpose};
use crate::options::{KEYS, Key, Options, Shape, Verb, current, require_one_name, text_of};
use crate::show::keep_hallmark;
use crate::signals::stop_flag_heard_once;
use crate::units::rfc3339;
use crate::workload::{Changes, Workload};
use crate::{machine, parent_death};

/// Stores whose opening makes files, or starts a virtual machine.
const OPENED_WITH_FILES: [&str; 6] = ["fjall", "jvm", "lmdb", "redb", "rocksdb", "sqlite"];

/// The commands of cells.
const VERBS: [(Verb, &str); 3] = [(Verb::Bench, "bench"), (Verb::Load, "load"), (Verb::Run, "run")];

/// This program.
pub struct OwnProgram<'a> {
    options: &'a Options,
    command_line: CommandLine,
    stop: Option<Arc<AtomicBool>>,
    is_quiet: bool,
}

impl<'a> OwnProgram<'a> {
    /// This program with the settings of the study's command.
    pub fn new(options: &'a Options) -> OwnProgram<'a> {
        let is_quiet = options.quiet.is_on();
        OwnProgram { options, command_line: command_line(), stop: None, is_quiet }
    }

    /// From now on an interrupt ends the study.
    pub fn listen(&mut self) -> Result<()> {
        self.stop = Some(stop_flag_heard_once()?);
        Ok(())
    }
}

/// What the commands of cells take.
pub fn command_line() -> CommandLine {
    let setting = |key: &Key| CommandSetting {
        name: key.name,
        is_switch: key.shape == Shape::Switch,
        is_file: key.value == "FILE",
        verbs: VERBS
            .into_iter()
            .filter(|(verb, _)| key.verbs.contains(verb))
            .map(|(_, name)| name)
            .collect(),
    };
    CommandLine {
        settings: KEYS.iter().map(setting).collect(),
        current,
        require_one_name: |place, names| {
            require_one_name(place, names.iter().copied()).map_err(|error| error.to_string())
        },
        text_of,
        url_without_secrets: registry::without_secrets,
        word_without_secrets: registry::word_without_secrets,
        names_a_secret: registry::names_a_secret,
    }
}

impl Program for OwnProgram<'_> {
    fn command_line(&self) -> &CommandLine {
        &self.command_line
    }

    fn machine(&self) -> Machine {
        Machine {
            cores: machine::cores(),
            processor: machine::processor(),
            memory_bytes: machine::memory_bytes(),
            system: machine::system(),
        }
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn workload(
        &self,
        spec: &str,
        sets: &[String],
        records: Option<u64>,
        seed: Seed,
    ) -> Result<WorkloadFacts, String> {
        let changes = Changes { sets: sets.to_vec(), records, ..Changes::default() };
        let read = Workload::read(spec, &changes).map_err(|error| format!("{error:#}"))?;
        // A plan that cannot be made must not be found out after hours.
        let plan = read.plan(seed, PlanPhase::Run);
        Ok(WorkloadFacts {
            records: read.records().cloned(),
            kinds: read.kinds_used(PlanPhase::Run),
            settings: read.settings.keys().cloned().collect(),
            unplannable: plan.err().map(|error| error.to_string()),
        })
    }

    fn scheme(&self, url: &str) -> Option<&'static str> {
        registry::require_scheme(url).ok().map(|listed| listed.scheme)
    }

    /// Of stores that create files when they are opened only the scheme is checked.
    fn check_url(&self, url: &str) -> Result<(), String> {
        let scheme = registry::require_scheme(url).map_err(|error| error.to_string())?.scheme;
        if OPENED_WITH_FILES.contains(&scheme) {
            return Ok(());
        }
        let (clock, seed) = (|| clock::monotonic().0, Seed(0));
        let options = registry::Options { clock, seed, surroundings: registry::Surroundings::NONE };
        registry::open(url, &options).map(|_| ()).map_err(|error| error.to_string())
    }

    fn decoded(&self, value: &str) -> Result<String, String> {
        registry::decoded(value)
    }

    fn check_command(&self, command: &CellCommand) -> Result<(), String> {
        let flags = command.flags.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let options = Options::typed(flags).map_err(|error| format!("{error:#}"))?;
        // Only the trace knows whether it has a schedule.
        if options.arrivals.text() == Some("trace") {
            return Ok(());
        }
        let purpose = if command.verb == "load" { Purpose::Load } else { Purpose::Run };
        // A blocking driver may have blocking threads; whether its store blocks is known once it is
        // open.
        let read = LoadConfig::from(&options, purpose, Calls::Blocking, None, Calendar::None);
        read.map(|_| ()).map_err(|error| format!("{error:#}"))
    }

    fn start(&self, words: &[String], displayed: &[String], output: File) -> io::Result<Child> {
        let mut command = parent_death::tied();
        // An interrupt from the keyboard is for the study, which ends the cell.
        command.stdout(Stdio::null()).stderr(output).process_group(0);
        parent_death::spawn(&mut command, words, displayed)
    }

    fn up(&self, name: &str, target: &Target) -> Result<Box<dyn Cluster>, String> {
        let describe = |error: anyhow::Error| format!("{error:#}");
        let labs = house::labs(self.options).map_err(describe)?;
        let is_stopped = || self.is_stopped();
        let tell = |text: &str| self.tell(&format!("  {text}"));
        let shift = Shift::up((name, target), &labs, self.options, &is_stopped, &tell);
        Ok(Box::new(shift.map_err(describe)?))
    }

    fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    fn tell(&self, text: &str) {
        if !self.is_quiet {
            eprintln!("{text}");
        }
    }

    fn now(&self) -> String {
        rfc3339(SystemTime::now())
    }

    fn keep_hallmark(&self, run_dir: &Path, analyzed: &AnalyzedRun) -> Result<(), String> {
        keep_hallmark(run_dir, analyzed).map_err(|error| format!("{error:#}"))
    }
}
