//! Event counts in short stretches of the window.

use assay_model::Nanos;

/// The shortest stretch in which arrivals are looked at.
pub(super) const WIDTH: u64 = 10_000_000;

/// The most stretches: three hours of 10 ms; a longer run has stretches twice as long.
pub(super) const MOST: u64 = 1 << 20;

/// Counts by stretch from an origin on.
#[derive(Clone, Debug)]
pub struct Ticks {
    origin: u64,
    width: u64,
    counts: Vec<u32>,
    /// The stretch that was counted in last: its place, begin and end.
    near: (usize, u64, u64),
}

impl Ticks {
    /// Nothing yet, from `origin` on.
    pub fn new(origin: Nanos) -> Ticks {
        Ticks { origin: origin.0, width: WIDTH, counts: Vec::new(), near: (0, 1, 0) }
    }

    /// Counts something at `moment`, which is not before the origin.
    #[inline]
    pub fn add(&mut self, moment: Nanos) {
        if moment.0 < self.near.1 || moment.0 >= self.near.2 {
            self.look_up(moment);
        }
        self.counts[self.near.0] += 1;
    }

    fn look_up(&mut self, moment: Nanos) {
        let past = moment.0.saturating_sub(self.origin);
        while past / self.width >= MOST {
            self.double();
        }
        let place = (past / self.width) as usize;
        if place >= self.counts.len() {
            self.counts.resize(place + 1, 0);
        }
        let from = self.origin + place as u64 * self.width;
        self.near = (place, from, from.saturating_add(self.width));
    }

    fn double(&mut self) {
        self.counts = self.counts.chunks(2).map(|pair| pair.iter().sum()).collect();
        self.width *= 2;
    }

    /// The counts of stretches of about `width` that end by `until`, with the stretches' length.
    pub fn per(&self, width: Nanos, until: Nanos) -> (Nanos, Vec<f64>) {
        let each = (width.0 / self.width).max(1);
        let length = each * self.width;
        // A window may end long after the last event in it.
        let number = (until.0.saturating_sub(self.origin) / length).min(MOST / each);
        let count = |place: u64| {
            let cells = (place * each)..((place + 1) * each);
            let count = |cell: u64| self.counts.get(cell as usize).copied().unwrap_or(0);
            cells.map(count).map(f64::from).sum()
        };
        (Nanos(length), (0..number).map(count).collect())
    }

    /// How many there were.
    pub fn total(&self) -> u64 {
        self.counts.iter().map(|&count| u64::from(count)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_summed_by_stretch_up_to_the_last_whole_one() {
        let mut ticks = Ticks::new(Nanos::from_millis(1000));
        for at in [1000, 1009, 1010, 1099, 1100, 1250] {
            ticks.add(Nanos::from_millis(at));
        }
        let (width, counts) = ticks.per(Nanos::from_millis(100), Nanos::from_millis(1390));
        assert_eq!((width, counts), (Nanos::from_millis(100), vec![4.0, 1.0, 1.0]));
        assert_eq!(ticks.total(), 6);
    }

    #[test]
    fn an_endless_window_takes_bounded_memory() {
        let mut ticks = Ticks::new(Nanos::ZERO);
        ticks.add(Nanos::from_millis(15));
        let (width, counts) = ticks.per(Nanos::from_secs(1), Nanos(1 << 63));
        assert_eq!((width, counts[0]), (Nanos::from_secs(1), 1.0));
        assert!(counts.len() as u64 <= MOST);
    }

    #[test]
    fn a_long_run_has_longer_stretches_and_loses_nothing() {
        let mut ticks = Ticks::new(Nanos::ZERO);
        ticks.add(Nanos::ZERO);
        ticks.add(Nanos::from_secs(4 * 3600));
        ticks.add(Nanos::from_millis(15));
        let (width, counts) = ticks.per(Nanos::from_millis(10), Nanos::from_secs(4 * 3600 + 1));
        assert_eq!(width, Nanos::from_millis(20));
        assert_eq!((counts[0], ticks.total()), (2.0, 3));
    }
}
