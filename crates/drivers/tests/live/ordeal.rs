//! Fault tests that several drivers share.
//!
//! Records have two fields, and drivers are opened with as many connections as a step says.

use std::collections::HashMap;
use std::time::Duration;

use assay_model::Reason;
use assay_store::Ticket;
use assay_store::conformance::{assert_conforms, find_mark, leave_mark};

use crate::server_process::{Launch, ServerProcess};
use crate::stores::{store, test_client, wide_client};
use crate::test_client::{RequestResult, TestClient, insert, read, scan, update};

pub const LOST: RequestResult = RequestResult::Unknown(Reason::ConnectionLost);
pub const UNREACHABLE: RequestResult = RequestResult::Refused(Reason::Unreachable);

/// A server, whoever it belongs to.
pub trait Served {
    /// The URL of its store followed by `rest`.
    fn url(&self, rest: &str) -> String;
}

/// A server of a test's own.
pub trait Mortal: Served {
    /// Its sockets stay open, but it does nothing.
    fn freeze(&mut self);
    /// It goes on.
    fn thaw(&mut self);
    /// `kill -9`.
    fn kill(&mut self);
    /// It starts again, with the data that it has.
    fn restart(&mut self);
}

impl<L: Launch> Served for ServerProcess<L> {
    fn url(&self, rest: &str) -> String {
        ServerProcess::url(self, rest)
    }
}

impl<L: Launch> Mortal for ServerProcess<L> {
    fn freeze(&mut self) {
        ServerProcess::freeze(self);
    }

    fn thaw(&mut self) {
        ServerProcess::thaw(self);
    }

    fn kill(&mut self) {
        ServerProcess::kill(self);
    }

    fn restart(&mut self) {
        ServerProcess::restart(self);
    }
}

pub fn a_killed_server_leaves_what_was_sent_unknown(server: &mut impl Mortal, options: &str) {
    let mut test_client = test_client(&server.url(options));
    killed_while_it_stands_still(server, &mut test_client);
    comes_back(server, &mut test_client);
}

pub fn an_idle_client_notices_that_the_server_is_gone(server: &mut impl Mortal, options: &str) {
    let mut test_client = test_client(&server.url(options));
    server.kill();
    assert_eq!(test_client.drain_for(Duration::from_millis(50)), []);
    test_client.expect(&read("user1"), UNREACHABLE);
}

pub fn an_update_that_lost_its_server_before_it_wrote_did_not_happen(
    server: &mut impl Mortal,
    options: &str,
) {
    let mut test_client = test_client(&server.url(options));
    killed_before_an_update_is_written(server, &mut test_client);
    comes_back(server, &mut test_client);
}

pub fn a_frozen_server_keeps_requests_waiting_until_it_goes_on(
    server: &mut impl Mortal,
    options: &str,
) {
    let mut test_client = test_client(&server.url(options));
    stands_still(server, &mut test_client);
    goes_on(server, &mut test_client);
}

/// The options bound the time in which a connection must be made.
pub fn a_frozen_server_is_unreachable_until_it_goes_on(server: &mut impl Mortal, options: &str) {
    let mut test_client = test_client(&server.url(options));
    test_client.expect(&insert("user0", &["a", "b"]), RequestResult::WRITTEN);
    stands_still(server, &mut test_client);
    test_client.send_until(&read("user1"), &UNREACHABLE);
    goes_on(server, &mut test_client);
}

/// It is killed when so many inserts have ended.
pub fn acknowledged_writes_survive_kill_9(server: &mut impl Mortal, options: &str, least: usize) {
    let mut test_client = test_client(&server.url(options));
    keeps_what_it_has_done(server, &mut test_client, least);
}

pub fn flushed_writes_survive_kill_9(server: &mut impl Mortal, options: &str) {
    let url = server.url(options);
    leave_mark(&*store(&url)).unwrap_or_else(|error| panic!("{url}: {error}"));
    server.kill();
    server.restart();
    find_mark(&*store(&url)).unwrap_or_else(|error| panic!("{url}: {error}"));
}

/// A store of its own for each of these, behind one server.
pub fn it_conforms(server: &mut impl Served, rows: &[&str]) {
    for rest in rows {
        assert_conforms(&*store(&server.url(rest)));
    }
}

pub fn ten_thousand_requests_in_flight_are_answered_in_order(
    server: &mut impl Served,
    options: &str,
) {
    answers_in_order(&mut test_client(&server.url(options)), 10_000);
}

/// What scans bring.
pub enum Scans {
    /// There are none.
    Unsupported,
    /// Records in the order of their keys.
    InOrder,
    /// Records in an order of the store's own.
    Somehow,
}

pub fn records_stay_as_long_as_they_were(server: &mut impl Served, options: &str, scans: Scans) {
    stays_as_long(&server.url(options), scans);
}

/// Loads a hundred records, changes a field of each, then reads and scans them.
pub fn stays_as_long(url: &str, scans: Scans) {
    let mut test_client = wide_client(url, 10);
    let record = keeps_its_length(&mut test_client);
    match scans {
        Scans::Unsupported => {}
        Scans::InOrder => {
            for (key, limit, count) in [("user090", 20, 10), ("user020", 50, 50)] {
                let rows = vec![record.clone(); count];
                test_client.expect(&scan(key, limit), RequestResult::Done(true, rows));
            }
        }
        Scans::Somehow => {
            let RequestResult::Done(true, rows) = test_client.send(&scan("user000", 100)) else {
                panic!("{url}: user000 is there")
            };
            assert!(!rows.is_empty() && rows.iter().all(|row| *row == record), "{url}: {rows:?}");
        }
    }
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

/// A hundred records of ten fields, `user000` to `user099`, have one field changed again and
/// again, and are read whole afterwards: as which row.
pub fn keeps_its_length(test_client: &mut TestClient) -> String {
    let values: Vec<String> = (0..10).map(|number| format!("old{number:0100}")).collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    let key = |number: u32| format!("user{number:03}");
    for number in 0..100 {
        test_client.expect(&insert(&key(number), &values), RequestResult::WRITTEN);
    }
    let new = format!("new{:0100}", 0);
    for number in (0..100).cycle().take(300) {
        test_client.expect(&update(&key(number), &[&new]), RequestResult::WRITTEN);
    }
    let mut expected: Vec<String> =
        values.iter().enumerate().map(|(at, value)| format!("field{at}={value}")).collect();
    expected[0] = format!("field0={new}");
    let expected = expected.join(" ");
    for number in 0..100 {
        test_client.expect(&read(&key(number)), RequestResult::row(&expected));
    }
    expected
}

/// A suspended server is killed: requests of two connections are unknown, then nothing
/// accepts requests. Record `user1` is there.
pub fn killed_while_it_stands_still(server: &mut impl Mortal, test_client: &mut TestClient) {
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
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
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
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
    for result in ended.values() {
        if let RequestResult::Unknown(reason) = result {
            assert_eq!(*reason, Reason::ConnectionLost);
        }
    }
    assert_kept(test_client, ended);
}

/// What was done is there, what was refused is not, and what is unknown is there whole or not at
/// all.
#[track_caller]
pub fn assert_kept(
    test_client: &mut TestClient,
    ended: impl IntoIterator<Item = (u32, RequestResult)>,
) {
    assert_found(test_client, ended, |test_client, key| test_client.send(&read(key)));
}

/// The same where `find` reads the record of a key.
#[track_caller]
pub fn assert_found(
    test_client: &mut TestClient,
    ended: impl IntoIterator<Item = (u32, RequestResult)>,
    find: impl Fn(&mut TestClient, &str) -> RequestResult,
) {
    for (number, result) in ended {
        let found = find(test_client, &format!("user{number}"));
        let there = RequestResult::row(&format!("field0={number} field1=x"));
        let may_be: &[RequestResult] = match result {
            RequestResult::Done(..) => &[there],
            RequestResult::Refused(_) => &[RequestResult::MISSING],
            RequestResult::Unknown(_) => &[there, RequestResult::MISSING],
        };
        let name = &test_client.name;
        assert!(may_be.contains(&found), "{name}: {number} was {result:?}, then {found:?}");
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
