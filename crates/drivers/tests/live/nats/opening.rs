//! Tests of opening NATS: errors when there is none, settings when there is one.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use assay_store::OpenError;

use crate::impostor;
use crate::lab::Cluster;
use crate::opening::{assert_error, assert_turned_away, turned_away};
use crate::rows::test_rows;
use crate::server::free_port;
use crate::stores::{Settings, store, test_client};
use crate::test_client::{RequestResult, insert, layout, read};

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

test_rows! { opening;
    a_closed_port_is_an_error_that_asks_whether_the_server_runs(&[
        ("nats://127.0.0.1:PORT", "is the server running"),
    ]);
    redis_behind_the_port_is_another_store(&[
        ("nats://127.0.0.1:PORT?connect_timeout=300", "no greeting came within 300 ms"),
    ]);
    a_server_that_says_something_else_is_another_store(
        impostor::says,
        "nats://127.0.0.1:PORT",
        "check host and port",
        &["SSH-2.0-OpenSSH_9.2\r\n", "220 mail ESMTP\r\n", "-ERR 'no'\r\n"],
    );
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
    assert_error(&error, "Unsupported", "start nats-server with -js");
}

#[test]
fn refused_users_are_reported_without_their_password() {
    let cluster = Cluster::start("nats", 1);
    let at = |who: &str| cluster.url("").replace("nats://", &format!("nats://{who}@"));
    let mut test_client = test_client(&at("bench:bench"));
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    test_client.expect(&read("user1"), RequestResult::row("field0=a field1=b"));
    for who in ["bench:wrong", "token"] {
        let part = "check user, password or token";
        let said = assert_turned_away(&at(who), "NotPermitted", part);
        assert!(!said.contains("wrong") && !said.contains("token@"), "{said}");
    }
}

#[test]
fn a_dead_server_is_passed_over() {
    let cluster = Cluster::start("nats", 1);
    let dead = format!("nats://127.0.0.1:{},", free_port());
    let mut test_client = test_client(&cluster.url("").replace("nats://", &dead));
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
}

#[test]
fn settings_say_what_they_mean() {
    let cluster = Cluster::start("nats", 1);
    let store = store(&cluster.url("/shop?read=leader&storage=memory"));
    store.prepare(&layout(2)).unwrap();
    let settings = Settings::of(&*store);
    assert!(settings.value("server").starts_with("nats-server 2."), "{settings:?}");
    settings.expect(&[
        ("cluster", "(none)"),
        ("read", "leader"),
        ("max_payload", "1048576"),
        ("connections", "64"),
        ("shop_usertable.replicas", "1"),
        ("shop_usertable.durability", "none"),
        ("shop_usertable.history", "1"),
    ]);
}

#[test]
fn a_bucket_that_is_there_is_kept_as_it_is() {
    let cluster = Cluster::start("nats", 1);
    let mut test_client = test_client(&cluster.url(""));
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    store(&cluster.url("")).prepare(&layout(2)).unwrap();
    test_client.expect(&read("user1"), RequestResult::row("field0=a field1=b"));
    assert_turned_away(&cluster.url("?storage=memory"), "Contents", "leave the option storage out");
    assert_turned_away(&cluster.url("?replicas=3"), "", "has replicas=1, not 3");
}
