//! One connection with its prepared statements, which carries out one job at a time.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::pin;

use assay_driver_kit::task::{
    Completion, ConnectionState, Context, JobCompletion, Library, Lost, completion,
};
use assay_model::{Datum, Fields, Kind, Parameters, Reason};
use assay_store::answer::{encode_field, encode_row};
use assay_store::{OpenError, number_of};
use futures_core::Stream as _;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row, Statement};

use super::connector::Connector;
use super::error::{Failure, failure};
use super::plan::{Plan, StatementId};
use super::value::{Bound, Raw, read};
use super::wire::{Wire, both};

/// The largest response that is accepted: two thousand records of 32 KiB. All connections of a
/// worker together buffer no more than a GiB, even of hostile servers.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// The library, as a pool of connections needs it.
pub(super) struct Postgres {
    /// The primary's, then those of the standbys that are read.
    pub(super) connectors: Vec<Connector>,
    pub(super) plan: Plan,
    /// The number of the only node that is asked, if one was chosen.
    pub(super) only: Option<u8>,
}

/// One connection.
pub(super) struct Link {
    wire: Wire,
    statements: HashMap<StatementId, Statement>,
    /// Room for one encoded value.
    room: Vec<u8>,
}

/// A statement, with its arguments as encoded values.
#[derive(Debug, Default)]
pub(super) struct Job {
    pub(super) step: Step,
    pub(super) arguments: Vec<u8>,
    pub(super) context: Context,
}

/// What a job does.
#[derive(Debug, Default)]
pub(super) enum Step {
    /// Nothing; a job that was never filled.
    #[default]
    Nothing,
    /// Runs a statement.
    Run(StatementId),
    /// Makes a transaction final.
    Commit,
    /// Undoes a transaction.
    Rollback,
}

/// What a statement gave.
struct Got {
    /// How many rows were returned, or changed.
    count: u64,
    /// Whether all rows were valid.
    is_understood: bool,
}

impl Library for Postgres {
    type Connection = Link;
    type Job = Job;

    fn hosts(&self) -> usize {
        self.connectors.len()
    }

    fn node(&self, _link: &Link, host: usize) -> u8 {
        match self.only {
            Some(node) => node,
            None if self.connectors.len() > 1 => number_of(host),
            None => 0,
        }
    }

    async fn connect(&self) -> Result<Link, OpenError> {
        self.connect_to(0).await
    }

    async fn connect_to(&self, host: usize) -> Result<Link, OpenError> {
        let connector = &self.connectors[host];
        let mut wire = connector.dial().await?;
        let mut statements = HashMap::new();
        for which in self.plan.all() {
            let text = self.plan.text(&which).expect("a plan has a text for all that it names");
            let statement = match wire.drive(|client| client.prepare(&text)).await {
                Ok(Ok(statement)) => statement,
                Ok(Err(error)) => return Err(connector.failed(&text, &error)),
                Err(closed) => return Err(connector.hung_up(&closed)),
            };
            statements.insert(which, statement);
        }
        wire.take_answers_of(ANSWER_BYTES_MAX);
        Ok(Link { wire, statements, room: Vec::new() })
    }

    async fn perform(&self, link: &mut Link, job: &mut Job, rows: &mut Vec<u8>) -> JobCompletion {
        if link.wire.is_closed().await {
            let ending = Completion::Refused(Reason::Unreachable);
            return JobCompletion::new(ending, ConnectionState::Lost);
        }
        match &job.step {
            Step::Nothing => {
                JobCompletion::new(Completion::Refused(Reason::Malformed), ConnectionState::Free)
            }
            Step::Commit => link.end("COMMIT").await,
            Step::Rollback => link.end("ROLLBACK").await,
            Step::Run(which) => {
                let ended = link.run(&self.plan, which, job, rows).await;
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

    async fn lost(&self, link: &mut Link) {
        link.wire.closed().await;
    }
}

impl Link {
    /// Ends a transaction. One that the server refuses to commit is undone by that.
    async fn end(&mut self, sql: &str) -> JobCompletion {
        let failure = match self.wire.drive(|client| client.batch_execute(sql)).await {
            Ok(Ok(())) => {
                return JobCompletion::new(Completion::Done { found: true }, ConnectionState::Free);
            }
            Ok(Err(error)) => failure(&error),
            Err(_) => Failure::LOST,
        };
        completion(Err(failure), Context::Alone)
    }

    /// Runs a statement, puts its rows into `rows`, tells whether anything was found.
    async fn run(
        &mut self,
        plan: &Plan,
        which: &StatementId,
        job: &Job,
        rows: &mut Vec<u8>,
    ) -> Result<bool, Failure> {
        let statement = self.statement(plan, which).await?;
        let bound: Vec<Bound<'_>> = match which {
            StatementId::Query(place) => {
                let values: Vec<Datum<'_>> = Parameters::new(&job.arguments).iter().collect();
                let requested = &plan.queries[usize::from(*place)];
                arrange(&values, &requested.arguments)?
            }
            _ => Parameters::new(&job.arguments).iter().map(Bound).collect(),
        };
        let arguments: Vec<&(dyn ToSql + Sync)> =
            bound.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        let begins = job.context == Context::Begins;
        let gives_rows = match which {
            StatementId::Query(place) => plan.gives_rows(*place),
            StatementId::Fetch(..) => true,
            StatementId::Write(..) | StatementId::Remove(_) => false,
        };
        let Link { wire, room, .. } = self;
        let mut keep = |row: &Row| match which {
            StatementId::Fetch(_, table, fields) => {
                keep_record(row, &plan.tables[usize::from(*table)].fields, *fields, rows);
                Some(())
            }
            _ => keep_row(row, room, rows),
        };
        let keep: Option<&mut Keep<'_>> = if gives_rows { Some(&mut keep) } else { None };
        let requested = wire
            .drive(async |client| {
                let query = execute(client, &statement, &arguments, keep);
                match begins {
                    // The two leave together and are answered together.
                    true => {
                        let (began, got) = both(client.batch_execute("BEGIN"), query).await;
                        began.and(got)
                    }
                    false => query.await,
                }
            })
            .await;
        match requested {
            Ok(Ok(got)) if got.is_understood => Ok(got.count > 0),
            Ok(Ok(_)) => Err(Failure::GARBLED),
            Ok(Err(error)) => Err(failure(&error)),
            Err(_) => Err(Failure::LOST),
        }
    }

    /// The prepared statement, prepared now if it is a rare one.
    async fn statement(&mut self, plan: &Plan, which: &StatementId) -> Result<Statement, Failure> {
        if let Some(statement) = self.statements.get(which) {
            return Ok(statement.clone());
        }
        let malformed =
            Failure { ending: Completion::Refused(Reason::Malformed), is_connection_lost: false };
        let text = plan.text(which).ok_or(malformed)?;
        match self.wire.drive(|client| client.prepare(&text)).await {
            Ok(Ok(statement)) => {
                self.statements.insert(which.clone(), statement.clone());
                Ok(statement)
            }
            Ok(Err(error)) => Err(failure(&error)),
            Err(_) => Err(Failure::LOST),
        }
    }
}

/// Appends a row of a query, each value encoded; `None` if one is invalid.
fn keep_row(row: &Row, room: &mut Vec<u8>, rows: &mut Vec<u8>) -> Option<()> {
    encode_row(u16::try_from(row.len()).ok()?, rows);
    for (place, column) in row.columns().iter().enumerate() {
        let raw: Raw<'_> = row.try_get(place).ok()?;
        room.clear();
        read(column.type_(), &raw)?.encode(room);
        encode_field(b"", room, rows);
    }
    Some(())
}

/// Arguments in the order of a text's places.
fn arrange<'a>(values: &[Datum<'a>], places: &[u16]) -> Result<Vec<Bound<'a>>, Failure> {
    let malformed =
        Failure { ending: Completion::Refused(Reason::Malformed), is_connection_lost: false };
    let value = |&number: &u16| values.get(usize::from(number)).copied().map(Bound);
    let arranged: Option<Vec<Bound<'a>>> = places.iter().map(value).collect();
    arranged.filter(|arranged| arranged.len() == values.len()).ok_or(malformed)
}

/// Takes a row; `None` if it is invalid.
type Keep<'a> = dyn FnMut(&Row) -> Option<()> + 'a;

/// Runs a statement, passes each row to `keep` as it comes: the library's own list of rows takes
/// many times their memory.
async fn execute(
    client: &Client,
    statement: &Statement,
    arguments: &[&(dyn ToSql + Sync)],
    keep: Option<&mut Keep<'_>>,
) -> Result<Got, Error> {
    let Some(keep) = keep else {
        let count = client.execute(statement, arguments).await?;
        return Ok(Got { count, is_understood: true });
    };
    let mut found = pin!(client.query_raw(statement, arguments.iter().copied()).await?);
    let mut got = Got { count: 0, is_understood: true };
    while let Some(row) = poll_fn(|context| found.as_mut().poll_next(context)).await {
        got.is_understood &= keep(&row?).is_some();
        got.count += 1;
    }
    Ok(got)
}

/// Appends a record: fields without a value are not there.
fn keep_record(row: &Row, names: &[String], fields: Fields, rows: &mut Vec<u8>) {
    let first = match fields {
        Fields::All | Fields::Named => 0,
        Fields::One(number) => usize::from(number),
    };
    let value = |place: usize| row.try_get::<_, Raw<'_>>(place).ok().and_then(|raw| raw.0);
    let there = (0..row.len()).filter(|&place| value(place).is_some());
    let count = there.clone().count();
    encode_row(u16::try_from(count).expect("a row has at most 1600 columns"), rows);
    for place in there {
        let name = &names[first + place];
        encode_field(name.as_bytes(), value(place).unwrap_or_default(), rows);
    }
}

impl Job {
    /// Makes the job a request for a record. Fields that are written come before the key in an
    /// update, behind it in an insert.
    pub(super) fn send_record(&mut self, request: &assay_store::Request<'_>) {
        self.arguments.clear();
        self.context = Context::Alone;
        let key = Datum::Bytes(request.key);
        let table = request.table;
        let written = || request.values.iter().map(|(field, _)| field).collect();
        if request.kind != Kind::Update {
            key.encode(&mut self.arguments);
        }
        for (_, value) in request.values.iter() {
            Datum::Bytes(value).encode(&mut self.arguments);
        }
        let which = match request.kind {
            Kind::Update => {
                key.encode(&mut self.arguments);
                StatementId::Write(Kind::Update, table, written())
            }
            Kind::Insert => StatementId::Write(Kind::Insert, table, written()),
            Kind::Delete => StatementId::Remove(table),
            Kind::Scan => {
                Datum::Int(request.limit.into()).encode(&mut self.arguments);
                StatementId::Fetch(Kind::Scan, table, all_as_one(request.fields))
            }
            Kind::Read | Kind::Commit | Kind::Rollback => {
                StatementId::Fetch(Kind::Read, table, all_as_one(request.fields))
            }
        };
        self.step = Step::Run(which);
    }
}

/// Every field is selected by its name anyway.
fn all_as_one(fields: Fields) -> Fields {
    match fields {
        Fields::All | Fields::Named => Fields::All,
        one => one,
    }
}
