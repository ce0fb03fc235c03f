//! Labs: starts a local cluster of a store, grows it, shrinks it, ends it.
//!
//! A [`Recipe`] knows one store: how its programs are had, how nodes are started until they form a
//! cluster, how one joins or leaves. A [`Lab`] is a cluster that runs: processes of this machine,
//! each node on a loopback address of its own or in a network namespace of its own. The owner of
//! the `Lab` holds the processes: they end with it, also when their holder is killed. A
//! [`supervisor`] is such a holder, a process of its own; a [`LabClient`] speaks with it through a
//! socket in the lab's folder.

pub mod card;
pub mod fault;
mod flush_time;
pub mod lab;
pub mod package_cache;
pub mod recipe;
pub mod recipes;
pub mod site;
pub mod supervisor;

mod attach;
mod client;
mod clock;
mod cluster;
mod disk;
mod error;
mod ground;
mod job_spec;
mod labs;
mod network;
mod parent;
mod process;
mod proxy;
mod record;
mod slot;
mod start;
mod tool;
mod traffic;
mod usage;
mod wire;

pub use card::{
    Card, GivenOptions, NUMBER, Need, NodeCounts, Port, RecipeOption, Scaling, Supply, Version,
};
pub use client::LabClient;
pub use clock::has_movable_clocks;
pub use cluster::NodeState;
pub use disk::{check_disks, unsynced};
pub use error::LabError;
pub use fault::{
    Amount, FAULTS, Fault, FaultFacts, FaultScope, FaultTarget, Injected, Injection, Needs,
};
pub use ground::{Ground, clean, is_held, is_marked};
pub use job_spec::{JobSpec, LOG};
pub use lab::{Lab, NodeView, Order, Premises, check_injection, check_programs, check_scale};
pub use labs::{LabEntry, Labs, check_name};
pub use network::Network;
pub use package_cache::{House, Kit, PackageCache};
pub use parent::Parent;
pub use process::tail;
pub use proxy::Now;
pub use recipe::{FindLeader, ReadClock, Recipe};
pub use record::{Death, NodeRecord, Record, ServerRecord};
pub use site::{Launch, Site};
pub use start::{CancelHandle, PROGRAM, Started, start};
pub use tool::Watch;
pub use traffic::{Bytes, Traffic};
pub use usage::Usage;
pub use wire::{LabRequest, LabStatus};
