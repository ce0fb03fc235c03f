//! The house rules that a program can check.

mod circles;
mod computed;
mod figures;
pub mod finding;
mod known;
mod lexer;
mod manifest;
mod names;
mod prose;
mod reach;
mod rooms;
mod settings;
mod shape;
mod source;
mod words;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::metadata::Metadata;
use finding::Finding;
use known::Breach;
use prose::{Library, Page};
use source::Source;

/// Folders that hold nothing of ours.
const SKIPPED: [&str; 4] = ["target", ".git", "runs", "node_modules"];

/// Checks the tree at `root`.
///
/// # Errors
/// If a file cannot be read.
pub fn tidy(root: &Path, metadata: &Metadata) -> Result<Vec<Finding>> {
    let mut files = BTreeSet::new();
    list(root, root, &mut files)?;
    let read = |path: &String| {
        fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"))
    };
    let folders = ["crates/", "drivers/", "xtask/"];
    let is_rust = |path: &&String| {
        path.ends_with(".rs") && folders.iter().any(|folder| path.starts_with(folder))
    };
    let mut sources = Vec::new();
    for path in files.iter().filter(is_rust) {
        sources.push(Source::new(path, &read(path)?));
    }
    let mut pages = Vec::new();
    for path in files.iter().filter(|path| path.ends_with(".md")) {
        pages.push(Page { path: path.clone(), text: read(path)? });
    }
    let mut findings: Vec<Finding> = sources.iter().flat_map(check_file).collect();
    let is_member = |path: &&String| path.ends_with("/Cargo.toml") && !path.contains("/tests/");
    for path in files.iter().filter(is_member) {
        findings.extend(manifest::check_manifest(path, &read(path)?, &sources));
    }
    findings.extend(reach::check_reach(&sources, &metadata.roots(root)));
    let crates = metadata.folders(root);
    let library = Library { pages: &pages, sources: &sources, crates: &crates, files: &files };
    findings.extend(prose::check_prose(&library));
    findings.extend(figures::check_figures(&pages));
    findings.extend(words::check_pages(&pages));
    findings.extend(known::settle(breaches(&sources), &read(&known::PATH.to_owned())?)?);
    findings.sort();
    Ok(findings)
}

/// The known breaches of the rules.
fn breaches(sources: &[Source]) -> Vec<Breach> {
    let room = |finding: &Finding| source::room(&finding.path).to_owned();
    let path = |finding: &Finding| finding.path.clone();
    let settings = sources.iter().flat_map(settings::check_settings).collect();
    let mut breaches = names::check_names(sources);
    breaches.extend(circles::check_circles(sources));
    breaches.extend(known::count("settings", settings, room));
    breaches.extend(known::count("computed", computed::check_computed(sources), path));
    breaches
}

fn check_file(source: &Source) -> Vec<Finding> {
    let checks = [
        source::check_exemptions,
        shape::check_headline,
        shape::check_columns,
        shape::check_functions,
        words::check_words,
        words::check_strings,
        rooms::check_rooms,
        rooms::check_statics,
        rooms::check_globs,
        rooms::check_promises,
    ];
    checks.iter().flat_map(|check| check(source)).collect()
}

fn list(root: &Path, folder: &Path, files: &mut BTreeSet<String>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {folder:?}"))?;
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in entries {
        paths.push(entry?.path());
    }
    for path in paths {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        if path.is_dir() && !SKIPPED.contains(&name) {
            list(root, &path, files)?;
        } else if path.is_file() {
            let path = path.strip_prefix(root).expect("entries lie below the root");
            files.insert(path.to_string_lossy().replace('\\', "/"));
        }
    }
    Ok(())
}
