//! The memcached driver against real servers.

mod faults;
mod opening;
mod server;

use assay_lab::{Order, recipes};
use assay_model::{Fields, Reason};

use crate::lab::Cluster;
use crate::opening::assert_error;
use crate::stores::{
    LONG_KEYS, ONE_MIB, REPLACED_BY_ONE_MIB, Settings, assert_conforms_but_for, store, test_client,
    wide_client,
};
use crate::test_client::{RequestResult, TestClient, TestRequest, delete, insert, read, update};
use server::{Server, url};

#[test]
fn memcached_conforms_but_for_long_keys() {
    let server = Server::start(&["-I", "4m"]);
    assert_conforms_but_for(&server.url(""), &[LONG_KEYS]);
}

#[test]
fn memcached_conforms_but_for_what_does_not_fit() {
    let server = Server::start(&[]);
    let large = [(ONE_MIB.0, "full"), (REPLACED_BY_ONE_MIB.0, "full"), LONG_KEYS];
    assert_conforms_but_for(&server.url("/?connections=1&depth=8"), &large);
}

#[test]
fn several_servers_conform_together() {
    let servers = [(); 3].map(|()| Server::start(&["-I", "4m"]));
    assert_conforms_but_for(&url(&servers, "/?connections=2"), &[LONG_KEYS]);
}

#[test]
fn the_labs_servers_conform() {
    let recipe = recipes::find("memcached").expect("the lab has it");
    let order = Order::of(recipe).nodes(2).choose("item-size", "4m");
    let cluster = Cluster::start_as(&order);
    assert_conforms_but_for(&cluster.url(""), &[LONG_KEYS]);
}

#[test]
fn keys_are_spread_over_the_servers_without_copies() {
    let servers = [(); 3].map(|()| Server::start(&[]));
    let mut test_client = test_client(&url(&servers, ""));
    for number in 0..300 {
        test_client.expect(&insert(&format!("user{number}"), &["a", "b"]), RequestResult::WRITTEN);
    }
    let counts: Vec<u32> =
        servers.iter().map(|server| server.stat("curr_items").parse().unwrap()).collect();
    // One probe, or none if it is gone already.
    assert!((300..=303).contains(&counts.iter().sum::<u32>()), "{counts:?}");
    assert!(counts.iter().all(|count| *count > 60), "{counts:?}");
    for number in 0..300 {
        let key = format!("user{number}");
        test_client.expect(&read(&key), RequestResult::row("field0=a field1=b"));
    }
}

#[test]
fn a_record_is_one_value_under_its_table_and_key() {
    let server = Server::start(&[]);
    let mut test_client = test_client(&server.url(""));
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    let result = server.send("mg usertable-user1 v f\r\n");
    assert!(result.starts_with("VA 28 f16723\r\n"), "{result:?}");
    test_client.expect(&update("user1", &["c"]), RequestResult::WRITTEN);
    assert_eq!(test_client.last_requests(), 2);
    test_client.expect(&read("user1"), RequestResult::row("field0=c field1=b"));
    let one = TestRequest { fields: Fields::One(1), ..read("user1") };
    test_client.expect(&one, RequestResult::row("field1=b"));
    test_client.expect(&update("user2", &["c"]), RequestResult::MISSING);
    assert_eq!(test_client.last_requests(), 1);
    test_client.expect(&read("user2"), RequestResult::MISSING);
    test_client.expect(&delete("user1"), RequestResult::WRITTEN);
    test_client.expect(&delete("user1"), RequestResult::MISSING);
}

#[test]
fn foreign_values_are_distinguished_from_records() {
    let server = Server::start(&[]);
    let mut test_client = test_client(&server.url(""));
    // As YCSB's binding writes it.
    let json = r#"{"field0":"a","field1":"b"}"#;
    let command = format!("set usertable-user1 0 2147483647 {}\r\n{json}\r\n", json.len());
    assert_eq!(server.send(&command), "STORED\r\n");
    test_client.expect(&read("user1"), RequestResult::Refused(Reason::WrongType));
    test_client.expect(&update("user1", &["c"]), RequestResult::Refused(Reason::WrongType));
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    test_client.expect(&read("user1"), RequestResult::row("field0=a field1=b"));
}

#[test]
fn updates_that_meet_keep_each_others_fields() {
    const SESSIONS: usize = 8;
    const STEPS: usize = 200;
    let server = Server::start(&[]);
    let mut test_client = wide_client(&server.url(""), SESSIONS);
    let zeros = [""; SESSIONS];
    test_client.expect(&insert("user1", &zeros), RequestResult::WRITTEN);
    let mut conflicts = 0;
    let mut again = 0;
    let mut last = [const { String::new() }; SESSIONS];
    for step in 0..STEPS {
        let value = step.to_string();
        let mut started = Vec::new();
        for session in 0..SESSIONS {
            let ticket =
                test_client.start_changing(session as u32, "user1", session as u16, &value);
            started.push(ticket);
        }
        for (ticket, result) in test_client.take(SESSIONS) {
            let session = started.iter().position(|other| *other == ticket).unwrap();
            match result {
                RequestResult::Done(true, _) => last[session].clone_from(&value),
                RequestResult::Refused(Reason::Conflict) => conflicts += 1,
                other => panic!("{other:?}"),
            }
            again += usize::from(test_client.requests_of(ticket) > 2);
        }
    }
    assert!(again > 0, "some have met, and {conflicts} gave up");
    let row: Vec<String> =
        last.iter().enumerate().map(|(field, value)| format!("field{field}={value}")).collect();
    test_client.expect(&read("user1"), RequestResult::row(&row.join(" ")));
}

#[test]
fn clearing_removes_records_while_foreign_items_stay() {
    let servers = [(); 2].map(|()| Server::start(&[]));
    let memcached = store(&url(&servers, ""));
    let mut test_client = TestClient::open(&*memcached).unwrap();
    for server in &servers {
        assert_eq!(server.send("set foreign 0 0 1\r\nx\r\n"), "STORED\r\n");
    }
    for number in 0..2500 {
        test_client.start(&insert(&format!("user {number}"), &["a", "b"]));
    }
    test_client.take(2500);
    memcached.keep_note("loaded").unwrap();
    assert_eq!(memcached.note().unwrap().as_deref(), Some("loaded"));
    memcached.clear().unwrap();
    assert_eq!(memcached.note().unwrap(), None);
    test_client.expect(&read("user 7"), RequestResult::MISSING);
    for server in &servers {
        assert_eq!(server.send("mg foreign v\r\n"), "VA 1\r\nx\r\n");
    }
    memcached.clear().unwrap();
    let silent = Server::start(&["-o", "no_lru_crawler"]);
    let error = store(&silent.url("")).clear().unwrap_err();
    assert_error(&error, "Unsupported", "flush_all");
}

#[test]
fn settings_say_what_they_mean() {
    let servers = [Server::start(&["-m", "32"]), Server::start(&["-m", "64", "-M"])];
    let settings = Settings::at(&url(&servers, ""));
    assert!(settings.value("server").starts_with("memcached 1."), "{settings:?}");
    settings.expect(&[("nodes", "2"), ("durability", "none")]);
    let each = |first: &str, second: &str| {
        format!("{first} (127.0.0.1:{}), {second} (127.0.0.1:{})", servers[0].port, servers[1].port)
    };
    assert_eq!(settings.value("maxbytes"), each("33554432", "67108864"));
    assert_eq!(settings.value("evictions"), each("on", "off"));
    settings.expect(&[("item_size_max", "1048576")]);
}
