//! Changed thresholds of the hallmark, from all the places where they can be given.

use std::collections::BTreeMap;

use anyhow::Result;
use assay_analysis::hallmark::Thresholds;
use assay_model::closest;

use crate::exit::usage;
use crate::options::Options;

/// What `--set` keys of thresholds begin with.
const PREFIX: &str = "hallmark.";

/// Takes the thresholds out of `sets`, the `--set` flags; the others stay for the spec.
pub fn take(sets: &mut Vec<String>) -> Vec<String> {
    let (thresholds, others) =
        std::mem::take(sets).into_iter().partition(|set: &String| set.starts_with(PREFIX));
    *sets = others;
    thresholds
}

/// All changes, the strongest last: configuration files, the spec, `--set`.
pub fn changed(
    options: &Options,
    spec: &toml::Table,
    sets: &[String],
) -> Result<BTreeMap<String, f64>> {
    let mut changes = BTreeMap::new();
    let files = options.hallmark.iter();
    let files = files.map(|(path, table)| (format!("{}, [hallmark]", path.display()), table));
    for (place, table) in files.chain([("[hallmark] of the spec".to_owned(), spec)]) {
        for (name, value) in table {
            let number = match value {
                toml::Value::Integer(number) => Some(*number as f64),
                toml::Value::Float(number) => Some(*number),
                _ => None,
            };
            let number = number.ok_or_else(|| {
                usage(format!("{place}: {name} = {value} is no number, such as 0.25"))
            })?;
            changes.insert(known(name, number, &place)?, number);
        }
    }
    for set in sets {
        let (path, text) = crate::workload::split(set, "--set")?;
        let name = path.strip_prefix(PREFIX).unwrap_or(path);
        let number = text
            .parse::<f64>()
            .map_err(|_| usage(format!("--set {set}: {text:?} is no number, such as 0.25")))?;
        changes.insert(known(name, number, "--set")?, number);
    }
    Ok(changes)
}

/// The name, if there is such a threshold and the value makes sense.
fn known(name: &str, value: f64, place: &str) -> Result<String> {
    // Earlier releases called a worker a lane.
    let name = name.replace("lane_", "worker_");
    let name = name.as_str();
    if Thresholds::default().set(name, value) {
        return Ok(name.to_owned());
    }
    if Thresholds::NAMES.contains(&name) {
        return Err(usage(format!("{place}: {name} = {value} is no number from 0 on")));
    }
    let hint = match closest(name, Thresholds::NAMES.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("there are {}", Thresholds::NAMES.join(", ")),
    };
    Err(usage(format!("{place}: the hallmark has no threshold {name}; {hint}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(sets: &[&str]) -> Result<BTreeMap<String, f64>> {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        changed(&Options::default(), &toml::Table::new(), &sets)
    }

    #[test]
    fn thresholds_are_taken_out_of_the_changes_of_the_spec() {
        let mut sets = vec!["hallmark.lag_share_fail=0.3".to_owned(), "keys.x=1".to_owned()];
        assert_eq!(take(&mut sets), ["hallmark.lag_share_fail=0.3"]);
        assert_eq!(sets, ["keys.x=1"]);
    }

    #[test]
    fn a_misspelling_is_an_error_with_a_suggestion() {
        let error = |text: &str| set(&[text]).unwrap_err().to_string();
        assert_eq!(
            error("hallmark.lag_share_fial=0.3"),
            "--set: the hallmark has no threshold lag_share_fial; did you mean lag_share_fail?"
        );
        assert!(error("hallmark.lag_share_fail=much").contains("is no number, such as 0.25"));
        assert!(error("hallmark.lag_share_fail=-1").contains("is no number from 0 on"));
    }

    #[test]
    fn flags_beat_the_spec() {
        let spec = "lag_share_fail = 0.4\nlength_fail = 1".parse().unwrap();
        let sets = ["hallmark.lag_share_fail=0.5".to_owned()];
        let found = changed(&Options::default(), &spec, &sets).unwrap();
        let expected = [("lag_share_fail", 0.5), ("length_fail", 1.0)];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value)).into());
    }
}
