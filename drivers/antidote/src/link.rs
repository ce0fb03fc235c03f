//! Requests for records as requests to AntidoteDB: one each, or several in a transaction.

use std::cell::RefCell;
use std::sync::Arc;

use assay_driver_kit::task::{
    Completion, ConnectionState, Context, JobCompletion, Library, Lost, RecordJob,
};
use assay_model::{Kind, Reason};
use assay_store::{OpenError, Request, number_of};

use super::clocks::Clocks;
use super::connector::dial;
use super::failure::{Doing, Failure, denied, failure, refused};
use super::messages::{
    AbortTransaction, BoundObject, CommitResponse, CommitTransaction, ObjectUpdate, ObjectValue,
    Operation, Question, ReadObjects, ReadResponse, StartTransaction, StaticRead, StaticUpdate,
    UpdateObjects,
};
use super::options::{Options, SessionOrder, Writes};
use super::record::Records;
use super::socket::{Socket, Trouble};

/// The tables of a layout by number.
pub(super) type Plan = Vec<Records>;

/// A worker's AntidoteDB.
pub(super) struct Links {
    pub(super) options: Arc<Options>,
    pub(super) plan: Arc<Plan>,
    pub(super) clocks: RefCell<Clocks>,
    /// The number of the one host that the options name, if others were left out.
    pub(super) only: Option<u8>,
}

/// A connection with the transaction that is open on it.
pub(super) struct Link {
    socket: Socket,
    descriptor: Option<Vec<u8>>,
}

impl Library for Links {
    type Connection = Link;
    type Job = RecordJob;

    async fn connect(&self) -> Result<Link, OpenError> {
        self.connect_to(0).await
    }

    fn hosts(&self) -> usize {
        self.options.hosts()
    }

    fn node(&self, _link: &Link, host: usize) -> u8 {
        let several = if self.options.hosts() > 1 { number_of(host) } else { 0 };
        self.only.unwrap_or(several)
    }

    async fn connect_to(&self, host: usize) -> Result<Link, OpenError> {
        Ok(Link { socket: dial(&self.options, host).await?, descriptor: None })
    }

    async fn perform(
        &self,
        link: &mut Link,
        job: &mut RecordJob,
        rows: &mut Vec<u8>,
    ) -> JobCompletion {
        let (request, context) = (job.request.request(), job.context);
        let mut turn = Turn { links: self, link, session: request.session, requests: 0 };
        let ended = match request.kind {
            Kind::Commit => turn.commit().await,
            Kind::Rollback => turn.roll_back().await,
            _ => turn.carry_out(&request, context, rows).await,
        };
        let requests = match context {
            Context::Alone => turn.requests.max(1),
            Context::Begins | Context::Within => turn.requests,
        };
        let is_open = link.descriptor.is_some();
        match ended {
            Ok(found) => {
                let after = if is_open { ConnectionState::Held } else { ConnectionState::Free };
                let ending = Completion::Done { found };
                JobCompletion { requests, ..JobCompletion::new(ending, after) }
            }
            Err(Failure { ending, after }) => {
                rows.clear();
                let after = match after {
                    ConnectionState::Free if is_open => ConnectionState::Undo,
                    other => other,
                };
                JobCompletion { requests, ..JobCompletion::new(ending, after) }
            }
        }
    }

    async fn undo(&self, link: &mut Link) -> Result<(), Lost> {
        let Some(descriptor) = link.descriptor.take() else { return Ok(()) };
        match link.socket.send(&AbortTransaction { descriptor }).await {
            // A transaction that the server has ended already cannot be ended again.
            Ok(_) | Err(Trouble::Said(_)) => Ok(()),
            Err(Trouble::Lost(_) | Trouble::Garbled(_)) => Err(Lost),
        }
    }

    async fn lost(&self, link: &mut Link) {
        std::future::poll_fn(|context| link.socket.poll_broken(context)).await;
    }
}

/// One request for a record on its way.
struct Turn<'a> {
    links: &'a Links,
    link: &'a mut Link,
    session: u32,
    /// How many requests to AntidoteDB it took until now.
    requests: u16,
}

impl Turn<'_> {
    /// Tells whether the record was there.
    async fn carry_out(
        &mut self,
        request: &Request<'_>,
        context: Context,
        rows: &mut Vec<u8>,
    ) -> Result<bool, Failure> {
        let plan = Arc::clone(&self.links.plan);
        let records = plan.get(usize::from(request.table));
        let records = records.ok_or_else(|| refused(Reason::Malformed))?;
        let object = records.object(request.key);
        let values = &request.values;
        let operation = match request.kind {
            // One that names no field changes nothing.
            Kind::Update if values.is_empty() => {
                let found = self.read(object, context).await?;
                return records.is_there(&found).map_err(refused);
            }
            Kind::Update => records.update(values),
            Kind::Insert => records.insert(values),
            Kind::Delete => Ok(records.delete()),
            Kind::Read => {
                let found = self.read(object, context).await?;
                return records.hand_out(&found, request.fields, rows).map_err(refused);
            }
            Kind::Scan | Kind::Commit | Kind::Rollback => Err(Reason::Unsupported),
        };
        let operation = operation.map_err(refused)?;
        let is_checked = self.links.options.writes == Writes::Checked;
        if !is_checked || request.kind == Kind::Insert {
            return self.write(ObjectUpdate { object, operation }, context).await;
        }
        // The transaction of the session, or one of its own, in which it looks first.
        let found = self.read(object.clone(), Context::Within).await?;
        let is_there = records.is_there(&found).map_err(refused)?;
        if is_there {
            self.write(ObjectUpdate { object, operation }, Context::Within).await?;
        }
        if context == Context::Alone {
            self.commit().await?;
        }
        Ok(is_there)
    }

    /// The head of the session's next transaction.
    fn head(&self) -> StartTransaction {
        StartTransaction::after(self.links.clocks.borrow().of(self.session).cloned())
    }

    /// The session has seen what was there at the commit's clock.
    fn keep_clock(&self, commit: CommitResponse) {
        if let (SessionOrder::Clock, Some(clock)) = (self.links.options.session, commit.clock) {
            self.links.clocks.borrow_mut().set(self.session, clock);
        }
    }

    /// The transaction of the session, opened if it is not.
    async fn descriptor(&mut self) -> Result<Vec<u8>, Failure> {
        if let Some(descriptor) = &self.link.descriptor {
            return Ok(descriptor.clone());
        }
        let answer = self.send(&self.head(), Doing::Preparing).await?;
        let descriptor = answer.descriptor.filter(|_| answer.success);
        let descriptor = descriptor.ok_or_else(|| denied(answer.error, Doing::Preparing))?;
        self.link.descriptor = Some(descriptor.clone());
        Ok(descriptor)
    }

    async fn read(
        &mut self,
        object: BoundObject,
        context: Context,
    ) -> Result<ObjectValue, Failure> {
        if context != Context::Alone {
            let descriptor = self.descriptor().await?;
            let question = ReadObjects { objects: vec![object], descriptor };
            return only(self.send(&question, Doing::Reading).await?);
        }
        let question = StaticRead { transaction: self.head(), objects: vec![object] };
        let answer = self.send(&question, Doing::Reading).await?;
        let found = only(answer.read.unwrap_or_default())?;
        self.keep_clock(answer.commit.unwrap_or_default());
        Ok(found)
    }

    async fn write(&mut self, update: ObjectUpdate, context: Context) -> Result<bool, Failure> {
        let updates = vec![update];
        if context != Context::Alone {
            let descriptor = self.descriptor().await?;
            let question = UpdateObjects { updates, descriptor };
            let answer = self.send(&question, Doing::Preparing).await?;
            return match answer.success {
                true => Ok(true),
                false => Err(denied(answer.error, Doing::Preparing)),
            };
        }
        let question = StaticUpdate { transaction: self.head(), updates };
        let answer = self.send(&question, Doing::Committing).await?;
        self.committed(answer)
    }

    async fn commit(&mut self) -> Result<bool, Failure> {
        // Whatever becomes of it, it is over.
        let descriptor = self.link.descriptor.take();
        let descriptor = descriptor.ok_or_else(|| refused(Reason::TransactionFailed))?;
        let answer = self.send(&CommitTransaction { descriptor }, Doing::Committing).await?;
        self.committed(answer)
    }

    fn committed(&self, answer: CommitResponse) -> Result<bool, Failure> {
        if !answer.success {
            return Err(denied(answer.error, Doing::Committing));
        }
        self.keep_clock(answer);
        Ok(true)
    }

    /// Nothing of a transaction that is not committed is ever there, whatever the answer is.
    async fn roll_back(&mut self) -> Result<bool, Failure> {
        let Some(descriptor) = self.link.descriptor.take() else { return Ok(true) };
        let ended = self.send(&AbortTransaction { descriptor }, Doing::Preparing).await;
        match ended {
            Err(Failure { after: ConnectionState::Lost, .. }) => Err(Failure {
                ending: Completion::Done { found: true },
                after: ConnectionState::Lost,
            }),
            Ok(_) | Err(_) => Ok(true),
        }
    }

    async fn send<Q: Question>(
        &mut self,
        question: &Q,
        doing: Doing,
    ) -> Result<Q::Answer, Failure> {
        self.requests += 1;
        self.link.socket.send(question).await.map_err(|trouble| failure(&trouble, doing))
    }
}

/// The only object that was asked for.
fn only(answer: ReadResponse) -> Result<ObjectValue, Failure> {
    if !answer.success {
        return Err(denied(answer.error, Doing::Reading));
    }
    let mut objects = answer.objects.into_iter();
    match (objects.next(), objects.next()) {
        (Some(object), None) => Ok(object),
        _ => Err(failure(&Trouble::Garbled("not one object".into()), Doing::Reading)),
    }
}

/// What a map of registers becomes.
pub(super) fn assign(object: BoundObject, entries: &[(&str, &str)]) -> StaticUpdate {
    let entries = entries.iter().map(|(name, value)| (*name, value.as_bytes().to_vec()));
    let update = ObjectUpdate { object, operation: Operation::assign(entries) };
    StaticUpdate { transaction: StartTransaction::after(None), updates: vec![update] }
}
