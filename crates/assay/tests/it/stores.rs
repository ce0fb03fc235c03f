//! Stores against the contract that every driver promises.

use crate::place::Place;

#[test]
fn a_correct_store_keeps_every_rule() {
    let place = Place::new();
    place
        .fine("stores check -t memory: -t fjall:kept --replace")
        .shows("rule memory fjall")
        .shows("an update keeps the fields that it does not name held held")
        .shows("0 violated");
    let json = place.json("stores check -t sqlite:kept.db --replace");
    let rules = json["stores"][0]["rules"].as_array().unwrap();
    assert!(rules.len() > 30, "{}", rules.len());
    assert!(rules.iter().all(|rule| rule["verdict"] != "violated"), "{json:#}");
}

#[test]
fn relations_are_checked_where_they_are_taken() {
    let ran = Place::new().assay("stores check -t sqlite:kept.db --replace --format md").code(0);
    let rule = "writes of a transaction are gone after the rollback";
    let row = ran.out.lines().find(|line| line.contains(rule)).expect("it is among the rules");
    assert!(row.ends_with("| held   |"), "{row}");
    ran.shows("| rule").shows("0 violated");
    // What a store does not declare is not called held.
    let ran = Place::new().fine("stores check -t null: --replace");
    ran.shows("an inserted record is read back whole -");
}

#[test]
fn a_faulty_store_is_found_out() {
    let ran =
        Place::new().assay("stores check -t sim:healthy?replication=1h&read_from=any --replace");
    ran.code(3).shows("one client sees what was acknowledged to another VIOLATED");
}

#[test]
fn nothing_is_removed_without_consent() {
    let place = Place::new();
    place.refuses("stores check -t redb:mine.redb", "--replace");
    assert!(!place.path("mine.redb").exists());
    place.refuses("stores check", "--up STORE");
    place.refuses("stores check --up etcd:many", "no STORE:N, such as etcd:3");
    place.refuses("stores check --up oracle", "oracle");
}

#[test]
fn a_store_that_is_not_there_does_not_hide_the_others() {
    let ran =
        Place::new().assay("stores check -t redis://127.0.0.1:1 -t memory: --replace").code(4);
    ran.shows("redis://127.0.0.1:1: not checked:").shows("rule memory");
}
