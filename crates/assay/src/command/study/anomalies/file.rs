//! A file of predictions: stores in situations, with what they should show.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use assay_consistency::Quality;
use assay_model::closest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::command::study::matrix::commands::{display, url_in};
use crate::command::study::matrix::file::message;
use crate::exit::usage;
use crate::options::{KEYS, Key, Shape, Verb, current, text_of};

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

/// Settings that the other keys of a cell decide, or the study.
const DECIDED: [&str; 15] = [
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
    pub fn parse(text: &str, path: &Path) -> Result<AnomalyFile> {
        let displayed = path.display().to_string();
        let file: AnomalyFile =
            toml::from_str(text).map_err(|error| usage(message(&error, text, &displayed)))?;
        file.check().map_err(|reason| usage(format!("{displayed}: {reason}")))?;
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

    fn check(&self) -> Result<(), String> {
        if self.cells.is_empty() {
            return Err("no cell: write a section [[cell]] for each".to_owned());
        }
        check_settings(&self.run, "[run]")?;
        let mut names = BTreeSet::new();
        for cell in &self.cells {
            cell.check()?;
            if !names.insert(&cell.name) {
                return Err(format!("there are two cells {}", cell.name));
            }
        }
        Ok(())
    }
}

impl CellSection {
    fn check(&self) -> Result<(), String> {
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
        check_settings(&self.run, &format!("[cell.run] of {name}"))
    }

    /// The words of the command that runs it with this seed, as a reader would type them.
    pub fn words(&self, settings: &toml::Table, seed: u64, dir: &Path) -> Vec<String> {
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
            add("option", &format!("{name}={}", text_of(value.clone())));
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
            let is_switch = setting(name).is_some_and(|key| key.shape == Shape::Switch);
            match (is_switch, value.as_bool()) {
                (true, Some(false)) => {}
                (true, _) => add(current(name), ""),
                (false, _) => add(current(name), &text_of(value.clone())),
            }
        }
        add("seed", &seed.to_string());
        words
    }

    /// What is done to the store meanwhile, in words.
    pub fn fault(&self) -> String {
        let named = ["at", "nemesis"].into_iter().filter_map(|name| self.run.get(name));
        let said: Vec<String> = named.map(|value| text_of(value.clone())).collect();
        match self.fault.is_empty() {
            true => said.join("; "),
            false => self.fault.clone(),
        }
    }

    /// The same without secrets.
    pub fn without_secrets(&self, words: &[String]) -> Vec<String> {
        let flags = [""].into_iter().chain(words.iter().map(|word| word.trim_start_matches('-')));
        flags.zip(words).map(|(flag, word)| display(flag, word)).collect()
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

fn check_settings(settings: &toml::Table, place: &str) -> Result<(), String> {
    for name in settings.keys() {
        if DECIDED.contains(&current(name)) {
            return Err(format!("{place}: {name} is no setting here: other keys decide it"));
        }
        if setting(name).is_none() {
            let all = KEYS.iter().filter(|key| key.verbs.contains(&Verb::Bench));
            let hint = match closest(name, all.map(|key| key.name)) {
                Some(near) => format!("did you mean {near}?"),
                None => "`assay bench --help` lists them".to_owned(),
            };
            return Err(format!("{place}: there is no setting {name}; {hint}"));
        }
    }
    Ok(())
}

/// The setting of `assay bench` that is called `name`.
fn setting(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == current(name) && key.verbs.contains(&Verb::Bench))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "[[cell]]\nname = \"c\"\nstore = \"S\"\nup = \"galera:3\"\nworkload = \
                         \"ycsb-a\"\nviolates = [\"linearizable\"]\nsource = \"J\"\n";

    fn read(text: &str) -> Result<AnomalyFile, String> {
        AnomalyFile::parse(text, Path::new("a.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_cell_is_a_command() {
        let text = "seed = 7\n[run]\nclosed = 6\nduration = \"5s\"\n".to_owned()
            + SMALL
            + "url-options = \"host=any\"\noption = { sync-wait = \"1\" }\n\
               set = [\"dataset.fields=1\"]\nrun = { duration = \"9s\", force = true }\n";
        let file = read(&text).expect("it is valid");
        let cell = &file.cells[0];
        let words = cell.words(&file.run, file.seed, Path::new("/d")).join(" ");
        assert_eq!(
            words,
            "bench ycsb-a --up galera:3 --option sync-wait=1 --url-options host=any --set \
             dataset.fields=1 --closed 6 --duration 9s --force --seed 7"
        );
        assert_eq!((file.name_of(Path::new("x/a.toml")).as_str(), cell.tries), ("a", 1));
        assert!(is_of_anomalies(&text) && !is_of_anomalies("[[store]]\n"));
    }

    #[test]
    fn a_store_with_a_url_has_a_directory_of_each_run() {
        let text = SMALL.replace("up = \"galera:3\"", "url = \"sqlite:{dir}/db\"");
        let words =
            read(&text).expect("valid").cells[0].words(&toml::Table::new(), 1, "/d".as_ref());
        assert!(words.contains(&"sqlite:/d/db".to_owned()), "{words:?}");
    }

    #[test]
    fn actions_are_the_fault_unless_words_say_it_better() {
        let actions = "run = { at = \"5s: kill node 1\" }\n";
        assert_eq!(
            read(&format!("{SMALL}{actions}")).expect("valid").cells[0].fault(),
            "5s: kill node 1"
        );
        let named = format!("{SMALL}{actions}fault = \"crash\"\n");
        assert_eq!(read(&named).expect("valid").cells[0].fault(), "crash");
    }

    #[test]
    fn what_is_invalid_says_why() {
        for (text, part) in [
            ("title = \"x\"\ncell = []\n".to_owned(), "no cell"),
            (format!("titel = \"x\"\n{SMALL}"), "unknown key \"titel\"; did you mean"),
            (SMALL.replace("linearizable", "linearisable"), "did you mean \"linearizable\"?"),
            (SMALL.replace("[\"linearizable\"]", "[]"), "it predicts nothing"),
            (format!("{SMALL}keeps = [\"linearizable\"]\n"), "both violated and kept"),
            (format!("{SMALL}url = \"memory:\"\n"), "say either up"),
            (format!("{SMALL}tries = 0\n"), "runs nothing"),
            (format!("{SMALL}run = {{ durration = \"1s\" }}\n"), "did you mean duration?"),
            (format!("{SMALL}run = {{ seed = 1 }}\n"), "seed is no setting here"),
            (format!("{SMALL}{SMALL}"), "two cells c"),
            (SMALL.replace("\"c\"", "\"../c\""), "small letters"),
        ] {
            let reported = read(&text).expect_err(&text);
            assert!(reported.contains(part), "{text}: {reported}");
        }
    }

    #[test]
    fn what_a_study_decides_are_settings_that_exist() {
        for name in DECIDED {
            assert!(KEYS.iter().any(|key| key.name == name), "{name}");
        }
    }
}
