//! Cycles of dependencies, by the names that Adya gave them.
//!
//! Adya: *Weak Consistency* (PhD thesis, MIT 1999), chapters 3 and 4; the names of G-nonadjacent,
//! of the session and of the real-time variants are Elle's (Kingsbury, Alvaro, VLDB 2020). For
//! edges between versions alone, then with sessions, then with real time too:
//!
//! * G0: a cycle of ww. G1c: of ww and wr, one wr at least.
//! * G-single: exactly one rw. G-nonadjacent: several, no two side by side (long fork, which
//!   parallel snapshot isolation allows and snapshot isolation forbids: Cerone and Gotsman, 2018).
//!   G2-item: any other with an rw (write skew).
//!
//! Each strongly connected component counts once per name, with the worst of the last three, and
//! a witness with more edges is dropped where the same name was found with fewer. Whether a name
//! applies is exact, by components of the graph or of its product with "the last edge was rw";
//! G-single, by reachability of 64 rw edges at a time. Beyond [`BATCHES`] of these a component is
//! called G-nonadjacent, which the same levels forbid. The witness is a shortest cycle through one
//! of [`STARTS`] edges.
//!
//! Time: linear in the edges if there is no cycle. Memory: that of the graph once more, for the
//! component at hand.

use std::collections::VecDeque;

use assay_model::Nanos;

use crate::transaction::graph::{Components, Edge, Graph, Leg, NO_KEY, sort, trace};
use crate::transaction::log::Log;
use crate::transaction::order::{Dependencies, end};
use crate::verdict::{Anomaly, Edges};

/// Batches of 64 anti-dependencies tried for G-single in one component: a minute's work at most.
const BATCHES: usize = 1024;
/// Edges from which a shortest cycle is looked for.
const STARTS: usize = 16;

const VERSIONS: u8 = sort::WW | sort::WR | sort::RW | sort::THROUGH;

fn mask(edges: Edges) -> u8 {
    match edges {
        Edges::Data => VERSIONS,
        Edges::Session => VERSIONS | sort::SESSION,
        Edges::RealTime => VERSIONS | sort::SESSION | sort::REAL_TIME,
    }
}

/// Finds all cycles of the graph; marks the transactions that are on one without real time.
pub(super) fn check(
    graph: &Graph,
    dependencies: &Dependencies,
    keys: &[u64],
    log: &mut Log,
) -> Vec<bool> {
    let mut is_on_cycle = vec![false; dependencies.history.transactions.len()];
    let mut places = Vec::new();
    for nodes in graph.components(mask(Edges::RealTime)).cyclic() {
        let whole = Part { graph: graph.part(nodes, u8::MAX, &mut places), names: nodes.to_vec() };
        let mut known = vec![Found::default(); nodes.len()];
        let mut inner = Vec::new();
        for edges in [Edges::Data, Edges::Session, Edges::RealTime] {
            for members in whole.graph.components(mask(edges)).cyclic() {
                let names: Vec<u32> = members.iter().map(|at| whole.names[*at as usize]).collect();
                if edges == Edges::Session {
                    mark(&names, &mut is_on_cycle);
                }
                let graph = whole.graph.part(members, mask(edges), &mut inner);
                let search = Search { part: Part { graph, names }, edges, dependencies, keys };
                let found = search.run(members, &known, log);
                members.iter().for_each(|at| known[*at as usize].add(found));
            }
        }
    }
    is_on_cycle
}

/// Marks those of the nodes that are transactions.
fn mark(nodes: &[u32], marks: &mut [bool]) {
    for node in nodes {
        if let Some(mark) = marks.get_mut(*node as usize) {
            *mark = true;
        }
    }
}

/// A subgraph, with the names of its nodes in the whole graph.
struct Part {
    graph: Graph,
    names: Vec<u32>,
}

/// What was found around a node, with fewer edges.
#[derive(Clone, Copy, Default)]
struct Found {
    g0: bool,
    g1c: bool,
    single: bool,
    nonadjacent: bool,
    item: bool,
}

impl Found {
    fn add(&mut self, other: Found) {
        self.g0 |= other.g0;
        self.g1c |= other.g1c;
        self.single |= other.single;
        self.nonadjacent |= other.nonadjacent;
        self.item |= other.item;
    }
}

/// The search in one strongly connected component.
struct Search<'a> {
    part: Part,
    edges: Edges,
    dependencies: &'a Dependencies<'a>,
    keys: &'a [u64],
}

impl Search<'_> {
    /// Logs the cycles that were not known around `members`; returns all that there are.
    fn run(&self, members: &[u32], known: &[Found], log: &mut Log) -> Found {
        let mut before = Found::default();
        members.iter().for_each(|at| before.add(known[*at as usize]));
        let mut found = Found::default();
        let is_news = |nodes: &[u32], was: fn(&Found) -> bool| {
            !nodes.iter().any(|at| was(&known[members[*at as usize] as usize]))
        };
        let order = mask(self.edges) & (sort::SESSION | sort::REAL_TIME);
        let graph = &self.part.graph;
        for nodes in graph.components(sort::WW | order).cyclic() {
            found.g0 = true;
            if is_news(nodes, |known| known.g0) {
                self.log_within(Anomaly::G0, nodes, sort::WW, sort::WW | order, log);
            }
        }
        let flow = sort::WW | sort::WR | order;
        let read_from = graph.components(flow);
        for nodes in read_from.cyclic() {
            let is_inside = |node: &u32| {
                let own = read_from.of[*node as usize];
                graph.legs(*node, sort::WR).any(|leg| read_from.of[leg.to as usize] == own)
            };
            if nodes.iter().any(is_inside) {
                found.g1c = true;
                if is_news(nodes, |known| known.g1c) {
                    self.log_within(Anomaly::G1c, nodes, sort::WR, flow, log);
                }
            }
        }
        self.anti_dependencies(before, &mut found, log);
        found
    }

    /// The worst name for cycles with anti-dependencies.
    fn anti_dependencies(&self, before: Found, found: &mut Found, log: &mut Log) {
        let graph = &self.part.graph;
        let base = mask(self.edges) & !sort::RW;
        let product = self.product();
        let apart: Vec<(u32, Leg)> = graph
            .edges(sort::RW)
            .filter(|(from, leg)| {
                product.of[2 * *from as usize] == product.of[2 * leg.to as usize + 1]
            })
            .collect();
        if apart.is_empty() {
            let all: Vec<(u32, Leg)> = graph.edges(sort::RW).take(STARTS).collect();
            found.item = !all.is_empty();
            let is_news = !(before.item || before.single || before.nonadjacent);
            if found.item && is_news {
                let mask = base | sort::RW;
                let cycle = || self.shortest(&all, |from, to, far| graph.path(from, to, mask, far));
                self.log(Anomaly::G2Item, cycle, log);
            }
            return;
        }
        let single = self.single(&apart, base);
        if single.is_empty() {
            found.nonadjacent = true;
            if !(before.nonadjacent || before.single) {
                let cycle = || self.shortest(&apart, |from, to, far| self.apart(from, to, far));
                self.log(Anomaly::GNonadjacent, cycle, log);
            }
        } else {
            found.single = true;
            if !before.single {
                let path = |from, to, far| graph.path(from, to, base, far);
                self.log(Anomaly::GSingle, || self.shortest(&single, path), log);
            }
        }
    }

    /// The components of walks without two anti-dependencies side by side: node 2 *n* is *n* after
    /// any other edge, node 2 *n* + 1 is *n* after an anti-dependency.
    fn product(&self) -> Components {
        let graph = &self.part.graph;
        let mut edges = Vec::new();
        for (from, leg) in graph.edges(mask(self.edges)) {
            for (from, to) in steps(from, leg) {
                edges.push(Edge { from, to, key: leg.key, sort: leg.sort });
            }
        }
        Graph::new(2 * graph.nodes(), &edges).components(u8::MAX)
    }

    /// Some of those anti-dependencies that a path of other edges leads back from.
    fn single(&self, apart: &[(u32, Leg)], base: u8) -> Vec<(u32, Leg)> {
        let graph = &self.part.graph;
        let parts = graph.components(base);
        let mut words = vec![0u64; graph.nodes()];
        for batch in apart.chunks(64).take(BATCHES) {
            words.fill(0);
            for (bit, (_, leg)) in batch.iter().enumerate() {
                words[parts.of[leg.to as usize] as usize] |= 1 << bit;
            }
            // Edges lead to lower components, so those are complete when their turn comes.
            for node in parts.nodes.iter().rev() {
                let word = words[parts.of[*node as usize] as usize];
                if word != 0 {
                    for leg in graph.legs(*node, base) {
                        words[parts.of[leg.to as usize] as usize] |= word;
                    }
                }
            }
            let leads_back = |(bit, (from, _)): &(usize, &(u32, Leg))| {
                words[parts.of[*from as usize] as usize] >> bit & 1 == 1
            };
            let found: Vec<(u32, Leg)> =
                batch.iter().enumerate().filter(leads_back).map(|(_, edge)| *edge).collect();
            if !found.is_empty() {
                return found;
            }
        }
        Vec::new()
    }

    /// A shortest walk from behind an anti-dependency to its origin without two side by side.
    fn apart(&self, from: u32, to: u32, limit: usize) -> Option<Vec<Leg>> {
        let graph = &self.part.graph;
        let (first, last) = (2 * from + 1, 2 * to);
        let mut came: Vec<Option<(u32, Leg)>> = vec![None; 2 * graph.nodes()];
        let mut queue = VecDeque::from([(first, 0)]);
        while let Some((state, length)) = queue.pop_front() {
            if state == last {
                return Some(trace(last, first, |state| came[state as usize]));
            }
            if length + 1 >= limit {
                continue;
            }
            for leg in graph.legs(state / 2, mask(self.edges)) {
                let Some((_, next)) = steps(state / 2, leg).find(|step| step.0 == state) else {
                    continue;
                };
                if next != first && came[next as usize].is_none() {
                    came[next as usize] = Some((state, leg));
                    queue.push_back((next, length + 1));
                }
            }
        }
        None
    }

    fn log_within(&self, anomaly: Anomaly, nodes: &[u32], first: u8, mask: u8, log: &mut Log) {
        let cycle = || {
            let part = self.part.graph.part(nodes, mask, &mut Vec::new());
            let starts: Vec<(u32, Leg)> = part.edges(first).take(STARTS).collect();
            let mut cycle = self.shortest(&starts, |from, to, far| part.path(from, to, mask, far));
            for (from, leg) in &mut cycle {
                (*from, leg.to) = (nodes[*from as usize], nodes[leg.to as usize]);
            }
            cycle
        };
        self.log(anomaly, cycle, log);
    }

    /// The shortest cycle through one of the first edges of `starts`: each edge with its origin.
    fn shortest(
        &self,
        starts: &[(u32, Leg)],
        path: impl Fn(u32, u32, usize) -> Option<Vec<Leg>>,
    ) -> Vec<(u32, Leg)> {
        let (mut best, mut length) = (Vec::new(), usize::MAX);
        for (from, first) in starts.iter().take(STARTS) {
            let Some(rest) = path(first.to, *from, length) else { continue };
            length = rest.len();
            best.clear();
            let mut from = *from;
            for leg in [*first].into_iter().chain(rest) {
                best.push((from, leg));
                from = leg.to;
            }
        }
        best
    }

    fn log(&self, anomaly: Anomaly, cycle: impl FnOnce() -> Vec<(u32, Leg)>, log: &mut Log) {
        log.add_cycle(anomaly, self.edges, || self.show(&cycle()));
    }

    /// A cycle's first record, its transactions, and the error of clocks that would explain it.
    fn show(&self, cycle: &[(u32, Leg)]) -> (u64, Vec<u32>, Nanos) {
        let key = cycle.iter().find(|(_, leg)| leg.key != NO_KEY);
        let key = key.map_or(0, |(_, leg)| self.keys[leg.key as usize]);
        let transactions = &self.dependencies.history.transactions;
        let name = |at: u32| self.part.names[at as usize];
        let shown: Vec<u32> = cycle
            .iter()
            .map(|(from, _)| name(*from))
            .filter(|name| (*name as usize) < transactions.len())
            .collect();
        let mut margin = Nanos::NEVER;
        let mut before = None;
        for (from, leg) in cycle.iter().chain(cycle) {
            let one = transactions.get(name(*from) as usize);
            let next = transactions.get(name(leg.to) as usize);
            if leg.sort & sort::REAL_TIME == 0 {
                continue;
            }
            before = one.or(before);
            if let (Some(one), Some(next)) = (before, next) {
                margin = margin.min(Nanos(next.started.since(end(one)).0 / 2));
            }
        }
        (key, shown, if margin == Nanos::NEVER { Nanos::ZERO } else { margin })
    }
}

/// What an edge is in the product of the graph with "the last edge was an anti-dependency".
fn steps(from: u32, leg: Leg) -> impl Iterator<Item = (u32, u32)> {
    let (from, to) = (2 * from, 2 * leg.to);
    let pair = match leg.sort {
        sort::RW => [Some((from, to + 1)), None],
        sort::THROUGH => [Some((from, to)), Some((from + 1, to + 1))],
        _ => [Some((from, to)), Some((from + 1, to))],
    };
    pair.into_iter().flatten()
}
