//! The binary as its users run it.

mod bundle;
mod http;
mod place;
mod queue;
mod redis_server;
mod terminal;

mod bad_input;
mod benchfoundry;
mod commands;
mod compare;
mod deeds;
mod duckdb;
mod foreign;
mod full_disk;
mod golden;
mod hallmark;
mod lab;
mod lists;
mod live;
mod load;
mod mapped;
mod mapping;
mod overload;
mod port;
mod redis;
mod repeat;
mod sick;
mod signals;
mod stores;
mod study;
mod study_benchfoundry;
#[cfg(feature = "jvm")]
mod study_jvm;
mod study_matrix;
#[cfg(feature = "tikv")]
mod tikv;
mod told;
mod tpcc;
mod tune;
mod undo;
mod ycsb;
