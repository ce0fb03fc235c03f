//! The seam to a store, its conformance suite, the stores that keep records in memory or nothing.
//!
//! A [`Store`] tells what it can ([`Capabilities`]), is made ready ([`Store::prepare`]) and gives
//! each worker of the executor a [`Client`]. A client starts [`Request`]s and delivers [`Answer`]s;
//! it works by completions instead of futures, so that a store in this process costs no task
//! switch and no allocation per operation (`docs/decisions/0002`).

mod nodes;
mod seam;

pub mod answer;
pub mod capabilities;
pub mod key_hash;
pub mod reading;
pub mod request;
pub mod row;
pub mod truth;

pub mod blocking;
pub mod conformance;
pub mod memory;
pub mod null;
pub mod resp;
pub mod resumed_load;

pub use answer::{Answer, Answers, Reply, Rows};
pub use capabilities::{Calls, Capabilities, DataModel, Isolation, ScanOrder, StoreTime};
pub use nodes::{NodeNames, number_of};
pub use reading::ServerReading;
pub use request::{Call, KeyRange, OwnedRequest, Request, Step, Ticket, Values};
pub use seam::{Client, Existing, OpenError, Store};
pub use truth::{Fault, FaultSet, Truth};
