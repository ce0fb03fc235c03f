//! Writes to a simulated store, with or without faults.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use assay_model::{Kind, Nanos, Reason};

use super::{CACHE_AGE, ReadView, SimAnswer, SimEffect, SimRequest, Turn, World, stream};
use crate::chain::{Chain, Mark, RecordVersion, Visibility as SeenFrom};
use crate::config::Updates;
use crate::rows;
use crate::spread::{Spreading, until_commit};
use assay_store::truth::Fault;

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
enum WriteOutcome {
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
    pub(super) fn write(&mut self, mut turn: Turn, parts: &[SimRequest<'_>]) -> SimAnswer {
        let first = &parts[0];
        let grows = parts.iter().any(|part| part.kind != Kind::Delete);
        if grows && self.is_full() {
            self.note(&turn, first, ReadView::default());
            return SimAnswer { due: turn.due, node: turn.node, result: Err(Reason::Full) };
        }
        if let Some(reason) = self.objection(parts) {
            self.note(&turn, first, ReadView::default());
            return SimAnswer { due: turn.due, node: turn.node, result: Err(reason) };
        }
        let is_missing = |part: &&SimRequest<'_>| matches!(self.effect(part), Effect::Missing);
        if parts.iter().all(|part| is_missing(&part)) {
            self.note(&turn, first, ReadView::default());
            return SimAnswer { due: turn.due, node: turn.node, result: Ok(SimEffect::Missing) };
        }
        let outcome = self.outcome(&turn, parts);
        if let Some(fault) = outcome.fault() {
            turn.faults = turn.faults.with(fault);
        }
        let mut draws = self.draws(stream::SPREAD, turn.count, 0);
        let spreading = self.ways.spread(turn.now, turn.since, &mut draws);
        let journal = match self.config.journaled {
            true => until_commit(self.config.journal_interval, turn.since),
            false => Nanos::ZERO,
        };
        let wait = spreading.acknowledged_after.max(journal);
        let is_refused = outcome == WriteOutcome::Dirty;
        if !is_refused {
            turn.due = turn.due.saturating_add(wait);
        }
        for (place, part) in parts.iter().enumerate() {
            let is_late = parts.len() > 1 && place >= parts.len() / 2;
            self.write_part(&turn, part, outcome, &spreading, is_late);
            let version = self.newest;
            self.note(&turn, part, ReadView { version, ..ReadView::default() });
        }
        let result = if is_refused { Err(Reason::Conflict) } else { Ok(SimEffect::Written) };
        SimAnswer { due: turn.due, node: turn.node, result }
    }

    /// Fills the store before it is quiesced: at once, everywhere, never faulty.
    pub(super) fn load(
        &mut self,
        now: Nanos,
        parts: &[SimRequest<'_>],
    ) -> Result<SimEffect, Reason> {
        let first = &parts[0];
        self.now = self.now.max(now);
        if !first.kind.writes() {
            let primary = self.ways.primary();
            let records = &self.tables[first.table].records;
            let row_of = |chain: &Chain| {
                chain.view(primary, self.now).displayed.and_then(|version| version.row.clone())
            };
            if first.kind == Kind::Read {
                let row = records.get(first.key).and_then(row_of);
                return Ok(row.map_or(SimEffect::Missing, SimEffect::Row));
            }
            let from = (std::ops::Bound::Included(first.key), std::ops::Bound::Unbounded);
            let there = records.range::<[u8], _>(from).filter_map(|(_, chain)| row_of(chain));
            let rows: Vec<Arc<[u8]>> = there.take(first.limit as usize).collect();
            return Ok(if rows.is_empty() { SimEffect::Missing } else { SimEffect::Rows(rows) });
        }
        if self.is_full() && first.kind != Kind::Delete {
            return Err(Reason::Full);
        }
        let mut displayed = SimEffect::Missing;
        for part in parts {
            let row = match self.effect(part) {
                Effect::Missing => continue,
                Effect::Removed => None,
                Effect::Row(row) => Some(row),
            };
            displayed = SimEffect::Written;
            self.newest += 1;
            let observed = SeenFrom::From(self.now);
            self.push(part, row, observed, Nanos::NEVER, (self.newest, Mark::Plain));
        }
        Ok(displayed)
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
            let requested = SimRequest { session: 0, kind, table, key, patch, limit: 1 };
            let row = match self.effect(&requested) {
                Effect::Missing => continue,
                Effect::Removed => None,
                Effect::Row(row) => Some(row),
            };
            let since = at.since(self.begin.unwrap_or(at));
            let mut draws = self.draws(stream::AGAIN, count, 0);
            let observed = self.ways.spread(at, since, &mut draws).observed;
            self.newest += 1;
            self.push_at(at, &requested, row, observed, Nanos::NEVER, (self.newest, Mark::Again));
        }
    }

    /// Why a strict store refuses one of these writes.
    fn objection(&self, parts: &[SimRequest<'_>]) -> Option<Reason> {
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

    fn chain(&self, requested: &SimRequest<'_>) -> Option<&Chain> {
        self.tables[requested.table].records.get(requested.key)
    }

    /// What a write would make of what is there now.
    fn effect(&self, requested: &SimRequest<'_>) -> Effect {
        let current = self.chain(requested).and_then(Chain::current);
        match (requested.kind, current) {
            (Kind::Insert, _) => Effect::Row(requested.patch.into()),
            (_, None) => Effect::Missing,
            (Kind::Delete, Some(_)) => Effect::Removed,
            (_, Some(_)) if self.config.updates == Updates::Replace => {
                Effect::Row(requested.patch.into())
            }
            (_, Some(row)) => Effect::Row(rows::merge(row, requested.patch).into()),
        }
    }

    /// The fault of the write; of several, the first of this list.
    fn outcome(&self, turn: &Turn, parts: &[SimRequest<'_>]) -> WriteOutcome {
        let fault_model = &self.config.fault_model;
        let is_many = parts.len() > 1;
        let can_tear =
            is_many || (parts[0].kind != Kind::Delete && rows::fields(parts[0].patch) > 1);
        if self.strikes(&fault_model.lost, stream::LOST, turn) {
            WriteOutcome::Lost
        } else if self.strikes(&fault_model.dirty, stream::DIRTY, turn) {
            WriteOutcome::Dirty
        } else if self.strikes(&fault_model.undone, stream::UNDONE, turn) {
            WriteOutcome::Undone
        } else if can_tear && self.strikes(&fault_model.torn, stream::TORN, turn) {
            WriteOutcome::Torn
        } else if !is_many && self.strikes(&fault_model.duplicate, stream::DUPLICATE, turn) {
            WriteOutcome::Duplicate
        } else {
            WriteOutcome::Healthy
        }
    }

    fn write_part(
        &mut self,
        turn: &Turn,
        requested: &SimRequest<'_>,
        outcome: WriteOutcome,
        spreading: &Spreading,
        is_late: bool,
    ) {
        // A lost write has its number as well, so that the truth log can name it.
        self.newest += 1;
        let number = self.newest;
        let plain = (number, Mark::Plain);
        let row = match self.effect(requested) {
            Effect::Missing => return,
            Effect::Removed => None,
            Effect::Row(row) => Some(row),
        };
        let fault_model = &self.config.fault_model;
        let observed = spreading.observed.clone();
        let shown_for = |span: Option<Nanos>| turn.now.saturating_add(span.unwrap_or(SEEN_FOR));
        let torn_for = fault_model.torn.span.unwrap_or(TORN_FOR);
        match outcome {
            WriteOutcome::Lost => {}
            WriteOutcome::Healthy => self.push(requested, row, observed, Nanos::NEVER, plain),
            WriteOutcome::Dirty => {
                let until = shown_for(fault_model.dirty.span);
                self.push(requested, row, observed, until, (number, Mark::Dirty));
            }
            WriteOutcome::Undone => {
                let until = shown_for(fault_model.undone.span);
                self.push(requested, row, observed, until, (number, Mark::Undone));
            }
            WriteOutcome::Torn if is_late => {
                self.push(requested, row, observed.later(torn_for), Nanos::NEVER, plain);
            }
            WriteOutcome::Torn
                if rows::fields(requested.patch) > 1 && requested.kind != Kind::Delete =>
            {
                let half = rows::first_half(requested.patch);
                let half = SimRequest { patch: &half, ..*requested };
                if let Effect::Row(row) = self.effect(&half) {
                    self.push(
                        requested,
                        Some(row),
                        observed.clone(),
                        Nanos::NEVER,
                        (number, Mark::Half),
                    );
                }
                self.push(requested, row, observed.later(torn_for), Nanos::NEVER, plain);
            }
            WriteOutcome::Torn => self.push(requested, row, observed, Nanos::NEVER, plain),
            WriteOutcome::Duplicate => {
                let after = fault_model.duplicate.span.unwrap_or(DUPLICATE_AFTER);
                self.again.push(Reverse((turn.now.saturating_add(after), turn.count)));
                let SimRequest { kind, table, key, patch, .. } = *requested;
                let again = Again { kind, table, key: key.into(), patch: patch.into() };
                self.again_by_count.insert(turn.count, again);
                self.push(requested, row, observed, Nanos::NEVER, plain);
            }
        }
    }

    fn push(
        &mut self,
        requested: &SimRequest<'_>,
        row: Option<Arc<[u8]>>,
        observed: SeenFrom,
        until: Nanos,
        name: (u64, Mark),
    ) {
        self.push_at(self.now, requested, row, observed, until, name);
    }

    /// Adds a version, then forgets what no node will show any more.
    fn push_at(
        &mut self,
        at: Nanos,
        requested: &SimRequest<'_>,
        row: Option<Arc<[u8]>>,
        observed: SeenFrom,
        until: Nanos,
        (number, mark): (u64, Mark),
    ) {
        let cache = &self.config.fault_model.stale_cache;
        let age = if cache.is_on() { cache.span.unwrap_or(CACHE_AGE) } else { Nanos::ZERO };
        // Before so much time has passed, a cache may still need everything.
        let horizon = self.now.0.checked_sub(age.0).map(Nanos);
        let most = self.config.limits.versions;
        let records = &mut self.tables[requested.table].records;
        let chain = chain_of(records, requested.key, &mut self.bytes);
        self.bytes += chain.push(RecordVersion { number, at, row, observed, until, mark });
        let Some(horizon) = horizon else { return };
        let (freed, early) = chain.prune(horizon, most);
        self.bytes -= freed;
        self.forgotten += early;
        if chain.is_gone(horizon) {
            self.bytes -= requested.key.len() + chain.bytes();
            records.remove(requested.key);
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

impl WriteOutcome {
    fn fault(self) -> Option<Fault> {
        match self {
            WriteOutcome::Healthy => None,
            WriteOutcome::Lost => Some(Fault::Lost),
            WriteOutcome::Dirty => Some(Fault::Dirty),
            WriteOutcome::Undone => Some(Fault::Undone),
            WriteOutcome::Torn => Some(Fault::Torn),
            WriteOutcome::Duplicate => Some(Fault::Duplicate),
        }
    }
}
