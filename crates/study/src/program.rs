//! The program whose commands a study runs.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::Child;

use assay_model::{Kind, Seed};
use assay_results::AnalyzedRun;
use assay_workload::Spec;

use crate::command_line::CommandLine;
use crate::commands::{CellCommand, Target};

/// What a study needs of the program that runs it.
pub trait Program {
    /// What its commands take.
    fn command_line(&self) -> &CommandLine;

    /// The machine that it runs on.
    fn machine(&self) -> Machine;

    /// A variable of its environment, if it is set.
    fn variable(&self, name: &str) -> Option<String>;

    /// The workload `spec` with these changes and so many records.
    ///
    /// # Errors
    /// If there is no such workload, or a change is invalid.
    fn workload(
        &self,
        spec: &str,
        sets: &[String],
        records: Option<u64>,
        seed: Seed,
    ) -> Result<WorkloadFacts, String>;

    /// The scheme of a store's URL, if there is such a store.
    fn scheme(&self, url: &str) -> Option<&'static str>;

    /// Finds errors in a store's URL before anything is started; servers are not connected to.
    ///
    /// # Errors
    /// If the URL is invalid.
    fn check_url(&self, url: &str) -> Result<(), String>;

    /// The value of a URL's option, percent-decoded.
    ///
    /// # Errors
    /// If it is no such text.
    fn decoded(&self, value: &str) -> Result<String, String>;

    /// Refuses what the command would refuse, before anything is started for it.
    ///
    /// # Errors
    /// If a setting is invalid, or two contradict each other.
    fn check_command(&self, command: &CellCommand) -> Result<(), String>;

    /// Starts a command, which ends with this process; `displayed` are its public words.
    ///
    /// # Errors
    /// If the process cannot be started.
    fn start(&self, words: &[String], displayed: &[String], output: File) -> io::Result<Child>;

    /// Starts the store `target` as lab `name`, or a name near it.
    ///
    /// # Errors
    /// If it does not come up, or the study is stopped meanwhile.
    fn up(&self, name: &str, target: &Target) -> Result<Box<dyn Cluster>, String>;

    /// Whether the study is to stop.
    fn is_stopped(&self) -> bool;

    /// Tells the user what goes on.
    fn tell(&self, text: &str);

    /// The present moment as text in UTC, to the millisecond.
    fn now(&self) -> String;

    /// Writes the hallmark of an analyzed run, and its page, into its run directory.
    ///
    /// # Errors
    /// If they cannot be written.
    fn keep_hallmark(&self, run_dir: &Path, analyzed: &AnalyzedRun) -> Result<(), String>;
}

/// A cluster that is up; it ends with this value.
pub trait Cluster {
    /// The lab's name.
    fn name(&self) -> &str;
}

/// The client machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// How many threads can run at once.
    pub cores: usize,
    /// The processor's name.
    pub processor: String,
    /// Its memory.
    pub memory_bytes: u64,
    /// The operating system with its version.
    pub system: String,
}

impl Machine {
    /// What of it decides figures.
    pub fn describe(&self) -> String {
        let memory_gib = (self.memory_bytes + (1 << 29)) >> 30;
        format!("{} × {}, {memory_gib} GiB", self.cores, self.processor)
    }
}

/// What is known of a workload before it is run.
pub struct WorkloadFacts {
    /// The specification, if it is one of records by key.
    pub records: Option<Spec>,
    /// The kinds of record operation of its runs.
    pub kinds: Vec<Kind>,
    /// The settings that it brings along, by name.
    pub settings: Vec<String>,
    /// Why no plan can be made of it, if so.
    pub unplannable: Option<String>,
}
