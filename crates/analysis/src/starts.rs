//! Scheduling latency of processes, as the five numbers of a boxplot.
//!
//! The scheduling latency is that of BenchFoundry: the time between the moment at which a process
//! was meant to begin and the one at which it did (D. Bermbach et al., "BenchFoundry: A
//! Benchmarking Framework for Cloud Storage Services", ICSOC 2017, section 5.1). Here that is the
//! lag of its first operation; the lag of later ones follows from answers, not from the schedule.

use assay_model::{Nanos, Outcome, Phase, Record};

use crate::LONGEST;
use crate::summary::{Distribution, Histogram};

/// The quantiles of a boxplot as figure 6 of the paper has them, rising.
pub const BOX_QUANTILES: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

/// Counts the scheduling latencies of a history, batch by batch in any order.
#[derive(Clone, Debug)]
pub struct Starts {
    width: u64,
    latencies: Histogram,
    longest: Nanos,
}

/// Five quantiles of a latency, beside the largest value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boxplot {
    /// How many values.
    pub count: u64,
    /// The values at [`BOX_QUANTILES`], to 3 significant digits.
    pub quantiles: [Nanos; 5],
    /// The largest value.
    pub max: Nanos,
}

impl Starts {
    /// Nothing yet of a plan whose processes have at most `width` operations: the index of an
    /// operation is its process times `width` plus its place. A `width` of 0 counts as 1.
    pub fn new(width: u64) -> Starts {
        let latencies = Histogram::new_with_bounds(1, LONGEST.0, 3).expect("these bounds are wide");
        Starts { width: width.max(1), latencies, longest: Nanos::ZERO }
    }

    /// Counts the first operations among `records` that were measured; one that was dropped never
    /// began, so it is not among them.
    pub fn push(&mut self, records: &[Record]) {
        let width = self.width;
        let begins = |record: &&Record| {
            record.index == record.process.wrapping_mul(width)
                && record.phase == Phase::Measure
                && record.outcome != Outcome::Dropped
        };
        for record in records.iter().filter(begins) {
            // The paper counts the difference without its sign.
            let latency = Nanos(record.started.0.abs_diff(record.intended.0));
            self.latencies.saturating_record(latency.0);
            self.longest = self.longest.max(latency);
        }
    }

    /// The five numbers; `None` if no process began.
    pub fn boxplot(&self) -> Option<Boxplot> {
        Boxplot::of(&self.latencies, self.longest)
    }
}

impl Boxplot {
    /// The five numbers of `histogram`, whose largest value is `max`; `None` if it is empty.
    pub fn of(histogram: &Histogram, max: Nanos) -> Option<Boxplot> {
        let at = |quantile| Nanos(histogram.value_at_quantile(quantile)).min(max);
        let quantiles = BOX_QUANTILES.map(at);
        (!histogram.is_empty()).then_some(Boxplot { count: histogram.len(), quantiles, max })
    }

    /// The five numbers of all values of `distributions` together; `None` if there are none.
    pub fn over<'a>(distributions: impl IntoIterator<Item = &'a Distribution>) -> Option<Boxplot> {
        let mut all = Histogram::new_with_bounds(1, LONGEST.0, 3).expect("these bounds are wide");
        let mut max = Nanos::ZERO;
        for distribution in distributions {
            let added = all.add(&distribution.histogram);
            added.expect("no distribution has values above the longest");
            max = max.max(distribution.max);
        }
        Boxplot::of(&all, max)
    }

    /// The median.
    pub const fn p50(&self) -> Nanos {
        self.quantiles[2]
    }

    /// The upper whisker, which 95 % of the values do not exceed.
    pub const fn p95(&self) -> Nanos {
        self.quantiles[4]
    }
}

#[cfg(test)]
mod tests {
    use assay_model::Kind;

    use super::*;
    use crate::tests::{done, history, options, send};

    fn summary(text: &str) -> crate::Summary {
        send(options(0, 10), &history(text))
    }

    /// Operation `place` of `process`, at most three of which there are, `late` ns after its time.
    fn operation(process: u64, place: u64, late: u64) -> Record {
        let intended = Nanos(process * 1_000_000);
        let started = Nanos(intended.0 + late);
        let record = done(process * 3 + place, Kind::Read, intended, started, started);
        Record { process, ..record }
    }

    #[test]
    fn only_first_operations_tell_how_late_processes_begin() {
        let mut starts = Starts::new(3);
        for process in 0..100 {
            let [first, second] =
                [operation(process, 0, process + 1), operation(process, 1, 9_999)];
            starts.push(&[second, first]);
        }
        let found = starts.boxplot().unwrap();
        assert_eq!(found.count, 100);
        assert_eq!(found.quantiles.map(|time| time.0), [5, 25, 50, 75, 95]);
        assert_eq!((found.p50(), found.p95(), found.max), (Nanos(50), Nanos(95), Nanos(100)));
    }

    #[test]
    fn warm_up_is_left_out_as_are_processes_that_never_began() {
        let mut starts = Starts::new(3);
        let early = Record { phase: Phase::WarmUp, ..operation(0, 0, 5) };
        let dropped = Record { outcome: Outcome::Dropped, ..operation(1, 0, 7) };
        starts.push(&[early, dropped]);
        assert_eq!(starts.boxplot(), None);
        starts.push(&[operation(2, 0, 11)]);
        assert_eq!(starts.boxplot().map(|found| (found.count, found.p95())), Some((1, Nanos(11))));
    }

    #[test]
    fn an_early_start_counts_by_its_distance() {
        let mut starts = Starts::new(1);
        let late = operation(0, 0, 0);
        starts.push(&[Record { intended: Nanos(500), started: Nanos(100), ..late }]);
        assert_eq!(starts.boxplot().map(|found| found.max), Some(Nanos(400)));
    }

    #[test]
    fn several_distributions_have_one_boxplot() {
        let reads = summary("read 1 0..1 done hit · read 1 0..3 done hit");
        let updates = summary("update 1 0..2 done hit");
        let both = [&reads, &updates].map(|summary| &summary.overall.hits.response);
        let found = Boxplot::over(both).unwrap();
        assert_eq!((found.count, found.max), (3, Nanos::from_millis(3)));
        assert_eq!(found.p50().0 / 10_000, 200);
        assert_eq!(Boxplot::over([]), None);
    }

    #[test]
    fn quantiles_never_exceed_the_largest_value() {
        let mut starts = Starts::new(1);
        starts.push(&[Record { process: 0, index: 0, ..operation(0, 0, 1_234_567) }]);
        assert_eq!(starts.boxplot().unwrap().quantiles, [Nanos(1_234_567); 5]);
    }
}
