//! Sockets that never block, for drivers with a protocol of their own.

pub mod connect;
mod failure;
pub mod inbox;
pub mod link;
pub mod sockets;

pub use failure::RequestFailure;
pub use inbox::Inbox;
pub use link::{Approach, Link, LinkStage, Lost};
