//! Bill of materials: the crates in the binary, as CycloneDX 1.5.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::json;

use super::{Build, TARGET, features};
use crate::metadata::{Metadata, Package, Reach, cargo};
use crate::process::output;

/// A crate that is compiled into the binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crate {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its licence expression.
    pub licence: String,
    /// The checksum of its package, of a crate that is not ours.
    pub checksum: Option<String>,
    /// The directory of its sources.
    pub folder: PathBuf,
}

/// The crates that Cargo compiles into the binary, in order of their names.
///
/// # Errors
/// If Cargo cannot be asked.
pub fn crates(root: &Path) -> Result<Vec<Crate>> {
    let mut tree = cargo();
    tree.current_dir(root).args(["tree", "-p", "assay", "--features", &features()]);
    tree.args(["-e", "normal", "--target", TARGET, "--prefix", "none", "--format", "{p}|{l}"]);
    let tree = output(tree.arg("--no-dedupe"))?;
    let lock = fs::read_to_string(root.join("Cargo.lock"))?;
    let checksums = checksums(&lock)?;
    let folders = folders(root)?;
    let mut crates: Vec<Crate> = Vec::new();
    for line in tree.lines() {
        let Some((name, version, licence)) = parts(line) else { continue };
        let id = (name.to_owned(), version.to_owned());
        let folder = folders.get(&id).with_context(|| format!("where is {name} {version}?"))?;
        crates.push(Crate {
            licence: licence.replace('/', " OR "),
            checksum: checksums.get(&id).cloned(),
            folder: folder.clone(),
            name: id.0,
            version: id.1,
        });
    }
    crates.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
    crates.dedup();
    Ok(crates)
}

/// Name, version and licence in a line such as `serde v1.0.228|MIT OR Apache-2.0`.
fn parts(line: &str) -> Option<(&str, &str, &str)> {
    let (package, licence) = line.split_once('|')?;
    let mut words = package.split(' ');
    let (name, version) = (words.next()?, words.next()?);
    Some((name, version.strip_prefix('v')?, licence))
}

type Packages<T> = BTreeMap<(String, String), T>;

fn checksums(lock: &str) -> Result<Packages<String>> {
    let lock: toml::Value = toml::from_str(lock)?;
    let packages = lock["package"].as_array().context("Cargo.lock has no packages")?;
    let text = |package: &toml::Value, key: &str| Some(package.get(key)?.as_str()?.to_owned());
    let entry = |package: &toml::Value| {
        let id = (text(package, "name")?, text(package, "version")?);
        Some((id, text(package, "checksum")?))
    };
    Ok(packages.iter().filter_map(entry).collect())
}

fn folders(root: &Path) -> Result<Packages<PathBuf>> {
    let packages = Metadata::read(root, Reach::AllFeatures)?.packages.into_iter();
    let entry = |package: Package| {
        let manifest = PathBuf::from(package.manifest_path);
        ((package.name, package.version), manifest.parent().unwrap_or(&manifest).to_owned())
    };
    Ok(packages.map(entry).collect())
}

/// The bill of materials as a text.
pub fn cyclone_dx(crates: &[Crate], build: &Build) -> String {
    let component = |one: &Crate| {
        let hashes = one.checksum.as_ref().map(|sum| json!({ "alg": "SHA-256", "content": sum }));
        let mut component = json!({
            "type": "library",
            "name": one.name,
            "version": one.version,
            "purl": format!("pkg:cargo/{}@{}", one.name, one.version),
            "bom-ref": format!("pkg:cargo/{}@{}", one.name, one.version),
        });
        if !one.licence.is_empty() {
            component["licenses"] = json!([{ "expression": one.licence }]);
        }
        if let Some(hash) = hashes {
            component["hashes"] = json!([hash]);
        }
        component
    };
    let others = crates.iter().filter(|one| one.name != "assay");
    let bom = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "assay",
                "name": "assay",
                "version": build.version,
                "licenses": [{ "expression": "Apache-2.0 OR MIT" }],
            },
        },
        "components": others.map(component).collect::<Vec<_>>(),
    });
    format!("{bom:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn a_line_of_the_tree_has_name_version_and_licence() {
        let line = "serde v1.0.228|MIT OR Apache-2.0";
        assert_eq!(parts(line), Some(("serde", "1.0.228", "MIT OR Apache-2.0")));
        let ours = "assay-model v0.1.0 (/work/crates/model)|Apache-2.0 OR MIT";
        assert_eq!(parts(ours), Some(("assay-model", "0.1.0", "Apache-2.0 OR MIT")));
        assert_eq!(parts(""), None);
    }

    #[test]
    fn checksums_are_found_by_name_and_version() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"ff\"\n\
                    [[package]]\nname = \"ours\"\nversion = \"0.1.0\"\n";
        let found = checksums(lock).unwrap();
        assert_eq!(found[&("a".to_owned(), "1.0.0".to_owned())], "ff");
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn a_bill_names_each_crate_with_its_licence_and_checksum() {
        let one = Crate {
            name: "serde".to_owned(),
            version: "1.0.228".to_owned(),
            licence: "MIT".to_owned(),
            checksum: Some("ff".to_owned()),
            folder: PathBuf::new(),
        };
        let build = Build {
            version: "0.1.0".to_owned(),
            commit: "c".to_owned(),
            rustc: "rustc".to_owned(),
            profile: "dist",
            epoch: "0".to_owned(),
        };
        let bom: Value = serde_json::from_str(&cyclone_dx(&[one], &build)).unwrap();
        assert_eq!(bom["components"][0]["purl"], "pkg:cargo/serde@1.0.228");
        assert_eq!(bom["components"][0]["hashes"][0]["content"], "ff");
        assert_eq!(bom["metadata"]["component"]["version"], "0.1.0");
    }
}
