//! Job of a fleet: the command of the coordinator as each agent carries it out.

use std::path::Path;

use anyhow::{Context, Result};
use assay_fleet::gather::sha256_of;
use assay_fleet::{Job, JobFile};
use assay_trace::imported::load_path;
use bytes::Bytes;
use clap::ArgMatches;

use crate::exit::usage;
use crate::options::{Options, Origin, Shape, Verb};

/// The command `verb` of `matches` with its settings, with the files that it names.
pub fn words(
    matches: &ArgMatches,
    options: &Options,
    (verb, seed): (Verb, u64),
) -> Result<(Vec<String>, JobContents)> {
    let mut files = Files::default();
    let name = if verb == Verb::Load { "load" } else { "run" };
    let spec = matches.get_one::<String>("spec").context("a SPEC is needed")?;
    let mut words = vec![name.to_owned(), files.take(spec)?];
    // What must be in the store before lies beside an imported trace; nothing, if it is not there.
    files.take(&load_path(Path::new(spec)).to_string_lossy())?;
    for (flag, is_file) in [("set", false), ("property", false), ("properties", true)] {
        for text in matches.get_many::<String>(flag).into_iter().flatten() {
            let text = if is_file { files.take(text)? } else { text.clone() };
            words.push(format!("--{flag}={text}"));
        }
    }
    for setting in options.all().into_iter().filter(|setting| setting.is_given()) {
        let (key, text) = (setting.key(), setting.text().unwrap_or_default());
        let is_spec =
            matches!(setting.origin(), Some(Origin::File(path)) if path == Path::new(spec));
        if is_spec || !key.is_shared() || !key.verbs.contains(&verb) {
            continue;
        }
        match (key.shape, key.name) {
            (Shape::Switch, name) if text == "true" => words.push(format!("--{name}")),
            (Shape::Switch, _) => {}
            (_, "mapping") => words.push(format!("--mapping={}", files.take(text)?)),
            (Shape::List, name) => {
                words.extend(text.split("; ").map(|text| format!("--{name}={text}")));
            }
            (Shape::Text, name) => words.push(format!("--{name}={text}")),
        }
    }
    words.extend([format!("--seed={seed}"), "--no-config".into(), "--quiet".into()]);
    Ok((words, files.0))
}

/// Files with what is in them.
type JobContents = Vec<(JobFile, Bytes)>;

/// Files that travel to the agents.
#[derive(Default)]
struct Files(JobContents);

impl Files {
    /// What stands for the file `path` in the command; anything else is as it is.
    fn take(&mut self, path: &str) -> Result<String> {
        let file = Path::new(path);
        if !file.is_file() {
            return Ok(path.to_owned());
        }
        let bytes = std::fs::read(file).map_err(|error| usage(format!("{path}: {error}")))?;
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (sha256, length) = (sha256_of(&bytes), bytes.len() as u64);
        self.0.push((JobFile { name, bytes: length, sha256 }, bytes.into()));
        Ok(format!("{{file:{}}}", self.0.len() - 1))
    }
}

/// The words of `job` in which the files are those in `dir`.
pub fn with_files(job: &Job, dir: &Path) -> Vec<String> {
    let place = |word: &String| {
        (0..).zip(&job.files).fold(word.clone(), |word, (number, file)| {
            let path = dir.join(&file.name).display().to_string();
            word.replace(&format!("{{file:{number}}}"), &path)
        })
    };
    job.words.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_where_they_were_put() {
        let file = |name: &str| JobFile { name: name.into(), bytes: 0, sha256: String::new() };
        let job = Job {
            words: vec!["run".into(), "{file:0}".into(), "--properties={file:1}".into()],
            files: vec![file("a.toml"), file("b")],
            ..Job::default()
        };
        let words = with_files(&job, Path::new("/d"));
        assert_eq!(words, ["run", "/d/a.toml", "--properties=/d/b"]);
    }
}
