//! The fleet on a real Kubernetes: built, started on this machine, given faults.
//!
//! Chart and kustomization are compared with the golden renderings and with the schemas first,
//! which takes seconds. Everything that is built or installed is kept in `target/kube`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::process::run;
use crate::{dist, needs};

/// What `deploy/check` asks of the Python package index: schemas of several versions of Kubernetes.
const SCHEMAS: &str = "kubernetes-validate==1.37.0";

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// A static binary that is there already.
    pub binary: Option<PathBuf>,
    /// Only these cases of `deploy/kube/try`.
    pub cases: Vec<String>,
}

impl Options {
    /// From words of the command line.
    ///
    /// # Errors
    /// If there is an unknown one.
    pub fn parse(words: &[&str]) -> Result<Options> {
        let (binary, cases) = match words {
            ["--binary", file, cases @ ..] => (Some(PathBuf::from(file)), cases),
            cases => (None, cases),
        };
        if let Some(other) = cases.iter().find(|word| word.starts_with('-')) {
            bail!("kube takes [--binary FILE] [CASE…], not {other}");
        }
        Ok(Options { binary, cases: cases.iter().map(|&case| case.to_owned()).collect() })
    }
}

/// Checks the renderings, then runs the fleet in pods of two nodes.
///
/// # Errors
/// If something is missing, does not build, or a case does not end as it should.
pub fn kube(root: &Path, options: &Options) -> Result<()> {
    needs::provide(needs::FOR_KUBE)?;
    let made = root.join("target/kube");
    let commands = made.join("bin");
    run(Command::new(root.join("deploy/kube/build")).arg(&commands))?;
    check_renderings(root, &made)?;
    let binary = match &options.binary {
        Some(binary) => binary.clone(),
        None => dist::binary(root, true)?,
    };
    let mut trial = Command::new(root.join("deploy/kube/try"));
    run(trial.arg(binary).arg(commands).args(&options.cases))
}

fn check_renderings(root: &Path, made: &Path) -> Result<()> {
    let environment = made.join("venv");
    let programs = environment.join("bin");
    if !programs.join("kubernetes-validate").exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
        run(Command::new(programs.join("pip")).args(["install", "-q", SCHEMAS]))?;
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{}:{path}", made.join("bin").display(), programs.display());
    run(Command::new(root.join("deploy/check")).env("PATH", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_is_run() {
        assert_eq!(Options::parse(&[]).unwrap(), Options::default());
        let options = Options::parse(&["--binary", "a", "whole", "chart"]).unwrap();
        assert_eq!(options.binary, Some(PathBuf::from("a")));
        assert_eq!(options.cases, ["whole", "chart"]);
        assert!(Options::parse(&["--binary"]).is_err());
        assert!(Options::parse(&["--fast"]).is_err());
        assert!(Options::parse(&["whole", "--binary", "a"]).is_err());
    }
}
