//! Fault tests that several drivers share.
//!
//! Records have two fields, and drivers are opened with as many connections as a step says.

use std::collections::HashMap;
use std::time::Duration;

use assay_model::Reason;
use assay_store::Ticket;

use crate::test_client::{RequestResult, TestClient, insert, read, update};

pub const LOST: RequestResult = RequestResult::Unknown(Reason::ConnectionLost);
pub const UNREACHABLE: RequestResult = RequestResult::Refused(Reason::Unreachable);

/// A server of a test's own.
pub trait Mortal {
    /// Its sockets stay open, but it does nothing.
    fn freeze(&mut self);
    /// It goes on.
    fn thaw(&mut self);
    /// `kill -9`.
    fn kill(&mut self);
    /// It starts again, with the data that it has.
    fn restart(&mut self);
}

/// A client that takes `depth` requests at once completes them in the order in which they came,
/// each read with what was written just before it.
pub fn answers_in_order(test_client: &mut TestClient, depth: usize) {
    let mut tickets = Vec::new();
    for number in 0..depth / 2 {
        let value = number.to_string();
        tickets.push(test_client.start(&insert("user1", &[&value])));
        tickets.push(test_client.start(&read("user1")));
    }
    assert!(!test_client.is_ready());
    for (place, (ticket, result)) in test_client.take(depth).into_iter().enumerate() {
        assert_eq!(ticket, tickets[place]);
        match place % 2 {
            0 => assert_eq!(result, RequestResult::WRITTEN),
            _ => assert_eq!(result, RequestResult::row(&format!("field0={}", place / 2))),
        }
    }
    assert!(test_client.is_ready());
}

/// A hundred records of ten fields, `user000` to `user099`, have one field changed each, and are
/// read whole afterwards: as which row.
pub fn keeps_its_length(test_client: &mut TestClient) -> String {
    let values: Vec<String> = (0..10).map(|number| format!("old{number:0100}")).collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    let key = |number: u32| format!("user{number:03}");
    for number in 0..100 {
        assert_eq!(test_client.send(&insert(&key(number), &values)), RequestResult::WRITTEN);
    }
    let new = format!("new{:0100}", 0);
    for number in 0..100 {
        assert_eq!(test_client.send(&update(&key(number), &[&new])), RequestResult::WRITTEN);
    }
    let mut expected: Vec<String> =
        values.iter().enumerate().map(|(at, value)| format!("field{at}={value}")).collect();
    expected[0] = format!("field0={new}");
    let expected = expected.join(" ");
    let hits = (0..100)
        .filter(|&number| test_client.send(&read(&key(number))) == RequestResult::row(&expected));
    assert_eq!(hits.count(), 100);
    expected
}

/// A suspended server is killed: requests of two connections are unknown, then nothing
/// accepts requests. Record `user1` is there.
pub fn killed_while_it_stands_still(server: &mut impl Mortal, test_client: &mut TestClient) {
    assert_eq!(test_client.send(&insert("user1", &["a", "b"])), RequestResult::WRITTEN);
    // Both connections are made.
    let tickets = [test_client.start(&read("user1")), test_client.start(&read("user1"))];
    assert_eq!(test_client.take(2).len(), tickets.len());
    server.freeze();
    let sent =
        [test_client.start(&read("user1")), test_client.start(&insert("user2", &["b", "c"]))];
    assert_eq!(test_client.drain_for(Duration::from_millis(100)), []);
    assert!(!test_client.is_ready());
    server.kill();
    let mut answers = test_client.take(2);
    answers.sort_by_key(|(ticket, _)| ticket.0);
    assert_eq!(answers, sent.map(|ticket| (ticket, LOST)));
    test_client.send_until(&read("user1"), &UNREACHABLE);
}

/// It is there again, with record `user1`.
pub fn comes_back(server: &mut impl Mortal, test_client: &mut TestClient) {
    server.restart();
    test_client.send_until(&read("user1"), &RequestResult::row("field0=a field1=b"));
}

/// It is killed when the only connection has sent the read of an update, so the update
/// did certainly not happen.
pub fn killed_before_an_update_is_written(server: &mut impl Mortal, test_client: &mut TestClient) {
    assert_eq!(test_client.send(&insert("user1", &["a", "b"])), RequestResult::WRITTEN);
    server.freeze();
    // It names one field of two, so the other is read first.
    let sent = test_client.start(&update("user1", &["c"]));
    test_client.drain_for(Duration::from_millis(20));
    server.kill();
    assert_eq!(test_client.take(1), [(sent, RequestResult::Refused(Reason::ConnectionLost))]);
}

/// It is suspended: the request of the only connection waits until it goes on; an abandoned one is
/// lost, with the connection. It is suspended afterwards.
pub fn stands_still(server: &mut impl Mortal, test_client: &mut TestClient) {
    server.freeze();
    let first = test_client.start(&insert("user1", &["a", "b"]));
    assert!(!test_client.is_ready());
    assert_eq!(test_client.drain_for(Duration::from_millis(100)), []);
    server.thaw();
    assert_eq!(test_client.take(1), [(first, RequestResult::WRITTEN)]);
    server.freeze();
    // Given up by us, then by the pool: the connection is of no use any more.
    let given_up = test_client.start(&read("user1"));
    test_client.abandon(given_up);
    assert_eq!(test_client.take(1), [(given_up, LOST)]);
}

/// It goes on, with what was written before.
pub fn goes_on(server: &mut impl Mortal, test_client: &mut TestClient) {
    server.thaw();
    test_client.send_until(&read("user1"), &RequestResult::row("field0=a field1=b"));
}

/// It is killed after so many of many inserts, and comes back: what was done is there, what was
/// refused is not, and what is unknown is so because a connection was lost.
pub fn keeps_what_it_has_done(
    server: &mut impl Mortal,
    test_client: &mut TestClient,
    least: usize,
) {
    let ended = insert_until_killed(server, test_client, least);
    let done = ended.values().filter(|result| **result == RequestResult::WRITTEN).count();
    assert!(done >= least && done < ended.len(), "{done} of {} were done", ended.len());
    server.restart();
    test_client.send_until(&read("user0"), &RequestResult::row("field0=0 field1=x"));
    for (number, result) in ended {
        let found = test_client.send(&read(&format!("user{number}")));
        match result {
            RequestResult::Done(..) => {
                assert_eq!(found, RequestResult::row(&format!("field0={number} field1=x")))
            }
            RequestResult::Refused(_) => assert_eq!(found, RequestResult::MISSING, "{number}"),
            RequestResult::Unknown(reason) => assert_eq!(reason, Reason::ConnectionLost),
        }
    }
}

/// How each insert ended that was under way when the server was killed, by its number; at least
/// so many had ended before.
pub fn insert_until_killed(
    server: &mut impl Mortal,
    test_client: &mut TestClient,
    least: usize,
) -> HashMap<u32, RequestResult> {
    let mut waiting: HashMap<Ticket, u32> = HashMap::new();
    let mut ended = HashMap::new();
    let mut next = 0;
    let mut is_alive = true;
    while is_alive || !waiting.is_empty() {
        if is_alive && ended.len() >= least {
            // A server that is suspended executes no request before it is killed.
            server.freeze();
            start_inserts(test_client, &mut waiting, &mut next);
            test_client.drain_for(Duration::from_millis(20)).into_iter().for_each(
                |(ticket, result)| {
                    ended.insert(waiting.remove(&ticket).expect("each is answered once"), result);
                },
            );
            server.kill();
            is_alive = false;
        }
        if is_alive {
            start_inserts(test_client, &mut waiting, &mut next);
        }
        for (ticket, result) in test_client.take(waiting.len().min(1)) {
            let number = waiting.remove(&ticket).expect("each is answered once");
            ended.insert(number, result);
        }
    }
    ended
}

/// As many as there is room for.
fn start_inserts(test_client: &mut TestClient, waiting: &mut HashMap<Ticket, u32>, next: &mut u32) {
    while test_client.is_ready() {
        let value = next.to_string();
        waiting.insert(test_client.start(&insert(&format!("user{next}"), &[&value, "x"])), *next);
        *next += 1;
    }
}
