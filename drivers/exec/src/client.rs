//! A worker's client: one process of the driver, which is started again when it breaks.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use assay_model::{Kind, Nanos, Reason};
use assay_store::{Answer, Answers, Client, Reply, Request, Rows, Ticket};

use super::message::{self, Hello, Response, parse_answer};
use super::process::{Broken, Process};
use super::{Pool, Prepared};

/// The first pause before a driver is started again; each failure doubles it.
const FIRST_PAUSE: Nanos = Nanos::from_millis(10);
/// The longest pause.
const LONGEST_PAUSE: Nanos = Nanos::from_secs(1);
/// How long a driver may stay silent after its oldest request has timed out.
const OVERDUE: Nanos = Nanos::from_secs(5);
/// Lines that are handled before other work gets a turn.
const LINES_PER_POLL: usize = 1024;

/// One process, and the requests that it has.
pub(super) struct ExecClient {
    pool: Arc<Pool>,
    prepared: Arc<Prepared>,
    worker: usize,
    state: State,
    pause: Nanos,
    in_flight: BTreeMap<u64, InFlight>,
    /// Numbers below this are requests of the client before, which are none of ours.
    first: u64,
    /// Since when the driver was silent although its oldest request has timed out.
    overdue_since: Option<Nanos>,
    /// The members of a request.
    body: Vec<u8>,
    /// The records of an answer.
    rows: Vec<u8>,
}

enum State {
    /// Nothing until then.
    Down { until: Nanos },
    /// It was greeted and told to prepare; both answers are awaited, until then.
    Starting { process: Process, until: Nanos, has_said_hello: bool },
    /// Requests can be sent.
    Up { process: Process },
}

struct InFlight {
    ticket: Ticket,
    kind: Kind,
    is_abandoned: bool,
    /// Where its line begins, in bytes since the process was started.
    begin: u64,
}

impl ExecClient {
    /// A client whose `process` has prepared the tables.
    pub(super) fn new(
        pool: Arc<Pool>,
        prepared: Arc<Prepared>,
        worker: usize,
        process: Process,
    ) -> ExecClient {
        ExecClient {
            pool,
            prepared,
            worker,
            first: process.next,
            state: State::Up { process },
            pause: FIRST_PAUSE,
            in_flight: BTreeMap::new(),
            overdue_since: None,
            body: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Ends the process, and what it had in flight: refused if it was not sent.
    fn drop_process(&mut self, broken: &Broken, answers: &mut dyn Answers, now: Nanos) {
        let until = now.saturating_add(self.pause);
        let before = std::mem::replace(&mut self.state, State::Down { until });
        self.pause = Nanos(self.pause.0 * 2).min(LONGEST_PAUSE);
        self.overdue_since = None;
        let process = match before {
            State::Up { process } | State::Starting { process, .. } => process,
            State::Down { .. } => return,
        };
        let sent = process.sent();
        let count = self.in_flight.len();
        let text = process.explain(broken);
        self.pool.incidents.add(format!(
            "the driver of worker {} {text}; requests in flight: {count}; it is started again",
            self.worker
        ));
        let reason = match broken {
            Broken::Garbled(..) => Reason::Garbled,
            Broken::Silent(_) => Reason::Timeout,
            Broken::Ended => Reason::ConnectionLost,
        };
        for request in std::mem::take(&mut self.in_flight).into_values() {
            match request.begin >= sent {
                _ if request.is_abandoned => {}
                true => answers.answer(request.ticket, Answer::Refused(Reason::Unreachable)),
                false => answers.answer(request.ticket, Answer::Unknown(reason)),
            }
        }
    }

    /// The next step towards a process that can be used.
    fn approach(&mut self, now: Nanos, answers: &mut dyn Answers) {
        match &self.state {
            State::Down { until } if now < *until => {}
            State::Down { .. } => self.start_again(now),
            State::Starting { until, .. } if now >= *until => {
                let silent = Broken::Silent(self.pool.options.hello_timeout);
                self.drop_process(&silent, answers, now);
            }
            State::Starting { .. } => {
                if let Err(broken) = self.hear_greeting() {
                    self.drop_process(&broken, answers, now);
                }
            }
            State::Up { .. } => {}
        }
    }

    fn start_again(&mut self, now: Nanos) {
        match Process::start(&self.pool.options, self.worker) {
            Ok(mut process) => {
                process.next = 1;
                message::push_request(0, &self.prepared.body, process.out());
                let timeout = self.pool.options.hello_timeout.into();
                let until = now.saturating_add(timeout);
                self.state = State::Starting { process, until, has_said_hello: false };
            }
            Err(text) => {
                self.pool.incidents.add(text);
                self.state = State::Down { until: now.saturating_add(self.pause) };
                self.pause = Nanos(self.pause.0 * 2).min(LONGEST_PAUSE);
            }
        }
    }

    /// Takes the hello of a process that was started again, then the answer to prepare.
    fn hear_greeting(&mut self) -> Result<(), Broken> {
        let State::Starting { process, has_said_hello, .. } = &mut self.state else {
            return Ok(());
        };
        process.send()?;
        process.receive()?;
        while process.has_line() {
            let line = process.line();
            let garbled = |reason: String| Broken::Garbled(line.to_vec(), reason);
            if !*has_said_hello {
                Hello::parse(line).map_err(|error| garbled(format!("{error:?}")))?;
                *has_said_hello = true;
                process.consume_line();
                continue;
            }
            match parse_answer(line, &mut self.rows).map_err(garbled)? {
                (0, Response::Done { .. }) => process.consume_line(),
                (_, other) => {
                    let reason = format!("it does not prepare again ({other:?})");
                    return Err(Broken::Garbled(line.to_vec(), reason));
                }
            }
            let end = State::Down { until: Nanos::ZERO };
            if let State::Starting { process, .. } = std::mem::replace(&mut self.state, end) {
                self.first = process.next;
                self.state = State::Up { process };
            }
            return Ok(());
        }
        Ok(())
    }

    /// Takes the answers that have come.
    fn hear_answers(&mut self, now: Nanos, answers: &mut dyn Answers) -> Result<(), Broken> {
        let State::Up { process } = &mut self.state else { return Ok(()) };
        process.send()?;
        // What it wrote before it ended counts.
        let received = process.receive();
        let mut lines = 0;
        while lines < LINES_PER_POLL && process.has_line() {
            lines += 1;
            let line = process.line();
            let parsed = parse_answer(line, &mut self.rows);
            let (id, response) = parsed.map_err(|reason| Broken::Garbled(line.to_vec(), reason))?;
            if id >= process.next {
                let reason = format!("no request has the number {id}");
                return Err(Broken::Garbled(line.to_vec(), reason));
            }
            match self.in_flight.remove(&id) {
                Some(request) => {
                    let answer = answer(&request, &response, &self.rows)
                        .map_err(|reason| Broken::Garbled(line.to_vec(), reason))
                        .inspect_err(|_| {
                            // It ends with the others.
                            self.in_flight.insert(id, InFlight { ..request });
                        })?;
                    self.pool.incidents.add_response(&response);
                    if !request.is_abandoned {
                        answers.answer(request.ticket, answer);
                    }
                }
                None if id < self.first => {}
                None => {
                    let reason = format!("request {id} was answered already");
                    return Err(Broken::Garbled(line.to_vec(), reason));
                }
            }
            process.consume_line();
        }
        if lines > 0 {
            self.pause = FIRST_PAUSE;
        }
        let oldest_has_timed_out =
            self.in_flight.values().next().is_some_and(|request| request.is_abandoned);
        if lines > 0 || !oldest_has_timed_out {
            self.overdue_since = None;
        } else {
            let since = *self.overdue_since.get_or_insert(now);
            if now.since(since) >= OVERDUE {
                return Err(Broken::Silent(OVERDUE.into()));
            }
        }
        match received {
            Err(broken) if lines < LINES_PER_POLL => Err(broken),
            _ => Ok(()),
        }
    }
}

/// The answer that `response` is for `request`.
///
/// # Errors
/// A sentence, if it is none for such a request.
fn answer<'a>(
    request: &InFlight,
    response: &Response,
    rows: &'a [u8],
) -> Result<Answer<'a>, String> {
    let is_scan = request.kind == Kind::Scan;
    Ok(match response {
        Response::Missing => Answer::Done(Reply::MISSING),
        Response::Refused(reason, _) => Answer::Refused(*reason),
        Response::Unknown(reason, _) => Answer::Unknown(*reason),
        Response::Done { rows: 0 } if request.kind.writes() => Answer::Done(Reply::WRITTEN),
        Response::Done { rows: count } if is_scan || *count == 1 && !request.kind.writes() => {
            Answer::Done(Reply { found: *count > 0, rows: Rows::Encoded(rows) })
        }
        Response::Done { rows } => {
            return Err(format!("{} is done with {rows} rows", request.kind.name()));
        }
    })
}

impl Client for ExecClient {
    fn is_ready(&self) -> bool {
        self.in_flight.len() < self.pool.room
    }

    fn start(
        &mut self,
        now: Nanos,
        ticket: Ticket,
        request: &Request<'_>,
        answers: &mut dyn Answers,
    ) {
        if !self.pool.capabilities.can(request.kind) {
            return answers.answer(ticket, Answer::Refused(Reason::Unsupported));
        }
        self.body.clear();
        let pushed = message::push_operation(request, &self.prepared.tables, &mut self.body);
        if let Err(reason) = pushed {
            return answers.answer(ticket, Answer::Refused(reason));
        }
        let State::Up { process } = &mut self.state else {
            return answers.answer(ticket, Answer::Refused(Reason::Unreachable));
        };
        let (id, begin) = (process.next, process.written());
        process.next += 1;
        message::push_request(id, &self.body, process.out());
        let kind = request.kind;
        self.in_flight.insert(id, InFlight { ticket, kind, is_abandoned: false, begin });
        if let Err(broken) = process.send() {
            self.drop_process(&broken, answers, now);
        }
    }

    fn poll(&mut self, now: Nanos, answers: &mut dyn Answers) {
        self.approach(now, answers);
        if let Err(broken) = self.hear_answers(now, answers) {
            self.drop_process(&broken, answers, now);
        }
    }

    fn wait(&mut self, timeout: Duration) {
        match &mut self.state {
            State::Up { process } | State::Starting { process, .. } => process.wait(timeout),
            State::Down { .. } => std::thread::sleep(timeout.min(FIRST_PAUSE.into())),
        }
    }

    /// The driver goes on with it; its answer is not passed on.
    fn abandon(&mut self, ticket: Ticket) {
        let mut requests = self.in_flight.values_mut();
        if let Some(request) = requests.find(|request| request.ticket == ticket) {
            request.is_abandoned = true;
        }
    }
}

impl Drop for ExecClient {
    /// The process stays for the next client of this worker.
    fn drop(&mut self) {
        let end = State::Down { until: Nanos::ZERO };
        if let State::Up { process } = std::mem::replace(&mut self.state, end) {
            self.pool.give_back(self.worker, process);
        }
    }
}
