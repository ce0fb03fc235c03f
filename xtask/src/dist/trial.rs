//! Trial of the packages: each installed into a root that holds nothing else, and run there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::{Build, buildah};
use crate::process::{output, run};

/// Installs and runs every package below `roots`.
///
/// # Errors
/// If one cannot be installed, or its first command fails.
pub fn try_all(roots: &Path, packages: &[PathBuf], build: &Build) -> Result<()> {
    for package in packages {
        let name = package.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let root = roots.join(&name);
        fs::create_dir_all(root.join("runs"))?;
        let begun = Instant::now();
        let ended = match package.extension().and_then(|ending| ending.to_str()) {
            Some("gz") => try_tarball(package, &root, build),
            Some("deb") => try_debian(package, &root, build),
            _ => try_image(build),
        };
        ended.with_context(|| format!("{name} does not work in a clean root"))?;
        println!("{name}: installed and run in {:.1} s", begun.elapsed().as_secs_f64());
    }
    Ok(())
}

fn try_tarball(package: &Path, root: &Path, build: &Build) -> Result<()> {
    run(Command::new("tar").arg("-C").arg(root).arg("-xf").arg(package))?;
    let folder = format!("/assay-{}-x86_64-linux", build.version);
    require(&root.join(&folder[1..]).join("share/man/man1/assay-bench.1.gz"))?;
    try_binary(root, &format!("{folder}/bin/assay"), build)
}

fn try_debian(package: &Path, root: &Path, build: &Build) -> Result<()> {
    // An empty system of dpkg; there are no scripts to run, so nothing else is needed.
    for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates"] {
        fs::create_dir_all(root.join(folder))?;
    }
    fs::write(root.join("var/lib/dpkg/status"), "")?;
    let mut dpkg = Command::new("dpkg");
    dpkg.arg(format!("--root={}", root.display())).args(["--log=/dev/null", "--install"]);
    output(dpkg.arg(package))?;
    let mut verify = Command::new("dpkg");
    output(verify.arg(format!("--root={}", root.display())).args(["--verify", "assay"]))?;
    require(&root.join("usr/share/doc/assay/copyright"))?;
    require(&root.join("usr/share/bash-completion/completions/assay"))?;
    try_binary(root, "/usr/bin/assay", build)
}

/// Runs the binary with nothing beside it but what its package brought.
fn try_binary(root: &Path, binary: &str, build: &Build) -> Result<()> {
    let inside = |words: &[&str]| {
        let mut command = Command::new("chroot");
        // Without root, in a namespace in which we are.
        if output(Command::new("id").arg("-u")).is_ok_and(|user| user != "0") {
            command = Command::new("unshare");
            command.args(["--map-root-user", "chroot"]);
        }
        command.arg(root).arg(binary).args(words);
        // Debian has `chroot` in a folder that is not looked into without this.
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        output(&mut command)
    };
    check_version(&inside(&["--version", "--verbose"])?, build)?;
    let bench = ["bench", "ycsb-a", "-t", "memory:", "--rate", "1k/s", "--duration", "1s"];
    let result = inside(&[&bench[..], &["--records", "1000", "--floor", "0s"]].concat())?;
    if !result.contains("ycsb-a on memory") {
        bail!("its first run prints something else:\n{result}");
    }
    let report = inside(&["report", "last", "--format", "json"])?;
    let report: serde_json::Value = serde_json::from_str(&report)?;
    match report["overall"]["counts"]["done"].as_u64() {
        Some(done) if done > 500 => Ok(()),
        done => bail!("its first run has done {done:?} operations"),
    }
}

fn try_image(build: &Build) -> Result<()> {
    let tag = format!("localhost/assay:{}", build.version);
    let container = output(buildah(Command::new("buildah")).args(["from", &tag]))?;
    let mut inside = buildah(Command::new("buildah"));
    inside.args(["run", &container, "--", "/assay", "--version", "--verbose"]);
    let version = output(&mut inside);
    output(buildah(Command::new("buildah")).args(["rm", &container]))?;
    check_version(&version?, build)
}

fn check_version(text: &str, build: &Build) -> Result<()> {
    let wanted = [
        format!("assay {}", build.version),
        format!("commit: {}", build.commit),
        format!("compiler: {}", build.rustc),
        "libc: glibc, static".to_owned(),
    ];
    match wanted.iter().find(|line| !text.lines().any(|found| found == line.as_str())) {
        Some(missing) => bail!("--version --verbose does not say {missing:?}:\n{text}"),
        None => Ok(()),
    }
}

fn require(path: &Path) -> Result<()> {
    match path.is_file() {
        true => Ok(()),
        false => bail!("there is no {}", path.display()),
    }
}
