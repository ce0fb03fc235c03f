//! Note that a load leaves in the store, so that a run can check that it has the right data.

use anyhow::Result;
use assay_model::Seed;
use assay_workload::{Dataset, ScriptDataset};

use crate::exit::usage;

/// The version of the note's format.
const FORMAT: i64 = 1;

/// What was loaded.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// Whether the load came to its end.
    pub is_complete: bool,
    /// The data set.
    pub dataset: Loaded,
    /// The seed of the load; older notes have none.
    pub seed: Option<Seed>,
}

/// What lies in a store, as load and run must agree on it.
#[derive(Clone, Debug, PartialEq)]
pub enum Loaded {
    /// Records by key.
    Records(Box<Dataset>),
    /// The rows of a workload of queries.
    Script(ScriptDataset),
}

impl Loaded {
    /// The data of a trace from elsewhere: no more is known of it.
    pub fn of_trace() -> Loaded {
        let workload = "trace".to_owned();
        Loaded::Script(ScriptDataset { workload, sizes: Default::default(), seed: None })
    }

    /// In sentences, why a run of `self` cannot start on a store that holds `found`;
    /// empty if it can.
    pub fn differences(&self, found: &Loaded) -> Vec<String> {
        match (self, found) {
            (Loaded::Records(expected), Loaded::Records(found)) => expected.differences(found),
            (Loaded::Script(expected), Loaded::Script(found)) => expected.differences(found),
            (Loaded::Records(_), Loaded::Script(found)) => {
                vec![format!("it holds rows of {}, no records by key", found.workload)]
            }
            (Loaded::Script(expected), Loaded::Records(_)) => {
                vec![format!("it holds records by key, no rows of {}", expected.workload)]
            }
        }
    }

    /// Whether both are rows of the same workload of queries, of whatever size or layout.
    pub fn is_of(&self, other: &Loaded) -> bool {
        // A layout stands in brackets behind the name.
        let name = |dataset: &ScriptDataset| {
            dataset.workload.split(" (").next().unwrap_or_default().to_owned()
        };
        match (self, other) {
            (Loaded::Script(one), Loaded::Script(other)) => name(one) == name(other),
            _ => false,
        }
    }

    /// The same with the seed of `other`: the same rows may hold other values.
    pub fn with_seed_of(&self, other: &Loaded) -> Loaded {
        let seed = other.seed().cloned();
        match self {
            Loaded::Records(dataset) => {
                Loaded::Records(Box::new(Dataset { seed, ..dataset.as_ref().clone() }))
            }
            Loaded::Script(dataset) => Loaded::Script(ScriptDataset { seed, ..dataset.clone() }),
        }
    }

    /// As text without line breaks, to compare it with that of another process.
    pub fn to_line(&self) -> String {
        Note::loaded(self).to_text().replace('\n', "; ")
    }

    /// Only the rows of queries name a workload.
    fn from_toml(dataset: toml::Value) -> Result<Loaded, toml::de::Error> {
        match dataset.get("workload") {
            None => dataset.try_into().map(|dataset| Loaded::Records(Box::new(dataset))),
            Some(_) => dataset.try_into().map(Loaded::Script),
        }
    }

    fn seed(&self) -> Option<&String> {
        match self {
            Loaded::Records(dataset) => dataset.seed.as_ref(),
            Loaded::Script(dataset) => dataset.seed.as_ref(),
        }
    }
}

impl Note {
    /// A load with this seed has begun.
    pub fn loading(dataset: &Loaded, seed: Seed) -> Note {
        Note { is_complete: false, dataset: dataset.clone(), seed: Some(seed) }
    }

    /// A load has come to its end.
    pub fn loaded(dataset: &Loaded) -> Note {
        Note { is_complete: true, dataset: dataset.clone(), seed: None }
    }

    /// As text, for the store.
    pub fn to_text(&self) -> String {
        let dataset = match &self.dataset {
            Loaded::Records(dataset) => toml::Table::try_from(dataset.as_ref()),
            Loaded::Script(dataset) => toml::Table::try_from(dataset),
        };
        let dataset = dataset
            .expect("a data set has only text, whole numbers that TOML holds, and truth values");
        let mut table = toml::Table::new();
        table.insert("format".to_owned(), FORMAT.into());
        table.insert("complete".to_owned(), self.is_complete.into());
        table.insert("dataset".to_owned(), dataset.into());
        if let Some(seed) = self.seed {
            table.insert("seed".to_owned(), seed.to_string().into());
        }
        table.to_string()
    }

    /// From the text that was in the store `url`. Fails if it is none of ours, or of a newer
    /// version.
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
        let seed = table.get("seed").and_then(toml::Value::as_str);
        let seed = seed.and_then(|seed| seed.parse().ok()).map(Seed);
        let is_complete = table.get("complete").and_then(toml::Value::as_bool);
        let dataset = table.get("dataset").cloned().ok_or_else(|| wrong("it has no data set"))?;
        Ok(Note {
            is_complete: is_complete.unwrap_or(false),
            dataset: Loaded::from_toml(dataset).map_err(|error| wrong(error.message()))?,
            seed,
        })
    }
}
