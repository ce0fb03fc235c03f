//! One request in flight at a time, over a connection that others share.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use assay_driver_kit::StoreErrors;
use assay_driver_kit::task::{self, JobCompletion, Library, Lost, RecordJob, SharedConnection};
use assay_model::{Kind, Reason};
use assay_store::{OpenError, Request, row};
use async_nats::jetstream::Context;
use async_nats::jetstream::message::{PublishMessage, StreamMessage};
use async_nats::jetstream::stream::Stream;
use bytes::Bytes;

use super::connector::{Connector, Line};
use super::failure::{Failure, before_sending, of_direct, of_leader, of_write};
use super::key;
use super::options::Source;

/// How often a change is tried in all when another write of the record comes in between.
const TRIES: u32 = 8;

/// A table's bucket.
pub(super) struct Bucket {
    pub(super) name: String,
    /// The names of the fields of its records.
    pub(super) fields: Vec<String>,
}

/// The library, as a pool of connections needs it.
pub(super) struct Nats {
    connector: Arc<Connector>,
    buckets: Arc<[Bucket]>,
    /// The connection that links share.
    session: SharedConnection<Rc<Session>, OpenError>,
}

/// One TCP connection.
pub(super) struct Session {
    line: Line,
    context: Context,
    streams: Vec<Stream<()>>,
    /// Whether a link over it was lost, so that new ones had better have another.
    is_suspect: Cell<bool>,
}

/// The right to have one request in flight over a session.
pub(super) struct Link {
    session: Rc<Session>,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.session.is_suspect.set(true);
    }
}

impl Session {
    fn is_gone(&self) -> bool {
        *self.line.is_gone.borrow()
    }
}

impl Nats {
    pub(super) fn new(connector: Arc<Connector>, buckets: Arc<[Bucket]>) -> Nats {
        Nats { connector, buckets, session: SharedConnection::default() }
    }

    async fn dial(&self) -> Result<Rc<Session>, OpenError> {
        let line = self.connector.dial().await?;
        let context = self.connector.context(&line.client);
        let mut streams = Vec::with_capacity(self.buckets.len());
        for bucket in self.buckets.iter() {
            let stream = context.get_stream_no_info(format!("KV_{}", bucket.name)).await;
            streams.push(stream.map_err(|error| {
                self.connector.options.failed(format!("bucket {}: {error}", bucket.name))
            })?);
        }
        Ok(Rc::new(Session { line, context, streams, is_suspect: Cell::new(false) }))
    }
}

impl Library for Nats {
    type Connection = Link;
    type Job = RecordJob;

    /// A share of the connection. The first request makes it, the others wait, and fail with it.
    async fn connect(&self) -> Result<Link, OpenError> {
        let is_usable = |session: &Rc<Session>| !session.is_gone() && !session.is_suspect.get();
        let session = self.session.reach(is_usable, self.dial()).await?;
        Ok(Link { session })
    }

    async fn perform(
        &self,
        link: &mut Link,
        job: &mut RecordJob,
        rows: &mut Vec<u8>,
    ) -> JobCompletion {
        let request = job.request.request();
        let mut talk = match self.talk(&link.session, &request) {
            Ok(talk) => talk,
            Err(failure) => return completion(Err(failure), 0, 0),
        };
        let ended = match request.kind {
            Kind::Read => talk.read(&request, rows).await,
            Kind::Insert => talk.insert(&request).await,
            Kind::Update => talk.update(&request).await,
            Kind::Delete => talk.delete().await,
            Kind::Scan | Kind::Commit | Kind::Rollback => {
                Err(Failure::refused(Reason::Unsupported))
            }
        };
        completion(ended, talk.requests, talk.revision)
    }

    async fn undo(&self, _link: &mut Link) -> Result<(), Lost> {
        Ok(())
    }

    async fn lost(&self, link: &mut Link) {
        let mut is_gone = link.session.line.is_gone.clone();
        // An error means that the library has let go of the connection.
        let _ = is_gone.wait_for(|is_gone| *is_gone).await;
    }
}

fn completion(ended: Result<bool, Failure>, requests: u16, version: u64) -> JobCompletion {
    let completion = task::completion(ended, task::Context::Alone);
    JobCompletion { requests: requests.max(1), version, ..completion }
}

/// The state of one record, with everything that a request needs.
struct RequestContext<'a> {
    session: &'a Session,
    stream: &'a Stream<()>,
    fields: &'a [String],
    subject: String,
    source: Source,
    requests: u16,
    /// The place in the stream of the record that was read or written; 0 without one.
    revision: u64,
}

/// A record as it is kept.
struct Kept {
    row: Bytes,
    /// Its place in the stream, which a change may insist on.
    revision: u64,
}

impl Nats {
    fn talk<'a>(
        &'a self,
        session: &'a Session,
        request: &Request<'_>,
    ) -> Result<RequestContext<'a>, Failure> {
        if session.is_gone() {
            return Err(Failure::UNREACHABLE);
        }
        let table = usize::from(request.table);
        let known = self.buckets.get(table).zip(session.streams.get(table));
        let (bucket, stream) = known.ok_or(Failure::refused(Reason::Malformed))?;
        let mut subject = format!("$KV.{}.", bucket.name);
        if !key::append(request.key, &mut subject) {
            return Err(Failure::refused(Reason::Malformed));
        }
        let source = self.connector.options.read;
        Ok(RequestContext {
            session,
            stream,
            fields: &bucket.fields,
            subject,
            source,
            requests: 0,
            revision: 0,
        })
    }
}

impl RequestContext<'_> {
    async fn read(&mut self, request: &Request<'_>, rows: &mut Vec<u8>) -> Result<bool, Failure> {
        let Some(kept) = self.look(self.source).await? else { return Ok(false) };
        self.revision = kept.revision;
        let copied = row::copy(&kept.row, request.fields, self.fields, rows);
        copied.map(|()| true).map_err(Failure::refused)
    }

    async fn insert(&mut self, request: &Request<'_>) -> Result<bool, Failure> {
        let mut made = Vec::new();
        row::make(&request.values, self.fields, &mut made).map_err(Failure::refused)?;
        self.publish(PublishMessage::build().payload(made.into())).await.map(|()| true)
    }

    async fn update(&mut self, request: &Request<'_>) -> Result<bool, Failure> {
        let fields = self.fields;
        self.change(|row| {
            let mut merged = Vec::with_capacity(row.len());
            row::merge(row, &request.values, fields, &mut merged)?;
            Ok(PublishMessage::build().payload(merged.into()))
        })
        .await
    }

    async fn delete(&mut self) -> Result<bool, Failure> {
        self.change(|_| Ok(PublishMessage::build().header("KV-Operation", "DEL"))).await
    }

    /// Puts what `make` makes of a record in its place, unless another was quicker; then again.
    /// Tells whether the record was there, on the leader's word if not.
    async fn change(
        &mut self,
        make: impl Fn(&[u8]) -> Result<PublishMessage, Reason>,
    ) -> Result<bool, Failure> {
        let mut source = self.source;
        for _ in 0..TRIES {
            let mut kept = self.look(source).await.map_err(Failure::before_a_change)?;
            if kept.is_none() && source == Source::Direct {
                kept = self.look(Source::Leader).await.map_err(Failure::before_a_change)?;
            }
            let Some(kept) = kept else { return Ok(false) };
            let message = make(&kept.row).map_err(Failure::refused)?;
            match self.publish(message.expected_last_subject_sequence(kept.revision)).await {
                Ok(()) => return Ok(true),
                // A replica may lag behind for longer than all tries take.
                Err(failure) if failure.is_conflict() => source = Source::Leader,
                Err(failure) => return Err(failure),
            }
        }
        Err(Failure::refused(Reason::Conflict))
    }

    /// The record, if there is one.
    async fn look(&mut self, source: Source) -> Result<Option<Kept>, Failure> {
        self.requests += 1;
        let awaited = self.session.line.await_answer();
        let found = match source {
            Source::Direct => {
                let found = self.stream.direct_get_last_for_subject(&*self.subject).await;
                found.map_err(|error| of_direct(&error, self.session.is_gone()))
            }
            Source::Leader => {
                let found = self.stream.get_last_raw_message_by_subject(&self.subject).await;
                found.map_err(|error| of_leader(&error, self.session.is_gone()))
            }
        };
        awaited.came(found.as_ref().map_or(0, |message| message.payload.len()));
        match found {
            Ok(message) if is_marker(&message) => Ok(None),
            Ok(message) => Ok(Some(Kept { row: message.payload, revision: message.sequence })),
            Err(None) => Ok(None),
            Err(Some(failure)) => Err(failure),
        }
    }

    async fn publish(&mut self, message: PublishMessage) -> Result<(), Failure> {
        self.requests += 1;
        let sent = self.session.context.send_publish(self.subject.clone(), message).await;
        let acknowledged = sent.map_err(|error| before_sending(&error))?;
        let awaited = self.session.line.await_answer();
        let acknowledged = acknowledged.await;
        awaited.came(0);
        self.revision = acknowledged.map_err(|error| of_write(&error))?.sequence;
        Ok(())
    }
}

/// Whether a message says that its record was removed, by a client or by the server.
fn is_marker(message: &StreamMessage) -> bool {
    let operation = message.headers.get("KV-Operation").map(|value| value.as_str());
    matches!(operation, Some("DEL" | "PURGE"))
        || message.headers.get("Nats-Marker-Reason").is_some()
}
