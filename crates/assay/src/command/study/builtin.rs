//! The studies that come with the program.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use clap::ArgMatches;

use crate::command::list::copy;
use crate::exit::{Exit, usage};
use crate::show::put;

/// A built-in study.
pub struct BuiltIn {
    /// Its name.
    pub name: &'static str,
    /// Its file.
    pub text: &'static str,
}

/// All of them.
pub const ALL: [BuiltIn; 4] = [
    BuiltIn { name: "kvbench", text: include_str!("../../../../../studies/kvbench.toml") },
    BuiltIn { name: "fmke", text: include_str!("../../../../../studies/fmke.toml") },
    BuiltIn { name: "chronicle", text: include_str!("../../../../../studies/chronicle.toml") },
    BuiltIn { name: "anomalies", text: include_str!("../../../../../studies/anomalies.toml") },
];

impl BuiltIn {
    /// Its subject: the first line of its file, which is a comment.
    pub fn about(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches(['#', ' '])
    }
}

/// The study that `path` means where there is no such file: `kvbench`, `studies/kvbench.toml`.
pub fn find(path: &Path) -> Option<&'static BuiltIn> {
    let folder =
        path.parent().is_some_and(|folder| ["", "studies"].map(Path::new).contains(&folder));
    let is_study = path.extension().is_none_or(|ending| ending == "toml");
    let name = path.file_stem().filter(|_| folder && is_study)?;
    ALL.iter().find(|study| name == study.name)
}

/// `assay study ls`.
pub fn list() -> Result<Exit> {
    let mut text = String::new();
    for study in &ALL {
        writeln!(text, "{:<12} {}", study.name, study.about())?;
    }
    put(&text, None)?;
    Ok(Exit::Fine)
}

/// `assay study copy NAME [FILE]`.
pub fn copied(matches: &ArgMatches) -> Result<Exit> {
    let name = matches.get_one::<String>("name").context("a name is needed")?;
    let Some(study) = ALL.iter().find(|study| study.name == name) else {
        let names = ALL.map(|study| study.name);
        let near = assay_model::closest(name, names).map(|near| format!("did you mean {near}?"));
        let hint = near.unwrap_or_else(|| format!("there are {}", names.join(", ")));
        return Err(usage(format!("there is no built-in study {name}; {hint}")));
    };
    let usual = format!("{name}.toml");
    copy(study.text, matches.get_one::<String>("to").unwrap_or(&usual))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::study::anomalies::file::{AnomalyFile, is_of_anomalies};
    use crate::command::study::matrix::file::StudyFile;

    #[test]
    fn a_built_in_study_is_found_by_name_or_by_the_path_that_it_has_in_the_sources() {
        for path in ["kvbench", "kvbench.toml", "studies/kvbench.toml"] {
            assert_eq!(find(Path::new(path)).map(|study| study.name), Some("kvbench"), "{path}");
        }
        for path in ["mine", "other/kvbench.toml", "kvbench.txt", "studies/gone.toml"] {
            assert!(find(Path::new(path)).is_none(), "{path}");
        }
    }

    #[test]
    fn every_built_in_study_is_a_study_file_that_says_what_it_is_about() {
        for study in &ALL {
            let path = Path::new(study.name);
            let is_right = match is_of_anomalies(study.text) {
                true => AnomalyFile::parse(study.text, path).is_ok(),
                false => StudyFile::parse(study.text, path).is_ok(),
            };
            assert!(is_right, "{}", study.name);
            assert!(study.about().len() > 20, "{}", study.name);
        }
    }
}
