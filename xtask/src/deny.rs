//! Licences, sources or packages that must not get into the tree.
//!
//! The lists are in `deny.toml`, in the format of cargo-deny, whose advisory check can be run
//! beside this one where its database is at hand. Doing the rest ourselves needs no installation
//! of minutes on a fresh machine, only the registry.

mod expression;

use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::metadata::{Metadata, Package};

/// The lists of `deny.toml`, of which other tools read more.
#[derive(Deserialize)]
struct Lists {
    licenses: Licences,
    bans: Bans,
    sources: Sources,
}

#[derive(Deserialize)]
struct Licences {
    allow: Vec<String>,
    #[serde(default)]
    exceptions: Vec<Exception>,
}

/// Licences that one package may have.
#[derive(Deserialize)]
struct Exception {
    #[serde(rename = "crate")]
    name: String,
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    deny: Vec<Ban>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    allow_registry: Vec<String>,
}

/// A package that is not to be used.
#[derive(Deserialize)]
struct Ban {
    #[serde(rename = "crate")]
    name: String,
    #[serde(default)]
    reason: String,
    /// Packages of others that bring it along all the same.
    #[serde(default)]
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
    let mut lists: Lists = toml::from_str(&text).context("cannot understand deny.toml")?;
    lists.bans.deny.retain(|ban| !ban.is_brought_along(&metadata.packages));
    Ok(metadata.packages.iter().flat_map(|package| check(&lists, package)).collect())
}

fn check(lists: &Lists, package: &Package) -> Vec<String> {
    let mut wrong = Vec::new();
    let name = format!("{} {}", package.name, package.version);
    if let Some(ban) = lists.bans.deny.iter().find(|ban| ban.name == package.name) {
        wrong.push(format!("{name}: do without it: {}", ban.reason));
    }
    if let Some(source) = &package.source {
        let registry = source.strip_prefix("registry+").unwrap_or(source);
        if !lists.sources.allow_registry.iter().any(|allowed| allowed == registry) {
            wrong.push(format!("{name}: take it from a registry of deny.toml, {source} is none"));
        }
    }
    let Some(licence) = &package.license else {
        wrong.push(format!("{name}: it states no licence, do without it"));
        return wrong;
    };
    let is_excepted = |name: &str| {
        let of_package = lists.licenses.exceptions.iter().filter(|one| one.name == package.name);
        of_package.flat_map(|one| &one.allow).any(|allowed| allowed == name)
    };
    let is_allowed =
        |name: &str| lists.licenses.allow.iter().any(|a| a == name) || is_excepted(name);
    if !expression::is_satisfied(licence, &is_allowed) {
        wrong.push(format!("{name}: its licence {licence:?} is not on the list of deny.toml"));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
            ..Package::default()
        };
        check(&toml::from_str(LISTS).expect("the lists are well formed"), &package).len()
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
        let package = |name: &str, source: Option<&str>, needs: &str| -> Package {
            let dependencies = json!([{ "name": needs }]);
            let json = json!({ "name": name, "source": source, "dependencies": dependencies });
            serde_json::from_value(json).expect("it is a package")
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
