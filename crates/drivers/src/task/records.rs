//! A lane's client of a library that takes requests for records, one job each.

use std::time::Duration;

use assay_model::Nanos;
use assay_store::{Answers, Client, OpenError, OwnedRequest, Request, Ticket};

use super::{Library, Pool};

/// The client of a library whose jobs are requests for records. Without transactions.
pub struct RecordsClient<L: Library<Job = OwnedRequest>> {
    pool: Pool<L>,
}

impl<L: Library<Job = OwnedRequest>> RecordsClient<L> {
    /// Makes `connections` connections; see [`Pool::open`].
    ///
    /// # Errors
    /// If a connection cannot be made, or the operating system has no resources for a runtime.
    ///
    /// # Panics
    /// If `connections` is zero.
    pub fn open(
        library: L,
        connections: usize,
        store: &str,
    ) -> Result<Box<RecordsClient<L>>, OpenError> {
        Ok(Box::new(RecordsClient { pool: Pool::open(library, connections, store)? }))
    }
}

impl<L: Library<Job = OwnedRequest>> Client for RecordsClient<L> {
    fn is_ready(&self) -> bool {
        self.pool.is_ready()
    }

    fn start(
        &mut self,
        _now: Nanos,
        ticket: Ticket,
        request: &Request<'_>,
        answers: &mut dyn Answers,
    ) {
        self.pool.submit(ticket, request.session, answers, |job| job.fill(request));
    }

    fn poll(&mut self, now: Nanos, answers: &mut dyn Answers) {
        self.pool.poll(now, answers);
    }

    fn wait(&mut self, patience: Duration) {
        self.pool.wait(patience);
    }

    fn abandon(&mut self, ticket: Ticket) {
        self.pool.abandon(ticket);
    }
}
