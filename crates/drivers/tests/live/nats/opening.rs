//! Tests of opening NATS: errors when there is none, settings when there is one.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use assay_store::{OpenError, Store};

use super::{store, test_client};
use crate::impostor;
use crate::lab::Cluster;
use crate::server::{Server as Redis, free_port};
use crate::test_client::{RequestResult, insert, layout, read};

fn turned_away(url: &str) -> OpenError {
    store(url).prepare(&layout(1)).expect_err("there is nothing to prepare")
}

fn check_unreachable(url: &str, part: &str) {
    match turned_away(url) {
        OpenError::Unreachable { reason, .. } => assert!(reason.contains(part), "{url}: {reason}"),
        other => panic!("{url}: {other:?}"),
    }
}

/// A nats-server without JetStream, which ends with this.
struct Plain(Child);

impl Plain {
    fn start(port: u16) -> Plain {
        let process = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "nats-server", "-a", "127.0.0.1", "-p"])
            .arg(port.to_string())
            .stderr(Stdio::null())
            .spawn();
        Plain(process.expect("setpriv comes with util-linux"))
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        // It may have ended already; then there is nothing to do.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_closed_port_is_an_error_that_asks_whether_the_server_runs() {
    check_unreachable(&format!("nats://127.0.0.1:{}", free_port()), "is the server running");
}

#[test]
fn redis_behind_the_port_is_no_nats() {
    let redis = Redis::start(&[]);
    let url = format!("nats://127.0.0.1:{}?connect_timeout=300", redis.port);
    check_unreachable(&url, "no greeting came within 300 ms");
}

#[test]
fn servers_that_say_something_else_are_no_nats() {
    for said in ["SSH-2.0-OpenSSH_9.2\r\n", "220 mail ESMTP\r\n", "-ERR 'no'\r\n"] {
        let port = impostor::listen(move |mut socket| {
            let _ = socket.write_all(said.as_bytes());
        });
        check_unreachable(&format!("nats://127.0.0.1:{port}"), "check host and port");
    }
}

#[test]
fn a_server_without_jetstream_is_reported() {
    // The lab sees to it that the program is there.
    drop(Cluster::start("nats", 1));
    let port = free_port();
    let _server = Plain::start(port);
    let url = format!("nats://127.0.0.1:{port}");
    let mut error = turned_away(&url);
    for _ in 0..200 {
        if !matches!(error, OpenError::Unreachable { .. }) {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
        error = turned_away(&url);
    }
    assert!(matches!(error, OpenError::Unsupported { .. }), "{error:?}");
    assert!(error.to_string().contains("start nats-server with -js"), "{error}");
}

#[test]
fn refused_users_are_reported_without_their_password() {
    let cluster = Cluster::start("nats", 1);
    let at = |who: &str| cluster.url("").replace("nats://", &format!("nats://{who}@"));
    let mut test_client = test_client(&at("bench:bench"));
    assert_eq!(test_client.send(&insert("user1", &["a", "b"])), RequestResult::WRITTEN);
    assert_eq!(test_client.send(&read("user1")), RequestResult::row("field0=a field1=b"));
    for who in ["bench:wrong", "token"] {
        let error = turned_away(&at(who));
        assert!(matches!(error, OpenError::NotPermitted { .. }), "{who}: {error:?}");
        let result = error.to_string();
        assert!(result.contains("check user, password or token"), "{result}");
        assert!(!result.contains("wrong") && !result.contains("token@"), "{result}");
    }
}

#[test]
fn a_dead_server_is_passed_over() {
    let cluster = Cluster::start("nats", 1);
    let dead = format!("nats://127.0.0.1:{},", free_port());
    let mut test_client = test_client(&cluster.url("").replace("nats://", &dead));
    assert_eq!(test_client.send(&insert("user1", &["a", "b"])), RequestResult::WRITTEN);
}

#[test]
fn settings_say_what_they_mean() {
    let cluster = Cluster::start("nats", 1);
    let store = store(&cluster.url("/shop?read=leader&storage=memory"));
    store.prepare(&layout(2)).unwrap();
    let settings = store.settings().unwrap();
    let value = |name: &str| {
        let setting = settings.iter().find(|setting| setting.name == name);
        setting.map_or("", |setting| setting.value.as_str())
    };
    assert!(value("server").starts_with("nats-server 2."), "{settings:?}");
    assert_eq!(value("cluster"), "(none)");
    assert_eq!(value("read"), "leader");
    assert_eq!(value("max_payload"), "1048576");
    assert_eq!(value("connections"), "64");
    assert_eq!(value("shop_usertable.replicas"), "1");
    assert_eq!(value("shop_usertable.durability"), "none");
    assert_eq!(value("shop_usertable.history"), "1");
    assert!(settings.iter().all(|setting| !setting.meaning.is_empty()));
}

#[test]
fn a_bucket_that_is_there_is_kept_as_it_is() {
    let cluster = Cluster::start("nats", 1);
    let mut test_client = test_client(&cluster.url(""));
    assert_eq!(test_client.send(&insert("user1", &["a", "b"])), RequestResult::WRITTEN);
    store(&cluster.url("")).prepare(&layout(2)).unwrap();
    assert_eq!(test_client.send(&read("user1")), RequestResult::row("field0=a field1=b"));
    let error = turned_away(&cluster.url("?storage=memory"));
    assert!(matches!(error, OpenError::Contents { .. }), "{error:?}");
    assert!(error.to_string().contains("leave the option storage out"), "{error}");
    let error = turned_away(&cluster.url("?replicas=3"));
    assert!(error.to_string().contains("has replicas=1, not 3"), "{error}");
}
