//! A Redis Cluster: the map of its slots with the conversations that follow it.

mod admins;
mod slot_table;
mod worker;

pub(super) use admins::{AdminConnections, ONE_NODE, settings};
pub(super) use worker::ClusterWorker;
