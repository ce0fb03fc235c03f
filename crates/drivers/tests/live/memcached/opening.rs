//! Tests of errors on opening: no memcached, or one that cannot be used.

use std::io::{Read, Write};

use super::server::Server;
use crate::impostor;
use crate::opening::{assert_turned_away, check_unreachable};
use crate::rows::test_rows;
use crate::server::free_port;
use crate::stores::test_client;
use crate::test_client::{RequestResult, insert, read};

test_rows! { opening;
    a_closed_port_is_an_error_that_asks_whether_the_server_runs(&[
        ("memcached://127.0.0.1:PORT", "is the server running"),
        ("memcached://no-such-host.invalid", "the name \"no-such-host.invalid\""),
    ]);
    redis_behind_the_port_is_another_store(&[("memcached://127.0.0.1:PORT", "it is no memcached")]);
    a_server_that_says_something_else_is_another_store(
        impostor::answers,
        "memcached://127.0.0.1:PORT",
        "it says \"HTTP/1.1 400 Bad Request",
        &["HTTP/1.1 400 Bad Request\r\n\r\n"],
    );
    a_silent_server_is_given_up(&[
        ("memcached://127.0.0.1:PORT/?connect_timeout=100", "nothing came back within 100ms"),
    ]);
}

#[test]
fn a_memcached_of_the_binary_protocol_is_none() {
    let binary = Server::start(&["-B", "binary"]);
    check_unreachable(&binary.url("/?connect_timeout=500"), "no memcached");
}

#[test]
fn one_dead_server_of_several_is_reported() {
    let server = Server::start(&[]);
    let dead = free_port();
    let url = format!("memcached://127.0.0.1:{},127.0.0.1:{dead}", server.port);
    check_unreachable(&url, &format!("127.0.0.1:{dead} refused the connection"));
}

#[test]
fn an_old_version_is_reported() {
    let port = impostor::answers(b"VERSION 1.5.22\r\n");
    assert_turned_away(
        &format!("memcached://127.0.0.1:{port}"),
        "Unsupported",
        "memcached 1.5.22, whose protocol",
    );
}

#[test]
fn a_server_that_numbers_no_changes_is_refused() {
    let server = Server::start(&["-C"]);
    assert_turned_away(&server.url(""), "Unsupported", "start it without -C");
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
    assert_turned_away(&server.url(""), "Failed", "raise -c");
}

#[test]
fn a_password_opens_the_door() {
    let folder = crate::server::new_folder();
    let file = folder.join("users");
    std::fs::write(&file, "ann:s3cret\n").unwrap();
    let mut server = Server::start(&["-Y", file.to_str().unwrap()]);
    assert_turned_away(&server.url(""), "NotPermitted", "memcached://user:password@host");
    let wrong = format!("memcached://ann:wr0ng@127.0.0.1:{}", server.port);
    let said = assert_turned_away(&wrong, "NotPermitted", "check user and password");
    assert!(!said.contains("wr0ng"), "{said}");
    let mut test_client = test_client(&format!("memcached://ann:s3cret@127.0.0.1:{}", server.port));
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    server.kill();
    test_client
        .send_until(&read("user1"), &RequestResult::Refused(assay_model::Reason::Unreachable));
    server.restart();
    test_client.send_until(&read("user1"), &RequestResult::MISSING);
    std::fs::remove_dir_all(folder).unwrap();
}
