//! A worker's client: passes requests and queries to a pool of connections.

use std::time::Duration;

use assay_driver_kit::read_server::ReadSpread;
use assay_driver_kit::task::{Context, Pool};
use assay_model::{Nanos, Reason};
use assay_store::answer::Reply;
use assay_store::{Answer, Answers, Call, Client, Request, Step, Ticket};

use super::link::{Job, Postgres, Step as Doing};
use super::plan::StatementId;

/// The connections of one worker.
pub(super) struct Worker {
    pub(super) pool: Pool<Postgres>,
    pub(super) spread: ReadSpread,
}

/// The place of the primary among the pool's hosts.
const PRIMARY: usize = 0;

impl Worker {
    fn query(&mut self, ticket: Ticket, call: &Call<'_>, number: u16, answers: &mut dyn Answers) {
        let plan = &self.pool.library().plan;
        let Some(place) = number.checked_sub(1).filter(|&place| plan.knows(place)) else {
            return answers.answer(ticket, Answer::Refused(Reason::Malformed));
        };
        if call.begins {
            // An open transaction of the session will never be ended.
            self.pool.abort(call.session);
        }
        let context = match (call.begins, self.pool.holds(call.session)) {
            (true, _) => Context::Begins,
            (false, true) => Context::Within,
            (false, false) => Context::Alone,
        };
        self.pool.submit_to(PRIMARY, ticket, call.session, answers, |job: &mut Job| {
            job.step = Doing::Run(StatementId::Query(place));
            job.context = context;
            job.arguments.clear();
            job.arguments.extend_from_slice(call.parameters.encoded());
        });
    }
}

impl Client for Worker {
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
        let reason = match request.kind.ends_transaction() {
            true => Some(Reason::Unsupported),
            false if request.limit == 0 => Some(Reason::Malformed),
            false => None,
        };
        match reason {
            Some(reason) => answers.answer(ticket, Answer::Refused(reason)),
            None => {
                let host = self.spread.host(request.kind, request.session);
                self.pool.submit_to(host, ticket, request.session, answers, |job: &mut Job| {
                    job.send_record(request);
                });
            }
        }
    }

    fn call(&mut self, _now: Nanos, ticket: Ticket, call: &Call<'_>, answers: &mut dyn Answers) {
        let step = match call.step {
            Step::Query(number) => return self.query(ticket, call, number, answers),
            Step::Commit => Doing::Commit,
            Step::Rollback => Doing::Rollback,
        };
        if self.pool.holds(call.session) {
            return self.pool.submit(ticket, call.session, answers, |job| job.step = step);
        }
        // There is no transaction: nothing is to be undone, but nothing became final either.
        answers.answer(
            ticket,
            match step {
                Doing::Rollback => Answer::Done(Reply::WRITTEN),
                _ => Answer::Refused(Reason::TransactionFailed),
            },
        );
    }

    fn abort(&mut self, session: u32) {
        self.pool.abort(session);
    }

    fn poll(&mut self, now: Nanos, answers: &mut dyn Answers) {
        self.pool.poll(now, answers);
    }

    fn wait(&mut self, timeout: Duration) {
        self.pool.wait(timeout);
    }

    fn abandon(&mut self, ticket: Ticket) {
        self.pool.abandon(ticket);
    }
}
