//! What drivers go through with their servers.
//!
//! Records have two fields, and drivers are opened with as many connections as a step says.

use std::collections::HashMap;
use std::time::Duration;

use assay_model::Reason;
use assay_store::Ticket;

use crate::asker::{Asker, Told, insert, read, update};

pub const LOST: Told = Told::Unknown(Reason::ConnectionLost);
pub const UNREACHABLE: Told = Told::Refused(Reason::Unreachable);

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

/// A client that takes `depth` requests at once answers them in the order in which they came, each
/// read with what was written just before it.
pub fn answers_in_order(asker: &mut Asker, depth: usize) {
    let mut tickets = Vec::new();
    for number in 0..depth / 2 {
        let value = number.to_string();
        tickets.push(asker.start(&insert("user1", &[&value])));
        tickets.push(asker.start(&read("user1")));
    }
    assert!(!asker.is_ready());
    for (place, (ticket, told)) in asker.take(depth).into_iter().enumerate() {
        assert_eq!(ticket, tickets[place]);
        match place % 2 {
            0 => assert_eq!(told, Told::WRITTEN),
            _ => assert_eq!(told, Told::row(&format!("field0={}", place / 2))),
        }
    }
    assert!(asker.is_ready());
}

/// A hundred records of ten fields, `user000` to `user099`, have one field changed each, and are
/// read whole afterwards: as which row.
pub fn keeps_its_length(asker: &mut Asker) -> String {
    let values: Vec<String> = (0..10).map(|number| format!("old{number:0100}")).collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    let key = |number: u32| format!("user{number:03}");
    for number in 0..100 {
        assert_eq!(asker.ask(&insert(&key(number), &values)), Told::WRITTEN);
    }
    let new = format!("new{:0100}", 0);
    for number in 0..100 {
        assert_eq!(asker.ask(&update(&key(number), &[&new])), Told::WRITTEN);
    }
    let mut expected: Vec<String> =
        values.iter().enumerate().map(|(at, value)| format!("field{at}={value}")).collect();
    expected[0] = format!("field0={new}");
    let expected = expected.join(" ");
    let hits = (0..100).filter(|&number| asker.ask(&read(&key(number))) == Told::row(&expected));
    assert_eq!(hits.count(), 100);
    expected
}

/// A server that stands still is killed: what two connections have sent is unknown, then nothing
/// can be asked. Record `user1` is there.
pub fn killed_while_it_stands_still(server: &mut impl Mortal, asker: &mut Asker) {
    assert_eq!(asker.ask(&insert("user1", &["a", "b"])), Told::WRITTEN);
    // Both connections are made.
    let tickets = [asker.start(&read("user1")), asker.start(&read("user1"))];
    assert_eq!(asker.take(2).len(), tickets.len());
    server.freeze();
    let sent = [asker.start(&read("user1")), asker.start(&insert("user2", &["b", "c"]))];
    assert_eq!(asker.drain_for(Duration::from_millis(100)), []);
    assert!(!asker.is_ready());
    server.kill();
    let mut answers = asker.take(2);
    answers.sort_by_key(|(ticket, _)| ticket.0);
    assert_eq!(answers, sent.map(|ticket| (ticket, LOST)));
    asker.ask_until(&read("user1"), &UNREACHABLE);
}

/// It is there again, with record `user1`.
pub fn comes_back(server: &mut impl Mortal, asker: &mut Asker) {
    server.restart();
    asker.ask_until(&read("user1"), &Told::row("field0=a field1=b"));
}

/// It is killed when the only connection has asked for what an update has to know, so the update
/// did certainly not happen.
pub fn killed_before_an_update_is_written(server: &mut impl Mortal, asker: &mut Asker) {
    assert_eq!(asker.ask(&insert("user1", &["a", "b"])), Told::WRITTEN);
    server.freeze();
    // It names one field of two, so the other is read first.
    let sent = asker.start(&update("user1", &["c"]));
    asker.drain_for(Duration::from_millis(20));
    server.kill();
    assert_eq!(asker.take(1), [(sent, Told::Refused(Reason::ConnectionLost))]);
}

/// It stands still: what the only connection has sent waits until it goes on; what is given up is
/// lost, with the connection. It stands still afterwards.
pub fn stands_still(server: &mut impl Mortal, asker: &mut Asker) {
    server.freeze();
    let first = asker.start(&insert("user1", &["a", "b"]));
    assert!(!asker.is_ready());
    assert_eq!(asker.drain_for(Duration::from_millis(100)), []);
    server.thaw();
    assert_eq!(asker.take(1), [(first, Told::WRITTEN)]);
    server.freeze();
    // Given up by us, then by the pool: the connection is of no use any more.
    let given_up = asker.start(&read("user1"));
    asker.abandon(given_up);
    assert_eq!(asker.take(1), [(given_up, LOST)]);
}

/// It goes on, with what was written before.
pub fn goes_on(server: &mut impl Mortal, asker: &mut Asker) {
    server.thaw();
    asker.ask_until(&read("user1"), &Told::row("field0=a field1=b"));
}

/// It is killed after so many of many inserts, and comes back: what was done is there, what was
/// refused is not, and what is unknown is so because a connection was lost.
pub fn keeps_what_it_has_done(server: &mut impl Mortal, asker: &mut Asker, least: usize) {
    let ended = insert_until_killed(server, asker, least);
    let done = ended.values().filter(|told| **told == Told::WRITTEN).count();
    assert!(done >= least && done < ended.len(), "{done} of {} were done", ended.len());
    server.restart();
    asker.ask_until(&read("user0"), &Told::row("field0=0 field1=x"));
    for (number, told) in ended {
        let found = asker.ask(&read(&format!("user{number}")));
        match told {
            Told::Done(..) => assert_eq!(found, Told::row(&format!("field0={number} field1=x"))),
            Told::Refused(_) => assert_eq!(found, Told::MISSING, "{number}"),
            Told::Unknown(reason) => assert_eq!(reason, Reason::ConnectionLost),
        }
    }
}

/// How each insert ended that was under way when the server was killed, by its number; at least
/// so many had ended before.
pub fn insert_until_killed(
    server: &mut impl Mortal,
    asker: &mut Asker,
    least: usize,
) -> HashMap<u32, Told> {
    let mut waiting: HashMap<Ticket, u32> = HashMap::new();
    let mut ended = HashMap::new();
    let mut next = 0;
    let mut is_alive = true;
    while is_alive || !waiting.is_empty() {
        if is_alive && ended.len() >= least {
            // What is asked of a server that stands still is not done before it dies.
            server.freeze();
            start_inserts(asker, &mut waiting, &mut next);
            asker.drain_for(Duration::from_millis(20)).into_iter().for_each(|(ticket, told)| {
                ended.insert(waiting.remove(&ticket).expect("each is answered once"), told);
            });
            server.kill();
            is_alive = false;
        }
        if is_alive {
            start_inserts(asker, &mut waiting, &mut next);
        }
        for (ticket, told) in asker.take(waiting.len().min(1)) {
            let number = waiting.remove(&ticket).expect("each is answered once");
            ended.insert(number, told);
        }
    }
    ended
}

/// As many as there is room for.
fn start_inserts(asker: &mut Asker, waiting: &mut HashMap<Ticket, u32>, next: &mut u32) {
    while asker.is_ready() {
        let value = next.to_string();
        waiting.insert(asker.start(&insert(&format!("user{next}"), &[&value, "x"])), *next);
        *next += 1;
    }
}
