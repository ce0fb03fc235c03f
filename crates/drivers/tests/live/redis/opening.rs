//! Tests of errors on opening: no Redis, or one that cannot be used.

use std::io::{Read, Write};

use crate::impostor;
use crate::opening::{assert_error, assert_turned_away, check_unreachable};
use crate::rows::test_rows;
use crate::server::Server;
use crate::stores::{assert_works, store};

test_rows! { opening;
    a_closed_port_is_an_error_that_asks_whether_the_server_runs(&[
        ("redis://127.0.0.1:PORT", "is the server running"),
        ("redis://no-such-host.invalid", "the name \"no-such-host.invalid\""),
    ]);
    a_server_that_says_something_else_is_another_store(
        impostor::answers,
        "redis://127.0.0.1:PORT",
        "it says \"HTTP/1.1 400 Bad Request",
        &["HTTP/1.1 400 Bad Request\r\n\r\n"],
    );
    a_silent_server_is_given_up(&[
        ("redis://127.0.0.1:PORT?connect_timeout=100", "nothing came back within 100ms"),
        ("rediss://127.0.0.1:PORT?connect_timeout=100&tls_insecure=true", "try redis://"),
    ]);
}

#[test]
fn a_ping_that_is_answered_by_no_pong_is_no_redis() {
    for (answer, displayed) in [("+HELLO\r\n", "HELLO"), (":1\r\n", "1"), ("*0\r\n", "Array")] {
        let answers = [("PING", answer)];
        let port = impostor::listen(move |socket| impostor::converse(socket, &answers));
        let url = format!("redis://127.0.0.1:{port}");
        let said = assert_turned_away(&url, "Unreachable", "instead of PONG");
        assert!(said.contains(displayed), "{said}");
    }
}

#[test]
fn a_key_on_another_node_is_an_error_that_names_the_cluster_url() {
    let answers = [("GET", "-MOVED 12182 127.0.0.1:7002\r\n")];
    let port = impostor::listen(move |socket| impostor::converse(socket, &answers));
    let error = store(&format!("redis://127.0.0.1:{port}")).note().unwrap_err();
    assert_error(&error, "Unsupported", "write redis+cluster://");
}

#[test]
fn tls_trusts_only_the_configured_authorities() {
    let server = Server::start_tls();
    let ca = server.folder().join("ca.crt");
    assert_works(&server.url(&format!("?ca_file={}", ca.display())));
    assert_works(&server.url("?tls_insecure=true&connections=2"));
    let other = server.folder().join("server.key");
    let error =
        assay_driver_redis::Redis::from_url(&server.url(&format!("?ca_file={}", other.display())));
    let error = error.err().expect("the file is not there").to_string();
    assert!(error.contains("has no certificate in PEM"), "{error}");
    let stranger = Server::start_tls();
    let ca = stranger.folder().join("ca.crt");
    check_unreachable(
        &server.url(&format!("?ca_file={}", ca.display())),
        "its certificate is not trusted",
    );
}

#[test]
fn plain_against_tls_says_so_both_ways() {
    let server = Server::start_tls();
    check_unreachable(&format!("redis://127.0.0.1:{}", server.port), "use rediss://");
    let server = Server::start(&[]);
    let url = format!("rediss://127.0.0.1:{}?tls_insecure=true", server.port);
    check_unreachable(&format!("{url}&connect_timeout=500"), "redis://");
}

#[test]
fn a_single_node_url_of_a_cluster_is_refused() {
    let server = Server::start(&["--cluster-enabled", "yes"]);
    assert_turned_away(&server.url(""), "Unsupported", "one node of a cluster");
    server.cli("CLUSTER ADDSLOTSRANGE 0 16383");
    let start = std::time::Instant::now();
    while !server.cli("CLUSTER INFO").contains("cluster_state:ok") {
        assert!(start.elapsed() < crate::test_client::TIMEOUT);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_works(&server.url(""));
}

#[test]
fn too_many_connections_are_reported() {
    let server = Server::start(&[]);
    // Set when it is up: a server that starts with so few has hardly a descriptor for its port.
    let mut guest = std::net::TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    guest.write_all(b"CONFIG SET maxclients 1\r\n").unwrap();
    let mut answer = [0; 64];
    let length = guest.read(&mut answer).unwrap();
    assert_eq!(&answer[..length], b"+OK\r\n");
    assert_turned_away(&server.url("?connections=1"), "Failed", "raise maxclients");
}

#[test]
fn opening_needs_preparing_first() {
    let error = store("redis://127.0.0.1").open(0).err().unwrap().to_string();
    assert!(error.contains("before it is prepared"), "{error}");
}
