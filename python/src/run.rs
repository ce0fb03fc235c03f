//! A run directory: figures, verdicts, percentiles, manifest, comparison.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use assay_analysis::compare::Demands;
use assay_analysis::{Distribution, Group, Interval, Latency, Percentile, Phases};
use assay_history::{History, Manifest};
use assay_model::Kind;
use assay_results::compare::condition;
use assay_results::{AnalyzedRun, NamedDir, run_dirs};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;

use crate::errors::{AssayError, work};
use crate::records::RecordStream;

/// A run directory that was found; its figures are computed once, when they are first wanted.
#[pyclass(frozen, module = "assay._native")]
pub struct RunDirectory {
    dir: PathBuf,
    phases: Option<Phases>,
    analyzed: OnceLock<AnalyzedRun>,
}

/// The run directory or group of repeated runs that `name` means: a path, a name in `runs_dir`,
/// `last` or `last-1`. A group is an error unless groups are wanted as well.
#[pyfunction]
pub fn find(
    py: Python<'_>,
    name: &str,
    runs_dir: PathBuf,
    is_group_wanted: bool,
) -> PyResult<PathBuf> {
    work(py, || match is_group_wanted {
        true => run_dirs::find_any(&runs_dir, name),
        false => run_dirs::find(&runs_dir, name),
    })
}

#[pymethods]
impl RunDirectory {
    /// Opens `dir`: reads its manifest and the ends of its history's files.
    #[new]
    #[pyo3(signature = (dir, phases=None))]
    fn new(py: Python<'_>, dir: PathBuf, phases: Option<&str>) -> PyResult<RunDirectory> {
        let phases = phases.map(phases_of).transpose()?;
        work(py, || {
            Manifest::read(&dir)?;
            History::open(&dir)?;
            Ok(RunDirectory { dir, phases, analyzed: OnceLock::new() })
        })
    }

    /// The directory.
    #[getter]
    fn dir(&self) -> &Path {
        &self.dir
    }

    /// The text of `assay report --format json`.
    fn report_json(&self, py: Python<'_>) -> PyResult<String> {
        self.analyzed(py, |run| assay_report::json(&run.facts, &run.summary))
    }

    /// The page of `assay report --format html`.
    fn report_html(&self, py: Python<'_>) -> PyResult<String> {
        self.analyzed(py, |run| {
            assay_report::run(&run.facts, &run.summary, run.timeline.as_ref()).page()
        })
    }

    /// The text of `assay check --format json`.
    fn check_json(&self, py: Python<'_>) -> PyResult<String> {
        let judged = work(py, || assay_results::judge_run(&self.dir, None))?;
        Ok(assay_report::consistency::json(&judged))
    }

    /// `run.toml` as JSON.
    fn manifest_json(&self, py: Python<'_>) -> PyResult<String> {
        let path = self.dir.join(run_dirs::MANIFEST);
        let text = py.detach(|| std::fs::read_to_string(&path));
        let text = text.map_err(|error| {
            AssayError::new_err(format!("cannot read {}: {error}", path.display()))
        })?;
        let value: toml::Value = toml::from_str(&text).map_err(|error| {
            AssayError::new_err(format!("{} is not a manifest: {error}", path.display()))
        })?;
        serde_json::to_string(&value).map_err(|error| AssayError::new_err(error.to_string()))
    }

    /// The records as a source of Arrow streams.
    fn records(&self) -> RecordStream {
        RecordStream::new(self.dir.clone())
    }

    /// The percentile `percent` of a latency: value in ns, then the ends of its 95 % interval or
    /// why there is none; nothing if there are no values.
    fn percentile(
        &self,
        py: Python<'_>,
        operation: &str,
        percent: f64,
        latency: &str,
        outcome: &str,
    ) -> PyResult<Option<Quantile>> {
        if !(0.0..=100.0).contains(&percent) {
            let text = format!("{percent} is no percentile; give 0 to 100, such as 99 or 99.9");
            return Err(PyValueError::new_err(text));
        }
        self.analyzed(py, |run| {
            let group = group_of(run, operation)?;
            Ok(quantile(distribution_of(group, latency, outcome)?, percent / 100.0))
        })?
    }
}

/// A percentile in ns with `(low, high)` or the reason for the lack of it.
type Quantile = (u64, Option<(u64, u64)>, Option<&'static str>);

impl RunDirectory {
    /// What `of` makes of the analyzed run, which is analyzed if it was not.
    fn analyzed<T: Send>(
        &self,
        py: Python<'_>,
        of: impl FnOnce(&AnalyzedRun) -> T + Send,
    ) -> PyResult<T> {
        work(py, || {
            if let Some(analyzed) = self.analyzed.get() {
                return Ok(of(analyzed));
            }
            let analyzed = assay_results::analyze_run(&self.dir, self.phases)?;
            Ok(of(self.analyzed.get_or_init(|| analyzed)))
        })
    }
}

/// Compares the runs in `new` with those in `old`: the text of `assay compare --format json`.
#[pyfunction]
#[pyo3(signature = (old, new, fail_on, confidence, minimum, force))]
pub fn compare_json(
    py: Python<'_>,
    old: (String, PathBuf),
    new: (String, PathBuf),
    fail_on: Vec<String>,
    confidence: Option<f64>,
    minimum: Option<f64>,
    force: bool,
) -> PyResult<String> {
    let mut stated = Vec::new();
    for text in &fail_on {
        let parsed = condition::parse(text);
        stated.extend(parsed.map_err(|problem| PyValueError::new_err(problem.to_string()))?);
    }
    let usual = Demands::default();
    let mut demands = Demands {
        confidence: confidence.unwrap_or(usual.confidence),
        minimum: minimum.unwrap_or(usual.minimum),
        ..usual
    };
    if !(0.5..1.0).contains(&demands.confidence) {
        return Err(PyValueError::new_err("confidence is a share from 0.5 to below 1"));
    }
    if !(0.0..10.0).contains(&demands.minimum) {
        return Err(PyValueError::new_err("minimum is a share from 0 to below 10"));
    }
    demands.request(stated.iter().map(|stated| stated.condition.figure));
    work(py, || {
        let old = NamedDir { name: &old.0, dir: &old.1 };
        let new = NamedDir { name: &new.0, dir: &new.1 };
        let mut contrast = assay_results::compare(old, new, demands, &stated)?;
        contrast.is_forced = force;
        Ok(assay_report::compare::json(&contrast))
    })
}

fn phases_of(name: &str) -> PyResult<Phases> {
    match name {
        "measure" => Ok(Phases::Measure),
        "load" => Ok(Phases::Load),
        "all" => Ok(Phases::All),
        other => {
            let text = format!("phases is {other:?}; there are \"measure\", \"load\" and \"all\"");
            Err(PyValueError::new_err(text))
        }
    }
}

/// The operations of one kind, `all` of them, or those of a transaction type or a query.
fn group_of<'a>(run: &'a AnalyzedRun, operation: &str) -> PyResult<&'a Group> {
    let summary = &run.summary;
    if operation == "all" {
        return Ok(&summary.overall);
    }
    let kind = Kind::from_name(operation);
    let of_kind = || summary.kinds.iter().find(|(one, _)| Some(*one) == kind).map(|(_, g)| g);
    let of_type =
        || summary.transactions.iter().find(|one| one.name == operation).map(|one| &one.group);
    let of_query =
        || summary.queries.iter().find(|one| one.name == operation).map(|one| &one.group);
    of_kind().or_else(of_type).or_else(of_query).ok_or_else(|| {
        let kinds = summary.kinds.iter().map(|(kind, _)| kind.name());
        let types = summary.transactions.iter().map(|one| one.name.as_str());
        let queries = summary.queries.iter().map(|one| one.name.as_str());
        let known: Vec<&str> =
            ["all"].into_iter().chain(kinds).chain(types).chain(queries).collect();
        PyKeyError::new_err(format!("the run has no {operation:?}; it has {}", known.join(", ")))
    })
}

fn distribution_of<'a>(
    group: &'a Group,
    latency: &str,
    outcome: &str,
) -> PyResult<&'a Distribution> {
    let latencies: &Latency = match outcome {
        "hits" => &group.hits,
        "misses" => &group.misses,
        "failed" => &group.failed,
        other => {
            let text = format!("outcome is {other:?}; there are \"hits\", \"misses\", \"failed\"");
            return Err(PyValueError::new_err(text));
        }
    };
    match latency {
        "response" => Ok(&latencies.response),
        "service" => Ok(&latencies.service),
        "lag" => Ok(&latencies.lag),
        other => {
            let text = format!("kind is {other:?}; there are \"response\", \"service\", \"lag\"");
            Err(PyValueError::new_err(text))
        }
    }
}

fn quantile(distribution: &Distribution, quantile: f64) -> Option<Quantile> {
    if distribution.count == 0 {
        return None;
    }
    let is_it = |one: &&Percentile| (one.quantile - quantile).abs() < 1e-9;
    let known = distribution.percentiles.iter().find(is_it);
    let Some(known) = known else {
        let value = distribution.histogram.value_at_quantile(quantile).min(distribution.max.0);
        return Some((value, None, Some("not-computed")));
    };
    let (interval, reason) = match known.interval {
        Interval::Known { low, high, .. } => (Some((low.0, high.0)), None),
        Interval::TooFew { shortage, .. } => (None, Some(shortage.name())),
        Interval::Undefined => (None, Some("undefined")),
    };
    Some((known.value.0, interval, reason))
}
