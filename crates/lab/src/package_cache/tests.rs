//! Tests of the package cache: packages are kept, partial ones are fetched again.

use std::cell::Cell;
use std::sync::atomic::AtomicBool;

use super::*;
use crate::recipes;

fn with_cache<T>(act: impl FnOnce(&PackageCache<'_>) -> T) -> T {
    with_cache_that(true, act)
}

fn with_cache_that<T>(may_install: bool, act: impl FnOnce(&PackageCache<'_>) -> T) -> T {
    let root = tempfile::tempdir().unwrap();
    let house = House { package_cache: root.path().into(), places: Vec::new(), may_install };
    let (stop, tell) = (AtomicBool::new(false), |_: &str| {});
    act(&PackageCache::new(&house, &Watch::new(&stop, &tell)))
}

#[test]
fn nothing_is_fetched_or_installed_without_consent() {
    with_cache_that(false, |package_cache| {
        let item = Item { name: "thing", version: "1" };
        let reported = package_cache.keep(&item, |_| panic!("nobody has said so")).unwrap_err();
        assert!(matches!(reported, LabError::NotInstalled(_)), "{reported}");
        let expected = "thing 1 is not on this machine yet: --install fetches it once, into ";
        assert!(reported.to_string().starts_with(expected), "{reported}");
        let reported =
            package_cache.debian("no-such-program", "such-a-package").unwrap_err().to_string();
        assert!(
            reported.contains("apt-get install --no-install-recommends such-a-package"),
            "{reported}"
        );
        let is_able = getuid().is_root() && package_cache.find("apt-get").is_some();
        assert_eq!(reported.contains("--install installs Debian's package"), is_able, "{reported}");
        assert!(package_cache.debian("sh", "dash").is_ok());
    });
}

#[test]
fn what_is_whole_is_not_fetched_again() {
    with_cache(|package_cache| {
        let times = Cell::new(0);
        let item = Item { name: "thing", version: "1" };
        let make = |fresh: &Path| {
            times.set(times.get() + 1);
            fs::write(fresh.join("part"), "whole")
                .map_err(|error| LabError::io(fresh, "cannot write", error))
        };
        let cut = package_cache.keep(&item, |fresh| {
            fs::write(fresh.join("half"), "x").unwrap();
            Err(LabError::Failed("no network".into()))
        });
        assert!(cut.is_err());
        let folder = package_cache.keep(&item, make).unwrap();
        assert_eq!(package_cache.keep(&item, make).unwrap(), folder);
        assert_eq!(times.get(), 1);
        assert!(folder.join("part").exists() && !folder.join("half").exists());
    });
}

#[test]
fn a_missing_program_says_how_it_is_had() {
    with_cache(|package_cache| {
        let reported = package_cache.need("no-such-program", "apt-get install such").unwrap_err();
        assert_eq!(reported.to_string(), "no-such-program is not installed: apt-get install such");
        assert!(package_cache.find("sh").is_some());
    });
}

#[test]
fn versions_are_read_out_of_what_programs_say() {
    assert_eq!(java_version("openjdk version \"17.0.15\" 2025-04-15"), Some(17));
    assert_eq!(java_version("java version \"1.8.0_402\""), Some(8));
    assert_eq!(java_version("openjdk version \"21-ea\""), Some(21));
    assert_eq!(java_version("command not found"), None);
    with_cache(|package_cache| {
        let echo = package_cache.find("echo").unwrap();
        let version = package_cache.version_of(&echo, &["server v=7.0.15 sha=0"], "v=");
        assert_eq!(version.unwrap(), "7.0.15");
        assert!(package_cache.version_of(&echo, &["nothing"], "v=").is_err());
    });
}

#[test]
fn a_project_names_its_artifacts() {
    let pom = pom_of(&["org.apache.ignite:ignite-core:2.17.0"]);
    assert!(pom.contains("<artifactId>ignite-core</artifactId><version>2.17.0</version>"), "{pom}");
}

#[test]
fn programs_of_other_texts_are_other_programs() {
    let of = |texts: &[&'static str]| fingerprint(texts.iter().copied());
    assert_eq!(of(&[]), 0x811c_9dc5);
    assert_eq!(of(&["a"]), 0x2b24_d044);
    assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
    assert_ne!(of(&["main.go", "1"]), of(&["main.go", "2"]));
}

#[test]
fn a_program_outside_the_usual_places_is_found_in_its_folder() {
    let house = House { package_cache: PathBuf::new(), places: Vec::new(), may_install: false };
    let lacks = |folders: &'static [&'static str]| {
        // The kernel has a file of this name in that folder, wherever this runs.
        let needs: &[Need] = &[Need::package("limits", "base").in_folders(folders)];
        let redis = recipes::find("redis").unwrap().card();
        house.lacks(&Card { needs: Vec::leak(needs.to_vec()), ..redis })
    };
    assert_eq!(lacks(&[]).len(), 1);
    assert_eq!(lacks(&["/nowhere"])[0].source(), "apt-get install base");
    assert_eq!(lacks(&["/nowhere", "/proc/self"]), []);
}
