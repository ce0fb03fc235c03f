//! Labs: local clusters that outlive the command that started them.
//!
//! Each has a keeper, a process of this same binary that holds the servers; whoever wants
//! something of a lab asks its keeper through a socket in the lab's folder.

pub mod client;
pub mod errand;
pub mod failure;
pub mod keeper;
pub mod labs;
pub mod owner;
pub mod probe;
pub mod start;
pub mod tied;
pub mod wire;

pub use client::{GoesOn, LabClient};
pub use labs::Labs;
pub use wire::{Fault, Request};
