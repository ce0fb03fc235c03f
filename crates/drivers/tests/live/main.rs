//! Drivers against real servers, which the tests start themselves on free ports of this machine.
//!
//! `cargo test -p assay-drivers --test live` needs Debian packages, which it installs if they are
//! missing and it may: redis-server, memcached, postgresql, mariadb-server, galera-4, rsync, lsof
//! for the servers, openssl for certificates, a JDK with maven for the Java bindings.

#![cfg_attr(
    not(all(
        feature = "antidote",
        feature = "cassandra",
        feature = "dynamodb",
        feature = "etcd",
        feature = "ignite",
        feature = "jvm",
        feature = "mariadb",
        feature = "memcached",
        feature = "mongodb",
        feature = "nats",
        feature = "postgres",
        feature = "redis",
        feature = "tikv"
    )),
    allow(
        dead_code,
        unused_imports,
        unused_macros,
        reason = "each driver's tests take what they need"
    )
)]

#[cfg(feature = "antidote")]
mod antidote;
#[cfg(feature = "antidote")]
#[path = "../antidote_stand_in/server.rs"]
mod antidote_stand_in;
mod batches;
#[cfg(feature = "cassandra")]
mod cassandra;
#[cfg(feature = "dynamodb")]
mod dynamodb;
#[cfg(feature = "etcd")]
mod etcd;
mod half_way;
#[cfg(feature = "ignite")]
mod ignite;
mod impostor;
#[cfg(feature = "jvm")]
mod jvm;
mod lab;
mod listening;
mod mapped;
#[cfg(feature = "mariadb")]
mod mariadb;
#[cfg(feature = "memcached")]
mod memcached;
#[cfg(feature = "mongodb")]
mod mongodb;
#[cfg(feature = "nats")]
mod nats;
mod opening;
mod ordeal;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
mod rows;
mod server;
mod server_process;
mod stores;
mod test_client;
#[cfg(feature = "tikv")]
mod tikv;
