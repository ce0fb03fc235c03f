//! Stores by their URLs: the registry of drivers, each a crate of its own that a feature brings.
//!
//! The binary opens them through the [`registry`]; nothing else knows them by name.

mod known;
pub mod registry;
pub mod sim;
mod stores;
