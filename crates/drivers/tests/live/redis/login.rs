//! Passwords, users, databases, with what is said when they are wrong.

use assay_driver_redis::{Options, Password, Redis};

use crate::opening::assert_turned_away;
use crate::server::Server;
use crate::stores::{Settings, assert_works, test_client};
use crate::test_client::{RequestResult, TestClient, insert};

#[test]
fn a_password_opens_the_door() {
    let server = Server::start(&["--requirepass", "se:cret"]);
    let port = server.port;
    assert_works(&format!("redis://:se%3Acret@127.0.0.1:{port}"));
    assert_works(&format!("redis://default:se%3Acret@127.0.0.1:{port}"));
    let file = server.folder().join("password");
    std::fs::write(&file, "se:cret\n").unwrap();
    assert_works(&server.url(&format!("?password_file={}", file.display())));
    let password = Some(Password::new("se:cret"));
    let options = Options { password, ..Options::new("127.0.0.1", port) };
    let redis = Redis::new(options).unwrap();
    assert_eq!(
        TestClient::open(&redis).unwrap().send(&insert("u", &["a"])),
        RequestResult::WRITTEN
    );
}

#[test]
fn a_wrong_password_is_reported_without_showing_it() {
    let server = Server::start(&["--requirepass", "right"]);
    let url = format!("redis://:wrong@127.0.0.1:{}", server.port);
    assert_turned_away(&url, "NotPermitted", "check user and password");
    assert_turned_away(&server.url(""), "NotPermitted", "put the password into the URL");
}

#[test]
fn a_missing_password_is_reported_in_the_older_protocol_too() {
    let server = Server::start(&["--requirepass", "right", "--rename-command", "HELLO", ""]);
    assert_turned_away(&server.url(""), "NotPermitted", "put the password into the URL");
    assert_works(&format!("redis://:right@127.0.0.1:{}", server.port));
}

#[test]
fn a_user_may_do_what_the_list_says() {
    let server = Server::start(&[]);
    server.cli("ACL SETUSER ann on >pw ~* +@all -config -zadd");
    let url = format!("redis://ann:pw@127.0.0.1:{}", server.port);
    let settings = Settings::at(&url);
    settings.expect(&[("appendonly", "unknown")]);
    assert!(settings.meaning("appendonly").contains("forbidden"));
    // The record was written but the index was not: half of the insert happened.
    let result = test_client(&url).send(&insert("user1", &["a"]));
    assert_eq!(result, RequestResult::Unknown(assay_model::Reason::NotPermitted));
    let url = format!("redis://bob:pw@127.0.0.1:{}", server.port);
    assert_turned_away(&url, "NotPermitted", "WRONGPASS");
}

#[test]
fn databases_are_apart_up_to_the_last() {
    let server = Server::start(&["--databases", "4"]);
    assert_works(&server.url("/3"));
    assert_eq!(server.cli("-n 3 DBSIZE"), "2");
    assert_eq!(server.cli("DBSIZE"), "0");
    assert_turned_away(&server.url("/4"), "Unsupported", "there is no database 4");
}

#[test]
fn settings_say_what_they_mean() {
    let server = Server::start(&["--appendonly", "yes", "--maxmemory", "100mb"]);
    let settings = Settings::at(&server.url(""));
    assert!(settings.value("server").starts_with("redis "), "{settings:?}");
    settings.expect(&[
        ("appendonly", "yes"),
        ("appendfsync", "everysec"),
        ("save", "(none)"),
        ("maxmemory", "104857600"),
        ("maxmemory-policy", "noeviction"),
        ("io-threads", "1"),
        ("role", "master"),
        ("cluster-enabled", "no"),
        ("durability", "one second"),
    ]);
}
