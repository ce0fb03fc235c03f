//! What a load leaves in the store, so that a run can check that it asks the right data.

use anyhow::Result;
use assay_workload::Dataset;

use crate::exit::usage;

/// The version of the note's format.
const FORMAT: i64 = 1;

/// What was loaded.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// Whether the load came to its end.
    pub is_complete: bool,
    /// The data set.
    pub dataset: Dataset,
}

impl Note {
    /// A load has begun.
    pub fn loading(dataset: &Dataset) -> Note {
        Note { is_complete: false, dataset: dataset.clone() }
    }

    /// A load has come to its end.
    pub fn loaded(dataset: &Dataset) -> Note {
        Note { is_complete: true, dataset: dataset.clone() }
    }

    /// As text, for the store.
    pub fn to_text(&self) -> String {
        let dataset = toml::Table::try_from(&self.dataset)
            .expect("a data set has only text, whole numbers that TOML holds, and truth values");
        let mut table = toml::Table::new();
        table.insert("format".to_owned(), FORMAT.into());
        table.insert("complete".to_owned(), self.is_complete.into());
        table.insert("dataset".to_owned(), dataset.into());
        table.to_string()
    }

    /// From the text that was in the store `url`.
    ///
    /// # Errors
    /// If it is none of ours, or of a newer version.
    pub fn parse(text: &str, url: &str) -> Result<Note> {
        let wrong = |reason: &str| {
            usage(format!(
                "the note in {url} that says what was loaded cannot be read ({reason}); \
                 load again with this version"
            ))
        };
        let table: toml::Table = text.parse().map_err(|_| wrong("it is no TOML"))?;
        if table.get("format").and_then(toml::Value::as_integer) != Some(FORMAT) {
            return Err(wrong("it has another format"));
        }
        let is_complete = table.get("complete").and_then(toml::Value::as_bool);
        let dataset = table.get("dataset").cloned().ok_or_else(|| wrong("it has no data set"))?;
        Ok(Note {
            is_complete: is_complete.unwrap_or(false),
            dataset: dataset.try_into().map_err(|error: toml::de::Error| wrong(error.message()))?,
        })
    }
}
