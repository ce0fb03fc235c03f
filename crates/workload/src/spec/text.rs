//! A specification as TOML text, with errors that name the line.

use std::ops::Range;

use assay_model::{Kind, Seed};

use super::dataset::Dataset;
use super::error::{Place, SpecError};
use super::length::{FieldLength, ReadFile, read_histogram};
use super::phase::PlanPhase;
use super::section::Spec;
use assay_model::closest;

impl Spec {
    /// Reads a specification from TOML `text`, which comes from `origin`, a file or another name.
    ///
    /// A histogram file that it names is requested from `files`, beside `origin` first; its counts
    /// become part of the specification.
    ///
    /// # Errors
    /// If the text is no TOML, has an unknown key, or a value is invalid; with the line.
    pub fn from_toml(text: &str, origin: &str, files: ReadFile<'_>) -> Result<Spec, SpecError> {
        let mut spec: Spec =
            toml::from_str(text).map_err(|error| toml_error(&error, text, origin))?;
        let dataset = &mut spec.dataset;
        let lengths = [
            ("dataset.field_length", Some(&mut dataset.field_length)),
            ("dataset.key_length", dataset.key_length.as_mut()),
        ];
        for (key, length) in lengths {
            if let Some(length) = length
                && let FieldLength::HistogramFile(path, counting) = length
            {
                let histogram = read_histogram(files, path, key, &place_of(text, origin, key))?;
                *length = FieldLength::Histogram(histogram, *counting);
            }
        }
        spec.find_problem().map_err(|problem| problem.in_text(text, origin))?;
        Ok(spec)
    }

    /// The specification as TOML, every key with its effective value but those left to a default
    /// of their distribution.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a checked specification has no number that TOML cannot hold")
    }

    /// The JSON Schema of the TOML form.
    pub fn json_schema() -> serde_json::Value {
        schemars::schema_for!(Spec).to_value()
    }

    /// The kinds of operation that a store must be able to do.
    pub fn kinds_used(&self, phase: PlanPhase) -> Vec<Kind> {
        if phase == PlanPhase::Load {
            return vec![Kind::Insert];
        }
        let operations = &self.operations;
        let modifies = operations.read_modify_write > 0.0;
        [
            (Kind::Read, operations.read > 0.0 || modifies),
            (Kind::Update, operations.update > 0.0 || modifies),
            (Kind::Insert, operations.insert > 0.0),
            (Kind::Scan, operations.scan > 0.0),
        ]
        .into_iter()
        .filter_map(|(kind, used)| used.then_some(kind))
        .collect()
    }

    /// What load and run must agree on, if the run draws from `seed`.
    pub fn dataset(&self, seed: Seed) -> Dataset {
        Dataset::of(&self.dataset, seed)
    }
}

pub(crate) fn toml_error(error: &toml::de::Error, text: &str, origin: &str) -> SpecError {
    let place = error.span().map_or_else(|| Place::file(origin), |span| at(text, origin, &span));
    let message = error.message();
    let mut quoted = message.split('`').skip(1).step_by(2);
    let what = match message {
        _ if message.starts_with("unknown field") => "key",
        _ if message.starts_with("unknown variant") => "value",
        _ => return SpecError::Syntax { place, reason: message.replace('\n', " ") },
    };
    let name = quoted.next().unwrap_or_default().to_owned();
    let suggestion = closest(&name, quoted).map(str::to_owned);
    SpecError::Unknown { place, what, name, suggestion }
}

/// The line of the value of a dotted key, or of the section it should be in.
pub(crate) fn place_of(text: &str, origin: &str, key: &str) -> Place {
    let (section, name) = key.split_once('.').unwrap_or((key, ""));
    let Ok(document) = toml::de::DeTable::parse(text) else { return Place::file(origin) };
    let Some(section) = document.get_ref().get(section) else { return Place::file(origin) };
    let value = section.get_ref().get(name);
    at(text, origin, &value.unwrap_or(section).span())
}

fn at(text: &str, origin: &str, span: &Range<usize>) -> Place {
    let before = &text.as_bytes()[..span.start.min(text.len())];
    Place::line(origin, before.iter().filter(|&&byte| byte == b'\n').count() + 1)
}
