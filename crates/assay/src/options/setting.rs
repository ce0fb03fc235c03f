//! One setting: its declaration, its text with the origin of that, its value.

use std::fmt;
use std::ops::Deref;
use std::path::PathBuf;

use anyhow::Result;

use crate::exit::usage;

/// A command that takes settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Load, run and report in one go.
    Bench,
    /// Fill a store.
    Load,
    /// Measure a store.
    Run,
    /// Seek the highest rate that holds an objective.
    Tune,
    /// Analyze and show a run directory.
    Report,
}

/// What the text of a setting looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A flag with a value.
    Text,
    /// A flag with a value that may be repeated; in one text with semicolons between them.
    List,
    /// A flag without one.
    Switch,
}

/// Whose affair a setting is, if several processes carry out a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Affair {
    /// Of each of them.
    Everyone,
    /// The coordinator's alone: the store, what is done to it and read of it, what is shown where,
    /// what comes before and after the run.
    Coordinator,
    /// The coordinator's, which only a fleet has.
    Fleet,
}

/// The declaration of a setting.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Flag without dashes, key in files; in the environment in capitals after `ASSAY_`.
    pub name: &'static str,
    /// An earlier name.
    pub former: Option<&'static str>,
    /// One letter, where there is one.
    pub letter: Option<char>,
    /// What its value is called in help texts.
    pub value: &'static str,
    /// What it does.
    pub about: &'static str,
    /// The default value.
    pub default: Option<&'static str>,
    /// What its text looks like.
    pub shape: Shape,
    /// The commands that take it.
    pub verbs: &'static [Verb],
    /// Whose affair it is.
    pub affair: Affair,
}

impl Key {
    pub(super) const fn new(
        shape: Shape,
        name: &'static str,
        value: &'static str,
        verbs: &'static [Verb],
    ) -> Key {
        Key {
            name,
            former: None,
            letter: None,
            value,
            about: "",
            default: None,
            shape,
            verbs,
            affair: Affair::Everyone,
        }
    }

    pub(super) const fn about(self, about: &'static str) -> Key {
        Key { about: about.trim_ascii(), ..self }
    }

    pub(super) const fn or(self, default: &'static str) -> Key {
        Key { default: Some(default), ..self }
    }

    pub(super) const fn short(self, letter: char) -> Key {
        Key { letter: Some(letter), ..self }
    }

    pub(super) const fn formerly(self, name: &'static str) -> Key {
        Key { former: Some(name), ..self }
    }

    pub(super) const fn of_coordinator(self) -> Key {
        Key { affair: Affair::Coordinator, ..self }
    }

    pub(super) const fn of_fleet(self) -> Key {
        Key { affair: Affair::Fleet, ..self }
    }

    /// Whether agents of a fleet have the setting.
    pub const fn is_shared(&self) -> bool {
        matches!(self.affair, Affair::Everyone)
    }
}

/// Where a setting came from, the strongest last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The default.
    Default,
    /// A configuration file.
    File(PathBuf),
    /// An environment variable.
    Environment(String),
    /// A flag of this command.
    Flag,
}

impl Origin {
    /// Its precedence; nothing has 0 as well.
    const fn rank(&self) -> u8 {
        match self {
            Origin::Default => 0,
            Origin::File(_) => 1,
            Origin::Environment(_) => 2,
            Origin::Flag => 3,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => write!(f, "default"),
            Origin::File(path) => write!(f, "{}", path.display()),
            Origin::Environment(name) => write!(f, "environment {name}"),
            Origin::Flag => write!(f, "flag"),
        }
    }
}

/// What a setting can be.
pub trait SettingValue: Sized {
    /// Reads it. An error says what a right one looks like.
    fn parse(text: &str) -> Result<Self>;
}

/// A setting as it was written, whatever its value is.
#[derive(Clone, Debug)]
pub struct SettingText {
    key: &'static Key,
    given: Option<(String, Origin)>,
}

impl SettingText {
    /// Its declaration.
    pub fn key(&self) -> &'static Key {
        self.key
    }

    /// Its text, the default one too.
    pub fn text(&self) -> Option<&str> {
        self.given.as_ref().map(|(text, _)| text.as_str())
    }

    /// Where that came from.
    pub fn origin(&self) -> Option<&Origin> {
        self.given.as_ref().map(|(_, origin)| origin)
    }

    /// Whether there is more than a default.
    pub fn is_given(&self) -> bool {
        self.rank() > 0
    }

    /// Whether a flag of this command gave it.
    pub fn is_typed(&self) -> bool {
        self.origin() == Some(&Origin::Flag)
    }

    /// Whether it has higher precedence than another one.
    pub fn outranks(&self, other: &SettingText) -> bool {
        self.rank() > other.rank()
    }

    fn rank(&self) -> u8 {
        self.origin().map_or(0, Origin::rank)
    }

    /// A usage error about it, with its origin.
    pub fn wrong(&self, reason: impl fmt::Display) -> anyhow::Error {
        wrong(self.key, self.origin(), reason)
    }
}

fn wrong(key: &Key, origin: Option<&Origin>, reason: impl fmt::Display) -> anyhow::Error {
    let name = key.name;
    match origin {
        None | Some(Origin::Flag | Origin::Default) => usage(format!("--{name}: {reason}")),
        Some(origin) => usage(format!("{name} (from {origin}): {reason}")),
    }
}

/// A setting with its value.
#[derive(Clone, Debug)]
pub struct TypedSetting<T> {
    text: SettingText,
    value: Option<T>,
}

impl<T: SettingValue> TypedSetting<T> {
    /// With its default.
    pub(super) fn new(key: &'static Key) -> TypedSetting<T> {
        let mut setting = TypedSetting { text: SettingText { key, given: None }, value: None };
        setting.forget();
        setting
    }
}

impl<T> TypedSetting<T> {
    /// The value, or the default.
    pub fn value(&self) -> Option<&T> {
        self.value.as_ref()
    }

    /// The value, unless it is the default.
    pub fn given(&self) -> Option<&T> {
        self.value.as_ref().filter(|_| self.is_given())
    }
}

impl<T: Copy> TypedSetting<T> {
    /// A copy of the value, or of the default.
    pub fn get(&self) -> Option<T> {
        self.value
    }
}

impl TypedSetting<bool> {
    /// Whether a switch is on.
    pub fn is_on(&self) -> bool {
        self.value == Some(true)
    }
}

impl<T> Deref for TypedSetting<T> {
    type Target = SettingText;

    fn deref(&self) -> &SettingText {
        &self.text
    }
}

/// A setting that can be changed without knowing what its value is.
pub trait Settable {
    /// As it was written.
    fn as_text(&self) -> &SettingText;

    /// Gives it a value.
    fn set(&mut self, text: &str, origin: Origin) -> Result<()>;

    /// Goes back to the default, unless a flag of this command gave it.
    fn forget(&mut self);
}

impl<T: SettingValue> Settable for TypedSetting<T> {
    fn as_text(&self) -> &SettingText {
        &self.text
    }

    fn set(&mut self, text: &str, origin: Origin) -> Result<()> {
        let value = T::parse(text).map_err(|error| wrong(self.key, Some(&origin), error))?;
        self.value = Some(value);
        self.text.given = Some((text.to_owned(), origin));
        Ok(())
    }

    fn forget(&mut self) {
        if self.is_typed() {
            return;
        }
        (self.text.given, self.value) = (None, None);
        if let Some(default) = self.key.default {
            // A test sets each of them.
            let _ = self.set(default, Origin::Default);
        }
    }
}
