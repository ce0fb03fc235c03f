//! Judge of a share of a run's records, for engines.

use std::path::PathBuf;
use std::sync::Mutex;

use arrow_array::RecordBatch;
use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_pyarrow::PyArrowType;
use assay_model::Nanos;
use assay_results::ResultsError;
use assay_results::shares::{ShareJudge, ShareQuestion, ShareVerdict};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::columns::{OF_VERDICTS, records};
use crate::errors::{AssayError, WrongColumns, detached, work};

/// A stream of record batches that Python gave.
pub type Stream = PyArrowType<RecordBatchStreamReader>;

/// What judges of shares must know of the run in `dir`, as JSON.
#[pyfunction]
pub fn question_json(py: Python<'_>, dir: PathBuf) -> PyResult<String> {
    let question = work(py, || ShareQuestion::of(&dir))?;
    let object = json!({
        "source": question.source,
        "title": question.title,
        "loaded": [question.loaded.0, question.loaded.1],
        "is_fresh": question.is_fresh,
        "writes_whole_records": question.writes_whole_records,
        "is_partial": question.is_partial,
        "final_reads_from": question.final_reads_from.map(|from| from.0),
        "records": question.records,
        "nodes": question.nodes,
    });
    Ok(object.to_string())
}

/// Judges the records that it is given; all records of a key must come to the same judge.
#[pyclass(frozen, module = "assay._native")]
pub struct Judge {
    judge: Mutex<Option<ShareJudge>>,
}

#[pymethods]
impl Judge {
    /// A judge that answers `question`, a text of [`question_json`].
    #[new]
    fn new(question: &str) -> PyResult<Judge> {
        let question = parse(question)
            .ok_or_else(|| PyValueError::new_err("no question; assay.question(run) makes one"))?;
        Ok(Judge { judge: Mutex::new(Some(ShareJudge::new(question))) })
    }

    /// Adds the records of a stream; gives how many they were.
    fn push(&self, py: Python<'_>, stream: Stream) -> PyResult<u64> {
        let added = detached(py, || {
            let mut judge = self.judge.lock().map_err(|_| POISONED.to_owned())?;
            let judge = judge.as_mut().ok_or_else(|| FINISHED.to_owned())?;
            let mut added = 0;
            for batch in stream.0 {
                let batch = batch.map_err(|error| error.to_string())?;
                added += push(judge, &batch)?;
            }
            Ok::<u64, String>(added)
        })?;
        added.map_err(|text| {
            match text.starts_with("there is no column") || text.contains("column \"") {
                true => WrongColumns::new_err(text),
                false => AssayError::new_err(text),
            }
        })
    }

    /// The verdicts on what was added, as JSON; the judge is used up.
    fn finish(&self, py: Python<'_>) -> PyResult<String> {
        let judge = self.judge.lock().map_err(|_| AssayError::new_err(POISONED))?.take();
        let judge = judge.ok_or_else(|| AssayError::new_err(FINISHED))?;
        let verdict = work(py, || Ok::<ShareVerdict, ResultsError>(judge.finish()))?;
        Ok(object(&verdict).to_string())
    }
}

const FINISHED: &str = "the judge has given its verdicts; make another one";
const POISONED: &str = "an earlier call of this judge failed; make another one";

fn push(judge: &mut ShareJudge, batch: &RecordBatch) -> Result<u64, String> {
    let (agents, records) = records(batch, &OF_VERDICTS)?;
    let mut from = 0;
    for agents in agents.chunk_by(|one, other| one == other) {
        judge.add(agents[0], &records[from..from + agents.len()]);
        from += agents.len();
    }
    Ok(records.len() as u64)
}

/// The verdicts of a share with what is needed to sum shares up.
fn object(verdict: &ShareVerdict) -> Value {
    let text = assay_report::consistency::json(&verdict.result);
    let check: Value = serde_json::from_str(&text).unwrap_or_default();
    let seen = &verdict.result.seen;
    json!({
        "check": check,
        "judged": verdict.power.judged,
        "unknown": verdict.power.unknown,
        "records": verdict.records,
        "with_version": seen.with_version,
        "unversioned_writes": seen.unversioned_writes,
    })
}

fn parse(text: &str) -> Option<ShareQuestion> {
    let value: Value = serde_json::from_str(text).ok()?;
    let text = |name: &str| Some(value.get(name)?.as_str()?.to_owned());
    let flag = |name: &str| value.get(name)?.as_bool();
    let loaded = value.get("loaded")?;
    let names = value.get("nodes")?.as_array()?.iter();
    Some(ShareQuestion {
        source: text("source")?,
        title: text("title")?,
        loaded: (loaded.get(0)?.as_u64()?, loaded.get(1)?.as_u64()?),
        is_fresh: flag("is_fresh")?,
        writes_whole_records: flag("writes_whole_records")?,
        is_partial: flag("is_partial")?,
        final_reads_from: value.get("final_reads_from")?.as_u64().map(Nanos),
        records: value.get("records")?.as_u64()?,
        nodes: names.map(|name| Some(name.as_str()?.to_owned())).collect::<Option<_>>()?,
    })
}
