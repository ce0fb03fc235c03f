//! Directory of labs, found by name.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use assay_lab::{House, is_held, recipes};
use assay_model::closest;
use rustix::process::getuid;

use crate::exit::usage;
use crate::options::Options;

/// Where labs of root live.
const ROOTS_FOLDER: &str = "/var/lib/assay/lab";
/// The longest name: with a folder above, a socket's path has to hold it.
const NAME_LENGTH_MAX: usize = 40;

/// The folder that has a folder, or a link to one, for each lab.
#[derive(Clone, Debug)]
pub struct Labs {
    root: PathBuf,
}

/// A lab that is there, running or gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabEntry {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// The link to the folder, if that is elsewhere than its name.
    pub link: Option<PathBuf>,
    /// Whether its supervisor is alive.
    pub is_held: bool,
}

impl Labs {
    /// The place that the settings name, or that of this user.
    ///
    /// # Errors
    /// If this user has no home.
    pub fn from(options: &Options) -> Result<Labs> {
        let root = match options.lab_dir.text() {
            Some(dir) => std::path::absolute(dir).map_err(|error| options.lab_dir.wrong(error))?,
            // A server that must not be root could not reach root's own home.
            None if getuid().is_root() && std::env::var_os("XDG_STATE_HOME").is_none() => {
                PathBuf::from(ROOTS_FOLDER)
            }
            None => user_folder("XDG_STATE_HOME", ".local/state")?.join("lab"),
        };
        Ok(Labs { root })
    }

    /// The folder of all labs, which may not be there yet.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The place of a lab with this name.
    pub fn place(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// All labs that are there, by name.
    pub fn all(&self) -> Vec<LabEntry> {
        let entries = fs::read_dir(&self.root).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut all: Vec<LabEntry> = names.filter_map(|name| self.get(&name)).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// The lab with this name.
    pub fn get(&self, name: &str) -> Option<LabEntry> {
        let place = self.place(name);
        let folder = fs::canonicalize(&place).ok().filter(|folder| folder.is_dir())?;
        let link = place.is_symlink().then_some(place);
        Some(LabEntry { name: name.to_owned(), is_held: is_held(&folder), folder, link })
    }

    /// The lab that is meant: by its name, by its folder, or the only one.
    ///
    /// # Errors
    /// If there is none of that name, or several and no name.
    pub fn find(&self, text: Option<&str>) -> Result<LabEntry> {
        match text {
            Some(text) if text.contains('/') => at(Path::new(text)),
            Some(name) => self.get(name).ok_or_else(|| usage(self.no_such(name))),
            None => self.only_one(),
        }
    }

    fn only_one(&self) -> Result<LabEntry> {
        let all = self.all();
        let running: Vec<&LabEntry> = all.iter().filter(|found| found.is_held).collect();
        match (&running[..], &all[..]) {
            ([one], _) => Ok((*one).clone()),
            ([], [one]) => Ok(one.clone()),
            ([], []) => Err(usage("no lab is up; `assay lab up STORE` starts one")),
            _ => {
                let names: Vec<&str> = all.iter().map(|found| found.name.as_str()).collect();
                Err(usage(format!("which lab? there are {}", names.join(", "))))
            }
        }
    }

    /// What is said of a name that no lab has.
    pub fn no_such(&self, name: &str) -> String {
        let all = self.all();
        let names = all.iter().map(|found| found.name.as_str());
        if let Some(near) = closest(name, names) {
            return format!("no lab {name} is up; did you mean {near}?");
        }
        let is_recipe = recipes::find(name).is_ok();
        match closest(name, recipes::ALL.iter().map(|recipe| recipe.card().name)) {
            _ if is_recipe => format!("no lab {name} is up; `assay lab up {name}` starts one"),
            Some(near) => format!("no lab {name} is up; did you mean {near}?"),
            None => format!("no lab {name} is up; `assay lab status` shows those that are"),
        }
    }
}

/// The lab in this folder.
fn at(folder: &Path) -> Result<LabEntry> {
    let missing = |error| usage(format!("no lab is in {}: {error}", folder.display()));
    let folder = fs::canonicalize(folder).map_err(missing)?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(LabEntry { name, is_held: is_held(&folder), folder, link: None })
}

/// # Errors
/// If a lab cannot have this name.
pub fn check_name(name: &str) -> Result<()> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let begins_well = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    if begins_well && name.chars().all(is_plain) && name.len() <= NAME_LENGTH_MAX {
        return Ok(());
    }
    Err(usage(format!(
        "--name {name}: a lab's name has at most {NAME_LENGTH_MAX} letters, digits, `-`, `_` or \
         `.`, a letter or digit first"
    )))
}

/// Where this user's programs of stores are kept.
///
/// # Errors
/// If this user has no home.
pub fn house() -> Result<House> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).filter(|place| place.is_absolute());
    let package_cache = user_folder("XDG_CACHE_HOME", ".cache")?.join("lab");
    Ok(House { package_cache, places: places.collect(), may_install: false })
}

/// This program's folder of a kind, as the XDG Base Directory Specification has it.
fn user_folder(variable: &str, below_home: &str) -> Result<PathBuf> {
    let get =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let found = get(variable).or_else(|| get("HOME").map(|home| home.join(below_home)));
    let found = found.ok_or_else(|| usage(format!("set HOME or {variable} to a folder")))?;
    Ok(found.join("assay"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labs(names: &[&str]) -> (tempfile::TempDir, Labs) {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let root = folder.path().to_owned();
        (folder, Labs { root })
    }

    fn refusal(labs: &Labs, name: Option<&str>) -> String {
        labs.find(name).unwrap_err().to_string()
    }

    #[test]
    fn the_only_lab_needs_no_name() {
        assert_eq!(labs(&["redis"]).1.find(None).unwrap().name, "redis");
        let (_folder, several) = labs(&["redis", "mine"]);
        assert_eq!(refusal(&several, None), "which lab? there are mine, redis");
        assert_eq!(several.find(Some("mine")).unwrap().name, "mine");
        let (_folder, none) = labs(&[]);
        assert_eq!(refusal(&none, None), "no lab is up; `assay lab up STORE` starts one");
    }

    #[test]
    fn a_name_that_no_lab_has_is_answered_with_help() {
        let (_folder, labs) = labs(&["mine"]);
        let mistyped = "no lab mien is up; did you mean mine?";
        assert_eq!(refusal(&labs, Some("mien")), mistyped);
        let down = "no lab redis is up; `assay lab up redis` starts one";
        assert_eq!(refusal(&labs, Some("redis")), down);
        assert_eq!(refusal(&labs, Some("redsi")), "no lab redsi is up; did you mean redis?");
    }

    #[test]
    fn names_are_plain() {
        for name in ["redis", "redis-2", "a.b_c", "7"] {
            check_name(name).unwrap();
        }
        for name in ["", "..", "-x", "a/b", "a b", &"x".repeat(41)] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
