//! The binary as its users run it.

mod bundle;
mod place;
mod queue;
mod redis_server;

mod bad_input;
mod full_disk;
mod golden;
mod lists;
mod load;
mod overload;
mod redis;
mod repeat;
mod sick;
mod signals;
mod tune;
mod ycsb;
