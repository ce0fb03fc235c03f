//! Messages between a lab's supervisor and its clients: a line of JSON each.

use serde::{Deserialize, Serialize};

use crate::cluster::NodeState;
use crate::fault::{Injected, Injection};
use crate::parent::Parent;
use crate::record::Record;

/// A request to a supervisor; one for each connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "lowercase")]
pub enum LabRequest {
    /// How is it?
    Status,
    /// Add or remove nodes.
    Scale {
        /// How many there shall be.
        nodes: usize,
    },
    /// Break something, or mend it.
    Fault(Injection),
    /// End all of it.
    Down,
}

/// The response of a supervisor: any number of `Tell`, then one of the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "lowercase")]
pub enum LabReply {
    /// What goes on.
    Tell {
        /// In words.
        text: String,
    },
    /// It was done.
    Done {
        /// How the lab is now.
        status: Box<LabStatus>,
        /// The fault that was injected, if one was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        injected: Option<Injected>,
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
pub struct LabStatus {
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
    /// What is broken besides what the states say, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broken: Vec<String>,
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
        assert_eq!(line(&LabRequest::Status), r#"{"ask":"status"}"#);
        assert_eq!(line(&LabRequest::Scale { nodes: 3 }), r#"{"ask":"scale","nodes":3}"#);
        let fault = LabRequest::Fault(Injection::parse("kill node 2").unwrap());
        assert_eq!(line(&fault), r#"{"ask":"fault","fault":"kill","node":2}"#);
        assert_eq!(serde_json::from_str::<LabRequest>(&line(&fault)).unwrap(), fault);
    }
}
