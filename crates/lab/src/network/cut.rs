//! Cut links between the namespaces of a lab: what is sent over them is dropped where it arrives.
//!
//! Each node's namespace has a table of nftables with a rule for what it no longer hears. Dropped
//! on arrival, a packet is lost in silence, as in a network: the sender sees no error.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::{HOST, Network, name};
use crate::error::LabError;

/// The program that sets the rules.
pub(crate) const NFT: &str = "nft";
/// The Debian package that it comes with.
pub(crate) const PACKAGE: &str = "nftables";
/// The table in each namespace.
const TABLE: &str = "assay";
/// The place of clients, which is no node.
pub(crate) const CLIENTS: usize = 0;

/// A direction between two nodes, or between a node and clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Link {
    pub(crate) from: usize,
    pub(crate) to: usize,
}

impl Link {
    pub(crate) fn touches(self, nodes: &[usize]) -> bool {
        nodes.contains(&self.from) || nodes.contains(&self.to)
    }
}

/// The links that are cut.
pub(crate) type Cuts = BTreeSet<Link>;

/// Between these nodes and the others of `nodes`, both ways; between all of them if none is left.
pub(crate) fn isolate(group: &[usize], nodes: usize) -> Cuts {
    let one_way = one_way(group, nodes);
    one_way.iter().flat_map(|link| [*link, Link { from: link.to, to: link.from }]).collect()
}

/// From these nodes to the others of `nodes`; between all of them if none is left.
pub(crate) fn one_way(group: &[usize], nodes: usize) -> Cuts {
    let is_everybody = (1..=nodes).all(|node| group.contains(&node));
    let pairs = group.iter().flat_map(|&from| (1..=nodes).map(move |to| Link { from, to }));
    pairs
        .filter(|link| link.from != link.to && (is_everybody || !group.contains(&link.to)))
        .collect()
}

/// Between these nodes and clients, both ways.
pub(crate) fn from_clients(group: &[usize]) -> Cuts {
    let both = |&node| [Link { from: node, to: CLIENTS }, Link { from: CLIENTS, to: node }];
    group.iter().flat_map(both).collect()
}

/// Each of `ring`, which are the nodes in some order, sees so many neighbours on either side that
/// it sees a majority, and no two see the same nodes. Jepsen's `majorities-ring` has windows on
/// one side where the numbers are even, which makes links of one direction; here a link is whole or
/// cut. Of three nodes, which are all neighbours, the last two do not see each other.
pub(crate) fn ring(ring: &[usize]) -> Cuts {
    let nodes = ring.len();
    if nodes == 3 {
        let [one, other] = [ring[1], ring[2]];
        return [Link { from: one, to: other }, Link { from: other, to: one }].into();
    }
    let reach = (nodes / 2).div_ceil(2);
    let places = (0..nodes).flat_map(|one| (0..nodes).map(move |other| (one, other)));
    let is_far = |&(one, other): &(usize, usize)| {
        let apart = one.abs_diff(other);
        apart.min(nodes - apart) > reach
    };
    places.filter(is_far).map(|(one, other)| Link { from: ring[one], to: ring[other] }).collect()
}

/// Which links are cut, in a sentence.
pub(crate) fn describe(cuts: &Cuts) -> String {
    let named = |place: usize| match place {
        CLIENTS => "clients".to_owned(),
        node => node.to_string(),
    };
    let one = |link: &Link| {
        let (from, to) = (named(link.from), named(link.to));
        match cuts.contains(&Link { from: link.to, to: link.from }) {
            false => Some(format!("from {from} to {to}")),
            true => (link.from < link.to).then(|| format!("{from}-{to}")),
        }
    };
    let all: Vec<String> = cuts.iter().filter_map(one).collect();
    format!("links are cut: {}", all.join(", "))
}

impl Network {
    /// Lets exactly these links be cut between clients and nodes 1 to `nodes`. All namespaces are
    /// changed at once, so that the cut is sharp.
    ///
    /// # Errors
    /// If there are no namespaces, or the rules cannot be set.
    pub(crate) fn cut(
        self,
        slot: u8,
        nodes: usize,
        cuts: &Cuts,
        nft: &Path,
    ) -> Result<(), LabError> {
        let rules = (1..=nodes).map(|node| (node, self.rules(slot, node, cuts)));
        let begun: Vec<Result<Child, LabError>> =
            rules.map(|(node, rules)| begin(&name(slot, node), nft, &rules)).collect();
        let ended: Vec<Result<(), LabError>> =
            begun.into_iter().map(|child| child.and_then(end)).collect();
        ended.into_iter().collect()
    }

    /// The table of node `node`, which replaces the one that it has.
    fn rules(self, slot: u8, node: usize, cuts: &Cuts) -> String {
        let anew = format!("table ip {TABLE}\ndelete table ip {TABLE}\n");
        let address = |peer: usize| match peer {
            CLIENTS => Ipv4Addr::new(10, 42, slot, HOST).to_string(),
            peer => self.address(slot, peer).to_string(),
        };
        let unheard: Vec<String> =
            cuts.iter().filter(|link| link.to == node).map(|link| address(link.from)).collect();
        let deaf_clients = cuts.contains(&Link { from: node, to: CLIENTS });
        if unheard.is_empty() && !deaf_clients {
            return anew;
        }
        let chain = |hook: &str, rule: String| {
            format!(
                "  chain {hook} {{\n    type filter hook {hook} priority -300; policy accept;\n    \
                 {rule} drop\n  }}\n"
            )
        };
        let mut chains = String::new();
        if !unheard.is_empty() {
            chains += &chain("input", format!("ip saddr {{ {} }}", unheard.join(", ")));
        }
        // Clients have no namespace of their own whose rules could drop it.
        if deaf_clients {
            chains += &chain("output", format!("ip daddr {}", address(CLIENTS)));
        }
        format!("{anew}table ip {TABLE} {{\n{chains}}}\n")
    }
}

fn begin(namespace: &str, nft: &Path, rules: &str) -> Result<Child, LabError> {
    let failed = |error| LabError::io(nft, "cannot run", error);
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace]).arg(nft).args(["-f", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    let mut stdin = child.stdin.take().expect("it is piped");
    // If it has ended already, its status says why.
    let _ = stdin.write_all(rules.as_bytes());
    Ok(child)
}

fn end(child: Child) -> Result<(), LabError> {
    let output = child.wait_with_output();
    let output = output.map_err(|error| LabError::State(format!("{NFT}: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let reported = String::from_utf8_lossy(&output.stderr);
    Err(LabError::State(format!("{NFT} could not set its rules: {}", reported.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whom each node hears, of itself and the other nodes.
    fn heard(cuts: &Cuts, nodes: usize) -> Vec<Vec<usize>> {
        let hears = |to| (1..=nodes).filter(move |&from| !cuts.contains(&Link { from, to }));
        (1..=nodes).map(|to| hears(to).collect()).collect()
    }

    #[test]
    fn an_isolated_node_hears_itself_only() {
        assert_eq!(heard(&isolate(&[2], 3), 3), [vec![1, 3], vec![2], vec![1, 3]]);
        assert_eq!(heard(&isolate(&[1, 2, 3], 3), 3), [[1], [2], [3]]);
        assert_eq!(
            heard(&isolate(&[1, 4], 5), 5),
            [vec![1, 4], vec![2, 3, 5], vec![2, 3, 5], vec![1, 4], vec![2, 3, 5]]
        );
    }

    #[test]
    fn a_node_that_is_cut_one_way_hears_the_others() {
        assert_eq!(heard(&one_way(&[2], 3), 3), [vec![1, 3], vec![1, 2, 3], vec![1, 3]]);
    }

    #[test]
    fn in_a_ring_each_node_sees_a_majority_and_no_two_see_the_same() {
        for nodes in 3..=9 {
            let order: Vec<usize> = (1..=nodes).rev().collect();
            let heard = heard(&ring(&order), nodes);
            for (place, seen) in heard.iter().enumerate() {
                assert!(seen.len() > nodes / 2, "{nodes}: {heard:?}");
                assert!(!heard[..place].contains(seen), "{nodes}: {heard:?}");
            }
            let cuts = ring(&order);
            let is_whole = |link: &Link| cuts.contains(&Link { from: link.to, to: link.from });
            assert!(!cuts.is_empty() && cuts.iter().all(is_whole), "{nodes}: {cuts:?}");
        }
    }

    #[test]
    fn cut_links_are_listed_once() {
        assert_eq!(describe(&isolate(&[2], 3)), "links are cut: 1-2, 2-3");
        let one_way = describe(&one_way(&[2], 3));
        assert_eq!(one_way, "links are cut: from 2 to 1, from 2 to 3");
        assert_eq!(describe(&from_clients(&[1])), "links are cut: clients-1");
    }

    #[test]
    fn a_cut_from_clients_leaves_nodes_alone() {
        let cuts = from_clients(&[2]);
        assert_eq!(heard(&cuts, 3), [[1, 2, 3], [1, 2, 3], [1, 2, 3]]);
        let rules = Network::Namespaces.rules(7, 2, &cuts);
        assert!(rules.contains("ip saddr { 10.42.7.254 } drop"), "{rules}");
        assert!(rules.contains("ip daddr 10.42.7.254 drop"), "{rules}");
        let others = Network::Namespaces.rules(7, 1, &cuts);
        assert_eq!(others, "table ip assay\ndelete table ip assay\n");
    }
}
