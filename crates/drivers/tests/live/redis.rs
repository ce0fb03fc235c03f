//! The Redis driver against real servers.

mod cluster;
mod faults;
mod labs;
mod layout;
mod login;
mod opening;
mod sentinel;

use assay_store::conformance::assert_conforms;

use crate::server::Server;
use crate::stores::store;

#[test]
fn redis_conforms() {
    let server = Server::start(&[]);
    assert_conforms(&*store(&server.url("")));
}

#[test]
fn redis_conforms_over_several_connections() {
    let server = Server::start(&[]);
    assert_conforms(&*store(&server.url("/2?connections=3&depth=8")));
}

#[test]
fn redis_conforms_in_the_older_protocol() {
    let server = Server::start(&["--rename-command", "HELLO", ""]);
    assert_conforms(&*store(&server.url("")));
}

#[test]
fn redis_conforms_over_tls() {
    let server = Server::start_tls();
    let ca = server.folder().join("ca.crt");
    assert_conforms(&*store(&server.url(&format!("?ca_file={}", ca.display()))));
}
