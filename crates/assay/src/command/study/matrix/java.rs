//! Java settings that decide the figures of a store, beside its URL.

use std::path::{Path, PathBuf};

use anyhow::Result;
use assay_drivers::registry;

use super::plan::{content, hash};
use crate::binding::redacted;
use crate::exit::usage;

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
pub fn settings(url: &str) -> Result<Vec<(String, String)>> {
    if !url.starts_with(SCHEME) {
        return Ok(Vec::new());
    }
    let variable = |name: &str| Some((format!("${name}"), display(&std::env::var(name).ok()?)));
    let mut settings: Vec<(String, String)> = VARIABLES.into_iter().filter_map(variable).collect();
    let options = url.split_once('?').map_or("", |(_, options)| options).split('&');
    for (name, value) in options.filter_map(|option| option.split_once('=')) {
        let value = registry::decoded(value)
            .map_err(|error| usage(format!("option {name} of {SCHEME}: {error}")))?;
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

/// A variable's words without secrets.
fn display(text: &str) -> String {
    text.split_whitespace().map(redacted).collect::<Vec<_>>().join(" ")
}

/// What is in a file, in a folder of classes, or in the archives that `folder/*` names; `None` if
/// there is none of them.
fn describe(file: &str) -> Result<Option<String>> {
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
    let one = |file: &PathBuf| -> Result<String> {
        Ok(format!("{} {}", file.display(), hash(&content(file)?)))
    };
    let lines: Vec<String> = files.iter().map(one).collect::<Result<_>>()?;
    Ok(Some(hash(lines.join("\n").as_bytes())))
}

/// The files in a folder and those within it, so many folders deep, in the order of their names.
fn below(folder: &Path, depth: usize) -> Result<Vec<PathBuf>> {
    let unread =
        |error: std::io::Error| usage(format!("cannot read {}: {error}", folder.display()));
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_that_a_url_names_are_settings() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name).display().to_string();
        let (file, jars, classes) = (place("a b"), place("lib"), place("classes"));
        fs::create_dir(&jars).unwrap();
        fs::create_dir_all(format!("{classes}/a/b")).unwrap();
        let write = |text: &str| {
            fs::write(&file, format!("a={text}")).unwrap();
            fs::write(format!("{jars}/x.jar"), text).unwrap();
            fs::write(format!("{classes}/a/b/C.class"), text).unwrap();
        };
        let url = format!(
            "jvm:site.ycsb.X?properties={}&classpath={jars}/*:none.jar:{classes}&p.a=b",
            file.replace(' ', "%20")
        );
        let of_files = |url: &str| {
            let settings = settings(url).unwrap();
            settings.into_iter().filter(|(name, _)| !name.starts_with('$')).collect::<Vec<_>>()
        };
        write("1");
        let before = of_files(&url);
        let names: Vec<&str> = before.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            format!("properties {file}"),
            format!("classpath {jars}/*"),
            format!("classpath {classes}"),
        ];
        assert_eq!(names, expected);
        // As long as before.
        write("2");
        let after = of_files(&url);
        assert!(before.iter().zip(&after).all(|((_, one), (_, other))| one != other));
        write("1");
        // What is no archive is on no class path.
        fs::write(format!("{jars}/readme.txt"), "x").unwrap();
        assert_eq!(of_files(&url), before);
        assert!(of_files("fjall:x?properties=p").is_empty());
    }

    #[test]
    fn passwords_in_variables_are_not_reported() {
        let text = "-Xmx1g  -Djavax.net.ssl.keyStorePassword=x -Du=m://a:b@h/y";
        assert_eq!(display(text), "-Xmx1g -Djavax.net.ssl.keyStorePassword=… -Du=m://…@h/y");
    }
}
