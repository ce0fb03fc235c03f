//! The properties of a set: which files belong to it.

use std::path::{Path, PathBuf};

use assay_model::{Named, closest};

use super::lines::Lines;
use super::{InputSetError, Remarks, Trouble};

/// The property that every set has.
const EXPERIMENT: &str = "experimentTraceFilename";

/// What stands for a file that there is not.
const NONE: &str = "none";

/// The properties that name files, with what export calls the files.
pub(super) const FILES: [(&str, &str); 7] = [
    ("schemaFilename", "schema.txt"),
    ("oplistFilename", "operations.txt"),
    ("paramFilename", "parameters.txt"),
    ("custparamFilename", "custom-parameters.txt"),
    ("preloadTraceFilename", "preload.txt"),
    ("warmupTraceFilename", "warm-up.txt"),
    (EXPERIMENT, "experiment.txt"),
];

/// A larger file is not the properties.
const LARGEST: u64 = 1 << 16;

/// A set of input files.
#[derive(Clone, Debug)]
pub struct InputSet {
    path: PathBuf,
    /// All properties, in their order.
    pub properties: Vec<Named>,
    /// What its own reader makes of the properties.
    pub remarks: Remarks,
}

impl InputSet {
    /// Reads the properties at `path`, or those that lie in the directory `path`.
    ///
    /// # Errors
    /// If there are none, or several, or a line is no property.
    pub fn open(path: &Path) -> Result<InputSet, InputSetError> {
        let path = if path.is_dir() { find(path)? } else { path.to_owned() };
        let mut lines = Lines::open(&path)?;
        let mut remarks = Remarks::default();
        let mut properties: Vec<Named> = Vec::new();
        while let Some(text) = lines.read()? {
            let Some((name, value)) = text.split_once(':') else {
                return Err(lines.wrong("it is no property: write key:value"));
            };
            let named = Named { name: name.trim().to_owned(), text: value.trim().to_owned() };
            if properties.iter().any(|known| known.name == named.name) {
                return Err(lines.wrong(format!("{} is there already", named.name)));
            }
            let has_colon = named.text.contains(':');
            properties.push(named);
            if has_colon {
                remarks.add(lines.path(), lines.line, Trouble::Property);
            }
        }
        Ok(InputSet { path, properties, remarks })
    }

    /// The file of the properties.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file that `property` names, beside the properties or as the name says; `None` if it
    /// is absent, or `none`.
    ///
    /// # Errors
    /// If the file is not there.
    pub(super) fn file(&self, property: &str) -> Result<Option<PathBuf>, InputSetError> {
        let Some(named) = self.properties.iter().find(|named| named.name == property) else {
            return Ok(None);
        };
        if named.text.eq_ignore_ascii_case(NONE) {
            return Ok(None);
        }
        let beside = self.path.parent().unwrap_or(Path::new("")).join(&named.text);
        let places = [beside.clone(), PathBuf::from(&named.text)];
        match places.into_iter().find(|place| place.is_file()) {
            Some(place) => Ok(Some(place)),
            None => {
                let place = beside.display();
                Err(self.wrong(format!("{property} names {place}, which is not there")))
            }
        }
    }

    /// Like [`InputSet::file`], for a file that must be there.
    pub(super) fn needed(&self, property: &str) -> Result<PathBuf, InputSetError> {
        self.file(property)?.ok_or_else(|| {
            let meant = closest(property, self.properties.iter().map(|named| named.name.as_str()));
            let meant = meant.map_or_else(String::new, |near| format!("; is {near} meant for it?"));
            self.wrong(format!("the property {property} is missing, or none{meant}"))
        })
    }

    fn wrong(&self, reason: String) -> InputSetError {
        InputSetError::File { path: self.path.clone(), reason }
    }
}

/// The one file in `directory` that has the property of an experiment's trace.
fn find(directory: &Path) -> Result<PathBuf, InputSetError> {
    let io = |source| InputSetError::Io { path: directory.to_owned(), source };
    let mut found: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(io)? {
        let entry = entry.map_err(io)?;
        let metadata = entry.metadata().map_err(io)?;
        if !metadata.is_file() || metadata.len() > LARGEST {
            continue;
        }
        let text = std::fs::read(entry.path()).map_err(io)?;
        let text = String::from_utf8_lossy(&text);
        let is_ours = |line: &str| {
            line.trim().strip_prefix(EXPERIMENT).is_some_and(|rest| rest.trim().starts_with(':'))
        };
        if text.lines().any(is_ours) {
            found.push(entry.path());
        }
    }
    found.sort();
    let wrong = |reason| Err(InputSetError::File { path: directory.to_owned(), reason });
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => wrong(format!(
            "no file in it has the property {EXPERIMENT}: give the file of the properties"
        )),
        _ => {
            let names: Vec<String> = found.iter().map(|path| path.display().to_string()).collect();
            wrong(format!("there are several properties in it: give one of {}", names.join(", ")))
        }
    }
}
