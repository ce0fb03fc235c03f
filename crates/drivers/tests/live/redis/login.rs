//! Passwords, users, databases, with what is said when they are wrong.

use assay_driver_redis::{Options, Password, Redis};
use assay_store::{OpenError, Store};

use super::{assert_works, store, test_client};
use crate::server::Server;
use crate::test_client::{RequestResult, TestClient, insert, layout};

fn turned_away(url: &str) -> String {
    match store(url).prepare(&layout(1)) {
        Err(OpenError::NotPermitted { store, reason }) => format!("{store}: {reason}"),
        other => panic!("{url}: {other:?}"),
    }
}

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
    let result = turned_away(&format!("redis://:wrong@127.0.0.1:{}", server.port));
    assert!(result.contains("check user and password"), "{result}");
    assert!(!result.contains("wrong@"), "{result}");
    let result = turned_away(&server.url(""));
    assert!(result.contains("put the password into the URL"), "{result}");
}

#[test]
fn a_missing_password_is_reported_in_the_older_protocol_too() {
    let server = Server::start(&["--requirepass", "right", "--rename-command", "HELLO", ""]);
    let result = turned_away(&server.url(""));
    assert!(result.contains("put the password into the URL"), "{result}");
    assert_works(&format!("redis://:right@127.0.0.1:{}", server.port));
}

#[test]
fn a_user_may_do_what_the_list_says() {
    let server = Server::start(&[]);
    server.cli("ACL SETUSER ann on >pw ~* +@all -config -zadd");
    let url = format!("redis://ann:pw@127.0.0.1:{}", server.port);
    let settings = store(&url).settings().unwrap();
    let appendonly = settings.iter().find(|setting| setting.name == "appendonly").unwrap();
    assert_eq!(appendonly.value, "unknown");
    assert!(appendonly.meaning.contains("forbidden"));
    // The record was written but the index was not: half of the insert happened.
    let result = test_client(&url).send(&insert("user1", &["a"]));
    assert_eq!(result, RequestResult::Unknown(assay_model::Reason::NotPermitted));
    let result = turned_away(&format!("redis://bob:pw@127.0.0.1:{}", server.port));
    assert!(result.contains("WRONGPASS"), "{result}");
}

#[test]
fn databases_are_apart_up_to_the_last() {
    let server = Server::start(&["--databases", "4"]);
    assert_works(&server.url("/3"));
    assert_eq!(server.cli("-n 3 DBSIZE"), "2");
    assert_eq!(server.cli("DBSIZE"), "0");
    let error = store(&server.url("/4")).prepare(&layout(1)).unwrap_err();
    assert!(matches!(error, OpenError::Unsupported { .. }), "{error}");
    assert!(error.to_string().contains("there is no database 4"), "{error}");
}

#[test]
fn settings_say_what_they_mean() {
    let server = Server::start(&["--appendonly", "yes", "--maxmemory", "100mb"]);
    let settings = store(&server.url("")).settings().unwrap();
    let value = |name: &str| {
        let setting = settings.iter().find(|setting| setting.name == name);
        setting.map_or("", |setting| setting.value.as_str())
    };
    assert!(value("server").starts_with("redis "), "{settings:?}");
    assert_eq!(value("appendonly"), "yes");
    assert_eq!(value("appendfsync"), "everysec");
    assert_eq!(value("save"), "(none)");
    assert_eq!(value("maxmemory"), "104857600");
    assert_eq!(value("maxmemory-policy"), "noeviction");
    assert_eq!(value("io-threads"), "1");
    assert_eq!(value("role"), "master");
    assert_eq!(value("cluster-enabled"), "no");
    assert_eq!(value("durability"), "one second");
    assert!(settings.iter().all(|setting| !setting.meaning.is_empty()));
}
