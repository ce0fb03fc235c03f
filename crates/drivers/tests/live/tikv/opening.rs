//! Tests of opening TiKV: errors when there is none, settings when there is one.

use std::io::Write;
use std::time::{Duration, Instant};

use assay_model::{Layout, Table};
use assay_store::{OpenError, Store};

use super::{order, start, store, test_client};
use crate::impostor;
use crate::lab::Cluster;
use crate::server::{Server as Redis, free_port};
use crate::test_client::{RequestResult, insert, layout, read};

/// What preparing says, which must not take long.
fn turned_away(url: &str) -> OpenError {
    let begun = Instant::now();
    let error = store(url).prepare(&layout(1)).expect_err("there is nothing to prepare");
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(10), "{url}: {took:?}");
    error
}

fn check_unreachable(url: &str, part: &str) {
    match turned_away(url) {
        OpenError::Unreachable { reason, .. } => assert!(reason.contains(part), "{url}: {reason}"),
        other => panic!("{url}: {other:?}"),
    }
}

#[test]
fn a_closed_port_is_an_error_that_asks_whether_the_server_runs() {
    let url = format!("tikv://127.0.0.1:{}/", free_port());
    check_unreachable(&url, "is the placement driver (PD) running?");
    let url = format!("tikv://127.0.0.1:{},127.0.0.1:{}/?mode=raw", free_port(), free_port());
    check_unreachable(&url, "is the placement driver (PD) running?");
}

#[test]
fn redis_behind_the_port_is_no_placement_driver() {
    let redis = Redis::start(&[]);
    for mode in ["raw", "optimistic"] {
        let url = format!("tikv://127.0.0.1:{}/?mode={mode}&connect_timeout=500", redis.port);
        check_unreachable(&url, "placement driver (PD)");
    }
}

#[test]
fn servers_that_say_something_else_are_no_placement_drivers() {
    for said in ["SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n", ""] {
        let port = impostor::listen(move |mut socket| {
            let _ = socket.write_all(said.as_bytes());
        });
        let url = format!("tikv://127.0.0.1:{port}/?connect_timeout=500");
        check_unreachable(&url, "placement driver (PD)");
    }
}

#[test]
fn a_silent_server_is_given_up() {
    let port = impostor::listen(|socket| {
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs(20));
            drop(socket);
        });
    });
    let url = format!("tikv://127.0.0.1:{port}/?connect_timeout=300");
    check_unreachable(&url, "no greeting came within 300 ms");
}

#[test]
fn a_tikv_server_is_no_placement_driver() {
    let cluster = start();
    let url = cluster.url("");
    // Its ports are moved together.
    let port: u16 = url.rsplit_once(':').unwrap().1.trim_end_matches('/').parse().unwrap();
    let wrong = url.replace(&port.to_string(), &(port - 11379 + 11160).to_string());
    match turned_away(&wrong) {
        OpenError::Unsupported { reason, .. } => {
            assert!(reason.contains("name PD's address"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_placement_driver_of_several_is_enough() {
    let cluster = start();
    let host = cluster.url("").replace("tikv://", "");
    for mode in ["raw", "optimistic"] {
        let url = format!("tikv://127.0.0.1:{},{host}?mode={mode}", free_port());
        let mut test_client = test_client(&url);
        assert_eq!(test_client.send(&insert("user1", &["a", "b"])), RequestResult::WRITTEN);
        assert_eq!(test_client.send(&read("user1")), RequestResult::row("field0=a field1=b"));
    }
}

#[test]
fn a_placement_driver_without_servers_is_reported() {
    let order = order().choose("state", "offline");
    let cluster = Cluster::start_unasked(&order);
    for mode in ["raw", "optimistic"] {
        let url = cluster.url(&format!("?mode={mode}"));
        check_unreachable(&url, "it knows no TiKV server that is up");
    }
}

#[test]
fn names_with_a_colon_are_refused() {
    let tables = vec![Table { name: "a:b".into(), fields: Vec::new(), needs_key_order: false }];
    let error = store("tikv://127.0.0.1:1/").prepare(&Layout { tables, records: 1 }).unwrap_err();
    assert!(matches!(error, OpenError::Unsupported { .. }), "{error:?}");
}

#[test]
fn certificates_that_are_not_there_are_reported() {
    let url = "tikv://127.0.0.1:1/?ca_file=/no/ca&cert_file=/no/cert&key_file=/no/key";
    let error = assay_driver_tikv::TiKv::from_url(url).err().expect("the URL is wrong");
    assert!(error.to_string().contains("/no/"), "{error}");
}

#[test]
fn the_stand_in_is_not_taken_for_tikv() {
    let cluster = Cluster::start_marked(&order().choose("split", "txn"));
    let settings = store(&cluster.url("")).settings().unwrap();
    let value = |name: &str| {
        let setting = settings.iter().find(|setting| setting.name == name);
        setting.map_or("", |setting| setting.value.as_str())
    };
    assert_eq!(
        value("server"),
        "mocktikv of client-go 2.0.4 (the mock of TiKV's Go client, one process without Raft), \
         not TiKV"
    );
    assert_eq!(value("durability"), "not TiKV's");
    assert_eq!(value("replication"), "1 copy");
    assert_eq!(value("mode"), "optimistic");
    assert!(value("stores").ends_with("(up, 4 regions)"), "{settings:?}");
    assert!(value("placement drivers").starts_with("cluster 1: stand-in"), "{settings:?}");
    assert!(settings.iter().all(|setting| !setting.meaning.is_empty()));
}

#[test]
fn clearing_takes_our_tables_alone() {
    for mode in super::MODES {
        let cluster = start();
        let url = cluster.url(mode);
        let table = |name: &str| {
            let mut expected = layout(2);
            expected.tables[0].name = name.into();
            expected
        };
        let (ours, others) = (store(&url), store(&url));
        let mut mine =
            crate::test_client::TestClient::open_laid(&ours, &table("usertable")).unwrap();
        let mut theirs =
            crate::test_client::TestClient::open_laid(&others, &table("usertables")).unwrap();
        for test_client in [&mut mine, &mut theirs] {
            for number in 0..20 {
                let result = test_client.send(&insert(&format!("user{number}"), &["a", "b"]));
                assert_eq!(result, RequestResult::WRITTEN);
            }
        }
        ours.keep_note("here").unwrap();
        assert_eq!(others.note().unwrap().as_deref(), Some("here"));
        ours.clear().unwrap();
        assert_eq!(ours.note().unwrap(), None);
        for number in 0..20 {
            let key = format!("user{number}");
            assert_eq!(mine.send(&read(&key)), RequestResult::MISSING);
            assert_eq!(theirs.send(&read(&key)), RequestResult::row("field0=a field1=b"));
        }
        // What is there is kept.
        others.prepare(&table("usertables")).unwrap();
        assert_eq!(theirs.send(&read("user1")), RequestResult::row("field0=a field1=b"));
    }
}
