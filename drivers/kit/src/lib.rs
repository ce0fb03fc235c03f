//! Parts that drivers share: addresses, sockets, engines on disk, a runtime for client libraries.
//!
//! A driver takes the parts that its store needs; those that bring a library have a feature.

pub mod address;
pub mod embedded;
mod engine_tests;
pub mod java_hash;
pub mod key_prefix;
pub mod known_settings;
pub mod latest;
mod option_words;
pub mod read_server;
pub mod relations;
pub mod secrets;
mod store_errors;
mod surroundings;
#[cfg(feature = "task")]
pub mod task;
#[cfg(feature = "trust")]
pub mod trust;
pub mod unavailable;
pub mod url_options;
mod url_tests;
#[cfg(feature = "wire")]
pub mod wire;

pub use store_errors::StoreErrors;
pub use surroundings::Surroundings;
