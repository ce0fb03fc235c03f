//! The Redis driver against real servers.

mod cluster;
mod faults;
mod labs;
mod layout;
mod login;
mod opening;
mod sentinel;

use assay_drivers::redis::Redis;
use assay_store::conformance::assert_conforms;

use crate::asker::{Asker, Told, insert, read};
use crate::server::Server;

fn store(url: &str) -> Redis {
    Redis::from_url(url).expect("the test writes right URLs")
}

fn asker(url: &str) -> Asker {
    Asker::open(&store(url)).expect("the server is there")
}

/// Writes a record, then reads it back.
fn assert_works(url: &str) {
    let mut asker = asker(url);
    assert_eq!(asker.ask(&insert("user1", &["a", "b"])), Told::WRITTEN);
    assert_eq!(asker.ask(&read("user1")), Told::row("field0=a field1=b"));
}

#[test]
fn redis_conforms() {
    let server = Server::start(&[]);
    assert_conforms(&store(&server.url("")));
}

#[test]
fn redis_conforms_over_several_connections() {
    let server = Server::start(&[]);
    assert_conforms(&store(&server.url("/2?connections=3&depth=8")));
}

#[test]
fn redis_conforms_in_the_older_protocol() {
    let server = Server::start(&["--rename-command", "HELLO", ""]);
    assert_conforms(&store(&server.url("")));
}

#[test]
fn redis_conforms_over_tls() {
    let server = Server::start_tls();
    let ca = server.folder().join("ca.crt");
    assert_conforms(&store(&server.url(&format!("?ca_file={}", ca.display()))));
}
