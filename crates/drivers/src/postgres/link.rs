//! One connection with its prepared statements, which carries out one job at a time.

use std::collections::HashMap;

use assay_model::{Datum, Fields, Kind, Parameters, Reason};
use assay_store::OpenError;
use assay_store::answer::{encode_field, encode_row};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row, Statement};

use super::dialer::Dialer;
use super::error::{Failure, failure};
use super::plan::{Plan, Which};
use super::value::{Bound, Raw, read};
use super::wire::{Wire, both};
use crate::task::{After, Context, Ending, Fate, Library, Lost};

/// The library, as a pool of connections needs it.
pub(super) struct Postgres {
    pub(super) dialer: Dialer,
    pub(super) plan: Plan,
}

/// One connection.
pub(super) struct Link {
    wire: Wire,
    statements: HashMap<Which, Statement>,
    /// Room for one encoded value.
    room: Vec<u8>,
}

/// What is asked, with its arguments as encoded values.
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
    Run(Which),
    /// Makes a transaction final.
    Commit,
    /// Undoes a transaction.
    Rollback,
}

/// What a statement gave.
enum Got {
    Rows(Vec<Row>),
    Count(u64),
}

impl Library for Postgres {
    type Connection = Link;
    type Job = Job;

    async fn connect(&self) -> Result<Link, OpenError> {
        let mut wire = self.dialer.dial().await?;
        let mut statements = HashMap::new();
        for which in self.plan.all() {
            let text = self.plan.text(&which).expect("a plan has a text for all that it names");
            let statement = match wire.drive(|client| client.prepare(&text)).await {
                Ok(Ok(statement)) => statement,
                Ok(Err(error)) => return Err(self.dialer.failed(&text, &error)),
                Err(_) => return Err(self.dialer.hung_up()),
            };
            statements.insert(which, statement);
        }
        Ok(Link { wire, statements, room: Vec::new() })
    }

    async fn perform(&self, link: &mut Link, job: &mut Job, rows: &mut Vec<u8>) -> Fate {
        if link.wire.is_closed().await {
            let ending = Ending::Refused(Reason::Unreachable);
            return Fate::new(ending, After::Lost);
        }
        match &job.step {
            Step::Nothing => Fate::new(Ending::Refused(Reason::Malformed), After::Free),
            Step::Commit => link.end("COMMIT").await,
            Step::Rollback => link.end("ROLLBACK").await,
            Step::Run(which) => {
                let ended = link.run(&self.plan, which, job, rows).await;
                fate(ended, job.context)
            }
        }
    }

    async fn undo(&self, link: &mut Link) -> Result<(), Lost> {
        match link.end("ROLLBACK").await {
            Fate { ending: Ending::Done { .. }, .. } => Ok(()),
            _ => Err(Lost),
        }
    }

    async fn lost(&self, link: &mut Link) {
        link.wire.closed().await;
    }
}

/// What becomes of a connection after a statement that ended so.
fn fate(ended: Result<bool, Failure>, context: Context) -> Fate {
    let (ending, is_lost) = match ended {
        Ok(found) => (Ending::Done { found }, false),
        Err(failure) => (failure.ending, failure.is_connection_lost),
    };
    let after = match (is_lost, context, ended.is_ok()) {
        (true, _, _) => After::Lost,
        (false, Context::Alone, _) => After::Free,
        (false, _, true) => After::Held,
        (false, _, false) => After::Undo,
    };
    Fate::new(ending, after)
}

impl Link {
    /// Ends a transaction. One that the server refuses to commit is undone by that.
    async fn end(&mut self, sql: &str) -> Fate {
        let failure = match self.wire.drive(|client| client.batch_execute(sql)).await {
            Ok(Ok(())) => {
                return Fate::new(Ending::Done { found: true }, After::Free);
            }
            Ok(Err(error)) => failure(&error),
            Err(_) => Failure::LOST,
        };
        let after = if failure.is_connection_lost { After::Lost } else { After::Free };
        Fate::new(failure.ending, after)
    }

    /// Runs a statement, puts its rows into `rows`, tells whether anything was found.
    async fn run(
        &mut self,
        plan: &Plan,
        which: &Which,
        job: &Job,
        rows: &mut Vec<u8>,
    ) -> Result<bool, Failure> {
        let statement = self.statement(plan, which).await?;
        let bound: Vec<Bound<'_>> = match which {
            Which::Query(place) => {
                let values: Vec<Datum<'_>> = Parameters::new(&job.arguments).iter().collect();
                let asked = &plan.queries[usize::from(*place)];
                arrange(&values, &asked.arguments)?
            }
            _ => Parameters::new(&job.arguments).iter().map(Bound).collect(),
        };
        let arguments: Vec<&(dyn ToSql + Sync)> =
            bound.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        let begins = job.context == Context::Begins;
        let gives_rows = match which {
            Which::Query(place) => plan.gives_rows(*place),
            Which::Fetch(..) => true,
            Which::Write(..) | Which::Remove(_) => false,
        };
        let asked = self
            .wire
            .drive(async |client| {
                let query = execute(client, &statement, &arguments, gives_rows);
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
        let got = match asked {
            Ok(Ok(got)) => got,
            Ok(Err(error)) => return Err(failure(&error)),
            Err(_) => return Err(Failure::LOST),
        };
        match (got, which) {
            (Got::Count(count), _) => Ok(count > 0),
            (Got::Rows(found), Which::Fetch(_, table, fields)) => {
                let names = &plan.tables[usize::from(*table)].fields;
                found.iter().for_each(|row| keep_record(row, names, *fields, rows));
                Ok(!found.is_empty())
            }
            (Got::Rows(found), _) => {
                for row in &found {
                    self.keep_row(row, rows).ok_or(Failure::GARBLED)?;
                }
                Ok(!found.is_empty())
            }
        }
    }

    /// The prepared statement, prepared now if it is a rare one.
    async fn statement(&mut self, plan: &Plan, which: &Which) -> Result<Statement, Failure> {
        if let Some(statement) = self.statements.get(which) {
            return Ok(statement.clone());
        }
        let malformed =
            Failure { ending: Ending::Refused(Reason::Malformed), is_connection_lost: false };
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

    /// Appends a row of a query, each value encoded; `None` if one makes no sense.
    fn keep_row(&mut self, row: &Row, rows: &mut Vec<u8>) -> Option<()> {
        encode_row(u16::try_from(row.len()).ok()?, rows);
        for (place, column) in row.columns().iter().enumerate() {
            let raw: Raw<'_> = row.try_get(place).ok()?;
            self.room.clear();
            read(column.type_(), &raw)?.encode(&mut self.room);
            encode_field(b"", &self.room, rows);
        }
        Some(())
    }
}

/// Arguments in the order of a text's places.
fn arrange<'a>(values: &[Datum<'a>], places: &[u16]) -> Result<Vec<Bound<'a>>, Failure> {
    let malformed =
        Failure { ending: Ending::Refused(Reason::Malformed), is_connection_lost: false };
    let value = |&number: &u16| values.get(usize::from(number)).copied().map(Bound);
    let arranged: Option<Vec<Bound<'a>>> = places.iter().map(value).collect();
    arranged.filter(|arranged| arranged.len() == values.len()).ok_or(malformed)
}

async fn execute(
    client: &Client,
    statement: &Statement,
    arguments: &[&(dyn ToSql + Sync)],
    gives_rows: bool,
) -> Result<Got, Error> {
    match gives_rows {
        true => client.query(statement, arguments).await.map(Got::Rows),
        false => client.execute(statement, arguments).await.map(Got::Count),
    }
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
    pub(super) fn ask_record(&mut self, request: &assay_store::Request<'_>) {
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
                Which::Write(Kind::Update, table, written())
            }
            Kind::Insert => Which::Write(Kind::Insert, table, written()),
            Kind::Delete => Which::Remove(table),
            Kind::Scan => {
                Datum::Int(request.limit.into()).encode(&mut self.arguments);
                Which::Fetch(Kind::Scan, table, all_as_one(request.fields))
            }
            Kind::Read | Kind::Commit | Kind::Rollback => {
                Which::Fetch(Kind::Read, table, all_as_one(request.fields))
            }
        };
        self.step = Step::Run(which);
    }
}

/// Every field is asked for by its name anyway.
fn all_as_one(fields: Fields) -> Fields {
    match fields {
        Fields::All | Fields::Named => Fields::All,
        one => one,
    }
}
