//! Labs: local clusters that outlive the command that started them.
//!
//! Each has a supervisor, a process of this same binary that holds the servers; every request to a
//! lab goes to its supervisor through a socket in the lab's folder.

pub mod client;
pub mod failure;
pub mod job_spec;
pub mod labs;
pub mod parent;
pub mod probe;
pub mod start;
pub mod supervisor;
pub mod tied;
pub mod wire;

pub use client::{GoesOn, LabClient};
pub use labs::Labs;
pub use wire::Request;
