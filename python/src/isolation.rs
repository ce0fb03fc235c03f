//! Judges of isolation for engines: of sessions, of records, of islands.
//!
//! What goes from one to the next are Arrow batches of whole numbers (`int64`), and texts of JSON
//! that [`conclude`] adds up.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_pyarrow::PyArrowType;
use arrow_schema::{DataType, Field, Schema};
use assay_consistency::queries::dealt::{DealtStep, parts_of_records};
use assay_consistency::transaction::dealt::{
    Dependency, DependencySort, Islands, TransactionHead, TransactionTally, judge_island,
    judge_records, unknown_but_seen,
};
use assay_model::{Nanos, ObservedValue, Outcome, QueryRole};
use assay_results::islands::{DealtParts, TransactionQuestion, conclude};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::columns::{Wrong, numbers, optional_numbers, records};
use crate::errors::{AssayError, WrongColumns, detached, work};
use crate::judge::Stream;

/// A transaction as columns: two of them make a dependency.
const HEAD: [&str; 5] = ["index", "session", "started", "ended", "outcome"];
const STEP: [&str; 6] = ["place", "key", "operation", "role", "is_known", "rows"];
const DEPENDENCY: [&str; 3] = ["key", "sort", "place"];
/// Records of the history, for the judge of sessions.
const OF_SESSIONS: [&str; 13] = [
    "index",
    "session",
    "process",
    "transaction",
    "ends_transaction",
    "kind",
    "phase",
    "key",
    "started",
    "ended",
    "outcome",
    "found",
    "statement",
];
/// The roles that steps of transactions have, by their codes.
const ROLES: [QueryRole; 5] = [
    QueryRole::Unchecked,
    QueryRole::Append,
    QueryRole::Write,
    QueryRole::ReadList,
    QueryRole::Read,
];

type Batch = PyArrowType<RecordBatch>;

/// What judges of isolation must know of the run in `dir`, as JSON.
#[pyfunction]
pub fn isolation_question_json(py: Python<'_>, dir: PathBuf) -> PyResult<String> {
    let question = work(py, || TransactionQuestion::of(&dir))?;
    let object = json!({
        "source": question.source,
        "title": question.title,
        "roles": question.roles.iter().map(|role| role_code(*role)).collect::<Vec<_>>(),
        "has_transactions": question.has_transactions,
        "is_fresh": question.is_fresh,
        "is_whole": question.is_whole,
        "records": question.records,
    });
    Ok(object.to_string())
}

/// The steps of the transactions of whole sessions, and what these show, as JSON.
#[pyfunction]
pub fn judge_sessions(py: Python<'_>, question: &str, stream: Stream) -> PyResult<(Batch, String)> {
    let question = parse(question)?;
    let done = detached(py, move || {
        let mut collector = question.collector();
        let mut given = 0;
        for batch in stream.0 {
            let batch = batch.map_err(|error| error.to_string())?;
            let (agents, records) = records(&batch, &OF_SESSIONS)?;
            given += records.len() as u64;
            let mut from = 0;
            for agents in agents.chunk_by(|one, other| one == other) {
                collector.add(agents[0], &records[from..from + agents.len()]);
                from += agents.len();
            }
        }
        let dealt = collector.deal();
        let note = json!({ "tally": dealt.tally, "records": given, "torn": dealt.torn });
        Ok::<_, Wrong>((steps_batch(&dealt.steps)?, note.to_string()))
    })?;
    done.map(|(batch, note)| (PyArrowType(batch), note)).map_err(wrong)
}

/// The transactions of unknown outcome whose writes were read, by all steps on some records and
/// all values that were read from them.
#[pyfunction]
pub fn seen_of_records(py: Python<'_>, steps: Stream, values: Stream) -> PyResult<Vec<u64>> {
    let done = detached(py, move || {
        let (parts, _) = parts_of_records(steps_of(steps)?, values_of(values)?);
        Ok::<_, Wrong>(unknown_but_seen(parts))
    })?;
    done.map_err(wrong)
}

/// The dependencies that follow from some records, and what these show, as JSON.
#[pyfunction]
pub fn judge_records_of_share(
    py: Python<'_>,
    steps: Stream,
    values: Stream,
    seen: Vec<u64>,
) -> PyResult<(Batch, String)> {
    let done = detached(py, move || {
        let (parts, incomplete) = parts_of_records(steps_of(steps)?, values_of(values)?);
        let seen: HashSet<u64> = seen.into_iter().collect();
        let (dependencies, tally) = judge_records(parts, &seen);
        let note = json!({
            "tally": tally, "incomplete": incomplete, "unordered": tally.unordered(),
        });
        let dependencies: Vec<(Dependency, u64)> =
            dependencies.into_iter().map(|one| (one, 0)).collect();
        Ok::<_, Wrong>((dependencies_batch(&dependencies)?, note.to_string()))
    })?;
    done.map(|(batch, note)| (PyArrowType(batch), note)).map_err(wrong)
}

/// First and last moment of the islands that these dependencies make.
#[pyfunction]
pub fn spans_of_islands(py: Python<'_>, dependencies: Stream) -> PyResult<Vec<(u64, u64)>> {
    let done = detached(py, move || {
        let mut islands = Islands::default();
        dependencies_of(dependencies, |one, _| islands.add(&one))?;
        islands.settle();
        Ok::<_, Wrong>(islands.spans().to_vec())
    })?;
    done.map_err(wrong)
}

/// The islands that spans make which touch each other.
#[pyfunction]
pub fn join_spans(spans: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    Islands::of_spans(spans).spans().to_vec()
}

/// Those of the dependencies that lead to an island, with its number as the column `island`.
#[pyfunction]
pub fn dependencies_of_islands(
    py: Python<'_>,
    spans: Vec<(u64, u64)>,
    dependencies: Stream,
) -> PyResult<Batch> {
    let done = detached(py, move || {
        let islands = Islands::of_spans(spans);
        let mut kept = Vec::new();
        dependencies_of(dependencies, |one, _| {
            kept.extend(islands.of(one.to.started).map(|island| (one, island as u64)));
        })?;
        dependencies_batch(&kept)
    })?;
    done.map(PyArrowType).map_err(wrong)
}

/// What some whole islands show, as JSON.
#[pyfunction]
pub fn judge_islands(py: Python<'_>, dependencies: Stream, is_ordered: bool) -> PyResult<String> {
    let done = detached(py, move || {
        let mut islands: BTreeMap<u64, Vec<Dependency>> = BTreeMap::new();
        dependencies_of(dependencies, |one, island| islands.entry(island).or_default().push(one))?;
        let mut tally = TransactionTally::default();
        islands.values().for_each(|island| tally.add(judge_island(island, is_ordered)));
        Ok::<_, Wrong>(json!({ "tally": tally }).to_string())
    })?;
    done.map_err(wrong)
}

/// The verdicts from what all judges showed, as the JSON of `assay check`.
#[pyfunction]
pub fn conclude_isolation(
    py: Python<'_>,
    question: &str,
    notes: Vec<String>,
    seen: Vec<u64>,
) -> PyResult<String> {
    let question = parse(question)?;
    let records = question.records;
    let done = detached(py, move || {
        let mut parts = DealtParts { seen: seen.into_iter().collect(), ..DealtParts::default() };
        for note in &notes {
            let mut note: Value = serde_json::from_str(note).map_err(|error| error.to_string())?;
            let tally = serde_json::from_value(note["tally"].take());
            parts.tally.add(tally.map_err(|error| error.to_string())?);
            let number = |name: &str| note[name].as_u64().unwrap_or(0);
            parts.records += number("records");
            parts.incomplete += number("incomplete");
            parts.torn += number("torn");
        }
        if parts.records > records {
            return Err(format!(
                "the shares have {} records, the run has {records}: a session was given to two \
                 judges, or records were given twice",
                parts.records
            ));
        }
        Ok(assay_report::consistency::json(&conclude(question, parts)))
    })?;
    done.map_err(AssayError::new_err)
}

fn wrong(text: Wrong) -> PyErr {
    WrongColumns::new_err(text)
}

fn role_code(role: QueryRole) -> usize {
    ROLES.iter().position(|one| *one == role).unwrap_or(0)
}

fn role(code: u64) -> QueryRole {
    ROLES.get(code as usize).copied().unwrap_or_default()
}

fn parse(text: &str) -> PyResult<TransactionQuestion> {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let text = |name: &str| Some(value.get(name)?.as_str()?.to_owned());
    let flag = |name: &str| value.get(name)?.as_bool();
    let question = || {
        let roles = value.get("roles")?.as_array()?.iter();
        Some(TransactionQuestion {
            source: text("source")?,
            title: text("title")?,
            roles: roles.map(|code| code.as_u64().map(role)).collect::<Option<_>>()?,
            has_transactions: flag("has_transactions")?,
            is_fresh: flag("is_fresh")?,
            is_whole: flag("is_whole")?,
            records: value.get("records")?.as_u64()?,
        })
    };
    question().ok_or_else(|| {
        PyValueError::new_err("no question; assay.isolation_question(run) makes one")
    })
}

/// A batch of these columns, each of whole numbers.
fn batch(columns: Vec<(String, Vec<i64>)>) -> Result<RecordBatch, Wrong> {
    let field = |name: &String| Field::new(name, DataType::Int64, true);
    let schema = Schema::new(columns.iter().map(|(name, _)| field(name)).collect::<Vec<_>>());
    let arrays =
        columns.into_iter().map(|(_, values)| Arc::new(Int64Array::from(values)) as ArrayRef);
    RecordBatch::try_new(Arc::new(schema), arrays.collect()).map_err(|error| error.to_string())
}

fn head_columns<'a>(
    prefix: &str,
    heads: impl Iterator<Item = &'a TransactionHead> + Clone,
) -> Vec<(String, Vec<i64>)> {
    let of: [fn(&TransactionHead) -> u64; 5] = [
        |head| head.index,
        |head| u64::from(head.session),
        |head| head.started.0,
        |head| head.ended.0,
        |head| head.outcome as u64,
    ];
    let column = |(name, of): (&str, fn(&TransactionHead) -> u64)| {
        (format!("{prefix}{name}"), heads.clone().map(|head| of(head) as i64).collect())
    };
    HEAD.into_iter().zip(of).map(column).collect()
}

fn steps_batch(steps: &[DealtStep]) -> Result<RecordBatch, Wrong> {
    let mut columns = head_columns("", steps.iter().map(|step| &step.head));
    let of: [fn(&DealtStep) -> u64; 6] = [
        |step| u64::from(step.place),
        |step| step.key,
        |step| step.operation,
        |step| role_code(step.role) as u64,
        |step| u64::from(step.is_known),
        |step| u64::from(step.rows),
    ];
    let column = |(name, of): (&str, fn(&DealtStep) -> u64)| {
        (name.to_owned(), steps.iter().map(|step| of(step) as i64).collect())
    };
    columns.extend(STEP.into_iter().zip(of).map(column));
    batch(columns)
}

fn dependencies_batch(dependencies: &[(Dependency, u64)]) -> Result<RecordBatch, Wrong> {
    let mut columns = head_columns("from_", dependencies.iter().map(|(one, _)| &one.from));
    columns.extend(head_columns("to_", dependencies.iter().map(|(one, _)| &one.to)));
    let of: [fn(&Dependency) -> u64; 3] =
        [|one| one.key, |one| one.sort as u64, |one| u64::from(one.place)];
    let column = |(name, of): (&str, fn(&Dependency) -> u64)| {
        (name.to_owned(), dependencies.iter().map(|(one, _)| of(one) as i64).collect())
    };
    columns.extend(DEPENDENCY.into_iter().zip(of).map(column));
    let islands = dependencies.iter().map(|(_, island)| *island as i64).collect();
    columns.push(("island".to_owned(), islands));
    batch(columns)
}

fn heads(batch: &RecordBatch, prefix: &str) -> Result<Vec<TransactionHead>, Wrong> {
    let column = |name: &str| numbers(batch, &format!("{prefix}{name}"));
    let [index, session, started, ended, outcome] = HEAD.map(column);
    let (index, session, started) = (index?, session?, started?);
    let (ended, outcome) = (ended?, outcome?);
    let head = |at: usize| TransactionHead {
        index: index[at],
        session: session[at] as u32,
        started: Nanos(started[at]),
        ended: Nanos(ended[at]),
        outcome: Outcome::from_code(outcome[at] as u8).unwrap_or(Outcome::Unknown),
    };
    Ok((0..index.len()).map(head).collect())
}

fn steps_of(stream: Stream) -> Result<Vec<DealtStep>, Wrong> {
    let mut steps = Vec::new();
    for batch in stream.0 {
        let batch = batch.map_err(|error| error.to_string())?;
        let heads = heads(&batch, "")?;
        let [place, key, operation, role_of, known, rows] = STEP.map(|name| numbers(&batch, name));
        let (place, key, operation) = (place?, key?, operation?);
        let (role_of, known, rows) = (role_of?, known?, rows?);
        steps.extend(heads.into_iter().enumerate().map(|(at, head)| DealtStep {
            head,
            place: place[at] as u32,
            key: key[at],
            operation: operation[at],
            role: role(role_of[at]),
            is_known: known[at] != 0,
            rows: rows[at] as u32,
        }));
    }
    Ok(steps)
}

fn values_of(stream: Stream) -> Result<Vec<ObservedValue>, Wrong> {
    let mut values = Vec::new();
    for batch in stream.0 {
        let batch = batch.map_err(|error| error.to_string())?;
        let [index, item, key] = ["index", "item", "key"].map(|name| numbers(&batch, name));
        let (index, item, key) = (index?, item?, key?);
        let value = optional_numbers(&batch, "value")?;
        values.extend((0..index.len()).map(|at| ObservedValue {
            index: index[at],
            item: item[at] as u32,
            key: key[at],
            value: value[at].map(|value| value as i64),
        }));
    }
    Ok(values)
}

fn dependencies_of(stream: Stream, mut each: impl FnMut(Dependency, u64)) -> Result<(), Wrong> {
    for batch in stream.0 {
        let batch = batch.map_err(|error| error.to_string())?;
        let (from, to) = (heads(&batch, "from_")?, heads(&batch, "to_")?);
        let [key, sort, place] = DEPENDENCY.map(|name| numbers(&batch, name));
        let (key, sort, place) = (key?, sort?, place?);
        let island = numbers(&batch, "island")?;
        for at in 0..key.len() {
            let code = sort[at];
            let sort = u8::try_from(code).ok().and_then(DependencySort::from_code);
            let sort = sort.ok_or_else(|| format!("column \"sort\" has {code}, no dependency"))?;
            let (from, to, place) = (from[at], to[at], place[at] as u32);
            each(Dependency { from, to, key: key[at], sort, place }, island[at]);
        }
    }
    Ok(())
}
