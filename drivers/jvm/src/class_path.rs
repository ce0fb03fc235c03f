//! A class path as Java's own command line has it, made into files that are there.

use std::fs;
use std::path::{Path, PathBuf};

/// The files and folders of `path`: entries between colons, `DIR/*` for every archive in a folder.
///
/// # Errors
/// If an entry is not there, or a folder has no archive in it.
pub(super) fn expand(path: &str) -> Result<Vec<PathBuf>, String> {
    let mut entries: Vec<PathBuf> = Vec::new();
    for entry in path.split(':').filter(|entry| !entry.is_empty()) {
        let found = match entry.strip_suffix("/*") {
            Some(folder) => archives(Path::new(folder))?,
            None if Path::new(entry).exists() => vec![PathBuf::from(entry)],
            None => return Err(format!("{entry} of its class path is not there")),
        };
        for file in found {
            let real = fs::canonicalize(&file)
                .map_err(|error| format!("{} of its class path: {error}", file.display()))?;
            // Named twice is there once; two versions have different names.
            if !entries.contains(&real) {
                entries.push(real);
            }
        }
    }
    if entries.is_empty() {
        return Err("its class path is empty; write classpath=DIR/*:FILE.jar".into());
    }
    Ok(entries)
}

/// The archives in a folder, by name.
///
/// # Errors
/// If it cannot be read, or has none.
pub(super) fn archives(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let describe =
        |error| format!("{} of its class path cannot be read: {error}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(describe)? {
        let path = entry.map_err(describe)?.path();
        if path.extension().is_some_and(|end| end == "jar") {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(format!("{} of its class path has no .jar in it", folder.display()));
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_archives_and_doubles_count_once() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        for name in ["b.jar", "a.jar", "c.txt"] {
            fs::write(at(name), "").unwrap();
        }
        let displayed = folder.path().display().to_string();
        let expanded = expand(&format!("{displayed}/*:{displayed}/a.jar:{displayed}"));
        assert_eq!(expanded.unwrap(), [at("a.jar"), at("b.jar"), at("")]);
    }

    #[test]
    fn what_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let displayed = folder.path().display().to_string();
        let complaint = |path: &str| expand(path).unwrap_err();
        assert_eq!(complaint("/no/such.jar"), "/no/such.jar of its class path is not there");
        assert!(complaint("/no/such/*").starts_with("/no/such of its class path cannot be read"));
        let none = format!("{displayed} of its class path has no .jar in it");
        assert_eq!(complaint(&format!("{displayed}/*")), none);
        assert!(complaint(":").starts_with("its class path is empty"));
    }
}
