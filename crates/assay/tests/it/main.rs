//! The binary as its users run it.

mod http;
mod place;
mod queue;
mod redis_server;
mod run_dir;
#[cfg(feature = "s3")]
mod s3_server;
#[allow(dead_code, reason = "the driver's tests take more of it")]
#[path = "../../../drivers/tests/live/server_process.rs"]
mod server_process;
mod terminal;
mod transcript;

mod actions;
#[cfg(feature = "antidote")]
mod antidote;
#[cfg(feature = "antidote")]
#[path = "../../../drivers/tests/antidote_stand_in/server.rs"]
mod antidote_stand_in;
mod bad_input;
mod benchfoundry;
mod check;
mod cleanup;
mod commands;
mod compare;
mod describe;
mod duckdb;
mod earlier;
mod exec;
mod faults;
mod final_reads;
mod fleet;
#[cfg(feature = "s3")]
mod fleet_bucket;
mod fleet_namespaces;
mod fmke;
mod full_disk;
mod golden;
mod hallmark;
mod imported;
mod integrity;
mod lab;
mod lists;
mod live;
mod load;
mod mapped;
mod mapping;
mod overload;
mod port;
mod record;
mod redis;
mod repeat;
mod scrape;
mod serve;
mod signals;
mod sim;
mod stores;
mod study;
mod study_anomalies;
mod study_benchfoundry;
#[cfg(feature = "jvm")]
mod study_jvm;
mod study_matrix;
#[cfg(feature = "tikv")]
mod tikv;
mod tpcc;
mod tune;
mod wrapped;
mod ycsb;
