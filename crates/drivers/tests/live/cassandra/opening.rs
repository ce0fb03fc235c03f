//! Tests of errors on opening: no Cassandra, or no permission.

use std::io::{Read, Write};

use assay_store::{OpenError, Store};

use super::shared::{cql_at, order, shared};
use super::{store, test_client};
use crate::impostor;
use crate::lab::Cluster;
use crate::server::{Server as Redis, free_port};
use crate::test_client::{RequestResult, TestClient, insert, layout, read, update};

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
fn a_closed_port_is_an_error_that_asks_whether_the_server_runs() {
    check_unreachable(&format!("cassandra://127.0.0.1:{}", free_port()), "is the server running");
    check_unreachable("cassandra://no-such-host.invalid", "no address is known for");
}

#[test]
fn redis_behind_the_port_is_no_cassandra() {
    let redis = Redis::start(&[]);
    let url = format!("cassandra://127.0.0.1:{}?connect_timeout=500", redis.port);
    check_unreachable(&url, "check host and port");
}

#[test]
fn servers_that_say_something_else_are_no_cassandra() {
    for said in ["SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n", "-ERR unknown\r\n"]
    {
        let port = impostor::listen(move |mut socket| {
            let _ = socket.read(&mut [0; 64]);
            let _ = socket.write_all(said.as_bytes());
        });
        let url = format!("cassandra://127.0.0.1:{port}?connect_timeout=2000");
        check_unreachable(&url, "check host and port");
    }
    let port = impostor::listen(|mut socket| {
        // Takes what comes, says nothing.
        while socket.read(&mut [0; 64]).is_ok_and(|count| count > 0) {}
    });
    let url = format!("cassandra://127.0.0.1:{port}?connect_timeout=300");
    check_unreachable(&url, "the cluster was not known within 300 ms");
}

#[test]
fn a_dead_node_among_the_hosts_is_passed_over() {
    let live = shared("").replace("cassandra://", "");
    let url = format!("cassandra://127.0.0.1:{},{live}/passed_over", free_port());
    let mut test_client = test_client(&url);
    assert_eq!(test_client.send(&insert("user1", &["a", "b"])), RequestResult::WRITTEN);
}

#[test]
fn more_copies_than_nodes_are_refused() {
    let error = store(&shared("/copies?replication=3")).prepare(&layout(1)).unwrap_err();
    assert!(error.to_string().contains("wants more copies than data center"), "{error}");
    let error = store(&shared("/copies?datacenter=elsewhere")).prepare(&layout(1)).unwrap_err();
    let expected = "it has no datacenter \"elsewhere\"; there is datacenter1";
    assert!(error.to_string().contains(expected), "{error}");
}

#[test]
fn refused_users_are_reported_without_their_password() {
    let cluster = Cluster::start_as(&order(1).choose("login", "on"));
    let url = cluster.url("");
    let hosts = url.rsplit_once('@').expect("it has a login").1;
    let at = |who: &str| format!("cassandra://{who}{hosts}/ks");
    match turned_away(&at("")) {
        OpenError::NotPermitted { reason, .. } => {
            assert!(reason.contains("write user:password@"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
    for who in ["cassandra:wrong@", "nobody:wrong@"] {
        let error = turned_away(&at(who));
        assert!(matches!(error, OpenError::NotPermitted { .. }), "{who}: {error:?}");
        let result = error.to_string();
        assert!(result.contains("check user, password and their rights"), "{result}");
        assert!(!result.contains("wrong@"), "{result}");
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "cassandra\n").unwrap();
    let url = format!("{}?password_file={}", at("cassandra@"), file.path().display());
    let mut root = test_client(&url);
    assert_eq!(root.send(&insert("user1", &["a", "b"])), RequestResult::WRITTEN);
    cql_at(
        &cluster.url(""),
        &[
            "CREATE ROLE ann WITH PASSWORD = 'pw' AND LOGIN = true",
            "GRANT SELECT ON KEYSPACE ks TO ann",
        ],
    );
    let ann = store(&at("ann:pw@"));
    let mut ann = TestClient::open(&ann).expect("everything is there already");
    assert_eq!(ann.send(&read("user1")), RequestResult::row("field0=a field1=b"));
    let result = ann.send(&update("user1", &["c"]));
    assert_eq!(result, RequestResult::Refused(assay_model::Reason::NotPermitted));
    let error = turned_away(&at("ann:pw@").replace("/ks", "/other"));
    assert!(matches!(error, OpenError::NotPermitted { .. }), "{error:?}");
}
