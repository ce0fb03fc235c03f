//! Labs: local clusters that outlive the command that started them.
//!
//! Each has a supervisor, a process of this same binary that holds the servers; every request to a
//! lab goes to its supervisor through a socket in the lab's folder.

pub mod house;
pub mod job_spec;
pub mod probe;
pub mod start;
pub mod tied;
