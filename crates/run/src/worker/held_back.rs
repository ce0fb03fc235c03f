//! Stretches in which arrivals wait because the bound on operations in flight is reached.

use assay_model::Nanos;

/// The most stretches that a worker keeps, some tens of kilobytes in a manifest; of more the
/// longest stay.
const KEPT: usize = 1024;

/// Stretches that are no further apart than this are one: a slow store admits one arrival after
/// another.
const JOINED: Nanos = Nanos::from_millis(10);

/// A worker that reaches the bound later than this share of the wait there was late by itself.
const OWN: f64 = 0.1;

/// The stretches of one worker.
#[derive(Debug, Default)]
pub(super) struct HeldBack {
    /// The start of the current stretch, with the worker's lateness then.
    open: Option<(Nanos, Nanos)>,
    kept: Vec<(Nanos, Nanos)>,
}

impl HeldBack {
    /// The arrival that was due at `arrival` finds no free slot at `now`.
    #[inline]
    pub fn begin(&mut self, arrival: Nanos, now: Nanos) {
        if self.open.is_none() {
            self.open = Some((arrival, now.since(arrival)));
        }
    }

    /// No due arrival waits at `now`.
    #[inline]
    pub fn end(&mut self, now: Nanos) {
        if let Some((from, own)) = self.open.take() {
            self.keep(from, own, now);
        }
    }

    #[cold]
    fn keep(&mut self, from: Nanos, own: Nanos, until: Nanos) {
        if own.0 as f64 > OWN * until.since(from).0 as f64 {
            return;
        }
        match self.kept.last_mut() {
            Some(last) if from.since(last.1) <= JOINED => last.1 = until,
            _ => self.kept.push((from, until)),
        }
        if self.kept.len() > KEPT {
            let lengths = self.kept.iter().map(|(from, until)| until.since(*from)).enumerate();
            let shortest = lengths.min_by_key(|(_, length)| *length).map(|(place, _)| place);
            shortest.map(|place| self.kept.remove(place));
        }
    }

    /// All of them, in order of time, each with its first and its last moment.
    pub fn take(&mut self) -> Vec<(Nanos, Nanos)> {
        std::mem::take(&mut self.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stretches of these events: an arrival was due, it found no slot, none waited any more.
    fn describe(stretches: &[[u64; 3]]) -> Vec<(u64, u64)> {
        let mut held = HeldBack::default();
        for stretch in stretches {
            let [arrival, now, end] = stretch.map(Nanos::from_millis);
            held.begin(arrival, now);
            held.begin(now, now);
            held.end(end);
            held.end(end);
        }
        held.take().iter().map(|(from, until)| (from.0 / 1_000_000, until.0 / 1_000_000)).collect()
    }

    #[test]
    fn a_stretch_lasts_from_the_first_that_waits_until_none_does() {
        assert_eq!(describe(&[[100, 100, 700], [900, 910, 1_500]]), [(100, 700), (900, 1_500)]);
        assert_eq!(describe(&[[100, 100, 700], [705, 705, 800]]), [(100, 800)]);
    }

    #[test]
    fn a_worker_that_was_already_late_was_not_held_back() {
        assert_eq!(describe(&[[100, 1_100, 1_300]]), []);
    }

    #[test]
    fn of_too_many_stretches_the_longest_stay() {
        let mut all: Vec<[u64; 3]> = (0..KEPT as u64 + 44)
            .map(|place| [place * 100, place * 100, place * 100 + 20])
            .collect();
        all[7][2] = 780;
        let reported = describe(&all);
        assert_eq!(reported.len(), KEPT);
        assert!(reported.contains(&(700, 780)) && reported.is_sorted());
    }
}
