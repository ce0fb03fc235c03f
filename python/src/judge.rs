//! Judge of a share of a run's records, for engines.

use std::path::PathBuf;
use std::sync::Mutex;

use arrow_array::RecordBatch;
use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_pyarrow::PyArrowType;
use assay_results::ResultsError;
use assay_results::shares::{ShareJudge, ShareQuestion, ShareVerdict, merge};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;

use crate::columns::{OF_VERDICTS, records};
use crate::errors::{AssayError, WrongColumns, detached, work};

/// A stream of record batches that Python gave.
pub type Stream = PyArrowType<RecordBatchStreamReader>;

/// What judges of shares must know of the run in `dir`, as JSON.
#[pyfunction]
pub fn question_json(py: Python<'_>, dir: PathBuf) -> PyResult<String> {
    let question = work(py, || ShareQuestion::of(&dir))?;
    text_of(&question)
}

/// The verdicts on a run from those of all shares, as JSON.
#[pyfunction]
pub fn merge_json(py: Python<'_>, question: &str, shares: Vec<String>) -> PyResult<String> {
    let question = parse(question)?;
    work(py, || {
        let shares: Result<Vec<ShareVerdict>, _> =
            shares.iter().map(|share| serde_json::from_str(share)).collect();
        let shares = shares.map_err(|error| {
            ResultsError::Invalid(format!("{error}: no share that Judge.finish() gave"))
        })?;
        let whole = merge(&question, shares)?;
        Ok(assay_report::consistency::json(&whole))
    })
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
        Ok(Judge { judge: Mutex::new(Some(ShareJudge::new(parse(question)?))) })
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
        text_of(&verdict)
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

fn parse(question: &str) -> PyResult<ShareQuestion> {
    serde_json::from_str(question)
        .map_err(|_| PyValueError::new_err("no question; assay.question(run) makes one"))
}

fn text_of(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| AssayError::new_err(error.to_string()))
}
