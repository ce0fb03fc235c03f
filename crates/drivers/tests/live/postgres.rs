//! The PostgreSQL driver against real servers.

mod faults;
mod flood;
mod opening;
mod server;
mod standby;

use assay_driver_postgres::Postgres;
use assay_store::conformance::queries::assert_queries_conform;
use assay_store::conformance::{assert_conforms, check};

use server::Server;

fn store(url: &str) -> Postgres {
    Postgres::from_url(url).expect("the test writes right URLs")
}

#[test]
fn postgres_conforms() {
    let server = Server::start(&[]);
    assert_conforms(&store(&server.url("?columns=bytes&connections=3")));
}

#[test]
fn postgres_conforms_but_for_what_is_no_text() {
    let server = Server::start(&[]);
    let findings = check(&store(&server.url("?connections=2")));
    let rules: Vec<&str> = findings.iter().map(|finding| finding.rule).collect();
    let expected = [
        "a value of any bytes comes back unchanged",
        "a value of one MiB comes back unchanged",
        "a small value can be replaced by one of one MiB",
        "keys of 512 bytes that differ in the last are two keys",
        "keys with spaces, line ends or zeros are keys like others",
    ];
    assert_eq!(rules, expected, "{findings:#?}");
    let refusals =
        findings.iter().filter(|finding| finding.instead.contains("refused (malformed)"));
    assert_eq!(refusals.count(), expected.len());
}

#[test]
fn postgres_takes_queries_at_every_level() {
    let server = Server::start(&["deadlock_timeout=100ms"]);
    for level in ["read-committed", "repeatable-read", "serializable"] {
        assert_queries_conform(&store(&server.url(&format!("?connections=4&isolation={level}"))));
    }
}
