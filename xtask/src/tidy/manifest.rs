//! Manifests: one place for versions, one for lints, and no tests of examples that are not there.

use toml::{Table, Value};

use crate::tidy::finding::Finding;
use crate::tidy::source::Source;

/// A crate takes lints and versions from the workspace, so that there is one of each.
///
/// `text` is the manifest of a member, `sources` are all Rust files; what is not TOML at all is
/// left for Cargo to complain about.
pub fn check_manifest(path: &str, text: &str, sources: &[Source]) -> Vec<Finding> {
    let Ok(manifest) = text.parse::<Table>() else { return Vec::new() };
    let mut findings = Vec::new();
    let mut find = |line: usize, advice: String| {
        findings.push(Finding { path: path.to_owned(), line, rule: "manifest", advice });
    };
    if !is_inherited(manifest.get("lints")) {
        find(1, "take the lints of the workspace: `[lints]` with `workspace = true`".to_owned());
    }
    if let Some(advice) = check_examples(path, &manifest, sources) {
        find(1, advice.to_owned());
    }
    for name in sections(&manifest).flat_map(own_versions) {
        let line = text.lines().position(|line| line.starts_with(name.as_str())).unwrap_or(0);
        let advice = format!("move the version of {name} to the root: `{name}.workspace = true`");
        find(line + 1, advice);
    }
    findings
}

/// To look for examples in a library's docs takes a second each time, whether there are any or not.
fn check_examples(path: &str, manifest: &Table, sources: &[Source]) -> Option<&'static str> {
    let folder = format!("{}src/", path.trim_end_matches("Cargo.toml"));
    let own = || sources.iter().filter(|source| source.path.starts_with(&folder));
    own().find(|source| source.path == format!("{folder}lib.rs"))?;
    let tested = manifest.get("lib").and_then(|lib| lib.get("doctest"));
    match (tested.and_then(Value::as_bool) != Some(false), own().any(has_example)) {
        (false, true) => Some("take out `doctest = false`: its docs have examples to test"),
        (true, false) => Some("its docs have no example: say so, `[lib]` with `doctest = false`"),
        _ => None,
    }
}

/// Whether there is anything but plain text between the fences of a doc comment, or a file is taken
/// in as one.
fn has_example(source: &Source) -> bool {
    let mut is_open = false;
    for line in source.text.lines().map(str::trim_start) {
        let Some(doc) = line.strip_prefix("///").or(line.strip_prefix("//!")) else {
            is_open = false;
            continue;
        };
        let Some(language) = doc.trim().strip_prefix("```") else { continue };
        is_open = !is_open;
        if is_open && language != "text" {
            return true;
        }
    }
    source.text.contains("doc = include_str!")
}

fn is_inherited(value: Option<&Value>) -> bool {
    value.and_then(|value| value.get("workspace")).and_then(Value::as_bool) == Some(true)
}

const KINDS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// Every table of dependencies, those for one platform included.
fn sections(manifest: &Table) -> impl Iterator<Item = &Table> {
    let platforms = manifest.get("target").and_then(Value::as_table);
    let platforms = platforms.into_iter().flat_map(Table::values).filter_map(Value::as_table);
    std::iter::once(manifest)
        .chain(platforms)
        .flat_map(|table| KINDS.iter().filter_map(|kind| table.get(*kind)?.as_table()))
}

fn own_versions(section: &Table) -> Vec<String> {
    let names = section.iter().filter(|(_, value)| !is_inherited(Some(value)));
    names.map(|(name, _)| name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        let findings = check_manifest("crates/run/Cargo.toml", text, &[]);
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn versions_come_from_the_workspace() {
        let text = "[dependencies]\nserde.workspace = true\n\n[lints]\nworkspace = true\n";
        assert_eq!(lines(text), [0; 0]);
        let optional =
            text.replace("serde.workspace = true", "serde = { workspace = true, optional = true }");
        assert_eq!(lines(&optional), [0; 0]);
        assert_eq!(lines(&text.replace("serde.workspace = true", "serde = \"1\"")), [2]);
    }

    #[test]
    fn platforms_and_tests_count_as_well() {
        let text = "[target.'cfg(unix)'.dependencies]\nlibc = \"1\"\n[dev-dependencies]\n\
                    x = \"1\"\n[lints]\nworkspace = true\n";
        assert_eq!(lines(text).len(), 2);
    }

    #[test]
    fn lints_come_from_the_workspace() {
        assert_eq!(lines("[dependencies]\n"), [1]);
    }

    #[test]
    fn examples_are_tested_where_there_are_any() {
        let count = |manifest: &str, docs: &str| {
            let source = Source::new("crates/run/src/lib.rs", docs);
            let text = format!("{manifest}[lints]\nworkspace = true\n");
            check_manifest("crates/run/Cargo.toml", &text, &[source]).len()
        };
        let (untested, example) = ("[lib]\ndoctest = false\n", "/// ```\n/// a();\n/// ```\n");
        let figure = "//! ```text\n//! a - b\n//! ```\n";
        assert_eq!(count("", example), 0);
        assert_eq!(count(untested, example), 1);
        assert_eq!(count("", figure), 1);
        assert_eq!(count(untested, figure), 0);
        assert_eq!(count(untested, &format!("{figure}{example}")), 1);
        let open = "//! ```text\n//! a - b\n\n";
        assert_eq!(count(untested, &format!("{open}{example}")), 1);
        assert_eq!(count(untested, "#![doc = include_str!(\"a.md\")]\n"), 1);
    }
}
