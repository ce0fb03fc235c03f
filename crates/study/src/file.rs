//! A study file: workloads, stores, loads and repetitions.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use assay_lab::GivenOptions;
use assay_model::{closest, named_enum, quantity};
use schemars::JsonSchema;
use serde::de::{Error as _, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::command_line::{CommandLine, CommandSetting};
use crate::error::{StudyError, invalid};

/// The commands of a cell.
const LOAD: &str = "load";
const RUN: &str = "run";

/// A study as its author writes it. `docs/study.md` describes every key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StudyFile {
    /// Its name, from which that of its directory is made; the file's own without its ending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is about, in one line.
    #[serde(default)]
    pub title: String,
    /// What a reader of the page should know of it.
    #[serde(default)]
    pub about: String,
    /// How often each cell is run, at least once.
    #[serde(default = "one", deserialize_with = "amount")]
    #[schemars(with = "Amount")]
    pub repetitions: u64,
    /// The number from which the order and everything random in the runs follow.
    #[serde(default = "one", deserialize_with = "amount")]
    #[schemars(with = "Amount")]
    pub seed: u64,
    /// How many nodes the stores that the study starts have, one after the other.
    #[serde(default)]
    pub nodes: Vec<u64>,
    /// Records of the data set, instead of the workloads' own.
    #[serde(default, deserialize_with = "perhaps", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Amount>")]
    pub records: Option<u64>,
    /// Operations of each run of a closed loop, instead of the workloads' own.
    #[serde(default, deserialize_with = "perhaps", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Amount>")]
    pub operations: Option<u64>,
    /// How long a cell may take before it is given up.
    #[serde(default = "timeout")]
    pub give_up: String,
    /// Workloads by name: built-in workloads, or files.
    #[serde(default)]
    pub workloads: Vec<String>,
    /// Workloads with changes.
    #[serde(default, rename = "workload")]
    pub workload: Vec<WorkloadSection>,
    /// The loads; by default one client that waits for each response.
    #[serde(default)]
    pub load: Vec<StudyLoadSection>,
    /// The stores.
    #[serde(rename = "store")]
    pub stores: Vec<StudyStoreSection>,
    /// How stores are filled.
    #[serde(default)]
    pub fill: FillSection,
    /// Settings of all runs: flags of `assay run` without their dashes.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub run: toml::Table,
    /// How the figures of others that are shown beside ours came about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "beside")]
    pub published: Option<PublishedSection>,
}

/// A workload with changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WorkloadSection {
    /// Its name in the study.
    pub name: String,
    /// A built-in workload, or a file, searched next to the study file first.
    pub spec: String,
    /// Changes of keys: `dataset.fields=1`.
    #[serde(default)]
    pub set: Vec<String>,
    /// Records of its data set, instead of the study's.
    #[serde(default, deserialize_with = "perhaps", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Amount>")]
    pub records: Option<u64>,
    /// Operations of its runs, instead of the study's.
    #[serde(default, deserialize_with = "perhaps", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Amount>")]
    pub operations: Option<u64>,
}

/// A load, or several that differ in one number.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename = "LoadSection", deny_unknown_fields, rename_all = "kebab-case")]
pub struct StudyLoadSection {
    /// Closed loop: numbers of clients that wait for their answers.
    #[serde(default)]
    pub closed: Vec<u32>,
    /// Open loop: rates, such as `1k/s`.
    #[serde(default)]
    pub rate: Vec<String>,
    /// How long to run; a closed loop without it ends after a number of operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<String>,
    /// Issued and recorded before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<String>,
    /// Operations of its runs, instead of those of study or workload.
    #[serde(default, deserialize_with = "perhaps", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Amount>")]
    pub operations: Option<u64>,
}

/// A store: one that the study starts, or one with a URL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename = "StoreSection", deny_unknown_fields, rename_all = "kebab-case")]
pub struct StudyStoreSection {
    /// Its name in the study.
    pub name: String,
    /// The recipe of the lab that starts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<String>,
    /// Its URL; `{dir}` in it is a directory of each run alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Its version, of those that the lab has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its numbers of nodes, instead of the study's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Vec<u64>>,
    /// What is chosen of the lab's options.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>")]
    pub option: GivenOptions,
    /// What a read or write waits for, in the store's own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consistency: Option<String>,
    /// Options of its URL, for a store that the lab starts: `read=serializable&replication=3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url_options: Option<String>,
    /// What must be said of it wherever it is shown, such as that it is a stand-in.
    #[serde(default)]
    pub label: String,
    /// Whether it ends with the client process, so that each run loads it itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volatile: Option<bool>,
    /// Settings of its runs, over those of all runs.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub run: toml::Table,
    /// Cells that it is left out of.
    #[serde(default)]
    pub skip: Vec<SkipSection>,
}

/// Cells that a store is left out of: those that fit everything that is said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SkipSection {
    /// Of this workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Of this load, by its name as `--plan` shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<String>,
    /// Of this number of nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u64>,
    /// Why; shown on the page.
    pub reason: String,
}

/// How stores are filled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct FillSection {
    /// Clients that fill.
    pub closed: u32,
    /// When a store is filled anew.
    pub when: Refill,
}

named_enum! {
    /// When a store is filled anew.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum Refill {
        /// Before every run.
        #[default]
        EachRun => "each-run",
        /// When the run before has inserted or deleted, used another data set, or failed.
        WhenChanged => "when-changed",
        /// The same, but each run deletes what it has inserted, after it was measured.
        #[serde(alias = "undo")]
        CleanUp => "clean-up",
    }
}

/// How the figures of others came about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PublishedSection {
    /// Where they are from, in a few words.
    pub name: String,
    /// Operations of each of their runs.
    #[serde(deserialize_with = "amount")]
    #[schemars(with = "Amount")]
    pub operations: u64,
    /// Clients of their closed loop.
    #[serde(deserialize_with = "amount")]
    #[schemars(with = "Amount")]
    pub clients: u64,
    /// Their names of our workloads: `ycsb-a = "A"`.
    #[serde(default)]
    pub workloads: BTreeMap<String, String>,
}

/// A whole number, or text with a unit such as `100k`.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "only its schema is of use")]
enum Amount {
    Number(u64),
    Text(String),
}

impl Default for FillSection {
    fn default() -> FillSection {
        FillSection { closed: 16, when: Refill::EachRun }
    }
}

const fn one() -> u64 {
    1
}

fn timeout() -> String {
    "2h".to_owned()
}

fn amount<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    struct Written;
    impl Visitor<'_> for Written {
        type Value = u64;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a whole number such as 4096 or \"100k\"")
        }

        fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<u64, E> {
            u64::try_from(number).map_err(|_| E::custom(format!("{number} is below zero")))
        }

        fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<u64, E> {
            Ok(number)
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<u64, E> {
            quantity::whole(text).ok_or_else(|| {
                E::custom(format!("{text:?} is no whole number; write 4096 or \"100k\""))
            })
        }
    }
    from.deserialize_any(Written)
}

fn perhaps<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    match amount(from)? {
        0 => Err(D::Error::custom("nothing would be issued; give at least 1")),
        number => Ok(Some(number)),
    }
}

/// Settings that a study decides itself, so that its file cannot.
pub const DECIDED: [&str; 37] = [
    "arrival-seed",
    "at",
    "run-dir",
    "closed",
    "color",
    "consistency",
    "disk",
    "duration",
    "every",
    "format",
    "install",
    "lab",
    "lab-dir",
    "live",
    "nemesis",
    "network",
    "operations",
    "option",
    "output",
    "port",
    "port-any",
    "proxy",
    "proxy-peers",
    "quiet",
    "rate",
    "records",
    "repeat",
    "repeat-seeds",
    "require-hallmark",
    "runs-dir",
    "seed",
    "target",
    "clean-up-inserts",
    "up",
    "url-options",
    "version",
    "warm-up",
];

/// The name of a workload given by name alone: a built-in workload, or a file.
pub fn name_of_spec(spec: &str) -> &str {
    let path = Path::new(spec);
    match path.extension() {
        Some(_) => path.file_stem().and_then(|stem| stem.to_str()).unwrap_or(spec),
        None => spec,
    }
}

impl StudyFile {
    /// Whether one of its workloads has this name.
    pub fn names_workload(&self, name: &str) -> bool {
        let own = self.workload.iter().map(|section| section.name.as_str());
        let named = self.workloads.iter().map(|spec| name_of_spec(spec));
        named.chain(own).any(|known| known == name)
    }

    /// Reads a study file.
    ///
    /// # Errors
    /// If it cannot be read, has an unknown key, or a value is invalid.
    pub fn read(path: &Path, command_line: &CommandLine) -> Result<StudyFile, StudyError> {
        let displayed = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| invalid(format!("cannot read the study file {displayed}: {error}")))?;
        StudyFile::parse(&text, path, command_line)
    }

    /// Reads the text of the study file `path`.
    ///
    /// # Errors
    /// If it has an unknown key, or a value is invalid.
    pub fn parse(
        text: &str,
        path: &Path,
        command_line: &CommandLine,
    ) -> Result<StudyFile, StudyError> {
        let displayed = path.display().to_string();
        let mut file: StudyFile =
            toml::from_str(text).map_err(|error| invalid(message(&error, text, &displayed)))?;
        file.check(path, command_line)?;
        let of_stores = file.stores.iter_mut().map(|store| &mut store.run);
        for settings in of_stores.chain([&mut file.run]) {
            let names: Vec<&str> = settings.keys().map(String::as_str).collect();
            (command_line.require_one_name)(&displayed, &names).map_err(invalid)?;
            let settings_now = std::mem::take(settings).into_iter();
            let renamed = |name: &str| command_line.current(name).to_owned();
            settings.extend(settings_now.map(|(name, value)| (renamed(&name), value)));
        }
        Ok(file)
    }

    /// Its name.
    pub fn name_of(&self, path: &Path) -> String {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("study");
        self.name.clone().unwrap_or_else(|| stem.to_owned())
    }

    /// The same without secrets.
    pub fn without_secrets(&self, command_line: &CommandLine) -> StudyFile {
        let display = |flag: &str, value: &str| command_line.display(flag, value);
        let mut file = self.clone();
        let clean = |settings: &mut toml::Table| {
            for (name, value) in settings.iter_mut() {
                if let toml::Value::String(text) = value {
                    *text = display(name, text);
                }
            }
        };
        clean(&mut file.run);
        for store in &mut file.stores {
            clean(&mut store.run);
            store.url = store.url.as_deref().map(|url| display("target", url));
            let options = store.url_options.as_deref();
            store.url_options = options.map(|options| display("url-options", options));
            let secrets =
                store.option.0.iter_mut().filter(|(name, _)| command_line.names_a_secret(name));
            secrets.for_each(|(_, value)| *value = "…".to_owned());
        }
        file
    }

    /// The JSON Schema of a study file.
    pub fn json_schema() -> serde_json::Value {
        schemars::schema_for!(StudyFile).to_value()
    }

    fn check(&self, path: &Path, command_line: &CommandLine) -> Result<(), StudyError> {
        let wrong = |reason: &str| invalid(format!("{}: {reason}", path.display()));
        if self.repetitions == 0 {
            return Err(wrong("repetitions = 0: nothing would be issued; give at least 1"));
        }
        if self.workloads.is_empty() && self.workload.is_empty() {
            return Err(wrong("no workload: write workloads = [\"ycsb-a\"], for example"));
        }
        if self.stores.is_empty() {
            return Err(wrong("no store: write a section [[store]] for each"));
        }
        check_settings(&self.run, "[run]", command_line).map_err(|reason| wrong(&reason))?;
        for store in &self.stores {
            let name = &store.name;
            check_settings(&store.run, &format!("[store.run] of {name}"), command_line)
                .map_err(|reason| wrong(&reason))?;
            match (&store.up, &store.url) {
                (Some(_), None) => {}
                (None, Some(_)) => check_url_only(store).map_err(|reason| wrong(&reason))?,
                _ => {
                    let reason = format!(
                        "store {name}: say either up = \"RECIPE\", which is started here, or url = \
                         \"URL\""
                    );
                    return Err(wrong(&reason));
                }
            }
        }
        for load in &self.load {
            check_load(load).map_err(|reason| wrong(&reason))?;
        }
        Ok(())
    }
}

/// What only a store that is started here can have.
fn check_url_only(store: &StudyStoreSection) -> Result<(), String> {
    let wrong = [
        ("version", store.version.is_some()),
        ("nodes", store.nodes.is_some()),
        ("option", !store.option.0.is_empty()),
        ("url-options", store.url_options.is_some()),
    ];
    match wrong.into_iter().find(|(_, is_there)| *is_there) {
        Some((key, _)) => Err(format!(
            "store {}: {key} is for stores that are started here (up), not for those with a url",
            store.name
        )),
        None => Ok(()),
    }
}

fn check_load(load: &StudyLoadSection) -> Result<(), String> {
    if load.closed.is_empty() == load.rate.is_empty() {
        return Err("[[load]]: say either closed = [CLIENTS] or rate = [\"RATE\"]".to_owned());
    }
    if load.closed.contains(&0) {
        return Err("[[load]]: closed = 0 issues nothing; give at least 1 client".to_owned());
    }
    if !load.rate.is_empty() && load.duration.is_none() && load.operations.is_none() {
        return Err("[[load]]: a rate needs a duration, such as \"30s\", or operations".to_owned());
    }
    Ok(())
}

/// Settings of runs that exist, that a study does not decide itself, and that say something.
fn check_settings(
    settings: &toml::Table,
    place: &str,
    command_line: &CommandLine,
) -> Result<(), String> {
    for (name, value) in settings {
        if DECIDED.contains(&command_line.current(name)) {
            return Err(format!(
                "{place}: {name} is not for settings: the study's other keys decide it"
            ));
        }
        let Some(setting) = setting(command_line, name) else {
            let all = command_line.settings_of(RUN).map(|setting| setting.name);
            let hint = match closest(name, all.filter(|name| !DECIDED.contains(name))) {
                Some(near) => format!("did you mean {near}?"),
                None => "`assay run --help` lists them".to_owned(),
            };
            return Err(format!("{place}: there is no setting {name}; {hint}"));
        };
        match (setting.is_switch, value) {
            (true, toml::Value::Boolean(_)) => {}
            (true, _) => {
                return Err(format!("{place}: {name} is a switch: write {name} = true or false"));
            }
            (false, toml::Value::Table(_)) => {
                return Err(format!("{place}: {name} is one value, no section"));
            }
            (false, value) if command_line.text_of(value).is_empty() => {
                return Err(format!("{place}: {name} is empty; leave it out, or say what it is"));
            }
            (false, _) => {}
        }
    }
    Ok(())
}

/// The setting of runs that is called `name`.
fn setting<'a>(command_line: &'a CommandLine, name: &str) -> Option<&'a CommandSetting> {
    command_line.setting(RUN, name)
}

/// Whether a setting's value is the name of a file, whose content counts.
pub fn names_a_file(command_line: &CommandLine, name: &str) -> bool {
    setting(command_line, name).is_some_and(|setting| setting.is_file)
}

/// Whether a setting of the runs holds while their store is filled, too.
pub fn is_of_fill_too(command_line: &CommandLine, name: &str) -> bool {
    let is_of_load = |setting: &CommandSetting| setting.verbs.contains(&LOAD);
    let is_of_load = setting(command_line, name).is_some_and(is_of_load);
    is_of_load && !DECIDED.contains(&name)
}

/// A setting as the flag's value, empty for a switch; `None` for a switch that is off.
pub fn flag(command_line: &CommandLine, name: &str, value: &toml::Value) -> Option<String> {
    match setting(command_line, name).map(|setting| setting.is_switch) {
        Some(true) => (value.as_bool() == Some(true)).then(String::new),
        _ => Some(command_line.text_of(value)),
    }
}

/// What is wrong, with the line, and what was most likely meant.
pub fn message(error: &toml::de::Error, text: &str, origin: &str) -> String {
    let line = error.span().map_or(String::new(), |span| {
        let before = &text.as_bytes()[..span.start.min(text.len())];
        format!(":{}", before.iter().filter(|byte| **byte == b'\n').count() + 1)
    });
    let message = error.message();
    let mut quoted = message.split('`').skip(1).step_by(2);
    let what = match message {
        _ if message.starts_with("unknown field") => "key",
        _ if message.starts_with("unknown variant") => "value",
        _ => return format!("{origin}{line}: {}", message.replace('\n', " ")),
    };
    let name = quoted.next().unwrap_or_default();
    let hint = closest(name, quoted).map(|near| format!("; did you mean {near:?}?"));
    format!("{origin}{line}: unknown {what} {name:?}{}", hint.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_has_every_key() {
        let schema = StudyFile::json_schema().to_string();
        for key in ["url-options", "give-up", "\"store\"", "warm-up", "repetitions"] {
            assert!(schema.contains(key), "{key}: {schema}");
        }
    }
}
