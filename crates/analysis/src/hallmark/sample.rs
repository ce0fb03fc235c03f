//! The moments of a run at which something came or went: all, or those of evenly spread stretches.
//!
//! Workers come one after another, so the order over all workers is known only in the end.
//! All moments are kept until there are too many; then time is cut into pages of some hundred
//! requests, and every second page is dropped, again and again. Which pages stay depends on
//! their number alone, so that they are complete whatever the order of the workers.

use assay_model::Nanos;

/// The most moments that are kept.
const MOST: usize = 1 << 17;

/// Moments in a page when it is first cut.
const PAGE: u64 = 256;

/// The bits that page numbers must end with, so that kept pages are spread over the run.
const ENDING: u64 = 0x5555_5555_5555_5555;

/// The mask after the last halving: one of a billion pages is kept.
const MASK_MOST: u64 = (1 << 30) - 1;

/// What happened at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// An operation ended.
    Ended,
    /// An arrival was intended.
    Intended,
    /// The request of an arrival left.
    Sent,
    /// A later request of a process left.
    Continued,
    /// An operation ended at the moment at which it was sent; last, so that it counts as sent
    /// before.
    Answered,
}

/// Moments as they come.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    moments: Vec<(u64, Moment)>,
    pages: Option<Pages>,
}

/// Which pages are kept.
#[derive(Clone, Copy, Debug)]
struct Pages {
    /// A page is 2^shift ns long.
    shift: u32,
    /// The bits of a page's number that tell whether it is kept: the lowest n, where one of 2^n
    /// pages is kept.
    mask: u64,
}

impl Pages {
    #[inline]
    fn keep(self, at: u64) -> bool {
        ((at >> self.shift) ^ ENDING) & self.mask == 0
    }

    /// Keeps every second one of the pages that were kept.
    fn halve(&mut self) {
        self.mask = self.mask << 1 | 1;
    }
}

impl Sample {
    /// Takes a moment into account.
    #[inline]
    pub fn add(&mut self, at: Nanos, moment: Moment) {
        if self.pages.is_none_or(|pages| pages.keep(at.0)) {
            self.keep(at, moment);
        }
    }

    #[inline(never)]
    fn keep(&mut self, at: Nanos, moment: Moment) {
        self.moments.push((at.0, moment));
        let can_thin = self.pages.is_none_or(|pages| pages.mask < MASK_MOST);
        if self.moments.len() >= MOST && can_thin {
            self.thin();
        }
    }

    fn thin(&mut self) {
        let mut pages = self.pages.unwrap_or_else(|| {
            let times = || self.moments.iter().map(|(at, _)| *at);
            let span = times().max().unwrap_or(0) - times().min().unwrap_or(0);
            let page = (span / (MOST as u64 / PAGE)).max(1);
            Pages { shift: page.next_power_of_two().trailing_zeros(), mask: 0 }
        });
        while self.moments.len() > MOST / 2 && pages.mask < MASK_MOST {
            pages.halve();
            self.moments.retain(|(at, _)| pages.keep(*at));
        }
        self.pages = Some(pages);
    }

    /// The kept moments in order of time, cut where something between was dropped.
    pub fn stretches(mut self) -> Vec<Vec<(u64, Moment)>> {
        self.moments.sort_unstable();
        let shift = self.pages.map_or(u32::MAX, |pages| pages.shift);
        let page = |at: u64| at.checked_shr(shift).unwrap_or(0);
        let stretches = self.moments.chunk_by(|a, b| page(a.0) == page(b.0));
        stretches.map(<[_]>::to_vec).collect()
    }

    /// The gaps between moments of one kind, in nanoseconds, each with its begin.
    ///
    /// Where stretches were dropped, a gap counts only if it begins in the first half of its
    /// stretch: near the end, long gaps would be missing.
    pub fn gaps(stretches: &[Vec<(u64, Moment)>], kind: Moment) -> Vec<(u64, u64)> {
        let mut gaps = Vec::new();
        for stretch in stretches {
            let of_kind = stretch.iter().filter(|(_, moment)| *moment == kind);
            let times: Vec<u64> = of_kind.map(|(at, _)| *at).collect();
            let half = match stretches.len() {
                1 => u64::MAX,
                _ => u64::midpoint(stretch[0].0, stretch[stretch.len() - 1].0),
            };
            let pairs = times.windows(2).take_while(|pair| pair[0] < half);
            gaps.extend(pairs.map(|pair| (pair[0], pair[1] - pair[0])));
        }
        gaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::Seed;

    fn poisson(worker: u64, number: u64) -> Vec<u64> {
        let mut at = 0.0;
        let gap = |i| -(1.0 - Seed(worker).draws(1, i).unit()).ln() * 1e5;
        (0..number)
            .map(|i| {
                at += gap(i);
                at as u64
            })
            .collect()
    }

    fn sampled(workers: &[Vec<u64>]) -> Sample {
        let mut sample = Sample::default();
        for at in workers.iter().flatten() {
            sample.add(Nanos(*at), Moment::Sent);
        }
        sample
    }

    #[test]
    fn few_moments_are_all_kept_in_order() {
        let sample = sampled(&[vec![5, 90], vec![1, 40, 41]]);
        let stretches = sample.stretches();
        assert_eq!(stretches.len(), 1);
        let gaps = Sample::gaps(&stretches, Moment::Sent);
        assert_eq!(gaps, [(1, 4), (5, 35), (40, 1), (41, 49)]);
        assert_eq!(Sample::gaps(&stretches, Moment::Intended), []);
    }

    #[test]
    fn many_moments_are_thinned_to_whole_pages_of_all_workers() {
        let workers: Vec<Vec<u64>> = (0..3).map(|worker| poisson(worker, 150_000)).collect();
        let mut all: Vec<u64> = workers.iter().flatten().copied().collect();
        all.sort_unstable();
        let sample = sampled(&workers);
        assert!(sample.moments.len() < MOST);
        let stretches = sample.stretches();
        assert!(stretches.len() >= 20, "{}", stretches.len());
        for stretch in &stretches {
            let first = all.partition_point(|&at| at < stretch[0].0);
            let times: Vec<u64> = stretch.iter().map(|(at, _)| *at).collect();
            assert_eq!(times, all[first..first + times.len()]);
        }
        let gaps = Sample::gaps(&stretches, Moment::Sent);
        let mean = gaps.iter().map(|(_, gap)| *gap as f64).sum::<f64>() / gaps.len() as f64;
        assert!((mean / (1e5 / 3.0) - 1.0).abs() < 0.02, "{mean}");
    }
}
