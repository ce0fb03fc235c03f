//! Spec of a script workload, as it is written in a file.

use assay_model::{Seed, closest, named_enum};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::benchfoundry::BenchfoundrySpec;
use super::consbench::ConsbenchSpec;
use super::consistency::ConsistencySpec;
use super::dataset::ScriptDataset;
use super::fmke::FmkeSpec;
use super::tpcc::TpccSpec;
use crate::spec::{Place, Problem, SpecError, place_of, toml_error};

named_enum! {
    /// The workloads in SQL, by the name in key `workload`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum ScriptName {
        /// TPC-C.
        Tpcc => "tpcc",
        /// BenchFoundry's workload in the manner of TPC-C.
        TpccBenchfoundry => "tpcc-benchfoundry",
        /// One write of a key among many readers.
        Consbench => "consbench",
        /// FMKe, the Danish medicine card.
        Fmke => "fmke",
        /// Lists that transactions append to and read.
        ListAppend => "list-append",
        /// Transfers between accounts, with reads of all of them.
        Bank => "bank",
        /// Single writes to the keys of a group, with reads of the whole group.
        LongFork => "long-fork",
        /// Transactions that read both keys of a pair and write one of them.
        WriteSkew => "write-skew",
        /// Transactions that read one key, then write it.
        LostUpdate => "lost-update",
        /// A write that follows from reading another one, with readers of both.
        CausalChain => "causal-chain",
        /// Additions to sets, with reads of them.
        Set => "set",
        /// Additions to counters, with reads of them.
        Counter => "counter",
    }
}

/// A workload of queries with its sizes and shares.
#[derive(Clone, Debug, PartialEq)]
pub enum ScriptSpec {
    /// TPC-C.
    Tpcc(TpccSpec),
    /// BenchFoundry's workload in the manner of TPC-C.
    TpccBenchfoundry(BenchfoundrySpec),
    /// One write of a key among many readers.
    Consbench(ConsbenchSpec),
    /// FMKe, the Danish medicine card.
    Fmke(FmkeSpec),
    /// A workload that is made to be judged.
    Consistency(ConsistencySpec),
}

/// The key that makes a TOML text a script.
const KEY: &str = "workload";

impl ScriptSpec {
    /// Whether TOML `text` names a script in key `workload`; such a text is for
    /// [`ScriptSpec::from_toml`], any other for [`Spec::from_toml`](crate::Spec::from_toml).
    pub fn is_script(text: &str) -> bool {
        toml::de::DeTable::parse(text).is_ok_and(|document| document.get_ref().contains_key(KEY))
    }

    /// Reads a script from TOML `text`, which comes from `origin`, a file or another name.
    ///
    /// # Errors
    /// If the text is no TOML, names no known workload, has an unknown key, or a value is
    /// invalid; with the line.
    pub fn from_toml(text: &str, origin: &str) -> Result<ScriptSpec, SpecError> {
        let spec = match read_name(text, origin)? {
            ScriptName::Tpcc => ScriptSpec::Tpcc(read(text, origin)?),
            ScriptName::TpccBenchfoundry => ScriptSpec::TpccBenchfoundry(read(text, origin)?),
            ScriptName::Consbench => ScriptSpec::Consbench(read(text, origin)?),
            ScriptName::Fmke => ScriptSpec::Fmke(read(text, origin)?),
            ScriptName::ListAppend
            | ScriptName::Bank
            | ScriptName::LongFork
            | ScriptName::WriteSkew
            | ScriptName::LostUpdate
            | ScriptName::CausalChain
            | ScriptName::Set
            | ScriptName::Counter => ScriptSpec::Consistency(read(text, origin)?),
        };
        spec.find_problem().map_err(|problem| problem.in_text(text, origin))?;
        Ok(spec)
    }

    /// The specification as TOML, every key with its effective value.
    pub fn to_toml(&self) -> String {
        let text = match self {
            ScriptSpec::Tpcc(spec) => toml::to_string(spec),
            ScriptSpec::TpccBenchfoundry(spec) => toml::to_string(spec),
            ScriptSpec::Consbench(spec) => toml::to_string(spec),
            ScriptSpec::Fmke(spec) => toml::to_string(spec),
            ScriptSpec::Consistency(spec) => toml::to_string(spec),
        };
        text.expect("a checked specification has no number that TOML cannot hold")
    }

    /// The JSON Schema of the TOML form.
    pub fn json_schema(name: ScriptName) -> serde_json::Value {
        match name {
            ScriptName::Tpcc => schemars::schema_for!(TpccSpec).to_value(),
            ScriptName::TpccBenchfoundry => schemars::schema_for!(BenchfoundrySpec).to_value(),
            ScriptName::Consbench => schemars::schema_for!(ConsbenchSpec).to_value(),
            ScriptName::Fmke => schemars::schema_for!(FmkeSpec).to_value(),
            _ => schemars::schema_for!(ConsistencySpec).to_value(),
        }
    }

    /// Which workload it is.
    pub fn name(&self) -> ScriptName {
        match self {
            ScriptSpec::Tpcc(_) => ScriptName::Tpcc,
            ScriptSpec::TpccBenchfoundry(_) => ScriptName::TpccBenchfoundry,
            ScriptSpec::Consbench(_) => ScriptName::Consbench,
            ScriptSpec::Fmke(_) => ScriptName::Fmke,
            ScriptSpec::Consistency(spec) => spec.workload,
        }
    }

    /// Whether the values make sense together.
    ///
    /// # Errors
    /// Names the first key whose value does not.
    pub fn check(&self) -> Result<(), SpecError> {
        self.find_problem().map_err(|problem| problem.at(Place::default()))
    }

    /// What load and run must agree on, if the run draws from `seed`.
    pub fn dataset(&self, seed: Seed) -> ScriptDataset {
        match self {
            ScriptSpec::Tpcc(spec) => spec.describe(seed),
            ScriptSpec::TpccBenchfoundry(spec) => spec.describe(seed),
            ScriptSpec::Consbench(spec) => spec.describe(),
            ScriptSpec::Fmke(spec) => spec.describe(),
            ScriptSpec::Consistency(spec) => spec.describe(),
        }
    }

    /// Takes the seed of the rows from what the store says was loaded, unless the spec has one.
    /// Whether it did.
    pub fn take_seed(&mut self, loaded: &ScriptDataset) -> bool {
        let own = match self {
            ScriptSpec::Tpcc(spec) => &mut spec.dataset.seed,
            ScriptSpec::TpccBenchfoundry(spec) => &mut spec.dataset.seed,
            ScriptSpec::Consbench(_) | ScriptSpec::Fmke(_) | ScriptSpec::Consistency(_) => {
                return false;
            }
        };
        let before = *own;
        *own = before.or_else(|| loaded.seed.as_deref()?.parse().ok());
        *own != before
    }

    fn find_problem(&self) -> Result<(), Problem> {
        match self {
            ScriptSpec::Tpcc(spec) => spec.find_problem(),
            ScriptSpec::TpccBenchfoundry(spec) => spec.find_problem(),
            ScriptSpec::Consbench(spec) => spec.find_problem(),
            ScriptSpec::Fmke(spec) => spec.find_problem(),
            ScriptSpec::Consistency(spec) => spec.find_problem(),
        }
    }
}

/// Which workload a text names, before the rest of it is looked at.
fn read_name(text: &str, origin: &str) -> Result<ScriptName, SpecError> {
    let document: toml::Table =
        text.parse().map_err(|error: toml::de::Error| toml_error(&error, text, origin))?;
    let known = ScriptName::ALL.map(ScriptName::name);
    let place = || place_of(text, origin, KEY);
    let name = match document.get(KEY) {
        Some(toml::Value::String(name)) => name,
        Some(_) | None => {
            let reason = format!("{KEY} must name one of the workloads {}", known.join(", "));
            return Err(SpecError::Syntax { place: place(), reason });
        }
    };
    ScriptName::ALL.into_iter().find(|one| one.name() == name).ok_or_else(|| SpecError::Unknown {
        place: place(),
        what: KEY,
        name: name.clone(),
        suggestion: closest(name, known).map(str::to_owned),
    })
}

fn read<T: DeserializeOwned>(text: &str, origin: &str) -> Result<T, SpecError> {
    toml::from_str(text).map_err(|error| toml_error(&error, text, origin))
}

#[cfg(test)]
mod tests;
