//! A Redis Cluster: the map of its slots with the conversations that follow it.

mod admins;
mod slot_table;
mod slots;
mod worker;

pub(super) use admins::{AdminConnections, ONE_NODE, settings};
pub(super) use slots::Redirect;
pub(super) use worker::ClusterWorker;
