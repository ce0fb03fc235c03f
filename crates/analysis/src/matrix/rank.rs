//! Ranking of stores, as far as their intervals allow one.

use crate::compare::Spread;
use crate::matrix::{Cell, CellFigures, Matrix, Metric, OperationFilter, Setup, least};
use crate::plausibility::Verdict;

/// A store that finds less than this share of the requested records does other work.
const LEAST_HITS: f64 = 0.99;

/// A store that fails more often than this does less work than the run issues.
///
/// Latencies are of what was answered. Were 1 in 100 forgiven, failures could take all of what
/// lies above the 99th percentile out of it; 1 in 1000 makes it the 98.9th at worst.
const MOST_FAILED: f64 = 0.001;

/// The stores of one workload, number of nodes and load, the best first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranking {
    /// All that have runs, in order.
    pub setups: Vec<Setup>,
    /// Those that are ranked.
    pub placed: Vec<Placed>,
    /// Those that are not, with the reason.
    pub refused: Vec<(Setup, Refused)>,
}

/// A store in a ranking.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// Which.
    pub setup: Setup,
    /// The figure that the ranking is by.
    pub spread: Spread,
    /// How many times better the first one is, from 1.
    pub behind: f64,
    /// Whether its interval lies apart from that of the one before it; `None` for the first one
    /// and without intervals.
    pub is_apart: Option<bool>,
}

/// Why a store is not ranked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Refused {
    /// It keeps nothing and finds nothing.
    NoOp,
    /// These operations found this share of the records that they requested.
    Misses(OperationFilter, f64),
    /// This share of the operations failed.
    Failed(f64),
    /// Throughput, latency and number of clients contradict each other.
    Little,
}

/// Ranks the stores of `setups` by `metric`; runs alone decide who is refused.
pub(super) fn rank(matrix: &Matrix, setups: &[Setup], metric: Metric) -> Ranking {
    let mut ranking = Ranking { setups: setups.to_vec(), ..Ranking::default() };
    for &setup in setups {
        if let Some(reason) = matrix.refused(setup) {
            ranking.refused.push((setup, reason));
        } else if let Some(spread) = matrix.spread(setup, metric) {
            ranking.placed.push(Placed { setup, spread, behind: 1.0, is_apart: None });
        }
    }
    let is_more_better = metric == Metric::Throughput;
    let value = |placed: &Placed| placed.spread.mean;
    ranking.placed.sort_by(|a, b| match is_more_better {
        true => value(b).total_cmp(&value(a)),
        false => value(a).total_cmp(&value(b)),
    });
    let best = ranking.placed.first().map_or(0.0, value);
    let mut before: Option<Spread> = None;
    for placed in &mut ranking.placed {
        let own = placed.spread.mean;
        placed.behind = if is_more_better { best / own } else { own / best };
        placed.is_apart = before.as_ref().and_then(|before| {
            let (other, own) = (before.interval?, placed.spread.interval?);
            Some(other.1 < own.0 || own.1 < other.0)
        });
        before = Some(placed.spread.clone());
    }
    ranking
}

impl Matrix {
    /// Why a setup is in no ranking, if one of its runs gives a reason.
    pub fn refused(&self, setup: Setup) -> Option<Refused> {
        self.runs(setup).find_map(refused)
    }
}

fn refused(cell: &Cell) -> Option<Refused> {
    let figures = &cell.figures;
    match too_little(figures) {
        _ if cell.is_no_op => Some(Refused::NoOp),
        _ if figures.little.verdict == Verdict::Violated => Some(Refused::Little),
        _ if figures.failed > MOST_FAILED => Some(Refused::Failed(figures.failed)),
        Some((of, share)) => Some(Refused::Misses(of, share)),
        None => None,
    }
}

/// The operations that found least, if that is too little.
fn too_little(figures: &CellFigures) -> Option<(OperationFilter, f64)> {
    // Of a few operations a single miss says nothing.
    let telling = figures.sought().filter(|one| one.counts.misses > 1);
    least(telling).filter(|(_, share)| *share < LEAST_HITS)
}
