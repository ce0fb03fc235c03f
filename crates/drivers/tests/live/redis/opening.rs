//! Tests of errors on opening: no Redis, or one that cannot be used.

use std::io::{Read, Write};

use assay_store::{OpenError, Store};

use super::{assert_works, store};
use crate::impostor;
use crate::server::{Server, free_port};
use crate::test_client::layout;

fn unreachable(url: &str) -> String {
    match store(url).prepare(&layout(1)) {
        Err(OpenError::Unreachable { reason, .. }) => reason,
        other => panic!("{url}: {other:?}"),
    }
}

fn check(url: &str, part: &str) {
    let reason = unreachable(url);
    assert!(reason.contains(part), "{url}: {reason}");
}

#[test]
fn a_closed_port_is_an_error_that_asks_whether_the_server_runs() {
    check(&format!("redis://127.0.0.1:{}", free_port()), "is the server running");
}

#[test]
fn an_unknown_name_is_reported() {
    check("redis://no-such-host.invalid", "the name \"no-such-host.invalid\"");
}

#[test]
fn a_web_server_is_no_redis() {
    let port = impostor::listen(|mut socket| {
        let _ = socket.read(&mut [0; 1024]);
        let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    check(&format!("redis://127.0.0.1:{port}"), "it says \"HTTP/1.1 400 Bad Request");
}

#[test]
fn a_ping_that_is_answered_by_no_pong_is_no_redis() {
    for (answer, displayed) in [("+HELLO\r\n", "HELLO"), (":1\r\n", "1"), ("*0\r\n", "Array")] {
        let answers = [("PING", answer)];
        let port = impostor::listen(move |socket| impostor::converse(socket, &answers));
        let reason = unreachable(&format!("redis://127.0.0.1:{port}"));
        assert!(reason.contains("instead of PONG") && reason.contains(displayed), "{reason}");
    }
}

#[test]
fn a_key_on_another_node_is_an_error_that_names_the_cluster_url() {
    let answers = [("GET", "-MOVED 12182 127.0.0.1:7002\r\n")];
    let port = impostor::listen(move |socket| impostor::converse(socket, &answers));
    let error = store(&format!("redis://127.0.0.1:{port}")).note().unwrap_err();
    assert!(matches!(error, OpenError::Unsupported { .. }), "{error}");
    assert!(error.to_string().contains("write redis+cluster://"), "{error}");
}

#[test]
fn a_silent_server_is_not_waited_for_long() {
    let port = impostor::listen(std::mem::forget);
    let rest = format!("127.0.0.1:{port}?connect_timeout=100");
    check(&format!("redis://{rest}"), "nothing came back within 100ms");
    check(&format!("rediss://{rest}&tls_insecure=true"), "try redis://");
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
    check(&server.url(&format!("?ca_file={}", ca.display())), "its certificate is not trusted");
}

#[test]
fn plain_against_tls_says_so_both_ways() {
    let server = Server::start_tls();
    check(&format!("redis://127.0.0.1:{}", server.port), "use rediss://");
    let server = Server::start(&[]);
    let url = format!("rediss://127.0.0.1:{}?tls_insecure=true", server.port);
    check(&format!("{url}&connect_timeout=500"), "redis://");
}

#[test]
fn a_single_node_url_of_a_cluster_is_refused() {
    let server = Server::start(&["--cluster-enabled", "yes"]);
    let error = store(&server.url("")).prepare(&layout(1)).unwrap_err();
    assert!(matches!(error, OpenError::Unsupported { .. }), "{error}");
    assert!(error.to_string().contains("one node of a cluster"), "{error}");
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
    let error = store(&server.url("?connections=1")).prepare(&layout(1)).unwrap_err();
    assert!(matches!(error, OpenError::Failed { .. }), "{error}");
    assert!(error.to_string().contains("raise maxclients"), "{error}");
}

#[test]
fn opening_needs_preparing_first() {
    let error = store("redis://127.0.0.1").open(0).err().unwrap().to_string();
    assert!(error.contains("before it is prepared"), "{error}");
}
