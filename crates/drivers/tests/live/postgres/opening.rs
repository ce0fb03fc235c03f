//! Opening, preparing, clearing: what is said when it cannot be done.

use std::fs;
use std::sync::Arc;

use assay_store::Existing;
use assay_store::conformance::queries::{Caller, QueryAnswer, catalogue};

use super::server::Server;
use crate::opening::assert_turned_away;
use crate::rows::test_rows;
use crate::stores::{Settings, store, test_client};
use crate::test_client::{RequestResult, TestClient, insert, layout, read};

test_rows! { opening;
    a_closed_port_is_an_error_that_asks_whether_the_server_runs(&[
        ("postgres://127.0.0.1:PORT/postgres", "is the server running"),
    ]);
    a_silent_server_is_given_up(&[
        ("postgres://127.0.0.1:PORT/postgres?connect_timeout=50", "within 50 ms"),
    ]);
}

#[test]
fn a_unix_socket_is_a_host_too() {
    let server = Server::start(&[]);
    let folder = server.folder().display().to_string().replace('/', "%2F");
    let url = format!("postgres://postgres@{folder}:{}/postgres", server.port);
    let mut test_client = test_client(&url);
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    test_client.expect(&read("user1"), RequestResult::row("field0=a field1=b"));
}

#[test]
fn records_lie_as_ycsb_lays_them() {
    let server = Server::start(&[]);
    server.sql(
        "CREATE TABLE usertable (YCSB_KEY VARCHAR(255) PRIMARY KEY, FIELD0 TEXT, FIELD1 TEXT)",
    );
    server.sql("INSERT INTO usertable VALUES ('user1', 'a', 'b'), ('user2', 'c', NULL)");
    let store = store(&server.url(""));
    let mut test_client = TestClient::open(&*store).unwrap();
    test_client.expect(&read("user1"), RequestResult::row("field0=a field1=b"));
    test_client.expect(&read("user2"), RequestResult::row("field0=c"));
    test_client.expect(&insert("user3", &["d", "e"]), RequestResult::WRITTEN);
    assert_eq!(server.sql("SELECT * FROM usertable WHERE ycsb_key = 'user3'"), "user3|d|e");
}

#[test]
fn a_table_without_a_field_is_reported() {
    let server = Server::start(&[]);
    server.sql("CREATE TABLE usertable (YCSB_KEY VARCHAR(255) PRIMARY KEY, FIELD0 TEXT)");
    assert_turned_away(&server.url(""), "", "table usertable has no column field1");
}

#[test]
fn a_database_that_is_not_there_is_reported() {
    let server = Server::start(&[]);
    let url = format!("postgres://postgres@127.0.0.1:{}/shop", server.port);
    assert_turned_away(&url, "", "createdb");
}

#[test]
fn more_connections_than_the_server_has_are_reported() {
    let server = Server::start(&[]);
    let store = store(&server.url("?connections=80"));
    store.prepare(&layout(2)).unwrap();
    let outcome_of = store.open(0).err().expect("there are 60 connections").to_string();
    assert!(outcome_of.contains("lower connections="), "{outcome_of}");
}

#[test]
fn passwords_are_checked() {
    let server = Server::start(&[]);
    server.sql("CREATE ROLE ann LOGIN SUPERUSER PASSWORD 'pw'");
    let rules = "host all ann 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n";
    fs::write(server.folder().join("data/pg_hba.conf"), rules).unwrap();
    server.sql("SELECT pg_reload_conf()");
    let url = |login: &str, rest: &str| {
        format!("postgres://{login}@127.0.0.1:{}/postgres{rest}", server.port)
    };
    let file = server.folder().join("password");
    fs::write(&file, "pw\n").unwrap();
    let option = format!("?password_file={}", file.display());
    for right in [url("ann:pw", ""), url("ann", &option)] {
        store(&right).prepare(&layout(2)).unwrap();
    }
    for wrong in [url("ann:no", ""), url("ann", "")] {
        assert_turned_away(&wrong, "NotPermitted", "password");
    }
}

#[test]
fn tls_is_used_if_the_url_requires_it() {
    let server = Server::start_tls();
    let encrypted = |rest: &str| {
        let mut test_client = test_client(&server.url(rest));
        test_client.expect(&read("user1"), RequestResult::MISSING);
        server.sql(
            "SELECT bool_or(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                    WHERE application_name = 'assay'",
        )
    };
    let ca = server.folder().join("ca.crt").display().to_string();
    assert_eq!(encrypted(""), "f");
    assert_eq!(encrypted("?sslmode=require"), "t");
    let verified = format!("?sslmode=verify-full&ca_file={ca}");
    assert_eq!(encrypted(&verified), "t");
    assert_turned_away(&server.url("?sslmode=verify-full"), "", "ca_file=");
}

#[test]
fn a_server_without_tls_is_reported() {
    let server = Server::start(&[]);
    assert_turned_away(&server.url("?sslmode=require"), "", "sslmode=disable");
}

#[test]
fn settings_are_read_back() {
    let server = Server::start(&["fsync=off", "synchronous_commit=local"]);
    let settings = Settings::at(&server.url("?isolation=serializable"));
    assert!(settings.value("server").starts_with("PostgreSQL "), "{}", settings.value("server"));
    settings.expect(&[
        ("fsync", "off"),
        ("synchronous_commit", "local"),
        ("default_transaction_isolation", "serializable"),
        ("shared_buffers", "32MB"),
        ("lock_timeout", "0"),
        ("durability", "operating system"),
        ("role", "primary"),
    ]);
}

#[test]
fn relations_that_differ_are_named() {
    let server = Server::start(&[]);
    let store = store(&server.url("?connections=1"));
    let catalogue = Arc::new(catalogue());
    let outcome_of =
        |existing| store.prepare_queries(&catalogue, existing).unwrap_err().to_string();
    assert!(
        outcome_of(Existing::Use).contains("there is no table branch"),
        "{}",
        outcome_of(Existing::Use)
    );
    store.prepare_queries(&catalogue, Existing::Refuse).unwrap();
    let refused = outcome_of(Existing::Refuse);
    assert!(refused.contains("there is a table branch, account, kinds already"), "{refused}");
    server.sql("ALTER TABLE account DROP COLUMN owner");
    let missing = outcome_of(Existing::Use);
    assert!(missing.contains("table account has no column owner"), "{missing}");
    store.prepare_queries(&catalogue, Existing::Replace).unwrap();
    let mut caller = Caller::open(&*store, 0).unwrap();
    assert_eq!(caller.send(0, 6, &[assay_model::Datum::Text("Ann")]), QueryAnswer::MISSING);
    drop(caller);
    server.sql("CREATE VIEW cities AS SELECT city FROM branch");
    let kept = outcome_of(Existing::Replace);
    assert!(kept.contains("(2BP01)"), "{kept}");
    server.sql("DROP VIEW cities");
    store.clear().unwrap();
    assert_eq!(server.sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "0");
}
