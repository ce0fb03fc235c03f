//! Licence texts of the crates in the binary, each text once.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::sbom::Crate;

/// What the names of licence files begin with.
const BEGINNINGS: [&str; 5] = ["license", "licence", "copying", "notice", "unlicense"];

/// The texts, each below the crates that have it.
///
/// # Errors
/// If a crate's directory cannot be read.
pub fn texts(root: &Path, crates: &[Crate]) -> Result<String> {
    let mut by_text: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut without = Vec::new();
    for one in crates.iter().filter(|one| !one.folder.starts_with(root)) {
        let title = format!("{} {} ({})", one.name, one.version, one.licence);
        let texts = texts_in(&one.folder)?;
        if texts.is_empty() {
            without.push(title.clone());
        }
        for text in texts {
            by_text.entry(text).or_default().push(title.clone());
        }
    }
    let mut all = "Software of others in this binary, with its licences.\n".to_owned();
    if !without.is_empty() {
        all += "\nWithout a licence text in their packages; the licence is named beside each:\n";
        without.iter().for_each(|title| _ = writeln!(all, "  {title}"));
    }
    for (text, titles) in by_text {
        let _ = writeln!(all, "\n{}\n{}\n\n{}", "=".repeat(80), titles.join("\n"), text.trim_end());
    }
    Ok(all)
}

fn texts_in(folder: &Path) -> Result<Vec<String>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        if path.is_file() && BEGINNINGS.iter().any(|beginning| name.starts_with(beginning)) {
            paths.push(path);
        }
    }
    paths.sort();
    paths.iter().map(|path| Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_text_is_there_once_below_all_that_have_it() {
        let dir = tempfile::tempdir().unwrap();
        let make = |name: &str, text: Option<&str>| {
            let folder = dir.path().join(name);
            fs::create_dir(&folder).unwrap();
            text.iter().for_each(|text| fs::write(folder.join("LICENSE-MIT"), text).unwrap());
            Crate {
                name: name.to_owned(),
                version: "1.0.0".to_owned(),
                licence: "MIT".to_owned(),
                checksum: None,
                folder,
            }
        };
        let crates = [make("a", Some("the text")), make("b", Some("the text")), make("c", None)];
        let text = texts(Path::new("/elsewhere"), &crates).unwrap();
        assert_eq!(text.matches("the text").count(), 1, "{text}");
        assert!(text.contains("a 1.0.0 (MIT)\nb 1.0.0 (MIT)\n"), "{text}");
        assert!(text.contains("named beside each:\n  c 1.0.0 (MIT)\n"), "{text}");
    }
}
