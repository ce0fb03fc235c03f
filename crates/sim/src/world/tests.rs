//! Each fault alone, no fault, determinism; then the findings of an independent observer.

use super::*;
use crate::chain::RecordVersion;
use crate::fault_model::FaultModel;
use crate::{presets, rows};
use assay_store::answer::{encode_field, encode_row};

/// A row of two fields that hold `number`.
fn row(number: u64) -> Vec<u8> {
    let mut row = Vec::new();
    encode_row(2, &mut row);
    for name in ["a", "b"] {
        encode_field(name.as_bytes(), number.to_string().as_bytes(), &mut row);
    }
    row
}

/// A store like the healthy preset but for `query`, quiesced with records `k0` … `k9`.
fn world(query: &str, seed: u64) -> World {
    let mut config = Config::default();
    config.set_all(query).unwrap_or_else(|reason| panic!("{query}: {reason}"));
    let mut world = World::new(config, Seed(seed)).unwrap();
    world.table("t");
    for key in 0..10 {
        send(&mut world, 0, Kind::Insert, key, 1_000_000 + key);
    }
    world.quiesce();
    world
}

fn send(world: &mut World, at_us: u64, kind: Kind, key: u64, number: u64) -> SimAnswer {
    let (key, patch) = (format!("k{key}"), row(number));
    let key = key.as_bytes();
    let requested = SimRequest { session: 0, kind, table: 0, key, patch: &patch, limit: 10 };
    world.send(Nanos::from_micros(at_us), &requested)
}

fn update(world: &mut World, at_ms: u64, key: u64, number: u64) -> SimAnswer {
    send(world, at_ms * 1000, Kind::Update, key, number)
}

fn read(world: &mut World, at_ms: u64, key: u64) -> SimAnswer {
    send(world, at_ms * 1000, Kind::Read, key, 0)
}

/// What both fields of the row shown hold; of a torn one, with a stroke between.
fn shows(given: &SimAnswer) -> String {
    let Ok(SimEffect::Row(row)) = &given.result else { return format!("{:?}", given.result) };
    let field = |name: &[u8]| String::from_utf8_lossy(rows::get(row, name).unwrap_or(b"-"));
    let (a, b) = (field(b"a"), field(b"b"));
    if a == b { a.into_owned() } else { format!("{a}|{b}") }
}

/// A million-nanosecond beat of updates and reads on ten records.
fn live(world: &mut World, requests: u64) {
    for number in 0..requests {
        let key = number / 2 % 10;
        match number % 2 {
            0 => drop(update(world, number, key, number)),
            _ => drop(read(world, number, key)),
        }
    }
}

fn count(world: &World, fault: Fault) -> u64 {
    world.log().entries().iter().filter(|truth| truth.faults.has(fault)).count() as u64
}

fn of_writes(world: &World) -> f64 {
    world.log().entries().iter().filter(|truth| truth.kind.writes()).count() as f64
}

#[test]
fn health_is_without_any_fault() {
    for name in ["healthy", "goodbadugly", "hickup1000_max1250"] {
        let mut world = World::new(presets::find(name).unwrap(), Seed(1)).unwrap();
        world.table("t");
        send(&mut world, 0, Kind::Insert, 1, 1);
        world.quiesce();
        live(&mut world, 10_000);
        assert!(world.log().entries().iter().all(|truth| truth.faults.is_empty()), "{name}");
        assert_eq!(world.log().entries().len(), 10_000);
    }
}

#[test]
fn each_fault_alone_appears_at_its_rate_and_only_it() {
    use Fault::*;
    const REQUESTS: u64 = 10_000;
    for (option, strikes, is_of_writes, shows) in [
        ("lost=5%", Lost, true, None),
        ("duplicate=5%:for:1ms", Duplicate, true, Some(DuplicateRead)),
        ("torn=5%", Torn, true, Some(TornRead)),
        ("dirty=5%", Dirty, true, Some(DirtyRead)),
        ("undone=5%", Undone, true, Some(DirtyRead)),
        ("stale_cache=5%", StaleCache, false, None),
    ] {
        let mut world = world(option, 7);
        live(&mut world, REQUESTS);
        let struck = count(&world, strikes) as f64;
        let could = if is_of_writes { of_writes(&world) } else { REQUESTS as f64 / 2.0 };
        // Four standard deviations of a binomial of 5,000 at 5 % are 1.3 %.
        assert!((struck / could - 0.05).abs() < 0.013, "{option}: {struck} of {could}");
        let is_other = |other: &&Fault| **other != strikes && Some(**other) != shows;
        for &other in Fault::ALL.iter().filter(is_other) {
            assert_eq!(count(&world, other), 0, "{option} {other:?}");
        }
        if let Some(displayed) = shows {
            assert!(count(&world, displayed) > 0, "{option} is never seen");
        }
    }
    for (option, strikes) in [("refused=5%", Refused), ("silent=5%", Silent)] {
        let mut world = world(option, 7);
        live(&mut world, REQUESTS);
        let rate = count(&world, strikes) as f64 / REQUESTS as f64;
        assert!((rate - 0.05).abs() < 0.009, "{option}: {rate}");
        let fault_rate = world.log().entries().iter().filter(|truth| !truth.faults.is_empty());
        assert_eq!(fault_rate.count() as u64, count(&world, strikes), "{option}");
    }
}

#[test]
fn faults_keep_to_their_window() {
    let mut world = world("refused=100%:5s..6s", 1);
    live(&mut world, 10_000);
    let struck = |truth: &&Truth| truth.faults.has(Fault::Refused);
    let times: Vec<u64> =
        world.log().entries().iter().filter(struck).map(|truth| truth.at.0 / 1_000_000).collect();
    assert_eq!(times, (5_000..6_000).collect::<Vec<u64>>());
}

#[test]
fn the_same_seed_gives_the_same_answers_and_another_gives_others() {
    let everything: Vec<String> =
        FaultModel::NAMES.iter().map(|name| format!("{name}=3%")).collect();
    let query = format!(
        "{}&replication=exponential:5ms&read_from=any&latency=lognormal:1ms,0.5&max=2000",
        everything.join("&")
    )
    .replace("1ms,0.5", "1ms:0.5");
    let answers = |seed| {
        let mut world = world(&query, seed);
        let given: Vec<SimAnswer> = (0..2_000)
            .map(|number| match number % 3 {
                0 => update(&mut world, number, number % 7, number),
                1 => read(&mut world, number, number % 7),
                _ => send(&mut world, number * 1000, Kind::Scan, number % 7, 0),
            })
            .collect();
        (given, world.log().entries().to_vec())
    };
    assert_eq!(answers(1), answers(1));
    assert_ne!(answers(1).0, answers(2).0);
}

#[test]
fn a_lost_write_is_acknowledged_but_never_seen() {
    let mut world = world("lost=1", 1);
    assert_eq!(update(&mut world, 1, 3, 42).result, Ok(SimEffect::Written));
    assert_eq!(shows(&read(&mut world, 1_000, 3)), "1000003");
    assert!(count(&world, Fault::Lost) == 1 && count(&world, Fault::Stale) == 0);
}

#[test]
fn a_duplicate_overwrites_what_came_between() {
    let mut world = world("duplicate=1:..5ms:for:100ms", 1);
    update(&mut world, 1, 3, 42);
    update(&mut world, 50, 3, 43);
    assert_eq!(shows(&read(&mut world, 100, 3)), "43");
    assert_eq!(shows(&read(&mut world, 101, 3)), "42", "done again 100 ms after it was done");
    let last = world.log().entries().last().unwrap();
    assert_eq!((last.faults, last.versions_behind), (Fault::DuplicateRead.into(), 0));
}

#[test]
fn a_torn_write_shows_its_first_half_for_a_while() {
    let mut world = world("torn=1:for:20ms", 1);
    update(&mut world, 1, 3, 42);
    assert_eq!(shows(&read(&mut world, 1, 3)), "42|1000003");
    assert_eq!(shows(&read(&mut world, 20, 3)), "42|1000003");
    assert_eq!(shows(&read(&mut world, 21, 3)), "42");
    assert_eq!(count(&world, Fault::TornRead), 2);
}

#[test]
fn a_dirty_write_is_refused_yet_seen_for_a_while() {
    let mut world = world("dirty=1:for:20ms", 1);
    assert_eq!(update(&mut world, 1, 3, 42).result, Err(Reason::Conflict));
    assert_eq!(shows(&read(&mut world, 20, 3)), "42");
    assert_eq!(shows(&read(&mut world, 21, 3)), "1000003");
}

#[test]
fn an_undone_write_is_acknowledged_seen_then_gone() {
    let mut world = world("undone=1:..5ms:for:20ms", 1);
    assert_eq!(update(&mut world, 1, 3, 42).result, Ok(SimEffect::Written));
    assert_eq!(shows(&read(&mut world, 20, 3)), "42");
    assert_eq!(shows(&read(&mut world, 21, 3)), "1000003");
    // An update after it is not built on what was undone.
    update(&mut world, 30, 3, 44);
    assert_eq!(shows(&read(&mut world, 31, 3)), "44");
}

#[test]
fn a_stale_cache_shows_what_was_there_a_while_ago() {
    let mut world = world("stale_cache=1:for:50ms", 1);
    assert_eq!(shows(&read(&mut world, 0, 3)), "1000003");
    update(&mut world, 100, 3, 42);
    assert_eq!(shows(&read(&mut world, 149, 3)), "1000003");
    let truth = world.log().entries().last().unwrap().clone();
    assert_eq!(truth.faults, Fault::StaleCache.into());
    assert_eq!((truth.versions_behind, truth.staleness), (1, Nanos::from_millis(49)));
    assert_eq!(shows(&read(&mut world, 150, 3)), "42");
}

#[test]
fn a_silent_request_is_never_answered_and_done_every_other_time() {
    let mut world = world("silent=1:..500ms", 1);
    for number in 0..500 {
        assert_eq!(update(&mut world, number, number % 10, number).due, Nanos::NEVER);
    }
    let done = world.log().entries().iter().filter(|truth| truth.version > 0).count();
    assert!((200..300).contains(&done), "{done}");
}

#[test]
fn a_node_that_is_down_refuses_and_the_others_answer() {
    let mut one = world("down=primary:10ms..20ms", 1);
    read(&mut one, 0, 3);
    assert_eq!(read(&mut one, 10, 3).result, Err(Reason::Unreachable));
    assert_eq!(update(&mut one, 19, 3, 1).result, Err(Reason::Unreachable));
    assert_eq!(update(&mut one, 20, 3, 2).result, Ok(SimEffect::Written));
    let mut many = world("down=secondary1:..1s&read_from=secondary", 1);
    for number in 0..100 {
        assert_eq!(shows(&read(&mut many, number, 3)), "1000003");
    }
    assert!(many.log().entries().iter().all(|truth| truth.node == 2));
}

#[test]
fn torn_writes_of_several_keys_show_the_later_ones_later() {
    let mut world = world("torn=1:for:20ms", 1);
    let patch = row(42);
    let part = |key| SimRequest {
        session: 0,
        kind: Kind::Insert,
        table: 0,
        key,
        patch: &patch[..],
        limit: 1,
    };
    let parts = [part(b"k1"), part(b"k2")];
    world.send_together(Nanos::from_millis(1), &parts);
    assert!(shows(&read(&mut world, 2, 1)).starts_with("42"));
    assert_eq!(shows(&read(&mut world, 2, 2)), "1000002");
    assert_eq!(shows(&read(&mut world, 21, 2)), "42");
}

/// 1,000/s against 1,250/s with a second of hiccup: the paper's main simulation.
#[test]
fn the_papers_main_simulation_is_a_saw_tooth() {
    let mut world = World::new(presets::find("hickup1000_max1250").unwrap(), Seed(1)).unwrap();
    world.table("t");
    send(&mut world, 0, Kind::Insert, 1, 1);
    world.quiesce();
    let mut responses = Vec::new();
    for number in 0..90_000 {
        let at = Nanos::from_millis(number);
        responses.push(send(&mut world, number * 1000, Kind::Read, 1, 0).due.since(at));
    }
    let service = Nanos::from_micros(800);
    assert_eq!(responses[29_999], service, "an idle node takes 1/1250 s");
    assert_eq!(responses[30_000], Nanos::from_secs(1) + service);
    assert_eq!(responses.iter().max(), Some(&responses[30_000]));
    let normal = responses.iter().rposition(|response| *response > service).unwrap() + 1;
    assert_eq!(normal, 35_000, "back to normal 5 s after the hiccup began");
}

#[test]
fn what_stops_everything_lets_nobody_pass() {
    let query = "nodes=1&latency=bands:90%25:1ms..2ms,10%25:50ms..60ms:stop";
    let mut world = world(query, 3);
    let spans: Vec<(Nanos, Nanos)> = (0..2_000)
        .map(|number| (Nanos::from_millis(number), read(&mut world, number, 1).due))
        .collect();
    let stops = spans.windows(2).filter(|pair| pair[1].1 > pair[0].1 + Nanos::from_millis(40));
    assert!(stops.count() > 20, "some requests stop everything");
    // A request during a stop ends after it: ends never run far back.
    let mut latest = Nanos::ZERO;
    for (_, end) in spans {
        assert!(end + Nanos::from_millis(2) > latest, "{end} {latest}");
        latest = latest.max(end);
    }
}

#[test]
fn quiescing_replicates_all_writes_and_restarts_time() {
    let mut world = world("replication=1h&read_from=secondary&dirty=100%:1s..2s", 1);
    update(&mut world, 500, 3, 42);
    assert_eq!(shows(&read(&mut world, 501, 3)), "1000003");
    update(&mut world, 1_500, 4, 43);
    world.quiesce();
    assert_eq!(shows(&read(&mut world, 0, 3)), "42");
    assert_eq!(shows(&read(&mut world, 1, 4)), "1000004", "what was refused is gone");
    assert_eq!(world.log().entries().len(), 2);
    assert_eq!(world.log().entries()[0].read_after_write, None, "loaded before time began");
}

#[test]
fn bounds_hold_and_are_counted() {
    let mut world = world("truth=100&versions=5&replication=1h&read_from=secondary", 1);
    for number in 0..200 {
        update(&mut world, number, 3, number);
    }
    assert_eq!((world.log().entries().len(), world.log().lost()), (100, 100));
    assert_eq!(world.forgotten(), 196, "one loaded, 200 written, 5 kept");
    let mut full = super::tests::world("bytes=3000", 1);
    let inserted = (0..50).map(|key| send(&mut full, key, Kind::Insert, 100 + key, 1).result);
    let results: Vec<Result<SimEffect, Reason>> = inserted.collect();
    assert_eq!(results.last(), Some(&Err(Reason::Full)));
    assert!(full.bytes < 3300, "one more at most");
    for key in 0..200 {
        send(&mut full, 1_000 + key, Kind::Delete, key, 0);
    }
    assert_eq!((full.bytes, full.records()), (0, 0), "what is removed is given back");
}

#[test]
fn whatever_is_kept_counts() {
    let mut world = world("replication=1h&read_from=secondary", 1);
    let before = world.bytes;
    for number in 0..100 {
        send(&mut world, number, Kind::Insert, 3, number);
        send(&mut world, number, Kind::Delete, 3, 0);
    }
    let [tombstones, moments] = [100 * size_of::<RecordVersion>(), 200 * 3 * size_of::<Nanos>()];
    assert!(world.bytes - before >= 2 * tombstones + moments, "{}", world.bytes);
}

#[test]
fn a_read_has_every_fault_that_it_met() {
    let faults = |world: &World| world.log().entries().last().unwrap().faults;
    let query = "replication=uniform:1ms..100ms&read_from=secondary&nodes=2&dirty=50%:for:1s";
    let mut late = world(query, 1);
    let (mut both, mut was_dirty) = (0, 0);
    for number in 0..1_000 {
        update(&mut late, number * 2, 3, number);
        read(&mut late, number * 2 + 1, 3);
        let met = faults(&late);
        was_dirty += u64::from(met.has(Fault::DirtyRead));
        both += u64::from(met.has(Fault::DirtyRead) && met.has(Fault::Stale));
    }
    assert!(both > 100 && was_dirty > both, "{both} of {was_dirty}");
}

#[test]
fn a_stale_cache_hides_no_other_fault() {
    let query = "dirty=50%:for:9s&stale_cache=100%:for:1s&replication=uniform:1ms..2s&\
                 read_from=secondary&nodes=2";
    let mut world = world(query, 1);
    for number in 0..300 {
        update(&mut world, number * 10, 3, number);
        read(&mut world, number * 10 + 1, 3);
    }
    let all = [Fault::StaleCache, Fault::Stale, Fault::DirtyRead];
    let has_all = |truth: &&Truth| all.iter().all(|fault| truth.faults.has(*fault));
    assert!(world.log().entries().iter().filter(has_all).count() > 10);
}

#[test]
fn sickstores_rules_can_be_had() {
    let mut world = world("compat=sickstore", 1);
    let mut patch = Vec::new();
    encode_row(1, &mut patch);
    encode_field(b"b", b"new", &mut patch);
    let requested = SimRequest {
        session: 0,
        kind: Kind::Update,
        table: 0,
        key: b"k3",
        patch: &patch,
        limit: 1,
    };
    assert_eq!(world.send(Nanos::ZERO, &requested).result, Ok(SimEffect::Written));
    assert_eq!(shows(&read(&mut world, 1, 3)), "-|new", "the other column vanished");
    let insert = send(&mut world, 2_000, Kind::Insert, 3, 1);
    assert_eq!(insert.result, Err(Reason::Exists));
    assert_eq!(update(&mut world, 3, 77, 1).result, Err(Reason::StoreError));
}

/// What an observer with the list of writes, who knows the delays, expects of every read.
#[test]
fn the_truth_log_agrees_with_an_independent_recomputation() {
    for seed in 0..1_000 {
        let mut draws = Seed(seed).draws(99, 0);
        let delays = [0, draws.below(30), draws.below(30)];
        let query = format!("read_from=any&replication={}ms", delays[1]);
        let mut world = world(&query, seed);
        world.config.edges.clear();
        world.config.edges.push(super::super::config::Edge {
            from: "primary".into(),
            to: "secondary2".into(),
            delay: super::super::delay::Delay::Constant(Nanos::from_millis(delays[2])),
        });
        world.ways = WritePaths::new(&world.config);
        let mut writes: Vec<(u64, u64, u64)> = (0..10).map(|key| (key, 0, key + 1)).collect();
        let mut now = 0;
        for number in 0..60 {
            now += draws.below(8);
            let key = draws.below(3);
            if draws.below(2) == 0 {
                update(&mut world, now, key, number);
                let version = world.log().entries().last().unwrap().version;
                writes.push((key, now, version));
                continue;
            }
            let given = read(&mut world, now, key);
            let truth = world.log().entries().last().unwrap();
            let delay = delays[usize::from(truth.node)];
            let of_key = || writes.iter().filter(|(of, ..)| *of == key);
            let is_visible = |at: u64, version: u64| version <= 10 || at + delay <= now;
            let displayed = of_key().rfind(|(_, at, version)| is_visible(*at, *version));
            let newer: Vec<_> =
                of_key().filter(|(_, _, version)| *version > displayed.unwrap().2).collect();
            let stale = newer.last().map_or(0, |(_, at, _)| now - at);
            let expected = (displayed.unwrap().2, newer.len() as u32, Nanos::from_millis(stale));
            let reported = (truth.version, truth.versions_behind, truth.staleness);
            assert_eq!(reported, expected, "seed {seed}, request {number}");
            assert_eq!(truth.faults.has(Fault::Stale), !newer.is_empty());
            assert!(matches!(given.result, Ok(SimEffect::Row(_))));
        }
    }
}

#[test]
fn visibility_never_goes_backward_at_any_node() {
    for seed in 0..1_000 {
        let mut world = world("replication=exponential:5ms&read_from=any&lost=10%", seed);
        let mut draws = Seed(seed).draws(98, 0);
        let mut newest = [[0; 3]; 3];
        for number in 0..60 {
            let key = draws.below(3);
            if draws.below(2) == 0 {
                update(&mut world, number, key, number);
                continue;
            }
            read(&mut world, number, key);
            let truth = world.log().entries().last().unwrap();
            let before = &mut newest[key as usize][usize::from(truth.node)];
            assert!(truth.version >= *before, "seed {seed}, request {number}");
            *before = truth.version;
        }
    }
}

/// Everything at once, thousands of times: nothing breaks, and every byte is given back.
#[test]
fn the_counters_balance_whatever_the_requests() {
    let queries = [
        "lost=10%&torn=10%&duplicate=10%&dirty=10%&undone=10%&stale_cache=10%&read_from=any",
        "replication=exponential:20ms&read_from=secondary&write_concern=majority&silent=10%",
        "own=3ms&foreign=9ms&read_from=nearest&journaled=true&versions=3&refused=10%",
        "compat=sickstore&max=500&hiccup=every:20ms:for:5ms&duplicate=30%:for:5ms&torn=30%",
        "down=secondary1:10ms..30ms&down=primary:20ms..25ms&write_concern=3&read_from=any",
    ];
    for seed in 0..1_000 {
        let mut world = world(queries[seed as usize % queries.len()], seed);
        let mut draws = Seed(seed).draws(97, 0);
        let mut now = 0;
        for number in 0..50 {
            now += draws.below(3_000);
            let kind = Kind::ALL[draws.below(5) as usize];
            let key = draws.below(13);
            let given = send(&mut world, now, kind, key, number);
            assert!(given.due >= Nanos::from_micros(now), "seed {seed}, request {number}");
            if draws.below(10) == 0 {
                let patch = row(number);
                let names = ["k1", "k2", "k77"];
                let part = |name: &&'static str| {
                    let key = name.as_bytes();
                    let kind = Kind::Insert;
                    SimRequest { session: 0, kind, table: 0, key, patch: &patch, limit: 1 }
                };
                let parts: Vec<SimRequest<'_>> = names.iter().map(part).collect();
                world.send_together(Nanos::from_micros(now), &parts);
            }
        }
        world.quiesce();
        let records = &world.tables[0].records;
        let kept = |(key, chain): (&Arc<[u8]>, &Chain)| {
            assert_eq!(chain.versions().len(), 1, "seed {seed}");
            let counted: usize = chain.versions().iter().map(RecordVersion::bytes).sum();
            assert_eq!(chain.bytes(), counted, "seed {seed}");
            key.len() + counted
        };
        assert_eq!(world.bytes, records.iter().map(kept).sum::<usize>(), "seed {seed}");
    }
}
