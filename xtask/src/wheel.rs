//! The Python package: built as a wheel, installed into an environment of its own, tested there.
//!
//! Cargo builds the command and the native part; maturin packs both. The environment is kept in
//! `target/wheel` and made anew when the list of its packages changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::check::{STORES, run_cargo};
use crate::needs;
use crate::process::run;

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Build the wheel that is published, around the static binary, and test nothing.
    pub is_release: bool,
    /// With that: build with the profile `release` instead of `dist`.
    pub is_quick: bool,
    /// Only tests whose names match this, in pytest's words.
    pub only: Option<String>,
}

impl Options {
    /// From words of the command line.
    ///
    /// # Errors
    /// If there is an unknown one.
    pub fn parse(words: &[&str]) -> Result<Options> {
        match words {
            [] => Ok(Options::default()),
            ["--release"] => Ok(Options { is_release: true, ..Options::default() }),
            ["--release", "--quick"] => {
                Ok(Options { is_release: true, is_quick: true, ..Options::default() })
            }
            ["--only", pattern] => {
                Ok(Options { only: Some((*pattern).to_owned()), ..Options::default() })
            }
            other => {
                bail!("wheel takes --release [--quick] or --only PATTERN, not {}", other.join(" "))
            }
        }
    }
}

/// The packages of the environment, with their versions.
const REQUIREMENTS: &str = "requirements.txt";

/// Builds the wheel and, unless it is the one that is published, tests it.
///
/// # Errors
/// If something is missing, does not build, or a test fails.
pub fn wheel(root: &Path, options: &Options) -> Result<()> {
    needs::provide(needs::FOR_WHEEL)?;
    let environment = Environment::at(root)?;
    if options.is_release {
        let dist = root.join("target/dist");
        let binary = crate::dist::binary(root, options.is_quick)?;
        let profile = if options.is_quick { "release" } else { "dist" };
        let wheel = pack(root, &environment, &binary, profile, &dist)?;
        println!("{}", wheel.display());
        return Ok(());
    }
    let steps: [(&str, &dyn Fn() -> Result<()>); 4] = [
        ("clippy", &|| {
            let arguments = ["clippy", "-p", "assay-python", "--", "-D", "warnings"];
            run_cargo(root, &arguments, &[])
        }),
        ("build", &|| {
            run_cargo(root, &["build", "-p", "assay", "--features", STORES], &[])?;
            let binary = root.join("target/debug/assay");
            let made = root.join("target/wheel/dist");
            environment.install(&pack(root, &environment, &binary, "dev", &made)?)
        }),
        ("types", &|| check_types(root, &environment)),
        ("pytest", &|| run_tests(root, &environment, options)),
    ];
    for (name, step) in steps {
        let begun = Instant::now();
        println!("== wheel: {name}");
        step().with_context(|| format!("wheel: {name} failed"))?;
        println!("== wheel: {name} ok {:.1} s", begun.elapsed().as_secs_f64());
    }
    Ok(())
}

/// A virtual environment of Python with the packages that the tests need.
struct Environment {
    bin: PathBuf,
}

impl Environment {
    /// The environment of the workspace at `root`, made if it is not there or is outdated.
    fn at(root: &Path) -> Result<Environment> {
        let folder = root.join("target/wheel/venv");
        let wanted_path = root.join("python").join(REQUIREMENTS);
        let wanted = fs::read_to_string(&wanted_path)
            .with_context(|| format!("cannot read {}", wanted_path.display()))?;
        let installed_path = folder.join(REQUIREMENTS);
        let environment = Environment { bin: folder.join("bin") };
        if fs::read_to_string(&installed_path).is_ok_and(|installed| installed == wanted) {
            return Ok(environment);
        }
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("remove {}", folder.display()))?;
        }
        println!("== wheel: making {}", folder.display());
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        run(environment.python().args(["-m", "pip", "install", "-q", "-r"]).arg(&wanted_path))?;
        fs::write(&installed_path, wanted)?;
        Ok(environment)
    }

    /// A command of this environment's Python.
    fn python(&self) -> Command {
        self.program("python")
    }

    /// A command of a program of this environment, which finds the others there as well.
    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.bin.join(name));
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.bin.display()));
        command.env("VIRTUAL_ENV", self.bin.parent().unwrap_or(&self.bin));
        command
    }

    fn install(&self, wheel: &Path) -> Result<()> {
        let words = ["-m", "pip", "install", "-q", "--force-reinstall", "--no-deps"];
        run(self.python().args(words).arg(wheel))
    }
}

/// Builds the native part and packs it with the command `binary`; gives the wheel's path.
fn pack(
    root: &Path,
    environment: &Environment,
    binary: &Path,
    profile: &str,
    into: &Path,
) -> Result<PathBuf> {
    let scripts = root.join("python/data/scripts");
    fs::create_dir_all(&scripts)?;
    fs::copy(binary, scripts.join("assay"))
        .with_context(|| format!("cannot copy {}", binary.display()))?;
    if into.exists() {
        for entry in fs::read_dir(into)? {
            let path = entry?.path();
            if path.extension().is_some_and(|ending| ending == "whl") {
                fs::remove_file(path)?;
            }
        }
    }
    let mut maturin = environment.program("maturin");
    maturin.current_dir(root.join("python")).args(["build", "--quiet", "--profile", profile]);
    run(maturin.arg("--out").arg(into))?;
    let wheels = fs::read_dir(into)?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut wheels = wheels.filter(|path| path.extension().is_some_and(|ending| ending == "whl"));
    wheels.next().with_context(|| format!("maturin left no wheel in {}", into.display()))
}

/// Type checkers read the installed package, its tests, and how complete its types are.
fn check_types(root: &Path, environment: &Environment) -> Result<()> {
    // Away from the sources, so that the installed package is what is read.
    let away = root.join("target/wheel");
    let tests = root.join("python/tests");
    let mut mypy = environment.program("mypy");
    let settings = root.join("python/pyproject.toml");
    run(mypy.current_dir(&away).arg("--config-file").arg(&settings).args(["-p", "assay"]))?;
    let mut mypy = environment.program("mypy");
    run(mypy.current_dir(&away).arg("--config-file").arg(&settings).arg(&tests))?;
    run(environment.program("pyright").current_dir(&away).arg(&tests))?;
    let mut pyright = environment.program("pyright");
    run(pyright.current_dir(&away).args(["--verifytypes", "assay", "--ignoreexternal"]))
}

fn run_tests(root: &Path, environment: &Environment, options: &Options) -> Result<()> {
    let mut pytest = environment.python();
    pytest.current_dir(root.join("target/wheel")).args(["-m", "pytest", "-p", "no:cacheprovider"]);
    pytest.arg("-c").arg(root.join("python/pyproject.toml")).arg(root.join("python/tests"));
    if let Some(pattern) = &options.only {
        pytest.args(["-k", pattern]);
    }
    run(&mut pytest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_is_done() {
        assert_eq!(Options::parse(&[]).unwrap(), Options::default());
        assert!(Options::parse(&["--release"]).unwrap().is_release);
        assert_eq!(Options::parse(&["--only", "equal"]).unwrap().only.as_deref(), Some("equal"));
        assert!(Options::parse(&["--fast"]).is_err());
    }
}
