//! Pages of earlier measurements.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The line of our own page after which it is written by hand.
const END: &str = "<!-- end of what `cargo xtask bench` writes -->";

/// Keeps a measurement in full in `docs/numbers.md`, in place of the last; what is written there
/// by hand, below the line that ends the page, stays.
///
/// # Errors
/// If the page that is there cannot be read, or the new one not written.
pub fn in_full(root: &Path, page: &str) -> Result<PathBuf> {
    let path = root.join("docs/numbers.md");
    let old = match fs::read_to_string(&path) {
        Ok(old) => old,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).with_context(|| format!("cannot read {path:?}")),
    };
    write(path, &format!("{page}\n{END}\n{}", by_hand(&old)))
}

/// Keeps any other measurement in `folder`.
///
/// # Errors
/// If it cannot be written.
pub fn in_part(folder: &Path, page: &str) -> Result<PathBuf> {
    write(folder.join("numbers.md"), page)
}

fn write(path: PathBuf, page: &str) -> Result<PathBuf> {
    fs::write(&path, page).with_context(|| format!("cannot write {path:?}"))?;
    Ok(path)
}

/// What follows the line that ends our part, nothing if there is no such line.
fn by_hand(old: &str) -> &str {
    let mut end = 0;
    for line in old.split_inclusive('\n') {
        end += line.len();
        if line.trim_end() == END {
            return &old[end..];
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page after `new` has been kept where `old` was.
    fn after(old: Option<&str>, new: &str) -> Result<String> {
        let dir = tempfile::tempdir()?;
        fs::create_dir(dir.path().join("docs"))?;
        if let Some(old) = old {
            fs::write(dir.path().join("docs/numbers.md"), old)?;
        }
        Ok(fs::read_to_string(in_full(dir.path(), new)?)?)
    }

    #[test]
    fn what_is_written_by_hand_survives() {
        let first = after(None, "old\n").unwrap();
        assert_eq!(first, format!("old\n\n{END}\n"));
        let by_hand = format!("{first}\n## By hand\n\n`{END}` is quoted\n");
        let second = after(Some(&by_hand), "new\n").unwrap();
        assert_eq!(second, by_hand.replacen("old", "new", 1));
    }

    #[test]
    fn a_page_without_the_line_is_replaced() {
        assert_eq!(after(Some("# Old\n"), "new\n").unwrap(), format!("new\n\n{END}\n"));
    }

    #[test]
    fn only_a_line_of_its_own_ends_our_part() {
        assert_eq!(by_hand(&format!("so: {END}\n{END} \r\nours")), "ours");
        assert_eq!(by_hand(END), "");
    }

    #[test]
    fn a_page_that_cannot_be_read_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("docs/numbers.md")).unwrap();
        assert!(in_full(dir.path(), "new\n").is_err());
    }

    #[test]
    fn a_part_is_kept_beside_the_page() {
        let dir = tempfile::tempdir().unwrap();
        let path = in_part(dir.path(), "some\n").unwrap();
        assert_eq!(path, dir.path().join("numbers.md"));
        assert_eq!(fs::read_to_string(path).unwrap(), "some\n");
    }
}
