//! Tests of errors on opening: no memcached, or one that cannot be used.

use std::io::{Read, Write};

use assay_store::{OpenError, Store};

use super::server::Server;
use super::store;
use crate::impostor;
use crate::server::free_port;
use crate::test_client::{RequestResult, TestClient, insert, layout, read};

fn complaint(url: &str) -> OpenError {
    store(url).prepare(&layout(1)).expect_err("it must not open")
}

fn check_unreachable(url: &str, part: &str) {
    match complaint(url) {
        OpenError::Unreachable { reason, .. } => assert!(reason.contains(part), "{url}: {reason}"),
        other => panic!("{url}: {other:?}"),
    }
}

#[test]
fn a_closed_port_is_an_error_that_asks_whether_the_server_runs() {
    let url = format!("memcached://127.0.0.1:{}", free_port());
    check_unreachable(&url, "is the server running");
    check_unreachable("memcached://no-such-host.invalid", "the name \"no-such-host.invalid\"");
}

#[test]
fn one_dead_server_of_several_is_reported() {
    let server = Server::start(&[]);
    let dead = free_port();
    let url = format!("memcached://127.0.0.1:{},127.0.0.1:{dead}", server.port);
    check_unreachable(&url, &format!("127.0.0.1:{dead} refused the connection"));
}

#[test]
fn another_kind_of_server_is_no_memcached() {
    let redis = crate::server::Server::start(&[]);
    check_unreachable(&format!("memcached://127.0.0.1:{}", redis.port), "it is no memcached");
    let port = impostor::listen(|mut socket| {
        let _ = socket.read(&mut [0; 1024]);
        let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let url = format!("memcached://127.0.0.1:{port}");
    check_unreachable(&url, "it says \"HTTP/1.1 400 Bad Request");
    let port = impostor::listen(std::mem::forget);
    let url = format!("memcached://127.0.0.1:{port}/?connect_timeout=100");
    check_unreachable(&url, "nothing came back within 100ms");
    let binary = Server::start(&["-B", "binary"]);
    check_unreachable(&binary.url("/?connect_timeout=500"), "no memcached");
}

#[test]
fn an_old_version_is_reported() {
    let port = impostor::listen(|mut socket| {
        let _ = socket.read(&mut [0; 1024]);
        let _ = socket.write_all(b"VERSION 1.5.22\r\n");
    });
    let error = complaint(&format!("memcached://127.0.0.1:{port}"));
    assert!(matches!(error, OpenError::Unsupported { .. }), "{error}");
    assert!(error.to_string().contains("memcached 1.5.22, whose protocol"), "{error}");
}

#[test]
fn a_server_that_numbers_no_changes_is_refused() {
    let server = Server::start(&["-C"]);
    let error = complaint(&server.url(""));
    assert!(matches!(error, OpenError::Unsupported { .. }), "{error}");
    assert!(error.to_string().contains("start it without -C"), "{error}");
}

/// Connections to `server` that were answered, until it refused one.
fn fill(server: &Server) -> Vec<std::net::TcpStream> {
    let mut guests = Vec::new();
    // The server counts a connection when one of its threads takes it: only a connection that got a
    // response, or was refused, is known to be counted.
    while guests.len() < 200 {
        let mut guest =
            std::net::TcpStream::connect(("127.0.0.1", server.port)).expect("it listens");
        guest.set_read_timeout(Some(std::time::Duration::from_secs(20))).expect("it is not zero");
        let mut answer = [0; 64];
        let _ = guest.write_all(b"version\r\n");
        let length = guest.read(&mut answer).expect("it answers or refuses");
        if !answer[..length].starts_with(b"VERSION") {
            break;
        }
        guests.push(guest);
    }
    guests
}

#[test]
fn too_many_connections_are_reported() {
    let server = Server::start(&["-c", "100"]);
    let guests = fill(&server);
    assert!(guests.len() < 100, "{}", guests.len());
    let error = complaint(&server.url(""));
    assert!(matches!(error, OpenError::Failed { .. }), "{error}");
    assert!(error.to_string().contains("raise -c"), "{error}");
}

#[test]
fn a_password_opens_the_door() {
    let folder = crate::server::new_folder();
    let file = folder.join("users");
    std::fs::write(&file, "ann:s3cret\n").unwrap();
    let mut server = Server::start(&["-Y", file.to_str().unwrap()]);
    let error = complaint(&server.url(""));
    assert!(matches!(error, OpenError::NotPermitted { .. }), "{error}");
    assert!(error.to_string().contains("memcached://user:password@host"), "{error}");
    let error = complaint(&format!("memcached://ann:wr0ng@127.0.0.1:{}", server.port));
    assert!(matches!(error, OpenError::NotPermitted { .. }), "{error}");
    assert!(error.to_string().contains("check user and password"), "{error}");
    assert!(!error.to_string().contains("wr0ng"), "{error}");
    let mut test_client =
        TestClient::open(&store(&format!("memcached://ann:s3cret@127.0.0.1:{}", server.port)))
            .unwrap();
    assert_eq!(test_client.send(&insert("user1", &["a", "b"])), RequestResult::WRITTEN);
    server.kill();
    test_client
        .send_until(&read("user1"), &RequestResult::Refused(assay_model::Reason::Unreachable));
    server.restart();
    test_client.send_until(&read("user1"), &RequestResult::MISSING);
    std::fs::remove_dir_all(folder).unwrap();
}
