//! Thresholds of the hallmark that somebody changed, from all the places where they can be given.

use std::collections::BTreeMap;

use anyhow::Result;

use crate::exit::usage;
use crate::options::{HALLMARK, Options};

/// What `--set` keys of thresholds begin with.
const PREFIX: &str = "hallmark.";

/// Takes the thresholds out of `sets`, the `--set` flags; the others stay for the spec.
pub fn take(sets: &mut Vec<String>) -> Vec<String> {
    let (thresholds, others) =
        std::mem::take(sets).into_iter().partition(|set: &String| set.starts_with(PREFIX));
    *sets = others;
    thresholds
}

/// The text of a spec without its section `[hallmark]`, lines keeping their numbers, with that
/// section.
pub fn cut(text: &str) -> (String, toml::Table) {
    let document = text.parse::<toml::Table>().ok();
    let Some(toml::Value::Table(section)) = document.and_then(|mut all| all.remove(HALLMARK))
    else {
        return (text.to_owned(), toml::Table::new());
    };
    let mut is_inside = false;
    let kept = text.lines().map(|line| {
        let start = line.trim_start();
        if start.starts_with('[') {
            is_inside = start.trim_start_matches('[').trim_start().starts_with(HALLMARK);
        }
        if is_inside || start.starts_with(PREFIX) { "" } else { line }
    });
    (kept.collect::<Vec<_>>().join("\n"), section)
}

/// All changes, the strongest last: configuration files, the spec, `--set`.
///
/// # Errors
/// If a name is none, or a value is no number that makes sense.
pub fn changed(
    options: &Options,
    spec: &toml::Table,
    sets: &[String],
) -> Result<BTreeMap<String, f64>> {
    let mut changes = BTreeMap::new();
    for (place, table) in [("[hallmark]", options.hallmark()), ("[hallmark] of the spec", spec)] {
        for (name, value) in table {
            let number = match value {
                toml::Value::Integer(number) => Some(*number as f64),
                toml::Value::Float(number) => Some(*number),
                _ => None,
            };
            let number = number.ok_or_else(|| {
                usage(format!("{place}: {name} = {value} is no number, such as 0.25"))
            })?;
            changes.insert(name.clone(), number);
        }
    }
    for set in sets {
        let (path, text) = crate::workload::split(set, "--set")?;
        let name = path.strip_prefix(PREFIX).unwrap_or(path);
        let number = text
            .parse::<f64>()
            .map_err(|_| usage(format!("--set {set}: {text:?} is no number, such as 0.25")))?;
        changes.insert(name.to_owned(), number);
    }
    Ok(changes)
}
