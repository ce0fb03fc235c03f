//! The simulation's pure core: a request and a time in, a response with its due time out.
//!
//! A request takes effect when it comes, at the node that takes it; what follows is only when
//! others see it and when its answer is due. So a healthy store is linearizable whatever its
//! latency, and every fault is a configured departure.

mod write;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Bound;
use std::sync::Arc;

use assay_model::{Draws, Kind, Nanos, Reason, Seed};

use super::chain::{Chain, Mark, View};
use super::config::{Config, ReadFrom};
use super::delay::Drawn;
use super::fault_model::FaultRate;
use super::log::Log;
use super::queue::Queue;
use super::spread::WritePaths;
use assay_store::truth::{Fault, FaultSet, Truth};
use write::Again;

/// The streams of draws, one for each thing that chance decides.
mod stream {
    pub const NODE: u64 = 0x7369_636B_0001;
    pub const LATENCY: u64 = 0x7369_636B_0002;
    pub const SPREAD: u64 = 0x7369_636B_0003;
    pub const AGAIN: u64 = 0x7369_636B_0004;
    pub const LOST: u64 = 0x7369_636B_0010;
    pub const DUPLICATE: u64 = 0x7369_636B_0011;
    pub const TORN: u64 = 0x7369_636B_0012;
    pub const DIRTY: u64 = 0x7369_636B_0013;
    pub const UNDONE: u64 = 0x7369_636B_0014;
    pub const STALE_CACHE: u64 = 0x7369_636B_0015;
    pub const REFUSED: u64 = 0x7369_636B_0016;
    pub const SILENT: u64 = 0x7369_636B_0017;
}

/// How old the content of a stale cache is, if its option does not say.
const CACHE_AGE: Nanos = Nanos::from_secs(1);

/// One request to a simulated store.
#[derive(Clone, Copy, Debug)]
pub struct SimRequest<'a> {
    /// The conversation that it belongs to.
    pub session: u32,
    /// The request.
    pub kind: Kind,
    /// The number that [`World::table`] gave.
    pub table: usize,
    /// The record's key; where a scan starts.
    pub key: &'a [u8],
    /// What is written, as a row in our own encoding.
    pub patch: &'a [u8],
    /// The most records to return, for scans.
    pub limit: u32,
}

/// An answer, and when it is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimAnswer {
    /// When it is due; [`Nanos::NEVER`] if it never comes.
    pub due: Nanos,
    /// The node that answers, by its place in the [`Config`].
    pub node: usize,
    /// What the request did or showed, or why it was refused.
    pub result: Result<SimEffect, Reason>,
}

/// What a request did or showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SimEffect {
    /// There was no such record.
    Missing,
    /// It was written.
    Written,
    /// This record.
    Row(Arc<[u8]>),
    /// These records, in order of their keys.
    Rows(Vec<Arc<[u8]>>),
}

/// A store in simulated time.
#[derive(Debug)]
pub struct World {
    config: Config,
    seed: Seed,
    ways: WritePaths,
    readers: Vec<usize>,
    /// The node that answers the next reads, if one was chosen.
    only_reader: Option<usize>,
    tables: Vec<Table>,
    queues: Vec<Queue>,
    /// When the first request since it was last quiesced came.
    begin: Option<Nanos>,
    /// The last moment that was passed in.
    now: Nanos,
    is_quiesced: bool,
    /// Requests since it was last quiesced: the counter that all draws depend on.
    count: u64,
    /// The number of the newest version.
    newest: u64,
    /// Versions up to this one were written before it was last quiesced.
    loaded: u64,
    /// Writes that will be done once more, by when and which.
    again: BinaryHeap<Reverse<(Nanos, u64)>>,
    again_by_count: BTreeMap<u64, Again>,
    /// The end of the current stop.
    stopped_until: Nanos,
    /// When the last of the requests that are being served ends.
    serving_until: Nanos,
    bytes: usize,
    /// Versions that were forgotten although some node had still to show them.
    forgotten: u64,
    log: Log,
}

#[derive(Debug)]
struct Table {
    name: String,
    records: BTreeMap<Arc<[u8]>, Chain>,
}

/// One request on its way through the store.
struct Turn {
    /// Its number since it was last quiesced.
    count: u64,
    now: Nanos,
    /// How long after the first request it came.
    since: Nanos,
    node: usize,
    /// When its response would be due without waiting for replicas.
    due: Nanos,
    faults: FaultSet,
}

/// What a read was shown, for the truth log.
#[derive(Default)]
struct ReadView {
    faults: FaultSet,
    version: u64,
    behind: u32,
    staleness: Nanos,
    read_after_write: Option<Nanos>,
}

impl World {
    /// An empty store that answers at once, and rightly, until it is first quiesced.
    ///
    /// # Errors
    /// If `config` is invalid, with a sentence.
    pub fn new(config: Config, seed: Seed) -> Result<World, String> {
        config.check()?;
        let mut world = World {
            seed: config.seed.unwrap_or(seed),
            ways: WritePaths::new(&config),
            readers: readers(&config),
            only_reader: None,
            tables: Vec::new(),
            queues: Vec::new(),
            begin: None,
            now: Nanos::ZERO,
            is_quiesced: false,
            count: 0,
            newest: 0,
            loaded: 0,
            again: BinaryHeap::new(),
            again_by_count: BTreeMap::new(),
            stopped_until: Nanos::ZERO,
            serving_until: Nanos::ZERO,
            bytes: 0,
            forgotten: 0,
            log: Log::new(config.limits.truth),
            config,
        };
        world.rest();
        Ok(world)
    }

    /// What the store is like.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The seed that it draws from.
    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// The nodes that may answer reads.
    pub fn readers(&self) -> &[usize] {
        &self.readers
    }

    /// From now on this node answers reads; none lets the configuration decide.
    pub fn read_at(&mut self, node: Option<usize>) {
        self.only_reader = node;
    }

    /// What really happened since it was last quiesced.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Whether it has been quiesced, so that it may be slow or faulty.
    pub fn is_quiesced(&self) -> bool {
        self.is_quiesced
    }

    /// Versions that were forgotten although some node had still to show them.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// How many requests came since the counters were last compared.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many records the primary would show now.
    pub fn records(&self) -> usize {
        let is_there = |chain: &&Chain| chain.current().is_some();
        self.tables.iter().map(|table| table.records.values().filter(is_there).count()).sum()
    }

    /// The record as it is, whichever node may show it already.
    pub fn current(&self, table: usize, key: &[u8]) -> Option<Arc<[u8]>> {
        self.tables[table].records.get(key)?.current().cloned()
    }

    /// Whether nothing more may be kept.
    pub fn is_full(&self) -> bool {
        self.bytes >= self.config.limits.bytes
    }

    /// Counts `bytes` that are kept beside the records, where there were `before`.
    pub fn keep(&mut self, bytes: usize, before: usize) {
        self.bytes = self.bytes + bytes - before;
    }

    /// The number of the table called `name`, which is made if there is none.
    pub fn table(&mut self, name: &str) -> usize {
        let known = self.tables.iter().position(|table| table.name == name);
        known.unwrap_or_else(|| {
            self.tables.push(Table { name: name.into(), records: BTreeMap::new() });
            self.tables.len() - 1
        })
    }

    /// Removes every record, and counts nothing as kept beside them. Clocks, queues and the truth
    /// log go on.
    pub fn clear(&mut self) {
        for table in &mut self.tables {
            table.records.clear();
        }
        self.again.clear();
        self.again_by_count.clear();
        self.bytes = 0;
    }

    /// Everything written so far is everywhere; clocks, queues, hiccups, draws and the truth log
    /// begin anew with the next request, and from now on the store may be slow or faulty.
    pub fn quiesce(&mut self) {
        for table in &mut self.tables {
            table.records.retain(|key, chain| {
                self.bytes -= chain.quiesce();
                let is_kept = !chain.versions().is_empty();
                self.bytes -= if is_kept { 0 } else { key.len() };
                is_kept
            });
        }
        self.again.clear();
        self.again_by_count.clear();
        self.loaded = self.newest;
        self.is_quiesced = true;
        self.rest();
    }

    fn rest(&mut self) {
        let Config { clock, own_service, .. } = self.config;
        let queue =
            |node: &super::config::Node| Queue::new(node.max, node.hiccup, own_service, clock);
        self.queues = self.config.nodes.iter().map(queue).collect();
        self.begin = None;
        self.now = Nanos::ZERO;
        self.count = 0;
        self.stopped_until = Nanos::ZERO;
        self.serving_until = Nanos::ZERO;
        self.log.clear();
    }

    /// Executes one request `now`. Time never runs back: an earlier `now` counts as the last one.
    pub fn send(&mut self, now: Nanos, requested: &SimRequest<'_>) -> SimAnswer {
        self.send_together(now, std::slice::from_ref(requested))
    }

    /// Executes several writes as one request, or one request of any kind.
    ///
    /// # Panics
    /// If `parts` is empty.
    pub fn send_together(&mut self, now: Nanos, parts: &[SimRequest<'_>]) -> SimAnswer {
        let requested = parts.first().expect("a request has a part");
        if !self.is_quiesced {
            let result = self.load(now, parts);
            return SimAnswer { due: now, node: self.ways.primary(), result };
        }
        self.now = self.now.max(now);
        let begin = *self.begin.get_or_insert(self.now);
        self.do_again();
        let mut turn = Turn {
            count: self.count,
            now: self.now,
            since: self.now.since(begin),
            node: self.ways.primary(),
            due: self.now,
            faults: FaultSet::NONE,
        };
        self.count += 1;
        if !requested.kind.writes() {
            turn.node = self.only_reader.unwrap_or_else(|| self.reader(&turn));
        }
        if self.ways.is_down(turn.node, turn.since) {
            return self.turn_away(turn, requested, Fault::Down, Reason::Unreachable);
        }
        if self.strikes(&self.config.fault_model.refused, stream::REFUSED, &turn) {
            turn.due = self.served(&turn);
            return self.turn_away(turn, requested, Fault::Refused, Reason::Busy);
        }
        let wait = self.queues[turn.node].arrive(turn.since);
        turn.due = self.served(&turn).saturating_add(wait);
        let is_silent = self.strikes(&self.config.fault_model.silent, stream::SILENT, &turn);
        if is_silent {
            turn.due = Nanos::NEVER;
            turn.faults = turn.faults.with(Fault::Silent);
            // The client cannot know whether it is done: every other one is.
            if self.draws(stream::SILENT, turn.count, 1).unit() < 0.5 {
                self.note(&turn, requested, ReadView::default());
                return SimAnswer {
                    due: turn.due,
                    node: turn.node,
                    result: Ok(SimEffect::Missing),
                };
            }
        }
        match requested.kind {
            Kind::Read => self.read(turn, requested),
            Kind::Scan => self.scan(turn, requested),
            Kind::Insert | Kind::Update | Kind::Delete => self.write(turn, parts),
            Kind::Commit | Kind::Rollback => {
                self.turn_away(turn, requested, Fault::Refused, Reason::Unsupported)
            }
        }
    }

    /// The draws of request `count`, beginning with the one after `skipped` others.
    fn draws(&self, stream: u64, count: u64, skipped: u32) -> Draws {
        let mut draws = self.seed.draws(stream, count);
        for _ in 0..skipped {
            draws.bits();
        }
        draws
    }

    /// Whether this request gets the fault of `fault_rate`.
    fn strikes(&self, fault_rate: &FaultRate, stream: u64, turn: &Turn) -> bool {
        fault_rate.is_on()
            && fault_rate.window.has(turn.since)
            && self.draws(stream, turn.count, 0).unit() < fault_rate.rate
    }

    /// The node that answers a read: one of those that may and are up, or one that is down if all
    /// of them are.
    fn reader(&self, turn: &Turn) -> usize {
        let is_up = |node: &&usize| !self.ways.is_down(**node, turn.since);
        let up = self.readers.iter().filter(is_up).count();
        let first = self.readers[0];
        match (&self.config.read_from, up) {
            (ReadFrom::Secondary | ReadFrom::Any, 1..) if self.readers.len() > 1 => {
                let chosen = self.draws(stream::NODE, turn.count, 0).below(up as u64) as usize;
                *self.readers.iter().filter(is_up).nth(chosen).expect("it is one of those up")
            }
            (ReadFrom::Nearest, _) => *self.readers.iter().find(is_up).unwrap_or(&first),
            _ => first,
        }
    }

    /// When a request that comes now is served, its wait in the queue aside.
    fn served(&mut self, turn: &Turn) -> Nanos {
        let latency = &self.config.nodes[turn.node].latency;
        let Drawn { length, stops } = latency.draw(&mut self.draws(stream::LATENCY, turn.count, 0));
        // What stops everything waits for what is under way, what comes after waits for it.
        let from = turn.now.max(self.stopped_until);
        let from = if stops { from.max(self.serving_until) } else { from };
        let until = from.saturating_add(length);
        if stops {
            self.stopped_until = until;
        }
        self.serving_until = self.serving_until.max(until);
        until
    }

    fn turn_away(
        &mut self,
        mut turn: Turn,
        requested: &SimRequest<'_>,
        fault: Fault,
        reason: Reason,
    ) -> SimAnswer {
        turn.faults = turn.faults.with(fault);
        self.note(&turn, requested, ReadView::default());
        SimAnswer { due: turn.due, node: turn.node, result: Err(reason) }
    }

    fn read(&mut self, turn: Turn, requested: &SimRequest<'_>) -> SimAnswer {
        let cache = &self.config.fault_model.stale_cache;
        let is_cached = self.strikes(cache, stream::STALE_CACHE, &turn);
        let age = cache.span.unwrap_or(CACHE_AGE);
        let record = self.tables[requested.table].records.get_key_value(requested.key);
        let Some((key, chain)) = record else {
            self.note(&turn, requested, ReadView::default());
            return SimAnswer { due: turn.due, node: turn.node, result: Ok(SimEffect::Missing) };
        };
        let key = Arc::clone(key);
        let mut view = chain.view(turn.node, turn.now);
        let mut faults = stale(&view);
        if is_cached {
            // A cache holds what was there; of a record that was not there it knows nothing.
            let cached = chain.view(turn.node, turn.now.since(age));
            let number = |view: &View<'_>| view.displayed.map(|version| version.number);
            if cached.displayed.is_some() && number(&cached) != number(&view) {
                faults = faults.with(Fault::StaleCache);
                view = cached;
            }
        }
        let observed = self.observed(&view, turn.now, faults);
        let row = view.displayed.and_then(|version| version.row.clone());
        self.note_about(&turn, requested, observed, |_| key);
        SimAnswer {
            due: turn.due,
            node: turn.node,
            result: Ok(row.map_or(SimEffect::Missing, SimEffect::Row)),
        }
    }

    /// The faults of a view for its reader, in addition to the `faults` of the node that showed it.
    fn observed(&self, view: &View<'_>, now: Nanos, faults: FaultSet) -> ReadView {
        let fault = match view.displayed.map(|version| version.mark) {
            Some(Mark::Half) => Some(Fault::TornRead),
            Some(Mark::Dirty | Mark::Undone) => Some(Fault::DirtyRead),
            Some(Mark::Again) => Some(Fault::DuplicateRead),
            Some(Mark::Plain) | None => None,
        };
        let number = view.displayed.map_or(0, |version| version.number);
        let is_of_this_run = number > self.loaded && view.behind == 0;
        let written = view.displayed.filter(|version| is_of_this_run && version.row.is_some());
        ReadView {
            faults: fault.map_or(faults, |fault| faults.with(fault)),
            version: number,
            behind: view.behind,
            staleness: view.newest_at.map_or(Nanos::ZERO, |at| now.since(at)),
            read_after_write: written.map(|version| now.since(version.at)),
        }
    }

    fn scan(&mut self, turn: Turn, requested: &SimRequest<'_>) -> SimAnswer {
        let from = (Bound::Included(requested.key), Bound::Unbounded);
        let mut rows = Vec::new();
        let mut all = ReadView::default();
        for (_, chain) in self.tables[requested.table].records.range::<[u8], _>(from) {
            if rows.len() >= requested.limit as usize {
                break;
            }
            let view = chain.view(turn.node, turn.now);
            let observed = self.observed(&view, turn.now, stale(&view));
            all.faults = observed.faults.iter().fold(all.faults, FaultSet::with);
            all.behind = all.behind.max(observed.behind);
            all.staleness = all.staleness.max(observed.staleness);
            rows.extend(view.displayed.and_then(|version| version.row.clone()));
        }
        self.note(&turn, requested, all);
        let displayed = if rows.is_empty() { SimEffect::Missing } else { SimEffect::Rows(rows) };
        SimAnswer { due: turn.due, node: turn.node, result: Ok(displayed) }
    }

    /// Puts what happened into the truth log.
    fn note(&mut self, turn: &Turn, requested: &SimRequest<'_>, observed: ReadView) {
        self.note_about(turn, requested, observed, |records| {
            match records.get_key_value(requested.key) {
                Some((key, _)) => Arc::clone(key),
                None => requested.key.into(),
            }
        });
    }

    /// The same, where the key may be known already: finding it is half of the cost.
    fn note_about(
        &mut self,
        turn: &Turn,
        requested: &SimRequest<'_>,
        observed: ReadView,
        key: impl FnOnce(&BTreeMap<Arc<[u8]>, Chain>) -> Arc<[u8]>,
    ) {
        let records = &self.tables[requested.table].records;
        self.log.push(|| Truth {
            at: turn.now,
            answered_at: turn.due,
            session: requested.session,
            kind: requested.kind,
            key: key(records),
            node: turn.node as u16,
            faults: observed.faults.iter().fold(turn.faults, FaultSet::with),
            version: observed.version,
            versions_behind: observed.behind,
            staleness: observed.staleness,
            read_after_write: observed.read_after_write,
        });
    }
}

/// Whether the node that shows this has yet to show something newer.
fn stale(view: &View<'_>) -> FaultSet {
    if view.behind > 0 { Fault::Stale.into() } else { FaultSet::NONE }
}

/// The nodes that may answer reads, the best first.
fn readers(config: &Config) -> Vec<usize> {
    let nodes = &config.nodes;
    let mut all: Vec<usize> = (0..nodes.len()).collect();
    match &config.read_from {
        ReadFrom::Primary => all.retain(|node| nodes[*node].is_primary),
        ReadFrom::Secondary => all.retain(|node| !nodes[*node].is_primary),
        ReadFrom::Node(name) => all.retain(|node| nodes[*node].name == *name),
        ReadFrom::Any => {}
        ReadFrom::Nearest => {
            let mean = |node: usize| nodes[node].latency.mean();
            all.sort_by(|a, b| mean(*a).total_cmp(&mean(*b)));
        }
    }
    all
}

#[cfg(test)]
mod tests;
