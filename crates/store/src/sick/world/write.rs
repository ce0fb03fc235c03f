//! What a write does to a store, in health as in sickness.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use assay_model::{Kind, Nanos, Reason};

use super::{Asked, CACHE_AGE, Given, Seen, Shown, Turn, World, stream};
use crate::sick::chain::{Chain, Mark, Seen as SeenFrom, Version};
use crate::sick::config::Updates;
use crate::sick::rows;
use crate::sick::spread::{Spreading, until_commit};
use crate::truth::Illness;

/// How late a duplicate comes if its option does not say.
const DUPLICATE_AFTER: Nanos = Nanos::from_secs(1);

/// How long a torn write shows by halves if its option does not say.
const TORN_FOR: Nanos = Nanos::from_millis(10);

/// How long what was refused, or will be undone, can be read if its option does not say.
const SEEN_FOR: Nanos = Nanos::from_millis(100);

/// A write that will be done once more.
#[derive(Debug)]
pub(super) struct Again {
    kind: Kind,
    table: usize,
    key: Arc<[u8]>,
    patch: Box<[u8]>,
}

/// What a write is to become.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Healthy,
    Lost,
    Dirty,
    Undone,
    Torn,
    Duplicate,
}

/// What a write would put in place of what is there.
enum Effect {
    /// This row.
    Row(Arc<[u8]>),
    /// Nothing: the record is removed.
    Removed,
    /// There is no such record.
    Missing,
}

impl World {
    /// Does all `parts`, which are writes, as one request.
    pub(super) fn write(&mut self, mut turn: Turn, parts: &[Asked<'_>]) -> Given {
        let first = &parts[0];
        let grows = parts.iter().any(|part| part.kind != Kind::Delete);
        if grows && self.is_full() {
            self.note(&turn, first, Seen::default());
            return Given { due: turn.due, result: Err(Reason::Full) };
        }
        if let Some(reason) = self.objection(parts) {
            self.note(&turn, first, Seen::default());
            return Given { due: turn.due, result: Err(reason) };
        }
        let is_missing = |part: &&Asked<'_>| matches!(self.effect(part), Effect::Missing);
        if parts.iter().all(|part| is_missing(&part)) {
            self.note(&turn, first, Seen::default());
            return Given { due: turn.due, result: Ok(Shown::Missing) };
        }
        let fate = self.fate(&turn, parts);
        if let Some(illness) = fate.illness() {
            turn.illnesses = turn.illnesses.with(illness);
        }
        let mut draws = self.draws(stream::SPREAD, turn.count, 0);
        let spreading = self.ways.spread(turn.now, turn.since, &mut draws);
        let journal = match self.config.journaled {
            true => until_commit(self.config.journal_interval, turn.since),
            false => Nanos::ZERO,
        };
        let wait = spreading.acknowledged_after.max(journal);
        let is_refused = fate == Fate::Dirty;
        if !is_refused {
            turn.due = turn.due.saturating_add(wait);
        }
        for (place, part) in parts.iter().enumerate() {
            let is_late = parts.len() > 1 && place >= parts.len() / 2;
            self.write_part(&turn, part, fate, &spreading, is_late);
            let version = self.newest;
            self.note(&turn, part, Seen { version, ..Seen::default() });
        }
        let result = if is_refused { Err(Reason::Conflict) } else { Ok(Shown::Written) };
        Given { due: turn.due, result }
    }

    /// Fills the store before it is settled: at once, everywhere, never ill.
    pub(super) fn load(&mut self, now: Nanos, parts: &[Asked<'_>]) -> Result<Shown, Reason> {
        let first = &parts[0];
        self.now = self.now.max(now);
        if !first.kind.writes() {
            let primary = self.ways.primary();
            let records = &self.tables[first.table].records;
            let row_of = |chain: &Chain| {
                chain.view(primary, self.now).shown.and_then(|version| version.row.clone())
            };
            if first.kind == Kind::Read {
                let row = records.get(first.key).and_then(row_of);
                return Ok(row.map_or(Shown::Missing, Shown::Row));
            }
            let from = (std::ops::Bound::Included(first.key), std::ops::Bound::Unbounded);
            let there = records.range::<[u8], _>(from).filter_map(|(_, chain)| row_of(chain));
            let rows: Vec<Arc<[u8]>> = there.take(first.limit as usize).collect();
            return Ok(if rows.is_empty() { Shown::Missing } else { Shown::Rows(rows) });
        }
        if self.is_full() && first.kind != Kind::Delete {
            return Err(Reason::Full);
        }
        let mut shown = Shown::Missing;
        for part in parts {
            let row = match self.effect(part) {
                Effect::Missing => continue,
                Effect::Removed => None,
                Effect::Row(row) => Some(row),
            };
            shown = Shown::Written;
            self.newest += 1;
            let seen = SeenFrom::From(self.now);
            self.push(part, row, seen, Nanos::NEVER, (self.newest, Mark::Plain));
        }
        Ok(shown)
    }

    /// Does once more what is due to be done once more.
    pub(super) fn do_again(&mut self) {
        while let Some(&Reverse((at, count))) = self.again.peek() {
            if at > self.now {
                return;
            }
            self.again.pop();
            let again = self.again_by_count.remove(&count).expect("it was put there with its time");
            let Again { kind, table, key, patch } = &again;
            let (kind, table) = (*kind, *table);
            let asked = Asked { session: 0, kind, table, key, patch, limit: 1 };
            let row = match self.effect(&asked) {
                Effect::Missing => continue,
                Effect::Removed => None,
                Effect::Row(row) => Some(row),
            };
            let since = at.since(self.begin.unwrap_or(at));
            let mut draws = self.draws(stream::AGAIN, count, 0);
            let seen = self.ways.spread(at, since, &mut draws).seen;
            self.newest += 1;
            self.push_at(at, &asked, row, seen, Nanos::NEVER, (self.newest, Mark::Again));
        }
    }

    /// Why a strict store refuses one of these writes.
    fn objection(&self, parts: &[Asked<'_>]) -> Option<Reason> {
        if !self.config.strict {
            return None;
        }
        parts.iter().find_map(|part| {
            let is_there = self.chain(part).is_some_and(|chain| chain.current().is_some());
            match part.kind {
                Kind::Insert if is_there => Some(Reason::Exists),
                Kind::Update | Kind::Delete if !is_there => Some(Reason::StoreError),
                _ => None,
            }
        })
    }

    fn chain(&self, asked: &Asked<'_>) -> Option<&Chain> {
        self.tables[asked.table].records.get(asked.key)
    }

    /// What a write would make of what is there now.
    fn effect(&self, asked: &Asked<'_>) -> Effect {
        let current = self.chain(asked).and_then(Chain::current);
        match (asked.kind, current) {
            (Kind::Insert, _) => Effect::Row(asked.patch.into()),
            (_, None) => Effect::Missing,
            (Kind::Delete, Some(_)) => Effect::Removed,
            (_, Some(_)) if self.config.updates == Updates::Replace => {
                Effect::Row(asked.patch.into())
            }
            (_, Some(row)) => Effect::Row(rows::merge(row, asked.patch).into()),
        }
    }

    /// Which illness strikes the write; if several do, the first of this list.
    fn fate(&self, turn: &Turn, parts: &[Asked<'_>]) -> Fate {
        let ills = &self.config.ills;
        let is_many = parts.len() > 1;
        let can_tear =
            is_many || (parts[0].kind != Kind::Delete && rows::fields(parts[0].patch) > 1);
        if self.strikes(&ills.lost, stream::LOST, turn) {
            Fate::Lost
        } else if self.strikes(&ills.dirty, stream::DIRTY, turn) {
            Fate::Dirty
        } else if self.strikes(&ills.undone, stream::UNDONE, turn) {
            Fate::Undone
        } else if can_tear && self.strikes(&ills.torn, stream::TORN, turn) {
            Fate::Torn
        } else if !is_many && self.strikes(&ills.duplicate, stream::DUPLICATE, turn) {
            Fate::Duplicate
        } else {
            Fate::Healthy
        }
    }

    fn write_part(
        &mut self,
        turn: &Turn,
        asked: &Asked<'_>,
        fate: Fate,
        spreading: &Spreading,
        is_late: bool,
    ) {
        // A lost write has its number as well, so that the truth log can name it.
        self.newest += 1;
        let number = self.newest;
        let row = match self.effect(asked) {
            Effect::Missing => return,
            Effect::Removed => None,
            Effect::Row(row) => Some(row),
        };
        let ills = &self.config.ills;
        let seen = spreading.seen.clone();
        let shown_for = |span: Option<Nanos>| turn.now.saturating_add(span.unwrap_or(SEEN_FOR));
        let torn_for = ills.torn.span.unwrap_or(TORN_FOR);
        match fate {
            Fate::Lost => {}
            Fate::Healthy => self.push(asked, row, seen, Nanos::NEVER, (number, Mark::Plain)),
            Fate::Dirty => {
                let until = shown_for(ills.dirty.span);
                self.push(asked, row, seen, until, (number, Mark::Dirty));
            }
            Fate::Undone => {
                let until = shown_for(ills.undone.span);
                self.push(asked, row, seen, until, (number, Mark::Undone));
            }
            Fate::Torn if is_late => {
                self.push(asked, row, seen.later(torn_for), Nanos::NEVER, (number, Mark::Plain));
            }
            Fate::Torn if rows::fields(asked.patch) > 1 && asked.kind != Kind::Delete => {
                let half = rows::first_half(asked.patch);
                let half = Asked { patch: &half, ..*asked };
                if let Effect::Row(row) = self.effect(&half) {
                    self.push(asked, Some(row), seen.clone(), Nanos::NEVER, (number, Mark::Half));
                }
                self.push(asked, row, seen.later(torn_for), Nanos::NEVER, (number, Mark::Plain));
            }
            Fate::Torn => self.push(asked, row, seen, Nanos::NEVER, (number, Mark::Plain)),
            Fate::Duplicate => {
                let after = ills.duplicate.span.unwrap_or(DUPLICATE_AFTER);
                self.again.push(Reverse((turn.now.saturating_add(after), turn.count)));
                let Asked { kind, table, key, patch, .. } = *asked;
                let again = Again { kind, table, key: key.into(), patch: patch.into() };
                self.again_by_count.insert(turn.count, again);
                self.push(asked, row, seen, Nanos::NEVER, (number, Mark::Plain));
            }
        }
    }

    fn push(
        &mut self,
        asked: &Asked<'_>,
        row: Option<Arc<[u8]>>,
        seen: SeenFrom,
        until: Nanos,
        name: (u64, Mark),
    ) {
        self.push_at(self.now, asked, row, seen, until, name);
    }

    /// Adds a version, then forgets what no node will show any more.
    fn push_at(
        &mut self,
        at: Nanos,
        asked: &Asked<'_>,
        row: Option<Arc<[u8]>>,
        seen: SeenFrom,
        until: Nanos,
        (number, mark): (u64, Mark),
    ) {
        let cache = &self.config.ills.stale_cache;
        let age = if cache.is_on() { cache.span.unwrap_or(CACHE_AGE) } else { Nanos::ZERO };
        // Before so much time has passed, a cache may still need everything.
        let horizon = self.now.0.checked_sub(age.0).map(Nanos);
        let most = self.config.limits.versions;
        let records = &mut self.tables[asked.table].records;
        let chain = chain_of(records, asked.key, &mut self.bytes);
        self.bytes += chain.push(Version { number, at, row, seen, until, mark });
        let Some(horizon) = horizon else { return };
        let (freed, early) = chain.prune(horizon, most);
        self.bytes -= freed;
        self.forgotten += early;
        if chain.is_gone(horizon) {
            self.bytes -= asked.key.len() + chain.bytes();
            records.remove(asked.key);
        }
    }
}

fn chain_of<'a>(
    records: &'a mut BTreeMap<Arc<[u8]>, Chain>,
    key: &[u8],
    bytes: &mut usize,
) -> &'a mut Chain {
    if !records.contains_key(key) {
        records.insert(key.into(), Chain::default());
        *bytes += key.len();
    }
    records.get_mut(key).expect("it is there, or was put there above")
}

impl Fate {
    fn illness(self) -> Option<Illness> {
        match self {
            Fate::Healthy => None,
            Fate::Lost => Some(Illness::Lost),
            Fate::Dirty => Some(Illness::Dirty),
            Fate::Undone => Some(Illness::Undone),
            Fate::Torn => Some(Illness::Torn),
            Fate::Duplicate => Some(Illness::Duplicate),
        }
    }
}
