//! The mappings from outside: whatever tables rows are kept in, the answers are alike.

mod advice;
mod alike;
mod answer;
mod conforms;
mod evaluator;
mod explain;
mod random;
mod record_store;
mod shrink;
mod sqlite;
mod tpcc;
