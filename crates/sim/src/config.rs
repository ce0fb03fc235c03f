//! Configuration of a simulated store: its nodes, its guarantees, its faults.

use std::collections::BTreeMap;

use assay_model::{Nanos, Seed};

use super::delay::Delay;
use super::fault_model::FaultModel;
use super::quantity::TimeWindow;
use super::queue::{Grain, Hiccup};

/// The configuration of a simulated store.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The name of the preset or file that it came from.
    pub name: String,
    /// Decides everything random; the run's seed where it is not given.
    pub seed: Option<Seed>,
    /// How exactly queues follow time.
    pub clock: Grain,
    /// Whether the wait before a node includes the request's own service, 1/capacity.
    pub own_service: bool,
    /// What becomes of fields that an update does not name.
    pub updates: Updates,
    /// How replicas that take equally long are counted.
    pub ties: Ties,
    /// Whether inserting what is there, changing or removing what is not there is refused.
    pub strict: bool,
    /// Which node answers reads.
    pub read_from: ReadFrom,
    /// How many replicas a write waits for.
    pub write_concern: WriteConcern,
    /// Whether a write waits for its journal to be committed.
    pub journaled: bool,
    /// MongoDB's `journalCommitInterval`: writes that wait for it make it three times as short.
    pub journal_interval: Nanos,
    /// The nodes; exactly one of them is the primary, which takes all writes.
    pub nodes: Vec<Node>,
    /// The delay between two nodes of which nothing else is said.
    pub replication: Delay,
    /// Ways between nodes with a delay of their own.
    pub edges: Vec<Edge>,
    /// SickStore's `ConstantStaleness`, which then decides when a write can be read; what its
    /// writer waits for still follows from the ways between the nodes.
    pub staleness: Option<Staleness>,
    /// Tag sets: how many acknowledgements from nodes of each tag a write waits for.
    pub tag_sets: BTreeMap<String, BTreeMap<String, u16>>,
    /// Its faults with their rates.
    pub fault_model: FaultModel,
    /// What it may hold.
    pub limits: StoreLimits,
}

/// What becomes of fields that an update does not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Updates {
    /// They stay as they are.
    Merge,
    /// They vanish, as in SickStore.
    Replace,
}

/// How replicas that take equally long are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// One by one.
    Kept,
    /// As one, as in SickStore: with {10, 10, 50} ms the third acknowledgement comes after 50.
    Collapsed,
}

/// Which node answers reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadFrom {
    /// The primary.
    Primary,
    /// A secondary, drawn for every request.
    Secondary,
    /// The node with the lowest mean latency, the first of them.
    Nearest,
    /// Any node, drawn for every request.
    Any,
    /// The node with this name.
    Node(String),
}

/// How many replicas a write waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteConcern {
    /// So many, the primary included; all of them if there are fewer.
    Count(u16),
    /// More than half of them.
    Majority,
    /// The nodes of the tag set of this name.
    TagSet(String),
}

/// When a write can be read, whatever the ways between the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Staleness {
    /// After this time at the node that took the write.
    pub own: Nanos,
    /// After this time at all others.
    pub foreign: Nanos,
}

/// The way from one node to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// The name of the node that it begins at.
    pub from: String,
    /// The name of the node that it ends at.
    pub to: String,
    /// How long a message takes.
    pub delay: Delay,
}

/// One replica.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its name, unlike that of every other.
    pub name: String,
    /// Whether it takes the writes.
    pub is_primary: bool,
    /// The way between it and a client, there and back.
    pub latency: Delay,
    /// The requests per second that it can serve; 0 without limit.
    pub max: f64,
    /// When it serves nothing.
    pub hiccup: Option<Hiccup>,
    /// Its tags, for tag sets.
    pub tags: Vec<String>,
    /// When it is down, counted from the first request.
    pub down: Vec<TimeWindow>,
}

impl Node {
    /// A node that is never slow and never down.
    pub fn new(name: impl Into<String>, is_primary: bool) -> Node {
        Node {
            name: name.into(),
            is_primary,
            latency: Delay::NONE,
            max: 0.0,
            hiccup: None,
            tags: Vec::new(),
            down: Vec::new(),
        }
    }
}

/// Bounds of a simulated store; it counts how often each is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreLimits {
    /// Entries of the truth log; what comes after them is counted as lost.
    pub truth: usize,
    /// Versions kept of one record; older ones are forgotten, so a node far behind skips them.
    pub versions: usize,
    /// Bytes of keys and rows; an insert beyond them is refused as full.
    pub bytes: usize,
}

impl Default for StoreLimits {
    /// A million entries are about 100 MB.
    fn default() -> StoreLimits {
        StoreLimits { truth: 1_000_000, versions: 10_000, bytes: 4 << 30 }
    }
}

impl Default for Config {
    /// One primary, two secondaries, all of them in perfect health.
    fn default() -> Config {
        Config {
            name: "healthy".into(),
            seed: None,
            clock: Grain::Exact,
            own_service: true,
            updates: Updates::Merge,
            ties: Ties::Kept,
            strict: false,
            read_from: ReadFrom::Primary,
            write_concern: WriteConcern::Count(1),
            journaled: false,
            journal_interval: Nanos::from_millis(100),
            nodes: vec![
                Node::new("primary", true),
                Node::new("secondary1", false),
                Node::new("secondary2", false),
            ],
            replication: Delay::NONE,
            edges: Vec::new(),
            staleness: None,
            tag_sets: BTreeMap::new(),
            fault_model: FaultModel::default(),
            limits: StoreLimits::default(),
        }
    }
}

impl Config {
    /// Whether all of it makes sense together.
    ///
    /// # Errors
    /// If not, with a sentence.
    pub fn check(&self) -> Result<(), String> {
        self.check_nodes()?;
        let known = |name: &String| self.nodes.iter().any(|node| node.name == *name);
        let missing = |name: &String, whose: &str| {
            let names: Vec<&str> = self.nodes.iter().map(|node| node.name.as_str()).collect();
            Err(format!("{whose} names node {name:?}; there are {}", names.join(", ")))
        };
        for name in self.edges.iter().flat_map(|edge| [&edge.from, &edge.to]) {
            if !known(name) {
                return missing(name, "a way between nodes");
            }
        }
        match &self.read_from {
            ReadFrom::Node(name) if !known(name) => return missing(name, "read_from"),
            ReadFrom::Secondary if self.nodes.len() == 1 => {
                return Err("read_from is secondary, but there is only one node".into());
            }
            _ => {}
        }
        match &self.write_concern {
            WriteConcern::TagSet(name) if !self.tag_sets.contains_key(name) => Err(format!(
                "write_concern names tag set {name:?}, which there is not; write a number, \
                 majority or the name of a tag set"
            )),
            _ => Ok(()),
        }
    }

    fn check_nodes(&self) -> Result<(), String> {
        let primaries = self.nodes.iter().filter(|node| node.is_primary).count();
        if primaries != 1 {
            return Err(format!("there must be one primary, not {primaries}"));
        }
        // Nodes are numbered with 16 bits, and every version keeps a time for each of them.
        if self.nodes.len() > MOST_NODES {
            return Err(format!("{} nodes are more than {MOST_NODES}", self.nodes.len()));
        }
        for (place, node) in self.nodes.iter().enumerate() {
            if self.nodes[..place].iter().any(|other| other.name == node.name) {
                return Err(format!("two nodes are called {:?}", node.name));
            }
            if node.hiccup.is_some_and(|hiccup| hiccup.is_periodic && hiccup.after == Nanos::ZERO) {
                return Err(format!("the hiccups of {:?} come every 0 ns", node.name));
            }
        }
        Ok(())
    }
}

/// Enough for any replica set that anybody describes by hand.
const MOST_NODES: usize = 1_000;
