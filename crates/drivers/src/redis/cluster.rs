//! A Redis Cluster: the map of its slots with the conversations that follow it.

mod consoles;
mod desk;
mod lane;
mod slots;

pub(super) use consoles::{Consoles, ONE_NODE, settings};
pub(super) use lane::ClusterLane;
pub(super) use slots::Redirect;
