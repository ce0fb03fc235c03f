//! Messages between a lab's supervisor and its clients: a line of JSON each.

use assay_lab::{NodeState, Record};
use serde::{Deserialize, Serialize};

use crate::lab::parent::Parent;

/// A request to a supervisor; one for each connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "lowercase")]
pub enum Request {
    /// How is it?
    Status,
    /// Add or remove nodes.
    Scale {
        /// How many there shall be.
        nodes: usize,
    },
    /// Do something to a node.
    Fault {
        /// What.
        fault: Fault,
        /// To which, from 1.
        node: usize,
    },
    /// End all of it.
    Down,
}

/// What can be done to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fault {
    /// `kill -9` of all its processes.
    Kill,
    /// End its processes as an administrator would.
    Stop,
    /// Suspend its processes, sockets open.
    Freeze,
    /// Let a frozen node go on.
    Thaw,
    /// Start a node that is down again, with the data that it has.
    Restart,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Fault; 5] =
        [Fault::Kill, Fault::Stop, Fault::Freeze, Fault::Thaw, Fault::Restart];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Fault::Kill => "kill",
            Fault::Stop => "stop",
            Fault::Freeze => "freeze",
            Fault::Thaw => "thaw",
            Fault::Restart => "restart",
        }
    }
}

/// The response of a supervisor: any number of `Tell`, then one of the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "lowercase")]
pub enum Reply {
    /// What goes on.
    Tell {
        /// In words.
        text: String,
    },
    /// It was done.
    Done {
        /// How the lab is now.
        status: Box<Status>,
    },
    /// It was not.
    Failed {
        /// Why, and what to do.
        text: String,
        /// The code that a command ends with because of it.
        exit: u8,
        /// Whether programs are missing that could be installed or fetched.
        #[serde(default)]
        is_not_installed: bool,
    },
}

/// How a lab is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The lab's name.
    pub name: String,
    /// The process that keeps it.
    #[serde(alias = "keeper")]
    pub supervisor: u32,
    /// What it does at present besides running, for example `starting: fetching etcd`.
    pub doing: Option<String>,
    /// What is written down about it; absent until its first node is started.
    pub record: Option<Record>,
    /// How its nodes are, in the record's order.
    pub states: Vec<NodeState>,
    /// How long it took until a record had been written and read, in milliseconds.
    pub ready_ms: Option<u64>,
    /// The process that it ends with, if there is one.
    #[serde(alias = "owner")]
    pub parent: Option<Parent>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line<T: Serialize>(value: &T) -> String {
        serde_json::to_string(value).unwrap()
    }

    #[test]
    fn requests_are_short_lines() {
        assert_eq!(line(&Request::Status), r#"{"ask":"status"}"#);
        assert_eq!(line(&Request::Scale { nodes: 3 }), r#"{"ask":"scale","nodes":3}"#);
        let fault = Request::Fault { fault: Fault::Kill, node: 2 };
        assert_eq!(line(&fault), r#"{"ask":"fault","fault":"kill","node":2}"#);
        assert_eq!(serde_json::from_str::<Request>(&line(&fault)).unwrap(), fault);
    }

    #[test]
    fn every_fault_is_called_on_the_wire_as_on_the_command_line() {
        for fault in Fault::ALL {
            assert_eq!(line(&fault), format!("{:?}", fault.name()));
        }
    }
}
