//! Conflicts of zones that no error of the agents' clocks explains.
//!
//! Widening every interval by its clock's error is sound, but blind where agents' clocks differ by
//! more than an operation takes. Two events of one agent, however, were timed by one clock and are
//! compared exactly. So each value keeps its earliest end and latest start per agent, and value *u*
//! certainly comes before value *v* if some agent's end of *u* is before that agent's start of *v*,
//! or if the earliest widened end of *u* is before the latest widened start of *v*. There is a
//! conflict if both directions are certain. Each comparison alone is certain, so the rule is sound
//! for any number of agents as long as a clock's error holds for the whole run; with one clock it
//! is the test of zones. (Derived for this crate; Golab et al., ICDCS 2014, widen all intervals.)
//!
//! For each pair of clocks, one for each direction, a sweep over the values in the order in which
//! they were known asks a prefix maximum: O(n a² log n) for a record whose values are known to *a*
//! agents, for records with a conflict in raw times only. 64 bytes per pair of value and agent.

use crate::register::prepared::{NONE, PreparedHistory, RecordGroup};
use crate::register::zones::{Conflict, Zone, Zones};

/// The clock of no agent: times of all of them, widened by their errors.
const ANY: u16 = u16::MAX;
/// Agents of a record beyond this many are compared by widened times only.
const MAX_AGENTS: usize = 32;

/// The earliest end and the latest start of a value by one clock.
#[derive(Clone, Copy, Debug)]
struct Extremes {
    /// Place of the value among the zones.
    place: u32,
    known: u64,
    start: u64,
}

/// The values of one record as each agent's clock shows them.
#[derive(Debug, Default)]
pub(super) struct AgentZones {
    raw: Zones,
    /// Place of each version of the record among the raw zones.
    places: Vec<u32>,
    /// The values that each clock saw, by their places.
    clocks: Vec<(u16, Vec<Extremes>)>,
    fenwick: PrefixMaximum,
}

impl AgentZones {
    /// The conflicts of a record that are certain: at most one for each value, as with
    /// [`Zones::conflicts`].
    pub(super) fn conflicts(
        &mut self,
        prepared: &PreparedHistory,
        group: &RecordGroup,
        mut report: impl FnMut(Conflict),
    ) {
        self.load_raw(prepared, group);
        let mut is_clean = true;
        self.raw.conflicts(|_| is_clean = false);
        if is_clean {
            return;
        }
        self.load_clocks(prepared, group);
        let mut worst: Vec<Option<Conflict>> = vec![None; self.raw.zones.len()];
        let clocks = std::mem::take(&mut self.clocks);
        for (_, one) in &clocks {
            for (_, other) in &clocks {
                self.sweep(one, other, &mut worst);
            }
        }
        self.clocks = clocks;
        worst.into_iter().flatten().for_each(&mut report);
    }

    fn load_raw(&mut self, prepared: &PreparedHistory, group: &RecordGroup) {
        let first = group.versions.start;
        let zones = &mut self.raw.zones;
        zones.clear();
        for (number, version) in group.versions.clone().zip(&prepared.versions[first..]) {
            let begin = match version.writer {
                NONE => 0,
                writer => prepared.operations[writer as usize].started,
            };
            let known = match version.writer {
                NONE => 0,
                writer => prepared.operations[writer as usize].ended,
            };
            let version = number as u32;
            zones.push(Zone { known, start: begin, begin, last_read: 0, version });
        }
        for operation in &prepared.operations[group.operations.clone()] {
            if operation.read != NONE {
                let zone = &mut zones[operation.read as usize - first];
                zone.known = zone.known.min(operation.ended);
                zone.start = zone.start.max(operation.started);
                zone.last_read = zone.last_read.max(operation.started);
            }
        }
        zones.sort_by_key(|zone| (zone.known, zone.version));
        self.places.clear();
        self.places.resize(zones.len(), 0);
        for (place, zone) in zones.iter().enumerate() {
            self.places[zone.version as usize - first] = place as u32;
        }
    }

    fn load_clocks(&mut self, prepared: &PreparedHistory, group: &RecordGroup) {
        let first = group.versions.start;
        self.clocks.clear();
        let mut all = Vec::new();
        for (version, &place) in prepared.versions[group.versions.clone()].iter().zip(&self.places)
        {
            let (known, start) = (version.known, version.last_start());
            all.push(Extremes { place, known, start });
        }
        all.sort_unstable_by_key(|extremes| extremes.place);
        self.clocks.push((ANY, all));
        let mut events: Vec<(u16, Extremes)> = Vec::new();
        for operation in &prepared.operations[group.operations.clone()] {
            for version in [operation.read, operation.written] {
                if version != NONE {
                    let place = self.places[version as usize - first];
                    let (known, start) = (operation.ended, operation.started);
                    events.push((operation.agent, Extremes { place, known, start }));
                }
            }
        }
        events.sort_unstable_by_key(|(agent, extremes)| (*agent, extremes.place));
        for events in events.chunk_by(|one, other| one.0 == other.0).take(MAX_AGENTS) {
            let merge = |same: &[(u16, Extremes)]| Extremes {
                place: same[0].1.place,
                known: same.iter().map(|event| event.1.known).fold(u64::MAX, u64::min),
                start: same.iter().map(|event| event.1.start).fold(0, u64::max),
            };
            let values = events.chunk_by(|one, other| one.1.place == other.1.place).map(merge);
            self.clocks.push((events[0].0, values.collect()));
        }
    }

    /// Conflicts of which clock `one` shows that the first value comes before the second, and
    /// clock `other` that the second comes before the first.
    fn sweep(&mut self, one: &[Extremes], other: &[Extremes], worst: &mut [Option<Conflict>]) {
        let both = intersection(one, other);
        let mut ranks: Vec<u64> = both.iter().map(|(one, _)| one.known).collect();
        ranks.sort_unstable();
        self.fenwick.clear(ranks.len());
        for (by_one, by_other) in &both {
            let before = ranks.partition_point(|known| *known < by_one.start);
            let (start, place) = self.fenwick.greatest(before);
            if start > by_other.known {
                let zones = &self.raw.zones;
                let second = zones[by_one.place as usize];
                let conflict = Conflict::new(zones[place as usize], second);
                let kept = &mut worst[by_one.place as usize];
                if kept.is_none_or(|kept| kept.gamma < conflict.gamma) {
                    *kept = Some(conflict);
                }
            }
            let rank = ranks.partition_point(|known| *known < by_one.known);
            self.fenwick.raise(rank, (by_other.start, by_one.place));
        }
    }
}

/// The values that both clocks saw.
fn intersection(one: &[Extremes], other: &[Extremes]) -> Vec<(Extremes, Extremes)> {
    let mut both = Vec::new();
    let mut rest = other;
    for extremes in one {
        let skip = rest.partition_point(|other| other.place < extremes.place);
        rest = &rest[skip..];
        match rest.first() {
            Some(other) if other.place == extremes.place => both.push((*extremes, *other)),
            Some(_) => {}
            None => break,
        }
    }
    both
}

/// Maxima of prefixes that only grow (Fenwick 1994).
#[derive(Debug, Default)]
struct PrefixMaximum {
    tree: Vec<(u64, u32)>,
}

impl PrefixMaximum {
    fn clear(&mut self, size: usize) {
        self.tree.clear();
        self.tree.resize(size + 1, (0, 0));
    }

    fn raise(&mut self, place: usize, to: (u64, u32)) {
        let mut node = place + 1;
        while node < self.tree.len() {
            if self.tree[node].0 < to.0 {
                self.tree[node] = to;
            }
            node += node & node.wrapping_neg();
        }
    }

    /// The greatest of the first `count`.
    fn greatest(&self, count: usize) -> (u64, u32) {
        let mut greatest = (0, 0);
        let mut node = count;
        while node > 0 {
            if self.tree[node].0 > greatest.0 {
                greatest = self.tree[node];
            }
            node -= node & node.wrapping_neg();
        }
        greatest
    }
}
