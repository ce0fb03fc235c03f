//! Faults of a running lab: what breaks it, what mends it, what either is done to.
//!
//! A fault is a row of [`FAULTS`] with an arm in `lab/inject.rs`; the command line, `--at`, the
//! nemesis and the wire follow from the row.

use std::fmt;
use std::str::FromStr;

use assay_model::closest;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{clock, flush_time, proxy};

/// What can be done to a lab besides scaling it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// `kill -9` of all processes of a node.
    Kill,
    /// End its processes as an administrator would.
    Stop,
    /// Suspend its processes, sockets open.
    Freeze,
    /// Let a frozen node go on.
    Thaw,
    /// Start a node that is down again, with the data that it has.
    Restart,
    /// Cut nodes off from the others, both ways; clients reach all of them.
    Partition,
    /// Drop what nodes send to the others.
    PartitionOneWay,
    /// Let each node see a majority, but none the same.
    PartitionRing,
    /// Cut nodes off from clients, both ways; the others reach them.
    CutClients,
    /// Undo all that was cut, filled or stalled.
    Heal,
    /// End them, and lose what was not synced.
    PowerOff,
    /// Leave no room on their disks.
    FillDisk,
    /// Let everybody wait who writes to their disks.
    StallDisk,
    /// Let each flush of their disks take longer.
    SlowDisk,
    /// Let what passes between clients and them be late.
    Delay,
    /// Let it pass slowly.
    Limit,
    /// Hold what passes, either way.
    Blackhole,
    /// Hold requests.
    BlackholeRequests,
    /// Hold replies.
    BlackholeReplies,
    /// Lose what passes; the connections end when that is healed.
    Drop,
    /// Reset the connections of clients.
    Reset,
    /// Accept connections of clients, and never answer.
    HalfOpen,
    /// Let their clocks be off.
    Clock,
}

/// Which nodes a fault is done to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultScope {
    /// Those that are named.
    Named,
    /// Those that are named, or all that need it: those that are down, frozen or cut off.
    Broken,
    /// The whole lab.
    Whole,
}

/// What a fault needs of its lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing.
    Nothing,
    /// A network namespace for each node.
    Namespaces,
    /// The same, and so many nodes.
    Nodes(usize),
    /// A disk for each node.
    Disks,
    /// A proxy between clients and nodes.
    Proxy,
    /// Clocks that can be moved.
    Clocks,
}

/// What a fault takes after the word `by`.
#[derive(Clone, Copy, Debug)]
pub struct Amount {
    /// One for an error to show, such as `50ms`.
    pub example: &'static str,
    /// Whether a text is one.
    pub is_valid: fn(&str) -> bool,
}

/// The facts of a fault.
#[derive(Clone, Copy, Debug)]
pub struct FaultFacts {
    /// Which one.
    pub fault: Fault,
    /// Its name on the command line and on the wire; in `--at` spaces may stand for hyphens.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// Which nodes it is done to.
    pub scope: FaultScope,
    /// What it takes after `by`, if anything.
    pub amount: Option<Amount>,
    /// What mends it; `None` for what mends.
    pub undo: Option<Fault>,
    /// What it needs.
    pub needs: Needs,
    /// What it does, for a list.
    pub about: &'static str,
}

const fn row(fault: Fault, name: &'static str, about: &'static str) -> FaultFacts {
    FaultFacts {
        fault,
        name,
        aliases: &[],
        scope: FaultScope::Named,
        amount: None,
        undo: None,
        needs: Needs::Nothing,
        about,
    }
}

/// One of the links between clients and a node.
const fn link(fault: Fault, name: &'static str, about: &'static str) -> FaultFacts {
    FaultFacts { undo: Some(Fault::Heal), needs: Needs::Proxy, ..row(fault, name, about) }
}

/// Every fault, in the order in which it is listed.
pub const FAULTS: [FaultFacts; 23] = [
    FaultFacts {
        undo: Some(Fault::Restart),
        ..row(Fault::Kill, "kill", "kill -9 of its processes")
    },
    FaultFacts {
        undo: Some(Fault::Restart),
        ..row(Fault::Stop, "stop", "end its processes as an administrator would")
    },
    FaultFacts {
        aliases: &["pause"],
        undo: Some(Fault::Thaw),
        ..row(Fault::Freeze, "freeze", "suspend its processes, sockets open")
    },
    FaultFacts {
        aliases: &["resume"],
        scope: FaultScope::Broken,
        ..row(Fault::Thaw, "thaw", "let what is frozen go on")
    },
    FaultFacts {
        scope: FaultScope::Broken,
        ..row(Fault::Restart, "restart", "start what is down again, with its data")
    },
    FaultFacts {
        aliases: &["partition-isolate", "isolate"],
        undo: Some(Fault::Heal),
        needs: Needs::Nodes(2),
        ..row(Fault::Partition, "partition", "cut it off from the other nodes, both ways")
    },
    FaultFacts {
        undo: Some(Fault::Heal),
        needs: Needs::Nodes(2),
        ..row(Fault::PartitionOneWay, "partition-one-way", "drop what it sends to other nodes")
    },
    FaultFacts {
        scope: FaultScope::Whole,
        undo: Some(Fault::Heal),
        needs: Needs::Nodes(3),
        ..row(Fault::PartitionRing, "partition-ring", "each node sees a majority, none the same")
    },
    FaultFacts {
        undo: Some(Fault::Heal),
        needs: Needs::Namespaces,
        ..row(Fault::CutClients, "cut-clients", "cut it off from clients, not from nodes")
    },
    FaultFacts {
        scope: FaultScope::Broken,
        ..row(Fault::Heal, "heal", "undo what was done to links, disks and clocks")
    },
    FaultFacts {
        undo: Some(Fault::Restart),
        needs: Needs::Disks,
        ..row(Fault::PowerOff, "power-off", "kill -9, and what was not synced is lost")
    },
    FaultFacts {
        undo: Some(Fault::Heal),
        needs: Needs::Disks,
        ..row(Fault::FillDisk, "fill-disk", "leave no room on its disk")
    },
    FaultFacts {
        undo: Some(Fault::Heal),
        needs: Needs::Disks,
        ..row(Fault::StallDisk, "stall-disk", "let all that is written to its disk wait")
    },
    FaultFacts {
        undo: Some(Fault::Heal),
        amount: Some(Amount { example: "50ms", is_valid: flush_time::is_flush_time }),
        needs: Needs::Disks,
        ..row(Fault::SlowDisk, "slow-disk", "let each flush of its disk take about so long")
    },
    FaultFacts {
        amount: Some(Amount { example: "20ms", is_valid: proxy::is_delay }),
        ..link(Fault::Delay, "delay", "let all be late that passes to or from clients, each way")
    },
    FaultFacts {
        amount: Some(Amount { example: "1MB/s", is_valid: proxy::is_limit }),
        ..link(Fault::Limit, "limit", "let it pass slowly, each way")
    },
    link(Fault::Blackhole, "blackhole", "hold it until that is healed"),
    link(Fault::BlackholeRequests, "blackhole-requests", "hold requests"),
    link(Fault::BlackholeReplies, "blackhole-replies", "hold replies"),
    link(Fault::Drop, "drop", "lose it; its connections end when that is healed"),
    link(Fault::Reset, "reset", "reset its clients' connections"),
    link(Fault::HalfOpen, "half-open", "accept clients' new connections, never answer"),
    FaultFacts {
        undo: Some(Fault::Heal),
        amount: Some(Amount { example: "+1h", is_valid: clock::is_offset }),
        needs: Needs::Clocks,
        ..row(Fault::Clock, "clock", "let its clock be off")
    },
];

impl Fault {
    /// Its facts.
    pub fn facts(self) -> &'static FaultFacts {
        const ROWS: &[FaultFacts] = &FAULTS;
        let row = ROWS.iter().find(|row| row.fault == self);
        row.expect("every fault has a row, as a test says")
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The fault of this name, or of an alias.
    ///
    /// # Errors
    /// If there is none; with the nearest name, or all of them.
    pub fn named(name: &str) -> Result<Fault, String> {
        let is_it = |row: &&FaultFacts| row.name == name || row.aliases.contains(&name);
        if let Some(row) = FAULTS.iter().find(is_it) {
            return Ok(row.fault);
        }
        Err(unknown(name, names()))
    }

    /// Whether a fault's name begins with this word.
    pub fn begins_with(word: &str) -> bool {
        let mut names =
            FAULTS.iter().flat_map(|row| [row.name].into_iter().chain(row.aliases.iter().copied()));
        names.any(|name| name.split('-').next() == Some(word))
    }
}

/// The error for a name that is none of `names`.
pub fn unknown(name: &str, names: impl Iterator<Item = &'static str> + Clone) -> String {
    let hint = match closest(name, names.clone()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("there are {}", names.collect::<Vec<_>>().join(", ")),
    };
    format!("there is no {name:?}; {hint}")
}

/// The names of all faults, without aliases.
pub fn names() -> impl Iterator<Item = &'static str> + Clone {
    FAULTS.iter().map(|row| row.name)
}

/// Nodes, as they are named before it is known which they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultTarget {
    /// This one, from 1.
    Node(usize),
    /// The one that leads at that moment: leader, primary, master.
    Leader,
    /// The most that are fewer than half, drawn.
    Minority,
    /// The fewest that are more than half, drawn.
    Majority,
    /// All.
    All,
    /// One, drawn.
    Random,
}

/// Words for targets; the first of each is the one that is written.
const TARGETS: [(&str, FaultTarget); 7] = [
    ("leader", FaultTarget::Leader),
    ("primary", FaultTarget::Leader),
    ("master", FaultTarget::Leader),
    ("minority", FaultTarget::Minority),
    ("majority", FaultTarget::Majority),
    ("all", FaultTarget::All),
    ("random", FaultTarget::Random),
];

/// What can be said of a target, for an error.
pub const TARGET_HINT: &str = "a node's number from 1, or leader, minority, majority, all, random";

impl FromStr for FaultTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<FaultTarget, String> {
        if let Some((_, target)) = TARGETS.iter().find(|(name, _)| *name == text) {
            return Ok(*target);
        }
        match text.parse() {
            Ok(number) if number > 0 => Ok(FaultTarget::Node(number)),
            _ => Err(format!("{text:?} is no node: give {TARGET_HINT}")),
        }
    }
}

impl fmt::Display for FaultTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let FaultTarget::Node(number) = self {
            return write!(f, "node {number}");
        }
        let word = TARGETS.iter().find(|(_, target)| target == self);
        f.write_str(word.expect("every target has a word").0)
    }
}

/// A number for a node, a word for the others.
impl Serialize for FaultTarget {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            FaultTarget::Node(number) => to.serialize_u64(*number as u64),
            word => to.collect_str(word),
        }
    }
}

impl<'de> Deserialize<'de> for FaultTarget {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<FaultTarget, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(usize),
            Word(String),
        }
        let text = match Written::deserialize(from)? {
            Written::Number(number) => number.to_string(),
            Written::Word(word) => word,
        };
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A fault with what it is done to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Injection {
    /// What.
    pub fault: Fault,
    /// To which nodes; `None` for what is done to the whole lab, or to all that need it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<FaultTarget>,
    /// By how much, for a fault that has an amount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Whether it is done to the links with other nodes, not to those with clients.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub peers: bool,
    /// What random nodes follow from.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub seed: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A fault that was injected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Injected {
    /// The nodes that it was done to.
    pub nodes: Vec<usize>,
    /// How long it took to find them, such as the leader, before it began, in nanoseconds.
    pub found_ns: u64,
    /// How long it took from its beginning, in nanoseconds.
    pub applied_ns: u64,
    /// When a check had shown its effect, after its beginning, in nanoseconds.
    pub verified_ns: u64,
}

impl Injection {
    /// A fault of these nodes.
    pub fn of(fault: Fault, node: Option<FaultTarget>) -> Injection {
        Injection { fault, node, by: None, peers: false, seed: 0 }
    }

    /// What is said in words such as `kill node 1`, `partition one way leader`, `restart`.
    ///
    /// # Errors
    /// If there is no such fault, or its target or amount is missing or wrong.
    pub fn parse(text: &str) -> Result<Injection, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let longest = (1..=words.len()).rev().find_map(|count| {
            let fault = Fault::named(&words[..count].join("-")).ok()?;
            Some((fault, &words[count..]))
        });
        let (fault, rest) = match (longest, words.first()) {
            (Some(found), _) => found,
            (None, Some(first)) => return Err(Fault::named(first).expect_err("it was tried")),
            (None, None) => return Err("it says nothing to do".to_owned()),
        };
        let (rest, by) = match rest {
            [rest @ .., "by" | "to", amount] => (rest, Some((*amount).to_owned())),
            rest => (rest, None),
        };
        let (rest, peers) = match rest {
            ["peers", "of", rest @ ..] => (rest, true),
            ["peers", ..] => return Err("peers of which node? write `peers of 2`".to_owned()),
            rest => (rest, false),
        };
        let node = match rest {
            [] => None,
            [number] => Some(number.parse()?),
            ["node", number] => match number.parse()? {
                FaultTarget::Node(number) => Some(FaultTarget::Node(number)),
                other => return Err(format!("write {other} without node")),
            },
            _ => return Err(format!("{:?} is no node: give {TARGET_HINT}", rest.join(" "))),
        };
        let injection = Injection { fault, node, by, peers, seed: 0 };
        injection.check().map(|()| injection)
    }

    /// Compares it with what its fault takes.
    ///
    /// # Errors
    /// If its target or amount is missing, wrong, or one too many.
    pub fn check(&self) -> Result<(), String> {
        let FaultFacts { name, scope, amount, needs, .. } = *self.fault.facts();
        if self.peers && needs != Needs::Proxy {
            return Err(format!("{name} is not done to links, so leave out `peers`"));
        }
        match (scope, self.node) {
            (FaultScope::Named, None) => {
                return Err(format!("{name} of which node? give {TARGET_HINT}"));
            }
            (FaultScope::Whole, Some(node)) => {
                return Err(format!("{name} is done to the whole lab, not to {node}"));
            }
            _ => {}
        }
        match (amount, &self.by) {
            (None, Some(by)) => Err(format!("{name} takes no amount, so leave out `by {by}`")),
            (Some(amount), None) => {
                Err(format!("{name} by how much? for example `by {}`", amount.example))
            }
            (Some(amount), Some(by)) if !(amount.is_valid)(by) => {
                Err(format!("{by:?} is no amount for {name}, for example `by {}`", amount.example))
            }
            _ => Ok(()),
        }
    }

    /// In words, such as `kill leader`.
    pub fn text(&self) -> String {
        let name = self.fault.name().replace('-', " ");
        let peers = if self.peers { " peers of" } else { "" };
        let node = self.node.map_or_else(String::new, |node| format!("{peers} {node}"));
        let by = self.by.as_ref().map_or_else(String::new, |by| format!(" by {by}"));
        format!("{name}{node}{by}")
    }

    /// The same when it is known which nodes it was done to, such as `kill leader (node 2)`.
    pub fn text_of(&self, nodes: &[usize]) -> String {
        let text = self.text();
        let numbers: Vec<String> = nodes.iter().map(usize::to_string).collect();
        match (&numbers[..], self.node, self.fault.facts().scope) {
            (_, Some(FaultTarget::Node(_)), _) | ([], _, FaultScope::Whole) => text,
            ([], ..) => format!("{text} (no node)"),
            ([one], ..) => format!("{text} (node {one})"),
            (several, ..) => format!("{text} (nodes {})", several.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<(Fault, Option<FaultTarget>), String> {
        Injection::parse(text).map(|injection| (injection.fault, injection.node))
    }

    #[test]
    fn every_fault_has_one_row_and_one_name_everywhere() {
        for row in &FAULTS {
            assert_eq!(FAULTS.iter().filter(|other| other.fault == row.fault).count(), 1);
            let written = serde_json::to_string(&row.fault).expect("it is plain data");
            assert_eq!(written, format!("{:?}", row.name));
            for name in [&[row.name], row.aliases].concat() {
                assert_eq!(Fault::named(name), Ok(row.fault));
            }
            if let Some(undo) = row.undo {
                assert_ne!(undo.facts().scope, FaultScope::Named, "{} mends by itself", row.name);
            }
        }
    }

    #[test]
    fn faults_are_said_in_words() {
        for (text, fault, node) in [
            ("kill node 1", Fault::Kill, Some(FaultTarget::Node(1))),
            ("kill 1", Fault::Kill, Some(FaultTarget::Node(1))),
            ("kill master", Fault::Kill, Some(FaultTarget::Leader)),
            ("pause primary", Fault::Freeze, Some(FaultTarget::Leader)),
            ("resume", Fault::Thaw, None),
            ("restart all", Fault::Restart, Some(FaultTarget::All)),
            ("partition leader", Fault::Partition, Some(FaultTarget::Leader)),
            ("partition isolate node 3", Fault::Partition, Some(FaultTarget::Node(3))),
            ("isolate 3", Fault::Partition, Some(FaultTarget::Node(3))),
            ("partition minority", Fault::Partition, Some(FaultTarget::Minority)),
            ("partition one way node 2", Fault::PartitionOneWay, Some(FaultTarget::Node(2))),
            ("partition-one-way random", Fault::PartitionOneWay, Some(FaultTarget::Random)),
            ("partition ring", Fault::PartitionRing, None),
            ("cut clients majority", Fault::CutClients, Some(FaultTarget::Majority)),
            ("heal", Fault::Heal, None),
        ] {
            assert_eq!(parsed(text), Ok((fault, node)), "{text}");
        }
        let text = |text| Injection::parse(text).map(|injection| injection.text());
        assert_eq!(text("partition isolate primary").as_deref(), Ok("partition leader"));
        assert_eq!(text("cut-clients 2").as_deref(), Ok("cut clients node 2"));
    }

    #[test]
    fn what_is_no_fault_is_an_error_with_a_reason() {
        for (text, part) in [
            ("", "nothing to do"),
            ("kil 1", "did you mean kill?"),
            ("explode 1", "there are kill, stop"),
            ("kill", "kill of which node?"),
            ("kill node 0", "\"0\" is no node"),
            ("kill node leader", "write leader without node"),
            ("kill one two three", "\"one two three\" is no node"),
            ("partition", "partition of which node?"),
            ("partition ring 1", "done to the whole lab, not to node 1"),
            ("kill 1 by 50ms", "kill takes no amount"),
        ] {
            let reported = parsed(text).unwrap_err();
            assert!(reported.contains(part), "{text}: {reported}");
        }
    }

    #[test]
    fn the_text_of_what_was_done_names_the_nodes() {
        let text =
            |text, nodes: &[usize]| Injection::parse(text).expect("it is a fault").text_of(nodes);
        assert_eq!(text("kill leader", &[2]), "kill leader (node 2)");
        assert_eq!(text("kill node 2", &[2]), "kill node 2");
        assert_eq!(text("freeze majority", &[1, 3]), "freeze majority (nodes 1, 3)");
        assert_eq!(text("restart", &[]), "restart (no node)");
        assert_eq!(text("partition ring", &[]), "partition ring");
    }

    #[test]
    fn injections_are_short_on_the_wire() {
        let line = |text| {
            let injection: Injection = Injection::parse(text).expect("it is a fault");
            let line = serde_json::to_string(&injection).expect("it is plain data");
            assert_eq!(serde_json::from_str::<Injection>(&line).expect("it was one"), injection);
            line
        };
        assert_eq!(line("kill node 2"), r#"{"fault":"kill","node":2}"#);
        assert_eq!(line("partition leader"), r#"{"fault":"partition","node":"leader"}"#);
        assert_eq!(line("heal"), r#"{"fault":"heal"}"#);
    }
}
