//! The values that a shell completes: workloads, studies, stores, runs.

use std::ffi::OsStr;

use assay_drivers::registry;
use assay_lab::recipes;
use assay_results::run_dirs;
use assay_study::builtin as studies;
use assay_workload::builtin;
use clap::ArgMatches;
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};

use crate::options::Options;

/// Our workloads, and files.
pub fn workloads() -> ArgValueCompleter {
    values(|| names(builtin::all().map(|entry| (entry.name, entry.description))), Paths::Files)
}

/// The studies that come with the program, and files.
pub fn studies() -> ArgValueCompleter {
    values(|| names(studies::ALL.iter().map(|study| (study.name, study.about()))), Paths::Files)
}

/// What the URLs of the stores begin with.
pub fn stores() -> ArgValueCompleter {
    let schemes = || {
        let all = registry::list().into_iter().filter(|store| store.is_compiled_in);
        all.map(|store| (begin(store.scheme, store.url), store.summary.to_owned())).collect()
    };
    values(schemes, Paths::None)
}

/// The stores that can be started here.
pub fn recipes() -> ArgValueCompleter {
    let all = || recipes::ALL.iter().map(|recipe| recipe.card());
    values(move || all().map(|card| (card.name.to_owned(), String::new())).collect(), Paths::None)
}

/// `last`, the runs in the directory of runs, and directories.
pub fn runs() -> ArgValueCompleter {
    let runs = || {
        let options = Options::gather(&ArgMatches::default()).unwrap_or_default();
        let dir = options.runs_dir().to_owned();
        let all = run_dirs::names(&dir).unwrap_or_default();
        let back = ["last", "last-1"].into_iter().zip(all.iter().rev());
        let back = back.map(|(name, run)| (name.to_owned(), run.clone()));
        back.chain(all.iter().map(|run| (run.clone(), String::new()))).collect()
    };
    values(runs, Paths::Directories)
}

/// The paths that are values too.
#[derive(Clone, Copy)]
enum Paths {
    None,
    Files,
    Directories,
}

/// Values with their descriptions.
type Values = Vec<(String, String)>;

fn values(all: impl Fn() -> Values + Send + Sync + 'static, paths: Paths) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| {
        let begin = current.to_string_lossy();
        let all = all().into_iter().filter(|(value, _)| value.starts_with(&*begin));
        let named = all.map(|(value, about)| {
            let about = (!about.is_empty()).then(|| about.into());
            CompletionCandidate::new(value).help(about)
        });
        let paths = match paths {
            Paths::None => Vec::new(),
            Paths::Files => PathCompleter::file().complete(current),
            Paths::Directories => PathCompleter::dir().complete(current),
        };
        named.chain(paths).collect()
    })
}

fn names<'a>(all: impl Iterator<Item = (&'a str, &'a str)>) -> Values {
    all.map(|(name, about)| (name.to_owned(), about.to_owned())).collect()
}

/// `redis://`, `memory:`: the scheme as the store's URL has it.
fn begin(scheme: &str, url: &str) -> String {
    let slashes = url.contains(&format!("{scheme}://"));
    format!("{scheme}:{}", if slashes { "//" } else { "" })
}
