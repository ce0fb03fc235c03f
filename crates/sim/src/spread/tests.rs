//! The numbers of SickStore's own tests, then what it gets wrong.

use assay_model::Seed;

use super::*;
use crate::config::{Edge, Node};

/// Nodes `1`, `2`, … of which the first is the primary.
fn nodes(count: usize) -> Vec<Node> {
    (1..=count).map(|number| Node::new(number.to_string(), number == 1)).collect()
}

fn replicated(default_ms: u64, edges: &[(&str, &str, u64)]) -> Config {
    let constant = |ms| Delay::Constant(Nanos::from_millis(ms));
    let edges = edges.iter().map(|(from, to, ms)| Edge {
        from: (*from).into(),
        to: (*to).into(),
        delay: constant(*ms),
    });
    let replication = constant(default_ms);
    Config { replication, edges: edges.collect(), ..Config::default() }
}

fn spreading(config: &Config) -> Spreading {
    config.check().unwrap();
    WritePaths::new(config).spread(Nanos::ZERO, Nanos::ZERO, &mut Seed(1).draws(1, 1))
}

fn waits_ms(config: Config, count: usize, concern: WriteConcern) -> u64 {
    let config = Config { nodes: nodes(count), write_concern: concern, ..config };
    spreading(&config).acknowledged_after.0 / 1_000_000
}

#[test]
fn acknowledgements_take_a_round_trip() {
    use WriteConcern::Count;
    assert_eq!(waits_ms(replicated(42, &[]), 1, Count(1)), 0);
    assert_eq!(waits_ms(replicated(42, &[]), 2, Count(1)), 0);
    assert_eq!(waits_ms(replicated(42, &[]), 2, Count(2)), 84);
    let two = [("1", "2", 50), ("2", "1", 25)];
    assert_eq!(waits_ms(replicated(42, &two), 4, Count(0)), 0);
    assert_eq!(waits_ms(replicated(42, &two), 4, Count(2)), 75);
}

#[test]
fn the_quickest_replicas_are_enough() {
    use WriteConcern::Count;
    let edges = [
        ("1", "2", 50),
        ("2", "1", 25),
        ("2", "3", 0),
        ("1", "3", 10),
        ("1", "4", 50),
        ("4", "1", 10),
    ];
    assert_eq!(waits_ms(replicated(42, &edges), 4, Count(3)), 60);
    assert_eq!(waits_ms(replicated(42, &edges), 4, Count(10)), 75, "all, if there are fewer");
    assert_eq!(waits_ms(replicated(1000, &edges), 4, Count(10)), 1010);
    assert_eq!(waits_ms(replicated(42, &edges), 4, WriteConcern::Majority), 60);
}

#[test]
fn replicas_that_take_equally_long_count_one_by_one() {
    let delays = [("1", "2", 10), ("1", "3", 10), ("1", "4", 50)];
    let mut config =
        Config { nodes: nodes(4), write_concern: WriteConcern::Count(3), ..replicated(0, &delays) };
    assert_eq!(spreading(&config).acknowledged_after, Nanos::from_millis(10));
    config.ties = Ties::Collapsed;
    assert_eq!(spreading(&config).acknowledged_after, Nanos::from_millis(50), "as SickStore");
}

/// A primary, tagged A, and four replicas tagged AB, B, B, nothing.
fn tagged(b: u16, edges: &[(&str, &str, u64)]) -> Nanos {
    let mut nodes = nodes(5);
    for (place, tags) in [(0, "A"), (1, "AB"), (2, "B"), (3, "B")] {
        nodes[place].tags = tags.chars().map(String::from).collect();
    }
    let tag_set = [("A".to_owned(), 1), ("B".to_owned(), b)].into();
    let config = Config {
        nodes,
        write_concern: WriteConcern::TagSet("concern".into()),
        tag_sets: [("concern".to_owned(), tag_set)].into(),
        ..replicated(42, edges)
    };
    spreading(&config).acknowledged_after
}

#[test]
fn tag_sets_wait_for_the_slowest_tag() {
    let edges = [("1", "2", 10), ("1", "3", 20), ("1", "4", 5), ("1", "5", 10)];
    assert_eq!(tagged(2, &edges), Nanos::from_millis(52));
    assert_eq!(tagged(3, &edges), Nanos::from_millis(62));
    assert_eq!(tagged(3, &[]), Nanos::from_millis(84));
}

#[test]
fn a_write_is_visible_after_its_network_delay() {
    let edges = [("1", "2", 10), ("1", "3", 20), ("1", "4", 5), ("4", "1", 5)];
    let config = Config { nodes: nodes(5), ..replicated(42, &edges) };
    let observed = spreading(&config).observed;
    let ms: Vec<u64> = (0..5).map(|node| observed.by(node).0 / 1_000_000).collect();
    assert_eq!(ms, [0, 10, 20, 5, 42]);
}

#[test]
fn constant_staleness_distinguishes_own_writes_from_others() {
    let (own, foreign) = (Nanos::from_millis(3), Nanos::from_millis(500));
    let staleness = Some(Staleness { own, foreign });
    let config = Config { nodes: nodes(3), staleness, ..Config::default() };
    let Spreading { observed, acknowledged_after } = spreading(&config);
    assert_eq!([0, 1, 2].map(|node| observed.by(node)), [own, foreign, foreign]);
    assert_eq!(acknowledged_after, Nanos::ZERO);
}

#[test]
fn a_node_that_is_down_gets_its_writes_when_it_is_up_again() {
    let mut config =
        Config { nodes: nodes(3), write_concern: WriteConcern::Count(3), ..replicated(10, &[]) };
    config.nodes[2].down = vec!["1s..2s".parse().unwrap(), "..1s".parse().unwrap()];
    let Spreading { observed, acknowledged_after } = spreading(&config);
    assert_eq!(observed.by(2), Nanos::from_secs(2));
    assert_eq!(acknowledged_after, Nanos::from_millis(2_010));
    config.nodes[2].down = vec!["0s..".parse().unwrap()];
    assert_eq!(spreading(&config).acknowledged_after, Nanos::NEVER);
}

#[test]
fn the_journal_is_committed_every_third_of_its_interval() {
    let wait = |interval_ms, since_ms| {
        until_commit(Nanos::from_millis(interval_ms), Nanos::from_millis(since_ms))
    };
    for (since, left) in [(0, 100), (50, 50), (99, 1), (100, 100)] {
        assert_eq!(wait(300, since), Nanos::from_millis(left));
    }
    // SickStore's third of 100 is 33 whole milliseconds, so that 32 of them would be left.
    assert_eq!(wait(100, 100), Nanos(33_333_332));
}
