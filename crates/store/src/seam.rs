//! Seam between executor and stores: the traits that every store implements.

use std::sync::Arc;
use std::time::Duration;

use assay_model::{Catalogue, Layout, Nanos, Reason, Setting};

use crate::answer::{Answer, Answers};
use crate::capabilities::Capabilities;
use crate::reading::ServerReading;
use crate::request::{Call, Request, Ticket};
use crate::truth::Truth;

/// A store that executes operations.
///
/// One value stands for the whole store and is shared by all workers; everything that a worker
/// needs on the hot path is in its own [`Client`].
pub trait Store: Send + Sync {
    /// What the store can do; constant for the life of the value.
    fn capabilities(&self) -> Capabilities;

    /// Makes the store ready to hold `layout`. Keeps what is there already.
    ///
    /// # Errors
    /// If the store cannot be reached, does not let us, or cannot hold such tables.
    fn prepare(&self, layout: &Layout) -> Result<(), OpenError>;

    /// Makes the store ready for logical queries: its relations exist afterwards.
    ///
    /// Clients opened after that know the queries by their numbers.
    ///
    /// # Errors
    /// If the store cannot be reached, does not let us, cannot hold such relations or take such
    /// queries; if a relation exists that must not, or is missing or another where it must be.
    fn prepare_queries(
        &self,
        _catalogue: &Arc<Catalogue>,
        _existing: Existing,
    ) -> Result<(), OpenError> {
        Err(OpenError::Unsupported {
            store: self.capabilities().name.into(),
            reason: "it takes records by key, no logical queries, without a mapping".into(),
        })
    }

    /// Opens the client of worker `worker`. Called on the thread that will use the client.
    ///
    /// # Errors
    /// If the store cannot be reached or does not let us.
    fn open(&self, worker: usize) -> Result<Box<dyn Client>, OpenError>;

    /// The most requests that the client of one worker has in flight; beyond that it is not
    /// [ready](Client::is_ready). `None` if there is no such bound, or it is not known beforehand.
    fn room(&self) -> Option<usize> {
        None
    }

    /// The names of the nodes that requests were sent to so far, by the numbers that
    /// [`Answers::node`] gives; empty for a store of one node, or if nobody can say.
    fn nodes(&self) -> Vec<String> {
        Vec::new()
    }

    /// This store, ready as it is, with every read answered by the node of this number; `None` if
    /// reads do not go there, or nobody can choose. For reads that set nodes against each other.
    fn reading_at(&self, _node: u8) -> Option<Box<dyn Store>> {
        None
    }

    /// Whether the client tells the store's own versions of records that it reads and writes by
    /// key, with [`Answers::version`].
    fn tells_versions(&self) -> bool {
        false
    }

    /// Whether scans can return keys alone, for which the store need not look at the records, of
    /// tables that go [by the bytes of the key](assay_model::Table::needs_key_order).
    fn scans_keys(&self) -> bool {
        false
    }

    /// The settings that decide what the figures mean, read back from the store where it tells.
    ///
    /// # Errors
    /// If the store cannot be reached.
    fn settings(&self) -> Result<Vec<Setting>, OpenError>;

    /// Removes everything that [`Store::prepare`] and the writes to its tables have put there.
    ///
    /// # Errors
    /// If the store cannot be reached or does not let us.
    fn clear(&self) -> Result<(), OpenError>;

    /// The text that [`Store::keep_note`] kept, if there is one.
    ///
    /// # Errors
    /// If the store cannot be reached.
    fn note(&self) -> Result<Option<String>, OpenError> {
        Ok(None)
    }

    /// Keeps a short text beside the data, apart from every table: what was loaded, and how.
    ///
    /// Stores that do not outlive the process have nowhere to keep it and need not.
    ///
    /// # Errors
    /// If the store cannot be reached, or has no room.
    fn keep_note(&self, _note: &str) -> Result<(), OpenError> {
        Ok(())
    }

    /// Makes everything acknowledged so far as durable as the store's settings promise.
    ///
    /// # Errors
    /// If the store cannot be reached, or its disk is full.
    fn flush(&self) -> Result<(), OpenError> {
        Ok(())
    }

    /// What the store's servers count about themselves at this moment. Asked for while a run goes
    /// on, from a thread of its own.
    ///
    /// # Errors
    /// If the store cannot be reached or does not let us, or its driver knows no such numbers.
    fn readings(&self) -> Result<Vec<ServerReading>, OpenError> {
        Err(OpenError::Unsupported {
            store: self.capabilities().name.into(),
            reason: "its driver reads no numbers of the server; name a Prometheus endpoint \
                     instead: --scrape http://HOST:PORT/metrics"
                .into(),
        })
    }

    /// Sentences about what happened to clients that outcomes alone do not tell, such as a driver
    /// that ended and was started again. Asked for after a run.
    fn incidents(&self) -> Vec<String> {
        Vec::new()
    }

    /// Shows what really happened, in order of the requests, if this store knows.
    ///
    /// Stores that compute their answers know; what they could not keep they count, and
    /// [`Store::settings`] says afterwards how much that was.
    fn truth(&self, _visit: &mut dyn FnMut(&Truth)) {}
}

/// What is done about relations that exist already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Existing {
    /// Nothing may be there: an error names what is.
    Refuse,
    /// What is there is dropped first, rows included.
    Replace,
    /// Everything must be there, with the columns that the schema names.
    Use,
}

/// A worker's client of a store. Stays on one thread for its whole life.
///
/// The contract:
/// * [`Client::start`] never blocks, unless the store's capabilities say
///   [`Calls::Blocking`](crate::Calls::Blocking).
/// * Every started ticket gets exactly one answer, from `start` or `poll`, unless it was abandoned;
///   an abandoned ticket gets at most one and the executor ignores it.
/// * The requests of one session arrive one at a time: the next is started after the response to
///   the one before, or after that was abandoned.
/// * Failures are answers. A client whose connection breaks answers what was in flight (Unknown if
///   it was sent, Refused if it certainly was not), reconnects by itself with a bounded back-off,
///   and answers what is started meanwhile as Refused (unreachable).
/// * There are no retries. If a client library retries, the capabilities say so.
pub trait Client {
    /// Whether a request could leave at once. If not, the executor keeps it, and the wait is lag.
    fn is_ready(&self) -> bool {
        true
    }

    /// Starts `request` and answers it here and now if that can be done without waiting.
    fn start(
        &mut self,
        now: Nanos,
        ticket: Ticket,
        request: &Request<'_>,
        answers: &mut dyn Answers,
    );

    /// Starts a step of a process of logical queries; the contract is that of
    /// [`Client::start`], with this about transactions:
    /// * A step of a transaction that is not answered with Done ends the transaction. The client
    ///   undoes what it did, and no further step of it comes.
    /// * [`Client::abandon`] of a step ends its transaction as well; whether it happened stays
    ///   unknown.
    /// * A commit that was sent and whose answer is lost is Unknown.
    /// * Where the store has no transactions, Commit and Rollback are answered with Done at once.
    fn call(&mut self, _now: Nanos, ticket: Ticket, _call: &Call<'_>, answers: &mut dyn Answers) {
        answers.answer(ticket, Answer::Refused(Reason::Unsupported));
    }

    /// The requests for records of `session` that are started from now on are one transaction,
    /// which a request of kind commit or rollback ends. What it had open before is undone.
    ///
    /// Only for stores that take no queries and declare an isolation; the contract is that of
    /// [`Client::call`] with a request for each step. A commit without a transaction is refused.
    fn begin(&mut self, _session: u32) {}

    /// The process of `session` ended without ending its transaction: undo what it did.
    fn abort(&mut self, _session: u32) {}

    /// Moves bytes both ways without blocking, and delivers the answers that have come.
    fn poll(&mut self, now: Nanos, answers: &mut dyn Answers);

    /// Blocks until a response might have come or `timeout` has passed. May return early.
    ///
    /// Called with nothing in flight too: then it is a sleep that notices broken connections.
    fn wait(&mut self, timeout: Duration) {
        std::thread::sleep(timeout);
    }

    /// When the next response is due, for stores in simulated time; `None` if that is unknown.
    fn due(&self) -> Option<Nanos> {
        None
    }

    /// `ticket` is abandoned. A later completion of it is allowed and ignored.
    fn abandon(&mut self, _ticket: Ticket) {}
}

/// The store could not be opened, prepared or inspected.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OpenError {
    /// Connection refused.
    #[error("cannot reach {store}: {reason}")]
    Unreachable {
        /// The store's URL without secrets.
        store: String,
        /// What was tried, what happened, and what to do.
        reason: String,
    },
    /// The store answers but does not let us.
    #[error("{store}: permission denied: {reason}")]
    NotPermitted {
        /// The store's URL without secrets.
        store: String,
        /// What the store said, and what to do.
        reason: String,
    },
    /// The store cannot execute the request.
    #[error("{store} cannot do this: {reason}")]
    Unsupported {
        /// The store's URL without secrets.
        store: String,
        /// What is missing, and what to do.
        reason: String,
    },
    /// What the store holds is not what it must: relations are there already, missing, or others.
    #[error("{store} does not hold what it should: {reason}")]
    Contents {
        /// The store's URL without secrets.
        store: String,
        /// What is there or missing, and what to do.
        reason: String,
    },
    /// The URL of the store is invalid.
    #[error("store URL {url:?} is invalid: {reason}")]
    Url {
        /// The URL without secrets.
        url: String,
        /// What is wrong, and what a right one looks like.
        reason: String,
    },
    /// The store failed while it was made ready.
    #[error("{store} failed: {reason}")]
    Failed {
        /// The store's URL without secrets.
        store: String,
        /// What happened, and what to do.
        reason: String,
    },
}
