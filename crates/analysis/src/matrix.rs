//! A matrix of runs: stores × workloads × nodes × loads, each run several times.
//!
//! A [`Cell`] is one run, a [`Setup`] what its repetitions have in common. Every figure of a setup
//! is a [`Spread`] over the runs' own values, with Student's t for its interval; no percentile is
//! averaged over operations of different runs.

mod clients;
pub mod durability;
mod figures;
mod latency;
pub mod published;
mod rank;

use std::collections::BTreeSet;

use assay_model::{Kind, named_enum};

use crate::compare::{Spread, spread};
use crate::hallmark;
use crate::plausibility::Plausibility;
use crate::summary::{Counts, Distribution, Group, Summary};

pub use clients::ClientsFit;
pub use durability::DurabilityClass;
pub use figures::MatrixFigures;
pub use latency::LatencyPoint;
pub use rank::{Placed, Ranking, Refused};

/// The name of the transaction type that reads a record, then updates it.
const READ_MODIFY_WRITE: &str = "read-modify-write";

/// The operations that a figure is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperationFilter {
    /// All of them: transactions where the run has queries, all of them in transactions.
    All,
    /// Those of one kind; the reads and updates of read-modify-writes too.
    Kind(Kind),
    /// Read-modify-writes as wholes: from the read's beginning to the update's end.
    ReadModifyWrite,
}

impl OperationFilter {
    /// All of them, in the order in which they are shown.
    pub fn every() -> impl Iterator<Item = OperationFilter> {
        let kinds = Kind::ALL.into_iter().map(OperationFilter::Kind);
        [OperationFilter::All].into_iter().chain(kinds).chain([OperationFilter::ReadModifyWrite])
    }

    /// The name in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            OperationFilter::All => "all",
            OperationFilter::Kind(kind) => kind.name(),
            OperationFilter::ReadModifyWrite => READ_MODIFY_WRITE,
        }
    }
}

named_enum! {
    /// What of a distribution of latencies.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum LatencyStatistic {
        /// The arithmetic mean.
        Mean => "mean",
        /// The median.
        P50 => "p50",
        /// The 99th percentile.
        P99 => "p99",
    }
}

/// One figure of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Metric {
    /// Operations, or transactions where a run counts those, done per second of the window.
    Throughput,
    /// From the first intended to the last ended time, in nanoseconds.
    RunTime,
    /// The run time over the operations that were issued, in nanoseconds; a read-modify-write is
    /// one.
    TimePerOperation,
    /// Response time of hits, in nanoseconds.
    Response(OperationFilter, LatencyStatistic),
    /// Service time of hits, in nanoseconds.
    Service(OperationFilter, LatencyStatistic),
}

impl Metric {
    /// What a ranking is by: throughput, but p99 where all have the same throughput since it is
    /// given to them, in an open loop, which has no `clients`.
    pub const fn of_ranking(clients: Option<u32>) -> Metric {
        match clients {
            Some(_) => Metric::Throughput,
            None => Metric::Response(OperationFilter::All, LatencyStatistic::P99),
        }
    }
}

/// Mean and percentiles of one latency, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// The arithmetic mean.
    pub mean_ns: f64,
    /// The median.
    pub p50_ns: f64,
    /// The 99th percentile.
    pub p99_ns: f64,
}

/// The operations of one sort in one run.
#[derive(Clone, Debug, PartialEq)]
pub struct FilteredFigures {
    /// Which ones.
    pub of: OperationFilter,
    /// How many, by what became of them.
    pub counts: Counts,
    /// Done per second of the window.
    pub throughput_per_s: f64,
    /// Response times of hits, if there were any.
    pub response: Option<Times>,
    /// Service times of hits, if there were any.
    pub service: Option<Times>,
}

/// What one run found.
#[derive(Clone, Debug, PartialEq)]
pub struct CellFigures {
    /// Whether all operations together are counted as transactions.
    pub are_transactions: bool,
    /// From the first intended to the last ended time, in nanoseconds.
    pub run_time_ns: f64,
    /// All operations first, then each kind that was issued.
    pub of: Vec<FilteredFigures>,
    /// Refused, unknown and dropped operations as a share of those offered.
    pub failed: f64,
    /// Concurrency by Little's law, held against the sessions or the bound in flight.
    pub little: Plausibility,
    /// Whether it may be believed, if it was examined.
    pub hallmark: Option<hallmark::Verdict>,
}

/// What the repetitions of a cell have in common: places in the study's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Setup {
    /// The store.
    pub store: usize,
    /// The workload.
    pub workload: usize,
    /// How many nodes, where the study starts them.
    pub nodes: Option<usize>,
    /// The load.
    pub load: usize,
}

/// One run that came to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// What it has in common with its repetitions.
    pub setup: Setup,
    /// Which of them it is, from 1.
    pub repetition: u32,
    /// What it found.
    pub figures: CellFigures,
    /// What its store keeps of an answered write.
    pub durability: DurabilityClass,
    /// Whether its store keeps nothing and finds nothing.
    pub is_no_op: bool,
}

/// All runs of a study that came to their ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matrix {
    /// The runs.
    pub cells: Vec<Cell>,
}

/// Takes what a study shows from a run's summary.
pub fn figures(summary: &Summary, hallmark: Option<hallmark::Verdict>) -> CellFigures {
    let kinds =
        summary.kinds.iter().map(|(kind, group)| of_group(OperationFilter::Kind(*kind), group));
    let whole = summary.transactions.iter().filter(|types| types.name == READ_MODIFY_WRITE);
    let whole = whole.map(|types| of_group(OperationFilter::ReadModifyWrite, &types.group));
    let all = summary.all_transactions.as_ref().unwrap_or(&summary.overall);
    let overall = of_group(OperationFilter::All, all);
    let counts = &all.counts;
    let share = |part: u64, of: u64| if of == 0 { 0.0 } else { part as f64 / of as f64 };
    let of: Vec<FilteredFigures> = [overall].into_iter().chain(kinds).chain(whole).collect();
    CellFigures {
        are_transactions: summary.all_transactions.is_some(),
        run_time_ns: summary.span.0 as f64,
        of,
        failed: share(counts.refused + counts.unknown + counts.dropped, counts.offered),
        little: summary.in_flight.by_service,
        hallmark,
    }
}

/// What must be found by itself: that a few were missed is lost among many that cannot be.
const SOUGHT: [OperationFilter; 4] = [
    OperationFilter::All,
    OperationFilter::Kind(Kind::Read),
    OperationFilter::Kind(Kind::Update),
    OperationFilter::Kind(Kind::Scan),
];

fn of_group(of: OperationFilter, group: &Group) -> FilteredFigures {
    FilteredFigures {
        of,
        counts: group.counts.clone(),
        throughput_per_s: group.rates.done_per_s,
        response: times(&group.hits.response),
        service: times(&group.hits.service),
    }
}

fn times(distribution: &Distribution) -> Option<Times> {
    let at = |quantile: f64| distribution.value(quantile).map(|value| value.0 as f64);
    Some(Times { mean_ns: distribution.mean_ns, p50_ns: at(0.5)?, p99_ns: at(0.99)? })
}

impl Times {
    /// The value of this statistic.
    pub const fn at(&self, statistic: LatencyStatistic) -> f64 {
        match statistic {
            LatencyStatistic::Mean => self.mean_ns,
            LatencyStatistic::P50 => self.p50_ns,
            LatencyStatistic::P99 => self.p99_ns,
        }
    }
}

fn least<'a>(some: impl Iterator<Item = &'a FilteredFigures>) -> Option<(OperationFilter, f64)> {
    let ratios = some.filter_map(|one| Some((one.of, one.hit_ratio()?)));
    ratios.min_by(|(_, a), (_, b)| a.total_cmp(b))
}

impl FilteredFigures {
    /// Hits as a share of what was done, if anything was.
    pub fn hit_ratio(&self) -> Option<f64> {
        let Counts { hits, done, .. } = self.counts;
        (done > 0).then(|| hits as f64 / done as f64)
    }
}

impl CellFigures {
    /// The operations that found least, with their hit ratio: reads, scans, updates each by
    /// themselves, or all together. Writes cannot hide reads that miss.
    pub fn least_found(&self) -> Option<(OperationFilter, f64)> {
        least(self.sought())
    }

    /// So many misses of requests of `kind` are what the workload expects: they count as found.
    pub fn expect_misses(&mut self, kind: Kind, misses: u64) {
        let is_about =
            |of: OperationFilter| of == OperationFilter::All || of == OperationFilter::Kind(kind);
        for figures in self.of.iter_mut().filter(|figures| is_about(figures.of)) {
            let expected = misses.min(figures.counts.misses);
            figures.counts.misses -= expected;
            figures.counts.hits += expected;
        }
    }

    /// What must be found, as far as it was done.
    fn sought(&self) -> impl Iterator<Item = &FilteredFigures> {
        self.of.iter().filter(|one| SOUGHT.contains(&one.of))
    }

    /// The operations of one kind, if any were issued.
    pub fn of(&self, of: OperationFilter) -> Option<&FilteredFigures> {
        self.of.iter().find(|found| found.of == of)
    }

    /// How many operations were issued, where a read-modify-write is one, as in YCSB.
    pub fn requested(&self) -> u64 {
        let offered = |of: OperationFilter| self.of(of).map_or(0, |found| found.counts.offered);
        offered(OperationFilter::All).saturating_sub(offered(OperationFilter::ReadModifyWrite))
    }

    /// One figure, if there is anything that it could be of.
    pub fn value(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::Throughput => self.of(OperationFilter::All).map(|found| found.throughput_per_s),
            Metric::RunTime => Some(self.run_time_ns),
            Metric::TimePerOperation => {
                let requested = self.requested();
                (requested > 0).then(|| self.run_time_ns / requested as f64)
            }
            Metric::Response(of, statistic) => Some(self.of(of)?.response?.at(statistic)),
            Metric::Service(of, statistic) => Some(self.of(of)?.service?.at(statistic)),
        }
    }
}

impl Matrix {
    /// The runs of a setup, in order of their repetition.
    pub fn runs(&self, setup: Setup) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(move |cell| cell.setup == setup)
    }

    /// A figure over the runs of a setup that have it.
    fn spread(&self, setup: Setup, metric: Metric) -> Option<Spread> {
        let values: Vec<f64> =
            self.runs(setup).filter_map(|cell| cell.figures.value(metric)).collect();
        (!values.is_empty()).then(|| spread(&values))
    }

    /// Every setup that has runs, each once, in order.
    pub fn setups(&self) -> Vec<Setup> {
        let setups: BTreeSet<Setup> = self.cells.iter().map(|cell| cell.setup).collect();
        Vec::from_iter(setups)
    }

    /// The kinds of operations that some run issued.
    pub fn sorts(&self) -> Vec<OperationFilter> {
        let is_there =
            |of: &OperationFilter| self.cells.iter().any(|cell| cell.figures.of(*of).is_some());
        OperationFilter::every().filter(is_there).collect()
    }

    /// The tiers of the stores that keep anything, each once, the weakest first.
    pub fn durability_classes(&self) -> Vec<DurabilityClass> {
        let kept = self.cells.iter().filter(|cell| !cell.is_no_op);
        let classes: BTreeSet<DurabilityClass> = kept.map(|cell| cell.durability).collect();
        Vec::from_iter(classes)
    }
}

#[cfg(test)]
mod tests;
