//! Tests of outcomes when a server fails, or is full.

use std::time::Duration;

use assay_model::Reason;
use assay_store::Ticket;

use super::server::{Server, url};
use crate::impostor;
use crate::ordeal::{LOST, UNREACHABLE};
use crate::rows::test_rows;
use crate::stores::{Settings, store, test_client};
use crate::test_client::{RequestResult, delete, insert, read, update};

test_rows! { ordeal, Server::start(&[]);
    ten_thousand_requests_in_flight_are_answered_in_order("/?connections=1&depth=10000");
}

#[test]
fn a_killed_server_leaves_unknown_what_may_have_happened() {
    let mut server = Server::start(&[]);
    let mut test_client = test_client(&server.url("/?connections=1"));
    test_client.expect(&insert("user1", &["a"]), RequestResult::WRITTEN);
    server.freeze();
    let sent = [
        test_client.start(&read("user1")),
        test_client.start(&insert("u2", &["b"])),
        test_client.start(&delete("u")),
        // Only its read was sent.
        test_client.start(&update("user1", &["b"])),
    ];
    test_client.poll();
    server.kill();
    let ends = [LOST, LOST, LOST, RequestResult::Refused(Reason::ConnectionLost)];
    let expected: Vec<(Ticket, RequestResult)> = sent.into_iter().zip(ends).collect();
    assert_eq!(test_client.take(4), expected);
    test_client.expect(&read("user1"), UNREACHABLE);
    assert_eq!(test_client.drain_for(Duration::from_millis(100)), []);
    test_client.expect(&update("user1", &["b"]), UNREACHABLE);
    assert!(test_client.is_ready());
    server.restart();
    test_client.send_until(&read("user1"), &RequestResult::MISSING);
    test_client.expect(&insert("user1", &["b"]), RequestResult::WRITTEN);
    test_client.expect(&update("user1", &["c"]), RequestResult::WRITTEN);
}

#[test]
fn keys_of_other_servers_go_on_while_one_is_gone() {
    let mut servers = [(); 3].map(|()| Server::start(&[]));
    let mut test_client = test_client(&url(&servers, ""));
    let keys: Vec<String> = (0..60).map(|number| format!("user{number}")).collect();
    for key in &keys {
        test_client.expect(&insert(key, &["a", "b"]), RequestResult::WRITTEN);
    }
    let held: usize = servers[1].stat("curr_items").parse().unwrap();
    servers[1].kill();
    test_client.drain_for(Duration::from_millis(50));
    let result: Vec<RequestResult> = keys.iter().map(|key| test_client.send(&read(key))).collect();
    let gone = result.iter().filter(|result| **result == UNREACHABLE).count();
    let there =
        result.iter().filter(|result| **result == RequestResult::row("field0=a field1=b")).count();
    // The probe of opening may still have been there.
    assert!(gone > 0 && (gone..=gone + 1).contains(&held), "{gone} of {held}");
    assert_eq!(gone + there, 60);
    servers[1].restart();
    let lost = keys.iter().zip(result).find(|(_, result)| *result == UNREACHABLE).unwrap().0;
    test_client.send_until(&read(lost), &RequestResult::MISSING);
}

#[test]
fn a_frozen_server_keeps_requests_waiting_until_it_goes_on() {
    let server = Server::start(&[]);
    let mut test_client = test_client(&server.url("/?connections=1&depth=2"));
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    server.freeze();
    let first = test_client.start(&update("user1", &["c"]));
    let second = test_client.start(&read("user1"));
    assert!(!test_client.is_ready());
    test_client.abandon(first);
    assert_eq!(test_client.drain_for(Duration::from_millis(100)), []);
    server.thaw();
    let mut came = test_client.take(2);
    came.sort_by_key(|(ticket, _)| ticket.0);
    // The read was sent before the second half of the update.
    assert_eq!(
        came,
        [(first, RequestResult::WRITTEN), (second, RequestResult::row("field0=a field1=b"))]
    );
    test_client.expect(&read("user1"), RequestResult::row("field0=c field1=b"));
}

#[test]
fn a_connection_that_stays_silent_after_the_timeout_has_expired_is_given_up() {
    let server = Server::start(&[]);
    let mut test_client = test_client(&server.url("/?connections=1"));
    server.freeze();
    let first = test_client.start(&insert("user1", &["a"]));
    test_client.abandon(first);
    assert_eq!(test_client.take(1), [(first, LOST)]);
    server.thaw();
    test_client.send_until(&insert("user2", &["a"]), &RequestResult::WRITTEN);
}

#[test]
fn full_memory_evicts_records_silently() {
    let server = Server::start(&["-m", "8"]);
    let memcached = store(&server.url(""));
    let mut test_client = test_client(&server.url(""));
    let value = "x".repeat(10_000);
    for number in 0..2000 {
        test_client.expect(&insert(&format!("user{number}"), &[&value]), RequestResult::WRITTEN);
    }
    test_client.expect(&read("user0"), RequestResult::MISSING);
    let settings = Settings::of(&*memcached);
    let evicted = settings.value("evictions so far");
    assert!(evicted.parse::<u32>().unwrap() > 500, "{evicted}");
}

#[test]
fn without_eviction_a_write_without_room_is_unknown() {
    let server = Server::start(&["-m", "8", "-M"]);
    let mut test_client = test_client(&server.url(""));
    let value = "x".repeat(10_000);
    let full = RequestResult::Unknown(Reason::Full);
    let mut number = 0;
    while test_client.send(&insert(&format!("user{number}"), &[&value])) != full {
        number += 1;
        assert!(number < 2000, "8 MB do not hold 20");
    }
    // That is why: memcached removes the record that it has no room to write over.
    test_client.expect(&read("user0"), RequestResult::row(&format!("field0={value}")));
    test_client.expect(&update("user0", &[&"y".repeat(9_000)]), &full);
    test_client.expect(&read("user0"), RequestResult::MISSING);
}

#[test]
fn records_that_are_too_large_are_refused_and_stay() {
    let server = Server::start(&[]);
    let mut test_client = test_client(&server.url(""));
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    let large = "x".repeat(1 << 20);
    test_client.expect(&insert("user1", &[&large]), RequestResult::Refused(Reason::Full));
    test_client.expect(&update("user1", &[&large]), RequestResult::Refused(Reason::Full));
    test_client.expect(&read("user1"), RequestResult::row("field0=a field1=b"));
    // The largest that fits: 1 MiB less 63 bytes, the key, and the names and lengths of fields.
    let most = (1 << 20) - 63 - "usertable-user1".len() - 2 - 2 * 6 - 2 * 6 - 1;
    let value = "x".repeat(most);
    test_client.expect(&insert("user1", &[&value, "b"]), RequestResult::WRITTEN);
    let more = "x".repeat(most + 1);
    test_client.expect(&insert("user1", &[&more, "b"]), RequestResult::Refused(Reason::Full));
    test_client.expect(&read("user1"), RequestResult::row(&format!("field0={value} field1=b")));
}

#[test]
fn a_garbled_answer_makes_everything_in_flight_unknown() {
    let port = impostor::listen(|socket| {
        converse(socket);
    });
    let mut test_client = test_client(&format!("memcached://127.0.0.1:{port}/?connections=1"));
    let tickets = [test_client.start(&read("user1")), test_client.start(&insert("user1", &["a"]))];
    let garbled = RequestResult::Unknown(Reason::Garbled);
    assert_eq!(test_client.take(2), tickets.map(|ticket| (ticket, garbled.clone())));
    test_client.send_until(&insert("user1", &["a"]), &RequestResult::WRITTEN);
}

/// Answers as a memcached does, except to reads.
fn converse(socket: std::net::TcpStream) {
    use std::io::{BufRead, BufReader, Write};
    let mut writer = socket.try_clone().expect("sockets can be shared");
    for line in BufReader::new(socket).lines().map_while(Result::ok) {
        let answer = match line.split(' ').next().unwrap_or_default() {
            "version" => "VERSION 1.6.99\r\n",
            "stats" => "STAT item_size_max 1048576\r\nEND\r\n",
            "mn" => "MN\r\n",
            "ms" => "HD\r\n",
            "mg" => "what?\r\n",
            _ => continue,
        };
        if writer.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}
