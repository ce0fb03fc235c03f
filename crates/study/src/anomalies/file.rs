//! A file of predictions: stores in situations, with what they should show.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use assay_consistency::Quality;
use assay_model::closest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::command_line::CommandLine;
use crate::commands::url_in;
use crate::error::{StudyError, invalid};
use crate::file::message;

/// A study of anomalies as its author writes it. `docs/anomalies.md` describes every key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AnomalyFile {
    /// Its name, that of its directory; the file's own without its ending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is about, in one line.
    #[serde(default)]
    pub title: String,
    /// What a reader of the result should know of it.
    #[serde(default)]
    pub about: String,
    /// The seed of each cell's first run; the next ones have those that follow it.
    #[serde(default = "first_seed")]
    pub seed: u64,
    /// How long a run may take before it is given up, with the start of its store.
    #[serde(default = "give_up")]
    pub give_up: String,
    /// Settings of all runs: flags of `assay bench` without their dashes.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub run: toml::Table,
    /// The cells.
    #[serde(rename = "cell")]
    pub cells: Vec<CellSection>,
}

/// One store in one situation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CellSection {
    /// Its name in the study.
    pub name: String,
    /// The store with the settings that matter, in words.
    pub store: String,
    /// The lab's recipe that starts it, with the number of nodes behind a colon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<String>,
    /// Or its URL; `{dir}` in it is a directory of each run alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What is chosen of the lab's options.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>")]
    pub option: toml::Table,
    /// Options of the URL of a store that the lab starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url_options: Option<String>,
    /// A built-in workload, or a file.
    pub workload: String,
    /// Changes of the workload's keys: `dataset.fields=1`.
    #[serde(default)]
    pub set: Vec<String>,
    /// Settings of its runs, over those of all runs.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub run: toml::Table,
    /// Qualities that are predicted to be violated, as `assay check` names them.
    #[serde(default)]
    pub violates: Vec<String>,
    /// Qualities that the store promises.
    #[serde(default)]
    pub keeps: Vec<String>,
    /// Who says so.
    pub source: String,
    /// What is done to the store, in words, if the settings do not say it well.
    #[serde(default)]
    pub fault: String,
    /// The most runs, each with a seed of its own; it ends earlier once all violations were seen.
    #[serde(default = "one_run")]
    pub tries: u64,
}

const fn first_seed() -> u64 {
    1
}

const fn one_run() -> u64 {
    1
}

fn give_up() -> String {
    "10m".to_owned()
}

/// The command of a cell.
const BENCH: &str = "bench";

/// Settings that the other keys of a cell decide, or the study.
pub const DECIDED: [&str; 15] = [
    "color",
    "format",
    "install",
    "lab",
    "lab-dir",
    "live",
    "option",
    "output",
    "quiet",
    "run-dir",
    "runs-dir",
    "seed",
    "target",
    "up",
    "url-options",
];

/// Whether the text of a study file is of this kind.
pub fn is_of_anomalies(text: &str) -> bool {
    text.lines().any(|line| line.trim_end() == "[[cell]]")
}

impl AnomalyFile {
    /// Reads the text of the study file `path`.
    ///
    /// # Errors
    /// If it has an unknown key, or a value is invalid.
    pub fn parse(
        text: &str,
        path: &Path,
        command_line: &CommandLine,
    ) -> Result<AnomalyFile, StudyError> {
        let displayed = path.display().to_string();
        let file: AnomalyFile =
            toml::from_str(text).map_err(|error| invalid(message(&error, text, &displayed)))?;
        file.check(command_line).map_err(|reason| invalid(format!("{displayed}: {reason}")))?;
        Ok(file)
    }

    /// The JSON Schema of such a file.
    pub fn json_schema() -> serde_json::Value {
        schemars::schema_for!(AnomalyFile).to_value()
    }

    /// Its name.
    pub fn name_of(&self, path: &Path) -> String {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("anomalies");
        self.name.clone().unwrap_or_else(|| stem.to_owned())
    }

    fn check(&self, command_line: &CommandLine) -> Result<(), String> {
        if self.cells.is_empty() {
            return Err("no cell: write a section [[cell]] for each".to_owned());
        }
        check_settings(&self.run, "[run]", command_line)?;
        let mut names = BTreeSet::new();
        for cell in &self.cells {
            cell.check(command_line)?;
            if !names.insert(&cell.name) {
                return Err(format!("there are two cells {}", cell.name));
            }
        }
        Ok(())
    }
}

impl CellSection {
    fn check(&self, command_line: &CommandLine) -> Result<(), String> {
        let name = &self.name;
        let is_name_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || !name.chars().all(is_name_letter) {
            return Err(format!("cell {name:?}: a name has small letters, digits and hyphens"));
        }
        match (&self.up, &self.url) {
            (Some(_), None) => {}
            (None, Some(_)) if self.option.is_empty() && self.url_options.is_none() => {}
            (None, Some(_)) => {
                return Err(format!("cell {name}: option and url-options are for up, not for url"));
            }
            _ => {
                return Err(format!(
                    "cell {name}: say either up = \"RECIPE\", which is started here, or url = \
                     \"URL\""
                ));
            }
        }
        if self.violates.is_empty() && self.keeps.is_empty() {
            return Err(format!("cell {name}: it predicts nothing; say violates or keeps"));
        }
        for quality in self.violates.iter().chain(&self.keeps) {
            check_quality(quality).map_err(|reason| format!("cell {name}: {reason}"))?;
        }
        if let Some(both) = self.violates.iter().find(|quality| self.keeps.contains(quality)) {
            return Err(format!("cell {name}: {both} is both violated and kept"));
        }
        if self.tries == 0 {
            return Err(format!("cell {name}: tries = 0 runs nothing; give at least 1"));
        }
        check_settings(&self.run, &format!("[cell.run] of {name}"), command_line)
    }

    /// The words of the command that runs it with this seed, as a reader would type them.
    pub fn words(
        &self,
        settings: &toml::Table,
        seed: u64,
        dir: &Path,
        command_line: &CommandLine,
    ) -> Vec<String> {
        let mut words = vec!["bench".to_owned(), self.workload.clone()];
        let mut add = |flag: &str, value: &str| {
            words.push(format!("--{flag}"));
            if !value.is_empty() {
                words.push(value.to_owned());
            }
        };
        if let Some(recipe) = &self.up {
            add("up", recipe);
        }
        if let Some(url) = &self.url {
            add("target", &url_in(url, dir));
        }
        for (name, value) in &self.option {
            add("option", &format!("{name}={}", command_line.text_of(value)));
        }
        if let Some(options) = &self.url_options {
            add("url-options", options);
        }
        for change in &self.set {
            add("set", change);
        }
        let mut all = settings.clone();
        all.extend(self.run.clone());
        for (name, value) in &all {
            let setting = command_line.setting(BENCH, name);
            let is_switch = setting.is_some_and(|setting| setting.is_switch);
            match (is_switch, value.as_bool()) {
                (true, Some(false)) => {}
                (true, _) => add(command_line.current(name), ""),
                (false, _) => add(command_line.current(name), &command_line.text_of(value)),
            }
        }
        add("seed", &seed.to_string());
        words
    }

    /// What is done to the store meanwhile, in words.
    pub fn fault(&self, command_line: &CommandLine) -> String {
        let named = ["at", "nemesis"].into_iter().filter_map(|name| self.run.get(name));
        let said: Vec<String> = named.map(|value| command_line.text_of(value)).collect();
        match self.fault.is_empty() {
            true => said.join("; "),
            false => self.fault.clone(),
        }
    }
}

fn check_quality(name: &str) -> Result<(), String> {
    if Quality::from_name(name).is_some() {
        return Ok(());
    }
    let names = || Quality::ALL.iter().map(|quality| quality.name());
    Err(match closest(name, names()) {
        Some(near) => format!("there is no quality {name:?}; did you mean {near:?}?"),
        None => {
            let names: Vec<&str> = names().collect();
            format!("there is no quality {name:?}; there are {}", names.join(", "))
        }
    })
}

fn check_settings(
    settings: &toml::Table,
    place: &str,
    command_line: &CommandLine,
) -> Result<(), String> {
    for name in settings.keys() {
        if DECIDED.contains(&command_line.current(name)) {
            return Err(format!("{place}: {name} is no setting here: other keys decide it"));
        }
        if command_line.setting(BENCH, name).is_none() {
            let all = command_line.settings_of(BENCH).map(|setting| setting.name);
            let hint = match closest(name, all) {
                Some(near) => format!("did you mean {near}?"),
                None => "`assay bench --help` lists them".to_owned(),
            };
            return Err(format!("{place}: there is no setting {name}; {hint}"));
        }
    }
    Ok(())
}
