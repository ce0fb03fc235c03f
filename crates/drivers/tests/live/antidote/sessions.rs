//! Sessions that change their data centre between a write and the read of it.

use super::start_two;
use crate::stores::{store, test_client};
use crate::test_client::{RequestResult, TestClient, insert, read, update};

/// Writes and reads in turn at two data centres: how many reads did not see the write before them.
fn misses(url: &str, rounds: usize) -> usize {
    let store = store(url);
    let mut test_client = TestClient::open(&*store).expect("the servers are there");
    test_client.expect(&insert("user1", &["start", "x"]), RequestResult::WRITTEN);
    let mut misses = 0;
    for round in 0..rounds {
        let value = round.to_string();
        test_client.expect(&update("user1", &[&value]), RequestResult::WRITTEN);
        let expected = RequestResult::row(&format!("field0={value} field1=x"));
        misses += usize::from(test_client.send(&read("user1")) != expected);
    }
    misses
}

/// With `session=clock`, the read waits for the write.
pub fn never_misses_its_own_writes(url: &str) {
    assert_eq!(misses(&format!("{url}?host=any&session=clock"), 20), 0);
}

#[test]
fn a_session_with_a_clock_reads_its_own_writes_at_every_data_centre() {
    let stand_in = start_two(50);
    never_misses_its_own_writes(&stand_in.url());
}

#[test]
fn a_session_without_a_clock_misses_its_own_writes() {
    let stand_in = start_two(500);
    let url = format!("{}?host=any&session=none", stand_in.url());
    let misses = misses(&url, 20);
    assert!(misses > 10, "only {misses} of 20");
}

#[test]
fn a_session_stays_at_its_host_unless_told_otherwise() {
    let stand_in = start_two(10_000);
    let url = stand_in.url();
    for more in ["?session=none", "?session=none&host=first"] {
        let mut test_client = test_client(&format!("{url}{more}"));
        for session in 0..4 {
            let key = format!("user{session}{more}");
            test_client.expect(&insert(&key, &["a", "b"]).of(session), RequestResult::WRITTEN);
            let row = RequestResult::row("field0=a field1=b");
            test_client.expect(&read(&key).of(session), &row);
            // The next session is at the other data centre, unless all are at the first.
            let other = test_client.send(&read(&key).of(session + 1));
            let expected = if more.ends_with("first") { row } else { RequestResult::MISSING };
            assert_eq!(other, expected, "{more}");
        }
    }
}

#[test]
fn the_clock_of_one_session_is_not_that_of_another() {
    let stand_in = start_two(60_000);
    let mut test_client = test_client(&stand_in.url());
    test_client.expect(&insert("user1", &["a", "b"]).of(0), RequestResult::WRITTEN);
    // It would wait for a minute if it had the other's clock.
    test_client.expect(&read("user1").of(1), RequestResult::MISSING);
}
