//! The universal scalability law of each store over the clients of closed loops.

use std::collections::BTreeSet;

use crate::matrix::{Matrix, Metric, Setup};
use crate::usl::{Point, Refusal, UslFit, fit};

/// The fit of one store with one workload on one number of nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientsFit {
    /// The store's place.
    pub store: usize,
    /// The workload's place.
    pub workload: usize,
    /// The nodes.
    pub nodes: Option<usize>,
    /// The fit, or why there is none.
    pub fit: Result<UslFit, Refusal>,
}

impl Matrix {
    /// A fit for each store and workload that compete, over the loads with known `clients`;
    /// nothing if all loads are open.
    pub(super) fn fits(&self, clients: &[Option<u32>]) -> Vec<ClientsFit> {
        let describe = |load: usize| clients.get(load).copied().flatten();
        let competes =
            |setup: &Setup| describe(setup.load).is_some() && self.refused(*setup).is_none();
        let competing: Vec<Setup> = self.setups().into_iter().filter(competes).collect();
        let group = |setup: &Setup| (setup.store, setup.workload, setup.nodes);
        let groups: BTreeSet<_> = competing.iter().map(group).collect();
        let fitted = |key: (usize, usize, Option<usize>)| {
            let own = competing.iter().filter(|setup| group(setup) == key);
            let points = own.filter_map(|setup| {
                let clients = f64::from(describe(setup.load)?);
                let runs = self.spread(*setup, Metric::Throughput)?.values;
                Some(Point { clients, runs })
            });
            let (store, workload, nodes) = key;
            ClientsFit { store, workload, nodes, fit: fit(&points.collect::<Vec<_>>()) }
        };
        groups.into_iter().map(fitted).collect()
    }
}
