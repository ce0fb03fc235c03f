//! Record of a running lab, for readers outside of it.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::network::Network;

/// The file's name in a lab's folder; it also marks the folder as a lab's.
const FILE: &str = "lab.json";

/// A lab as its holder describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The recipe's name.
    pub store: String,
    /// The version of the programs, as they tell it.
    pub version: String,
    /// The URL for our driver; empty while the lab is started.
    pub url: String,
    /// Where nodes live.
    pub network: Network,
    /// The process that holds it.
    pub holder: u32,
    /// Its nodes, by number.
    pub nodes: Vec<NodeRecord>,
    /// How large the disk of each node is, in MiB, if nodes have disks of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_mib: Option<u64>,
    /// Whether there is a proxy between clients and nodes, whose addresses the URL has.
    #[serde(default)]
    pub has_proxy: bool,
    /// Whether there is one between its nodes.
    #[serde(default)]
    pub has_peer_proxy: bool,
    /// Whether its servers' clocks can be moved.
    #[serde(default)]
    pub has_movable_clocks: bool,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRecord {
    /// From 1.
    pub number: usize,
    /// Its address.
    pub address: String,
    /// Its folder.
    pub folder: PathBuf,
    /// Its processes.
    pub servers: Vec<ServerRecord>,
}

/// A process of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerRecord {
    /// What it is there for.
    pub role: String,
    /// Its number.
    pub pid: u32,
    /// When it was started, in ticks since the machine's start.
    pub started: u64,
    /// Where its output goes.
    pub log: PathBuf,
    /// How it ended, if that was unexpected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub died: Option<Death>,
}

/// The unexpected end of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Death {
    /// When it was noticed, in milliseconds since 1970.
    pub unix_ms: u64,
    /// Its exit status or the signal, in words.
    pub how: String,
}

impl ServerRecord {
    /// Whether the process is still there, and not another one of the same number.
    pub fn is_alive(&self) -> bool {
        crate::usage::started(self.pid) == Some(self.started)
    }
}

impl Record {
    /// What stands in a lab's folder; `None` if it is no lab's.
    ///
    /// # Errors
    /// If the file is there but cannot be read.
    pub fn read(folder: &Path) -> Result<Option<Record>, LabError> {
        let path = folder.join(FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(LabError::io(&path, "cannot read", error)),
        };
        let parsed = serde_json::from_str(&text);
        parsed.map(Some).map_err(|error| {
            let path = path.display();
            LabError::Order(format!("{path} is damaged ({error}); remove the folder by hand"))
        })
    }

    /// Writes it down, whole or not at all.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), LabError> {
        let text = serde_json::to_string_pretty(self).expect("a record is plain data");
        let (path, fresh) = (folder.join(FILE), folder.join("lab.json.new"));
        fs::write(&fresh, text)
            .and_then(|()| fs::rename(&fresh, &path))
            .map_err(|error| LabError::io(&path, "cannot write", error))
    }
}
