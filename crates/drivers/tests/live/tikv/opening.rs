//! Tests of opening TiKV: errors when there is none, settings when there is one.

use assay_model::{Layout, Table};
use assay_store::OpenError;

use super::{order, start};
use crate::impostor;
use crate::lab::Cluster;
use crate::opening::{assert_error, assert_turned_away, check_unreachable};
use crate::rows::test_rows;
use crate::server::free_port;
use crate::stores::{Settings, store, test_client};
use crate::test_client::{RequestResult, insert, layout, read};

test_rows! { opening;
    a_closed_port_is_an_error_that_asks_whether_the_server_runs(&[
        ("tikv://127.0.0.1:PORT/", "is the placement driver (PD) running?"),
        (
            "tikv://127.0.0.1:PORT,127.0.0.1:PORT/?mode=raw",
            "is the placement driver (PD) running?",
        ),
    ]);
    redis_behind_the_port_is_another_store(&[
        ("tikv://127.0.0.1:PORT/?mode=raw&connect_timeout=500", "placement driver (PD)"),
        ("tikv://127.0.0.1:PORT/?mode=optimistic&connect_timeout=500", "placement driver (PD)"),
    ]);
    a_server_that_says_something_else_is_another_store(
        impostor::says,
        "tikv://127.0.0.1:PORT/?connect_timeout=500",
        "placement driver (PD)",
        &["SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n", ""],
    );
    a_silent_server_is_given_up(&[
        ("tikv://127.0.0.1:PORT/?connect_timeout=300", "no greeting came within 300 ms"),
    ]);
}

#[test]
fn a_tikv_server_is_no_placement_driver() {
    let cluster = start();
    let url = cluster.url("");
    // Its ports are moved together.
    let port: u16 = url.rsplit_once(':').unwrap().1.trim_end_matches('/').parse().unwrap();
    let wrong = url.replace(&port.to_string(), &(port - 11379 + 11160).to_string());
    assert_turned_away(&wrong, "Unsupported", "name PD's address");
}

#[test]
fn one_placement_driver_of_several_is_enough() {
    let cluster = start();
    let host = cluster.url("").replace("tikv://", "");
    for mode in ["raw", "optimistic"] {
        let url = format!("tikv://127.0.0.1:{},{host}?mode={mode}", free_port());
        let mut test_client = test_client(&url);
        test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
        test_client.expect(&read("user1"), RequestResult::row("field0=a field1=b"));
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
    assert_error(&error, "", "/no/");
}

#[test]
fn the_stand_in_is_not_taken_for_tikv() {
    let cluster = Cluster::start_marked(&order().choose("split", "txn"));
    let settings = Settings::at(&cluster.url(""));
    assert_eq!(
        settings.value("server"),
        "mocktikv of client-go 2.0.4 (the mock of TiKV's Go client, one process without Raft), \
         not TiKV"
    );
    settings.expect(&[
        ("durability", "not TiKV's"),
        ("replication", "1 copy"),
        ("mode", "optimistic"),
    ]);
    assert!(settings.value("stores").ends_with("(up, 4 regions)"), "{settings:?}");
    assert!(settings.value("placement drivers").starts_with("cluster 1: stand-in"), "{settings:?}");
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
            crate::test_client::TestClient::open_laid(&*ours, &table("usertable")).unwrap();
        let mut theirs =
            crate::test_client::TestClient::open_laid(&*others, &table("usertables")).unwrap();
        for test_client in [&mut mine, &mut theirs] {
            for number in 0..20 {
                test_client
                    .expect(&insert(&format!("user{number}"), &["a", "b"]), RequestResult::WRITTEN);
            }
        }
        ours.keep_note("here").unwrap();
        assert_eq!(others.note().unwrap().as_deref(), Some("here"));
        ours.clear().unwrap();
        assert_eq!(ours.note().unwrap(), None);
        for number in 0..20 {
            let key = format!("user{number}");
            mine.expect(&read(&key), RequestResult::MISSING);
            theirs.expect(&read(&key), RequestResult::row("field0=a field1=b"));
        }
        // What is there is kept.
        others.prepare(&table("usertables")).unwrap();
        theirs.expect(&read("user1"), RequestResult::row("field0=a field1=b"));
    }
}
