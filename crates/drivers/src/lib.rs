//! Real stores behind the seam, one file each, one cargo feature each.
//!
//! The binary opens them by URL through the [`registry`]; nothing else knows them by name.

#[allow(dead_code, reason = "each driver takes the parts that its URL has")]
mod address;
#[cfg(any(
    feature = "fjall",
    feature = "lmdb",
    feature = "redb",
    feature = "rocksdb",
    feature = "sqlite"
))]
#[cfg_attr(
    not(any(feature = "fjall", feature = "lmdb", feature = "redb", feature = "rocksdb")),
    allow(dead_code, reason = "SQLite needs its address with its failures only")
)]
mod embedded;
#[cfg(any(feature = "ignite", feature = "memcached", feature = "redis"))]
mod java_hash;
#[cfg(any(feature = "mariadb", feature = "sqlite"))]
mod record_texts;
#[cfg(any(feature = "mariadb", feature = "sqlite"))]
mod relations;
pub mod sim;
#[cfg(feature = "task")]
pub mod task;
#[cfg(any(feature = "etcd", feature = "postgres", feature = "redis"))]
mod trust;
#[cfg(any(feature = "exec", feature = "memcached", feature = "redis"))]
#[cfg_attr(
    not(feature = "redis"),
    allow(
        dead_code,
        unused_imports,
        reason = "others have no TLS, nor field names beside replies; exec has its inbox alone"
    )
)]
mod wire;

#[cfg(any(feature = "postgres", feature = "redis"))]
pub mod read_server;
pub mod registry;

#[cfg(feature = "antidote")]
pub mod antidote;
#[cfg(feature = "cassandra")]
pub mod cassandra;
#[cfg(feature = "dynamodb")]
pub mod dynamodb;
#[cfg(feature = "etcd")]
pub mod etcd;
#[cfg(feature = "exec")]
pub mod exec;
#[cfg(feature = "fjall")]
pub mod fjall;
#[cfg(feature = "fmke")]
pub mod fmke;
#[cfg(feature = "ignite")]
pub mod ignite;
#[cfg(feature = "jvm")]
pub mod jvm;
#[cfg(feature = "lmdb")]
pub mod lmdb;
#[cfg(feature = "mariadb")]
pub mod mariadb;
#[cfg(feature = "memcached")]
pub mod memcached;
#[cfg(feature = "mongodb")]
pub mod mongodb;
#[cfg(feature = "nats")]
pub mod nats;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "redb")]
pub mod redb;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(feature = "rocksdb")]
pub mod rocksdb;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(feature = "tikv")]
pub mod tikv;
