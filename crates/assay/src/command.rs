//! One module per group of verbs.

pub mod agent;
pub mod benchfoundry;
pub mod check;
pub mod compare;
pub mod doctor;
pub mod fleet;
pub mod fmke;
pub mod history;
pub mod lab;
pub mod list;
pub mod look;
pub mod man;
pub mod mapping;
pub mod measure;
pub mod serve;
pub mod sim;
pub mod stores;
pub mod study;
pub mod trace;
pub mod tune;
pub mod ycsb;

use clap::Arg;

/// A flag whose value is a text to clap; what is wrong with it is said later, with a reason.
pub fn text(name: &'static str, value: &'static str, about: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(about)
}
