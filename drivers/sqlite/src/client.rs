//! A worker's connections to a database, with what its sessions have open on them.

use std::sync::Arc;

use assay_driver_kit::embedded::failure::{CommitStage, EngineFailure};
use assay_model::{ColumnType, Datum, Kind, Nanos, Parameters, Reason};
use assay_sql::{RecordTexts, SqlQuery};
use assay_store::answer::{encode_field, encode_row};
use assay_store::{Answer, Answers, Call, Client, OpenError, Reply, Request, Rows, Step, Ticket};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection};

use super::failure::meaning;
use super::options::Begin;
use super::value;
use super::{Database, Plan, Prepared, Turn};

/// The most connections of a worker: as many transactions can be open in it.
const MOST_CONNECTIONS: usize = 64;

/// A worker's client. A connection is either idle or has the transaction of one session.
pub(super) struct SqliteClient {
    database: Arc<Database>,
    plan: Arc<Plan>,
    idle: Vec<Connection>,
    open: Vec<Transaction>,
    /// The rows of the answer under way.
    rows: Vec<u8>,
    /// The encoding of one value.
    scratch: Vec<u8>,
}

/// What a session has open. The connection is closed before the turn ends.
struct Transaction {
    session: u32,
    connection: Connection,
    turn: Option<Turn>,
}

impl SqliteClient {
    pub(super) fn open(database: &Arc<Database>) -> Result<SqliteClient, OpenError> {
        let first = database.connect()?;
        Ok(SqliteClient {
            database: Arc::clone(database),
            plan: database.plan.get(),
            idle: vec![first],
            open: Vec::new(),
            rows: Vec::new(),
            scratch: Vec::new(),
        })
    }

    fn connection(&mut self) -> Result<Connection, EngineFailure> {
        if let Some(connection) = self.idle.pop() {
            return Ok(connection);
        }
        if self.open.len() >= MOST_CONNECTIONS {
            return Err(EngineFailure::refused(Reason::Busy));
        }
        self.database.connect().map_err(|error| EngineFailure {
            text: error.to_string(),
            ..EngineFailure::refused(Reason::Unreachable)
        })
    }

    /// The right to write, waited for. Not if another session of this worker has it: it could not
    /// end its transaction while we wait.
    fn turn(&self) -> Result<Turn, EngineFailure> {
        if self.has_turn() {
            return Err(EngineFailure::refused(Reason::Busy));
        }
        self.database.turn().ok_or_else(|| EngineFailure::refused(Reason::Busy))
    }

    fn has_turn(&self) -> bool {
        self.open.iter().any(|transaction| transaction.turn.is_some())
    }

    /// Does one thing by itself, which is final when it is answered.
    fn alone(
        &mut self,
        writes: bool,
        act: impl FnOnce(&Connection, &mut Output<'_>) -> Result<bool, EngineFailure>,
    ) -> Result<bool, EngineFailure> {
        let connection = self.connection()?;
        let turn = if writes { Some(self.turn()) } else { None };
        let outcome = match turn.transpose() {
            Ok(turn) => {
                let mut output = Output { rows: &mut self.rows, scratch: &mut self.scratch };
                let outcome = act(&connection, &mut output);
                drop(turn);
                outcome
            }
            Err(failure) => Err(failure),
        };
        self.idle.push(connection);
        outcome
    }

    fn request(&mut self, request: &Request<'_>) -> Result<bool, EngineFailure> {
        let malformed = || EngineFailure::refused(Reason::Malformed);
        let plan = Arc::clone(&self.plan);
        let records = plan.records.get(usize::from(request.table)).ok_or_else(malformed)?;
        let text = records
            .text(request.kind, request.fields, request.values.numbers())
            .ok_or_else(malformed)?;
        let writes = request.kind.writes();
        self.alone(writes, |connection, output| match writes {
            true => change(connection, &text, request),
            false => look(connection, &text, records, request, output),
        })
    }

    fn step(&mut self, call: &Call<'_>) -> Result<bool, EngineFailure> {
        match call.step {
            Step::Query(number) => {
                let plan = Arc::clone(&self.plan);
                let requested = usize::from(number).checked_sub(1);
                let requested = requested.and_then(|place| plan.queries.get(place));
                let requested =
                    requested.ok_or_else(|| EngineFailure::refused(Reason::Malformed))?;
                if call.begins {
                    // An open transaction of the session will never be ended.
                    self.abort(call.session);
                }
                match self.place(call.session) {
                    Some(place) => self.go_on(place, requested, call.parameters),
                    None if call.begins => {
                        let place = self.begin(call.session)?;
                        self.go_on(place, requested, call.parameters)
                    }
                    None => self.alone(writes(&requested.requested), |connection, output| {
                        let stage = CommitStage::Committing;
                        send(connection, &requested.requested, call.parameters, stage, output)
                    }),
                }
            }
            Step::Commit => {
                let place = self.place(call.session);
                let place =
                    place.ok_or_else(|| EngineFailure::refused(Reason::TransactionFailed))?;
                let transaction = self.open.swap_remove(place);
                let done = run(&transaction.connection, "COMMIT");
                let done = done.map_err(|error| meaning(&error, CommitStage::Committing));
                self.put_back(transaction);
                done.map(|()| true)
            }
            Step::Rollback => {
                self.abort(call.session);
                Ok(true)
            }
        }
    }

    fn place(&self, session: u32) -> Option<usize> {
        self.open.iter().position(|transaction| transaction.session == session)
    }

    fn begin(&mut self, session: u32) -> Result<usize, EngineFailure> {
        let begin = self.database.options.begin;
        let turn = (begin == Begin::Immediate).then(|| self.turn()).transpose()?;
        let connection = self.connection()?;
        let begun = run(&connection, begin.statement());
        let transaction = Transaction { session, connection, turn };
        if let Err(error) = begun {
            self.put_back(transaction);
            return Err(meaning(&error, CommitStage::Uncommitted));
        }
        self.open.push(transaction);
        Ok(self.open.len() - 1)
    }

    /// Executes within the transaction at `place`, and rolls that back if it fails.
    fn go_on(
        &mut self,
        place: usize,
        requested: &Prepared,
        parameters: Parameters<'_>,
    ) -> Result<bool, EngineFailure> {
        let outcome = self.take_turn(place, requested).and_then(|()| {
            let mut output = Output { rows: &mut self.rows, scratch: &mut self.scratch };
            let connection = &self.open[place].connection;
            send(
                connection,
                &requested.requested,
                parameters,
                CommitStage::Uncommitted,
                &mut output,
            )
        });
        if outcome.is_err() {
            let transaction = self.open.swap_remove(place);
            self.put_back(transaction);
        }
        outcome
    }

    /// A transaction that began without the turn takes it with its first write.
    fn take_turn(&mut self, place: usize, requested: &Prepared) -> Result<(), EngineFailure> {
        if requested.takes_turn && self.open[place].turn.is_none() {
            let turn = self.turn()?;
            self.open[place].turn = Some(turn);
        }
        Ok(())
    }

    /// Takes the connection back, with what is still open on it undone.
    fn put_back(&mut self, transaction: Transaction) {
        let Transaction { connection, turn, .. } = transaction;
        // SQLite has undone a transaction that met some errors already. A connection that cannot
        // undo what it did is closed, which does.
        if connection.is_autocommit() || run(&connection, "ROLLBACK").is_ok() {
            self.idle.push(connection);
        }
        drop(turn);
    }

    fn answer(&self, outcome: Result<bool, EngineFailure>) -> Answer<'_> {
        match outcome {
            Ok(found) => Answer::Done(Reply { found, rows: Rows::Encoded(&self.rows) }),
            Err(failure) => failure.answer(),
        }
    }
}

impl Client for SqliteClient {
    /// Not while a transaction of this worker has the turn to write: what would be executed then
    /// could only be refused, for nobody could go on with the transaction while it waits.
    fn is_ready(&self) -> bool {
        !self.has_turn()
    }

    fn start(
        &mut self,
        _now: Nanos,
        ticket: Ticket,
        request: &Request<'_>,
        answers: &mut dyn Answers,
    ) {
        self.rows.clear();
        let outcome = self.request(request);
        answers.answer(ticket, self.answer(outcome));
    }

    fn call(&mut self, _now: Nanos, ticket: Ticket, call: &Call<'_>, answers: &mut dyn Answers) {
        self.rows.clear();
        let outcome = self.step(call);
        answers.answer(ticket, self.answer(outcome));
    }

    fn abort(&mut self, session: u32) {
        if let Some(place) = self.place(session) {
            let transaction = self.open.swap_remove(place);
            self.put_back(transaction);
        }
    }

    fn poll(&mut self, _now: Nanos, _answers: &mut dyn Answers) {}
}

/// Where rows go.
struct Output<'a> {
    rows: &'a mut Vec<u8>,
    scratch: &'a mut Vec<u8>,
}

/// A statement that neither takes nor gives anything.
fn run(connection: &Connection, text: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(text)?.raw_execute().map(drop)
}

/// Binds text as the bytes it is: SQLite compares it byte by byte, whatever they are.
fn bind_bytes(
    statement: &mut CachedStatement<'_>,
    place: usize,
    bytes: &[u8],
) -> rusqlite::Result<()> {
    statement.raw_bind_parameter(place, ToSqlOutput::Borrowed(ValueRef::Text(bytes)))
}

/// Whether a query changes rows.
fn writes(requested: &SqlQuery) -> bool {
    requested.output.is_empty()
}

/// Reads a record, or some from a key on.
fn look(
    connection: &Connection,
    text: &str,
    records: &RecordTexts,
    request: &Request<'_>,
    output: &mut Output<'_>,
) -> Result<bool, EngineFailure> {
    let failed = |error: rusqlite::Error| meaning(&error, CommitStage::Uncommitted);
    let names = records.names(request.fields);
    let names = names.ok_or_else(|| EngineFailure::refused(Reason::Malformed))?;
    let mut statement = connection.prepare_cached(text).map_err(failed)?;
    bind_bytes(&mut statement, 1, request.key).map_err(failed)?;
    if request.kind == Kind::Scan {
        statement.raw_bind_parameter(2, i64::from(request.limit)).map_err(failed)?;
    }
    let mut rows = statement.raw_query();
    let mut found = false;
    while let Some(row) = rows.next().map_err(failed)? {
        found = true;
        let begin = output.rows.len();
        encode_row(0, output.rows);
        let mut count = 0u16;
        for (place, name) in names.iter().enumerate() {
            match row.get_ref(place).map_err(failed)? {
                // A field that was never written is not there.
                ValueRef::Null => continue,
                ValueRef::Text(value) | ValueRef::Blob(value) => {
                    encode_field(name.as_bytes(), value, output.rows);
                }
                ValueRef::Integer(_) | ValueRef::Real(_) => {
                    return Err(EngineFailure::refused(Reason::WrongType));
                }
            }
            count += 1;
        }
        output.rows[begin..begin + 2].copy_from_slice(&count.to_le_bytes());
    }
    Ok(found)
}

/// Writes or removes a record.
fn change(
    connection: &Connection,
    text: &str,
    request: &Request<'_>,
) -> Result<bool, EngineFailure> {
    let failed = |error: rusqlite::Error| meaning(&error, CommitStage::Committing);
    let mut statement = connection.prepare_cached(text).map_err(failed)?;
    let (key, first) = match request.kind {
        Kind::Update => (request.values.len() + 1, 1),
        _ => (1, 2),
    };
    for (place, (_, value)) in (first..).zip(request.values.iter()) {
        bind_bytes(&mut statement, place, value).map_err(failed)?;
    }
    bind_bytes(&mut statement, key, request.key).map_err(failed)?;
    Ok(statement.raw_execute().map_err(failed)? > 0)
}

/// Executes a logical query.
fn send(
    connection: &Connection,
    requested: &SqlQuery,
    parameters: Parameters<'_>,
    stage: CommitStage,
    output: &mut Output<'_>,
) -> Result<bool, EngineFailure> {
    let failed = |error: rusqlite::Error| meaning(&error, stage);
    let mut statement = connection.prepare_cached(&requested.text).map_err(failed)?;
    let given: Vec<Datum<'_>> = parameters.iter().collect();
    if given.len() != requested.arguments.len() {
        return Err(EngineFailure::refused(Reason::Malformed));
    }
    let uses = requested.kinds.iter().zip(&requested.compares);
    for (place, (argument, (kind, compares))) in (1..).zip(requested.arguments.iter().zip(uses)) {
        let datum = given.get(usize::from(*argument));
        let datum = datum.ok_or_else(|| EngineFailure::refused(Reason::Malformed))?;
        let value = match compares {
            true => value::compared(*datum, *kind)?,
            false => value::bound(*datum, *kind)?,
        };
        statement.raw_bind_parameter(place, value).map_err(failed)?;
    }
    if writes(requested) {
        return Ok(statement.raw_execute().map_err(failed)? > 0);
    }
    let mut rows = statement.raw_query();
    let mut found = false;
    while let Some(row) = rows.next().map_err(failed)? {
        found = true;
        take_row(row, &requested.output, output, stage)?;
    }
    Ok(found)
}

fn take_row(
    row: &rusqlite::Row<'_>,
    columns: &[ColumnType],
    output: &mut Output<'_>,
    stage: CommitStage,
) -> Result<(), EngineFailure> {
    encode_row(columns.len() as u16, output.rows);
    for (place, kind) in columns.iter().enumerate() {
        let value = row.get_ref(place).map_err(|error| meaning(&error, stage))?;
        let datum: Option<Datum<'_>> = value::found(value, *kind);
        let datum = datum.ok_or_else(|| EngineFailure::refused(Reason::WrongType))?;
        output.scratch.clear();
        datum.encode(output.scratch);
        encode_field(b"", output.scratch, output.rows);
    }
    Ok(())
}
