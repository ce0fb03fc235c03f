//! One module per group of verbs.

pub mod ask;
pub mod doctor;
pub mod list;
pub mod look;
pub mod trace;
pub mod ycsb;
