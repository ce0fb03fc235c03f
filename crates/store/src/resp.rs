//! The protocol that Redis speaks, version 2 as well as version 3, in both directions.
//!
//! [`Parser`] finds frames in a byte buffer, however the bytes arrive, and gives them as
//! [`Token`]s: offsets into that buffer, nothing copied. [`write`](mod@write) appends commands or
//! replies to a buffer. [`Value`] is the comfortable tree for everything that is not hot.
//!
//! Source of the format: the RESP2 and RESP3 specifications of the Redis project. Streamed strings
//! or aggregates (`$?`, `*?`) of RESP3 are refused: no server sends them. So are inline commands,
//! the plain words that people type into telnet.

mod parser;
mod token;
mod value;

pub mod write;

#[cfg(test)]
mod tests;

pub use parser::{Limits, ParseError, Parser};
pub use token::{Shape, Token};
pub use value::Value;

/// The version of the protocol that a connection speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Nulls and maps are spelled as strings and arrays.
    Resp2,
    /// The version in `HELLO 3`.
    Resp3,
}
