//! One request for a record, carried out over connections to the nodes.

pub(super) mod batch;

use std::rc::Rc;
use std::sync::Arc;

use assay_driver_kit::task::{
    Completion, ConnectionState, Context, JobCompletion, Library, Lost, RecordJob,
};
use assay_model::{Kind, Reason};
use assay_store::{OpenError, Request, Values};

use super::cache::SQL_TABLE;
use super::cluster::{Cluster, put_type};
use super::failure::{Stage, ending};
use super::object::{self, Draft, Object};
use super::open::{Open, put_cache};
use super::options::Insert;
use super::plan::{Plan, Table};
use super::socket::{Socket, Trouble};
use super::wire::{Reader, Value, code, operation, put_i32, put_i64, put_text};

/// How often an update is tried whose record changed between its read and its write.
pub(super) const ATTEMPTS: u32 = 8;
/// The most records that a page of a scan has.
const LONGEST_PAGE: u32 = 4096;
/// The kind of statement that only reads, for the node to check.
const SELECT: u8 = 1;

/// An Ignite cluster to a worker.
pub(super) struct Links {
    pub(super) cluster: Rc<Cluster>,
    pub(super) plan: Arc<Plan>,
}

/// A connection to each node, over which one operation goes at a time.
pub(super) struct Link {
    pub(super) sockets: Vec<Socket>,
    /// The transaction that is open on it.
    pub(super) open: Option<Open>,
}

impl Library for Links {
    type Connection = Link;
    type Job = RecordJob;

    async fn connect(&self) -> Result<Link, OpenError> {
        let sockets = self.cluster.connect().await;
        let link = |sockets| Link { sockets, open: None };
        sockets.map(link).map_err(|unavailable| unavailable.explain(&self.cluster.options))
    }

    async fn perform(
        &self,
        link: &mut Link,
        job: &mut RecordJob,
        rows: &mut Vec<u8>,
    ) -> JobCompletion {
        self.cluster.options.keys.spell(job);
        let mut turn = Turn { links: self, link, stage: Stage::Read, requests: 0 };
        let performed = match job.batch.is_empty() {
            true => turn.perform(&job.request.request(), job.context, rows).await,
            false => turn.perform_batch(job, rows).await,
        };
        let ending = match performed {
            Ok(found) => Completion::Done { found },
            Err(fault) => fault.ending(turn.stage.within(job.context)),
        };
        let is_done = matches!(ending, Completion::Done { .. });
        if !is_done {
            rows.clear();
        }
        let requests = turn.requests.max(1);
        let after = match (link.sockets.is_empty(), &link.open) {
            (true, _) => ConnectionState::Lost,
            (false, None) => ConnectionState::Free,
            (false, Some(_)) if is_done => ConnectionState::Held,
            (false, Some(_)) => ConnectionState::Undo,
        };
        JobCompletion { ending, after, requests, node: 0, version: 0 }
    }

    async fn undo(&self, link: &mut Link) -> Result<(), Lost> {
        Turn { links: self, link, stage: Stage::Read, requests: 0 }.undo().await
    }

    async fn lost(&self, link: &mut Link) {
        while !link.sockets.is_empty() {
            let broken = std::future::poll_fn(|context| {
                let sockets = link.sockets.iter();
                let broken = |socket: &Socket| socket.poll_broken(context).is_ready();
                sockets
                    .map(broken)
                    .position(|is_broken| is_broken)
                    .map_or(std::task::Poll::Pending, std::task::Poll::Ready)
            });
            let place = broken.await;
            link.sockets.remove(place);
        }
    }
}

/// Why an operation did not come to a good end.
pub(super) enum Fault {
    /// It certainly did nothing, whatever its stage.
    Refused(Reason),
    /// What it means depends on the stage.
    Trouble(Trouble),
}

impl Fault {
    /// How an operation ends that it meets in `stage`.
    pub(super) fn ending(&self, stage: Stage) -> Completion {
        match self {
            Fault::Refused(reason) => Completion::Refused(*reason),
            Fault::Trouble(trouble) => ending(trouble, stage),
        }
    }
}

impl From<Trouble> for Fault {
    fn from(trouble: Trouble) -> Fault {
        Fault::Trouble(trouble)
    }
}

impl From<super::wire::Garbled> for Fault {
    fn from(garbled: super::wire::Garbled) -> Fault {
        Fault::Trouble(garbled.into())
    }
}

impl From<Reason> for Fault {
    fn from(reason: Reason) -> Fault {
        Fault::Refused(reason)
    }
}

/// One operation on its way.
pub(super) struct Turn<'a> {
    pub(super) links: &'a Links,
    pub(super) link: &'a mut Link,
    pub(super) stage: Stage,
    requests: u16,
}

impl Turn<'_> {
    /// Carries `request` out; tells whether the record was there.
    async fn perform(
        &mut self,
        request: &Request<'_>,
        context: Context,
        rows: &mut Vec<u8>,
    ) -> Result<bool, Fault> {
        if request.kind.ends_transaction() {
            return self.end(request.kind).await;
        }
        let plan = Arc::clone(&self.links.plan);
        let table = plan.tables.get(usize::from(request.table)).ok_or(Reason::Malformed)?;
        // Keys are texts, as in YCSB's binding.
        std::str::from_utf8(request.key).map_err(|_| Reason::Malformed)?;
        let key = request.key;
        if context == Context::Begins {
            self.begin(table, key).await?;
        }
        match request.kind {
            Kind::Read => self.read(table, request, rows).await,
            Kind::Scan if self.link.open.is_some() => self.scan_within(table, request, rows).await,
            Kind::Scan => self.scan(table, request, rows).await,
            Kind::Insert => self.insert(table, key, &request.values).await,
            Kind::Update => self.update(table, key, &request.values).await,
            Kind::Delete => self.delete(table, key).await,
            Kind::Commit | Kind::Rollback => Err(Reason::TransactionFailed.into()),
        }
    }

    async fn read(
        &mut self,
        table: &Table,
        request: &Request<'_>,
        rows: &mut Vec<u8>,
    ) -> Result<bool, Fault> {
        let Some(record) = self.get(table, request.key).await? else { return Ok(false) };
        let types = self.links.cluster.types.borrow();
        Object::parse(&record)?.encode(request.fields, &table.fields, &types, rows)?;
        Ok(true)
    }

    /// A record as it lies there, of a type that is known.
    async fn get(&mut self, table: &Table, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        let reported = self.send(table, key, operation::GET, |out| put_text(key, out)).await?;
        let record = match Reader::new(reported).value()? {
            Value::Null => return Ok(None),
            Value::Object(bytes) => bytes.to_vec(),
            _ => return Err(Reason::WrongType.into()),
        };
        self.meet(table, key, &record).await?;
        Ok(Some(record))
    }

    /// Makes sure that the type of `record` is known.
    pub(super) async fn meet(
        &mut self,
        table: &Table,
        key: &[u8],
        record: &[u8],
    ) -> Result<(), Fault> {
        let object = Object::parse(record)?;
        let cluster = Rc::clone(&self.links.cluster);
        if object.is_strange_to(&cluster.types.borrow()) {
            let place = self.place(table, key).await?;
            self.requests += 1;
            let learned = cluster.learn_type(&mut self.link.sockets[place], object.of_type).await;
            self.keep(place, learned)?;
        }
        Ok(())
    }

    async fn insert(
        &mut self,
        table: &Table,
        key: &[u8],
        values: &Values<'_>,
    ) -> Result<bool, Fault> {
        let options = &self.links.cluster.options;
        let mut draft = Draft::empty(table.of_type, &table.numbers);
        draft.set(values, options.content, &table.numbers)?;
        let operation = match options.insert {
            Insert::Put => operation::PUT,
            Insert::PutIfAbsent => operation::PUT_IF_ABSENT,
        };
        self.stage = Stage::Write;
        let write = |out: &mut Vec<u8>| {
            put_text(key, out);
            draft.write(out);
        };
        let reported = self.send(table, key, operation, write).await?;
        if operation == operation::PUT || Reader::new(reported).truth()? {
            self.remember(table, key);
            return Ok(true);
        }
        Err(Reason::Exists.into())
    }

    /// Reads the record, changes it, and writes it if it is still the same, which within most
    /// transactions the cluster sees to.
    async fn update(
        &mut self,
        table: &Table,
        key: &[u8],
        values: &Values<'_>,
    ) -> Result<bool, Fault> {
        if values.is_empty() {
            return Err(Reason::Malformed.into());
        }
        let content = self.links.cluster.options.content;
        let keeps = self.keeps_what_it_reads();
        let operation = if keeps { operation::PUT } else { operation::REPLACE_IF_EQUALS };
        // What cannot be encoded is refused before anything is sent.
        Draft::empty(table.of_type, &table.numbers).set(values, content, &table.numbers)?;
        for _ in 0..ATTEMPTS {
            self.stage = Stage::BeforeWrite;
            let Some(record) = self.get(table, key).await? else { return Ok(false) };
            let mut draft = Object::parse(&record)?.draft(&self.links.cluster.types.borrow())?;
            draft.set(values, content, &table.numbers)?;
            self.introduce(table, key, &draft).await?;
            self.stage = Stage::Write;
            let write = |out: &mut Vec<u8>| {
                put_text(key, out);
                if !keeps {
                    out.extend_from_slice(&record);
                }
                draft.write(out);
            };
            let reported = self.send(table, key, operation, write).await?;
            if keeps || Reader::new(reported).truth()? {
                return Ok(true);
            }
        }
        Err(Reason::Conflict.into())
    }

    /// Tells the cluster of the draft's schema, if it is a new one.
    async fn introduce(
        &mut self,
        table: &Table,
        key: &[u8],
        draft: &Draft<'_>,
    ) -> Result<(), Fault> {
        let (of_type, numbers) = (draft.of_type, draft.numbers());
        let schema = object::schema_number(&numbers);
        let cluster = Rc::clone(&self.links.cluster);
        let name = {
            let types = cluster.types.borrow();
            if types.knows(of_type, schema) || !draft.is_compact {
                return Ok(());
            }
            types.name_of_type(of_type).unwrap_or_default().to_owned()
        };
        let content = cluster.options.content;
        self.query_node(table, key, operation::PUT_TYPE, |out| {
            put_type(of_type, &name, &table.fields, &numbers, content, out);
        })
        .await?;
        let mut types = cluster.types.borrow_mut();
        types.add_schema(of_type, schema, &numbers);
        table.fields.iter().for_each(|name| types.add_name(of_type, name));
        Ok(())
    }

    async fn delete(&mut self, table: &Table, key: &[u8]) -> Result<bool, Fault> {
        self.stage = Stage::Write;
        let reported =
            self.send(table, key, operation::REMOVE_KEY, |out| put_text(key, out)).await?;
        Ok(Reader::new(reported).truth()?)
    }

    /// Selects in SQL the records from a key on, in the order of the keys.
    async fn scan(
        &mut self,
        table: &Table,
        request: &Request<'_>,
        rows: &mut Vec<u8>,
    ) -> Result<bool, Fault> {
        let cluster = Rc::clone(&self.links.cluster);
        if !cluster.options.has_index {
            return Err(Reason::Unsupported.into());
        }
        let key = request.key;
        let records = self.query(table, Column::Record, "_KEY >= ?", key, request.limit).await?;
        for record in &records {
            self.meet(table, key, record).await?;
            let types = cluster.types.borrow();
            Object::parse(record)?.encode(request.fields, &table.fields, &types, rows)?;
        }
        Ok(!records.is_empty())
    }

    /// Selects in SQL a column of the records that meet `condition` on `key`, in the order of the
    /// keys. It is part of no transaction: it reads committed records.
    pub(super) async fn query(
        &mut self,
        table: &Table,
        column: Column,
        condition: &str,
        key: &[u8],
        limit: u32,
    ) -> Result<Vec<Vec<u8>>, Fault> {
        let text = format!(
            "SELECT {} FROM {SQL_TABLE} WHERE {condition} ORDER BY _KEY LIMIT {limit}",
            column.name()
        );
        let fill = |out: &mut Vec<u8>| {
            put_cache(table.number, None, out);
            put_query(&text, key, limit, out);
        };
        let mut reported = Reader::new(self.query_node(table, key, operation::SQL, fill).await?);
        let cursor = reported.i64()?;
        let _columns = reported.i32()?;
        let (mut values, mut has_more) = page(reported, column)?;
        while has_more {
            let next = |out: &mut Vec<u8>| put_i64(cursor, out);
            let reported = self.query_node(table, key, operation::SQL_NEXT_PAGE, next).await?;
            let (more, goes_on) = page(Reader::new(reported), column)?;
            values.extend(more);
            has_more = goes_on;
        }
        Ok(values)
    }

    /// Sends the owner of `key` a request on the table's cache, within the open transaction.
    pub(super) async fn send(
        &mut self,
        table: &Table,
        key: &[u8],
        operation: i16,
        fill: impl FnOnce(&mut Vec<u8>),
    ) -> Result<&[u8], Fault> {
        let open = self.link.open.as_ref().map(|open| open.number);
        self.query_node(table, key, operation, |out| {
            put_cache(table.number, open, out);
            fill(out);
        })
        .await
    }

    /// Sends the owner of `key` a request.
    async fn query_node(
        &mut self,
        table: &Table,
        key: &[u8],
        operation: i16,
        fill: impl FnOnce(&mut Vec<u8>),
    ) -> Result<&[u8], Fault> {
        let place = self.place(table, key).await?;
        self.send_at(place, operation, fill).await
    }

    /// Sends a request over the connection at `place`, which is dropped if it breaks.
    pub(super) async fn send_at(
        &mut self,
        place: usize,
        operation: i16,
        fill: impl FnOnce(&mut Vec<u8>),
    ) -> Result<&[u8], Fault> {
        self.requests += 1;
        let requested = self.link.sockets[place].send(operation, fill).await.map(|_| ());
        self.keep(place, requested)?;
        Ok(self.link.sockets[place].answer())
    }

    /// Goes on with a request over a connection, which is dropped if it broke.
    fn keep(&mut self, place: usize, requested: Result<(), Trouble>) -> Result<(), Fault> {
        if let Err(Trouble::Lost | Trouble::Garbled | Trouble::Unreachable) = requested {
            let lost = self.link.sockets.swap_remove(place);
            // Its node undoes what was open on it.
            self.link.open.take_if(|open| open.node == lost.node);
        } else {
            self.links.cluster.notice(self.link.sockets[place].topology);
        }
        Ok(requested?)
    }

    /// The connection that a transaction is open on; else that to the owner of `key`, or to any
    /// node where that is not known or is gone.
    pub(super) async fn place(&mut self, table: &Table, key: &[u8]) -> Result<usize, Trouble> {
        if let Some(open) = &self.link.open {
            return open.place(&self.link.sockets).ok_or(Trouble::Unreachable);
        }
        let cluster = &self.links.cluster;
        let sockets = &mut self.link.sockets;
        if let Some(owner) = cluster.owner(table.number, key) {
            if let Some(place) = sockets.iter().position(|socket| socket.node == owner) {
                return Ok(place);
            }
            if let Some(node) = cluster.node(owner)
                && let Ok(socket) = cluster.dial(&node, cluster.timeout()).await
            {
                sockets.push(socket);
                return Ok(sockets.len() - 1);
            }
        }
        if sockets.is_empty() {
            sockets.extend(cluster.connect().await.map_err(|_| Trouble::Unreachable)?);
        }
        Ok(0)
    }
}

/// Appends a query that `key` is the argument of.
fn put_query(text: &str, key: &[u8], limit: u32, out: &mut Vec<u8>) {
    // The schema is that of the cache.
    out.push(code::NULL);
    put_i32(limit.clamp(1, LONGEST_PAGE) as i32, out);
    // As many rows as the query says.
    put_i32(-1, out);
    put_text(text.as_bytes(), out);
    put_i32(1, out);
    put_text(key, out);
    out.push(SELECT);
    // Neither joins over nodes, nor this node alone, nor replicated tables alone, nor a fixed order
    // of joins, nor grouped data; but lazily, so that no node collects what is beyond the limit.
    out.extend([0, 0, 0, 0, 0, 1]);
    // No limit of time, and no names of columns.
    put_i64(0, out);
    out.push(0);
}

/// The fields that a query reads of each record.
#[derive(Clone, Copy)]
pub(super) enum Column {
    /// Its key.
    Key,
    /// The record.
    Record,
}

impl Column {
    fn name(self) -> &'static str {
        match self {
            Column::Key => "_KEY",
            Column::Record => "_VAL",
        }
    }
}

/// What a page of an answer has of each record, and whether another page follows.
fn page(mut reported: Reader<'_>, column: Column) -> Result<(Vec<Vec<u8>>, bool), Fault> {
    let mut values = Vec::new();
    for _ in 0..reported.length()? {
        match (column, reported.value()?) {
            (Column::Key, Value::Text(value)) | (Column::Record, Value::Object(value)) => {
                values.push(value.to_vec());
            }
            _ => return Err(Reason::WrongType.into()),
        }
    }
    Ok((values, reported.truth()?))
}
