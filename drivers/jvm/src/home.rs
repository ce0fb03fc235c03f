//! Java installation of this machine.

use std::fs;
use std::path::{Path, PathBuf};

use assay_driver_kit::Surroundings;

/// The oldest Java that the bridge runs on.
pub(super) const LEAST_JAVA: u32 = 17;

/// Where the library of the virtual machine is within an installation, on each system.
const LIBRARIES: [&str; 5] = [
    "lib/server/libjvm.so",
    "lib/server/libjvm.dylib",
    "lib/client/libjvm.so",
    "lib/amd64/server/libjvm.so",
    "jre/lib/amd64/server/libjvm.so",
];

/// An installation of Java.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Home {
    pub(super) path: PathBuf,
    /// The virtual machine itself.
    pub(super) library: PathBuf,
    /// The major version, if the installation tells.
    pub(super) version: Option<u32>,
    /// Whether it is a JDK, not only what runs Java.
    pub(super) has_compiler: bool,
}

/// The installation at `given`, else at `JAVA_HOME`, else that of `java` in `PATH`.
///
/// # Errors
/// If there is none, or it is too old; says what to install.
pub(super) fn find(given: Option<&Path>, surroundings: &Surroundings) -> Result<Home, String> {
    let home = match (given, variable(surroundings, "JAVA_HOME")) {
        (Some(given), _) => at(given, "java= names")?,
        (None, Some(named)) => at(Path::new(&named), "JAVA_HOME names")?,
        (None, None) => in_path(surroundings)?,
    };
    match home.version {
        Some(version) if version < LEAST_JAVA => Err(format!(
            "Java at {} is version {version}, the bridge needs {LEAST_JAVA} or newer; {}",
            home.path.display(),
            advice()
        )),
        _ => Ok(home),
    }
}

fn advice() -> String {
    format!(
        "install it (`apt-get install openjdk-{LEAST_JAVA}-jre-headless`), then put `java` into \
         PATH or set JAVA_HOME"
    )
}

fn variable(surroundings: &Surroundings, name: &str) -> Option<String> {
    let value = (surroundings.variable)(name)?.into_string().ok()?;
    Some(value).filter(|value| !value.is_empty())
}

fn at(path: &Path, who: &str) -> Result<Home, String> {
    let library = LIBRARIES.iter().map(|library| path.join(library)).find(|path| path.is_file());
    let library = library.ok_or_else(|| {
        let path = path.display();
        format!("{who} {path}, which has no lib/server/libjvm.so: it is no Java; {}", advice())
    })?;
    let version = fs::read_to_string(path.join("release")).ok();
    let version = version.and_then(|text| major(&text));
    let has_compiler = path.join("bin/javac").is_file();
    Ok(Home { path: path.to_owned(), library, version, has_compiler })
}

/// The installation that `java` belongs to: behind all links it is in its folder `bin`.
fn in_path(surroundings: &Surroundings) -> Result<Home, String> {
    let places = variable(surroundings, "PATH").unwrap_or_default();
    let programs = places.split(':').map(|place| Path::new(place).join("java"));
    let real = programs.filter(|path| path.is_file()).find_map(|path| path.canonicalize().ok());
    let real = real.ok_or_else(|| format!("there is no Java: {}", advice()))?;
    let home = real.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
    at(home, "`java` in PATH belongs to")
}

/// The major version in a release file: `JAVA_VERSION="17.0.15"`, or the old `"1.8.0_402"`.
fn major(release: &str) -> Option<u32> {
    let line = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    let mut numbers = line.trim_matches('"').split(['.', '_', '-', '+']);
    let first = numbers.next()?.parse().ok()?;
    if first == 1 { numbers.next()?.parse().ok() } else { Some(first) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn installation(release: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let server = folder.path().join("lib/server");
        fs::create_dir_all(&server).unwrap();
        fs::write(server.join("libjvm.so"), "").unwrap();
        fs::write(folder.path().join("release"), release).unwrap();
        folder
    }

    #[test]
    fn a_named_installation_is_taken() {
        let folder = installation("IMPLEMENTOR=\"Debian\"\nJAVA_VERSION=\"21.0.4\"\n");
        let home = find(Some(folder.path()), &Surroundings::NONE).unwrap();
        assert_eq!(home.version, Some(21));
        assert_eq!(home.library, folder.path().join("lib/server/libjvm.so"));
    }

    #[test]
    fn java_that_is_missing_or_old_says_what_to_install() {
        let none = find(None, &Surroundings::NONE).unwrap_err();
        assert!(none.starts_with("there is no Java: install it (`apt-get install "), "{none}");
        let old = installation("JAVA_VERSION=\"1.8.0_402\"");
        let reported = find(Some(old.path()), &Surroundings::NONE).unwrap_err();
        assert!(
            reported.contains("is version 8, the bridge needs 17 or newer; install it"),
            "{reported}"
        );
        let empty = tempfile::tempdir().unwrap();
        let reported = find(Some(empty.path()), &Surroundings::NONE).unwrap_err();
        assert!(
            reported.contains("which has no lib/server/libjvm.so: it is no Java"),
            "{reported}"
        );
    }

    #[test]
    fn the_environment_is_searched_in_order() {
        let none = Surroundings {
            variable: |name| (name == "JAVA_HOME").then(|| "/no/java".into()),
            ..Surroundings::NONE
        };
        let reported = find(None, &none).unwrap_err();
        assert!(reported.starts_with("JAVA_HOME names /no/java, which has no"), "{reported}");
        let nowhere = Surroundings {
            variable: |name| (name == "PATH").then(|| "/no/bin:/nor/here".into()),
            ..Surroundings::NONE
        };
        assert!(find(None, &nowhere).unwrap_err().starts_with("there is no Java"));
    }

    #[test]
    fn versions_are_read_in_both_ways() {
        assert_eq!(major("JAVA_VERSION=\"17.0.15\""), Some(17));
        assert_eq!(major("JAVA_VERSION=\"1.8.0_402\""), Some(8));
        assert_eq!(major("JAVA_VERSION=\"25\""), Some(25));
        assert_eq!(major("nothing"), None);
    }
}
