//! Files in the format of Java's `java.util.Properties`.

use std::collections::BTreeMap;

use assay_model::properties;

use crate::spec::{Place, SpecError};

/// Keys with their values, each with the place it comes from. The last of equal keys wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties {
    entries: BTreeMap<String, Property>,
}

/// The value of one property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// The value as text.
    pub value: String,
    /// Where it was given.
    pub place: Place,
}

/// The treatment of unknown properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// It is an error.
    Native,
    /// It is a warning; the binding gets it, as in YCSB.
    Ycsb,
}

impl Properties {
    /// Reads the bytes of a properties file named `file`.
    ///
    /// # Errors
    /// If Java would not take it either.
    pub fn parse(bytes: &[u8], file: &str) -> Result<Properties, SpecError> {
        let lines = properties::parse(bytes).map_err(|error| SpecError::Syntax {
            place: Place::line(file, error.line),
            reason: error.reason,
        })?;
        let mut properties = Properties::default();
        for one in lines {
            let place = Place::line(file, one.line);
            properties.entries.insert(one.key, Property { value: one.value, place });
        }
        Ok(properties)
    }

    /// Sets one property, which comes from `origin`, for example `command line`.
    pub fn set(&mut self, key: &str, value: &str, origin: &str) {
        let property = Property { value: value.to_owned(), place: Place::file(origin) };
        self.entries.insert(key.to_owned(), property);
    }

    /// Takes over all of `later`, whose values win.
    pub fn extend(&mut self, later: Properties) {
        self.entries.extend(later.entries);
    }

    /// The property with this key.
    pub fn get(&self, key: &str) -> Option<&Property> {
        self.entries.get(key)
    }

    /// All properties in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Property)> {
        self.entries.iter().map(|(key, property)| (key.as_str(), property))
    }
}
