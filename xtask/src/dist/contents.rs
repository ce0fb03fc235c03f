//! Contents of every package: the layout below `/usr`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::{Build, licences, provenance, sbom};
use crate::process::{output, run};

/// Documents of the project that go along.
const DOCUMENTS: [&str; 5] =
    ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "NOTICE"];

/// Completions: the shell, and where it looks.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/assay"),
    ("zsh", "share/zsh/vendor-completions/_assay"),
    ("fish", "share/fish/vendor_completions.d/assay.fish"),
];

/// The files of a package in a directory.
pub struct Contents {
    /// The directory, whose layout is that of `/usr`.
    pub root: PathBuf,
}

impl Contents {
    /// Gathers everything around `binary`.
    pub fn gather(root: &Path, binary: &Path, build: &Build, into: &Path) -> Result<Contents> {
        let contents = Contents { root: into.to_owned() };
        put(binary, &contents.binary(), 0o755)?;
        for (shell, place) in COMPLETIONS {
            let script = output(Command::new(binary).args(["completion", shell]))?;
            write(&into.join(place), &(script + "\n"))?;
        }
        let man = into.join("share/man/man1");
        fs::create_dir_all(&man)?;
        run(Command::new(binary).arg("man").arg(&man))?;
        for entry in fs::read_dir(&man)? {
            run(Command::new("gzip").arg("-9n").arg(entry?.path()))?;
        }
        let documents = contents.documents();
        for name in DOCUMENTS {
            put(&root.join(name), &documents.join(name), 0o644)?;
        }
        let crates = sbom::crates(root)?;
        write(&documents.join("sbom.cdx.json"), &sbom::cyclone_dx(&crates, build))?;
        write(&documents.join("THIRD-PARTY-LICENSES.txt"), &licences::texts(root, &crates)?)?;
        let sum = output(Command::new("sha256sum").arg(contents.binary()))?;
        let sum = sum.split(' ').next().unwrap_or_default();
        write(&documents.join("provenance.json"), &provenance::statement(build, sum))?;
        Ok(contents)
    }

    /// The binary among the contents.
    pub fn binary(&self) -> PathBuf {
        self.root.join("bin/assay")
    }

    fn documents(&self) -> PathBuf {
        self.root.join("share/doc/assay")
    }

    /// Copies everything to `place`.
    pub fn copy(&self, place: &Path) -> Result<()> {
        copy_tree(&self.root, place)
    }

    /// Copies the documents to `place`.
    pub fn copy_documents(&self, place: &Path) -> Result<()> {
        copy_tree(&self.documents(), place)
    }
}

fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to.parent().unwrap_or(to))?;
    run(Command::new("cp").arg("-a").arg(from).arg(to))
}

fn put(from: &Path, to: &Path, mode: u32) -> Result<()> {
    fs::create_dir_all(to.parent().unwrap_or(to))?;
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    fs::set_permissions(to, fs::Permissions::from_mode(mode)).context("cannot set a file's mode")
}

fn write(to: &Path, text: &str) -> Result<()> {
    fs::create_dir_all(to.parent().unwrap_or(to))?;
    fs::write(to, text).with_context(|| format!("cannot write {}", to.display()))
}
