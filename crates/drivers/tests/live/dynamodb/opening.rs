//! What is said when there is no DynamoDB, or not one that we can use; what one says about itself.

use std::io::{Read, Write};
use std::time::Duration;

use assay_store::{OpenError, Store};

use super::{start, store};
use crate::asker::{Asker, layout};
use crate::impostor;
use crate::server::{Server as Redis, free_port};

fn turned_away(url: &str) -> OpenError {
    store(url).prepare(&layout(1)).expect_err("there is nothing to prepare")
}

fn check_unreachable(url: &str, part: &str) {
    match turned_away(url) {
        OpenError::Unreachable { reason, .. } => assert!(reason.contains(part), "{url}: {reason}"),
        other => panic!("{url}: {other:?}"),
    }
}

#[test]
fn a_closed_port_asks_whether_the_server_runs() {
    check_unreachable(&format!("dynamodb://127.0.0.1:{}/", free_port()), "is it running");
}

#[test]
fn redis_behind_the_port_is_no_dynamodb() {
    let redis = Redis::start(&[]);
    let url = format!("dynamodb://127.0.0.1:{}/?connect_timeout=2000", redis.port);
    check_unreachable(&url, "check host and port");
}

#[test]
fn a_server_that_says_something_else_is_no_dynamodb() {
    for said in [
        "SSH-2.0-OpenSSH_9.2\r\n",
        "HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nnginx",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    ] {
        let port = impostor::listen(move |mut socket| {
            let _ = socket.read(&mut [0; 4096]);
            let _ = socket.write_all(said.as_bytes());
            std::thread::sleep(Duration::from_millis(200));
        });
        let url = format!("dynamodb://127.0.0.1:{port}/?connect_timeout=2000");
        check_unreachable(&url, "is no DynamoDB");
    }
}

#[test]
fn a_server_that_says_nothing_is_given_up() {
    let port = impostor::listen(|_socket| std::thread::sleep(Duration::from_secs(3)));
    let url = format!("dynamodb://127.0.0.1:{port}/?connect_timeout=300");
    check_unreachable(&url, "no answer came within 300 ms");
}

#[test]
fn strangers_are_told_without_their_secret() {
    let cluster = start();
    let url = cluster.url("").replacen("dynamodb://", "dynamodb://not-a-key:s3cret@", 1);
    let error = turned_away(&url);
    assert!(matches!(error, OpenError::NotPermitted { .. }), "{error:?}");
    let told = error.to_string();
    assert!(told.contains("check access key, secret and region"), "{told}");
    assert!(!told.contains("s3cret"), "{told}");
}

#[test]
fn a_table_of_another_shape_is_told() {
    let cluster = start();
    store(&cluster.url("?key=id&connections=1")).prepare(&layout(1)).unwrap();
    let told = turned_away(&cluster.url("?connections=1")).to_string();
    assert!(told.contains("the key of its table usertable is \"id\"; say key=id"), "{told}");
    let told = turned_away(&cluster.url("?key=id&columns=bytes")).to_string();
    assert!(told.contains("usertable is of type S; say columns=text"), "{told}");
    let told = turned_away(&cluster.url("?key=field0")).to_string();
    assert!(told.contains("field0 is both the key's attribute and a field"), "{told}");
}

#[test]
fn settings_say_that_it_is_a_stand_in() {
    let cluster = start();
    let store = store(&cluster.url("?consistent_read=off"));
    store.prepare(&layout(1)).unwrap();
    let settings = store.settings().unwrap();
    let value = |name: &str| {
        let setting = settings.iter().find(|setting| setting.name == name);
        setting.map_or("", |setting| setting.value.as_str())
    };
    assert_eq!(value("server"), "DynamoDB Local");
    assert_eq!(value("durability"), "unknown");
    assert_eq!(value("consistent_read"), "off");
    assert_eq!(value("capacity"), "on demand");
    assert_eq!(value("connections"), "16");
    assert!(settings.iter().all(|setting| !setting.meaning.is_empty()));
}

#[test]
fn opening_waits_for_no_table() {
    let cluster = start();
    let store = store(&cluster.url("?connections=3"));
    let asker = Asker::open(&store).unwrap();
    assert!(asker.is_ready());
}
