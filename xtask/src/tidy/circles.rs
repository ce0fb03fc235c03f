//! Circles among the modules of a crate.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::known::Breach;
use crate::tidy::lexer::Lexed;
use crate::tidy::source::{Purpose, Source};

const RULE: &str = "circles";

/// The modules that a module needs, itself or through one of its own; siblings alone.
type Needs = BTreeMap<String, BTreeMap<String, (usize, usize)>>;

/// One breach for each module whose children need one another in a circle, with their number.
pub fn check_circles(sources: &[Source]) -> Vec<Breach> {
    let mut levels: BTreeMap<String, Needs> = BTreeMap::new();
    for (at, source) in sources.iter().enumerate() {
        let Some((place, module)) = module(source) else { continue };
        for (path, line) in paths(&source.lexed, &module) {
            let shared = module.iter().zip(&path).take_while(|(a, b)| a == b).count();
            let (Some(from), Some(to)) = (module.get(shared), path.get(shared)) else { continue };
            if source.is_test(line) {
                continue;
            }
            let parent = [std::slice::from_ref(&place), &module[..shared]].concat().join("::");
            let needs = levels.entry(parent).or_default().entry(from.clone()).or_default();
            needs.entry(to.clone()).or_insert((at, line));
        }
    }
    levels.iter().filter_map(|(parent, needs)| breach(sources, parent, needs)).collect()
}

fn breach(sources: &[Source], parent: &str, needs: &Needs) -> Option<Breach> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        needs.keys().map(|from| (from.as_str(), reach(needs, from))).collect();
    let is_back = |from: &str, to: &str| reached.get(to).is_some_and(|all| all.contains(from));
    let mut findings = Vec::new();
    for (from, targets) in needs {
        for (to, (at, line)) in targets.iter().filter(|(to, _)| is_back(from, to)) {
            let advice = format!("break the circle in `{parent}`: {from} needs {to} and back");
            findings.push(sources[*at].finding(*line, RULE, advice));
        }
    }
    let number = needs.keys().filter(|from| is_back(from, from)).count();
    let (place, extent) = (parent.to_owned(), number.to_string());
    (number > 0).then_some(Breach { rule: RULE, place, extent, findings })
}

fn reach<'a>(needs: &'a Needs, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = needs[from].keys().map(String::as_str).collect();
    while let Some(name) = open.pop() {
        if reached.insert(name) {
            open.extend(
                needs.get(name).into_iter().flat_map(|next| next.keys()).map(String::as_str),
            );
        }
    }
    reached
}

/// The crate of a file, such as `run` or `drivers::redis`, with the module that it is, by its path
/// below `src`.
fn module(source: &Source) -> Option<(String, Vec<String>)> {
    let (place, path) = source.path.split_once("/src/")?;
    let place = place.trim_start_matches("crates/").replace('/', "::");
    let is_root = ["lib.rs", "main.rs"].contains(&path);
    let is_ours = source.purpose == Purpose::Product && !path.starts_with("bin/");
    let parts = path.trim_end_matches(".rs").split('/').filter(|_| !is_root);
    is_ours.then(|| (place, parts.map(str::to_owned).collect()))
}

/// The paths that begin with `crate` or `super`, from the crate's root.
fn paths(lexed: &Lexed, module: &[String]) -> Vec<(Vec<String>, usize)> {
    let mut found = Vec::new();
    for (at, token) in lexed.tokens.iter().enumerate() {
        let is_inside = at > 0 && lexed.tokens[at - 1].is(":");
        let is_path = lexed.matches(at + 1, &[":", ":"]) && !is_inside;
        if is_path && (token.is("crate") || token.is("super")) {
            let mut path = if token.is("crate") { Vec::new() } else { module.to_vec() };
            path.truncate(path.len().saturating_sub(usize::from(token.is("super"))));
            found.extend(lexed.leaves(at + 3, path));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let source =
            |(path, text): &(&str, &str)| Source::new(&format!("crates/a/src/{path}"), text);
        let sources: Vec<Source> = files.iter().map(source).collect();
        let breaches = check_circles(&sources);
        breaches.iter().map(|breach| format!("{}: {}", breach.place, breach.extent)).collect()
    }

    #[test]
    fn two_modules_that_need_one_another_are_found() {
        let files = [("b.rs", "use crate::c::X;"), ("c.rs", "fn f() -> crate::b::Y {}")];
        assert_eq!(found(&files), ["a: 2"]);
        assert_eq!(found(&files[..1]), [""; 0]);
    }

    #[test]
    fn a_circle_may_lead_through_children_groups_or_super() {
        let files = [
            ("b/x.rs", "use crate::{lib_type, c::{self, d::Z}};"),
            ("c/d.rs", "use super::super::e::W;"),
            ("e.rs", "use crate::b::Y;"),
        ];
        assert_eq!(found(&files), ["a: 3"]);
        let files = [("b/x.rs", "use super::y::Y;"), ("b/y.rs", "use super::x::X;")];
        assert_eq!(found(&files), ["a::b: 2"]);
    }

    #[test]
    fn drivers_are_crates_of_their_own() {
        let source = |path: &str, text| Source::new(&format!("drivers/{path}"), text);
        let sources = [
            source("redis/src/lib.rs", "use a::X;"),
            source("redis/src/b.rs", "use crate::c::X;"),
            source("redis/src/c.rs", "use crate::b::X;"),
            source("etcd/src/b.rs", "use crate::c::X;"),
        ];
        let places: Vec<String> = check_circles(&sources).into_iter().map(|b| b.place).collect();
        assert_eq!(places, ["drivers::redis"]);
    }

    #[test]
    fn a_module_and_its_children_count_as_one() {
        assert_eq!(found(&[("b.rs", "use crate::b::c::X;"), ("b/c.rs", "use super::Y;")]), [""; 0]);
        let test = "#[cfg(test)]\nmod tests {\n    use crate::b::Y;\n}";
        assert_eq!(found(&[("b.rs", "use crate::c::X;"), ("c.rs", test)]), [""; 0]);
    }
}
