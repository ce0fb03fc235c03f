//! The binary as its users run it.

mod bundle;
mod http;
mod place;
mod queue;
mod redis_server;
mod terminal;

mod bad_input;
mod compare;
mod foreign;
mod full_disk;
mod golden;
mod hallmark;
mod lists;
mod live;
mod load;
mod overload;
mod port;
mod redis;
mod repeat;
mod sick;
mod signals;
mod study;
mod told;
mod tune;
mod ycsb;
