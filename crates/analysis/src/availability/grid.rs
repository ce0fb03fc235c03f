//! Bins of equal time, which double when a run goes on: what is kept is bounded.

use assay_model::Nanos;

/// The most bins; they double when the run needs more.
const MOST_BINS: u64 = 1 << 16;
/// The first bins are 2^26 ns (67 ms) long: shorter than the shortest gap that is reported.
const FIRST_SHIFT: u32 = 26;

/// The counts of one bin.
pub trait Bin: Copy {
    /// An empty bin.
    const EMPTY: Self;

    /// Adds what happened in `other`.
    fn merge(&mut self, other: &Self);
}

/// Bins from an origin on.
#[derive(Clone, Debug)]
pub struct Grid<B> {
    origin: Nanos,
    shift: u32,
    bins: Vec<B>,
}

impl<B: Bin> Grid<B> {
    /// Bins that begin at `origin`.
    pub fn new(origin: Nanos) -> Grid<B> {
        Grid { origin, shift: FIRST_SHIFT, bins: Vec::new() }
    }

    /// Where the first bin begins.
    pub fn origin(&self) -> Nanos {
        self.origin
    }

    /// All bins up to the last one that was used.
    pub fn bins(&self) -> &[B] {
        &self.bins
    }

    /// The number of the bin that `moment` is in.
    #[inline]
    pub fn place(&self, moment: Nanos) -> usize {
        (moment.since(self.origin).0 >> self.shift) as usize
    }

    /// The length of a bin.
    pub fn resolution(&self) -> Nanos {
        Nanos(1 << self.shift)
    }

    /// The bin that `moment` is in.
    #[inline]
    pub fn at(&mut self, moment: Nanos) -> &mut B {
        let mut place = self.place(moment);
        if place >= self.bins.len() {
            place = self.make_room(moment);
        }
        &mut self.bins[place]
    }

    #[cold]
    fn make_room(&mut self, moment: Nanos) -> usize {
        while self.place(moment) as u64 >= MOST_BINS {
            self.double();
        }
        let place = self.place(moment);
        if place >= self.bins.len() {
            self.bins.resize(place + 1, B::EMPTY);
        }
        place
    }

    fn double(&mut self) {
        let joined = |pair: &[B]| {
            let mut bin = pair[0];
            pair[1..].iter().for_each(|other| bin.merge(other));
            bin
        };
        self.bins = self.bins.chunks(2).map(joined).collect();
        self.shift += 1;
    }

    /// Adds what `other`, begun at the same origin, counted.
    pub fn merge(&mut self, mut other: Grid<B>) {
        while self.shift < other.shift {
            self.double();
        }
        while other.shift < self.shift {
            other.double();
        }
        self.bins.resize(self.bins.len().max(other.bins.len()), B::EMPTY);
        for (mine, theirs) in self.bins.iter_mut().zip(&other.bins) {
            mine.merge(theirs);
        }
    }
}
