//! Settings of a command from all the places where they can be given, with their origin.

mod keys;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use assay_model::Nanos;
use clap::ArgMatches;
use clap::parser::ValueSource;

use crate::exit::usage;
use crate::units;

pub use keys::{
    ALIASES, KEYS, Key, OF_COORDINATOR, Shape, Verb, current, require_one_name, two_names,
};

/// Names of environment variables begin with this.
const ENVIRONMENT: &str = "ASSAY_";
/// A variable of that name which is no setting: a store reads it.
const OF_STORES: &str = "ASSAY_JVM_BRIDGE";

/// The file in the current directory that is read if it is there.
const LOCAL_FILE: &str = "assay.toml";

/// A setting, then those that express the same in another way: if its origin takes precedence, they
/// are ignored.
const RIVALS: [(&str, &[&str]); 11] = [
    ("rate", &["closed", "target-throughput", "speed", "think"]),
    ("speed", &["closed", "target-throughput", "rate", "think"]),
    ("closed", &["arrivals", "rate", "speed"]),
    ("target-throughput", &["arrivals", "rate", "speed"]),
    ("think", &["arrivals", "rate", "speed"]),
    ("duration", &["operations"]),
    ("operations", &["duration"]),
    ("target", &["lab", "up"]),
    ("lab", &["target", "up"]),
    ("up", &["lab", "target"]),
    ("runs-dir", &["run-dir"]),
];

/// The section of files that changes thresholds of the hallmark.
pub const HALLMARK: &str = "hallmark";

/// Where a setting came from, the strongest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A flag of this command.
    Flag,
    /// An environment variable.
    Environment(String),
    /// A configuration file.
    File(PathBuf),
    /// The default.
    Default,
}

impl Origin {
    /// Its precedence.
    const fn rank(&self) -> u8 {
        match self {
            Origin::Flag => 3,
            Origin::Environment(_) => 2,
            Origin::File(_) => 1,
            Origin::Default => 0,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Flag => write!(f, "flag"),
            Origin::Environment(name) => write!(f, "environment {name}"),
            Origin::File(path) => write!(f, "{}", path.display()),
            Origin::Default => write!(f, "default"),
        }
    }
}

/// A setting's text with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingValue {
    /// As it was written.
    pub text: String,
    /// Where.
    pub origin: Origin,
}

/// All settings of a command that have a value.
#[derive(Clone, Debug, Default)]
pub struct Options {
    values: BTreeMap<&'static str, SettingValue>,
    hallmark: Vec<(PathBuf, toml::Table)>,
    /// Whether they are those of an agent, whose coordinator has its own.
    is_share: bool,
}

impl Options {
    /// From now on these are the settings of an agent: what a spec says that is the coordinator's
    /// affair is left to it.
    pub fn become_share(&mut self) {
        self.is_share = true;
    }

    /// Where run directories are kept.
    pub fn runs_dir(&self) -> &Path {
        Path::new(self.text("runs-dir").unwrap_or("runs"))
    }

    /// Where the run directory of this run is to be, if that was said.
    pub fn run_dir(&self) -> Option<&str> {
        self.text("run-dir")
    }

    /// The URL of the store, if one was given.
    pub fn target(&self) -> Option<&str> {
        self.text("target")
    }

    /// The rate of the open loop as it was written, if there is one.
    pub fn rate_text(&self) -> Option<&str> {
        self.text("rate")
    }

    /// The seed, if one was given.
    ///
    /// # Errors
    /// If it is no whole number.
    pub fn seed(&self) -> Result<Option<u64>> {
        self.count("seed")
    }

    /// Whether the loaded data is removed when the run is over.
    ///
    /// # Errors
    /// If it is no truth value.
    pub fn cleans_up(&self) -> Result<bool> {
        self.switch("clean-up")
    }

    /// Whether doubts about the data set are passed over.
    ///
    /// # Errors
    /// If it is no truth value.
    pub fn forces(&self) -> Result<bool> {
        self.switch("force")
    }

    /// Whether what an earlier load put there is removed first.
    ///
    /// # Errors
    /// If it is no truth value.
    pub fn begins_afresh(&self) -> Result<bool> {
        self.switch("fresh")
    }

    /// Whether all agents of a fleet are processes of this machine.
    ///
    /// # Errors
    /// If it is no truth value.
    pub fn is_local(&self) -> Result<bool> {
        self.switch("local")
    }

    /// Whether this goes on with something that was interrupted.
    ///
    /// # Errors
    /// If it is no truth value.
    pub fn resumes(&self) -> Result<bool> {
        self.switch("resume")
    }

    /// Whether what is in the way is removed first, whoever made it.
    ///
    /// # Errors
    /// If it is no truth value.
    pub fn replaces(&self) -> Result<bool> {
        self.switch("replace")
    }

    /// Gathers flag, environment, `--config`, `./assay.toml`, the user's file and defaults;
    /// `--no-config` leaves out settings that were not typed.
    ///
    /// # Errors
    /// If a file cannot be read, or names a setting that does not exist.
    pub fn gather(matches: &ArgMatches) -> Result<Options> {
        let is_typed_only = matches!(matches.try_get_one::<bool>("no-config"), Ok(Some(true)));
        let environment: Vec<(String, String)> = match is_typed_only {
            true => Vec::new(),
            false => environment()?,
        };
        let mut options = Options::default();
        options.add_defaults();
        let user_file = user_file(&environment);
        let files = user_file.into_iter().chain([PathBuf::from(LOCAL_FILE)]);
        for path in files.filter(|_| !is_typed_only) {
            if path.is_file() {
                options.add_file(&path)?;
            }
        }
        if let Ok(Some(paths)) = matches.try_get_many::<String>("config") {
            for path in paths {
                options.add_file(Path::new(path))?;
            }
        }
        options.add_environment(&environment)?;
        options.add_flags(matches);
        options.heed_the_strongest();
        Ok(options)
    }

    /// Removes a setting that a rival of higher precedence contradicts.
    fn heed_the_strongest(&mut self) {
        let weaker = RIVALS.iter().flat_map(|(name, rivals)| {
            rivals.iter().filter(|rival| self.outranks(name, rival)).copied()
        });
        let weaker: Vec<&str> = weaker.collect();
        weaker.into_iter().for_each(|name| self.forget(name));
    }

    /// Whether `name` has higher precedence than `other`.
    pub fn outranks(&self, name: &str, other: &str) -> bool {
        let rank = |name| self.values.get(name).map_or(0, |given| given.origin.rank());
        rank(name) > rank(other)
    }

    /// Goes back to the default of `name`, unless a flag of this command gave it.
    pub fn forget(&mut self, name: &str) {
        if self.is_typed(name) {
            return;
        }
        self.values.remove(name);
        let key = KEYS.iter().find(|key| key.name == name);
        if let Some((name, default)) = key.and_then(|key| Some((key.name, key.default?))) {
            self.set(name, default, Origin::Default);
        }
    }

    /// What a command with these flags and `--no-config` has, a switch with an empty value.
    pub fn typed<'a>(flags: impl Iterator<Item = (&'a str, &'a str)>) -> Options {
        let mut options = Options::default();
        options.add_defaults();
        for (name, value) in flags {
            let name = current(name);
            if let Some(key) = KEYS.iter().find(|key| key.name == name) {
                let text = if key.shape == Shape::Switch { "true" } else { value };
                options.set(key.name, text, Origin::Flag);
            }
        }
        options
    }

    fn add_defaults(&mut self) {
        for key in KEYS {
            if let Some(default) = key.default {
                self.set(key.name, default, Origin::Default);
            }
        }
    }

    fn add_file(&mut self, path: &Path) -> Result<()> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| usage(format!("cannot read {}: {error}", path.display())))?;
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let line = error.span().map_or(0, |span| text[..span.start].matches('\n').count()) + 1;
            usage(format!("{}:{line} is no TOML: {}", path.display(), error.message()))
        })?;
        require_one_name(&path.display().to_string(), table.keys().map(String::as_str))?;
        for (name, value) in table {
            if let (HALLMARK, toml::Value::Table(thresholds)) = (name.as_str(), &value) {
                self.hallmark.push((path.to_owned(), thresholds.clone()));
                continue;
            }
            let key = find(&name, &path.display().to_string())?;
            self.set(key.name, &text_of(value), Origin::File(path.to_owned()));
        }
        Ok(())
    }

    /// Takes the settings of the spec in `path`, with the lowest precedence.
    ///
    /// # Errors
    /// If it names a setting that does not exist.
    pub fn add_beneath(&mut self, path: &str, settings: &toml::Table) -> Result<()> {
        let rivals = RIVALS.iter().filter(|(name, _)| self.given(name).is_some());
        let beaten: Vec<&str> = rivals.flat_map(|(_, rivals)| rivals.iter().copied()).collect();
        let place = format!("{path}, section [run]");
        require_one_name(&place, settings.keys().map(String::as_str))?;
        for (name, value) in settings {
            let key = find(name, &place)?;
            if self.is_share && OF_COORDINATOR.contains(&key.name) {
                continue;
            }
            if self.given(key.name).is_none() && !beaten.contains(&key.name) {
                let origin = Origin::File(PathBuf::from(path));
                self.set(key.name, &text_of(value.clone()), origin);
            }
        }
        Ok(())
    }

    fn add_environment(&mut self, environment: &[(String, String)]) -> Result<()> {
        let variables = environment.iter().filter(|(name, _)| name != OF_STORES);
        let settings: Vec<(String, &str, &str)> = variables
            .filter_map(|(variable, text)| {
                let name = variable.strip_prefix(ENVIRONMENT)?.to_lowercase().replace('_', "-");
                Some((name, variable.as_str(), text.as_str()))
            })
            .collect();
        require_one_name("the environment", settings.iter().map(|(name, ..)| name.as_str()))?;
        for (name, variable, text) in settings {
            let key = find(&name, variable)?;
            self.set(key.name, text, Origin::Environment(variable.to_owned()));
        }
        Ok(())
    }

    fn add_flags(&mut self, matches: &ArgMatches) {
        for key in KEYS {
            let given = match key.shape {
                Shape::Text => matches.try_get_one::<String>(key.name).ok().flatten().cloned(),
                Shape::List => {
                    let texts = matches.try_get_many::<String>(key.name).ok().flatten();
                    texts.map(|texts| texts.cloned().collect::<Vec<_>>().join("; "))
                }
                Shape::Switch => {
                    let is_typed = matches.try_contains_id(key.name).unwrap_or(false)
                        && matches.value_source(key.name) == Some(ValueSource::CommandLine);
                    is_typed.then(|| "true".to_owned())
                }
            };
            if let Some(text) = given {
                self.set(key.name, &text, Origin::Flag);
            }
        }
    }

    /// Thresholds of the hallmark that files change, each file with its own, the highest precedence
    /// last.
    pub fn hallmark(&self) -> &[(PathBuf, toml::Table)] {
        &self.hallmark
    }

    /// Sets `name`, which must be one of [`KEYS`].
    pub fn set(&mut self, name: &'static str, text: &str, origin: Origin) {
        self.values.insert(name, SettingValue { text: text.to_owned(), origin });
    }

    /// All settings with their values, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &SettingValue)> {
        self.values.iter().map(|(name, given)| (*name, given))
    }

    /// The text of a setting.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(|given| given.text.as_str())
    }

    /// The texts of several settings.
    pub fn texts<const N: usize>(&self, names: [&str; N]) -> [Option<&str>; N] {
        names.map(|name| self.text(name))
    }

    /// The text of a given setting, not its default.
    pub fn given(&self, name: &str) -> Option<&str> {
        self.values
            .get(name)
            .filter(|given| given.origin != Origin::Default)
            .map(|given| given.text.as_str())
    }

    /// Whether a flag of this command gave a setting.
    pub fn is_typed(&self, name: &str) -> bool {
        self.values.get(name).is_some_and(|given| given.origin == Origin::Flag)
    }

    /// Whether no progress is to be shown.
    ///
    /// # Errors
    /// If the setting is neither true nor false.
    pub fn is_quiet(&self) -> Result<bool> {
        self.switch("quiet")
    }

    /// Whether a switch is on.
    ///
    /// # Errors
    /// If its text is neither `true` nor `false`.
    pub fn switch(&self, name: &str) -> Result<bool> {
        match self.text(name) {
            None | Some("false" | "0") => Ok(false),
            Some("true" | "1") => Ok(true),
            Some(other) => Err(self.wrong(name, &format!("{other:?} is neither true nor false"))),
        }
    }

    /// A whole number.
    ///
    /// # Errors
    /// If its text is none.
    pub fn count(&self, name: &str) -> Result<Option<u64>> {
        self.parsed(name, units::count)
    }

    /// A length of time.
    ///
    /// # Errors
    /// If its text is none.
    pub fn duration(&self, name: &str) -> Result<Option<Nanos>> {
        self.parsed(name, units::duration)
    }

    /// A rate.
    ///
    /// # Errors
    /// If its text is none, or not above zero.
    pub fn rate(&self, name: &str) -> Result<Option<f64>> {
        self.parsed(name, units::rate)
    }

    fn parsed<T>(&self, name: &str, parse: fn(&str) -> Result<T>) -> Result<Option<T>> {
        match self.text(name) {
            None => Ok(None),
            Some(text) => match parse(text) {
                Ok(value) => Ok(Some(value)),
                Err(error) => Err(self.wrong(name, &error.to_string())),
            },
        }
    }

    /// One of a few words.
    ///
    /// # Errors
    /// If its text is none of them.
    pub fn choice<T: Copy>(&self, name: &str, choices: &[(&str, T)]) -> Result<T> {
        let text = self.text(name).with_context(|| format!("setting {name} has no value"))?;
        choices.iter().find(|(word, _)| *word == text).map(|(_, value)| *value).ok_or_else(|| {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            self.wrong(name, &format!("{text:?} is none of {}", words.join(", ")))
        })
    }

    /// A usage error about a setting, with its origin.
    pub fn wrong(&self, name: &str, reason: &str) -> anyhow::Error {
        match self.values.get(name).map(|given| &given.origin) {
            None | Some(Origin::Flag | Origin::Default) => usage(format!("--{name}: {reason}")),
            Some(origin) => usage(format!("{name} (from {origin}): {reason}")),
        }
    }
}

/// A setting as it would be typed; of a list, one after the other.
pub fn text_of(value: toml::Value) -> String {
    match value {
        toml::Value::String(text) => text,
        toml::Value::Array(values) => {
            values.into_iter().map(text_of).collect::<Vec<_>>().join("; ")
        }
        other => other.to_string(),
    }
}

fn find(name: &str, place: &str) -> Result<&'static Key> {
    if let Some(key) = KEYS.iter().find(|key| key.name == current(name)) {
        return Ok(key);
    }
    let hint = match assay_model::closest(name, KEYS.iter().map(|key| key.name)) {
        Some(near) => format!("did you mean {near}?"),
        None => "`assay config show` lists all settings".to_owned(),
    };
    Err(usage(format!("{place}: there is no setting {name}; {hint}")))
}

/// The environment as far as it is text; what others put there is no concern of ours.
fn environment() -> Result<Vec<(String, String)>> {
    let mut environment = Vec::new();
    for (name, value) in std::env::vars_os() {
        let Ok(name) = name.into_string() else { continue };
        match value.into_string() {
            Ok(value) => environment.push((name, value)),
            Err(_) if name.starts_with(ENVIRONMENT) => {
                return Err(usage(format!("{name} in the environment is no UTF-8 text")));
            }
            Err(_) => {}
        }
    }
    Ok(environment)
}

fn user_file(environment: &[(String, String)]) -> Option<PathBuf> {
    let get = |name: &str| {
        let found = environment.iter().find(|(variable, _)| variable == name);
        found.map(|(_, value)| PathBuf::from(value)).filter(|path| path.is_absolute())
    };
    let home = get("XDG_CONFIG_HOME").or_else(|| get("HOME").map(|home| home.join(".config")))?;
    Some(home.join("assay").join("config.toml"))
}

#[cfg(test)]
mod tests;
