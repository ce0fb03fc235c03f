//! One worker's session with its prepared statements, over which many requests go at once.

pub(super) mod batch;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use assay_driver_kit::StoreErrors;
use assay_driver_kit::task::{
    Completion, ConnectionState, JobCompletion, Library, Lost, RecordJob,
};
use assay_model::{Fields, Kind, Reason};
use assay_store::answer::{encode_field, encode_row};
use assay_store::{OpenError, Request};
use scylla::client::session::Session;
use scylla::deserialize::row::ColumnIterator;
use scylla::errors::SerializationError;
use scylla::response::query_result::QueryResult;
use scylla::response::{PagingState, PagingStateResponse};
use scylla::serialize::row::{RowSerializationContext, SerializeRow};
use scylla::serialize::writers::RowWriter;
use scylla::statement::Statement;
use scylla::statement::prepared::PreparedStatement;
use tokio::sync::Mutex;

use super::connector::{Connector, is_alive};
use super::failure::{GARBLED, MALFORMED, RequestKind, failure, of_prepare};
use super::options::Content;
use super::texts::{Shape, TableTexts};

/// The longest key of a partition that a server takes.
const KEY_LENGTH_MAX: usize = 65_535;
/// Records in one answer to a scan; more come in further requests. YCSB's library has it too.
const PAGE_RECORDS: i32 = 5000;
/// The pause after a session could not be made anew, which all that wait for one share.
const PAUSE: Duration = Duration::from_millis(250);

/// The tables that were prepared, by number.
#[derive(Clone, Default)]
pub(super) struct Plan {
    pub(super) tables: Vec<Arc<TableTexts>>,
}

/// The library, as a pool of handles on one session needs it.
pub(super) struct Cassandra {
    connector: Arc<Connector>,
    plan: Arc<Plan>,
    current: RefCell<Option<Rc<Conversation>>>,
    /// Held by the one that makes a session; the others wait for what it has made.
    dialing: Mutex<()>,
    has_had_one: Cell<bool>,
    /// The numbers of the nodes that have answered, by the address of the connection.
    numbers: RefCell<HashMap<SocketAddr, u8>>,
}

/// What a request took.
#[derive(Default)]
pub(super) struct Effort {
    /// How many requests were sent for it.
    pub(super) requests: u16,
    /// The number of the node that answered the last of them; 0 before it has.
    pub(super) node: u8,
}

/// A session with its statements.
pub(super) struct Conversation {
    session: Session,
    statements: RefCell<HashMap<(u16, Shape), Rc<PreparedStatement>>>,
}

impl Cassandra {
    pub(super) fn new(connector: Arc<Connector>, plan: Arc<Plan>) -> Cassandra {
        Cassandra {
            connector,
            plan,
            current: RefCell::new(None),
            dialing: Mutex::new(()),
            has_had_one: Cell::new(false),
            numbers: RefCell::default(),
        }
    }

    /// A session with every usual statement prepared.
    async fn converse(&self) -> Result<Rc<Conversation>, OpenError> {
        let session = self.connector.dial().await?;
        let conversation = Rc::new(Conversation { session, statements: RefCell::default() });
        let timeout = self.connector.options.connect_timeout;
        let prepared = tokio::time::timeout(timeout, self.prepare(&conversation)).await;
        let slow = || {
            let millis = timeout.as_millis();
            let reason = format!("a node did not prepare its statements within {millis} ms");
            self.connector.options.unreachable(reason)
        };
        prepared.unwrap_or_else(|_| Err(slow()))?;
        Ok(conversation)
    }

    async fn prepare(&self, conversation: &Conversation) -> Result<(), OpenError> {
        for (table, texts) in (0..).zip(&self.plan.tables) {
            for shape in texts.usual_shapes() {
                let text = texts.text(&shape);
                let prepared = self.prepared(&conversation.session, texts, &shape).await;
                let prepared =
                    prepared.map_err(|error| self.connector.failed(&text, &error.into()))?;
                conversation.statements.borrow_mut().insert((table, shape), prepared);
            }
        }
        Ok(())
    }

    async fn prepared(
        &self,
        session: &Session,
        texts: &TableTexts,
        shape: &Shape,
    ) -> Result<Rc<PreparedStatement>, scylla::errors::PrepareError> {
        let options = &self.connector.options;
        let mut prepared = session.prepare(Statement::new(texts.text(shape))).await?;
        let is_look = matches!(shape, Shape::Read(_) | Shape::Scan(_));
        prepared.set_consistency(if is_look { options.read } else { options.write });
        prepared.set_serial_consistency(Some(options.serial));
        prepared.set_is_idempotent(false);
        prepared.set_page_size(PAGE_RECORDS);
        // The columns are named, so an answer need not say again what they are.
        prepared.set_use_cached_result_metadata(is_look);
        Ok(Rc::new(prepared))
    }

    /// Notes which node has answered.
    pub(super) fn note(&self, result: &QueryResult, effort: &mut Effort) {
        let coordinator = result.request_coordinator();
        let name = || coordinator.node().address.to_string();
        let number = || self.connector.nodes.number(&name());
        let mut numbers = self.numbers.borrow_mut();
        effort.node = *numbers.entry(coordinator.connection_address()).or_insert_with(number);
    }

    /// The statement, prepared now if it was not used before.
    async fn statement(
        &self,
        conversation: &Conversation,
        table: u16,
        shape: Shape,
        effort: &mut Effort,
    ) -> Result<Rc<PreparedStatement>, Completion> {
        let key = (table, shape);
        if let Some(known) = conversation.statements.borrow().get(&key) {
            return Ok(known.clone());
        }
        effort.requests += 1;
        let texts = &self.plan.tables[usize::from(table)];
        let prepared = self.prepared(&conversation.session, texts, &key.1).await;
        let prepared = prepared.map_err(|error| of_prepare(&error))?;
        conversation.statements.borrow_mut().insert(key, prepared.clone());
        Ok(prepared)
    }

    /// Executes, puts records into `rows`, tells whether the record was there.
    async fn send(
        &self,
        conversation: &Conversation,
        request: &Request<'_>,
        rows: &mut Vec<u8>,
        effort: &mut Effort,
    ) -> Result<bool, Completion> {
        let texts = self.plan.tables.get(usize::from(request.table)).ok_or(MALFORMED)?;
        let shape = texts.shape(request).ok_or(MALFORMED)?;
        check(request, texts.content())?;
        let requested = match request.kind {
            Kind::Read | Kind::Scan => RequestKind::Look,
            _ if texts.is_conditional(&shape) => RequestKind::Condition,
            _ => RequestKind::Write,
        };
        let statement = self.statement(conversation, request.table, shape, effort).await?;
        let session = &conversation.session;
        if request.kind == Kind::Scan {
            return self.scan(session, &statement, request, texts, rows, effort).await;
        }
        effort.requests += 1;
        let answered = session.execute_unpaged(&statement, Arguments(request)).await;
        let result = answered.map_err(|error| failure(&error, requested))?;
        self.note(&result, effort);
        match requested {
            RequestKind::Look => keep_records(result, texts, request.fields, rows),
            RequestKind::Write | RequestKind::Unlogged | RequestKind::Logged => Ok(true),
            RequestKind::Condition => match (is_applied(result)?, request.kind) {
                (false, Kind::Insert) => Err(Completion::Refused(Reason::Exists)),
                (is_applied, _) => Ok(is_applied),
            },
        }
    }

    /// Scans page by page.
    async fn scan(
        &self,
        session: &Session,
        statement: &PreparedStatement,
        request: &Request<'_>,
        texts: &TableTexts,
        rows: &mut Vec<u8>,
        effort: &mut Effort,
    ) -> Result<bool, Completion> {
        let mut state = PagingState::start();
        let mut is_found = false;
        loop {
            effort.requests = effort.requests.saturating_add(1);
            let answered = session.execute_single_page(statement, Arguments(request), state).await;
            let (result, next) = answered.map_err(|error| failure(&error, RequestKind::Look))?;
            self.note(&result, effort);
            is_found |= keep_records(result, texts, request.fields, rows)?;
            match next {
                PagingStateResponse::HasMorePages { state: next } => state = next,
                PagingStateResponse::NoMorePages => return Ok(is_found),
            }
        }
    }
}

impl Library for Cassandra {
    type Connection = Rc<Conversation>;
    type Job = RecordJob;

    /// A handle on the worker's session, which is made anew if it reaches no node.
    async fn connect(&self) -> Result<Rc<Conversation>, OpenError> {
        let _turn = self.dialing.lock().await;
        let known = self.current.borrow().clone();
        if let Some(alive) = known.filter(|conversation| is_alive(&conversation.session)) {
            return Ok(alive);
        }
        // What it still tried to do by itself ends with it.
        self.current.replace(None);
        match self.converse().await {
            Ok(made) => {
                self.current.replace(Some(made.clone()));
                self.has_had_one.set(true);
                Ok(made)
            }
            Err(error) => {
                if self.has_had_one.get() {
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error)
            }
        }
    }

    async fn perform(
        &self,
        connection: &mut Rc<Conversation>,
        job: &mut RecordJob,
        rows: &mut Vec<u8>,
    ) -> JobCompletion {
        let mut effort = Effort::default();
        let ended = match job.batch.is_empty() {
            true => self.send(connection, &job.request.request(), rows, &mut effort).await,
            false => self.send_batch(connection, job, &mut effort).await,
        };
        let (ending, after) = match ended {
            Ok(found) => (Completion::Done { found }, ConnectionState::Free),
            Err(ending) => {
                let is_about_connection = matches!(
                    ending,
                    Completion::Refused(Reason::Unreachable)
                        | Completion::Unknown(Reason::ConnectionLost | Reason::Garbled)
                );
                let is_lost = is_about_connection && !is_alive(&connection.session);
                (ending, if is_lost { ConnectionState::Lost } else { ConnectionState::Free })
            }
        };
        JobCompletion {
            ending,
            after,
            requests: effort.requests.max(1),
            node: effort.node,
            version: 0,
        }
    }

    async fn undo(&self, _connection: &mut Rc<Conversation>) -> Result<(), Lost> {
        Ok(())
    }
}

/// Refuses what a server would, before it is sent: a text that is none, a key that is too long.
fn check(request: &Request<'_>, content: Content) -> Result<(), Completion> {
    let mut is_right = !request.key.is_empty() && request.key.len() <= KEY_LENGTH_MAX;
    if content == Content::Text {
        let is_text = |bytes: &[u8]| str::from_utf8(bytes).is_ok();
        is_right &= is_text(request.key);
        is_right &= request.values.iter().all(|(_, value)| is_text(value));
    }
    if is_right { Ok(()) } else { Err(MALFORMED) }
}

/// A request's arguments in the order of its statement's places.
struct Arguments<'a>(&'a Request<'a>);

impl SerializeRow for Arguments<'_> {
    fn serialize(
        &self,
        _context: &RowSerializationContext<'_>,
        writer: &mut RowWriter<'_>,
    ) -> Result<(), SerializationError> {
        let Arguments(request) = self;
        let mut put = |bytes: &[u8]| match writer.make_cell_writer().set_value(bytes) {
            Ok(_) => Ok(()),
            Err(error) => Err(SerializationError::new(error)),
        };
        if request.kind != Kind::Update {
            put(request.key)?;
        }
        for (_, value) in request.values.iter() {
            put(value)?;
        }
        if request.kind == Kind::Update {
            put(request.key)?;
        }
        if request.kind == Kind::Scan {
            let limit = i32::try_from(request.limit).unwrap_or(i32::MAX);
            put(&limit.to_be_bytes())?;
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        false
    }
}

/// Appends the records of an answer; tells whether there is one. A field without a value is not
/// there.
fn keep_records(
    result: QueryResult,
    texts: &TableTexts,
    fields: Fields,
    rows: &mut Vec<u8>,
) -> Result<bool, Completion> {
    let names = texts.names(fields).ok_or(MALFORMED)?;
    let result = result.into_rows_result().map_err(|_| GARBLED)?;
    for columns in result.rows::<ColumnIterator<'_, '_>>().map_err(|_| GARBLED)? {
        let begin = rows.len();
        encode_row(0, rows);
        let mut count = 0u16;
        for (name, column) in names.iter().zip(columns.map_err(|_| GARBLED)?) {
            if let Some(value) = column.map_err(|_| GARBLED)?.slice {
                encode_field(name.as_bytes(), value.as_slice(), rows);
                count += 1;
            }
        }
        rows[begin..begin + 2].copy_from_slice(&count.to_le_bytes());
    }
    Ok(result.rows_num() > 0)
}

/// Whether the condition held: the first column of the only row, a boolean.
fn is_applied(result: QueryResult) -> Result<bool, Completion> {
    let result = result.into_rows_result().map_err(|_| GARBLED)?;
    let mut rows = result.rows::<ColumnIterator<'_, '_>>().map_err(|_| GARBLED)?;
    let mut columns = rows.next().ok_or(GARBLED)?.map_err(|_| GARBLED)?;
    let first = columns.next().ok_or(GARBLED)?.map_err(|_| GARBLED)?;
    match first.slice.map(|slice| slice.as_slice()) {
        Some([truth]) => Ok(*truth != 0),
        _ => Err(GARBLED),
    }
}
