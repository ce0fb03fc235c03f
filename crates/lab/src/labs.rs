//! Directory of labs, found by name.

use std::fs;
use std::path::{Path, PathBuf};

use assay_model::closest;

use crate::ground::is_held;
use crate::{LabError, recipes};

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
    /// The labs below `root`, which need not be there yet.
    pub fn new(root: PathBuf) -> Labs {
        Labs { root }
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
    pub fn find(&self, text: Option<&str>) -> Result<LabEntry, LabError> {
        match text {
            Some(text) if text.contains('/') => at(Path::new(text)),
            Some(name) => self.get(name).ok_or_else(|| LabError::Order(self.no_such(name))),
            None => self.only_one(),
        }
    }

    /// # Errors
    /// If a lab of this name is there already, or one that is gone has left another folder than
    /// `folder`.
    pub fn require_free(&self, name: &str, folder: &Path) -> Result<(), LabError> {
        let place = self.place(name);
        let Some(found) = self.get(name) else {
            if place.is_symlink() {
                // Somebody removed the folder by hand.
                fs::remove_file(&place)
                    .map_err(|error| LabError::io(&place, "cannot remove", error))?;
            }
            return Ok(());
        };
        if found.is_held {
            return Err(LabError::Order(format!(
                "lab {name} is up already: `assay lab status {name}` shows it, \
                 `assay lab down {name}` ends it, --name starts another one"
            )));
        }
        if found.link.is_none() && folder == place {
            return Ok(());
        }
        Err(LabError::Order(format!(
            "lab {name} is gone but has left {}; `assay lab down {name}` removes it",
            found.folder.display()
        )))
    }

    fn only_one(&self) -> Result<LabEntry, LabError> {
        let all = self.all();
        let running: Vec<&LabEntry> = all.iter().filter(|found| found.is_held).collect();
        match (&running[..], &all[..]) {
            ([one], _) => Ok((*one).clone()),
            ([], [one]) => Ok(one.clone()),
            ([], []) => {
                Err(LabError::Order("no lab is up; `assay lab up STORE` starts one".to_owned()))
            }
            _ => {
                let names: Vec<&str> = all.iter().map(|found| found.name.as_str()).collect();
                Err(LabError::Order(format!("which lab? there are {}", names.join(", "))))
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
fn at(folder: &Path) -> Result<LabEntry, LabError> {
    let missing = |error| LabError::Order(format!("no lab is in {}: {error}", folder.display()));
    let folder = fs::canonicalize(folder).map_err(missing)?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(LabEntry { name, is_held: is_held(&folder), folder, link: None })
}

/// # Errors
/// If a lab cannot have this name.
pub fn check_name(name: &str) -> Result<(), LabError> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let begins_well = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    if begins_well && name.chars().all(is_plain) && name.len() <= NAME_LENGTH_MAX {
        return Ok(());
    }
    Err(LabError::Order(format!(
        "--name {name}: a lab's name has at most {NAME_LENGTH_MAX} letters, digits, `-`, `_` or \
         `.`, a letter or digit first"
    )))
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
