//! Breaches that a rule knows of: an exact list that can only shrink.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::tidy::finding::Finding;

/// The list's file, from the root.
pub const PATH: &str = "xtask/src/tidy/known.toml";

/// Breaches at one place: a type's name, a crate, a file.
pub struct Breach {
    /// The rule.
    pub rule: &'static str,
    /// The place.
    pub place: String,
    /// The crates or the number, as the list has it behind the place.
    pub extent: String,
    /// What to report unless the list has exactly this entry.
    pub findings: Vec<Finding>,
}

/// The breaches of `rule`, counted by `place`.
pub fn count(
    rule: &'static str,
    findings: Vec<Finding>,
    place: impl Fn(&Finding) -> String,
) -> Vec<Breach> {
    let mut places: BTreeMap<String, Vec<Finding>> = BTreeMap::new();
    for finding in findings {
        places.entry(place(&finding)).or_default().push(finding);
    }
    let breach = |(place, findings): (String, Vec<Finding>)| {
        let extent = findings.len().to_string();
        Breach { rule, place, extent, findings }
    };
    places.into_iter().map(breach).collect()
}

/// The entries of a rule that have one reason: `[[RULE]]`.
#[derive(Deserialize)]
struct Group {
    why: String,
    places: Vec<String>,
}

/// One entry of the list.
struct Entry {
    rule: String,
    place: String,
    extent: String,
    line: usize,
}

/// The breaches that differ from the list, and its entries that no longer apply.
///
/// # Errors
/// If `text` is no list: for each rule groups of `why` with `places`, each `PLACE: EXTENT`.
pub fn settle(breaches: Vec<Breach>, text: &str) -> Result<Vec<Finding>> {
    let entries = entries(text)?;
    let mut findings = Vec::new();
    for entry in &entries {
        let is_same = |breach: &&Breach| breach.rule == entry.rule && breach.place == entry.place;
        let advice = match breaches.iter().find(is_same) {
            None => format!("take out \"{}\" of {}: it is fixed", entry.place, entry.rule),
            Some(breach) if is_less(&breach.extent, &entry.extent) => {
                format!("write \"{}: {}\": it has fewer breaches", entry.place, breach.extent)
            }
            Some(_) => continue,
        };
        findings.push(Finding { path: PATH.to_owned(), line: entry.line, rule: "known", advice });
    }
    for breach in breaches {
        let is_same = |entry: &&Entry| breach.rule == entry.rule && breach.place == entry.place;
        let known = entries.iter().find(is_same).map_or("", |entry| &entry.extent);
        if breach.extent == known || is_less(&breach.extent, known) {
            continue;
        }
        for mut finding in breach.findings {
            if !known.is_empty() {
                finding.advice += &format!(" (known: {known}; now: {})", breach.extent);
            }
            findings.push(finding);
        }
    }
    Ok(findings)
}

/// Whether `now` is a smaller number or has fewer of the same names than `known`.
fn is_less(now: &str, known: &str) -> bool {
    match (now.parse::<usize>(), known.parse::<usize>()) {
        (Ok(now), Ok(known)) => now < known,
        _ => now != known && now.split(", ").all(|name| known.split(", ").any(|k| k == name)),
    }
}

fn entries(text: &str) -> Result<Vec<Entry>> {
    let rules: BTreeMap<String, Vec<Group>> = toml::from_str(text).context(PATH)?;
    let mut entries = Vec::new();
    for (rule, groups) in rules {
        for group in groups {
            if group.why.split_whitespace().count() < 3 {
                bail!("{PATH}: say `why` for each group of {rule}, in at least three words");
            }
            for entry in group.places {
                let (place, extent) = entry.split_once(": ").context("write \"PLACE: EXTENT\"")?;
                let line = text
                    .lines()
                    .position(|line| line.contains(&format!("\"{entry}\"")))
                    .unwrap_or(0)
                    + 1;
                let (place, extent) = (place.to_owned(), extent.to_owned());
                entries.push(Entry { rule: rule.clone(), place, extent, line });
            }
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(place: &str, number: usize, known: &str) -> Vec<String> {
        let finding = Finding { path: "a".into(), line: 1, rule: "text", advice: "x".into() };
        let breaches = count("text", vec![finding; number], |_| place.to_owned());
        let text = format!("[[text]]\nwhy = \"until it is redesigned\"\nplaces = [{known}]\n");
        let findings = settle(breaches, &text).expect("it is a list");
        findings.iter().map(|finding| format!("{} {}", finding.path, finding.line)).collect()
    }

    #[test]
    fn what_is_known_exactly_is_no_finding() {
        assert_eq!(settled("run", 2, "\"run: 2\""), [""; 0]);
    }

    #[test]
    fn more_than_is_known_is_reported_where_it_is() {
        assert_eq!(settled("run", 2, "\"run: 1\""), ["a 1", "a 1"]);
        assert_eq!(settled("run", 1, ""), ["a 1"]);
    }

    #[test]
    fn an_entry_that_no_longer_applies_is_a_finding() {
        assert_eq!(settled("run", 1, "\"run: 2\""), [format!("{PATH} 3")]);
        assert_eq!(settled("run", 0, "\"run: 2\""), [format!("{PATH} 3")]);
        assert!(is_less("lab, run", "lab, run, store"));
        assert!(!is_less("lab, trace", "lab, run, store"));
    }

    #[test]
    fn a_list_says_why() {
        assert!(settle(Vec::new(), "[[text]]\nwhy = \"so\"\nplaces = []\n").is_err());
    }
}
