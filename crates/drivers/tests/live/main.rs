//! Drivers against real servers, which the tests start themselves on free ports of this machine.
//!
//! `cargo test -p assay-drivers --test live` needs Debian packages, which it installs if they are
//! missing and it may: redis-server, postgresql, mariadb-server for the servers, openssl
//! for certificates.

mod asker;
mod impostor;
#[cfg(feature = "mariadb")]
mod mariadb;
#[cfg(feature = "postgres")]
mod postgres;
mod redis;
mod server;
