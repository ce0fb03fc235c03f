//! HTTP servers with a bound on what callers can make them do, and the pages of runs.

pub mod http;
mod site;

pub use site::RunsSite;
