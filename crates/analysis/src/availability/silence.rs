//! Silences: stretches of time in which no answer came although something waited for one.
//!
//! Kept per bin of ended time are the first and the last answer, so a gap of at least one bin is
//! known to the nanosecond although records come worker by worker. A silence begins with the gap,
//! or where the first operation that was not answered within it was intended.

use assay_model::Nanos;

use super::grid::{Bin, Grid};
use super::{beyond_chance, is_answer};
use crate::kind_stats::{Completion, Span};
use crate::options::Window;
use crate::summary::Silence;

/// What ended within one bin.
#[derive(Clone, Copy, Debug)]
struct Ended {
    /// The first answer and the last.
    first: Nanos,
    last: Nanos,
    /// The earliest intended time of whatever ended in it, answered or not.
    intended: Nanos,
    /// When what was not answered was given up first, and last, with its earliest intended time.
    failed_first: Nanos,
    failed_last: Nanos,
    failed_intended: Nanos,
}

impl Bin for Ended {
    const EMPTY: Ended = Ended {
        first: Nanos::NEVER,
        last: Nanos::ZERO,
        intended: Nanos::NEVER,
        failed_first: Nanos::NEVER,
        failed_last: Nanos::ZERO,
        failed_intended: Nanos::NEVER,
    };

    fn merge(&mut self, other: &Ended) {
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.intended = self.intended.min(other.intended);
        self.failed_first = self.failed_first.min(other.failed_first);
        self.failed_last = self.failed_last.max(other.failed_last);
        self.failed_intended = self.failed_intended.min(other.failed_intended);
    }
}

/// Answers by ended time.
#[derive(Clone, Debug)]
pub struct Silences {
    origin: Nanos,
    grid: Grid<Ended>,
    answers: u64,
}

/// One end of a gap between answers.
#[derive(Clone, Copy)]
struct Edge {
    at: Nanos,
    /// The number of its bin.
    place: usize,
    /// Whether it is the window's and no answer's.
    is_window: bool,
}

impl Silences {
    /// Bins that begin at `origin`.
    pub fn new(origin: Nanos) -> Silences {
        Silences { origin, grid: Grid::new(origin), answers: 0 }
    }

    /// Counts an operation that ended at the origin or after it.
    #[inline]
    pub fn add(&mut self, span: Span, ending: Completion) {
        if span.ended < self.origin {
            return;
        }
        let is_answer = is_answer(ending);
        self.answers += u64::from(is_answer);
        let bin = self.grid.at(span.ended);
        bin.intended = bin.intended.min(span.intended);
        if is_answer {
            bin.first = bin.first.min(span.ended);
            bin.last = bin.last.max(span.ended);
        } else {
            bin.failed_first = bin.failed_first.min(span.ended);
            bin.failed_last = bin.failed_last.max(span.ended);
            bin.failed_intended = bin.failed_intended.min(span.intended);
        }
    }

    /// Adds what `other`, begun at the same origin, counted.
    pub fn merge(&mut self, other: Silences) {
        self.grid.merge(other.grid);
        self.answers += other.answers;
    }

    /// When what was not answered was given up first in each bin that has some, by time.
    pub fn errors_seen(&self) -> Vec<Nanos> {
        let seen = self.grid.bins().iter().map(|bin| bin.failed_first);
        seen.filter(|at| *at != Nanos::NEVER).collect()
    }

    /// The longest silence in `window`, those longer than chance, and how long that is.
    pub fn finish(&self, window: Window) -> (Option<Silence>, Vec<Silence>, Nanos) {
        let gaps = self.gaps(window);
        let longest = gaps.iter().copied().max_by_key(Silence::length);
        let rate = (self.answers, window.duration());
        let (beyond, threshold) =
            beyond_chance(&gaps, Silence::length, rate, self.grid.resolution());
        (longest, beyond, threshold)
    }

    /// The stretches between neighbouring answers of different bins in which something waited.
    fn gaps(&self, window: Window) -> Vec<Silence> {
        let bins = self.grid.bins();
        // The earliest intended time of what ended in each bin or later.
        let mut waiting = vec![Nanos::NEVER; bins.len() + 1];
        for (place, bin) in bins.iter().enumerate().rev() {
            waiting[place] = waiting[place + 1].min(bin.intended);
        }
        let mut gaps = Vec::new();
        let mut from = Edge { at: window.from, place: 0, is_window: true };
        for (place, bin) in bins.iter().enumerate().filter(|(_, bin)| bin.first != Nanos::NEVER) {
            if from.at >= window.until {
                return gaps;
            }
            let is_window = bin.first > window.until;
            let until = Edge { at: bin.first.min(window.until), place, is_window };
            gaps.extend(self.gap(from, until, waiting[place]));
            from = Edge { at: bin.last, place, is_window: false };
        }
        let end = Edge { at: window.until, place: bins.len(), is_window: true };
        let rest = waiting.get(from.place + 1).copied().unwrap_or(Nanos::NEVER);
        gaps.extend(self.gap(from, end, rest));
        gaps
    }

    /// The part of a gap in which something waited that ends no earlier, or is given up in it.
    fn gap(&self, from: Edge, until: Edge, waiting: Nanos) -> Option<Silence> {
        let bins = self.grid.bins();
        let inside = bins.get(from.place..(until.place + 1).min(bins.len())).unwrap_or(&[]);
        let given_up = |bin: &&Ended| bin.failed_last > from.at && bin.failed_first < until.at;
        let failed = inside.iter().filter(given_up).map(|bin| bin.failed_intended);
        let begin = failed.fold(waiting, Nanos::min).max(from.at);
        let is_cut_off = until.is_window || from.is_window && begin == from.at;
        let silence = Silence { from: begin, until: until.at, is_cut_off };
        (begin < until.at).then_some(silence)
    }
}
