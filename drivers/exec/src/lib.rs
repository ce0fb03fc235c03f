//! A store behind a program of the user's: a driver that speaks lines of JSON over its pipes.
//!
//! Each worker has a process of its own, which outlives the worker's client, so that a driver may
//! keep what it has loaded. [`docs/exec.md`] describes the protocol.
//!
//! What an answer means, the driver says; beyond that:
//! * A process that ends makes unknown what was sent to it; what was not is refused. It is started
//!   again, after a pause that grows up to a second.
//! * A line that is none of the protocol ends the process, and what it had in flight is unknown.
//! * A request that times out is unknown. If the process then stays silent for five seconds, it is
//!   ended.
//!
//! [`docs/exec.md`]: ../../../../docs/exec.md

mod client;
mod message;
mod options;
mod process;
mod text;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use assay_driver_kit::StoreErrors;
use assay_driver_kit::latest::Latest;
use assay_driver_kit::secrets::Redaction;
use assay_model::{Layout, Nanos, Reason, Setting, Table};
use assay_store::null::ClockFn;
use assay_store::{Capabilities, Client, OpenError, Rows, ScanOrder, Store};

use client::ExecClient;
use message::{Hello, HelloError, NOTE, NOTES, Response};
use options::{MOST_IN_FLIGHT, Options};
use process::{Broken, Process};

/// Incidents that are kept; later ones are counted.
const MOST_INCIDENTS: usize = 10;

/// A driver in another program.
pub struct Exec {
    pool: Arc<Pool>,
    prepared: Latest<Arc<Prepared>>,
    hello: Hello,
    clock: ClockFn,
}

/// What clients share.
struct Pool {
    options: Options,
    capabilities: Capabilities,
    /// The most requests in flight per process.
    room: usize,
    /// Processes that no client has, by worker.
    idle: Mutex<BTreeMap<usize, Process>>,
    incidents: Incidents,
}

/// The tables that every process is told of.
struct Prepared {
    tables: Vec<Table>,
    /// The members of the request that tells them.
    body: Vec<u8>,
}

impl Prepared {
    fn new(layout: Option<&Layout>) -> Prepared {
        let tables = message::tables(layout);
        let records = layout.map_or(0, |layout| layout.records);
        Prepared { body: message::prepare(&tables, records), tables }
    }
}

impl Pool {
    fn idle(&self) -> MutexGuard<'_, BTreeMap<usize, Process>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give_back(&self, worker: usize, process: Process) {
        // One that is there already was started while this one was in use.
        let other = self.idle().insert(worker, process);
        drop(other);
    }
}

/// What happened to drivers that outcomes alone do not tell.
#[derive(Default)]
struct Incidents(Mutex<(Vec<String>, u64)>);

impl Incidents {
    fn add(&self, text: String) {
        let mut incidents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if incidents.0.contains(&text) || incidents.0.len() >= MOST_INCIDENTS {
            incidents.1 += 1;
        } else {
            incidents.0.push(text);
        }
    }

    /// What the driver says about a request that did not go through.
    fn add_response(&self, response: &Response) {
        let (outcome, reason, text) = match response {
            Response::Refused(reason, Some(text)) => ("refused", reason, text),
            Response::Unknown(reason, Some(text)) => ("unknown", reason, text),
            _ => return,
        };
        self.add(format!("the driver says of an outcome {outcome} ({}): {text}", reason.name()));
    }

    fn all(&self) -> Vec<String> {
        let incidents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut texts = incidents.0.clone();
        if incidents.1 > 0 {
            texts.push(format!("so or otherwise the driver had {} more incidents", incidents.1));
        }
        texts
    }
}

impl Exec {
    /// Starts the first process of the driver that `url` names, and hears what it can do.
    ///
    /// # Errors
    /// If the URL is invalid, the program cannot be started, or says no hello that we understand.
    pub fn open(url: &str, redaction: &Redaction, clock: ClockFn) -> Result<Exec, OpenError> {
        let options = Options::parse(url, redaction)?;
        let (process, hello) = greet(&options, 0, clock)?;
        let room = hello.in_flight(options.in_flight.unwrap_or(MOST_IN_FLIGHT));
        let pool = Pool {
            capabilities: hello.capabilities(),
            room: room.min(MOST_IN_FLIGHT),
            idle: Mutex::new(BTreeMap::from([(0, process)])),
            incidents: Incidents::default(),
            options,
        };
        let prepared = Latest::new(Arc::new(Prepared::new(None)));
        Ok(Exec { pool: Arc::new(pool), prepared, hello, clock })
    }

    /// An idle process of `worker`, or a new one.
    fn process(&self, worker: usize) -> Result<Process, OpenError> {
        if let Some(process) = self.pool.idle().remove(&worker) {
            return Ok(process);
        }
        if let Some(most) = self.hello.workers.filter(|most| worker >= *most) {
            return Err(self.pool.options.displayed.unsupported(format!(
                "the driver runs in {most} process(es) at most; give as many workers: --threads \
                 {most}"
            )));
        }
        greet(&self.pool.options, worker, self.clock).map(|(process, _)| process)
    }

    /// Sends a request whose members are `body`, and waits for the response; records are encoded
    /// into `rows`. A process that breaks is ended.
    fn call(
        &self,
        mut process: Process,
        body: &[u8],
        rows: &mut Vec<u8>,
    ) -> Result<(Process, Response), OpenError> {
        let id = process.next;
        process.next += 1;
        message::push_request(id, body, process.out());
        let deadline = Deadline::new(self.clock, self.pool.options.admin_timeout);
        loop {
            let parsed = deadline.line(&mut process).and_then(|()| {
                let line = process.line();
                let garbled = |reason| Broken::Garbled(line.to_vec(), reason);
                message::parse_answer(line, rows).map_err(garbled)
            });
            match parsed {
                Ok((answered, response)) => {
                    process.consume_line();
                    // Others are answers that the client before did not wait for.
                    if answered == id {
                        return Ok((process, response));
                    }
                }
                Err(broken) => return Err(self.failed(process, &broken)),
            }
        }
    }

    fn failed(&self, process: Process, broken: &Broken) -> OpenError {
        failed(&self.pool.options, process, broken)
    }

    /// Has the driver do something about the store as a whole.
    fn administer(&self, worker: usize, body: &[u8]) -> Result<(), OpenError> {
        let process = self.process(worker)?;
        let process = self.administer_with(process, body)?;
        self.pool.give_back(worker, process);
        Ok(())
    }

    fn administer_with(&self, process: Process, body: &[u8]) -> Result<Process, OpenError> {
        let (process, response) = self.call(process, body, &mut Vec::new())?;
        match response {
            Response::Done { .. } => Ok(process),
            Response::Missing => Err(refused(&self.pool.options, Reason::StoreError, "missing")),
            Response::Refused(reason, text) | Response::Unknown(reason, text) => {
                Err(refused(&self.pool.options, reason, &text.unwrap_or_default()))
            }
        }
    }

    /// Calls `body`, a request for the record of the note.
    fn note_request(&self, body: &[u8], rows: &mut Vec<u8>) -> Result<Response, OpenError> {
        let prepared = self.prepared.get();
        let process = self.process(0)?;
        let process = self.administer_with(process, &prepared.body)?;
        let (process, response) = self.call(process, body, rows)?;
        self.pool.give_back(0, process);
        Ok(response)
    }
}

/// Starts a process, and waits for its hello.
fn greet(options: &Options, worker: usize, clock: ClockFn) -> Result<(Process, Hello), OpenError> {
    let started = Process::start(options, worker);
    let mut process = started.map_err(|reason| options.displayed.invalid(reason))?;
    let deadline = Deadline::new(clock, options.hello_timeout);
    if let Err(broken) = deadline.line(&mut process) {
        let text = process.explain(&broken);
        return Err(options.displayed.unreachable(format!(
            "the driver said no hello: it {text}; its first line says what it can do (see \
             docs/exec.md), and hello_timeout=MS gives it longer"
        )));
    }
    match Hello::parse(process.line()) {
        Ok(hello) => {
            process.consume_line();
            Ok((process, hello))
        }
        Err(HelloError::Refused(reason, text)) => Err(refused(options, reason, &text)),
        Err(HelloError::Wrong(reason)) => {
            let line = process.line().to_vec();
            Err(failed(options, process, &Broken::Garbled(line, reason)))
        }
    }
}

fn failed(options: &Options, process: Process, broken: &Broken) -> OpenError {
    let store = &options.displayed;
    store.failed(format!("the driver {}", process.explain(broken)))
}

/// The error of a driver that says why it does not do something.
fn refused(options: &Options, reason: Reason, text: &str) -> OpenError {
    let store = &options.displayed;
    let said = match text {
        "" => format!("the driver refuses ({})", reason.name()),
        text => format!("{text} (the driver, {})", reason.name()),
    };
    match reason {
        Reason::Unreachable | Reason::ConnectionLost | Reason::Timeout => store.unreachable(said),
        Reason::NotPermitted => store.not_permitted(said),
        Reason::Unsupported => store.unsupported(said),
        _ => store.failed(said),
    }
}

/// The end of a wait.
struct Deadline {
    clock: ClockFn,
    until: u64,
    timeout: Duration,
}

impl Deadline {
    fn new(clock: ClockFn, timeout: Duration) -> Deadline {
        Deadline { clock, until: clock().saturating_add(Nanos::from(timeout).0), timeout }
    }

    /// Sends what is to be sent, and waits for a line.
    fn line(&self, process: &mut Process) -> Result<(), Broken> {
        while !process.has_line() {
            process.send()?;
            if process.receive()? {
                continue;
            }
            let left = self.until.saturating_sub((self.clock)());
            if left == 0 {
                return Err(Broken::Silent(self.timeout));
            }
            process.wait(Duration::from_nanos(left));
        }
        Ok(())
    }
}

impl Store for Exec {
    fn capabilities(&self) -> Capabilities {
        self.pool.capabilities.clone()
    }

    fn prepare(&self, layout: &Layout) -> Result<(), OpenError> {
        let is_ordered = self.pool.capabilities.scan_order == ScanOrder::Key;
        if !is_ordered && layout.tables.iter().any(|table| table.needs_key_order) {
            return Err(self.pool.options.displayed.unsupported(
                "this workload scans a table in the order of its keys, and the driver does not \
                 say \"scan\": \"key\"",
            ));
        }
        let prepared = Arc::new(Prepared::new(Some(layout)));
        self.administer(0, &prepared.body)?;
        self.prepared.set(prepared);
        Ok(())
    }

    fn open(&self, worker: usize) -> Result<Box<dyn Client>, OpenError> {
        let prepared = self.prepared.get();
        let process = self.administer_with(self.process(worker)?, &prepared.body)?;
        Ok(Box::new(ExecClient::new(Arc::clone(&self.pool), prepared, worker, process)))
    }

    fn room(&self) -> Option<usize> {
        Some(self.pool.room)
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        let setting = |name: &str, value: &str, meaning: &str| {
            Setting::new(name, if value.is_empty() { "unknown" } else { value }, meaning)
        };
        let options = &self.pool.options;
        let room = self.pool.room.to_string();
        let mut settings = vec![
            setting("driver", &options.command_line, "the program that was started"),
            setting("driver version", &self.hello.version, "what it says about itself"),
            setting("in flight", &room, "the most requests that each of its processes has"),
            setting(
                "durability",
                self.hello.durability.as_deref().unwrap_or_default(),
                "what an acknowledged write survives, as the driver says",
            ),
        ];
        let parameters = &options.displayed_parameters;
        if !parameters.is_empty() {
            settings.push(setting("driver options", parameters, "what the driver was told"));
        }
        let told = self.hello.settings.iter();
        settings.extend(told.map(|one| setting(&one.name, &one.value, &one.meaning)));
        Ok(settings)
    }

    fn clear(&self) -> Result<(), OpenError> {
        self.administer(0, b"\"op\":\"clear\"")
    }

    fn note(&self) -> Result<Option<String>, OpenError> {
        if !self.pool.capabilities.is_persistent {
            return Ok(None);
        }
        let mut rows = Vec::new();
        let body = format!("\"op\":\"read\",\"table\":\"{NOTES}\",\"key\":\"{NOTE}\"");
        match self.note_request(body.as_bytes(), &mut rows)? {
            Response::Done { .. } => {
                let mut note = None;
                Rows::Encoded(&rows).each(|field| {
                    if field.name == NOTE.as_bytes() {
                        note = Some(String::from_utf8_lossy(field.value).into_owned());
                    }
                });
                Ok(note)
            }
            Response::Missing => Ok(None),
            Response::Refused(reason, text) | Response::Unknown(reason, text) => {
                Err(refused(&self.pool.options, reason, &text.unwrap_or_default()))
            }
        }
    }

    fn keep_note(&self, note: &str) -> Result<(), OpenError> {
        if !self.pool.capabilities.is_persistent {
            return Ok(());
        }
        // A driver may refuse to insert what is there.
        let delete = format!("\"op\":\"delete\",\"table\":\"{NOTES}\",\"key\":\"{NOTE}\"");
        self.note_request(delete.as_bytes(), &mut Vec::new())?;
        let mut insert = format!("\"op\":\"insert\",\"table\":\"{NOTES}\",\"key\":\"{NOTE}\",");
        insert.push_str(&format!("\"values\":{{\"{NOTE}\":"));
        let mut insert = insert.into_bytes();
        text::push_bytes(note.as_bytes(), &mut insert);
        insert.push(b'}');
        match self.note_request(&insert, &mut Vec::new())? {
            Response::Done { .. } => Ok(()),
            Response::Missing => Err(refused(&self.pool.options, Reason::StoreError, "")),
            Response::Refused(reason, text) | Response::Unknown(reason, text) => {
                Err(refused(&self.pool.options, reason, &text.unwrap_or_default()))
            }
        }
    }

    /// Has every process flush that no client has.
    fn flush(&self) -> Result<(), OpenError> {
        if !self.hello.flushes() {
            return Ok(());
        }
        let workers: Vec<usize> = self.pool.idle().keys().copied().collect();
        workers.into_iter().try_for_each(|worker| self.administer(worker, b"\"op\":\"flush\""))
    }

    fn incidents(&self) -> Vec<String> {
        self.pool.incidents.all()
    }
}
