//! Guarantees of sessions, staleness and lost writes by their definitions: all pairs and triples.

use std::collections::BTreeMap;

use assay_consistency::RegisterHistory;

use crate::oracle::{Event, events};

/// What the definitions say about a history by one clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub monotonic_reads: u64,
    pub read_your_writes: u64,
    pub monotonic_writes: u64,
    pub writes_follow_reads: u64,
    /// Reads that could have broken the first two.
    pub opportunities: [u64; 2],
    pub stale: u64,
    pub behind: BTreeMap<u64, u64>,
    pub oldest: u64,
    pub windows: u64,
    pub open_windows: u64,
    pub longest_window: u64,
    pub lost: u64,
}

/// Reads that nobody can explain are left out.
fn explained(history: &RegisterHistory) -> Vec<Event> {
    let all = events(history);
    let write_of = |read: &Event| {
        let wrote =
            |write: &&Event| write.is_write && write.key == read.key && write.value == read.value;
        all.iter().find(wrote)
    };
    let is_explained = |event: &&Event| {
        let is_possible = |write: &Event| event.ended >= write.started;
        event.is_write || event.value == 0 || write_of(event).is_some_and(is_possible)
    };
    all.iter().filter(is_explained).copied().collect()
}

/// The events of a history and the order of its versions.
struct Definitions<'h> {
    history: &'h RegisterHistory,
    events: Vec<Event>,
    /// Versions of records whose order is total, by record and value.
    places: BTreeMap<(u64, u64), usize>,
}

/// The counts of this history.
pub fn counts(history: &RegisterHistory) -> Counts {
    let mut definitions =
        Definitions { history, events: explained(history), places: BTreeMap::new() };
    let mut keys: Vec<u64> = definitions.events.iter().map(|event| event.key).collect();
    keys.sort_unstable();
    keys.dedup();
    for &key in &keys {
        definitions.add_total_order(key);
    }
    let mut counts = Counts::default();
    definitions.sessions(&mut counts);
    definitions.staleness(&mut counts);
    if history.has_final_reads {
        keys.iter().for_each(|&key| counts.lost += definitions.lost(key));
    }
    counts
}

impl Definitions<'_> {
    fn writes(&self, key: u64) -> Vec<Event> {
        let is_write = |event: &&Event| event.is_write && event.key == key;
        let mut writes: Vec<Event> = self.events.iter().filter(is_write).copied().collect();
        writes.sort_by_key(|write| write.started);
        writes
    }

    fn reads(&self) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(|event| !event.is_write)
    }

    /// When somebody certainly knew the version: it had been written, or read.
    fn known(&self, key: u64, value: u64) -> u64 {
        if value == 0 {
            return 0;
        }
        let is_of = |event: &&Event| event.key == key && event.value == value;
        self.events.iter().filter(is_of).map(|event| event.ended + 1).min().unwrap_or(u64::MAX)
    }

    fn add_total_order(&mut self, key: u64) {
        let writes = self.writes(key);
        let follows = |(place, two): (usize, &[Event])| {
            let is_own = two[0].session == two[1].session && two[0].is_done;
            let is_loaded = place == 0 && self.known(key, two[0].value) < two[1].started + 1;
            (is_own && Self::over(&two[0]) <= two[1].started) || is_loaded
        };
        let is_single = writes.windows(2).enumerate().all(follows);
        let values: Vec<u64> = writes.iter().map(|write| write.value).collect();
        let grow = |values: &[u64]| {
            self.history.writes_whole_records || values.windows(2).all(|two| two[0] < two[1])
        };
        let total =
            if is_single && grow(&values) { Some(values) } else { self.chain(key, &writes) };
        let Some(total) = total.filter(|total| grow(total)) else { return };
        self.places.insert((key, 0), 0);
        for (value, place) in total.into_iter().zip(1..) {
            self.places.insert((key, value), place);
        }
    }

    /// The values in the order in which each was written by who had read the one before.
    fn chain(&self, key: u64, writes: &[Event]) -> Option<Vec<u64>> {
        let parent = |write: &Event| {
            let is_half = |event: &&Event| event.index == write.index;
            self.reads().find(is_half).map(|read| read.value)
        };
        let roots: Vec<&Event> = writes.iter().filter(|write| parent(write).is_none()).collect();
        let mut chain = Vec::new();
        let mut last = match roots[..] {
            [] => 0,
            [root] => {
                if writes.iter().any(|write| parent(write) == Some(0)) {
                    return None;
                }
                chain.push(root.value);
                root.value
            }
            _ => return None,
        };
        loop {
            let next: Vec<&Event> =
                writes.iter().filter(|write| parent(write) == Some(last)).collect();
            match next[..] {
                [] => break,
                [next] if chain.contains(&next.value) => return None,
                [next] => {
                    chain.push(next.value);
                    last = next.value;
                }
                _ => return None,
            }
        }
        let _ = key;
        (chain.len() == writes.len()).then_some(chain)
    }

    /// Whether version `one` of a record certainly comes before version `other`.
    fn precedes(&self, key: u64, one: u64, other: u64) -> bool {
        if let (Some(one), Some(other)) =
            (self.places.get(&(key, one)), self.places.get(&(key, other)))
        {
            return one < other;
        }
        let writes = self.writes(key);
        let begin = writes.iter().find(|write| write.value == other && other != 0);
        let Some(begin) = begin.map(|write| write.started + 1) else { return false };
        if self.history.writes_whole_records {
            return self.known(key, one) < begin;
        }
        let older = writes.iter().filter(|write| write.value <= one);
        older.map(|write| write.ended + 1).max().unwrap_or(0) < begin
    }

    /// Two operations that begin and end at one moment have no order.
    fn over(one: &Event) -> u64 {
        one.ended.max(one.started + 1)
    }

    fn is_before(one: &Event, other: &Event) -> bool {
        let is_own = one.session == other.session && one.index != other.index;
        is_own && Self::over(one) <= other.started
    }

    fn sessions(&self, counts: &mut Counts) {
        for read in self.reads() {
            let is_done_before = |event: &&Event| event.is_done && Self::is_before(event, read);
            let mine: Vec<&Event> = self.events.iter().filter(is_done_before).collect();
            let older = |event: &Event| self.precedes(read.key, read.value, event.value);
            let on_record = |is_write: bool| {
                let is_such =
                    move |event: &&&Event| event.key == read.key && event.is_write == is_write;
                mine.iter().filter(is_such)
            };
            counts.opportunities[0] += u64::from(on_record(false).count() > 0);
            counts.opportunities[1] += u64::from(on_record(true).count() > 0);
            counts.monotonic_reads += u64::from(on_record(false).any(|event| older(event)));
            counts.read_your_writes += u64::from(on_record(true).any(|event| older(event)));
            // What others had done before writes that this session has read.
            let seen = |write: &Event| {
                let is_read = |event: &&Event| {
                    !event.is_write && event.value == write.value && event.key == write.key
                };
                mine.iter().any(is_read)
            };
            let others = || {
                let is_other = |event: &&Event| event.session != read.session;
                self.events.iter().filter(is_other)
            };
            let missed = |is_write: bool| {
                others().filter(|write| write.is_write && seen(write)).any(|write| {
                    others().any(|event| {
                        event.is_done
                            && event.is_write == is_write
                            && event.key == read.key
                            && Self::is_before(event, write)
                            && older(event)
                    })
                })
            };
            counts.monotonic_writes += u64::from(missed(true));
            counts.writes_follow_reads += u64::from(missed(false));
        }
    }

    fn staleness(&self, counts: &mut Counts) {
        let acknowledged = |key: u64| {
            let writes = self.writes(key);
            writes.into_iter().filter(|write| write.is_done).collect::<Vec<_>>()
        };
        let misses = |read: &Event, write: &Event| self.precedes(read.key, read.value, write.value);
        for read in self.reads().filter(|read| !self.writes(read.key).is_empty()) {
            let is_missed = |write: &&Event| write.ended < read.started && misses(read, write);
            let writes = acknowledged(read.key);
            let missed: Vec<&Event> = writes.iter().filter(is_missed).collect();
            *counts.behind.entry(missed.len() as u64).or_default() += 1;
            // The age goes back to the first write that is newer, which may end later than others.
            let newer = writes.iter().filter(|write| misses(read, write));
            if let (false, Some(first)) = (missed.is_empty(), newer.map(|write| write.ended).min())
            {
                counts.stale += 1;
                counts.oldest = counts.oldest.max(read.started - first);
            }
        }
        let keys: std::collections::BTreeSet<u64> = self.reads().map(|read| read.key).collect();
        for key in keys {
            for write in acknowledged(key) {
                let of_key = || self.reads().filter(|read| read.key == key);
                let missed = of_key().filter(|read| misses(read, &write));
                let last = missed.map(|read| read.started).max().unwrap_or(0);
                if last > write.ended {
                    counts.windows += 1;
                    counts.longest_window = counts.longest_window.max(last - write.ended);
                    let is_later = |read: &Event| read.started > last;
                    counts.open_windows += u64::from(!of_key().any(is_later));
                }
            }
        }
    }

    fn lost(&self, key: u64) -> u64 {
        let writes = self.writes(key);
        let all = events(self.history);
        let reads = all.iter().filter(|event| !event.is_write && event.key == key);
        let Some(last) = reads.max_by_key(|read| read.started) else { return 0 };
        let is_explained = self.reads().any(|read| read.index == last.index);
        let is_early = writes.iter().any(|write| write.is_done && write.ended >= last.started);
        if !is_explained || is_early {
            return 0;
        }
        let is_lost = |write: &&Event| write.is_done && self.precedes(key, last.value, write.value);
        writes.iter().filter(is_lost).count() as u64
    }
}
