//! A small store with transactions, whole or with one known flaw, for tests.
//!
//! Each transaction works on a copy of everything. Of transactions that overlap, the first that
//! commits a change wins; others that changed something are refused, whatever they touched.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use assay_model::{Kind, Layout, Nanos, Reason, Setting};

use crate::answer::{Answer, Answers, Reply, Rows};
use crate::capabilities::{Calls, Capabilities, Isolation};
use crate::memory::Memory;
use crate::request::{Request, Ticket};
use crate::row;
use crate::seam::{Client, OpenError, Store};

/// A store of records with serializable transactions.
pub struct Ledger {
    state: Arc<Mutex<LedgerState>>,
    connections: usize,
    flaw: Flaw,
}

/// What is wrong with a [`Ledger`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Nothing.
    None,
    /// A commit is acknowledged and undoes.
    ForgetsCommits,
    /// A rollback commits.
    KeepsRollbacks,
    /// A transaction that is left is committed.
    KeepsWhatIsLeft,
    /// A transaction of which a request is abandoned is committed.
    KeepsWhatIsAbandoned,
    /// A transaction that begins takes along what its session had open.
    CarriesOn,
    /// A step that fails leaves its transaction open.
    OutlivesFailures,
    /// A commit of no transaction is acknowledged.
    CommitsNothing,
    /// A read within a transaction does not see its writes.
    ReadsPast,
    /// A scan within a transaction does not see its writes.
    ScansPast,
    /// Reads outside of transactions see uncommitted changes.
    ShowsDrafts,
    /// A commit overwrites what others committed meanwhile.
    LosesUpdates,
}

#[derive(Clone, Default)]
struct LedgerState {
    tables: Vec<Table>,
    /// How many changes became final.
    changes: u64,
}

#[derive(Clone)]
struct Table {
    name: String,
    fields: Vec<String>,
    records: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// A transaction that is open.
struct Draft {
    before: LedgerState,
    now: LedgerState,
    has_written: bool,
}

/// A worker's client: as many sessions have a transaction open as it has connections.
struct LedgerClient {
    state: Arc<Mutex<LedgerState>>,
    connections: usize,
    flaw: Flaw,
    /// Sessions whose next request opens a transaction.
    beginning: HashSet<u32>,
    drafts: HashMap<u32, Draft>,
    answered: VecDeque<DueAnswer>,
}

/// A completion that waits until the worker polls.
struct DueAnswer {
    ticket: Ticket,
    session: u32,
    ended: Ended,
}

/// How a request ended: what was found, with its rows.
type Ended = Result<(bool, Vec<u8>), Reason>;

const WRITTEN: (bool, Vec<u8>) = (true, Vec::new());

impl Ledger {
    /// An empty one whose clients have this many connections each.
    pub fn new(connections: usize) -> Ledger {
        Ledger { state: Arc::default(), connections, flaw: Flaw::None }
    }

    /// The same with a flaw.
    pub fn with(self, flaw: Flaw) -> Ledger {
        Ledger { flaw, ..self }
    }
}

impl Store for Ledger {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            name: "ledger",
            calls: Calls::Pipelined,
            isolation: Some(Isolation::Serializable),
            ..Memory::new().capabilities()
        }
    }

    fn prepare(&self, layout: &Layout) -> Result<(), OpenError> {
        let mut state = lock(&self.state);
        let mut old: HashMap<String, BTreeMap<Vec<u8>, Vec<u8>>> =
            state.tables.drain(..).map(|table| (table.name, table.records)).collect();
        state.tables = layout
            .tables
            .iter()
            .map(|table| Table {
                name: table.name.clone(),
                fields: table.fields.clone(),
                records: old.remove(&table.name).unwrap_or_default(),
            })
            .collect();
        Ok(())
    }

    fn open(&self, _worker: usize) -> Result<Box<dyn Client>, OpenError> {
        Ok(Box::new(LedgerClient {
            state: Arc::clone(&self.state),
            connections: self.connections,
            flaw: self.flaw,
            beginning: HashSet::new(),
            drafts: HashMap::new(),
            answered: VecDeque::new(),
        }))
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        Ok(Vec::new())
    }

    fn clear(&self) -> Result<(), OpenError> {
        lock(&self.state).tables.iter_mut().for_each(|table| table.records.clear());
        Ok(())
    }
}

fn lock(state: &Mutex<LedgerState>) -> MutexGuard<'_, LedgerState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn writes(kind: Kind) -> bool {
    !matches!(kind, Kind::Read | Kind::Scan)
}

impl LedgerState {
    fn perform(&mut self, request: &Request<'_>) -> Ended {
        let table = self.tables.get_mut(usize::from(request.table)).ok_or(Reason::Malformed)?;
        let (records, names) = (&mut table.records, &table.fields);
        let mut rows = Vec::new();
        match request.kind {
            Kind::Read | Kind::Scan => {
                let is_read = request.kind == Kind::Read;
                let limit = if is_read { 1 } else { request.limit as usize };
                for (key, record) in records.range(request.key.to_vec()..).take(limit) {
                    if !is_read || key == request.key {
                        row::copy(record, request.fields, names, &mut rows)?;
                    }
                }
                Ok((!rows.is_empty(), rows))
            }
            Kind::Insert => {
                let mut record = Vec::new();
                row::make(&request.values, names, &mut record)?;
                records.insert(request.key.to_vec(), record);
                Ok(WRITTEN)
            }
            Kind::Update => {
                let Some(record) = records.get_mut(request.key) else {
                    return Ok((false, rows));
                };
                row::merge(record, &request.values, names, &mut rows)?;
                *record = rows;
                Ok(WRITTEN)
            }
            Kind::Delete => Ok((records.remove(request.key).is_some(), rows)),
            Kind::Commit | Kind::Rollback => Err(Reason::Unsupported),
        }
    }
}

impl LedgerClient {
    fn perform(&mut self, request: &Request<'_>) -> Ended {
        let session = request.session;
        match request.kind {
            Kind::Commit => return self.commit(session),
            Kind::Rollback if self.flaw == Flaw::KeepsRollbacks => return self.commit(session),
            Kind::Rollback => {
                self.forget(session);
                return Ok(WRITTEN);
            }
            _ => {}
        }
        let is_within = self.drafts.contains_key(&session);
        if !is_within && !self.is_ready() {
            return Err(Reason::InFlightLimit);
        }
        match self.beginning.remove(&session) || is_within {
            true => self.step(request),
            false => self.alone(request),
        }
    }

    fn step(&mut self, request: &Request<'_>) -> Ended {
        let state = &self.state;
        let draft = self.drafts.entry(request.session).or_insert_with(|| {
            let before = lock(state).clone();
            Draft { now: before.clone(), before, has_written: false }
        });
        draft.has_written |= writes(request.kind);
        let ended = match (self.flaw, request.kind) {
            (Flaw::ReadsPast, Kind::Read) | (Flaw::ScansPast, Kind::Scan) => {
                draft.before.perform(request)
            }
            _ => draft.now.perform(request),
        };
        if ended.is_err() && self.flaw != Flaw::OutlivesFailures {
            self.forget(request.session);
        }
        ended
    }

    fn alone(&mut self, request: &Request<'_>) -> Ended {
        if writes(request.kind) {
            let mut state = lock(&self.state);
            state.changes += 1;
            return state.perform(request);
        }
        match self.drafts.values_mut().next() {
            Some(draft) if self.flaw == Flaw::ShowsDrafts => draft.now.perform(request),
            _ => lock(&self.state).perform(request),
        }
    }

    fn commit(&mut self, session: u32) -> Ended {
        let had_begun = self.beginning.remove(&session);
        let Some(draft) = self.drafts.remove(&session) else {
            let is_acknowledged = had_begun || self.flaw == Flaw::CommitsNothing;
            return if is_acknowledged { Ok(WRITTEN) } else { Err(Reason::TransactionFailed) };
        };
        let mut state = lock(&self.state);
        if !draft.has_written || self.flaw == Flaw::ForgetsCommits {
            return Ok(WRITTEN);
        }
        if state.changes != draft.before.changes && self.flaw != Flaw::LosesUpdates {
            return Err(Reason::Conflict);
        }
        let changes = state.changes + 1;
        *state = LedgerState { changes, ..draft.now };
        Ok(WRITTEN)
    }

    fn forget(&mut self, session: u32) {
        self.beginning.remove(&session);
        self.drafts.remove(&session);
    }
}

impl Client for LedgerClient {
    fn is_ready(&self) -> bool {
        self.drafts.len() < self.connections
    }

    fn start(
        &mut self,
        _now: Nanos,
        ticket: Ticket,
        request: &Request<'_>,
        _answers: &mut dyn Answers,
    ) {
        let ended = self.perform(request);
        self.answered.push_back(DueAnswer { ticket, session: request.session, ended });
    }

    fn begin(&mut self, session: u32) {
        if self.flaw != Flaw::CarriesOn {
            self.forget(session);
        }
        self.beginning.insert(session);
    }

    fn abort(&mut self, session: u32) {
        if self.flaw == Flaw::KeepsWhatIsLeft {
            let _ = self.commit(session);
        }
        self.forget(session);
    }

    fn poll(&mut self, _now: Nanos, answers: &mut dyn Answers) {
        for DueAnswer { ticket, ended, .. } in self.answered.drain(..) {
            match ended {
                Ok((found, rows)) => {
                    let reply = Reply { found, rows: Rows::Encoded(&rows) };
                    answers.answer(ticket, Answer::Done(reply));
                }
                Err(reason) => answers.answer(ticket, Answer::Refused(reason)),
            }
        }
    }

    /// Everything has happened when it was started: waiting would only take time.
    fn wait(&mut self, _timeout: Duration) {}

    fn abandon(&mut self, ticket: Ticket) {
        let place = self.answered.iter().position(|answer| answer.ticket == ticket);
        if let Some(answer) = place.and_then(|place| self.answered.remove(place)) {
            if self.flaw == Flaw::KeepsWhatIsAbandoned {
                let _ = self.commit(answer.session);
            }
            self.forget(answer.session);
        }
    }
}
