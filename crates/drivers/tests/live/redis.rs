//! The Redis driver against real servers.

mod cluster;
mod faults;
mod labs;
mod layout;
mod login;
mod opening;
mod sentinel;

use assay_driver_redis::Redis;
use assay_store::conformance::assert_conforms;

use crate::server::Server;
use crate::test_client::{RequestResult, TestClient, insert, read};

fn store(url: &str) -> Redis {
    Redis::from_url(url).expect("the test writes right URLs")
}

fn test_client(url: &str) -> TestClient {
    TestClient::open(&store(url)).expect("the server is there")
}

/// Writes a record, then reads it back.
fn assert_works(url: &str) {
    let mut test_client = test_client(url);
    assert_eq!(test_client.send(&insert("user1", &["a", "b"])), RequestResult::WRITTEN);
    assert_eq!(test_client.send(&read("user1")), RequestResult::row("field0=a field1=b"));
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
