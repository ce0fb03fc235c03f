//! Linearizability of registers by zones, with Γ and Δ of each conflict.
//!
//! Gibbons and Korach, Testing Shared Memories (SIAM J. Comput. 1997): the operations of one value
//! form a cluster; `known` is its earliest end and `start` its latest start. Value *u* comes before
//! value *v* in every order if `known(u) < start(v)`, so a register of unique values is
//! linearizable if and only if there is no pair for which both directions hold, and no read without
//! a write before it. (In their words: no two forward zones overlap and no backward zone lies in a
//! forward one.) Intervals are closed: an operation that begins when another ends is concurrent.
//!
//! The score of a pair, `min(start(v) − known(u), start(u) − known(v))`, is by how much intervals
//! must grow in all until the pair is none: Γ of Golab, Rahman, AuYoung, Keeton, Gupta (ICDCS
//! 2014). Half of it is the smallest error of the clocks, as ±, that would explain the pair.
//! Δ (Golab, Li, Shah, PODC 2011) moves the starts of reads only: by how much reads are stale.
//!
//! A violation is counted once for each value that is in conflict with one that was known before
//! it; its witness is the worst of its conflicts. With zones sorted by `known`, the latest start
//! among a prefix decides whether there is a conflict, and as one side of the minimum falls along
//! the prefix while the other rises, a binary search finds the worst: O(n log n), O(n) where there
//! is no conflict. 48 bytes per write of the record at hand.

use crate::register::prepared::{PreparedHistory, RecordGroup, RecordVersion};

/// The cluster of one value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Zone {
    /// The earliest end of its operations.
    pub(super) known: u64,
    /// The latest start of its operations.
    pub(super) start: u64,
    /// When its write began.
    pub(super) begin: u64,
    /// The latest start of its reads; 0 without any.
    pub(super) last_read: u64,
    /// The number of the version.
    pub(super) version: u32,
}

/// Two values of which each would have to come before the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conflict {
    /// The one known first.
    pub(super) first: Zone,
    pub(super) second: Zone,
    pub(super) gamma: u64,
    /// By how much reads would have to start earlier so that `second` is in no conflict of this
    /// kind; of all pairs with `second`, not only this one.
    pub(super) delta: u64,
}

impl Conflict {
    pub(super) fn new(first: Zone, second: Zone) -> Conflict {
        Conflict { first, second, gamma: gamma(&first, &second), delta: 0 }
    }

    /// Whether reads of the first value began after the second had replaced it.
    pub(super) fn is_stale(&self) -> bool {
        self.second.begin > self.first.known && self.first.last_read > self.second.known
    }
}

fn gamma(first: &Zone, second: &Zone) -> u64 {
    second.start_after(first).min(first.start.saturating_sub(second.known))
}

impl Zone {
    /// By how much the latest start is after the other was known. The absence was known before
    /// everything (nothing else is known at 0), and no clock's error changes that.
    fn start_after(&self, other: &Zone) -> u64 {
        if other.known == 0 { u64::MAX } else { self.start.saturating_sub(other.known) }
    }
}

/// The zones of one record, sorted by the time at which they were known.
#[derive(Debug, Default)]
pub(super) struct Zones {
    pub(super) zones: Vec<Zone>,
    /// Of each prefix: the latest start and its place, the latest start of a read.
    latest: Vec<(u64, u32)>,
    latest_read: Vec<u64>,
}

impl Zones {
    /// Takes the zones of this record, widened by the errors of the clocks.
    pub(super) fn load(&mut self, prepared: &PreparedHistory, group: &RecordGroup) {
        self.zones.clear();
        for number in &prepared.by_known[group.versions.clone()] {
            self.zones.push(zone(&prepared.versions[*number as usize], *number));
        }
    }

    /// Gives each conflict to `report`: of every value the worst with one that was known before.
    pub(super) fn conflicts(&mut self, mut report: impl FnMut(Conflict)) {
        self.latest.clear();
        self.latest_read.clear();
        let (mut latest, mut latest_read) = ((0, 0), 0);
        for place in 0..self.zones.len() {
            let zone = self.zones[place];
            if latest.0 > zone.known
                && let Some(conflict) = self.worst(place)
            {
                report(conflict);
            }
            if zone.start > latest.0 {
                latest = (zone.start, place as u32);
            }
            latest_read = zone.last_read.max(latest_read);
            self.latest.push(latest);
            self.latest_read.push(latest_read);
        }
    }

    /// The worst conflict of the value at this place with one before it.
    fn worst(&self, place: usize) -> Option<Conflict> {
        let zone = self.zones[place];
        let before = self.known_before(zone.start, place);
        if before == 0 || self.latest[before - 1].0 <= zone.known {
            return None;
        }
        let rise = |at: usize| self.latest[at].0.saturating_sub(zone.known);
        let fall = |at: usize| zone.start_after(&self.zones[at]);
        let at = crossing(before, rise, fall);
        let first = self.zones[self.latest[at].1 as usize];
        let delta = self.delta(place, before);
        Some(Conflict { delta, ..Conflict::new(first, zone) })
    }

    /// How many zones before this place were known before this time.
    fn known_before(&self, time: u64, place: usize) -> usize {
        // Most are, all but the last few: step back with growing strides before halving.
        let mut stride = 1;
        let mut end = place;
        while end > 0 && self.zones[end - 1].known >= time {
            end = end.saturating_sub(stride);
            stride *= 2;
        }
        let until = (end + stride).min(place);
        end + self.zones[end..until].partition_point(|zone| zone.known < time)
    }

    /// By how much reads must start earlier so that the value at this place fits all before it.
    fn delta(&self, place: usize, before: usize) -> u64 {
        let zone = self.zones[place];
        let rise = |at: usize| self.latest_read[at].saturating_sub(zone.known);
        // Those known before its write began come first in any case: their reads must move.
        let certain = self.known_before(zone.begin, place);
        let certain = certain.checked_sub(1).map_or(0, rise);
        let fall = |at: usize| zone.last_read.saturating_sub(self.zones[at].known);
        let at = crossing(before, rise, fall);
        certain.max(rise(at).min(fall(at)))
    }
}

fn zone(version: &RecordVersion, number: u32) -> Zone {
    Zone {
        known: version.known,
        start: version.last_start(),
        begin: version.early,
        last_read: version.last_read,
        version: number,
    }
}

/// Where below `end` the minimum of what rises and what falls is greatest.
fn crossing(end: usize, rise: impl Fn(usize) -> u64, fall: impl Fn(usize) -> u64) -> usize {
    let (mut low, mut high) = (0, end);
    while low < high {
        let middle = low + (high - low) / 2;
        if rise(middle) < fall(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    let least = |at: usize| rise(at).min(fall(at));
    match (low.checked_sub(1), low < end) {
        (Some(before), true) if least(before) < least(low) => low,
        (Some(before), _) => before,
        (None, _) => low,
    }
}
