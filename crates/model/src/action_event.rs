//! Texts of events about actions on a store, taken apart: what was done, to whom, how far it is.
//!
//! The text of such an event is `lab: WHAT`, where WHAT is `NAME [TARGET] [by AMOUNT] [(NODES)]`,
//! such as `kill node 1`, `partition one way leader (node 2)`, `delay node 1 by 20ms`, `heal`; or
//! `the server of node 2 ended by itself (…)`. Another event with the same WHAT says how it ended:
//! `… is done, …`, `… failed after …`, `… goes on, …`, `… was not done, …`.

/// What the texts of events about actions begin with.
pub const ACTION_MARK: &str = "lab: ";

/// The name of what no action caused: a server ended.
pub const ENDED_BY_ITSELF: &str = "ended by itself";

/// How far an action had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionStage {
    /// It began.
    Began,
    /// It is done.
    Done,
    /// It failed, or was not done at all.
    Failed,
    /// It goes on, and nobody waits for it any more.
    GoesOn,
}

/// An event about an action, by its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionEvent<'t> {
    /// What was done, in words; the same at every stage.
    pub what: &'t str,
    /// How far it had come.
    pub stage: ActionStage,
    /// The action's name, such as `partition one way`.
    pub name: &'t str,
    /// To whom, such as `leader` or `node 1`, as it was ordered; empty for the whole lab.
    pub target: &'t str,
    /// By how much, such as `20ms`.
    pub amount: Option<&'t str>,
    /// The nodes that it was done to, if they are known.
    pub nodes: Vec<u32>,
}

/// What follows WHAT in an event about its end.
const ENDS: [(&str, ActionStage); 4] = [
    (" is done", ActionStage::Done),
    (" failed", ActionStage::Failed),
    (" goes on", ActionStage::GoesOn),
    (" was not done", ActionStage::Failed),
];

/// Words for targets that are no numbered node.
const TARGETS: [&str; 7] = ["leader", "primary", "master", "minority", "majority", "all", "random"];

/// Actions that mend, with those that they mend. The last mends all others.
const MENDS: [(&str, &[&str]); 3] = [
    ("restart", &["kill", "stop", "power off", ENDED_BY_ITSELF]),
    ("thaw", &["freeze"]),
    ("heal", &[]),
];

impl<'t> ActionEvent<'t> {
    /// Takes the text of an event apart; `None` if it is about no action.
    pub fn parse(text: &'t str) -> Option<ActionEvent<'t>> {
        let text = text.strip_prefix(ACTION_MARK)?;
        let end = |(mark, stage): &(&str, ActionStage)| Some((text.find(mark)?, *stage));
        let (length, stage) = ENDS
            .iter()
            .filter_map(end)
            .min_by_key(|(at, _)| *at)
            .unwrap_or((text.len(), ActionStage::Began));
        let what = &text[..length];
        if let Some((server, _)) = what.split_once(" ended by itself") {
            let nodes = numbers(server.rsplit(' ').next().unwrap_or_default());
            return Some(ActionEvent {
                what,
                stage,
                name: ENDED_BY_ITSELF,
                target: "",
                amount: None,
                nodes,
            });
        }
        let (order, within) = match what.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (")) {
            Some((order, within)) => (order, within),
            None => (what, ""),
        };
        let (order, amount) = match order.rsplit_once(" by ") {
            Some((order, amount)) => (order, Some(amount)),
            None => (order, None),
        };
        let (name, target) = split_target(order);
        let named = if within.is_empty() { target } else { within };
        Some(ActionEvent { what, stage, name, target, amount, nodes: numbers(named) })
    }

    /// Whether it mends, instead of breaking or changing something.
    pub fn is_mend(&self) -> bool {
        MENDS.iter().any(|(mend, _)| *mend == self.name)
    }

    /// Whether it mends what `fault` broke, on one of the same nodes if both name some.
    pub fn mends(&self, fault: &ActionEvent<'_>) -> bool {
        let Some((_, mended)) = MENDS.iter().find(|(mend, _)| *mend == self.name) else {
            return false;
        };
        let by_others = || MENDS.iter().any(|(_, mended)| mended.contains(&fault.name));
        let is_kind = mended.contains(&fault.name) || mended.is_empty() && !by_others();
        let is_node = self.nodes.is_empty()
            || fault.nodes.is_empty()
            || self.nodes.iter().any(|node| fault.nodes.contains(node));
        is_kind && is_node && !fault.is_mend()
    }

    /// What faults of its sort are called together: without the number of the node.
    pub fn sort(&self) -> String {
        let target = if self.target.starts_with("node ") { "node" } else { self.target };
        let mut text = self.name.to_owned();
        if !target.is_empty() {
            text += " ";
            text += target;
        }
        if let Some(amount) = self.amount.filter(|_| self.name != "scale") {
            text += " by ";
            text += amount;
        }
        text
    }
}

/// The name of an action and its target.
fn split_target(order: &str) -> (&str, &str) {
    let words: Vec<&str> = order.split(' ').collect();
    let cut = match words[..] {
        [_, .., "node" | "to", number] if number.parse::<u32>().is_ok() => {
            order.len() - words[words.len() - 2].len() - number.len() - 1
        }
        [_, .., target] if TARGETS.contains(&target) => order.len() - target.len(),
        _ => return (order, ""),
    };
    let target = &order[cut..];
    (order[..cut].trim_end(), if target.starts_with("to ") { "" } else { target })
}

/// The numbers in a text such as `nodes 1, 3`.
fn numbers(text: &str) -> Vec<u32> {
    text.split([' ', ',']).filter_map(|word| word.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> ActionEvent<'_> {
        ActionEvent::parse(text).expect("it is about an action")
    }

    #[test]
    fn texts_are_taken_apart() {
        for (text, name, target, nodes) in [
            ("lab: kill node 1", "kill", "node 1", &[1][..]),
            ("lab: kill leader (node 2)", "kill", "leader", &[2]),
            ("lab: partition one way leader (node 1)", "partition one way", "leader", &[1]),
            ("lab: freeze majority (nodes 1, 3)", "freeze", "majority", &[1, 3]),
            ("lab: restart (no node)", "restart", "", &[]),
            ("lab: power off all", "power off", "all", &[]),
            ("lab: heal", "heal", "", &[]),
            ("lab: scale to 3", "scale", "", &[]),
            ("lab: partition ring", "partition ring", "", &[]),
            ("lab: the server of node 2 ended by itself (signal: 9)", ENDED_BY_ITSELF, "", &[2]),
        ] {
            let event = parsed(text);
            let found = (event.name, event.target, &event.nodes[..], event.stage);
            assert_eq!(found, (name, target, nodes, ActionStage::Began), "{text}");
        }
        let delayed = parsed("lab: delay node 1 by 20ms");
        assert_eq!((delayed.name, delayed.amount), ("delay", Some("20ms")));
        assert_eq!(ActionEvent::parse("the rate is now 5k/s"), None);
    }

    #[test]
    fn an_end_says_the_same_of_its_action() {
        for (text, stage) in [
            ("lab: kill leader (node 2) is done, verified 1 ms after it began", ActionStage::Done),
            ("lab: kill leader (node 2) failed after 3 s: no leader is done", ActionStage::Failed),
            ("lab: kill leader (node 2) goes on, 3 s after it began", ActionStage::GoesOn),
            ("lab: kill leader (node 2) was not done, the run was over", ActionStage::Failed),
        ] {
            let event = parsed(text);
            assert_eq!((event.what, event.stage), ("kill leader (node 2)", stage));
            assert_eq!(event.nodes, [2]);
        }
    }

    #[test]
    fn a_mend_is_of_what_it_mends() {
        let mends = |mend, fault| parsed(mend).mends(&parsed(fault));
        assert!(mends("lab: restart node 2", "lab: kill leader (node 2)"));
        assert!(!mends("lab: restart node 1", "lab: kill leader (node 2)"));
        assert!(mends("lab: restart", "lab: stop node 3"));
        assert!(mends("lab: thaw node 1", "lab: freeze node 1"));
        assert!(!mends("lab: heal", "lab: freeze node 1"));
        assert!(mends("lab: heal", "lab: partition minority (node 3)"));
        assert!(mends("lab: heal", "lab: delay node 1 by 20ms"));
        assert!(mends("lab: restart node 1", "lab: the server of node 1 ended by itself (exit 1)"));
        assert!(!mends("lab: heal", "lab: restart node 1"));
    }

    #[test]
    fn faults_of_one_sort_differ_by_their_node_only() {
        assert_eq!(parsed("lab: kill node 1").sort(), "kill node");
        assert_eq!(parsed("lab: kill leader (node 2)").sort(), "kill leader");
        assert_eq!(parsed("lab: delay node 1 by 20ms").sort(), "delay node by 20ms");
        assert_eq!(parsed("lab: scale to 5").sort(), "scale");
    }
}
