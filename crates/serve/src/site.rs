//! The pages of run directories: a list, the report of each, comparisons of two.
//!
//! All pages are those that `assay report` and `assay compare` write. A run that goes on is
//! analyzed again from what is on the disk, at most so often that reading takes a fiftieth of one
//! processor.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use assay_analysis::compare::Demands;
use assay_history::{Manifest, Repeat, State};
use assay_model::{Nanos, Phase};
use assay_report::runs::{ListedRun, RunsPage, error_html, runs_html, served};
use assay_results::{NamedDir, ResultsError, analyze_run, compare, group, run_dirs};

use crate::http::{HttpAnswer, HttpRequest, Method, Respond, StatusCode};

/// The page that a run keeps of itself.
const PAGE_FILE: &str = "report.html";
/// The hallmark that a run keeps of itself.
const HALLMARK_FILE: &str = "hallmark.json";
const HTML: &str = "text/html; charset=utf-8";
/// Runs that are listed at once.
const LISTED_MAX: usize = 500;
/// The share of one processor that following a run may take, as its reciprocal.
const FOLLOW_SHARE: u64 = 50;
/// The least time between two analyses of a run that goes on.
const FOLLOW_MIN: Nanos = Nanos::from_secs(2);
/// How long a page that nobody asks for again is kept.
const FORGET: Nanos = Nanos::from_secs(60);
/// The time between two looks at a list with a run that goes on, in seconds.
const LIST_EVERY: u64 = 5;

/// The pages of the run directories in one directory.
pub struct RunsSite {
    dir: PathBuf,
    /// Whether only this machine reaches it: then a request to any other name is refused, for a
    /// web page elsewhere may have given that name our address.
    is_local: bool,
    clock: fn() -> Nanos,
    /// Pages of runs that go on; held while one is analyzed, so that there is one at a time.
    followed: Mutex<HashMap<PathBuf, Followed>>,
}

/// The page of a run that goes on.
struct Followed {
    page: String,
    /// When it is to be made anew.
    due: Nanos,
}

/// Why there is no page.
enum Trouble {
    /// There is nothing under this address.
    Missing(String),
    /// It cannot be shown.
    Failed(String),
}

impl From<ResultsError> for Trouble {
    fn from(error: ResultsError) -> Trouble {
        Trouble::Failed(error.to_string())
    }
}

impl RunsSite {
    /// The pages of the run directories in `dir`; `clock` is monotonic.
    pub fn new(dir: PathBuf, is_local: bool, clock: fn() -> Nanos) -> RunsSite {
        RunsSite { dir, is_local, clock, followed: Mutex::default() }
    }

    fn page(&self, path: &str, query: &str) -> Result<String, Trouble> {
        if path == "/" {
            return self.list(query);
        }
        if path == "/compare" {
            return self.comparison(query);
        }
        match path.strip_prefix("/run/") {
            Some(name) => self.run(&decoded(name)),
            None => Err(Trouble::Missing(format!("there is no page {path}"))),
        }
    }

    fn list(&self, query: &str) -> Result<String, Trouble> {
        let names = run_dirs::names(&self.dir)?;
        let shows_all = form_urlencoded::parse(query.as_bytes()).any(|(name, _)| name == "all");
        let most = if shows_all { usize::MAX } else { LISTED_MAX };
        let runs: Vec<ListedRun> =
            names.iter().rev().take(most).flat_map(|name| self.listed(name)).collect();
        let refresh = runs.iter().any(|run| run.is_running).then_some(LIST_EVERY);
        let page = RunsPage {
            version: env!("CARGO_PKG_VERSION"),
            dir: self.dir.display().to_string(),
            older: names.len().saturating_sub(most),
            runs,
        };
        Ok(served(runs_html(&page), refresh, false))
    }

    /// The row of a run; of a group, also those of its runs.
    fn listed(&self, name: &str) -> Vec<ListedRun> {
        let dir = self.dir.join(name);
        if !run_dirs::is_group(&dir) {
            return vec![listed_run(name, &dir)];
        }
        let repeat = match Repeat::read(&dir) {
            Ok(repeat) => repeat,
            Err(error) => return vec![ListedRun::unreadable(name, error.to_string())],
        };
        let members: Vec<ListedRun> = repeat
            .runs
            .iter()
            .map(|run| listed_run(&format!("{name}/{}", run.run_dir), &dir.join(&run.run_dir)))
            .collect();
        let typical = members.first().cloned().unwrap_or_default();
        let whole = ListedRun {
            name: name.to_owned(),
            started: repeat.started.clone(),
            state: format!("{} of {} runs", members.len(), repeat.expected),
            hallmark: String::new(),
            done_per_s: None,
            ..typical
        };
        std::iter::once(whole).chain(members).collect()
    }

    /// The directory of the run `name`: one of those that the list has, nothing else.
    fn dir_of(&self, name: &str) -> Result<PathBuf, Trouble> {
        let names = run_dirs::names(&self.dir)?;
        let is_listed = |wanted: &str| names.iter().any(|one| one == wanted);
        let dir = self.dir.join(name);
        if is_listed(name) {
            return Ok(dir);
        }
        let missing = || Trouble::Missing(format!("there is no run {name}"));
        let (group, run) = name.rsplit_once('/').ok_or_else(missing)?;
        let repeat = is_listed(group).then(|| Repeat::read(&self.dir.join(group)));
        let is_member = repeat.is_some_and(|repeat| {
            repeat.is_ok_and(|repeat| repeat.runs.iter().any(|one| one.run_dir == run))
        });
        is_member.then_some(dir).ok_or_else(missing)
    }

    fn run(&self, name: &str) -> Result<String, Trouble> {
        let dir = self.dir_of(name)?;
        if run_dirs::is_group(&dir) {
            return Ok(served(assay_report::repeated::document(&group(&dir)?).page(), None, true));
        }
        if is_running(&dir) {
            return self.follow(&dir);
        }
        if let Ok(page) = std::fs::read_to_string(dir.join(PAGE_FILE)) {
            return Ok(served(page, None, true));
        }
        Ok(served(analyzed(&dir)?, None, true))
    }

    fn follow(&self, dir: &Path) -> Result<String, Trouble> {
        let mut followed = self.followed.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let now = (self.clock)();
        followed.retain(|path, one| path == dir || one.due.saturating_add(FORGET) > now);
        if followed.get(dir).is_none_or(|one| now >= one.due) {
            let page = analyzed(dir)?;
            let took = (self.clock)().since(now);
            let due = (self.clock)() + FOLLOW_MIN.max(Nanos(took.0.saturating_mul(FOLLOW_SHARE)));
            followed.insert(dir.to_owned(), Followed { page, due });
        }
        let Some(one) = followed.get(dir) else { return Err(gone(dir)) };
        let wait = one.due.since((self.clock)()).0.div_ceil(1_000_000_000).max(1);
        Ok(served(one.page.clone(), Some(wait), true))
    }

    fn comparison(&self, query: &str) -> Result<String, Trouble> {
        let of = |wanted: &str| {
            let mut pairs = form_urlencoded::parse(query.as_bytes());
            let found = pairs.find(|(name, _)| name == wanted).map(|(_, value)| value.into_owned());
            found.ok_or_else(|| {
                Trouble::Failed("choose a run as base and another one as new".to_owned())
            })
        };
        let (base, new) = (of("base")?, of("new")?);
        let (base_dir, new_dir) = (self.dir_of(&base)?, self.dir_of(&new)?);
        let base = NamedDir { name: &base, dir: &base_dir };
        let new = NamedDir { name: &new, dir: &new_dir };
        let contrast = compare(base, new, Demands::default(), &[])?;
        Ok(served(assay_report::compare::document(&contrast).page(), None, true))
    }

    /// Whether the caller means this machine.
    fn is_meant(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        let address = name.trim_start_matches('[').trim_end_matches(']');
        let is_loopback = address.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
        !self.is_local || name == "localhost" || is_loopback
    }
}

impl Respond for RunsSite {
    fn respond(&self, request: &HttpRequest<'_>) -> HttpAnswer {
        if !self.is_meant(request.host) {
            let why = format!(
                "this server is for its own machine: write localhost instead of {}",
                request.host
            );
            return answer(StatusCode::FORBIDDEN, error_html(&why));
        }
        if request.method != Method::GET && request.method != Method::HEAD {
            let refusal =
                answer(StatusCode::METHOD_NOT_ALLOWED, error_html("nothing can be changed here"));
            return HttpAnswer { allow: Some("GET, HEAD"), ..refusal };
        }
        match self.page(request.path, request.query) {
            Ok(page) => answer(StatusCode::OK, page),
            Err(Trouble::Missing(why)) => answer(StatusCode::NOT_FOUND, error_html(&why)),
            Err(Trouble::Failed(why)) => answer(StatusCode::UNPROCESSABLE_ENTITY, error_html(&why)),
        }
    }

    fn refuse_body(&self, bytes_max: usize) -> HttpAnswer {
        let why = format!("the body did not come, or has more than {bytes_max} bytes");
        answer(StatusCode::PAYLOAD_TOO_LARGE, error_html(&why))
    }
}

fn answer(status: StatusCode, page: String) -> HttpAnswer {
    HttpAnswer { status, media: HTML, allow: None, body: page }
}

fn gone(dir: &Path) -> Trouble {
    Trouble::Missing(format!("{} is gone", dir.display()))
}

fn decoded(name: &str) -> String {
    // A path has no pluses that mean blanks.
    let form = name.replace('+', "%2B");
    form_urlencoded::parse(form.as_bytes()).next().map_or(String::new(), |(name, _)| name.into())
}

fn analyzed(dir: &Path) -> Result<String, Trouble> {
    let analyzed = analyze_run(dir, None)?;
    Ok(assay_report::run(&analyzed.facts, &analyzed.summary, analyzed.timeline.as_ref()).page())
}

fn is_running(dir: &Path) -> bool {
    Manifest::read(dir).is_ok_and(|manifest| manifest.state == State::Running)
}

fn listed_run(name: &str, dir: &Path) -> ListedRun {
    let manifest = match Manifest::read(dir) {
        Ok(manifest) => manifest,
        Err(error) => return ListedRun::unreadable(name, error.to_string()),
    };
    let is_load = manifest.phases.iter().any(|phase| phase.name == Phase::Load.name());
    let measured = if is_load { Phase::Load } else { Phase::Measure };
    let measured = manifest.phases.iter().filter(|phase| phase.name == measured.name());
    let length: u64 = measured.map(|phase| phase.to_ns.saturating_sub(phase.from_ns)).sum();
    let is_running = manifest.state == State::Running;
    let has_rate = length > 0 && !is_running;
    ListedRun {
        name: name.to_owned(),
        started: manifest.run.started,
        workload: manifest.spec.name,
        store: manifest.store.url,
        load: format!("{}: {}", manifest.load.model, shortened(&manifest.load.text)),
        state: manifest.state.name().to_owned(),
        hallmark: hallmark(dir).unwrap_or_default(),
        done_per_s: has_rate.then(|| manifest.counters.done as f64 * 1e9 / length as f64),
        is_running,
        is_load,
    }
}

/// What a load is, without its limits.
fn shortened(load: &str) -> &str {
    let end = [" (", ", at most", "; timeout"].into_iter().filter_map(|text| load.find(text)).min();
    end.map_or(load, |end| &load[..end])
}

fn hallmark(dir: &Path) -> Option<String> {
    let text = std::fs::read_to_string(dir.join(HALLMARK_FILE)).ok()?;
    let kept: serde_json::Value = serde_json::from_str(&text).ok()?;
    Some(kept["verdict"].as_str()?.replace('-', " "))
}

#[cfg(test)]
mod tests;
