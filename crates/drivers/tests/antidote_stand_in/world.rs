//! Objects of data centres that see one another's commits some time later.
//!
//! What is kept is every effect of every commit with its time and its data centre. A snapshot is a
//! time for each data centre; an object is what the effects up to there make of it.

use std::collections::{BTreeMap, HashMap};

use super::wire::{Fields, put_bytes, put_number, unzigzag, zigzag};

pub const COUNTER: u64 = 3;
pub const SET: u64 = 4;
pub const REGISTER: u64 = 5;
pub const MAP: u64 = 8;

/// How long a transaction may stay open, in microseconds.
const LONGEST_TRANSACTION: u64 = 60_000_000;
/// After so many effects on a register those that no snapshot shows any more are dropped.
const COMPACTED: usize = 64;
/// How deep maps may lie in maps.
const DEPTH_MAX: usize = 16;

/// The error code of a transaction that another one was before.
pub const ABORTED: u64 = 3;

/// A time for each data centre, in microseconds since the start.
pub type Clock = Vec<u64>;

/// Bucket, key and type, then key and type of each map's entry.
type Path = Vec<(Vec<u8>, u64)>;

/// A time, a data centre, and a number within a commit: no two effects have the same.
type Dot = (u64, usize, usize);

#[derive(Clone, Debug)]
enum Effect {
    Increment(i64),
    Add(Vec<u8>),
    /// Removes the element as far as these additions brought it.
    Remove(Vec<u8>, Vec<Dot>),
    Assign(Vec<u8>),
    /// A map was written, perhaps nothing in it.
    Touch,
}

struct Transaction {
    home: usize,
    snapshot: Clock,
    updates: Vec<(Path, Effect)>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The snapshot is not there yet; it is in so many microseconds.
    Wait(u64),
    /// What a server answers with a stack trace.
    Error(String),
    /// What it answers by `success = false`, with this code.
    Denied(u64),
}

fn error<T>(text: &str) -> Result<T, Problem> {
    Err(Problem::Error(text.into()))
}

/// All data centres.
pub struct World {
    /// How long after its commit an effect is seen elsewhere, in microseconds.
    delay: u64,
    /// Whether of two that write one object in a data centre the first to commit wins.
    certify: bool,
    /// The last time that was given out, by data centre.
    last: Vec<u64>,
    /// When an object was last written by a commit of a data centre.
    committed: HashMap<(usize, Path), u64>,
    effects: BTreeMap<Path, Vec<(Dot, Effect)>>,
    /// The type of each key, until it was written under another: then none.
    types: HashMap<(Vec<u8>, Vec<u8>), Option<u64>>,
    transactions: BTreeMap<u64, Transaction>,
    next: u64,
}

impl World {
    pub fn new(data_centres: usize, delay: u64, certify: bool) -> World {
        World {
            delay,
            certify,
            last: vec![0; data_centres],
            committed: HashMap::new(),
            effects: BTreeMap::new(),
            types: HashMap::new(),
            transactions: BTreeMap::new(),
            next: 0,
        }
    }

    /// A snapshot at data centre `home` that includes `wanted`.
    fn snapshot(&mut self, home: usize, now: u64, wanted: &[u64]) -> Result<Clock, Problem> {
        let stable = now.saturating_sub(self.delay);
        let mut snapshot = vec![stable; self.last.len()];
        for (place, wanted) in wanted.iter().enumerate() {
            if place != home && *wanted > stable {
                return Err(Problem::Wait(wanted - stable));
            }
        }
        self.last[home] = self.last[home].max(now).max(wanted.get(home).copied().unwrap_or(0));
        snapshot[home] = self.last[home];
        Ok(snapshot)
    }

    pub fn start(&mut self, home: usize, now: u64, wanted: &[u64]) -> Result<u64, Problem> {
        let snapshot = self.snapshot(home, now, wanted)?;
        self.transactions.retain(|_, open| open.snapshot[open.home] + LONGEST_TRANSACTION > now);
        self.next += 1;
        self.transactions.insert(self.next, Transaction { home, snapshot, updates: Vec::new() });
        Ok(self.next)
    }

    fn open(&self, home: usize, transaction: u64) -> Result<&Transaction, Problem> {
        let open = self.transactions.get(&transaction).filter(|open| open.home == home);
        open.map_or_else(|| error("{no_transaction,…}"), Ok)
    }

    /// Reads `object`, a bound object, in a transaction.
    pub fn read(&self, home: usize, transaction: u64, object: &[u8]) -> Result<Vec<u8>, Problem> {
        let open = self.open(home, transaction)?;
        let path = bound(object)?;
        if self.types.get(&(path[0].0.clone(), path[1].0.clone())) == Some(&None) {
            return error("{badmatch,…}: one key of two types");
        }
        if ![COUNTER, SET, REGISTER, MAP].contains(&path[1].1) {
            return error("{function_clause,…}: the stand-in has no such type");
        }
        Ok(self.value(open, &path))
    }

    /// Takes up `update`, a bound object with an operation, into a transaction.
    pub fn update(&mut self, home: usize, transaction: u64, update: &[u8]) -> Result<(), Problem> {
        let open = self.open(home, transaction)?;
        let broken = || Problem::Error("{badarg,…}".into());
        let fields = Fields::parse(update).ok_or_else(broken)?;
        let path = bound(fields.bytes(1).ok_or_else(broken)?)?;
        let operation = fields.message(2).ok_or_else(broken)?;
        let mut updates = Vec::new();
        self.take_up(open, path, &operation, &mut updates)?;
        let open = self.transactions.get_mut(&transaction);
        open.into_iter().for_each(|open| open.updates.append(&mut updates));
        Ok(())
    }

    fn take_up(
        &self,
        open: &Transaction,
        path: Path,
        operation: &Fields<'_>,
        updates: &mut Vec<(Path, Effect)>,
    ) -> Result<(), Problem> {
        let kind = path.last().map_or(0, |last| last.1);
        let number = match kind {
            COUNTER => 1,
            SET => 2,
            REGISTER => 3,
            MAP if path.len() < DEPTH_MAX => 5,
            _ => return error("{function_clause,…}: the stand-in has no such type"),
        };
        let Some(operation) = operation.message(number) else {
            return error("{type_check_failed,…}: an operation of another type");
        };
        match kind {
            COUNTER => {
                let by = operation.number(1).map_or(1, unzigzag);
                updates.push((path, Effect::Increment(by)));
            }
            SET => {
                for element in operation.all(2) {
                    updates.push((path.clone(), Effect::Add(element.into())));
                }
                for element in operation.all(3) {
                    let dots = self.dots(open, &path, element);
                    updates.push((path.clone(), Effect::Remove(element.into(), dots)));
                }
            }
            REGISTER => {
                let value = operation.bytes(1).unwrap_or_default();
                updates.push((path, Effect::Assign(value.into())));
            }
            _ => {
                updates.push((path.clone(), Effect::Touch));
                for entry in operation.all(1) {
                    let broken = || Problem::Error("{badarg,…}".into());
                    let entry = Fields::parse(entry).ok_or_else(broken)?;
                    let key = entry.message(1).ok_or_else(broken)?;
                    let name = key.bytes(1).unwrap_or_default().to_vec();
                    let within = [&path[..], &[(name, key.number(2).unwrap_or(0))]].concat();
                    self.take_up(open, within, &entry.message(2).ok_or_else(broken)?, updates)?;
                }
            }
        }
        Ok(())
    }

    /// The effects on one object that `open` sees, its own as the last ones.
    fn visible<'a>(
        &'a self,
        open: &'a Transaction,
        path: &'a Path,
    ) -> impl Iterator<Item = (Dot, &'a Effect)> {
        let is_seen = |(dot, _): &&(Dot, Effect)| dot.0 <= open.snapshot[dot.1];
        let stored = self.effects.get(path).into_iter().flatten().filter(is_seen);
        let own = open.updates.iter().enumerate().filter(move |(_, (other, _))| other == path);
        let own = own.map(|(number, (_, effect))| ((u64::MAX, open.home, number), effect));
        stored.map(|(dot, effect)| (*dot, effect)).chain(own)
    }

    /// The additions by which `element` is in a set.
    fn dots(&self, open: &Transaction, path: &Path, element: &[u8]) -> Vec<Dot> {
        self.elements(open, path).remove(element).unwrap_or_default()
    }

    fn elements(&self, open: &Transaction, path: &Path) -> BTreeMap<Vec<u8>, Vec<Dot>> {
        let mut elements: BTreeMap<Vec<u8>, Vec<Dot>> = BTreeMap::new();
        let mut removed: Vec<(&Vec<u8>, &Vec<Dot>)> = Vec::new();
        for (dot, effect) in self.visible(open, path) {
            match effect {
                Effect::Add(element) => elements.entry(element.clone()).or_default().push(dot),
                Effect::Remove(element, dots) => removed.push((element, dots)),
                _ => {}
            }
        }
        for (element, dots) in removed {
            if let Some(left) = elements.get_mut(element) {
                left.retain(|dot| !dots.contains(dot));
            }
        }
        elements.retain(|_, dots| !dots.is_empty());
        elements
    }

    /// The value of an object, as a message.
    fn value(&self, open: &Transaction, path: &Path) -> Vec<u8> {
        let (mut inner, mut out) = (Vec::new(), Vec::new());
        let number = match path.last().map_or(0, |last| last.1) {
            COUNTER => {
                let by = self.visible(open, path).map(|(_, effect)| match effect {
                    Effect::Increment(by) => *by,
                    _ => 0,
                });
                put_number(1, zigzag(by.sum()), &mut inner);
                1
            }
            SET => {
                let elements = self.elements(open, path);
                elements.keys().for_each(|element| put_bytes(1, element, &mut inner));
                2
            }
            REGISTER => {
                let last = self.visible(open, path).max_by_key(|(dot, _)| *dot);
                let value: &[u8] = match last {
                    Some((_, Effect::Assign(value))) => value,
                    _ => b"",
                };
                put_bytes(1, value, &mut inner);
                3
            }
            _ => {
                for within in self.entries(open, path) {
                    let (name, kind) = &within[path.len()];
                    let (mut key, mut entry) = (Vec::new(), Vec::new());
                    put_bytes(1, name, &mut key);
                    put_number(2, *kind, &mut key);
                    put_bytes(1, &key, &mut entry);
                    put_bytes(2, &self.value(open, &within), &mut entry);
                    put_bytes(1, &entry, &mut inner);
                }
                6
            }
        };
        put_bytes(number, &inner, &mut out);
        out
    }

    /// The paths of a map's entries, in their order.
    fn entries(&self, open: &Transaction, path: &Path) -> Vec<Path> {
        let is_within = |other: &Path| other.len() == path.len() + 1 && other.starts_with(path);
        let stored = self.effects.range(path.clone()..).map(|(other, _)| other);
        let stored = stored.take_while(|other| other.starts_with(path));
        let own = open.updates.iter().map(|(other, _)| other);
        let mut entries: Vec<Path> =
            stored.chain(own).filter(|other| is_within(other)).cloned().collect();
        entries.retain(|within| self.visible(open, within).next().is_some());
        entries.sort();
        entries.dedup();
        entries
    }

    pub fn abort(&mut self, home: usize, transaction: u64) -> Result<(), Problem> {
        self.open(home, transaction)?;
        self.transactions.remove(&transaction);
        Ok(())
    }

    /// Makes final what a transaction wrote, unless another one was first.
    pub fn commit(&mut self, home: usize, now: u64, transaction: u64) -> Result<Clock, Problem> {
        self.open(home, transaction)?;
        let open = self.transactions.remove(&transaction);
        let Some(Transaction { mut snapshot, updates, .. }) = open else {
            return error("{no_transaction,…}");
        };
        if updates.is_empty() {
            return Ok(snapshot);
        }
        let object = |path: &Path| (home, path[..2].to_vec());
        let is_late = |(path, _): &(Path, Effect)| {
            self.committed.get(&object(path)).is_some_and(|time| *time > snapshot[home])
        };
        if self.certify && updates.iter().any(is_late) {
            return Err(Problem::Denied(ABORTED));
        }
        let time = self.last[home].max(now) + 1;
        self.last[home] = time;
        snapshot[home] = time;
        for (number, (path, effect)) in updates.into_iter().enumerate() {
            self.committed.insert(object(&path), time);
            let kind = self.types.entry((path[0].0.clone(), path[1].0.clone()));
            let kind = kind.or_insert(Some(path[1].1));
            *kind = kind.filter(|kind| *kind == path[1].1);
            let effects = self.effects.entry(path.clone()).or_default();
            // A map needs to be touched once to be there, a set keeps the order of its effects.
            let is_register = matches!(effect, Effect::Assign(_) | Effect::Touch);
            effects.push(((time, home, number), effect));
            if is_register && effects.len().is_multiple_of(COMPACTED) {
                self.compact(&path, now);
            }
        }
        Ok(snapshot)
    }

    /// Drops the effects on a register before the last that every snapshot shows.
    fn compact(&mut self, path: &Path, now: u64) {
        let open = self.transactions.values().filter_map(|open| open.snapshot.iter().min());
        let horizon = open.copied().min().unwrap_or(now).min(now.saturating_sub(self.delay));
        let Some(effects) = self.effects.get_mut(path) else { return };
        effects.sort_by_key(|(dot, _)| *dot);
        let first = effects.partition_point(|(dot, _)| dot.0 <= horizon).saturating_sub(1);
        effects.drain(..first);
    }
}

/// The path of a bound object.
fn bound(object: &[u8]) -> Result<Path, Problem> {
    let broken = || Problem::Error("{badarg,…}".into());
    let fields = Fields::parse(object).ok_or_else(broken)?;
    let key = fields.bytes(1).ok_or_else(broken)?.to_vec();
    let kind = fields.number(2).ok_or_else(broken)?;
    let bucket = fields.bytes(3).ok_or_else(broken)?.to_vec();
    Ok(vec![(bucket, 0), (key, kind)])
}
