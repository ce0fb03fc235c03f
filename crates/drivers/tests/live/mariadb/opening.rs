//! Tests of opening MariaDB: errors when there is none, settings when there is one.

use std::io::Write;

use assay_store::conformance::queries::catalogue;
use assay_store::{Existing, OpenError, Store};

use super::server::Server;
use super::{assert_works, store, test_client};
use crate::impostor;
use crate::server::{Server as Redis, free_port};
use crate::test_client::{RequestResult, TestClient, insert, layout, read, scan};

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
    let url = format!("mariadb://127.0.0.1:{}/test", free_port());
    check_unreachable(&url, "is the server running");
    check_unreachable("mariadb://127.0.0.1/test?socket=/no/such/socket", "is the server running");
}

#[test]
fn redis_behind_the_port_is_no_mariadb() {
    let redis = Redis::start(&[]);
    let url = format!("mariadb://127.0.0.1:{}/test?connect_timeout=300", redis.port);
    check_unreachable(&url, "no greeting came within 300 ms");
    check_unreachable(&url, "PostgreSQL and Redis wait for their clients to speak first");
}

#[test]
fn a_server_that_says_something_else_is_no_mariadb() {
    for said in ["SSH-2.0-OpenSSH_9.2\r\n", "220 mail ESMTP\r\n", "-ERR unknown\r\n"] {
        let port = impostor::listen(move |mut socket| {
            let _ = socket.write_all(said.as_bytes());
        });
        let url = format!("mariadb://127.0.0.1:{port}/test?connect_timeout=2000");
        let error = turned_away(&url);
        assert!(matches!(error, OpenError::Unreachable { .. }), "{said}: {error:?}");
        assert!(error.to_string().contains("check host and port"), "{said}: {error}");
    }
}

#[test]
fn refused_users_are_reported_without_their_password() {
    let server = Server::start(&[]);
    server.sql("CREATE USER ann IDENTIFIED BY 'right'; GRANT ALL ON test.* TO ann");
    let at = |who: &str, database: &str| {
        format!("mariadb://{who}@127.0.0.1:{}/{database}?connections=2", server.port)
    };
    assert_works(&at("ann:right", "test"));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "right\n").unwrap();
    assert_works(&format!("{}&password_file={}", at("ann", "test"), file.path().display()));
    for (who, database) in [("ann:wrong", "test"), ("bob:wrong", "test"), ("ann:right", "mysql")] {
        let error = turned_away(&at(who, database));
        assert!(matches!(error, OpenError::NotPermitted { .. }), "{who} {database}: {error:?}");
        let result = error.to_string();
        assert!(result.contains("check user, password and their rights"), "{result}");
        assert!(!result.contains("wrong@") && !result.contains("right@"), "{result}");
    }
    let error = turned_away(&at("root", "nowhere"));
    assert!(error.to_string().contains("create the database or name another"), "{error}");
}

#[test]
fn too_many_connections_are_reported() {
    let server = Server::start(&["--max-connections=10"]);
    let store = store(&server.url("?connections=40"));
    store.prepare(&layout(1)).unwrap();
    let error = store.open(0).err().expect("there is no room for 40");
    assert!(error.to_string().contains("raise max_connections"), "{error}");
}

#[test]
fn a_unix_socket_works_as_well() {
    let server = Server::start(&[]);
    let socket = server.socket();
    assert_works(&format!("mariadb://localhost/test?connections=1&socket={}", socket.display()));
}

#[test]
fn records_lie_as_ycsb_lays_them() {
    let server = Server::start(&[]);
    server.sql(
        "CREATE TABLE test.usertable \
         (YCSB_KEY VARCHAR(255) PRIMARY KEY, FIELD0 TEXT, FIELD1 TEXT); \
         INSERT INTO test.usertable VALUES ('user1', 'a', 'b'), ('user2', 'c', NULL)",
    );
    let mut test_client = test_client(&server.url("?connections=1"));
    assert_eq!(test_client.send(&read("user1")), RequestResult::row("field0=a field1=b"));
    assert_eq!(test_client.send(&read("user2")), RequestResult::row("field0=c"));
    assert_eq!(test_client.send(&insert("user3", &["d", "e"])), RequestResult::WRITTEN);
    let rows = ["field0=c", "field0=d field1=e"].map(str::to_owned).to_vec();
    assert_eq!(test_client.send(&scan("user11", 5)), RequestResult::Done(true, rows));
    let row = server.sql("SELECT * FROM test.usertable WHERE YCSB_KEY = 'user3'");
    assert_eq!(row, "user3\td\te");
    let error = store(&server.url("")).prepare(&layout(3)).unwrap_err().to_string();
    assert!(error.contains("its table usertable has no column field2"), "{error}");
}

#[test]
fn relations_that_are_there_are_refused_replaced_or_used() {
    let server = Server::start(&[]);
    let store = store(&server.url("?connections=1"));
    let prepare = |existing| store.prepare_queries(&catalogue().into(), existing);
    let result = prepare(Existing::Use).unwrap_err().to_string();
    let expected = "it lacks these tables: branch, account, kinds; load them first";
    assert!(result.contains(expected), "{result}");
    prepare(Existing::Refuse).unwrap();
    server.sql("INSERT INTO test.branch VALUES (1, 'Ulm')");
    let result = prepare(Existing::Refuse).unwrap_err().to_string();
    assert!(result.contains("it has these tables already: branch, account, kinds;"), "{result}");
    prepare(Existing::Use).unwrap();
    assert_eq!(server.sql("SELECT count(*) FROM test.branch"), "1");
    prepare(Existing::Replace).unwrap();
    assert_eq!(server.sql("SELECT count(*) FROM test.branch"), "0");
    server.sql("ALTER TABLE test.account DROP COLUMN owner");
    let result = prepare(Existing::Use).unwrap_err().to_string();
    assert!(result.contains("its table account has no column owner"), "{result}");
}

#[test]
fn settings_say_what_they_mean() {
    let server = Server::start(&["--log-bin=log", "--sync-binlog=0"]);
    let settings = store(&server.url("?isolation=read-committed")).settings().unwrap();
    let value = |name: &str| {
        let setting = settings.iter().find(|setting| setting.name == name);
        setting.map_or("", |setting| setting.value.as_str())
    };
    assert!(value("server").contains("MariaDB"), "{settings:?}");
    assert_eq!(value("innodb_flush_log_at_trx_commit"), "1");
    assert_eq!(value("log_bin"), "ON");
    assert_eq!(value("sync_binlog"), "0");
    assert_eq!(value("durability"), "process");
    assert_eq!(value("isolation"), "read-committed");
    assert_eq!(value("connections"), "16");
    assert!(settings.iter().all(|setting| !setting.meaning.is_empty()));
}

#[test]
fn opening_prepares_what_was_prepared() {
    let server = Server::start(&[]);
    let store = store(&server.url("?connections=2"));
    store.prepare(&layout(2)).unwrap();
    let mut test_client = TestClient::open(&store).unwrap();
    assert_eq!(test_client.send(&read("user1")), RequestResult::MISSING);
    server.sql("DROP TABLE test.usertable");
    let result = test_client.send(&read("user1"));
    assert_eq!(result, RequestResult::Refused(assay_model::Reason::Malformed));
}
