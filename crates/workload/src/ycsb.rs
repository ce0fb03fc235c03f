//! YCSB's properties: the other front door.
//!
//! [`Properties`] are read from files in Java's format or set one by one; [`read()`] splits them
//! into a workload (a [`Spec`](crate::Spec)), the options of YCSB's client ([`ClientOptions`])
//! and what only the store's binding understands.

mod known;
mod options;
mod properties;
mod read;

pub use known::is_for_client;
pub use options::{ClientOptions, Interval};
pub use properties::{Properties, Property, Strictness};
pub use read::{Reading, make_room, read};

#[cfg(test)]
mod tests;
