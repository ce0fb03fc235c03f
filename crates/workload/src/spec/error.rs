//! Why a specification cannot be used.

use std::fmt;
use std::path::PathBuf;

/// Where in which text something stands, as far as that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file, or another name of the text such as `command line`.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<usize>,
}

impl Place {
    /// A line of a text.
    pub fn line(file: &str, line: usize) -> Place {
        Place { file: Some(file.to_owned()), line: Some(line) }
    }

    /// A text as a whole.
    pub fn file(file: &str) -> Place {
        Place { file: Some(file.to_owned()), line: None }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{file}:{line}: "),
            (Some(file), None) => write!(f, "{file}: "),
            (None, Some(line)) => write!(f, "line {line}: "),
            (None, None) => Ok(()),
        }
    }
}

/// A specification cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// The text is no TOML, no properties, or a key has the wrong type.
    #[error("{place}{reason}")]
    Syntax {
        /// Where.
        place: Place,
        /// What is wrong, and what it should be.
        reason: String,
    },
    /// A name that means nothing here.
    #[error("{place}unknown {what} {name:?}{}", hint(.suggestion.as_deref()))]
    Unknown {
        /// Where.
        place: Place,
        /// What sort of name it is.
        what: &'static str,
        /// The name.
        name: String,
        /// What was most likely meant.
        suggestion: Option<String>,
    },
    /// A value that is invalid.
    #[error("{place}{name} = {value}: {reason}")]
    Value {
        /// Where.
        place: Place,
        /// The key or property.
        name: String,
        /// Its value.
        value: String,
        /// Why that is wrong, and what would be right.
        reason: String,
    },
    /// A file that the specification names cannot be read.
    #[error("{place}{name} names {path:?}, which cannot be read: {source}")]
    File {
        /// Where.
        place: Place,
        /// The key or property.
        name: String,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl SpecError {
    /// Where it is, for those who gave the text in pieces.
    pub fn place_mut(&mut self) -> &mut Place {
        match self {
            SpecError::Syntax { place, .. }
            | SpecError::Unknown { place, .. }
            | SpecError::Value { place, .. }
            | SpecError::File { place, .. } => place,
        }
    }
}

fn hint(suggestion: Option<&str>) -> String {
    suggestion.map_or_else(String::new, |word| format!("; did you mean {word:?}?"))
}
