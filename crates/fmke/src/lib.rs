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

pub use config::{ServeError, ServerConfig, ServerLimits};
pub use server::FmkeServer;
pub use tls::ServerTls;

/// Whose answers the server gives where implementations differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerStyle {
    /// Every route does what its name says; identifiers are numbers.
    #[default]
    Corrected,
    /// As the repository's server: the routes of lists answer with the whole record.
    Repo,
    /// As the repository's server with its driver for AntidoteDB: identifiers are texts as well,
    /// and a creation looks for the identifier last.
    Antidote,
}

impl AnswerStyle {
    /// All of them, in the order in which they are listed.
    pub const ALL: [AnswerStyle; 3] =
        [AnswerStyle::Corrected, AnswerStyle::Repo, AnswerStyle::Antidote];

    /// The name as it is written.
    pub const fn name(self) -> &'static str {
        match self {
            AnswerStyle::Corrected => "corrected",
            AnswerStyle::Repo => "repo",
            AnswerStyle::Antidote => "antidote",
        }
    }
}
