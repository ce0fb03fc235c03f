//! Availability of each node, over the operations that it answered or that were sent to it.

use assay_model::{Nanos, Outcome, Record};

use crate::availability::{Silences, is_answer};
use crate::buckets::{Buckets, EXACT, highest};
use crate::distribution::rank;
use crate::kind_stats::{Completion, Span};
use crate::options::Window;
use crate::summary::NodeSummary;

/// The share of a node's answers that its latency is told of.
const QUANTILE: f64 = 0.99;

/// With fewer operations none of them lies beyond the quantile.
const DONE_MIN: u64 = 100;

/// The operations of all nodes while they are being counted.
#[derive(Clone, Debug)]
pub struct Nodes {
    origin: Nanos,
    /// By number, from 1.
    nodes: Vec<Option<Box<NodeStats>>>,
}

#[derive(Clone, Debug)]
struct NodeStats {
    operations: u64,
    failed: u64,
    response: Buckets<EXACT>,
    silences: Silences,
}

impl Nodes {
    /// No node was seen; their times begin at `origin`.
    pub fn new(origin: Nanos) -> Nodes {
        Nodes { origin, nodes: Vec::new() }
    }

    /// Counts an operation whose node is known.
    pub fn add(&mut self, record: &Record) {
        let (span, ending) = (Span::of(record), Completion::of(record));
        let node = self.node(usize::from(record.node));
        node.operations += 1;
        node.failed += u64::from(!is_answer(ending));
        node.silences.add(span, ending);
        if ending.outcome == Outcome::Done {
            node.response.add(record.response().0.min(crate::LONGEST.0));
        }
    }

    fn node(&mut self, number: usize) -> &mut NodeStats {
        if self.nodes.len() <= number {
            self.nodes.resize(number + 1, None);
        }
        let origin = self.origin;
        self.nodes[number].get_or_insert_with(|| {
            Box::new(NodeStats {
                operations: 0,
                failed: 0,
                response: Buckets::default(),
                silences: Silences::new(origin),
            })
        })
    }

    /// Adds what `other`, begun at the same origin, counted.
    pub fn merge(&mut self, other: Nodes) {
        for (number, theirs) in other.nodes.into_iter().enumerate() {
            let Some(theirs) = theirs else { continue };
            let mine = self.node(number);
            mine.operations += theirs.operations;
            mine.failed += theirs.failed;
            mine.response.merge(&theirs.response);
            mine.silences.merge(theirs.silences);
        }
    }

    /// Each node that was seen in `window`, by number; nothing if there was only one, of which the
    /// figures of the whole run say the same.
    pub fn finish(&self, names: &[String], window: Window) -> Vec<NodeSummary> {
        let seen = self.nodes.iter().enumerate();
        let nodes: Vec<NodeSummary> = seen
            .filter_map(|(number, stats)| Some(stats.as_ref()?.finish(number, names, window)))
            .collect();
        if nodes.len() < 2 { Vec::new() } else { nodes }
    }
}

impl NodeStats {
    fn finish(&self, number: usize, names: &[String], window: Window) -> NodeSummary {
        let name = number.checked_sub(1).and_then(|place| names.get(place));
        let done = self.response.total();
        let at = self.response.at_rank(rank(done, QUANTILE)).filter(|_| done >= DONE_MIN);
        NodeSummary {
            number: u8::try_from(number).unwrap_or(0),
            name: name.cloned().unwrap_or_default(),
            operations: self.operations,
            failed: self.failed,
            silence: self.silences.finish(window).0,
            p99: at.map(|bucket| Nanos(highest::<EXACT>(bucket))),
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_model::{Kind, Phase, Reason};

    use super::*;
    use crate::{AnalysisOptions, Analyzer};

    /// A read of `node` every 10 ms, answered after 1 ms; node 2 answers none from 2 s to 3 s.
    fn records() -> Vec<Record> {
        let record = |index: u64| {
            let (intended, node) = (Nanos::from_millis(10 * index), 1 + (index % 2) as u8);
            let is_away = node == 2 && (200..300).contains(&index);
            Record {
                index,
                process: index,
                intended,
                started: intended,
                ended: intended + Nanos::from_millis(u64::from(node)),
                outcome: if is_away { Outcome::Unknown } else { Outcome::Done },
                reason: if is_away { Reason::ConnectionLost } else { Reason::None },
                found: !is_away,
                kind: Kind::Read,
                phase: Phase::Measure,
                node,
                ..Record::BLANK
            }
        };
        (0..500).map(record).collect()
    }

    fn options() -> AnalysisOptions {
        AnalysisOptions { nodes: vec!["a:1".to_owned(), "b:1".to_owned()], ..Default::default() }
    }

    fn nodes(records: &[Record]) -> Vec<NodeSummary> {
        let mut analyzer = Analyzer::new(options());
        analyzer.push(records);
        analyzer.finish().nodes
    }

    #[test]
    fn a_node_that_is_away_is_told_from_one_that_is_not() {
        let nodes = nodes(&records());
        let counts = nodes.iter().map(|one| (one.name.as_str(), one.operations, one.failed));
        assert_eq!(counts.collect::<Vec<_>>(), [("a:1", 250, 0), ("b:1", 250, 50)]);
        let silence = nodes[1].silence.map(|silence| silence.length()).unwrap_or_default();
        // From the answer at 1.992 s, or where the first that waited was intended, to 3.012 s.
        assert!((990..1_030).contains(&(silence.0 / 1_000_000)), "{silence:?}");
        let p99 = |node: &NodeSummary| node.p99.map_or(0, |p99| p99.0 / 100_000);
        assert_eq!((p99(&nodes[0]), p99(&nodes[1])), (10, 20));
        assert!((nodes[1].failed_share() - 0.2).abs() < 1e-9);
    }

    #[test]
    fn two_analyzers_together_say_what_one_says() {
        let records = records();
        let (mut one, mut other) = (Analyzer::new(options()), Analyzer::new(options()));
        one.push(&records[..123]);
        other.push(&records[123..]);
        one.merge(other);
        assert_eq!(one.finish().nodes, nodes(&records));
    }

    #[test]
    fn one_node_alone_is_not_set_against_itself() {
        let mut records = records();
        records.iter_mut().for_each(|record| record.node = 1);
        assert_eq!(nodes(&records), []);
        records.iter_mut().for_each(|record| record.node = 0);
        assert_eq!(nodes(&records), []);
    }
}
