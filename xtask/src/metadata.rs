//! Workspace metadata from `cargo metadata`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::process::output;

/// The packages that Cargo sees.
#[derive(Debug, Deserialize)]
pub struct Metadata {
    /// All of them: members alone, or with everything they need.
    pub packages: Vec<Package>,
    /// Cargo's target folder, as configured; absolute.
    #[serde(rename = "target_directory")]
    pub target: PathBuf,
}

/// One package.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its licence expression, if it states one.
    pub license: Option<String>,
    /// Where it comes from; `None` for a path of ours.
    pub source: Option<String>,
    /// The path of its manifest.
    pub manifest_path: String,
    /// What it names in its manifest.
    pub dependencies: Vec<Dependency>,
    /// What Cargo compiles of it.
    pub targets: Vec<Target>,
}

impl Package {
    /// Its benchmarks.
    pub fn benches(&self) -> impl Iterator<Item = &Target> {
        self.targets.iter().filter(|target| target.kind.iter().any(|kind| kind == "bench"))
    }
}

/// A crate that Cargo compiles of a package, for example a benchmark.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Target {
    /// Its name.
    pub name: String,
    kind: Vec<String>,
    /// The file that is the crate's root.
    #[serde(rename = "src_path")]
    root: String,
    /// The features it cannot do without.
    #[serde(default)]
    pub required_features: Vec<String>,
}

/// One line of a manifest.
#[derive(Debug, Deserialize)]
pub struct Dependency {
    /// The package's name.
    pub name: String,
    kind: Option<String>,
}

impl Dependency {
    /// Whether it is for tests, benches or examples, not for the code that ships or its build.
    pub fn is_for_tests(&self) -> bool {
        self.kind.as_deref() == Some("dev")
    }
}

/// How far to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The workspace's own packages.
    Members,
    /// Everything that is compiled.
    Everything,
    /// Everything that would be compiled with all features.
    AllFeatures,
}

impl Metadata {
    /// Asks Cargo about the workspace at `root`.
    ///
    /// # Errors
    /// If Cargo cannot be run or does not like the workspace.
    pub fn read(root: &Path, reach: Reach) -> Result<Metadata> {
        let mut command = cargo();
        command.current_dir(root).args(["metadata", "--format-version", "1", "--quiet"]);
        match reach {
            Reach::Members => command.arg("--no-deps"),
            Reach::Everything => command.arg("--locked"),
            Reach::AllFeatures => command.args(["--locked", "--all-features"]),
        };
        serde_json::from_str(&output(&mut command)?).context("what Cargo says of its packages")
    }

    /// The crate roots, from `root`.
    pub fn roots(&self, root: &Path) -> BTreeSet<String> {
        let targets = self.packages.iter().flat_map(|package| &package.targets);
        targets.map(|target| below(root, &target.root)).collect()
    }

    /// The folder names of the packages, for example `run`.
    pub fn folders(&self, root: &Path) -> Vec<String> {
        let folder = |package: &Package| {
            let manifest = below(root, &package.manifest_path);
            let folder = manifest.trim_end_matches("/Cargo.toml");
            folder.rsplit('/').next().unwrap_or(folder).to_owned()
        };
        self.packages.iter().map(folder).collect()
    }
}

fn below(root: &Path, path: &str) -> String {
    let path = Path::new(path);
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

/// The Cargo that runs us, or the one on the path.
///
/// It does not see what Cargo told us about our own package: build scripts that watch such a
/// variable (ring's) would build anew whenever one goes from `cargo test` to `cargo xtask`.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_built_lies_where_cargo_says() {
        let json = json!({ "packages": [], "target_directory": "/elsewhere/target" });
        let metadata = |json| serde_json::from_value::<Metadata>(json);
        assert_eq!(metadata(json).expect("it is whole").target, Path::new("/elsewhere/target"));
        assert!(metadata(json!({ "packages": [] })).is_err());
    }
}
