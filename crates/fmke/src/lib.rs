//! FMKe's application server: the Danish medicine card over HTTP, in front of any store.
//!
//! A request is one operation of the application: read, check, write. The operations are the
//! queries of the workload `fmke`, so a store holds the same rows whoever has written them.
//! `docs/fmke.md` has the interface and how it differs from the original server.
//!
//! Each worker is a thread with a client of the store and with its share of the connections, so
//! nothing is locked between a request and its answer. Everything that a caller can make the server
//! keep is bounded, see [`ServerLimits`].

mod application;
mod config;
mod connection;
mod entity;
mod gateway;
mod json;
mod packed;
mod request;
mod server;
mod shared;
mod tls;
mod worker;

use assay_model::named_enum;

pub use config::{ServeError, ServerConfig, ServerLimits};
pub use server::FmkeServer;
pub use tls::ServerTls;

named_enum! {
    /// Whose answers the server gives where implementations differ.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum AnswerStyle {
        /// Every route does what its name says; identifiers are numbers.
        #[default]
        Corrected => "corrected",
        /// As the repository's server: the routes of lists answer with the whole record.
        Repo => "repo",
        /// As the repository's server with its driver for AntidoteDB: identifiers are texts as
        /// well, and a creation looks for the identifier last.
        Antidote => "antidote",
    }
}
