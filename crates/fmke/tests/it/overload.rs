//! More requests than the store can serve.

use std::thread;
use std::time::{Duration, Instant};

use assay_fmke::ServerLimits;

use crate::http::Caller;
use crate::served::{Same, StoreScript};

/// What one caller sees.
#[derive(Default)]
struct Observed {
    served: Vec<Duration>,
    refused: Vec<Duration>,
}

/// Asks after `first`, then every 20 ms, until `length` has passed.
fn first_then_every_20_ms(mut caller: Caller, first: Duration, length: Duration) -> Observed {
    let mut observed = Observed::default();
    let begun = Instant::now();
    thread::sleep(first);
    while begun.elapsed() < length {
        let sent = Instant::now();
        match caller.call("GET", "/facilities/1", "").status() {
            200 => observed.served.push(sent.elapsed()),
            503 => observed.refused.push(sent.elapsed()),
            other => panic!("{other}"),
        }
        thread::sleep(Duration::from_millis(20).saturating_sub(sent.elapsed()));
    }
    observed
}

#[test]
fn twice_the_capacity_is_answered_with_503_at_once_and_the_rest_stays_fast() {
    // Four at a time, 10 ms each: 400 requests per second.
    let service = Duration::from_millis(10);
    let told = StoreScript { after: service, answer: Same::Nothing, at_once: 4 };
    let served = told.serve(ServerLimits { in_flight: 4, queue: 4, ..ServerLimits::default() });
    let length = Duration::from_secs(2);
    // 16 callers with 20 ms between the beginnings of their requests: 800 per second.
    let observed: Vec<Observed> = thread::scope(|scope| {
        let callers = (0..16).map(|number| {
            let caller = served.caller();
            let first = Duration::from_micros(1_250) * number;
            scope.spawn(move || first_then_every_20_ms(caller, first, length))
        });
        let callers: Vec<_> = callers.collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).collect()
    });
    let all = |of: fn(&Observed) -> &Vec<Duration>| {
        let mut all: Vec<Duration> = observed.iter().flat_map(of).copied().collect();
        all.sort();
        all
    };
    let (served, refused) = (all(|one| &one.served), all(|one| &one.refused));
    let share = refused.len() as f64 / (served.len() + refused.len()) as f64;
    let median = |of: &[Duration]| of[of.len() / 2];
    println!(
        "{} served, median {:?}, longest {:?}; {:.0} % refused, median {:?}",
        served.len(),
        median(&served),
        served.last().unwrap(),
        share * 100.0,
        median(&refused),
    );
    // On a busy machine callers ask more slowly, so the bounds are wide.
    assert!((0.05..0.7).contains(&share), "{share}");
    assert!(median(&refused) < service, "{:?}", median(&refused));
    assert!(median(&served) < 5 * service, "{:?}", median(&served));
    assert!(served.len() as f64 > 0.4 * 400.0 * length.as_secs_f64(), "{}", served.len());
}

#[test]
fn a_silent_store_is_given_up_and_meanwhile_others_are_refused_at_once() {
    let told = StoreScript { after: Duration::ZERO, answer: Same::Silence, at_once: 1 };
    let timeout = Duration::from_millis(500);
    let limits =
        ServerLimits { in_flight: 2, queue: 1, store_timeout: timeout, ..ServerLimits::default() };
    let served = told.serve(limits);
    let begun = Instant::now();
    let mut callers: Vec<_> = (0..4).map(|_| served.caller()).collect();
    for caller in &mut callers {
        caller.request("GET", "/facilities/1", "").unwrap();
        thread::sleep(Duration::from_millis(20));
    }
    let mut last = callers.pop().unwrap();
    assert_eq!(last.response().unwrap().status(), 503);
    assert!(begun.elapsed() < timeout, "{:?}", begun.elapsed());
    for caller in &mut callers {
        assert_eq!(caller.response().unwrap().status(), 500);
    }
    assert!(begun.elapsed() >= timeout);
}
