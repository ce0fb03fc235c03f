//! Real stores behind the seam, one file each, one cargo feature each.
//!
//! The binary opens them by URL through the [`registry`]; nothing else knows them by name.

#[cfg(any(feature = "fjall", feature = "redb", feature = "sqlite"))]
#[cfg_attr(
    not(any(feature = "fjall", feature = "redb")),
    allow(dead_code, reason = "SQLite needs its address with its failures only")
)]
mod embedded;
#[cfg(any(feature = "mariadb", feature = "sqlite"))]
mod record_texts;
#[cfg(any(feature = "mariadb", feature = "sqlite"))]
mod relations;
pub mod sick;
#[cfg(feature = "task")]
pub mod task;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod trust;

pub mod registry;

#[cfg(feature = "fjall")]
pub mod fjall;
#[cfg(feature = "mariadb")]
pub mod mariadb;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "redb")]
pub mod redb;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(feature = "sqlite")]
pub mod sqlite;
