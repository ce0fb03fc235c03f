//! The pure heart: told time with a request in, an answer with the time when it is due out.
//!
//! A request takes effect when it comes, at the node that takes it; what follows is only when
//! others see it and when its answer is due. So a healthy store is linearizable whatever its
//! latency, and every illness is a departure that was asked for.

mod write;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Bound;
use std::sync::Arc;

use assay_model::{Draws, Kind, Nanos, Reason, Seed};

use super::chain::{Chain, Mark, View};
use super::config::{Config, ReadFrom};
use super::delay::Drawn;
use super::ills::Ill;
use super::log::Log;
use super::queue::Queue;
use super::spread::Ways;
use crate::truth::{Illness, Illnesses, Truth};
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

/// One request to a sick store.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The conversation that it belongs to.
    pub session: u32,
    /// What is asked.
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
pub struct Given {
    /// When it is due; [`Nanos::NEVER`] if nobody will ever hear it.
    pub due: Nanos,
    /// What the request did or showed, or why it was refused.
    pub result: Result<Shown, Reason>,
}

/// What a request did or showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// There was no such record.
    Missing,
    /// It was written.
    Written,
    /// This record.
    Row(Arc<[u8]>),
    /// These records, in order of their keys.
    Rows(Vec<Arc<[u8]>>),
}

/// A store that lives in told time.
#[derive(Debug)]
pub struct World {
    config: Config,
    seed: Seed,
    ways: Ways,
    readers: Vec<usize>,
    tables: Vec<Table>,
    queues: Vec<Queue>,
    /// When the first request since the last settling came.
    begin: Option<Nanos>,
    /// The last moment that was told.
    now: Nanos,
    is_settled: bool,
    /// Requests since the last settling: the counter that all draws depend on.
    count: u64,
    /// The number of the newest version.
    newest: u64,
    /// Versions up to this one were written before the last settling.
    loaded: u64,
    /// Writes that will be done once more, by when and which.
    again: BinaryHeap<Reverse<(Nanos, u64)>>,
    again_by_count: BTreeMap<u64, Again>,
    /// Until when everything stands still.
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
    /// Its number since the last settling.
    count: u64,
    now: Nanos,
    /// How long after the first request it came.
    since: Nanos,
    node: usize,
    /// When its answer would be due if nobody else had to be waited for.
    due: Nanos,
    illnesses: Illnesses,
}

/// What a read was shown, for the truth log.
#[derive(Default)]
struct Seen {
    illnesses: Illnesses,
    version: u64,
    behind: u32,
    staleness: Nanos,
    read_after_write: Option<Nanos>,
}

impl World {
    /// An empty store that answers at once, and rightly, until it is first settled.
    ///
    /// # Errors
    /// If `config` makes no sense, with a sentence.
    pub fn new(config: Config, seed: Seed) -> Result<World, String> {
        config.check()?;
        let mut world = World {
            seed: config.seed.unwrap_or(seed),
            ways: Ways::new(&config),
            readers: readers(&config),
            tables: Vec::new(),
            queues: Vec::new(),
            begin: None,
            now: Nanos::ZERO,
            is_settled: false,
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

    /// What really happened since the last settling.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Whether it has been settled, so that it may be slow or ill.
    pub fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// Versions that were forgotten although some node had still to show them.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// How many requests came since the last settling.
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
    /// begin anew with the next request, and from now on the store may be slow or ill.
    pub fn settle(&mut self) {
        for table in &mut self.tables {
            table.records.retain(|key, chain| {
                self.bytes -= chain.settle();
                let is_kept = !chain.versions().is_empty();
                self.bytes -= if is_kept { 0 } else { key.len() };
                is_kept
            });
        }
        self.again.clear();
        self.again_by_count.clear();
        self.loaded = self.newest;
        self.is_settled = true;
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

    /// Asks one thing `now`. Time never runs back: an earlier `now` counts as the last one.
    pub fn ask(&mut self, now: Nanos, asked: &Asked<'_>) -> Given {
        self.ask_together(now, std::slice::from_ref(asked))
    }

    /// Asks several writes as one request, or one request of any kind.
    ///
    /// # Panics
    /// If nothing is asked.
    pub fn ask_together(&mut self, now: Nanos, parts: &[Asked<'_>]) -> Given {
        let asked = parts.first().expect("a request asks something");
        if !self.is_settled {
            let result = self.load(now, parts);
            return Given { due: now, result };
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
            illnesses: Illnesses::NONE,
        };
        self.count += 1;
        if !asked.kind.writes() {
            turn.node = self.reader(&turn);
        }
        if self.ways.is_down(turn.node, turn.since) {
            return self.turn_away(turn, asked, Illness::Down, Reason::Unreachable);
        }
        if self.strikes(&self.config.ills.refused, stream::REFUSED, &turn) {
            turn.due = self.served(&turn);
            return self.turn_away(turn, asked, Illness::Refused, Reason::Busy);
        }
        let wait = self.queues[turn.node].arrive(turn.since);
        turn.due = self.served(&turn).saturating_add(wait);
        let is_silent = self.strikes(&self.config.ills.silent, stream::SILENT, &turn);
        if is_silent {
            turn.due = Nanos::NEVER;
            turn.illnesses = turn.illnesses.with(Illness::Silent);
            // Whether it is done nobody can tell from outside: every other one is.
            if self.draws(stream::SILENT, turn.count, 1).unit() < 0.5 {
                self.note(&turn, asked, Seen::default());
                return Given { due: turn.due, result: Ok(Shown::Missing) };
            }
        }
        match asked.kind {
            Kind::Read => self.read(turn, asked),
            Kind::Scan => self.scan(turn, asked),
            Kind::Insert | Kind::Update | Kind::Delete => self.write(turn, parts),
            Kind::Commit | Kind::Rollback => {
                self.turn_away(turn, asked, Illness::Refused, Reason::Unsupported)
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

    /// Whether `ill` strikes this request.
    fn strikes(&self, ill: &Ill, stream: u64, turn: &Turn) -> bool {
        ill.is_on()
            && ill.window.has(turn.since)
            && self.draws(stream, turn.count, 0).unit() < ill.rate
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
        asked: &Asked<'_>,
        illness: Illness,
        reason: Reason,
    ) -> Given {
        turn.illnesses = turn.illnesses.with(illness);
        self.note(&turn, asked, Seen::default());
        Given { due: turn.due, result: Err(reason) }
    }

    fn read(&mut self, turn: Turn, asked: &Asked<'_>) -> Given {
        let cache = &self.config.ills.stale_cache;
        let is_cached = self.strikes(cache, stream::STALE_CACHE, &turn);
        let age = cache.span.unwrap_or(CACHE_AGE);
        let record = self.tables[asked.table].records.get_key_value(asked.key);
        let Some((key, chain)) = record else {
            self.note(&turn, asked, Seen::default());
            return Given { due: turn.due, result: Ok(Shown::Missing) };
        };
        let key = Arc::clone(key);
        let mut view = chain.view(turn.node, turn.now);
        let mut illnesses = stale(&view);
        if is_cached {
            // A cache holds what was there; of a record that was not there it knows nothing.
            let cached = chain.view(turn.node, turn.now.since(age));
            let number = |view: &View<'_>| view.shown.map(|version| version.number);
            if cached.shown.is_some() && number(&cached) != number(&view) {
                illnesses = illnesses.with(Illness::StaleCache);
                view = cached;
            }
        }
        let seen = self.seen(&view, turn.now, illnesses);
        let row = view.shown.and_then(|version| version.row.clone());
        self.note_about(&turn, asked, seen, |_| key);
        Given { due: turn.due, result: Ok(row.map_or(Shown::Missing, Shown::Row)) }
    }

    /// What a view means for whoever read it, beside the `illnesses` of the node that showed it.
    fn seen(&self, view: &View<'_>, now: Nanos, illnesses: Illnesses) -> Seen {
        let illness = match view.shown.map(|version| version.mark) {
            Some(Mark::Half) => Some(Illness::TornRead),
            Some(Mark::Dirty | Mark::Undone) => Some(Illness::DirtyRead),
            Some(Mark::Again) => Some(Illness::DuplicateRead),
            Some(Mark::Plain) | None => None,
        };
        let number = view.shown.map_or(0, |version| version.number);
        let is_of_this_run = number > self.loaded && view.behind == 0;
        let written = view.shown.filter(|version| is_of_this_run && version.row.is_some());
        Seen {
            illnesses: illness.map_or(illnesses, |illness| illnesses.with(illness)),
            version: number,
            behind: view.behind,
            staleness: view.newest_at.map_or(Nanos::ZERO, |at| now.since(at)),
            read_after_write: written.map(|version| now.since(version.at)),
        }
    }

    fn scan(&mut self, turn: Turn, asked: &Asked<'_>) -> Given {
        let from = (Bound::Included(asked.key), Bound::Unbounded);
        let mut rows = Vec::new();
        let mut all = Seen::default();
        for (_, chain) in self.tables[asked.table].records.range::<[u8], _>(from) {
            if rows.len() >= asked.limit as usize {
                break;
            }
            let view = chain.view(turn.node, turn.now);
            let seen = self.seen(&view, turn.now, stale(&view));
            all.illnesses = seen.illnesses.iter().fold(all.illnesses, Illnesses::with);
            all.behind = all.behind.max(seen.behind);
            all.staleness = all.staleness.max(seen.staleness);
            rows.extend(view.shown.and_then(|version| version.row.clone()));
        }
        self.note(&turn, asked, all);
        let shown = if rows.is_empty() { Shown::Missing } else { Shown::Rows(rows) };
        Given { due: turn.due, result: Ok(shown) }
    }

    /// Puts what happened into the truth log.
    fn note(&mut self, turn: &Turn, asked: &Asked<'_>, seen: Seen) {
        self.note_about(turn, asked, seen, |records| match records.get_key_value(asked.key) {
            Some((key, _)) => Arc::clone(key),
            None => asked.key.into(),
        });
    }

    /// The same, where the key may be known already: finding it is half of the cost.
    fn note_about(
        &mut self,
        turn: &Turn,
        asked: &Asked<'_>,
        seen: Seen,
        key: impl FnOnce(&BTreeMap<Arc<[u8]>, Chain>) -> Arc<[u8]>,
    ) {
        let records = &self.tables[asked.table].records;
        self.log.push(|| Truth {
            at: turn.now,
            answered_at: turn.due,
            session: asked.session,
            kind: asked.kind,
            key: key(records),
            node: turn.node as u16,
            illnesses: seen.illnesses.iter().fold(turn.illnesses, Illnesses::with),
            version: seen.version,
            versions_behind: seen.behind,
            staleness: seen.staleness,
            read_after_write: seen.read_after_write,
        });
    }
}

/// Whether the node that shows this has yet to show something newer.
fn stale(view: &View<'_>) -> Illnesses {
    if view.behind > 0 { Illness::Stale.into() } else { Illnesses::NONE }
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
