//! Public type names that two crates use for different things.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::known::Breach;
use crate::tidy::lexer::Sort;
use crate::tidy::source::{Purpose, Source};

const KEYWORDS: [&str; 5] = ["struct", "enum", "union", "trait", "type"];

/// One breach for each name that several crates declare.
pub fn check_names(sources: &[Source]) -> Vec<Breach> {
    let mut places: BTreeMap<&str, Vec<(&Source, usize)>> = BTreeMap::new();
    let ships = |source: &&Source| source.purpose == Purpose::Product && source.room() != "xtask";
    for source in sources.iter().filter(ships) {
        for (name, line) in declared(source) {
            places.entry(name).or_default().push((source, line));
        }
    }
    let mut breaches = Vec::new();
    for (name, places) in places {
        let crates: BTreeSet<&str> = places.iter().map(|(source, _)| source.room()).collect();
        if crates.len() < 2 {
            continue;
        }
        let extent = crates.into_iter().collect::<Vec<_>>().join(", ");
        let advice = format!("rename `{name}`: {extent} mean different things by it");
        let finding = |(source, line): &(&Source, usize)| source.finding(*line, RULE, &advice);
        let findings = places.iter().map(finding).collect();
        breaches.push(Breach { rule: RULE, place: name.to_owned(), extent, findings });
    }
    breaches
}

const RULE: &str = "names";

fn declared(source: &Source) -> impl Iterator<Item = (&str, usize)> {
    let tokens = &source.lexed.tokens;
    tokens.windows(3).filter_map(|three| {
        let [public, keyword, name] = three else { return None };
        let is_type = public.is("pub") && KEYWORDS.iter().any(|text| keyword.is(text));
        let is_declared = is_type && name.sort == Sort::Name && !source.is_test(name.line);
        is_declared.then_some((name.text.as_str(), name.line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: [(&str, &str); 2]) -> Vec<String> {
        let sources = files.map(|(path, text)| Source::new(path, text));
        let breaches = check_names(&sources);
        breaches.iter().map(|breach| format!("{}: {}", breach.place, breach.extent)).collect()
    }

    #[test]
    fn a_type_name_of_two_crates_is_found() {
        let trace = ("crates/trace/src/fit.rs", "pub struct Fit;");
        assert_eq!(found([trace, ("crates/run/src/a.rs", "pub enum Fit {}")]), ["Fit: run, trace"]);
        assert_eq!(found([trace, ("crates/trace/src/a.rs", "pub enum Fit {}")]), [""; 0]);
    }

    #[test]
    fn names_within_a_crate_or_test_are_its_own() {
        let trace = ("crates/trace/src/fit.rs", "pub struct Fit;");
        assert_eq!(found([trace, ("crates/run/src/a.rs", "pub(crate) enum Fit {}")]), [""; 0]);
        assert_eq!(found([trace, ("crates/run/tests/a.rs", "pub enum Fit {}")]), [""; 0]);
        assert_eq!(found([trace, ("crates/run/src/a.rs", "pub use assay_trace::Fit;")]), [""; 0]);
    }
}
