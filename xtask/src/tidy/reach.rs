//! Rust files that no `mod` reaches are dead.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::finding::Finding;
use crate::tidy::source::{Source, resolve};

/// Files that no root of their crate reaches, or that are called `mod.rs`.
///
/// `roots` are the paths that Cargo itself compiles, as its metadata names them.
pub fn check_reach(sources: &[Source], roots: &BTreeSet<String>) -> Vec<Finding> {
    let by_path: BTreeMap<&str, &Source> = sources.iter().map(|s| (s.path.as_str(), s)).collect();
    let mut reached: BTreeSet<String> = BTreeSet::new();
    let mut open: Vec<(String, bool)> = roots.iter().map(|root| (root.clone(), true)).collect();
    while let Some((path, is_root)) = open.pop() {
        if !reached.insert(path.clone()) {
            continue;
        }
        let Some(source) = by_path.get(path.as_str()) else { continue };
        open.extend(children(source, is_root).into_iter().map(|child| (child, false)));
    }
    let mut findings = Vec::new();
    for source in sources {
        if source.path.ends_with("/mod.rs") {
            let advice = "call it `foo.rs` beside the folder `foo`";
            findings.push(source.finding(1, "mod-rs", advice));
        }
        if !reached.contains(&source.path) {
            let advice = "delete the file or reach it: no `mod` leads here";
            findings.push(source.finding(1, "dead-file", advice));
        }
    }
    findings
}

/// The paths of the files that `source` pulls in. Both spellings, as either may exist.
fn children(source: &Source, is_root: bool) -> Vec<String> {
    let (folder, name) = source.path.rsplit_once('/').unwrap_or(("", &source.path));
    let stem = name.trim_end_matches(".rs");
    let own = if is_root || stem == "mod" { folder.to_owned() } else { format!("{folder}/{stem}") };
    let lexed = &source.lexed;
    let mut found = Vec::new();
    // The inline modules around the current token, with the token that closes each.
    let mut inside: Vec<(String, usize)> = Vec::new();
    let mut path_attribute: Option<String> = None;
    for (at, token) in lexed.tokens.iter().enumerate() {
        inside.retain(|(_, close)| at < *close);
        if lexed.matches(at, &["path", "="]) && at > 1 && lexed.tokens[at - 1].is("[") {
            path_attribute = lexed.tokens.get(at + 2).map(|t| t.text.trim_matches('"').to_owned());
        }
        if lexed.matches(at, &["include", "!", "("]) {
            let file = lexed.tokens.get(at + 3).map_or("", |t| t.text.trim_matches('"'));
            found.push(resolve(folder, file));
        }
        let Some(module) = lexed.tokens.get(at + 1).filter(|_| token.is("mod")) else { continue };
        if lexed.matches(at + 2, &["{"]) {
            inside.push((module.text.clone(), lexed.closing(at + 2)));
        } else if lexed.matches(at + 2, &[";"]) {
            let around: String = inside.iter().map(|(name, _)| format!("/{name}")).collect();
            match path_attribute.take() {
                Some(file) => found.push(resolve(folder, &file)),
                None => {
                    found.push(format!("{own}{around}/{}.rs", module.text));
                    found.push(format!("{own}{around}/{}/mod.rs", module.text));
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dead(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<Source> =
            files.iter().map(|(path, text)| Source::new(path, text)).collect();
        let roots = ["crates/a/src/lib.rs", "crates/a/tests/it/main.rs"];
        let roots = roots.into_iter().map(str::to_owned).collect();
        check_reach(&sources, &roots).into_iter().map(|finding| finding.path).collect()
    }

    #[test]
    fn files_that_a_mod_leads_to_are_alive() {
        let files = [
            ("crates/a/src/lib.rs", "mod b;\nmod d { mod e; }"),
            ("crates/a/src/b.rs", "mod c;"),
            ("crates/a/src/b/c.rs", ""),
            ("crates/a/src/d/e.rs", ""),
            ("crates/a/tests/it/main.rs", "mod load;"),
            ("crates/a/tests/it/load.rs", "#[path = \"../x.rs\"]\nmod y;"),
            ("crates/a/tests/x.rs", ""),
        ];
        assert_eq!(dead(&files), Vec::<String>::new());
    }

    #[test]
    fn files_that_nothing_leads_to_are_dead() {
        let files = [("crates/a/src/lib.rs", "// mod b;"), ("crates/a/src/b.rs", "")];
        assert_eq!(dead(&files), ["crates/a/src/b.rs"]);
    }

    #[test]
    fn a_file_called_mod_is_misplaced() {
        let files = [("crates/a/src/lib.rs", "mod b;"), ("crates/a/src/b/mod.rs", "")];
        assert_eq!(dead(&files), ["crates/a/src/b/mod.rs"]);
    }
}
