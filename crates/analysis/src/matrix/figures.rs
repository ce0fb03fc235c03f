//! Figures of a study: what all runs of its setups come to.

use std::collections::{BTreeMap, HashMap};

use super::rank::rank;
use super::{ClientsFit, LatencyPoint, LatencyStatistic, Matrix, Metric, Ranking, Setup};
use crate::compare::Spread;

/// What the runs of a [`Matrix`] come to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MatrixFigures {
    spreads: HashMap<(Setup, Metric), Spread>,
    /// For each load, by its place, the rankings of its workloads and numbers of nodes.
    pub rankings: Vec<Vec<Ranking>>,
    /// The points of throughput with latency.
    pub points: BTreeMap<Setup, LatencyPoint>,
    /// The scalability law over the clients of closed loops, of everything that competes.
    pub fits: Vec<ClientsFit>,
}

impl MatrixFigures {
    /// Those of all runs, whose loads are closed loops of so many `clients` or open.
    pub fn new(matrix: &Matrix, clients: &[Option<u32>]) -> MatrixFigures {
        let metrics = metrics(matrix);
        let setups = matrix.setups();
        let pairs = setups.iter().flat_map(|setup| metrics.iter().map(|metric| (*setup, *metric)));
        let spread = |(setup, metric)| Some(((setup, metric), matrix.spread(setup, metric)?));
        let point = |setup: &Setup| Some((*setup, matrix.latency_point(*setup)?));
        let of_load = |(load, clients): (usize, &Option<u32>)| {
            rankings(matrix, load, Metric::of_ranking(*clients))
        };
        MatrixFigures {
            spreads: pairs.filter_map(spread).collect(),
            rankings: clients.iter().enumerate().map(of_load).collect(),
            points: setups.iter().filter_map(point).collect(),
            fits: matrix.fits(clients),
        }
    }

    /// A figure over the runs of a setup that have it.
    pub fn get(&self, setup: Setup, metric: Metric) -> Option<&Spread> {
        self.spreads.get(&(setup, metric))
    }
}

fn metrics(matrix: &Matrix) -> Vec<Metric> {
    let mut metrics = vec![Metric::Throughput, Metric::RunTime, Metric::TimePerOperation];
    for of in matrix.sorts() {
        for statistic in LatencyStatistic::ALL {
            metrics.extend([Metric::Response(of, statistic), Metric::Service(of, statistic)]);
        }
    }
    metrics
}

/// A ranking for each workload and number of nodes that runs of `load` have.
fn rankings(matrix: &Matrix, load: usize, metric: Metric) -> Vec<Ranking> {
    let mut setups = matrix.setups();
    setups.retain(|setup| setup.load == load);
    setups.sort_by_key(|setup| (setup.workload, setup.nodes, setup.store));
    let is_same = |a: &Setup, b: &Setup| (a.workload, a.nodes) == (b.workload, b.nodes);
    setups.chunk_by(is_same).map(|group| rank(matrix, group, metric)).collect()
}
