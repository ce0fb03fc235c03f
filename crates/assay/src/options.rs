//! Settings of a command from all the places where they can be given, with their origin.

mod setting;
mod table;
mod values;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::ArgMatches;
use clap::parser::ValueSource;

use crate::exit::usage;

pub use setting::{
    Affair, Key, Origin, Settable, SettingText, SettingValue, Shape, TypedSetting, Verb,
};
pub use table::{KEYS, Options, aliases, current, require_one_name, two_names};
pub use values::{RepeatSeeds, StoreNodes, ViaServer, When, one_of};

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

/// Texts by the names of their settings, the strongest of each, with their origin.
type Written = BTreeMap<&'static str, (String, Origin)>;

impl Options {
    /// From now on these are the settings of an agent: what a spec says that is the coordinator's
    /// affair is left to it.
    pub fn become_share(&mut self) {
        self.is_share = true;
    }

    /// Where run directories are kept.
    pub fn runs_dir(&self) -> &Path {
        self.runs_dir.value().map_or(Path::new("runs"), PathBuf::as_path)
    }

    /// Where the run directory of this run is to be, if that was said.
    pub fn run_dir(&self) -> Option<&Path> {
        self.run_dir.value().map(PathBuf::as_path)
    }

    /// The URL of the store, if one was given.
    pub fn target(&self) -> Option<&str> {
        self.target.text()
    }

    /// Gathers flag, environment, `--config`, `./assay.toml`, the user's file and defaults;
    /// `--no-config` leaves out settings that were not typed.
    pub fn gather(matches: &ArgMatches) -> Result<Options> {
        let is_typed_only = matches!(matches.try_get_one::<bool>("no-config"), Ok(Some(true)));
        let environment: Vec<(String, String)> = match is_typed_only {
            true => Vec::new(),
            false => environment()?,
        };
        let (mut written, mut hallmark) = (Written::new(), Vec::new());
        let user_file = user_file(&environment);
        let files = user_file.into_iter().chain([PathBuf::from(LOCAL_FILE)]);
        let files = files.filter(|path| !is_typed_only && path.is_file());
        let named = matches.try_get_many::<String>("config").ok().flatten();
        for path in files.chain(named.into_iter().flatten().map(PathBuf::from)) {
            hallmark.extend(add_file(&mut written, &path)?);
        }
        add_environment(&mut written, &environment)?;
        add_flags(&mut written, matches);
        Ok(Options { hallmark, ..Options::of(written)? })
    }

    /// What a command with these flags and `--no-config` has, a switch with an empty value.
    pub fn typed<'a>(flags: impl Iterator<Item = (&'a str, &'a str)>) -> Result<Options> {
        let mut written = Written::new();
        for (name, value) in flags {
            let name = current(name);
            if let Some(key) = KEYS.iter().find(|key| key.name == name) {
                let text = if key.shape == Shape::Switch { "true" } else { value };
                written.insert(key.name, (text.to_owned(), Origin::Flag));
            }
        }
        Options::of(written)
    }

    /// The settings that were written, but for those that a rival of higher precedence contradicts.
    fn of(written: Written) -> Result<Options> {
        let mut options = Options::default();
        for (name, (text, origin)) in written {
            if let Some(setting) = options.named(name) {
                setting.set(&text, origin)?;
            }
        }
        let weaker = RIVALS.iter().flat_map(|(name, rivals)| {
            rivals.iter().filter(|rival| options.outranks(name, rival)).copied()
        });
        let weaker: Vec<&str> = weaker.collect();
        for name in weaker {
            if let Some(setting) = options.named(name) {
                setting.forget();
            }
        }
        Ok(options)
    }

    /// Takes the settings of the spec in `path`, with the lowest precedence.
    pub fn add_beneath(&mut self, path: &str, settings: &toml::Table) -> Result<()> {
        let is_given = |name| self.written(name).is_some_and(SettingText::is_given);
        let rivals = RIVALS.iter().filter(|(name, _)| is_given(name));
        let beaten: Vec<&str> = rivals.flat_map(|(_, rivals)| rivals.iter().copied()).collect();
        let place = format!("{path}, section [run]");
        require_one_name(&place, settings.keys().map(String::as_str))?;
        for (name, value) in settings {
            let key = find(name, &place)?;
            if self.is_share && !key.is_shared() || beaten.contains(&key.name) {
                continue;
            }
            if let Some(setting) = self.named(key.name)
                && !setting.as_text().is_given()
            {
                setting.set(&text_of(value.clone()), Origin::File(PathBuf::from(path)))?;
            }
        }
        Ok(())
    }
}

fn add_file(written: &mut Written, path: &Path) -> Result<Option<(PathBuf, toml::Table)>> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| usage(format!("cannot read {}: {error}", path.display())))?;
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(0, |span| text[..span.start].matches('\n').count()) + 1;
        usage(format!("{}:{line} is no TOML: {}", path.display(), error.message()))
    })?;
    require_one_name(&path.display().to_string(), table.keys().map(String::as_str))?;
    let mut hallmark = None;
    for (name, value) in table {
        if let (HALLMARK, toml::Value::Table(thresholds)) = (name.as_str(), &value) {
            hallmark = Some((path.to_owned(), thresholds.clone()));
            continue;
        }
        let key = find(&name, &path.display().to_string())?;
        written.insert(key.name, (text_of(value), Origin::File(path.to_owned())));
    }
    Ok(hallmark)
}

fn add_environment(written: &mut Written, environment: &[(String, String)]) -> Result<()> {
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
        written.insert(key.name, (text.to_owned(), Origin::Environment(variable.to_owned())));
    }
    Ok(())
}

fn add_flags(written: &mut Written, matches: &ArgMatches) {
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
            written.insert(key.name, (text, Origin::Flag));
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
