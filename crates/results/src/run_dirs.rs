//! Run directories by name, old ones as well as new ones.

use std::path::{Path, PathBuf};

use assay_history::read_events;
use assay_model::{Event, EventKind};

use crate::error::ResultsError;

/// The file that makes a directory a run directory.
pub const MANIFEST: &str = "run.toml";

/// The path of a load's run directory within that of its run.
pub const LOAD: &str = "load";

/// The file that makes a directory a group of repeated runs.
pub const GROUP: &str = "repeat.toml";

/// The file in a run directory that holds its hallmark.
pub const HALLMARK: &str = "hallmark.json";

/// What the event says that tells that the inserts of a run are deleted.
pub const UNDONE: &str = "inserts undone";

/// The run directory that `text` means: a directory, a name in `runs_dir`, `last`, or `last-1`.
///
/// # Errors
/// If there is no such run directory, or if it is a group of repeated runs; lists the existing
/// ones.
pub fn find(runs_dir: &Path, text: &str) -> Result<PathBuf, ResultsError> {
    let found = find_any(runs_dir, text)?;
    if !is_group(&found) {
        return Ok(found);
    }
    let dir = found.display();
    Err(ResultsError::NotARun(format!(
        "{text} is a group of repeated runs: name one of them, such as {dir}/1"
    )))
}

/// Whether everything that the run in `dir` inserted is gone again.
pub fn is_undone(dir: &Path) -> bool {
    let is_it = |event: &Event| event.kind == EventKind::Phase && event.text.starts_with(UNDONE);
    read_events(dir).is_ok_and(|events| events.iter().any(is_it))
}

/// The run directory or the group of repeated runs that `text` means.
///
/// # Errors
/// If there is none; lists the existing ones.
pub fn find_any(runs_dir: &Path, text: &str) -> Result<PathBuf, ResultsError> {
    let path = Path::new(text);
    require_manifest(path)?;
    if let Some(found) = found_in(path) {
        return Ok(found);
    }
    let back = match text.strip_prefix("last") {
        Some("") => Some(0),
        Some(rest) => rest.strip_prefix('-').and_then(|number| number.parse::<usize>().ok()),
        None => None,
    };
    if let Some(back) = back {
        let mut all = list(runs_dir)?;
        let found = all.len().checked_sub(back + 1).map(|place| all.swap_remove(place));
        return found.ok_or_else(|| {
            ResultsError::NotARun(format!(
                "there is no run {text}: {} holds {} run directory(s); name one with a path or \
                 --runs-dir",
                runs_dir.display(),
                all.len()
            ))
        });
    }
    // One run of a group: `last/3`.
    if let Some((group, run)) = text.split_once('/')
        && group.starts_with("last")
        && !Path::new(group).exists()
    {
        return find_any(&find_any(runs_dir, group)?, run);
    }
    // `runs/last` is what `last` means in that directory.
    if let (Some(parent), Some(name)) = (path.parent(), path.file_name().and_then(|n| n.to_str()))
        && parent.is_dir()
        && name.starts_with("last")
        && !path.exists()
    {
        return find_any(parent, name);
    }
    let named = runs_dir.join(text);
    require_manifest(&named)?;
    if let Some(found) = found_in(&named) {
        return Ok(found);
    }
    Err(ResultsError::NotARun(format!(
        "{text} is no run directory: there is no {MANIFEST} in it or in {}",
        named.display()
    )))
}

/// Whether `path` is a run directory.
pub fn is_run_dir(path: &Path) -> bool {
    path.join(MANIFEST).is_file()
}

/// Whether `path` holds repeated runs.
pub fn is_group(path: &Path) -> bool {
    path.join(GROUP).is_file()
}

/// The run directory of the load that filled the store for the run in `dir`, if there was one.
pub fn load_of(dir: &Path) -> Option<PathBuf> {
    Some(dir.join(LOAD)).filter(|load| is_run_dir(load))
}

/// The content of a directory: a run directory, a group, or the run directory of a load without a
/// run.
fn found_in(path: &Path) -> Option<PathBuf> {
    if is_run_dir(path) || is_group(path) {
        return Some(path.to_owned());
    }
    load_of(path).filter(|_| remains(path).is_none())
}

/// The traces of a run in a directory.
const REMAINS: [&str; 5] =
    ["history", "blocks", "events.parquet", "observations.parquet", "hallmark.json"];

/// The remains of a run in `dir`, whose manifest is gone.
fn remains(dir: &Path) -> Option<&'static str> {
    let is_lost = !is_run_dir(dir) && !is_group(dir);
    REMAINS.into_iter().find(|name| is_lost && dir.join(name).exists())
}

/// Refuses a run that has lost its manifest: its load, which lies within, is another one.
fn require_manifest(dir: &Path) -> Result<(), ResultsError> {
    let Some(found) = remains(dir) else { return Ok(()) };
    let name = dir.display();
    let load = match is_run_dir(&dir.join(LOAD)) {
        true => format!(", or name {name}/{LOAD} for the load before it"),
        false => String::new(),
    };
    Err(ResultsError::NotARun(format!(
        "{name} is no run directory: there is no {MANIFEST} in it, though {found} is; copy \
         {MANIFEST} \
         again from where the run was made{load}"
    )))
}

/// The names of the run directories and groups in `runs_dir`, the oldest first.
///
/// # Errors
/// If the directory cannot be listed.
pub fn names(runs_dir: &Path) -> Result<Vec<String>, ResultsError> {
    let all = list(runs_dir)?;
    let relative = |path: &PathBuf| path.strip_prefix(runs_dir).ok().map(Path::to_owned);
    Ok(all.iter().filter_map(relative).map(|path| path.display().to_string()).collect())
}

/// The run directories with the groups in `runs_dir`, the oldest first.
fn list(runs_dir: &Path) -> Result<Vec<PathBuf>, ResultsError> {
    if !runs_dir.is_dir() {
        return Ok(Vec::new());
    }
    let unlisted = |error| ResultsError::List { path: runs_dir.to_owned(), error };
    let entries = std::fs::read_dir(runs_dir).map_err(unlisted)?;
    let mut run_dirs = Vec::new();
    for entry in entries {
        let path = entry.map_err(unlisted)?.path();
        let Some(path) = found_in(&path) else { continue };
        if is_run_dir(&path) {
            // A manifest is rewritten at the end of a run, the directory's age is the start.
            let manifest = assay_history::Manifest::read(&path);
            let started = manifest.map(|manifest| manifest.run.started).unwrap_or_default();
            run_dirs.push((started, path));
        } else {
            let repeat = assay_history::Repeat::read(&path);
            run_dirs.push((repeat.map(|repeat| repeat.started).unwrap_or_default(), path));
        }
    }
    run_dirs.sort();
    Ok(run_dirs.into_iter().map(|(_, path)| path).collect())
}
