//! Tests of errors on opening: no Cassandra, or no permission.

use super::shared::{cql_at, order, shared};
use crate::impostor;
use crate::lab::Cluster;
use crate::opening::{assert_error, assert_turned_away};
use crate::rows::test_rows;
use crate::server::free_port;
use crate::stores::{store, test_client};
use crate::test_client::{RequestResult, TestClient, insert, layout, read, update};

test_rows! { opening;
    a_closed_port_is_an_error_that_asks_whether_the_server_runs(&[
        ("cassandra://127.0.0.1:PORT", "is the server running"),
        ("cassandra://no-such-host.invalid", "no address is known for"),
    ]);
    redis_behind_the_port_is_another_store(&[
        ("cassandra://127.0.0.1:PORT?connect_timeout=500", "check host and port"),
    ]);
    a_server_that_says_something_else_is_another_store(
        impostor::answers,
        "cassandra://127.0.0.1:PORT?connect_timeout=2000",
        "check host and port",
        &["SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n", "-ERR unknown\r\n"],
    );
    a_silent_server_is_given_up(&[(
        "cassandra://127.0.0.1:PORT?connect_timeout=300",
        "the cluster was not known within 300 ms",
    )]);
}

#[test]
fn a_dead_node_among_the_hosts_is_passed_over() {
    let live = shared("").replace("cassandra://", "");
    let url = format!("cassandra://127.0.0.1:{},{live}/passed_over", free_port());
    let mut test_client = test_client(&url);
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
}

#[test]
fn more_copies_than_nodes_are_refused() {
    assert_turned_away(&shared("/copies?replication=3"), "", "wants more copies than data center");
    let error = store(&shared("/copies?datacenter=elsewhere")).prepare(&layout(1)).unwrap_err();
    let expected = "it has no datacenter \"elsewhere\"; there is datacenter1";
    assert_error(&error, "", expected);
}

#[test]
fn refused_users_are_reported_without_their_password() {
    let cluster = Cluster::start_as(&order(1).choose("login", "on"));
    let url = cluster.url("");
    let hosts = url.rsplit_once('@').expect("it has a login").1;
    let at = |who: &str| format!("cassandra://{who}{hosts}/ks");
    assert_turned_away(&at(""), "NotPermitted", "write user:password@");
    for who in ["cassandra:wrong@", "nobody:wrong@"] {
        assert_turned_away(&at(who), "NotPermitted", "check user, password and their rights");
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "cassandra\n").unwrap();
    let url = format!("{}?password_file={}", at("cassandra@"), file.path().display());
    let mut root = test_client(&url);
    root.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    cql_at(
        &cluster.url(""),
        &[
            "CREATE ROLE ann WITH PASSWORD = 'pw' AND LOGIN = true",
            "GRANT SELECT ON KEYSPACE ks TO ann",
        ],
    );
    let ann = store(&at("ann:pw@"));
    let mut ann = TestClient::open(&*ann).expect("everything is there already");
    ann.expect(&read("user1"), RequestResult::row("field0=a field1=b"));
    ann.expect(&update("user1", &["c"]), RequestResult::Refused(assay_model::Reason::NotPermitted));
    assert_turned_away(&at("ann:pw@").replace("/ks", "/other"), "NotPermitted", "");
}
