//! Saw-teeth, the paper's numbers, plus what idle time must not do.

use super::*;

const SECOND: u64 = 1_000_000_000;

fn hiccup(after_ms: u64, length_ms: u64) -> Hiccup {
    Hiccup {
        after: Nanos::from_millis(after_ms),
        length: Nanos::from_millis(length_ms),
        is_periodic: false,
    }
}

fn again(hiccup: Hiccup) -> Hiccup {
    Hiccup { is_periodic: true, ..hiccup }
}

/// The waits of requests that come every `gap` nanoseconds.
fn waits(queue: &mut Queue, gap: u64, count: u64) -> Vec<Nanos> {
    (0..count).map(|number| queue.arrive(Nanos(number * gap))).collect()
}

#[test]
fn an_idle_node_takes_its_own_service() {
    let mut queue = Queue::new(1250.0, None, true, Grain::Exact);
    assert_eq!(waits(&mut queue, 1_000_000, 3), [Nanos(800_000); 3]);
}

#[test]
fn the_papers_wait_leaves_the_own_service_out() {
    let mut queue = Queue::new(1250.0, None, false, Grain::Exact);
    assert_eq!(waits(&mut queue, 1_000_000, 3), [Nanos::ZERO; 3]);
}

#[test]
fn a_burst_waits_in_line() {
    let mut queue = Queue::new(1000.0, None, true, Grain::Exact);
    let expected: Vec<Nanos> = (1..=5).map(Nanos::from_millis).collect();
    assert_eq!(waits(&mut queue, 0, 5), expected);
}

#[test]
fn without_a_bound_no_arrival_waits() {
    for grain in [Grain::Exact, Grain::Milliseconds] {
        let mut queue = Queue::new(0.0, None, true, grain);
        assert_eq!(waits(&mut queue, 0, 100), [Nanos::ZERO; 100]);
    }
}

/// After a hiccup of H at load λ and capacity μ: H at first, then a line down to zero.
#[test]
fn a_hiccup_is_the_closed_forms_saw_tooth() {
    for (load, capacity, length_ms) in [
        (1000_u64, 1250.0, 1000_u64),
        (1000, 2000.0, 1000),
        (1000, 1053.0, 1000),
        (1000, 10_000.0, 200),
        (500, 666.0, 200),
        (100, 220.0, 200),
    ] {
        let mut queue = Queue::new(capacity, Some(hiccup(1_000, length_ms)), false, Grain::Exact);
        let gap = SECOND / load;
        let length = (length_ms * 1_000_000) as f64;
        let drain = length * capacity / (capacity - load as f64);
        for (number, wait) in waits(&mut queue, gap, load * 25).into_iter().enumerate() {
            let since = (number as u64 * gap) as f64 - SECOND as f64;
            let is_hit = (0.0..drain).contains(&since);
            let expected = if is_hit { length * (1.0 - since / drain) } else { 0.0 };
            // One service is the grain of a queue that serves whole requests.
            let difference = (wait.0 as f64 - expected).abs();
            assert!(difference <= 1e9 / capacity, "{load} {capacity} {number}: {wait} {expected}");
        }
    }
}

#[test]
fn the_peak_is_exactly_the_hiccup() {
    let mut queue = Queue::new(1250.0, Some(hiccup(30_000, 1_000)), false, Grain::Exact);
    let waits = waits(&mut queue, 1_000_000, 90_000);
    assert_eq!(waits[30_000], Nanos::from_secs(1));
    assert_eq!(waits.iter().max(), Some(&Nanos::from_secs(1)));
    assert_eq!(waits[29_999], Nanos::ZERO);
    // 1 s · 1250 / (1250 − 1000) = 5 s.
    assert!(waits[34_998] > Nanos::ZERO);
    assert!(waits[35_001..].iter().all(|wait| *wait == Nanos::ZERO));
}

#[test]
fn idle_time_before_a_hiccup_does_not_shorten_it() {
    let around = [29_800, 30_200].map(Nanos::from_millis);
    let exact = &mut Queue::new(1000.0, Some(hiccup(30_000, 1_000)), false, Grain::Exact);
    assert_eq!(around.map(|at| exact.arrive(at))[1], Nanos::from_millis(800));
    let mut as_sickstore =
        Queue::new(1000.0, Some(hiccup(30_000, 1_000)), false, Grain::Milliseconds);
    as_sickstore.arrive(Nanos::ZERO);
    // 1 request outstanding + 1,000 of the hiccup − 400 of idle time; its service is 1 ms.
    assert_eq!(around.map(|at| as_sickstore.arrive(at))[1], Nanos::from_millis(601));
}

#[test]
fn a_hiccup_without_a_limit_holds_everybody_until_it_ends() {
    let mut queue = Queue::new(0.0, Some(hiccup(100, 50)), true, Grain::Exact);
    let at = |queue: &mut Queue, ms| queue.arrive(Nanos::from_millis(ms));
    assert_eq!(at(&mut queue, 99), Nanos::ZERO);
    assert_eq!(at(&mut queue, 110), Nanos::from_millis(40));
    assert_eq!(at(&mut queue, 149), Nanos::from_millis(1));
    assert_eq!(at(&mut queue, 151), Nanos::ZERO);
}

#[test]
fn periodic_hiccups_come_when_they_are_due_even_without_requests() {
    let mut queue = Queue::new(0.0, Some(again(hiccup(100, 50))), true, Grain::Exact);
    let expected = [(0, 0), (110, 40), (160, 0), (5_230, 20), (5_260, 0), (9_900, 50)];
    for (at, wait) in expected {
        assert_eq!(queue.arrive(Nanos::from_millis(at)), Nanos::from_millis(wait), "{at}");
    }
}

#[test]
fn hiccups_longer_than_their_period_add_up() {
    let mut queue = Queue::new(0.0, Some(again(hiccup(100, 150))), true, Grain::Exact);
    queue.arrive(Nanos::ZERO);
    // At 1 s ten hiccups of 150 ms have begun, the first at 100 ms: 1,500 − 900 are left.
    assert_eq!(queue.arrive(Nanos::from_secs(1)), Nanos::from_millis(600));
}

/// The unrolled recursion against the recursion itself, hiccup by hiccup.
#[test]
fn jumping_over_hiccups_is_the_same_as_walking_through_them() {
    use assay_model::Seed;
    for seed in 0..2_000 {
        let mut draws = Seed(seed).draws(1, 0);
        let (after, length) = (1 + draws.below(40), draws.below(60));
        let mut queue = Queue::new(1e8, Some(again(hiccup(after, length))), false, Grain::Exact);
        let (mut now, mut backlog) = (0, 0.0_f64);
        for _ in 0..20 {
            let next = now + draws.below(200);
            for moment in now + 1..=next {
                backlog = (backlog - 1e6).max(0.0);
                if moment % after == 0 {
                    backlog += length as f64 * 1e6;
                }
            }
            now = next;
            let wait = queue.arrive(Nanos::from_millis(now));
            assert!((wait.0 as f64 - backlog).abs() < 2.0, "{seed}: {wait} {backlog}");
            backlog += 10.0;
        }
    }
}

/// What SickStore's rule gives for the paper's main simulation, in its whole milliseconds.
#[test]
fn in_milliseconds_the_hiccup_comes_one_request_late() {
    let mut queue = Queue::new(1250.0, Some(hiccup(30_000, 1_000)), false, Grain::Milliseconds);
    let waits = waits(&mut queue, 1_000_000, 40_000);
    // "After more than 30,000 ms": the request at 30,001 ms is the first that notices.
    assert_eq!(waits[30_000], Nanos::ZERO);
    assert_eq!(waits[30_001], Nanos::from_secs(1));
    assert_eq!(waits[30_002], Nanos::from_secs(1), "999.6 ms rounded up");
    assert_eq!(waits[30_006], Nanos::from_millis(999));
    assert_eq!(waits.iter().rposition(|wait| *wait > Nanos::ZERO), Some(34_999));
}
