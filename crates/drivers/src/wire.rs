//! Sockets that never block, for drivers with a protocol of their own.

pub(crate) mod connect;
pub(crate) mod inbox;
pub(crate) mod link;
pub(crate) mod sockets;

pub(crate) use inbox::Inbox;
pub(crate) use link::{Approach, Link, Lost, Stage};
