//! Traces through the public interface: of records, of queries, of BenchFoundry's files.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod benchfoundry;
mod records;
mod scratch;
mod statements;
