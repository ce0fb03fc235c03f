//! Existence of an order in which each read of a record returns one of the two newest versions.
//!
//! Golab, Hurwitz, Li, On the k-Atomicity-Verification Problem (ICDCS 2013): a history is cut into
//! chunks, the longest runs of overlapping forward zones with the backward zones inside, each of
//! which can be decided alone (their FZF). Within a chunk LBT builds the order from its end: the
//! last write is one after which no write begins; the reads that begin after it are of itself or
//! of one other value, whose write then must be the one before it. If there is no such reader any
//! write may come next, and what has been placed need never be taken back, since a history without
//! some of its values is no less atomic. Candidates for a last write are tried side by side with
//! doubling limits, so an epoch costs as much as its shortest success times their number. We take
//! LBT within chunks for its simplicity: O(n log n + c n) with c writes at a time.
//!
//! Only records that are not linearizable are looked at. 48 bytes per operation of a chunk.

use crate::register::prepared::{NONE, PreparedHistory, RecordGroup};
use crate::register::zones::Zone;

/// Zones that are decided together, by their places in the order of [`chunks`].
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) zones: Vec<Zone>,
    pub(super) until: u64,
}

/// The chunks of several zones, the others being atomic by themselves.
pub(super) fn chunks(zones: &[Zone]) -> Vec<Chunk> {
    let is_forward = |zone: &&Zone| zone.known < zone.start;
    let mut forward: Vec<Zone> = zones.iter().filter(is_forward).copied().collect();
    forward.sort_by_key(|zone| zone.known);
    let mut chunks: Vec<Chunk> = Vec::new();
    for zone in forward {
        match chunks.last_mut() {
            Some(chunk) if zone.known < chunk.until => {
                chunk.until = chunk.until.max(zone.start);
                chunk.zones.push(zone);
            }
            _ => chunks.push(Chunk { zones: vec![zone], until: zone.start }),
        }
    }
    let from = |chunk: &Chunk| chunk.zones[0].known;
    for zone in zones.iter().filter(|zone| !is_forward(zone)) {
        let place = chunks.partition_point(|chunk| from(chunk) <= zone.start);
        let Some(chunk) = place.checked_sub(1).map(|place| &mut chunks[place]) else { continue };
        if zone.known <= chunk.until {
            chunk.zones.push(*zone);
        }
    }
    chunks.retain(|chunk| chunk.zones.len() > 1);
    chunks
}

/// Starts of the reads of a record's versions, to be looked up by chunk.
pub(super) struct ReadStarts {
    first: usize,
    offsets: Vec<usize>,
    starts: Vec<u64>,
}

impl ReadStarts {
    pub(super) fn new(prepared: &PreparedHistory, group: &RecordGroup) -> ReadStarts {
        let first = group.versions.start;
        let operations = &prepared.operations[group.operations.clone()];
        let reads = || operations.iter().filter(|operation| operation.read != NONE);
        let mut offsets = vec![0; group.versions.len() + 1];
        for read in reads() {
            offsets[read.read as usize - first + 1] += 1;
        }
        for place in 1..offsets.len() {
            offsets[place] += offsets[place - 1];
        }
        let mut starts = vec![0; offsets[group.versions.len()]];
        let mut ends = offsets.clone();
        for read in reads() {
            let end = &mut ends[read.read as usize - first];
            starts[*end] = prepared.clocks.early(read.started, read.agent);
            *end += 1;
        }
        ReadStarts { first, offsets, starts }
    }

    fn of(&self, version: u32) -> &[u64] {
        let place = version as usize - self.first;
        &self.starts[self.offsets[place]..self.offsets[place + 1]]
    }
}

/// Whether some order of this chunk's operations has each read among the two newest versions.
pub(super) fn is_two_atomic(chunk: &Chunk, reads: &ReadStarts) -> bool {
    let mut search = Search::new(chunk, reads);
    while search.alive > 0 {
        if !search.epoch() {
            return false;
        }
    }
    true
}

/// How an attempt at placing writes ended.
enum Attempt {
    /// Any write may come before those placed.
    Free,
    Failed,
    OutOfSteps,
}

/// The part of a chunk that has no place yet. Writes are numbered by their zones.
struct Search {
    known: Vec<u64>,
    begin: Vec<u64>,
    is_placed: Vec<bool>,
    /// Writes in the order of `known` and of `begin`, some of those with a place among them.
    by_known: Vec<u32>,
    by_begin: Vec<u32>,
    /// Reads by their start, with their writes; those that have a place are cut off.
    reads: Vec<(u64, u32)>,
    unplaced_reads: usize,
    alive: usize,
}

impl Search {
    fn new(chunk: &Chunk, starts: &ReadStarts) -> Search {
        let zones = &chunk.zones;
        let mut reads = Vec::new();
        for (zone, number) in zones.iter().zip(0..) {
            reads.extend(starts.of(zone.version).iter().map(|start| (*start, number)));
        }
        reads.sort_unstable();
        let sorted = |key: &dyn Fn(&Zone) -> u64| {
            let mut numbers: Vec<u32> = (0..zones.len() as u32).collect();
            numbers.sort_by_key(|number| key(&zones[*number as usize]));
            numbers
        };
        Search {
            known: zones.iter().map(|zone| zone.known).collect(),
            begin: zones.iter().map(|zone| zone.begin).collect(),
            is_placed: vec![false; zones.len()],
            by_known: sorted(&|zone| zone.known),
            by_begin: sorted(&|zone| zone.begin),
            unplaced_reads: reads.len(),
            reads,
            alive: zones.len(),
        }
    }

    /// Places writes from the end until any may come next; whether that is possible.
    fn epoch(&mut self) -> bool {
        let mut candidates = self.candidates();
        let mut limit = 4;
        while !candidates.is_empty() {
            let mut open = Vec::new();
            for candidate in candidates {
                match self.attempt(candidate, limit) {
                    Attempt::Free => return true,
                    Attempt::Failed => {}
                    Attempt::OutOfSteps => open.push(candidate),
                }
            }
            candidates = open;
            limit *= 2;
        }
        false
    }

    /// Writes after which no other begins.
    fn candidates(&mut self) -> Vec<u32> {
        // Placed writes that are met are taken out, so that each is met once.
        let last = keep_unplaced(&mut self.by_begin, &self.is_placed, 2, |_| true);
        let Some(&last) = last.first() else { return Vec::new() };
        let latest = self.begin[last as usize];
        let known = &self.known;
        let can_be_last = |write: u32| known[write as usize] >= latest;
        keep_unplaced(&mut self.by_known, &self.is_placed, usize::MAX, can_be_last)
    }

    /// Places this write last, then those that must come before it; takes all back unless free.
    fn attempt(&mut self, last: u32, limit: usize) -> Attempt {
        let (reads, mut begins, mut steps) = (self.unplaced_reads, self.by_begin.len(), 0);
        let mut placed = Vec::new();
        let mut next = Some(last);
        let outcome = loop {
            let Some(write) = next else { break Attempt::Free };
            if self.latest_begin(write, &mut begins) > self.known[write as usize] {
                break Attempt::Failed;
            }
            if steps > limit {
                break Attempt::OutOfSteps;
            }
            self.is_placed[write as usize] = true;
            placed.push(write);
            let before = self.unplaced_reads;
            let Ok(owner) = self.place_reads(write) else { break Attempt::Failed };
            steps += 1 + before - self.unplaced_reads;
            next = owner;
        };
        if matches!(outcome, Attempt::Free) {
            self.alive -= placed.len();
        } else {
            self.unplaced_reads = reads;
            placed.iter().for_each(|write| self.is_placed[*write as usize] = false);
        }
        outcome
    }

    /// When the last of the other writes without a place begins; `end` skips those with one.
    fn latest_begin(&self, write: u32, end: &mut usize) -> u64 {
        let is_placed = |number: u32| self.is_placed[number as usize];
        while *end > 0 && is_placed(self.by_begin[*end - 1]) {
            *end -= 1;
        }
        let others = self.by_begin[..*end].iter().rev().copied();
        let mut others = others.filter(|&number| number != write && !is_placed(number));
        others.next().map_or(0, |number| self.begin[number as usize])
    }

    /// Places the reads that begin after this write is known; gives the one other write that they
    /// read from, if any, or nothing if there are several.
    fn place_reads(&mut self, write: u32) -> Result<Option<u32>, ()> {
        let mut owner = None;
        while let Some(&(start, of)) = self.reads[..self.unplaced_reads].last() {
            if start <= self.known[write as usize] {
                break;
            }
            self.unplaced_reads -= 1;
            if self.is_placed[of as usize] {
                continue;
            }
            if owner.is_some_and(|owner| owner != of) {
                return Err(());
            }
            owner = Some(of);
        }
        Ok(owner)
    }
}

/// The last writes without a place, at most `count`, for which `holds`, the last first; those with
/// a place among them leave the list.
fn keep_unplaced(
    list: &mut Vec<u32>,
    is_placed: &[bool],
    count: usize,
    holds: impl Fn(u32) -> bool,
) -> Vec<u32> {
    let mut kept = Vec::new();
    while kept.len() < count
        && let Some(&write) = list.last()
    {
        if is_placed[write as usize] {
            list.pop();
            continue;
        }
        if !holds(write) {
            break;
        }
        list.pop();
        kept.push(write);
    }
    list.extend(kept.iter().rev());
    kept
}
