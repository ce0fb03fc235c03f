//! The programs of stores, fetched once by the ordinary package clients, kept by version.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use rustix::fs::{FlockOperation, flock};
use rustix::process::getuid;

use crate::card::{Card, Need};
use crate::error::LabError;
use crate::tool::{Tool, Watch};

/// How long a package client may take: the largest has a few hundred megabytes to build.
const SECONDS_TO_FETCH: u32 = 1800;
/// apt-get waits so many seconds while another one installs, instead of failing at once.
const WAIT_FOR_LOCK: &str = "DPkg::Lock::Timeout=600";
/// Where programs are besides the places that the caller searches.
const USUAL_PLACES: [&str; 5] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/bin"];

/// Where programs are stored, and whether they may be installed or fetched.
#[derive(Clone, Debug)]
pub struct House {
    /// The folder of fetched programs.
    pub package_cache: PathBuf,
    /// Where installed programs are looked for first.
    pub places: Vec<PathBuf>,
    /// Whether the user has agreed that missing programs are installed or fetched.
    pub may_install: bool,
}

impl House {
    /// The programs that `card` needs and that are not installed.
    pub fn lacks(&self, card: &Card) -> Vec<Need> {
        let is_there =
            |need: &Need| find_program(need.folders, &self.places, need.program).is_some();
        card.needs.iter().filter(|need| !is_there(need)).copied().collect()
    }

    /// Whether Debian's packages can be installed, with the user's consent: there is their client,
    /// and we are root.
    pub fn can_install(&self) -> bool {
        getuid().is_root() && find_program(&[], &self.places, "apt-get").is_some()
    }
}

/// Programs of one version of a store, ready to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kit {
    /// The version as the programs tell it.
    pub version: String,
    programs: BTreeMap<&'static str, PathBuf>,
}

impl Kit {
    /// A kit of this version, still empty.
    pub fn new(version: impl Into<String>) -> Kit {
        Kit { version: version.into(), programs: BTreeMap::new() }
    }

    /// With a program, or a folder of jars, under a name.
    pub fn with(mut self, name: &'static str, path: PathBuf) -> Kit {
        self.programs.insert(name, path);
        self
    }

    /// What was put in under `name`.
    ///
    /// # Panics
    /// If it was not stored: a recipe asks only for packages that it has stored.
    pub fn program(&self, name: &str) -> &Path {
        self.programs.get(name).unwrap_or_else(|| panic!("the kit has no {name}"))
    }
}

/// Where programs are kept, and the way to them.
pub struct PackageCache<'a> {
    house: &'a House,
    watch: &'a Watch<'a>,
}

/// Where a fetched thing comes from, for its folder's name.
struct Item<'a> {
    name: &'a str,
    version: &'a str,
}

impl<'a> PackageCache<'a> {
    pub(crate) fn new(house: &'a House, watch: &'a Watch<'a>) -> PackageCache<'a> {
        PackageCache { house, watch }
    }

    /// The path of `program`, if it is installed.
    pub fn find(&self, program: &str) -> Option<PathBuf> {
        find_program(&[], &self.house.places, program)
    }

    /// The path of `program`, which must be installed; `source` says how.
    ///
    /// # Errors
    /// If it is not.
    pub fn need(&self, program: &str, source: &str) -> Result<PathBuf, LabError> {
        let missing = || LabError::Missing(format!("{program} is not installed: {source}"));
        self.find(program).ok_or_else(missing)
    }

    /// The path of `program`; installs Debian's `package` if it is missing, and that is possible
    /// and allowed.
    ///
    /// # Errors
    /// If it is missing and cannot be installed, or the user has not agreed.
    pub fn debian(&self, program: &str, package: &str) -> Result<PathBuf, LabError> {
        self.debian_in(&[], program, package)
    }

    /// As [`PackageCache::debian`], for programs outside the usual places: `folders` are searched
    /// first.
    ///
    /// # Errors
    /// If it is not there and cannot be installed.
    pub fn debian_in(
        &self,
        folders: &[&str],
        program: &str,
        package: &str,
    ) -> Result<PathBuf, LabError> {
        let look = || find_program(folders, &self.house.places, program);
        if let Some(path) = look() {
            return Ok(path);
        }
        let by_hand = format!("apt-get install --no-install-recommends {package}");
        let missing = |why: &str| {
            LabError::Missing(format!("{program} is not installed ({why}): `{by_hand}` brings it"))
        };
        let Some(apt) = self.find("apt-get") else {
            return Err(missing("and this system has no apt-get"));
        };
        if !getuid().is_root() {
            return Err(missing("and installing needs root"));
        }
        if !self.house.may_install {
            return Err(LabError::NotInstalled(format!(
                "{program} is not installed: --install installs Debian's package {package}, or do \
                 it yourself with `{by_hand}`"
            )));
        }
        let _lock = self.lock("apt")?;
        if let Some(path) = look() {
            return Ok(path);
        }
        self.watch.tell(&format!("installing {package}"));
        let install = || {
            let tool = Tool::apart(&apt).args(["-o", WAIT_FOR_LOCK, "install", "-y", "-q"]);
            let tool = tool.args(["--no-install-recommends", package]);
            let tool = tool.env("DEBIAN_FRONTEND", "noninteractive");
            let never = AtomicBool::new(false);
            let tell = |text: &str| self.watch.tell(text);
            tool.run(SECONDS_TO_FETCH, &Watch::new(&never, &tell))
        };
        if install().is_err() {
            // The list of packages may be missing or old.
            Tool::new(&apt).args(["update", "-q"]).run(SECONDS_TO_FETCH, self.watch)?;
            install()?;
        }
        self.watch.check()?;
        look().ok_or_else(|| missing("although its package was installed"))
    }

    /// The folder with the jars of these Maven artifacts (`group:artifact:version`) and everything
    /// that they need at run time. `name` and `version` name the folder.
    ///
    /// # Errors
    /// If Maven is missing or cannot get them.
    pub fn maven(
        &self,
        name: &str,
        version: &str,
        artifacts: &[&str],
    ) -> Result<PathBuf, LabError> {
        let folder = self.keep(&Item { name, version }, |fresh| {
            let maven = self.need("mvn", "apt-get install maven")?;
            let pom = fresh.join("pom.xml");
            fs::write(&pom, pom_of(artifacts))
                .map_err(|error| LabError::io(&pom, "cannot write", error))?;
            // -C: an artifact whose checksum is wrong is an error.
            let tool = Tool::new(&maven).args(["-q", "-B", "-C", "dependency:copy-dependencies"]);
            let tool = tool.args(["-DincludeScope=runtime", "-DoutputDirectory=lib"]);
            tool.folder(fresh).run(SECONDS_TO_FETCH, self.watch).map(|_| ())
        })?;
        Ok(folder.join("lib"))
    }

    /// The program that Go builds out of `package` of `module` (`path@version`), in a module of
    /// our own around it, so that replacements in its own module file do not matter.
    ///
    /// # Errors
    /// If Go is missing, or cannot get or build it.
    pub fn go(
        &self,
        name: &str,
        version: &str,
        modules: &[&str],
        package: &str,
    ) -> Result<PathBuf, LabError> {
        let folder = self.keep(&Item { name, version }, |fresh| {
            self.in_go(fresh, &["mod", "init", "lab"])?;
            for module in modules {
                self.in_go(fresh, &["get", module])?;
            }
            self.in_go(fresh, &["build", "-o", name, package])
        })?;
        Ok(folder.join(name))
    }

    /// The program that Go builds out of these files (name and text), in a module of its own that
    /// requires `modules` (`path@version`). Other texts make another program, which is built anew.
    ///
    /// # Errors
    /// If Go is missing, or cannot get or build it.
    pub fn go_source(
        &self,
        name: &str,
        version: &str,
        modules: &[&str],
        files: &[(&str, &str)],
    ) -> Result<PathBuf, LabError> {
        let texts = files.iter().flat_map(|(file, text)| [*file, text]);
        let version = &format!("{version}-{:08x}", fingerprint(texts));
        let folder = self.keep(&Item { name, version }, |fresh| {
            self.in_go(fresh, &["mod", "init", "lab"])?;
            for (file, text) in files {
                let path = fresh.join(file);
                fs::write(&path, text)
                    .map_err(|error| LabError::io(&path, "cannot write", error))?;
            }
            for module in modules {
                self.in_go(fresh, &["get", module])?;
            }
            self.in_go(fresh, &["mod", "tidy"])?;
            self.in_go(fresh, &["build", "-o", name, "."])
        })?;
        Ok(folder.join(name))
    }

    fn in_go(&self, folder: &Path, words: &[&str]) -> Result<(), LabError> {
        let go = self.need("go", "apt-get install golang, or https://go.dev/dl")?;
        let tool = Tool::new(&go).args(words.iter().copied()).folder(folder);
        // The machine's own Go builds it, instead of one that it would fetch.
        tool.env("GOTOOLCHAIN", "local").run(SECONDS_TO_FETCH, self.watch).map(|_| ())
    }

    /// Java, at least of version `least`.
    ///
    /// # Errors
    /// If it is missing or older.
    pub fn java(&self, least: u32) -> Result<PathBuf, LabError> {
        let source = format!("apt-get install openjdk-{least}-jre-headless");
        let java = self.need("java", &source)?;
        let reported = Tool::new(&java).args(["-version"]).run(60, self.watch)?;
        let major = java_version(&reported);
        match major {
            Some(major) if major >= least => Ok(java),
            _ => Err(LabError::Missing(format!(
                "Java {least} or newer is needed, {} is {}: {source}",
                java.display(),
                reported.lines().next().unwrap_or("of an unknown version")
            ))),
        }
    }

    /// What `program` with `words` prints behind `mark`, up to the next space.
    ///
    /// # Errors
    /// If it cannot be run, or prints no such thing.
    pub fn version_of(
        &self,
        program: &Path,
        words: &[&str],
        mark: &str,
    ) -> Result<String, LabError> {
        let reported = Tool::new(program).args(words.iter().copied()).run(60, self.watch)?;
        let found = reported.split_once(mark).and_then(|(_, rest)| {
            rest.split([' ', '\n', ',', '-', ')']).find(|word| !word.is_empty())
        });
        let missing = || {
            let first = reported.lines().next().unwrap_or_default();
            LabError::Failed(format!("{} tells no version: {first}", program.display()))
        };
        found.map(str::to_owned).ok_or_else(missing)
    }

    /// The folder of something fetched. `make` fills a fresh folder, which takes its name when it
    /// is whole: what is there is complete.
    fn keep(
        &self,
        item: &Item<'_>,
        make: impl FnOnce(&Path) -> Result<(), LabError>,
    ) -> Result<PathBuf, LabError> {
        let name = format!("{}-{}", item.name, item.version);
        let folder = self.house.package_cache.join(&name);
        if folder.is_dir() {
            return Ok(folder);
        }
        if !self.house.may_install {
            return Err(LabError::NotInstalled(format!(
                "{} {} is not on this machine yet: --install fetches it once, into {}",
                item.name,
                item.version,
                folder.display()
            )));
        }
        let _lock = self.lock(&name)?;
        if folder.is_dir() {
            return Ok(folder);
        }
        self.watch.tell(&format!("fetching {} {}; this happens once", item.name, item.version));
        let fresh = self.house.package_cache.join(format!("{name}.part"));
        // What is left of an attempt that was cut short.
        let _ = fs::remove_dir_all(&fresh);
        fs::create_dir_all(&fresh).map_err(|error| LabError::io(&fresh, "cannot make", error))?;
        make(&fresh)?;
        fs::rename(&fresh, &folder).map_err(|error| LabError::io(&folder, "cannot make", error))?;
        Ok(folder)
    }

    /// Waits until no other process fetches the same.
    fn lock(&self, name: &str) -> Result<File, LabError> {
        let root = &self.house.package_cache;
        let path = root.join(format!("{name}.lock"));
        fs::create_dir_all(root).map_err(|error| LabError::io(root, "cannot make", error))?;
        let file = File::options().create(true).append(true).open(&path);
        let file = file.map_err(|error| LabError::io(&path, "cannot write", error))?;
        self.watch.until("somebody else to have fetched it", SECONDS_TO_FETCH, || {
            Ok(flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok())
        })?;
        Ok(file)
    }
}

/// The path of `program`, in one of its own `folders`, in one of `places`, or where programs
/// usually are.
pub(crate) fn find_program(folders: &[&str], places: &[PathBuf], program: &str) -> Option<PathBuf> {
    let own = folders.iter().map(PathBuf::from);
    let usual = USUAL_PLACES.iter().map(PathBuf::from);
    let mut all = own.chain(places.iter().cloned()).chain(usual).map(|place| place.join(program));
    all.find(|path| path.is_file())
}

/// A hash of texts: 32-bit FNV-1a over their bytes, each with a zero at
/// its end. Source: <http://www.isthe.com/chongo/tech/comp/fnv>.
fn fingerprint<'a>(texts: impl Iterator<Item = &'a str>) -> u32 {
    let bytes = texts.flat_map(|text| text.bytes().chain([0]));
    bytes.fold(0x811c_9dc5, |sum: u32, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// A project that needs these artifacts.
fn pom_of(artifacts: &[&str]) -> String {
    let dependency = |artifact: &&str| {
        let mut parts = artifact.split(':');
        let mut part = || parts.next().unwrap_or_default();
        format!(
            "<dependency><groupId>{}</groupId><artifactId>{}</artifactId>\
             <version>{}</version></dependency>",
            part(),
            part(),
            part()
        )
    };
    let dependencies: Vec<String> = artifacts.iter().map(dependency).collect();
    format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\"><modelVersion>4.0.0</modelVersion>\n\
         <groupId>assay</groupId><artifactId>lab</artifactId><version>1</version>\n\
         <dependencies>\n{}\n</dependencies></project>\n",
        dependencies.join("\n")
    )
}

/// The major version in `openjdk version "17.0.15" …`, or in the old `"1.8.0_402"`.
fn java_version(reported: &str) -> Option<u32> {
    let (_, rest) = reported.split_once("version \"")?;
    let mut numbers = rest.split(['.', '"', '-', '_']);
    let first = numbers.next()?.parse().ok()?;
    if first == 1 { numbers.next()?.parse().ok() } else { Some(first) }
}

#[cfg(test)]
mod tests;
