//! Licences, sources or packages that must not get into the tree.
//!
//! The lists are in `deny.toml`, in the format of cargo-deny, whose advisory check can be run
//! beside this one where its database is at hand. Doing the rest ourselves needs no installation
//! of minutes on a fresh machine, only the registry.

mod expression;

use std::path::Path;

use anyhow::{Context, Result};
use toml::Table;

use crate::metadata::{Metadata, Package};

/// The lists of `deny.toml`.
struct Lists {
    licences: Vec<String>,
    exceptions: Vec<(String, Vec<String>)>,
    banned: Vec<Ban>,
    registries: Vec<String>,
}

/// A package that is not to be used.
struct Ban {
    name: String,
    reason: String,
    /// Packages of others that bring it along all the same.
    wrappers: Vec<String>,
}

impl Ban {
    /// Whether one of the wrappers has brought it, and nothing of ours names it.
    fn is_brought_along(&self, packages: &[Package]) -> bool {
        let is_named = |package: &Package| {
            package.dependencies.iter().any(|dependency| dependency.name == self.name)
        };
        packages.iter().any(|package| self.wrappers.contains(&package.name))
            && !packages.iter().any(|package| package.source.is_none() && is_named(package))
    }
}

/// What is wrong with the packages that get compiled; one sentence each.
///
/// # Errors
/// If `deny.toml` cannot be read.
pub fn deny(root: &Path, metadata: &Metadata) -> Result<Vec<String>> {
    let path = root.join("deny.toml");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path:?}"))?;
    let mut lists = read(&text).context("cannot understand deny.toml")?;
    lists.banned.retain(|ban| !ban.is_brought_along(&metadata.packages));
    Ok(metadata.packages.iter().flat_map(|package| check(&lists, package)).collect())
}

fn read(text: &str) -> Result<Lists> {
    let table: Table = text.parse()?;
    let list = |section: &str, key: &str| {
        let value = table.get(section).and_then(|section| section.get(key));
        value.and_then(toml::Value::as_array).cloned().unwrap_or_default()
    };
    let texts = |values: Vec<toml::Value>| -> Vec<String> {
        values.iter().filter_map(|value| value.as_str().map(str::to_owned)).collect()
    };
    let text = |value: &toml::Value, key: &str| {
        value.get(key).and_then(toml::Value::as_str).unwrap_or("").to_owned()
    };
    let names = |value: &toml::Value, key: &str| {
        texts(value.get(key).and_then(toml::Value::as_array).cloned().unwrap_or_default())
    };
    let exception = |value: &toml::Value| (text(value, "crate"), names(value, "allow"));
    Ok(Lists {
        licences: texts(list("licenses", "allow")),
        exceptions: list("licenses", "exceptions").iter().map(exception).collect(),
        banned: list("bans", "deny")
            .iter()
            .map(|ban| Ban {
                name: text(ban, "crate"),
                reason: text(ban, "reason"),
                wrappers: names(ban, "wrappers"),
            })
            .collect(),
        registries: texts(list("sources", "allow-registry")),
    })
}

fn check(lists: &Lists, package: &Package) -> Vec<String> {
    let mut wrong = Vec::new();
    let name = format!("{} {}", package.name, package.version);
    if let Some(ban) = lists.banned.iter().find(|ban| ban.name == package.name) {
        wrong.push(format!("{name}: do without it: {}", ban.reason));
    }
    if let Some(source) = &package.source {
        let registry = source.strip_prefix("registry+").unwrap_or(source);
        if !lists.registries.iter().any(|allowed| allowed == registry) {
            wrong.push(format!("{name}: take it from a registry of deny.toml, {source} is none"));
        }
    }
    let Some(licence) = &package.license else {
        wrong.push(format!("{name}: it states no licence, do without it"));
        return wrong;
    };
    let is_excepted = |name: &str| {
        let mut exceptions = lists.exceptions.iter();
        exceptions.any(|(of, allowed)| *of == package.name && allowed.iter().any(|a| a == name))
    };
    let is_allowed = |name: &str| lists.licences.iter().any(|a| a == name) || is_excepted(name);
    if !expression::is_satisfied(licence, &is_allowed) {
        wrong.push(format!("{name}: its licence {licence:?} is not on the list of deny.toml"));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::{Dependency, DependencyKind};

    const LISTS: &str = r#"
        [licenses]
        allow = ["MIT", "Apache-2.0"]
        exceptions = [{ crate = "odd", allow = ["Zlib"] }]
        [bans]
        deny = [{ crate = "openssl-sys", reason = "needs system headers" }]
        [sources]
        allow-registry = ["https://example.org/index"]
    "#;

    fn wrong(name: &str, license: Option<&str>, source: Option<&str>) -> usize {
        let package = Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            license: license.map(str::to_owned),
            source: source.map(str::to_owned),
            manifest: String::new(),
            dependencies: Vec::new(),
            roots: Vec::new(),
            benches: Vec::new(),
        };
        check(&read(LISTS).expect("the lists are well formed"), &package).len()
    }

    const REGISTRY: Option<&str> = Some("registry+https://example.org/index");

    #[test]
    fn allowed_licences_pass() {
        assert_eq!(wrong("a", Some("MIT OR GPL-3.0"), REGISTRY), 0);
        assert_eq!(wrong("ours", Some("Apache-2.0"), None), 0);
    }

    #[test]
    fn other_licences_are_found() {
        assert_eq!(wrong("a", Some("GPL-3.0"), REGISTRY), 1);
        assert_eq!(wrong("a", None, REGISTRY), 1);
        assert_eq!(wrong("a", Some("Zlib"), REGISTRY), 1);
        assert_eq!(wrong("odd", Some("Zlib"), REGISTRY), 0);
    }

    #[test]
    fn what_others_bring_along_is_no_choice_of_ours() {
        let package = |name: &str, source: Option<&str>, needs: &str| Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            license: Some("MIT".to_owned()),
            source: source.map(str::to_owned),
            manifest: String::new(),
            dependencies: vec![Dependency { name: needs.to_owned(), kind: DependencyKind::Normal }],
            roots: Vec::new(),
            benches: Vec::new(),
        };
        let ban = Ban {
            name: "old".to_owned(),
            reason: String::new(),
            wrappers: vec!["theirs".to_owned()],
        };
        let theirs = || package("theirs", REGISTRY, "old");
        assert!(ban.is_brought_along(&[theirs()]));
        assert!(!ban.is_brought_along(&[theirs(), package("ours", None, "old")]));
        assert!(!ban.is_brought_along(&[package("others", REGISTRY, "old")]));
    }

    #[test]
    fn banned_packages_are_found() {
        assert_eq!(wrong("openssl-sys", Some("MIT"), REGISTRY), 1);
    }

    #[test]
    fn packages_from_elsewhere_are_found() {
        assert_eq!(wrong("a", Some("MIT"), Some("git+https://example.org/a")), 1);
    }
}
