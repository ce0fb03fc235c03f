//! Tests of opening MariaDB: errors when there is none, settings when there is one.

use assay_store::Existing;
use assay_store::conformance::queries::catalogue;

use super::server::Server;
use crate::impostor;
use crate::opening::{assert_error, assert_turned_away};
use crate::rows::test_rows;
use crate::stores::{Settings, assert_works, store, test_client};
use crate::test_client::{RequestResult, TestClient, insert, layout, read, scan};

test_rows! { opening;
    a_closed_port_is_an_error_that_asks_whether_the_server_runs(&[
        ("mariadb://127.0.0.1:PORT/test", "is the server running"),
        ("mariadb://127.0.0.1/test?socket=/no/such/socket", "is the server running"),
    ]);
    redis_behind_the_port_is_another_store(&[
        ("mariadb://127.0.0.1:PORT/test?connect_timeout=300", "no greeting came within 300 ms"),
        (
            "mariadb://127.0.0.1:PORT/test?connect_timeout=300",
            "PostgreSQL and Redis wait for their clients to speak first",
        ),
    ]);
    a_server_that_says_something_else_is_another_store(
        impostor::says,
        "mariadb://127.0.0.1:PORT/test?connect_timeout=2000",
        "check host and port",
        &["SSH-2.0-OpenSSH_9.2\r\n", "220 mail ESMTP\r\n", "-ERR unknown\r\n"],
    );
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
        let part = "check user, password and their rights";
        assert_turned_away(&at(who, database), "NotPermitted", part);
    }
    assert_turned_away(&at("root", "nowhere"), "", "create the database or name another");
}

#[test]
fn too_many_connections_are_reported() {
    let server = Server::start(&["--max-connections=10"]);
    let store = store(&server.url("?connections=40"));
    store.prepare(&layout(1)).unwrap();
    let error = store.open(0).err().expect("there is no room for 40");
    assert_error(&error, "", "raise max_connections");
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
    test_client.expect(&read("user1"), RequestResult::row("field0=a field1=b"));
    test_client.expect(&read("user2"), RequestResult::row("field0=c"));
    test_client.expect(&insert("user3", &["d", "e"]), RequestResult::WRITTEN);
    let rows = ["field0=c", "field0=d field1=e"].map(str::to_owned).to_vec();
    test_client.expect(&scan("user11", 5), RequestResult::Done(true, rows));
    let row = server.sql("SELECT * FROM test.usertable WHERE YCSB_KEY = 'user3'");
    assert_eq!(row, "user3\td\te");
    let error = store(&server.url("")).prepare(&layout(3)).unwrap_err();
    assert_error(&error, "", "its table usertable has no column field2");
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
    let settings = Settings::at(&server.url("?isolation=read-committed"));
    assert!(settings.value("server").contains("MariaDB"), "{settings:?}");
    settings.expect(&[
        ("innodb_flush_log_at_trx_commit", "1"),
        ("log_bin", "ON"),
        ("sync_binlog", "0"),
        ("durability", "process"),
        ("isolation", "read-committed"),
        ("connections", "16"),
    ]);
}

#[test]
fn opening_prepares_what_was_prepared() {
    let server = Server::start(&[]);
    let store = store(&server.url("?connections=2"));
    store.prepare(&layout(2)).unwrap();
    let mut test_client = TestClient::open(&*store).unwrap();
    test_client.expect(&read("user1"), RequestResult::MISSING);
    server.sql("DROP TABLE test.usertable");
    test_client.expect(&read("user1"), RequestResult::Refused(assay_model::Reason::Malformed));
}
