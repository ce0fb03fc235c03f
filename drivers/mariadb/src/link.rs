//! One connection with its prepared statements, which carries out one job at a time.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use assay_driver_kit::task::{
    Completion, ConnectionState, Context, JobCompletion, Library, Lost, completion,
};
use assay_model::{Datum, Fields, Kind, Parameters, Reason};
use assay_sql::{RecordTexts, SqlQuery};
use assay_store::answer::{encode_field, encode_row};
use assay_store::{Call, OpenError, Request, Step};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Params, Row, Statement, Value};

use super::connector::Connector;
use super::failure::{Failure, failure};
use super::value::{bound, found};

/// What was prepared: the statements of tables of records, by number, and of queries, by place.
#[derive(Clone, Default)]
pub(super) struct Plan {
    pub(super) records: Vec<Arc<RecordTexts>>,
    pub(super) queries: Vec<SqlQuery>,
    pub(super) relations: Vec<String>,
}

/// The library, as a pool of connections needs it.
pub(super) struct MariaDb {
    pub(super) connector: Arc<Connector>,
    pub(super) plan: Arc<Plan>,
}

/// One connection.
pub(super) struct Link {
    connection: Conn,
    /// The statements of the queries, by place.
    queries: Vec<Statement>,
    /// Those on records, by their text.
    records: HashMap<String, Statement>,
    /// Room for one encoded value.
    room: Vec<u8>,
}

/// A statement, with its arguments.
#[derive(Debug, Default)]
pub(super) struct Job {
    job_kind: JobKind,
    context: Context,
    arguments: Vec<Value>,
}

/// What a job does.
#[derive(Debug, Default)]
enum JobKind {
    /// Something that there is not.
    #[default]
    Nothing,
    /// The query with this place.
    Query(usize),
    /// The request for records of this table, with its text, and the fields that come back.
    Records { table: usize, text: String, fields: Fields, is_look: bool },
    /// Makes a transaction final.
    Commit,
    /// Undoes a transaction.
    Rollback,
}

impl Job {
    /// Makes the job a request for records. The key comes first, in an update last.
    pub(super) fn fill_request(&mut self, plan: &Plan, request: &Request<'_>) {
        self.job_kind = JobKind::Nothing;
        self.context = Context::Alone;
        self.arguments.clear();
        let table = usize::from(request.table);
        let text_of = |records: &Arc<RecordTexts>| {
            let text = records.text(request.kind, request.fields, request.values.numbers());
            text.map(Cow::into_owned)
        };
        let Some(text) = plan.records.get(table).and_then(text_of) else { return };
        let is_look = matches!(request.kind, Kind::Read | Kind::Scan);
        self.job_kind = JobKind::Records { table, text, fields: request.fields, is_look };
        let key = || Value::Bytes(request.key.into());
        if request.kind != Kind::Update {
            self.arguments.push(key());
        }
        let values = request.values.iter();
        self.arguments.extend(values.map(|(_, value)| Value::Bytes(value.into())));
        if request.kind == Kind::Update {
            self.arguments.push(key());
        }
        if request.kind == Kind::Scan {
            self.arguments.push(Value::UInt(request.limit.into()));
        }
    }

    /// Makes the job a step of a process.
    pub(super) fn fill_call(&mut self, plan: &Plan, call: &Call<'_>, is_held: bool) {
        self.arguments.clear();
        self.context = match (is_held, call.begins) {
            (true, _) => Context::Within,
            (false, true) => Context::Begins,
            (false, false) => Context::Alone,
        };
        self.job_kind = match call.step {
            Step::Query(number) => self.arrange(plan, number, call.parameters),
            Step::Commit if is_held => JobKind::Commit,
            Step::Rollback if is_held => JobKind::Rollback,
            Step::Commit | Step::Rollback => JobKind::Nothing,
        };
    }

    /// Puts the arguments in the order of the places in the query's text.
    fn arrange(&mut self, plan: &Plan, number: u16, parameters: Parameters<'_>) -> JobKind {
        let Some(place) = usize::from(number).checked_sub(1) else { return JobKind::Nothing };
        let Some(requested) = plan.queries.get(place) else { return JobKind::Nothing };
        let given: Vec<Datum<'_>> = parameters.iter().collect();
        if given.len() != requested.arguments.len() {
            return JobKind::Nothing;
        }
        for &argument in &requested.arguments {
            let Some(datum) = given.get(usize::from(argument)) else { return JobKind::Nothing };
            self.arguments.push(bound(*datum));
        }
        JobKind::Query(place)
    }
}

impl Library for MariaDb {
    type Connection = Link;
    type Job = Job;

    fn hosts(&self) -> usize {
        self.connector.count()
    }

    fn node(&self, _link: &Link, host: usize) -> u8 {
        self.connector.node(host)
    }

    async fn connect(&self) -> Result<Link, OpenError> {
        self.connect_to(0).await
    }

    async fn connect_to(&self, host: usize) -> Result<Link, OpenError> {
        let mut connection = self.connector.dial_host(host).await?;
        let mut queries = Vec::with_capacity(self.plan.queries.len());
        for requested in &self.plan.queries {
            let prepared = connection.prep(&*requested.text).await;
            queries.push(prepared.map_err(|error| self.connector.failed(&requested.text, &error))?);
        }
        Ok(Link { connection, queries, records: HashMap::new(), room: Vec::new() })
    }

    async fn perform(&self, link: &mut Link, job: &mut Job, rows: &mut Vec<u8>) -> JobCompletion {
        match job.job_kind {
            JobKind::Nothing => completion(Err(Failure::refused(Reason::Malformed)), job.context),
            JobKind::Commit => link.end("COMMIT").await,
            JobKind::Rollback => link.end("ROLLBACK").await,
            JobKind::Query(_) | JobKind::Records { .. } => {
                let ended = link.run(&self.plan, job, rows).await;
                completion(ended, job.context)
            }
        }
    }

    async fn undo(&self, link: &mut Link) -> Result<(), Lost> {
        match link.end("ROLLBACK").await {
            JobCompletion { ending: Completion::Done { .. }, .. } => Ok(()),
            _ => Err(Lost),
        }
    }
}

impl Link {
    /// Ends a transaction. One whose commit is refused may still be open, so it is undone.
    async fn end(&mut self, text: &str) -> JobCompletion {
        let failure = match self.connection.query_drop(text).await {
            Ok(()) => {
                return JobCompletion::new(Completion::Done { found: true }, ConnectionState::Free);
            }
            Err(error) => failure(&error),
        };
        completion(Err(failure), Context::Within)
    }

    /// Runs a statement, puts its rows into `rows`, tells whether anything was found.
    async fn run(
        &mut self,
        plan: &Plan,
        job: &mut Job,
        rows: &mut Vec<u8>,
    ) -> Result<bool, Failure> {
        let statement = self.statement(&job.job_kind).await?;
        if job.context == Context::Begins {
            let begun = self.connection.query_drop("START TRANSACTION").await;
            begun.map_err(|error| failure(&error))?;
        }
        let arguments = match job.arguments.is_empty() {
            true => Params::Empty,
            false => Params::Positional(std::mem::take(&mut job.arguments)),
        };
        let gives_rows = match &job.job_kind {
            JobKind::Query(place) => !plan.queries[*place].output.is_empty(),
            JobKind::Records { is_look, .. } => *is_look,
            JobKind::Nothing | JobKind::Commit | JobKind::Rollback => false,
        };
        let requested = self.connection.exec_iter(&statement, arguments).await;
        let result = requested.map_err(|error| failure(&error))?;
        if !gives_rows {
            let count = result.affected_rows();
            result.drop_result().await.map_err(|error| failure(&error))?;
            return Ok(count > 0);
        }
        let mut count = 0u64;
        let mut is_whole = true;
        let room = &mut self.room;
        let taken = result.for_each_and_drop(|row| {
            count += 1;
            is_whole &= match &job.job_kind {
                JobKind::Records { table, fields, .. } => {
                    keep_record(&row, &plan.records[*table], *fields, rows)
                }
                JobKind::Query(place) => keep_row(&row, &plan.queries[*place], room, rows),
                JobKind::Nothing | JobKind::Commit | JobKind::Rollback => None,
            }
            .is_some();
        });
        taken.await.map_err(|error| failure(&error))?;
        if is_whole { Ok(count > 0) } else { Err(Failure::refused(Reason::WrongType)) }
    }

    /// The prepared statement, prepared now if it was not used before.
    async fn statement(&mut self, job_kind: &JobKind) -> Result<Statement, Failure> {
        match job_kind {
            JobKind::Query(place) => Ok(self.queries[*place].clone()),
            JobKind::Records { text, .. } => {
                if let Some(statement) = self.records.get(text) {
                    return Ok(statement.clone());
                }
                let prepared = self.connection.prep(&**text).await;
                let statement = prepared.map_err(|error| failure(&error))?;
                self.records.insert(text.clone(), statement.clone());
                Ok(statement)
            }
            JobKind::Nothing | JobKind::Commit | JobKind::Rollback => {
                Err(Failure::refused(Reason::Malformed))
            }
        }
    }
}

/// Appends a row of a query, each value encoded; `None` if one is of another type.
fn keep_row(row: &Row, requested: &SqlQuery, room: &mut Vec<u8>, rows: &mut Vec<u8>) -> Option<()> {
    encode_row(u16::try_from(requested.output.len()).ok()?, rows);
    for (place, kind) in requested.output.iter().enumerate() {
        room.clear();
        found(row.as_ref(place)?, *kind)?.encode(room);
        encode_field(b"", room, rows);
    }
    Some(())
}

/// Appends a record: fields without a value are not there.
fn keep_record(row: &Row, records: &RecordTexts, fields: Fields, rows: &mut Vec<u8>) -> Option<()> {
    let names = records.names(fields)?;
    let begin = rows.len();
    encode_row(0, rows);
    let mut count = 0u16;
    for (place, name) in names.iter().enumerate() {
        match row.as_ref(place)? {
            Value::NULL => {}
            Value::Bytes(value) => {
                encode_field(name.as_bytes(), value, rows);
                count += 1;
            }
            _ => return None,
        }
    }
    rows[begin..begin + 2].copy_from_slice(&count.to_le_bytes());
    Some(())
}
