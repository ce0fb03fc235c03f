//! Packages for people without a Rust compiler, all around one static binary.
//!
//! The binary is built with the C library inside, so that a package depends on nothing and an image
//! holds nothing else. `jvm:` is not in it, because it loads a Java machine at run time, which a
//! static program cannot.

mod contents;
mod licences;
mod provenance;
mod sbom;
mod trial;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::metadata::cargo;
use crate::needs;
use crate::process::{output, run};
use contents::Contents;

/// The target that is named although it is ours: with it, the flag is not applied to build scripts
/// and macros.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The C library inside; random numbers from the kernel, since a root without `/dev` has no file of
/// them, which is where a static program would look.
const STATIC: &str = "-C target-feature=+crt-static --cfg getrandom_backend=\"linux_getrandom\"";

/// What the binary has beyond the usual stores. RocksDB's C++ takes longer to build than everything
/// else together.
const FEATURES: [&str; 11] = [
    "antidote",
    "cassandra",
    "dynamodb",
    "etcd",
    "ignite",
    "lmdb",
    "mariadb",
    "mongodb",
    "nats",
    "redb",
    "tikv",
];

/// What is to be done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Build with the profile `release` instead of `dist`.
    pub is_quick: bool,
    /// Make an OCI image as well.
    pub has_image: bool,
    /// Install each package in a clean root and run it there.
    pub is_tried: bool,
}

impl Options {
    /// From words of the command line.
    ///
    /// # Errors
    /// If there is an unknown one.
    pub fn parse(words: &[&str]) -> Result<Options> {
        let mut options = Options::default();
        for word in words {
            match *word {
                "--quick" => options.is_quick = true,
                "--image" => options.has_image = true,
                "--try" => options.is_tried = true,
                other => bail!("dist takes --quick, --image and --try, not {other}"),
            }
        }
        Ok(options)
    }

    fn profile(self) -> &'static str {
        if self.is_quick { "release" } else { "dist" }
    }
}

/// The source of a build.
#[derive(Clone, Debug)]
pub struct Build {
    version: String,
    commit: String,
    rustc: String,
    profile: &'static str,
    /// The commit's time in seconds since 1970: of every file in a package.
    epoch: String,
}

impl Build {
    fn of(root: &Path, options: Options) -> Result<Build> {
        let git = |words: &[&str]| output(Command::new("git").current_dir(root).args(words));
        let changes = git(&["status", "--porcelain", "--untracked-files=no"])?;
        let is_changed = if changes.is_empty() { "" } else { "-changed" };
        let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
        let manifest: toml::Value = toml::from_str(&manifest)?;
        let version = manifest["workspace"]["package"]["version"].as_str();
        Ok(Build {
            version: version.context("Cargo.toml has no version")?.to_owned(),
            commit: git(&["rev-parse", "HEAD"])? + is_changed,
            rustc: output(Command::new("rustc").arg("--version"))?,
            profile: options.profile(),
            epoch: git(&["log", "-1", "--format=%ct"])?,
        })
    }
}

/// Builds the packages into `target/dist`, with their checksums.
///
/// # Errors
/// If something is missing, does not build, or a package does not work where it was installed.
pub fn dist(root: &Path, options: &Options) -> Result<()> {
    needs::provide(needs::FOR_DEB)?;
    if options.has_image {
        needs::provide(needs::FOR_IMAGE)?;
    }
    let build = Build::of(root, *options)?;
    let binary = build_binary(root, &build)?;
    let made = root.join("target/dist");
    let work = made.join("work");
    if work.exists() {
        fs::remove_dir_all(&work)?;
    }
    fs::create_dir_all(&work)?;
    let contents = Contents::gather(root, &binary, &build, &work.join("contents"))?;
    let mut packages = vec![tarball(&contents, &build, &made)?, debian(&contents, &build, &made)?];
    if options.has_image {
        packages.push(image(root, &contents, &build, &made)?);
    }
    write_checksums(&made, &packages)?;
    for package in &packages {
        let megabytes = fs::metadata(package)?.len() as f64 / 1e6;
        println!("{} {megabytes:.1} MB", package.display());
    }
    if options.is_tried {
        trial::try_all(&work.join("roots"), &packages, &build)?;
    }
    fs::remove_dir_all(&work).context("remove the working directory")
}

/// Builds the static binary that packages have; gives its path.
///
/// # Errors
/// If it does not build.
pub fn binary(root: &Path, is_quick: bool) -> Result<PathBuf> {
    build_binary(root, &Build::of(root, Options { is_quick, ..Options::default() })?)
}

fn build_binary(root: &Path, build: &Build) -> Result<PathBuf> {
    let mut command = cargo();
    command.current_dir(root).args(["build", "-p", "assay", "--target", TARGET]);
    command.args(["--profile", build.profile, "--features", &features()]);
    command.env("RUSTFLAGS", STATIC);
    command.env("ASSAY_COMMIT", &build.commit).env("ASSAY_RUSTC", &build.rustc);
    run(&mut command)?;
    Ok(root.join("target").join(TARGET).join(build.profile).join("assay"))
}

fn features() -> String {
    FEATURES.map(|name| format!("assay/{name}")).join(",")
}

/// A tarball with one directory, whose layout is that below `/usr`.
fn tarball(contents: &Contents, build: &Build, made: &Path) -> Result<PathBuf> {
    let name = format!("assay-{}-x86_64-linux", build.version);
    let parent = contents.root.with_file_name("tarball");
    contents.copy(&parent.join(&name))?;
    let path = made.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.arg("-C").arg(&parent).args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.arg(format!("--mtime=@{}", build.epoch)).args(["--use-compress-program=gzip -9n", "-cf"]);
    run(tar.arg(&path).arg(&name))?;
    Ok(path)
}

/// A Debian package that depends on nothing.
fn debian(contents: &Contents, build: &Build, made: &Path) -> Result<PathBuf> {
    let folder = contents.root.with_file_name("debian");
    contents.copy(&folder.join("usr"))?;
    let documents = folder.join("usr/share/doc/assay");
    let mut copyright = String::new();
    for name in ["NOTICE", "LICENSE-MIT", "LICENSE-APACHE"] {
        copyright += &fs::read_to_string(documents.join(name))?;
        copyright.push('\n');
    }
    fs::write(documents.join("copyright"), copyright)?;
    let installed = output(Command::new("du").args(["-sk", "--apparent-size"]).arg(&folder))?;
    let installed = installed.split_whitespace().next().unwrap_or("0").to_owned();
    let control = folder.join("DEBIAN");
    fs::create_dir_all(&control)?;
    let text = format!(
        "Package: assay\nVersion: {}\nArchitecture: amd64\n\
         Maintainer: The Assay authors <assay@localhost>\nInstalled-Size: {installed}\n\
         Section: database\nPriority: optional\nDescription: measures data stores: how fast, how \
         available, how consistent\n Assay issues a workload, keeps one record of every operation, \
         and computes every\n figure from the records. The binary is static; nothing else is \
         needed.\n",
        build.version
    );
    fs::write(control.join("control"), text)?;
    let sums = "cd \"$1\" && find usr -type f -print0 | sort -z | xargs -0 md5sum";
    let sums = output(Command::new("sh").args(["-c", sums, "sh"]).arg(&folder))?;
    fs::write(control.join("md5sums"), sums + "\n")?;
    let path = made.join(format!("assay_{}_amd64.deb", build.version));
    let mut deb = Command::new("dpkg-deb");
    // Every dpkg reads xz.
    deb.env("SOURCE_DATE_EPOCH", &build.epoch).args(["-Zxz", "--root-owner-group", "--build"]);
    run(deb.arg(&folder).arg(&path))?;
    Ok(path)
}

/// An OCI image as an archive: the binary with the licences.
fn image(root: &Path, contents: &Contents, build: &Build, made: &Path) -> Result<PathBuf> {
    let tag = format!("localhost/assay:{}", build.version);
    let licences = contents.root.with_file_name("licenses");
    contents.copy_documents(&licences)?;
    let mut command = buildah(Command::new(root.join("deploy/image/build")));
    command.arg(&tag).env("ASSAY_BINARY", contents.binary()).env("ASSAY_LICENSES", &licences);
    run(command.env("ASSAY_COMMIT", &build.commit))?;
    let path = made.join(format!("assay-{}-oci.tar", build.version));
    if path.exists() {
        fs::remove_file(&path)?;
    }
    let mut push = buildah(Command::new("buildah"));
    run(push.args(["push", "--quiet", &tag]).arg(format!("oci-archive:{}:{tag}", path.display())))?;
    Ok(path)
}

/// A command that uses buildah without a daemon, and without mounts that a sandbox refuses.
fn buildah(mut command: Command) -> Command {
    command.env("STORAGE_DRIVER", "vfs").env("BUILDAH_ISOLATION", "chroot");
    command
}

/// `SHA256SUMS`, to be checked with `sha256sum --check`.
fn write_checksums(made: &Path, packages: &[PathBuf]) -> Result<()> {
    let mut sums = Command::new("sha256sum");
    sums.current_dir(made).args(packages.iter().filter_map(|path| path.file_name()));
    let sums = output(&mut sums)?;
    fs::write(made.join("SHA256SUMS"), sums + "\n").context("cannot write SHA256SUMS")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_is_built() {
        assert_eq!(Options::parse(&[]).unwrap().profile(), "dist");
        let all = Options::parse(&["--try", "--quick", "--image"]).unwrap();
        assert!(all.is_tried && all.has_image);
        assert_eq!(all.profile(), "release");
        assert!(Options::parse(&["--fast"]).is_err());
    }
}
