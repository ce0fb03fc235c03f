//! Figures that others have published, held against each other by rules.
//!
//! A closed loop of C clients that does n operations of mean latency W takes n · W / C, by Little's
//! law. So run times beside latencies check each other, and need nothing else. The other rules look
//! for figures that do not depend on what they must depend on, for the same figures under two
//! names, and for one figure that is ten times its neighbours.

use std::collections::BTreeSet;

use assay_model::Kind;

use crate::compare::{Spread, spread};
use crate::matrix::{LatencyStatistic, Metric, OperationFilter};
use crate::median::{median, sorted};
use crate::plausibility::Verdict;

/// A run time further from what follows from the latencies than this share of it contradicts them.
const OFF: f64 = 1.0 / 3.0;

/// Two figures closer than this are the same one, read off a chart.
const SAME: f64 = 0.01;

/// Fewer figures in common than this may be the same by chance.
const SHARED_MIN: usize = 6;

/// With so many of the common figures equal, two series are one.
const SAME_SHARE: f64 = 0.8;

/// Nodes make no difference if the largest figure is not more than this times the smallest.
const FLAT: f64 = 1.1;

/// Fewer node counts than this show no effect of them, whether there is one or not.
const NODES_MIN: usize = 3;

/// A scan of many records that takes less than this times a read of one scans nothing.
const SCAN: f64 = 1.5;

/// A workload with this share of scans is about scans.
const SCANS: f64 = 0.5;

/// What a slipped decimal point multiplies by.
const SLIP: f64 = 10.0;

/// How near to its neighbours a figure is when its decimal point is put back.
const SLIP_NEAR: f64 = 0.3;

/// Neighbours that differ by more than this from each other do not say what is usual.
const SLIP_FLAT: f64 = 2.0;

/// One published figure.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedFigure {
    /// Of which system, in its author's words.
    pub system: String,
    /// The workload that was run.
    pub workload: String,
    /// On how many nodes.
    pub nodes: usize,
    /// What it is.
    pub measure: PublishedMeasure,
    /// The figure in nanoseconds.
    pub value_ns: f64,
}

/// What a figure of others is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PublishedMeasure {
    /// How long the whole run took.
    RunTime,
    /// Mean latency.
    Mean(OperationFilter),
}

/// Which share of a workload's operations is of which sort.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadMix {
    /// The workload's name, as the figures have it.
    pub workload: String,
    /// The shares, which add up to one.
    pub shares: Vec<(OperationFilter, f64)>,
}

/// What else is known of how the figures came about.
#[derive(Clone, Debug, PartialEq)]
pub struct Terms {
    /// Operations of each run.
    pub operations: f64,
    /// Clients of the closed loop.
    pub clients: f64,
    /// The workloads.
    pub mixes: Vec<WorkloadMix>,
}

/// Published figures with what rules say of them.
#[derive(Clone, Debug, PartialEq)]
pub struct ExaminedFigures {
    /// The figures.
    pub figures: Vec<PublishedFigure>,
    /// How they came about.
    pub terms: Terms,
    /// The systems, each once, in order of their first figure.
    pub systems: Vec<String>,
    /// Each run time for which the latencies of all its operations were published too.
    pub predictions: Vec<Prediction>,
    /// Everything that rules find wrong.
    pub warnings: Vec<FigureWarning>,
}

impl ExaminedFigures {
    /// Holds `figures`, which came about by `terms`, against each other.
    pub fn new(figures: Vec<PublishedFigure>, terms: Terms) -> ExaminedFigures {
        let predictions = predictions(&figures, &terms);
        let systems = systems(&figures);
        let warnings = figure_warnings(&figures, &terms, &systems, &predictions);
        ExaminedFigures { figures, terms, systems, predictions, warnings }
    }

    /// The figure of a system with a workload on so many nodes, if it was published.
    pub fn get(&self, of: (&str, &str, usize), metric: Metric) -> Option<Spread> {
        let (measure, parts) = match metric {
            Metric::RunTime => (PublishedMeasure::RunTime, 1.0),
            Metric::TimePerOperation => (PublishedMeasure::RunTime, self.terms.operations.max(1.0)),
            Metric::Response(of, LatencyStatistic::Mean) => (PublishedMeasure::Mean(of), 1.0),
            _ => return None,
        };
        let is_it = |figure: &&PublishedFigure| {
            let own = (figure.system.as_str(), figure.workload.as_str(), figure.nodes);
            (own, figure.measure) == (of, measure)
        };
        let found = self.figures.iter().find(is_it);
        found.map(|figure| spread(&[figure.value_ns / parts]))
    }
}

/// A run time beside the one that follows from the latencies.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Of which system.
    pub system: String,
    /// With which workload.
    pub workload: String,
    /// On how many nodes.
    pub nodes: usize,
    /// As published, in nanoseconds.
    pub simulated_ns: f64,
    /// Operations × mean latency / clients, in nanoseconds.
    pub predicted_ns: f64,
    /// Held if the two are within a third of what was predicted.
    pub verdict: Verdict,
}

impl Prediction {
    /// The published run time over the predicted one.
    pub fn ratio(&self) -> f64 {
        self.simulated_ns / self.predicted_ns
    }
}

/// What is wrong with published figures, as far as rules can tell.
#[derive(Clone, Debug, PartialEq)]
pub enum FigureWarning {
    /// Run times of two systems are the same ones.
    SameSeries {
        /// The one.
        system: String,
        /// The other.
        other: String,
        /// How many of the figures that both have are equal.
        equal: usize,
        /// How many both have.
        shared: usize,
    },
    /// Run times that contradict the system's own latencies.
    Little {
        /// The system.
        system: String,
        /// How many of its run times do.
        violated: usize,
        /// How many could be checked.
        checked: usize,
        /// The furthest off: reported over predicted.
        worst: f64,
    },
    /// The number of nodes makes no difference to any workload's run time.
    NodesWithoutEffect {
        /// The system.
        system: String,
        /// The largest ratio between the run times of one workload.
        largest: f64,
    },
    /// Scans of many records take hardly longer than reads of one, or less.
    ScansLikeReads {
        /// The system.
        system: String,
        /// The scans' run time over that of reads alone, of the largest number of nodes.
        ratio: f64,
    },
    /// Both of the above: so answers a binding that drops its operations.
    LikeNothing {
        /// The system.
        system: String,
    },
    /// A latency of operations that the workload does not issue.
    NotIssued {
        /// The system.
        system: String,
        /// The workload.
        workload: String,
        /// The operations.
        of: OperationFilter,
    },
    /// A figure that fits its neighbours if its decimal point is moved by one place.
    SlippedPoint {
        /// The figure.
        figure: PublishedFigure,
        /// What it would be then, in nanoseconds.
        likely_ns: f64,
    },
}

fn predictions(figures: &[PublishedFigure], terms: &Terms) -> Vec<Prediction> {
    let run_times = figures.iter().filter(|figure| figure.measure == PublishedMeasure::RunTime);
    run_times
        .filter_map(|figure| {
            let mix = terms.mixes.iter().find(|mix| mix.workload == figure.workload)?;
            let mean_ns = mean_of(figures, figure, mix)?;
            let predicted_ns = terms.operations * mean_ns / terms.clients;
            let is_near = (figure.value_ns - predicted_ns).abs() <= OFF * predicted_ns;
            Some(Prediction {
                system: figure.system.clone(),
                workload: figure.workload.clone(),
                nodes: figure.nodes,
                simulated_ns: figure.value_ns,
                predicted_ns,
                verdict: if is_near { Verdict::Held } else { Verdict::Violated },
            })
        })
        .collect()
}

/// The mean latency of all operations of a workload, if that of every sort is known.
fn mean_of(figures: &[PublishedFigure], run: &PublishedFigure, mix: &WorkloadMix) -> Option<f64> {
    let latency = |of: OperationFilter| {
        let is_it = |figure: &&PublishedFigure| {
            figure.measure == PublishedMeasure::Mean(of)
                && (&figure.system, &figure.workload, figure.nodes)
                    == (&run.system, &run.workload, run.nodes)
        };
        figures.iter().find(is_it).map(|figure| figure.value_ns)
    };
    let of_sort = |of: OperationFilter| match of {
        OperationFilter::ReadModifyWrite => latency(of).or_else(|| {
            Some(
                latency(OperationFilter::Kind(Kind::Read))?
                    + latency(OperationFilter::Kind(Kind::Update))?,
            )
        }),
        of => latency(of),
    };
    let shares = mix.shares.iter().filter(|(_, share)| *share > 0.0);
    shares.map(|(of, share)| Some(of_sort(*of)? * share)).sum()
}

fn figure_warnings(
    figures: &[PublishedFigure],
    terms: &Terms,
    systems: &[String],
    predictions: &[Prediction],
) -> Vec<FigureWarning> {
    let mut figure_warnings = same_series(figures, systems);
    for system in systems {
        figure_warnings.extend(little(predictions, system));
        let flat = nodes_without_effect(figures, system);
        let scans = scans_like_reads(figures, system, terms);
        let is_nothing = flat.is_some() && scans.is_some();
        figure_warnings.extend(flat);
        figure_warnings.extend(scans);
        if is_nothing {
            figure_warnings.push(FigureWarning::LikeNothing { system: system.clone() });
        }
    }
    figure_warnings.extend(not_issued(figures, terms));
    figure_warnings.extend(slipped_points(figures));
    figure_warnings
}

fn systems(figures: &[PublishedFigure]) -> Vec<String> {
    let mut systems: Vec<String> = Vec::new();
    for figure in figures {
        if !systems.contains(&figure.system) {
            systems.push(figure.system.clone());
        }
    }
    systems
}

fn run_times<'a>(
    figures: &'a [PublishedFigure],
    system: &'a str,
) -> impl Iterator<Item = &'a PublishedFigure> {
    let of = move |figure: &&PublishedFigure| {
        figure.system == system && figure.measure == PublishedMeasure::RunTime
    };
    figures.iter().filter(of)
}

fn same_series(figures: &[PublishedFigure], systems: &[String]) -> Vec<FigureWarning> {
    let mut figure_warnings = Vec::new();
    for (place, system) in systems.iter().enumerate() {
        for other in &systems[place + 1..] {
            let pairs = run_times(figures, system).filter_map(|one| {
                let is_same = |two: &&PublishedFigure| {
                    (&two.workload, two.nodes) == (&one.workload, one.nodes)
                };
                let two = run_times(figures, other).find(is_same)?;
                Some((one.value_ns / two.value_ns - 1.0).abs() <= SAME)
            });
            let pairs: Vec<bool> = pairs.collect();
            let equal = pairs.iter().filter(|is_equal| **is_equal).count();
            let shared = pairs.len();
            if shared >= SHARED_MIN && equal as f64 >= SAME_SHARE * shared as f64 {
                let (system, other) = (system.clone(), other.clone());
                figure_warnings.push(FigureWarning::SameSeries { system, other, equal, shared });
            }
        }
    }
    figure_warnings
}

fn little(predictions: &[Prediction], system: &str) -> Option<FigureWarning> {
    let own: Vec<&Prediction> = predictions.iter().filter(|one| one.system == system).collect();
    let violated: Vec<f64> =
        own.iter().filter(|one| one.verdict == Verdict::Violated).map(|one| one.ratio()).collect();
    let worst = violated.iter().copied().max_by(|a, b| a.ln().abs().total_cmp(&b.ln().abs()))?;
    let (system, checked) = (system.to_owned(), own.len());
    Some(FigureWarning::Little { system, violated: violated.len(), checked, worst })
}

/// The largest ratio between run times of one workload, if all workloads have enough of them.
fn nodes_without_effect(figures: &[PublishedFigure], system: &str) -> Option<FigureWarning> {
    let mut largest = 1.0_f64;
    let mut workloads: Vec<&str> =
        run_times(figures, system).map(|figure| figure.workload.as_str()).collect();
    workloads.dedup();
    for workload in &workloads {
        let own = run_times(figures, system).filter(|figure| figure.workload == *workload);
        let (nodes, values): (BTreeSet<usize>, Vec<f64>) =
            own.map(|figure| (figure.nodes, figure.value_ns)).unzip();
        if nodes.len() < NODES_MIN {
            return None;
        }
        let values = sorted(values);
        largest = largest.max(values[values.len() - 1] / values[0]);
    }
    let is_flat = !workloads.is_empty() && largest <= FLAT;
    is_flat.then(|| FigureWarning::NodesWithoutEffect { system: system.to_owned(), largest })
}

fn scans_like_reads(
    figures: &[PublishedFigure],
    system: &str,
    terms: &Terms,
) -> Option<FigureWarning> {
    let share = |mix: &WorkloadMix, of: OperationFilter| {
        let found = mix.shares.iter().find(|(sort, _)| *sort == of);
        found.map_or(0.0, |(_, share)| *share)
    };
    let is_about = |workload: &str, of: OperationFilter, least: f64| {
        let mix = terms.mixes.iter().find(|mix| mix.workload == workload);
        mix.is_some_and(|mix| share(mix, of) >= least)
    };
    let nodes = run_times(figures, system).map(|figure| figure.nodes).max()?;
    let of = |kind: Kind, least: f64| {
        let mut own = run_times(figures, system).filter(|figure| figure.nodes == nodes);
        let found =
            own.find(|figure| is_about(&figure.workload, OperationFilter::Kind(kind), least));
        found.map(|figure| figure.value_ns)
    };
    let ratio = of(Kind::Scan, SCANS)? / of(Kind::Read, 1.0)?;
    (ratio < SCAN).then(|| FigureWarning::ScansLikeReads { system: system.to_owned(), ratio })
}

/// Latencies of operations that their workloads do not issue, each workload of a system once.
fn not_issued(figures: &[PublishedFigure], terms: &Terms) -> Vec<FigureWarning> {
    let mut figure_warnings: Vec<FigureWarning> = Vec::new();
    for figure in figures {
        let PublishedMeasure::Mean(of) = figure.measure else { continue };
        let Some(mix) = terms.mixes.iter().find(|mix| mix.workload == figure.workload) else {
            continue;
        };
        let is_part = |sort: OperationFilter| {
            sort == OperationFilter::ReadModifyWrite
                && matches!(
                    of,
                    OperationFilter::Kind(Kind::Read) | OperationFilter::Kind(Kind::Update)
                )
        };
        let mut shares = mix.shares.iter().filter(|(_, share)| *share > 0.0);
        if of == OperationFilter::All || shares.any(|(sort, _)| *sort == of || is_part(*sort)) {
            continue;
        }
        let figure_warning = FigureWarning::NotIssued {
            system: figure.system.clone(),
            workload: figure.workload.clone(),
            of,
        };
        if !figure_warnings.contains(&figure_warning) {
            figure_warnings.push(figure_warning);
        }
    }
    figure_warnings
}

/// Figures ten times, or a tenth of, the median of the same one on other numbers of nodes, if
/// those are about alike.
///
/// A figure of the fewest nodes is spared: a single node needs no agreement, and may well be ten
/// times as fast as all others.
fn slipped_points(figures: &[PublishedFigure]) -> Vec<FigureWarning> {
    let slipped = |figure: &PublishedFigure| {
        let is_neighbour = |other: &&PublishedFigure| {
            other.nodes != figure.nodes
                && (&other.system, &other.workload, other.measure)
                    == (&figure.system, &figure.workload, figure.measure)
        };
        let others = sorted(figures.iter().filter(is_neighbour).map(|other| other.value_ns));
        let (low, high) = (*others.first()?, *others.last()?);
        let fewest = figures.iter().filter(is_neighbour).map(|other| other.nodes).min()?;
        if others.len() < 2 || high > low * SLIP_FLAT || figure.nodes < fewest {
            return None;
        }
        let middle = median(&others)?;
        let likely = [figure.value_ns / SLIP, figure.value_ns * SLIP]
            .into_iter()
            .find(|likely| (likely / middle - 1.0).abs() <= SLIP_NEAR)?;
        Some(FigureWarning::SlippedPoint { figure: figure.clone(), likely_ns: likely })
    };
    figures.iter().filter_map(slipped).collect()
}

#[cfg(test)]
mod tests;
