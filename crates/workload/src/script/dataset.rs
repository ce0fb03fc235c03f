//! Data set of a script workload: what its load and its run must agree on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The rows of a script as they lie in a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptDataset {
    /// The name of the workload.
    pub workload: String,
    /// Its sizes, by their keys in section `dataset`.
    pub sizes: BTreeMap<String, u64>,
    /// The seed of the rows as text, if a run must know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<String>,
}

impl ScriptDataset {
    /// The data set of a workload without a seed.
    pub(crate) fn new(workload: impl Into<String>, sizes: &[(&str, u64)]) -> ScriptDataset {
        let sizes = sizes.iter().map(|(key, size)| ((*key).to_owned(), *size)).collect();
        ScriptDataset { workload: workload.into(), sizes, seed: None }
    }

    /// In sentences, why a run of `self` cannot start on a store that holds `found`.
    ///
    /// Empty if it can.
    pub fn differences(&self, found: &ScriptDataset) -> Vec<String> {
        if self.workload != found.workload {
            return vec![format!(
                "the workload is {} here, but the store was loaded with {}",
                self.workload, found.workload
            )];
        }
        let text = |number: Option<&u64>| number.map_or("none".to_owned(), u64::to_string);
        let keys = self.sizes.keys().chain(found.sizes.keys().filter(|key| !self.has(key)));
        let mut differences: Vec<String> = keys
            .filter(|key| self.sizes.get(*key) != found.sizes.get(*key))
            .map(|key| {
                let (expected, held) = (text(self.sizes.get(key)), text(found.sizes.get(key)));
                format!("dataset.{key} is {expected} here, but the store was loaded with {held}")
            })
            .collect();
        if self.seed != found.seed {
            let seed = |seed: &Option<String>| seed.clone().unwrap_or_else(|| "none".to_owned());
            differences.push(format!(
                "dataset.seed is {} here, but the store was loaded with {}",
                seed(&self.seed),
                seed(&found.seed)
            ));
        }
        differences
    }

    fn has(&self, key: &str) -> bool {
        self.sizes.contains_key(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dataset(sizes: &[(&str, u64)], seed: &str) -> ScriptDataset {
        let sizes = sizes.iter().map(|(key, size)| ((*key).to_owned(), *size)).collect();
        ScriptDataset { workload: "tpcc".to_owned(), sizes, seed: Some(seed.to_owned()) }
    }

    #[test]
    fn every_difference_is_a_sentence() {
        let expected = dataset(&[("items", 10), ("warehouses", 2)], "7");
        assert_eq!(expected.differences(&expected), [""; 0]);
        let found = dataset(&[("items", 10), ("warehouses", 1)], "8");
        let sentences = [
            "dataset.warehouses is 2 here, but the store was loaded with 1",
            "dataset.seed is 7 here, but the store was loaded with 8",
        ];
        assert_eq!(expected.differences(&found), sentences);
        let other = ScriptDataset { workload: "consbench".to_owned(), ..found };
        let sentence = "the workload is tpcc here, but the store was loaded with consbench";
        assert_eq!(expected.differences(&other), [sentence]);
    }
}
