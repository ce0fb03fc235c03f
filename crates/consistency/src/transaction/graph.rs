//! Directed graph with sorts of edges, its strongly connected components, its shortest paths.
//!
//! Components are Tarjan's (1972) with a stack of our own instead of recursion, so that a chain of
//! millions of transactions does not overflow the thread's. Memory: 9 bytes per edge, 8 per node,
//! and 16 per edge while the graph is built.

use std::collections::VecDeque;

/// A sort of edge, as a bit, so that a set of sorts is a mask.
pub(super) mod sort {
    /// From one version of a record to the next.
    pub const WW: u8 = 1;
    /// From a version to its reader.
    pub const WR: u8 = 2;
    /// From a reader to what replaced the version that it read.
    pub const RW: u8 = 4;
    /// From a transaction to the next one of its session.
    pub const SESSION: u8 = 8;
    /// From a transaction that had ended, by way of the time line, to one that began later.
    pub const REAL_TIME: u8 = 16;
    /// The second half of an edge that goes by way of a node that is no transaction.
    pub const THROUGH: u8 = 32;
    /// What must have been committed before what, if a level holds.
    pub const INFERRED: u8 = 64;
}

/// No record.
pub(super) const NO_KEY: u32 = u32::MAX;

/// An edge before the graph is built.
#[derive(Clone, Copy)]
pub(super) struct Edge {
    pub from: u32,
    pub to: u32,
    pub key: u32,
    pub sort: u8,
}

/// Edges by their origin.
#[derive(Default)]
pub(super) struct Graph {
    starts: Vec<usize>,
    targets: Vec<u32>,
    keys: Vec<u32>,
    sorts: Vec<u8>,
}

/// A node's edge: where it leads, its record, its sort.
#[derive(Clone, Copy)]
pub(super) struct Leg {
    pub to: u32,
    pub key: u32,
    pub sort: u8,
}

impl Graph {
    /// The graph of `nodes` nodes with these edges; those from a node to itself are left out.
    pub fn new(nodes: usize, edges: &[Edge]) -> Graph {
        let kept = || edges.iter().filter(|edge| edge.from != edge.to);
        let mut starts = vec![0usize; nodes + 1];
        for edge in kept() {
            starts[edge.from as usize + 1] += 1;
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let count = starts[nodes];
        let mut next = starts.clone();
        let (mut targets, mut keys) = (vec![0; count], vec![0; count]);
        let mut sorts = vec![0; count];
        for edge in kept() {
            let place = &mut next[edge.from as usize];
            (targets[*place], keys[*place], sorts[*place]) = (edge.to, edge.key, edge.sort);
            *place += 1;
        }
        Graph { starts, targets, keys, sorts }
    }

    pub fn nodes(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The edges of `node` whose sort is in `mask`.
    pub fn legs(&self, node: u32, mask: u8) -> impl Iterator<Item = Leg> {
        let places = self.starts[node as usize]..self.starts[node as usize + 1];
        let leg = |at| Leg { to: self.targets[at], key: self.keys[at], sort: self.sorts[at] };
        places.filter(move |at| self.sorts[*at] & mask != 0).map(leg)
    }

    /// All edges whose sort is in `mask`, with their origins.
    pub fn edges(&self, mask: u8) -> impl Iterator<Item = (u32, Leg)> {
        (0..self.nodes() as u32)
            .flat_map(move |from| self.legs(from, mask).map(move |leg| (from, leg)))
    }

    /// The graph of `nodes` alone, with the edges in `mask`; node *i* is `nodes[i]` of this one.
    /// `places` is scratch space of the size of this graph.
    pub fn part(&self, nodes: &[u32], mask: u8, places: &mut Vec<u32>) -> Graph {
        places.resize(self.nodes().max(places.len()), u32::MAX);
        for (place, node) in nodes.iter().enumerate() {
            places[*node as usize] = place as u32;
        }
        let mut edges = Vec::new();
        for (place, node) in nodes.iter().enumerate() {
            for leg in self.legs(*node, mask) {
                let to = places[leg.to as usize];
                if to != u32::MAX {
                    edges.push(Edge { from: place as u32, to, key: leg.key, sort: leg.sort });
                }
            }
        }
        for node in nodes {
            places[*node as usize] = u32::MAX;
        }
        Graph::new(nodes.len(), &edges)
    }

    /// The strongly connected components by the edges in `mask`.
    pub fn components(&self, mask: u8) -> Components {
        let successor = |node: u32, place: usize| {
            let at = self.starts[node as usize] + place;
            (at < self.starts[node as usize + 1])
                .then(|| (self.sorts[at] & mask != 0).then_some(self.targets[at]))
        };
        components(self.nodes(), successor)
    }

    /// A shortest path from `from` to `to` by edges in `mask`, as the edges in their order; none
    /// of `limit` edges or more.
    pub fn path(&self, from: u32, to: u32, mask: u8, limit: usize) -> Option<Vec<Leg>> {
        let mut came: Vec<Option<(u32, Leg)>> = vec![None; self.nodes()];
        let mut queue = VecDeque::from([(from, 0)]);
        while let Some((node, length)) = queue.pop_front() {
            if node == to {
                return Some(trace(to, from, |node| came[node as usize]));
            }
            if length + 1 >= limit {
                continue;
            }
            for leg in self.legs(node, mask) {
                if leg.to != from && came[leg.to as usize].is_none() {
                    came[leg.to as usize] = Some((node, leg));
                    queue.push_back((leg.to, length + 1));
                }
            }
        }
        None
    }
}

/// The edges by which a search came to `to`.
pub(super) fn trace(to: u32, from: u32, came: impl Fn(u32) -> Option<(u32, Leg)>) -> Vec<Leg> {
    let (mut node, mut legs) = (to, Vec::new());
    while node != from {
        let Some((before, leg)) = came(node) else { break };
        legs.push(leg);
        node = before;
    }
    legs.reverse();
    legs
}

/// Strongly connected components, numbered so that edges lead to the same or a lower number.
pub(super) struct Components {
    /// The component of each node.
    pub of: Vec<u32>,
    /// The nodes, those of a component side by side, from the lowest number to the highest.
    pub nodes: Vec<u32>,
    /// Where each component begins in `nodes`.
    starts: Vec<u32>,
}

impl Components {
    /// The components of several nodes: those that have a cycle.
    pub fn cyclic(&self) -> impl Iterator<Item = &[u32]> {
        let ends = self.starts.iter().skip(1).copied().chain([self.nodes.len() as u32]);
        let ranges = self.starts.iter().copied().zip(ends).filter(|(start, end)| end - start > 1);
        ranges.map(|(start, end)| &self.nodes[start as usize..end as usize])
    }
}

/// Tarjan's components; `successor` gives a node's edges by number: outer nothing at their end,
/// inner nothing for an edge that does not count.
pub(super) fn components(
    nodes: usize,
    successor: impl Fn(u32, usize) -> Option<Option<u32>>,
) -> Components {
    const NEW: u32 = u32::MAX;
    let (mut low, mut of) = (vec![NEW; nodes], vec![NEW; nodes]);
    let (mut open, mut calls): (Vec<u32>, Vec<(u32, usize, u32)>) = (Vec::new(), Vec::new());
    let (mut sorted, mut starts) = (Vec::with_capacity(nodes), Vec::new());
    let mut count = 0;
    for root in 0..nodes as u32 {
        if low[root as usize] != NEW {
            continue;
        }
        calls.push((root, 0, count));
        while let Some((node, place, number)) = calls.pop() {
            if place == 0 {
                low[node as usize] = number;
                count += 1;
                open.push(node);
            }
            let mut place = place;
            let unseen = loop {
                let Some(edge) = successor(node, place) else { break None };
                place += 1;
                let Some(to) = edge else { continue };
                if low[to as usize] == NEW {
                    break Some(to);
                }
                if of[to as usize] == NEW {
                    low[node as usize] = low[node as usize].min(low[to as usize]);
                }
            };
            if let Some(to) = unseen {
                calls.push((node, place, number));
                calls.push((to, 0, count));
                continue;
            }
            if low[node as usize] == number {
                starts.push(sorted.len() as u32);
                close(node, starts.len() as u32 - 1, &mut open, &mut of, &mut sorted);
            }
            if let Some((parent, _, _)) = calls.last() {
                let parent = *parent as usize;
                low[parent] = low[parent].min(low[node as usize]);
            }
        }
    }
    Components { of, nodes: sorted, starts }
}

/// Moves the open nodes down to `root` into component `number`.
fn close(root: u32, number: u32, open: &mut Vec<u32>, of: &mut [u32], sorted: &mut Vec<u32>) {
    while let Some(node) = open.pop() {
        of[node as usize] = number;
        sorted.push(node);
        if node == root {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(nodes: usize, edges: &[(u32, u32)]) -> Graph {
        let edge = |(from, to): &(u32, u32)| Edge { from: *from, to: *to, key: 0, sort: sort::WW };
        Graph::new(nodes, &edges.iter().map(edge).collect::<Vec<_>>())
    }

    #[test]
    fn components_are_found_and_numbered_against_the_edges() {
        let graph = graph(6, &[(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 3), (5, 0), (5, 5)]);
        let components = graph.components(sort::WW);
        let mut cyclic: Vec<Vec<u32>> = components.cyclic().map(<[u32]>::to_vec).collect();
        cyclic.iter_mut().for_each(|nodes| nodes.sort_unstable());
        assert_eq!(cyclic, [vec![3, 4], vec![0, 1, 2]]);
        assert!(components.of[5] > components.of[0] && components.of[0] > components.of[3]);
    }

    #[test]
    fn a_chain_of_a_million_nodes_needs_no_deep_stack() {
        let edges: Vec<(u32, u32)> = (0..1_000_000).map(|node| (node, node + 1)).collect();
        assert_eq!(graph(1_000_001, &edges).components(sort::WW).cyclic().count(), 0);
    }

    #[test]
    fn a_path_is_as_short_as_it_can_be() {
        let graph = graph(5, &[(0, 1), (1, 2), (2, 3), (0, 4), (4, 3)]);
        let path = graph.path(0, 3, sort::WW, usize::MAX).unwrap();
        assert_eq!(path.iter().map(|leg| leg.to).collect::<Vec<_>>(), [4, 3]);
        assert!(graph.path(3, 0, sort::WW, usize::MAX).is_none());
        assert!(graph.path(0, 3, sort::WW, 2).is_none());
    }
}
