//! What decides the figures of a store in Java, beside its URL.

use std::path::Path;

use anyhow::Result;

use super::plan::{content, hash};
use crate::binding::redacted;

/// The scheme of such stores.
const SCHEME: &str = "jvm:";

/// Where Java and our part of it are found, and with which options it runs.
const VARIABLES: [&str; 5] =
    ["ASSAY_JVM_BRIDGE", "JAVA_HOME", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"];

/// Settings of the store with this URL: the environment's say in it, and what is in the files that
/// the URL names.
///
/// # Errors
/// If such a file is there and cannot be read.
pub fn settings(url: &str) -> Result<Vec<(String, String)>> {
    if !url.starts_with(SCHEME) {
        return Ok(Vec::new());
    }
    let variable = |name: &str| Some((format!("${name}"), shown(&std::env::var(name).ok()?)));
    let mut settings: Vec<(String, String)> = VARIABLES.into_iter().filter_map(variable).collect();
    let options = url.split_once('?').map_or("", |(_, options)| options).split('&');
    for (name, value) in options.filter_map(|option| option.split_once('=')) {
        let files = match name {
            "properties" => vec![value],
            "classpath" => value.split(':').collect(),
            _ => continue,
        };
        for file in files {
            settings.extend(told(file)?.map(|text| (format!("{name} {file}"), text)));
        }
    }
    Ok(settings)
}

/// A variable's words without what nobody else may know.
fn shown(text: &str) -> String {
    text.split_whitespace().map(redacted).collect::<Vec<_>>().join(" ")
}

/// What is in a file, or in the folder that `folder/*` names; `None` if there is neither.
fn told(file: &str) -> Result<Option<String>> {
    let path = Path::new(file);
    if path.is_file() {
        return Ok(Some(hash(&content(path)?)));
    }
    let Some(Ok(entries)) = file.strip_suffix("/*").map(std::fs::read_dir) else {
        return Ok(None);
    };
    let one = |entry: std::fs::DirEntry| {
        let size = entry.metadata().map_or(0, |metadata| metadata.len());
        format!("{} {size}", entry.file_name().display())
    };
    let mut names: Vec<String> = entries.flatten().map(one).collect();
    names.sort_unstable();
    Ok(Some(hash(names.join("\n").as_bytes())))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_that_a_url_names_are_settings() {
        let folder = tempfile::tempdir().unwrap();
        let (file, jars) = (folder.path().join("p"), folder.path().join("lib"));
        fs::create_dir(&jars).unwrap();
        fs::write(&file, "a=1").unwrap();
        fs::write(jars.join("x.jar"), "x").unwrap();
        let [file, jars] = [file, jars].map(|path| path.display().to_string());
        let url = format!("jvm:site.ycsb.X?properties={file}&classpath={jars}/*:none.jar&p.a=b");
        let of_files = || {
            let settings = settings(&url).unwrap();
            settings.into_iter().filter(|(name, _)| !name.starts_with('$')).collect::<Vec<_>>()
        };
        let before = of_files();
        let names: Vec<&str> = before.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, [format!("properties {file}"), format!("classpath {jars}/*")]);
        fs::write(&file, "a=2").unwrap();
        fs::write(format!("{jars}/x.jar"), "longer").unwrap();
        let after = of_files();
        assert!(before.iter().zip(&after).all(|((_, one), (_, other))| one != other));
        assert!(settings("fjall:x?properties=p").unwrap().is_empty());
    }

    #[test]
    fn passwords_in_variables_are_not_told() {
        let text = "-Xmx1g  -Djavax.net.ssl.keyStorePassword=x -Du=m://a:b@h/y";
        assert_eq!(shown(text), "-Xmx1g -Djavax.net.ssl.keyStorePassword=… -Du=m://…@h/y");
    }
}
