//! The MariaDB driver against real servers.

mod faults;
mod galera;
mod opening;
mod server;

use assay_driver_mariadb::MariaDb;
use assay_store::conformance::queries::assert_queries_conform;
use assay_store::conformance::{assert_conforms, check};

use crate::test_client::{RequestResult, TestClient, insert, read};
use server::Server;

fn store(url: &str) -> MariaDb {
    MariaDb::from_url(url).expect("the test writes right URLs")
}

fn test_client(url: &str) -> TestClient {
    TestClient::open(&store(url)).expect("the server is there")
}

/// Writes a record of its own, then reads it back.
fn assert_works(url: &str) {
    let mut test_client = test_client(url);
    let key = format!("user{}", url.len());
    assert_eq!(test_client.send(&insert(&key, &["a", "b"])), RequestResult::WRITTEN);
    assert_eq!(test_client.send(&read(&key)), RequestResult::row("field0=a field1=b"));
}

#[test]
fn mariadb_conforms() {
    let server = Server::start(&[]);
    assert_conforms(&store(&server.url("?columns=bytes&connections=3")));
}

#[test]
fn mariadb_conforms_but_for_what_is_no_text() {
    let server = Server::start(&[]);
    let findings = check(&store(&server.url("?connections=2")));
    let rules: Vec<&str> = findings.iter().map(|finding| finding.rule).collect();
    let expected = [
        "a value of any bytes comes back unchanged",
        "a value of one MiB comes back unchanged",
        "a small value can be replaced by one of one MiB",
        "keys of 512 bytes that differ in the last are two keys",
    ];
    assert_eq!(rules, expected, "{findings:#?}");
    let refusals =
        findings.iter().filter(|finding| finding.instead.contains("refused (malformed)"));
    assert_eq!(refusals.count(), expected.len());
}

#[test]
fn queries_to_mariadb_conform_at_every_isolation() {
    let server = Server::start(&["--innodb-lock-wait-timeout=1"]);
    for level in ["read-committed", "repeatable-read", "serializable"] {
        let url = server.url(&format!("?connections=3&isolation={level}"));
        assert_queries_conform(&store(&url));
    }
}
