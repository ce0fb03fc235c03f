//! Studies: many runs that answer one question, from a file to the runs to a table.
//!
//! A study file ([`mod@file`], [`anomalies::file`]) becomes a [`plan`] of cells. Each missing cell
//! is run by the [`program`]'s own commands, in a process of its own ([`execute`]), and leaves a
//! run directory in the study's [`directory`]. From there the cells are read into a table.

pub mod command_line;
pub mod program;

pub mod builtin;
pub mod commands;
pub mod file;
pub mod java;
pub mod plan;
pub mod published;
pub mod space;

pub mod directory;
pub mod execute;
pub mod matrix;

pub mod anomalies;
pub mod co;
pub mod precision;

mod error;
mod fingerprint;
mod result;

pub use error::StudyError;
