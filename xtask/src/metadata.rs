//! Workspace metadata from `cargo metadata`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// The packages that Cargo sees.
#[derive(Debug)]
pub struct Metadata {
    /// All of them: members alone, or with everything they need.
    pub packages: Vec<Package>,
    /// Cargo's target folder, as configured; absolute.
    pub target: PathBuf,
}

/// One package.
#[derive(Debug)]
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
    pub manifest: String,
    /// What it names in its manifest.
    pub dependencies: Vec<Dependency>,
    /// The files that Cargo compiles as crate roots.
    pub roots: Vec<String>,
    /// Its benchmarks.
    pub benches: Vec<Bench>,
}

/// One benchmark of a package.
#[derive(Clone, Debug)]
pub struct Bench {
    /// Its name.
    pub name: String,
    /// The features it cannot do without.
    pub features: Vec<String>,
}

/// One line of a manifest.
#[derive(Debug)]
pub struct Dependency {
    /// The package's name.
    pub name: String,
    /// For what.
    pub kind: DependencyKind,
}

/// What a dependency is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DependencyKind {
    /// The code that ships, or the script that builds it.
    Normal,
    /// Tests, benches, examples.
    Development,
}

/// How far to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The workspace's own packages.
    Members,
    /// Everything that is compiled.
    Everything,
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
        };
        let output = command.output().context("cannot run cargo metadata")?;
        if !output.status.success() {
            bail!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Metadata::parse(&serde_json::from_slice(&output.stdout)?)
    }

    /// Reads Cargo's own JSON.
    ///
    /// # Errors
    /// If it has no packages, or no folder for what is built.
    pub fn parse(json: &Value) -> Result<Metadata> {
        let packages = json["packages"].as_array().context("cargo metadata names no packages")?;
        let target = json["target_directory"].as_str();
        let target = target.context("cargo metadata names no target directory")?.into();
        Ok(Metadata { packages: packages.iter().map(package).collect(), target })
    }

    /// The crate roots, from `root`.
    pub fn roots(&self, root: &Path) -> BTreeSet<String> {
        self.packages
            .iter()
            .flat_map(|package| &package.roots)
            .map(|path| below(root, path))
            .collect()
    }

    /// The folder names of the packages, for example `run`.
    pub fn folders(&self, root: &Path) -> Vec<String> {
        let folder = |package: &Package| {
            let manifest = below(root, &package.manifest);
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

fn package(json: &Value) -> Package {
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let items = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let dependency = |json: &Value| Dependency {
        name: text(&json["name"]),
        kind: match json["kind"].as_str() {
            Some("dev") => DependencyKind::Development,
            _ => DependencyKind::Normal,
        },
    };
    let is_bench =
        |target: &&Value| items(&target["kind"]).iter().any(|kind| kind.as_str() == Some("bench"));
    let bench = |target: &Value| Bench {
        name: text(&target["name"]),
        features: items(&target["required-features"]).iter().map(text).collect(),
    };
    Package {
        benches: items(&json["targets"]).iter().filter(is_bench).map(bench).collect(),
        name: text(&json["name"]),
        version: text(&json["version"]),
        license: json["license"].as_str().map(str::to_owned),
        source: json["source"].as_str().map(str::to_owned),
        manifest: text(&json["manifest_path"]),
        dependencies: items(&json["dependencies"]).iter().map(dependency).collect(),
        roots: items(&json["targets"]).iter().map(|target| text(&target["src_path"])).collect(),
    }
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
        let metadata = Metadata::parse(&json).expect("it is whole");
        assert_eq!(metadata.target, Path::new("/elsewhere/target"));
        assert!(Metadata::parse(&json!({ "packages": [] })).is_err());
    }
}
