//! Manifests: one place for versions, one for lints.

use toml::{Table, Value};

use crate::tidy::finding::Finding;

/// A crate takes lints and versions from the workspace, so that there is one of each.
///
/// `text` is the manifest of a member; what is not TOML at all is left for Cargo to complain about.
pub fn check_manifest(path: &str, text: &str) -> Vec<Finding> {
    let Ok(manifest) = text.parse::<Table>() else { return Vec::new() };
    let mut findings = Vec::new();
    let mut find = |line: usize, advice: String| {
        findings.push(Finding { path: path.to_owned(), line, rule: "manifest", advice });
    };
    if !is_inherited(manifest.get("lints")) {
        find(1, "take the lints of the workspace: `[lints]` with `workspace = true`".to_owned());
    }
    for name in sections(&manifest).flat_map(own_versions) {
        let line = text.lines().position(|line| line.starts_with(name.as_str())).unwrap_or(0);
        let advice = format!("move the version of {name} to the root: `{name}.workspace = true`");
        find(line + 1, advice);
    }
    findings
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
        check_manifest("crates/run/Cargo.toml", text).iter().map(|finding| finding.line).collect()
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
}
