//! The mappings from outside: whatever tables rows are kept in, the answers are alike.

#![allow(clippy::unwrap_used, reason = "a test may end by a panic")]

mod advice;
mod alike;
mod answer;
mod conforms;
mod evaluator;
mod explain;
mod random;
mod record_store;
mod shrink;
mod tpcc;
