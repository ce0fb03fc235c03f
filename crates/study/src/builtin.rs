//! The studies that come with the program.

use std::path::Path;

/// A built-in study.
pub struct BuiltIn {
    /// Its name.
    pub name: &'static str,
    /// Its file.
    pub text: &'static str,
}

/// All of them.
pub const ALL: [BuiltIn; 4] = [
    BuiltIn { name: "kvbench", text: include_str!("../../../studies/kvbench.toml") },
    BuiltIn { name: "fmke", text: include_str!("../../../studies/fmke.toml") },
    BuiltIn { name: "chronicle", text: include_str!("../../../studies/chronicle.toml") },
    BuiltIn { name: "anomalies", text: include_str!("../../../studies/anomalies.toml") },
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_built_in_study_is_found_by_name_or_by_the_path_that_it_has_in_the_sources() {
        for path in ["kvbench", "kvbench.toml", "studies/kvbench.toml"] {
            assert_eq!(find(Path::new(path)).map(|study| study.name), Some("kvbench"), "{path}");
        }
        for path in ["mine", "other/kvbench.toml", "kvbench.txt", "studies/gone.toml"] {
            assert!(find(Path::new(path)).is_none(), "{path}");
        }
    }
}
