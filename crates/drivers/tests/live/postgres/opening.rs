//! Opening, preparing, clearing: what is said when it cannot be done.

use std::fs;
use std::io::Read as _;
use std::sync::Arc;

use assay_driver_postgres::Postgres;
use assay_store::conformance::queries::{Caller, QueryAnswer, catalogue};
use assay_store::conformance::{find_mark, leave_mark};
use assay_store::{Existing, OpenError, Store};

use super::server::Server;
use super::store;
use crate::impostor::listen;
use crate::server::free_port;
use crate::test_client::{RequestResult, TestClient, insert, layout, read};

fn error(store: &Postgres) -> OpenError {
    store.prepare(&layout(2)).expect_err("it cannot be opened")
}

#[test]
fn a_unix_socket_is_a_host_too() {
    let server = Server::start(&[]);
    let folder = server.folder().display().to_string().replace('/', "%2F");
    let url = format!("postgres://postgres@{folder}:{}/postgres", server.port);
    let mut test_client = TestClient::open(&store(&url)).unwrap();
    assert_eq!(test_client.send(&insert("user1", &["a", "b"])), RequestResult::WRITTEN);
    assert_eq!(test_client.send(&read("user1")), RequestResult::row("field0=a field1=b"));
}

#[test]
fn records_lie_as_ycsb_lays_them() {
    let server = Server::start(&[]);
    server.sql(
        "CREATE TABLE usertable (YCSB_KEY VARCHAR(255) PRIMARY KEY, FIELD0 TEXT, FIELD1 TEXT)",
    );
    server.sql("INSERT INTO usertable VALUES ('user1', 'a', 'b'), ('user2', 'c', NULL)");
    let store = store(&server.url(""));
    let mut test_client = TestClient::open(&store).unwrap();
    assert_eq!(test_client.send(&read("user1")), RequestResult::row("field0=a field1=b"));
    assert_eq!(test_client.send(&read("user2")), RequestResult::row("field0=c"));
    assert_eq!(test_client.send(&insert("user3", &["d", "e"])), RequestResult::WRITTEN);
    assert_eq!(server.sql("SELECT * FROM usertable WHERE ycsb_key = 'user3'"), "user3|d|e");
}

#[test]
fn a_table_without_a_field_is_reported() {
    let server = Server::start(&[]);
    server.sql("CREATE TABLE usertable (YCSB_KEY VARCHAR(255) PRIMARY KEY, FIELD0 TEXT)");
    let outcome_of = error(&store(&server.url(""))).to_string();
    assert!(outcome_of.contains("table usertable has no column field1"), "{outcome_of}");
}

#[test]
fn what_was_written_is_there_after_the_server_was_killed() {
    let mut server = Server::start(&[]);
    leave_mark(&store(&server.url(""))).unwrap();
    server.kill();
    server.restart();
    find_mark(&store(&server.url(""))).unwrap();
}

#[test]
fn a_closed_port_is_unreachable() {
    let url = format!("postgres://127.0.0.1:{}/postgres", free_port());
    let outcome_of = error(&store(&url));
    assert!(matches!(outcome_of, OpenError::Unreachable { .. }), "{outcome_of}");
    assert!(outcome_of.to_string().contains("is the server running"), "{outcome_of}");
}

#[test]
fn a_server_that_never_responds_times_out() {
    let port = listen(|mut socket| drop(socket.read_to_end(&mut Vec::new())));
    let outcome_of =
        error(&store(&format!("postgres://127.0.0.1:{port}/postgres?connect_timeout=50")));
    assert!(matches!(outcome_of, OpenError::Unreachable { .. }), "{outcome_of}");
    assert!(outcome_of.to_string().contains("within 50 ms"), "{outcome_of}");
}

#[test]
fn a_database_that_is_not_there_is_reported() {
    let server = Server::start(&[]);
    let outcome_of = error(&store(&format!("postgres://postgres@127.0.0.1:{}/shop", server.port)));
    assert!(outcome_of.to_string().contains("createdb"), "{outcome_of}");
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
        let outcome_of = error(&store(&wrong));
        assert!(matches!(outcome_of, OpenError::NotPermitted { .. }), "{outcome_of}");
        assert!(outcome_of.to_string().contains("password"), "{outcome_of}");
    }
}

#[test]
fn tls_is_used_if_the_url_requires_it() {
    let server = Server::start_tls();
    let encrypted = |store: &Postgres| {
        let mut test_client = TestClient::open(store).expect("the server is there");
        assert_eq!(test_client.send(&read("user1")), RequestResult::MISSING);
        server.sql(
            "SELECT bool_or(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                    WHERE application_name = 'assay'",
        )
    };
    let ca = server.folder().join("ca.crt").display().to_string();
    assert_eq!(encrypted(&store(&server.url(""))), "f");
    assert_eq!(encrypted(&store(&server.url("?sslmode=require"))), "t");
    let verified = format!("?sslmode=verify-full&ca_file={ca}");
    assert_eq!(encrypted(&store(&server.url(&verified))), "t");
    let outcome_of = error(&store(&server.url("?sslmode=verify-full"))).to_string();
    assert!(outcome_of.contains("ca_file="), "{outcome_of}");
}

#[test]
fn a_server_without_tls_is_reported() {
    let server = Server::start(&[]);
    let outcome_of = error(&store(&server.url("?sslmode=require"))).to_string();
    assert!(outcome_of.contains("sslmode=disable"), "{outcome_of}");
}

#[test]
fn settings_are_read_back() {
    let server = Server::start(&["fsync=off", "synchronous_commit=local"]);
    let settings = store(&server.url("?isolation=serializable")).settings().unwrap();
    let value = |name: &str| {
        let setting = settings.iter().find(|setting| setting.name == name);
        setting.map(|setting| setting.value.as_str()).unwrap_or("missing")
    };
    assert!(value("server").starts_with("PostgreSQL "), "{}", value("server"));
    assert_eq!(value("fsync"), "off");
    assert_eq!(value("synchronous_commit"), "local");
    assert_eq!(value("default_transaction_isolation"), "serializable");
    assert_eq!(value("shared_buffers"), "32MB");
    assert_eq!(value("lock_timeout"), "0");
    assert_eq!(value("durability"), "operating system");
    assert_eq!(value("role"), "primary");
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
    let mut caller = Caller::open(&store, 0).unwrap();
    assert_eq!(caller.send(0, 6, &[assay_model::Datum::Text("Ann")]), QueryAnswer::MISSING);
    drop(caller);
    server.sql("CREATE VIEW cities AS SELECT city FROM branch");
    let kept = outcome_of(Existing::Replace);
    assert!(kept.contains("(2BP01)"), "{kept}");
    server.sql("DROP VIEW cities");
    store.clear().unwrap();
    assert_eq!(server.sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "0");
}
