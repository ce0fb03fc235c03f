//! Java settings that decide the figures of a store, beside its URL.

use std::path::{Path, PathBuf};

use crate::error::{StudyError, invalid};
use crate::fingerprint::{content, hash};
use crate::program::Program;

/// The scheme of such stores.
const SCHEME: &str = "jvm:";

/// Classes lie no deeper than this, not even in a folder that is linked into itself.
const DEEPEST: usize = 32;

/// Where Java and our part of it are found, and with which options it runs.
const VARIABLES: [&str; 5] =
    ["ASSAY_JVM_BRIDGE", "JAVA_HOME", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"];

/// Settings of the store with this URL: the environment's say in it, and what is in the files that
/// the URL names; none if it is no store in Java.
///
/// # Errors
/// If such a file is there and cannot be read.
pub fn settings(url: &str, program: &dyn Program) -> Result<Vec<(String, String)>, StudyError> {
    if !url.starts_with(SCHEME) {
        return Ok(Vec::new());
    }
    let display = |text: &str| program.command_line().text_without_secrets(text);
    let variable = |name: &str| Some((format!("${name}"), display(&program.variable(name)?)));
    let mut settings: Vec<(String, String)> = VARIABLES.into_iter().filter_map(variable).collect();
    let options = url.split_once('?').map_or("", |(_, options)| options).split('&');
    for (name, value) in options.filter_map(|option| option.split_once('=')) {
        let value = program
            .decoded(value)
            .map_err(|error| invalid(format!("option {name} of {SCHEME}: {error}")))?;
        let files = match name {
            "properties" => vec![value.as_str()],
            "classpath" => value.split(':').collect(),
            _ => continue,
        };
        for file in files {
            settings.extend(describe(file)?.map(|text| (format!("{name} {file}"), text)));
        }
    }
    Ok(settings)
}

/// What is in a file, in a folder of classes, or in the archives that `folder/*` names; `None` if
/// there is none of them.
fn describe(file: &str) -> Result<Option<String>, StudyError> {
    let path = Path::new(file);
    let files = match file.strip_suffix("/*").map(Path::new) {
        Some(folder) if folder.is_dir() => {
            let mut archives = below(folder, 1)?;
            archives
                .retain(|file| file.extension().is_some_and(|end| end.eq_ignore_ascii_case("jar")));
            archives
        }
        None if path.is_dir() => below(path, DEEPEST)?,
        _ if path.is_file() => return Ok(Some(hash(&content(path)?))),
        _ => return Ok(None),
    };
    let one = |file: &PathBuf| -> Result<String, StudyError> {
        Ok(format!("{} {}", file.display(), hash(&content(file)?)))
    };
    let lines: Vec<String> = files.iter().map(one).collect::<Result<_, StudyError>>()?;
    Ok(Some(hash(lines.join("\n").as_bytes())))
}

/// The files in a folder and those within it, so many folders deep, in the order of their names.
fn below(folder: &Path, depth: usize) -> Result<Vec<PathBuf>, StudyError> {
    let unread =
        |error: std::io::Error| invalid(format!("cannot read {}: {error}", folder.display()));
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unread)? {
        let path = entry.map_err(unread)?.path();
        match path.is_dir() {
            true if depth > 1 => files.extend(below(&path, depth - 1)?),
            false if path.is_file() => files.push(path),
            _ => {}
        }
    }
    files.sort_unstable();
    Ok(files)
}
