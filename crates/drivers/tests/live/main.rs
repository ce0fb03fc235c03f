//! Drivers against real servers, which the tests start themselves on free ports of this machine.
//!
//! `cargo test -p assay-drivers --test live` needs Debian packages, which it installs if they are
//! missing and it may: redis-server, memcached, postgresql, mariadb-server, galera-4, rsync, lsof
//! for the servers, openssl for certificates, a JDK with maven for the Java bindings.

#[cfg(feature = "antidote")]
mod antidote;
#[cfg(feature = "antidote")]
#[path = "../antidote_stand_in/server.rs"]
mod antidote_stand_in;
#[cfg(any(feature = "cassandra", feature = "etcd", feature = "ignite", feature = "tikv"))]
#[cfg_attr(
    not(feature = "etcd"),
    allow(dead_code, reason = "each driver's tests take what they need")
)]
mod batches;
#[cfg(feature = "cassandra")]
mod cassandra;
#[cfg(feature = "dynamodb")]
mod dynamodb;
#[cfg(feature = "etcd")]
mod etcd;
#[cfg(any(feature = "antidote", feature = "ignite", feature = "tikv"))]
mod half_way;
#[cfg(feature = "ignite")]
mod ignite;
#[cfg_attr(
    not(feature = "redis"),
    allow(dead_code, reason = "each driver's tests take what they need")
)]
mod impostor;
#[cfg(feature = "jvm")]
mod jvm;
#[cfg(any(
    feature = "cassandra",
    feature = "dynamodb",
    feature = "etcd",
    feature = "ignite",
    feature = "mariadb",
    feature = "memcached",
    feature = "mongodb",
    feature = "nats",
    feature = "postgres",
    feature = "redis",
    feature = "tikv"
))]
#[cfg_attr(
    not(feature = "etcd"),
    allow(dead_code, reason = "each driver's tests take what they need")
)]
mod lab;
#[cfg(feature = "cassandra")]
mod listening;
#[cfg(any(feature = "etcd", feature = "ignite"))]
mod mapped;
#[cfg(feature = "mariadb")]
mod mariadb;
#[cfg(feature = "memcached")]
mod memcached;
#[cfg(feature = "mongodb")]
mod mongodb;
#[cfg(feature = "nats")]
mod nats;
#[cfg_attr(
    not(feature = "etcd"),
    allow(dead_code, reason = "each driver's tests take what they need")
)]
mod ordeal;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
#[cfg_attr(
    not(feature = "redis"),
    allow(dead_code, reason = "each driver's tests take what they need")
)]
mod server;
#[cfg_attr(
    not(feature = "redis"),
    allow(dead_code, reason = "each driver's tests take what they need")
)]
mod server_process;
#[cfg_attr(
    not(feature = "redis"),
    allow(dead_code, reason = "each driver's tests take what they need")
)]
mod test_client;
#[cfg(feature = "tikv")]
mod tikv;
