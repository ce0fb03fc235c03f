//! Replication of a write: the moment at which each node shows it, the wait of its writer.

use assay_model::{Draws, Nanos};

use super::chain::Visibility;
use super::config::{Config, Staleness, Ties, WriteConcern};
use super::delay::Delay;
use super::quantity::TimeWindow;

/// The ways that a write takes from the primary.
#[derive(Clone, Debug)]
pub struct WritePaths {
    primary: usize,
    /// To each node and back.
    ways: Vec<(Delay, Delay)>,
    staleness: Option<Staleness>,
    /// Whether every write is everywhere at once.
    is_instant: bool,
    concern: Concern,
    ties: Ties,
    /// When each node is down.
    down: Vec<Vec<TimeWindow>>,
}

/// Whose acknowledgements are waited for.
#[derive(Clone, Debug)]
enum Concern {
    /// So many of the others.
    Others(usize),
    /// For each tag so many of these nodes.
    Tagged(Vec<(usize, Vec<usize>)>),
}

/// What becomes of one write.
#[derive(Clone, Debug)]
pub struct Spreading {
    /// From when on each node shows it.
    pub observed: Visibility,
    /// How long its writer waits for the others.
    pub acknowledged_after: Nanos,
}

impl WritePaths {
    /// The ways of a checked configuration.
    pub fn new(config: &Config) -> WritePaths {
        let primary = config.nodes.iter().position(|node| node.is_primary);
        let primary = primary.expect("a checked configuration has a primary");
        let down: Vec<Vec<TimeWindow>> =
            config.nodes.iter().map(|node| node.down.clone()).collect();
        let way = |from: &str, to: &str| {
            let edge = config.edges.iter().find(|edge| edge.from == from && edge.to == to);
            edge.map_or(&config.replication, |edge| &edge.delay).clone()
        };
        let home = &config.nodes[primary].name;
        let ways = config.nodes.iter().enumerate().map(|(place, node)| match place {
            _ if place == primary => (Delay::NONE, Delay::NONE),
            _ => (way(home, &node.name), way(&node.name, home)),
        });
        let ways: Vec<(Delay, Delay)> = ways.collect();
        let is_instant = config.staleness.is_none()
            && ways.iter().all(|(to, from)| to.is_none() && from.is_none())
            && down.iter().all(Vec::is_empty);
        let concern = Concern::new(config, primary);
        let Config { staleness, ties, .. } = *config;
        WritePaths { primary, ways, staleness, is_instant, concern, ties, down }
    }

    /// The node that takes writes.
    pub fn primary(&self) -> usize {
        self.primary
    }

    /// Whether `node` is down `since` the first request.
    pub fn is_down(&self, node: usize, since: Nanos) -> bool {
        self.down[node].iter().any(|window| window.has(since))
    }

    /// What becomes of a write `now`, which is `since` the first request.
    pub fn spread(&self, now: Nanos, since: Nanos, draws: &mut Draws) -> Spreading {
        if self.is_instant {
            return Spreading { observed: Visibility::From(now), acknowledged_after: Nanos::ZERO };
        }
        let mut observed = Vec::with_capacity(self.ways.len());
        let mut back = Vec::with_capacity(self.ways.len());
        for (node, (to, from)) in self.ways.iter().enumerate() {
            let arrived = self.first_up(node, since.saturating_add(to.draw(draws).length));
            let way = if arrived == Nanos::NEVER { arrived } else { arrived.since(since) };
            let after = match self.staleness {
                Some(Staleness { own, .. }) if node == self.primary => own,
                Some(Staleness { foreign, .. }) => foreign,
                None => way,
            };
            observed.push(now.saturating_add(after));
            back.push(way.saturating_add(from.draw(draws).length));
        }
        let acknowledged_after = self.concern.wait(&back, self.primary, self.ties);
        Spreading { observed: Visibility::Each(observed.into()), acknowledged_after }
    }

    /// The first moment from `since` on at which `node` is up. The primary takes what it takes.
    fn first_up(&self, node: usize, mut since: Nanos) -> Nanos {
        if node == self.primary {
            return since;
        }
        // Windows may touch or overlap in any order: go on until none of them holds us.
        while let Some(window) = self.down[node].iter().find(|window| window.has(since)) {
            since = window.to;
        }
        since
    }
}

impl Concern {
    fn new(config: &Config, primary: usize) -> Concern {
        let nodes = &config.nodes;
        match &config.write_concern {
            WriteConcern::Count(count) => Concern::Others(usize::from(count.saturating_sub(1))),
            WriteConcern::Majority => Concern::Others(nodes.len() / 2),
            WriteConcern::TagSet(name) => {
                let tag_set = config.tag_sets.get(name).into_iter().flatten();
                let of_tag = |(tag, count): (&String, &u16)| {
                    let has = |place: &usize| nodes[*place].tags.contains(tag);
                    // The node that takes the write is the first to acknowledge it.
                    let needed = usize::from(*count) - usize::from(has(&primary) && *count > 0);
                    let others = (0..nodes.len()).filter(|place| *place != primary && has(place));
                    (needed, others.collect())
                };
                Concern::Tagged(tag_set.map(of_tag).collect())
            }
        }
    }

    /// How long to wait if the acknowledgements of the nodes come after `back`.
    fn wait(&self, back: &[Nanos], primary: usize, ties: Ties) -> Nanos {
        match self {
            Concern::Others(needed) => {
                let others = (0..back.len()).filter(|node| *node != primary);
                smallest(*needed, others.map(|node| back[node]), ties)
            }
            Concern::Tagged(tags) => tags
                .iter()
                .map(|(needed, nodes)| smallest(*needed, nodes.iter().map(|n| back[*n]), ties))
                .max()
                .unwrap_or(Nanos::ZERO),
        }
    }
}

/// The `needed`-th smallest, the greatest if there are fewer, zero if none is needed.
fn smallest(needed: usize, lengths: impl Iterator<Item = Nanos>, ties: Ties) -> Nanos {
    let mut lengths: Vec<Nanos> = lengths.collect();
    if needed == 0 || lengths.is_empty() {
        return Nanos::ZERO;
    }
    lengths.sort_unstable();
    if ties == Ties::Collapsed {
        lengths.dedup();
    }
    lengths[needed.min(lengths.len()) - 1]
}

/// How long a write waits for its journal: until the next third of `interval` ends.
///
/// SickStore's rule, with its source: MongoDB commits the journal three times as often while a
/// write waits for it.
pub fn until_commit(interval: Nanos, since: Nanos) -> Nanos {
    let third = (interval.0 / 3).max(1);
    Nanos(third - since.0 % third)
}

#[cfg(test)]
mod tests;
