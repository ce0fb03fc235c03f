//! Finding: one thing that a reader must know before any figure.

use schemars::JsonSchema;
use serde::Serialize;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The figures do not mean what they seem to mean.
    Alarm,
    /// The figures hold, with a limit that must be known.
    Caution,
    /// Nothing stands against the figures.
    Fine,
}

/// One thing to know before any figure.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub level: Level,
    /// What it is, in one or two words: `overloaded`.
    pub name: &'static str,
    /// What it is, in a sentence; empty where the name says all.
    pub text: String,
}

impl Finding {
    /// A finding of this level.
    pub fn new(level: Level, name: &'static str, text: impl Into<String>) -> Finding {
        Finding { level, name, text: text.into() }
    }

    /// The figures do not mean what they seem to mean.
    pub fn alarm(name: &'static str, text: impl Into<String>) -> Finding {
        Finding::new(Level::Alarm, name, text)
    }

    /// The figures hold, with a limit that must be known.
    pub fn caution(name: &'static str, text: impl Into<String>) -> Finding {
        Finding::new(Level::Caution, name, text)
    }

    /// Nothing stands against the figures.
    pub fn fine(name: &'static str, text: impl Into<String>) -> Finding {
        Finding::new(Level::Fine, name, text)
    }

    /// The finding as it is shouted: `OVERLOADED: offered 20 000/s, achieved 14 200/s (71 %)`.
    pub fn shout(&self) -> String {
        match self.text.is_empty() {
            true => self.name.to_uppercase(),
            false => format!("{}: {}", self.name.to_uppercase(), self.text),
        }
    }
}
