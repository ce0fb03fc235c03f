//! Tests of workers at different positions while the rate changes.

use super::*;
use crate::arrival::{ArrivalProcess, Mmpp2, RateProfile};
use crate::rates::{RATE_LEAD, SetRateError};

const END: Nanos = Nanos::from_secs(3);

fn processes() -> [ArrivalProcess; 3] {
    let chain = Mmpp2 { ratio: 8.0, burst: Nanos::from_millis(30), calm: Nanos::from_millis(150) };
    [ArrivalProcess::Poisson, ArrivalProcess::Mmpp2(chain), ArrivalProcess::Gamma(2.0)]
}

fn begun(rate: f64) -> Arc<Rates> {
    let rates = Arc::new(Rates::default());
    rates.begin(Some(RateProfile::constant(rate)));
    rates
}

fn scheduler(rates: &Arc<Rates>, arrivals: &Arrivals, place: (usize, usize)) -> OpenLoop {
    OpenLoop::new(arrivals, Arc::clone(rates), Seed(9), place, u64::MAX, END)
}

/// Takes all processes that are due at `now`.
fn send_all(scheduler: &mut OpenLoop, now: Nanos, into: &mut Vec<(u64, Nanos)>) {
    scheduler.hear(now);
    while let Next::Issue(due) = scheduler.next(now) {
        into.push((due.process, due.intended));
    }
}

/// What `workers` workers issue until the end, while the rate changes at some ticks of 7 ms.
fn issued_at_own_pace(
    rates: &Arc<Rates>,
    arrivals: &Arrivals,
    workers: usize,
    changes: &[(u64, f64)],
) -> Vec<(u64, Nanos)> {
    let mut askers: Vec<OpenLoop> =
        (0..workers).map(|worker| scheduler(rates, arrivals, (worker, workers))).collect();
    let mut issued = Vec::new();
    for tick in 0..=END.0 / 7_000_000 {
        let now = Nanos::from_millis(7 * tick);
        // Worker n checks for changes every 7 · (n + 1) ms, one of them only every 350 ms.
        let target_rate = |worker: usize| if worker == 1 { 50 } else { worker as u64 + 1 };
        for worker in (0..workers).filter(|worker| tick % target_rate(*worker) == 0) {
            send_all(&mut askers[worker], now, &mut issued);
        }
        for (_, rate) in changes.iter().filter(|(at, _)| *at == tick) {
            rates.set(now, *rate).unwrap();
        }
    }
    askers.iter_mut().for_each(|scheduler| send_all(scheduler, END, &mut issued));
    issued.sort_unstable();
    issued
}

/// The operations of a single worker that has known the rate profile from the start.
fn sent_alone(arrivals: &Arrivals) -> Vec<(u64, Nanos)> {
    let mut alone = Schedule::new(arrivals, Seed(9), 0, 1);
    let mut issued = Vec::new();
    while alone.time() < END {
        issued.push((alone.index(), alone.time()));
        alone.advance();
    }
    issued
}

const CHANGES: [(u64, f64); 3] = [(100, 5000.0), (101, 0.0), (170, 900.0)];

#[test]
fn all_workers_change_the_rate_at_the_same_arrival() {
    for process in processes() {
        for workers in [1, 2, 7] {
            let rates = begun(700.0);
            let arrivals = Arrivals::constant_rate(700.0, process.clone());
            let issued = issued_at_own_pace(&rates, &arrivals, workers, &CHANGES);
            let rate_profile = rates.rate_profile().unwrap();
            let expected = sent_alone(&Arrivals { rate_profile, ..arrivals });
            assert!(expected.len() > 1000, "{} arrivals", expected.len());
            assert_eq!(issued, expected, "{} on {workers} workers", process.name());
        }
    }
}

#[test]
fn arrivals_beyond_a_workers_horizon_are_not_lost() {
    for process in processes() {
        for workers in [1, 2, 7] {
            let rates = begun(0.9);
            let arrivals = Arrivals::constant_rate(0.9, process.clone());
            let changes = [(2, 0.0003), (300, 2000.0), (330, 0.4), (332, 0.8)];
            let issued = issued_at_own_pace(&rates, &arrivals, workers, &changes);
            let rate_profile = rates.rate_profile().unwrap();
            let expected = sent_alone(&Arrivals { rate_profile, ..arrivals });
            assert!(expected.len() > 50, "{} arrivals", expected.len());
            assert_eq!(issued, expected, "{} on {workers} workers", process.name());
        }
    }
}

#[test]
fn a_rate_change_waits_for_the_most_advanced_worker() {
    let rates = begun(100.0);
    let second = Nanos::from_secs(1);
    rates.look_ahead(0, second);
    assert_eq!(rates.set(second, 7.0), Ok(second + RATE_LEAD));
    assert_eq!(rates.set(Nanos::ZERO, 8.0), Ok(second + RATE_LEAD));
    assert_eq!(rates.set(second + second, 9.0), Ok(second + second));
    let changes: Vec<(f64, f64)> =
        rates.changes().iter().map(|change| (change.before, change.rate)).collect();
    assert_eq!(changes, [(100.0, 7.0), (100.0, 8.0), (8.0, 9.0)]);
}

#[test]
fn what_cannot_be_a_rate_is_refused() {
    let rates = begun(100.0);
    for rate in [-1.0, f64::NAN, f64::INFINITY, 2e9] {
        assert!(matches!(rates.set(Nanos::ZERO, rate), Err(SetRateError::Rate { .. })), "{rate}");
    }
    assert_eq!(Rates::default().set(Nanos::ZERO, 1.0), Err(SetRateError::NotOpen));
    let last = (0..20_000).find_map(|_| rates.set(Nanos::ZERO, 1.0).err());
    assert_eq!((last, rates.changes().len()), (Some(SetRateError::TooMany), 10_000));
}

#[test]
fn a_run_that_begins_forgets_the_changes_of_the_one_before() {
    let rates = begun(100.0);
    rates.look_ahead(0, END);
    rates.set(END, 5.0).unwrap();
    rates.begin(Some(RateProfile::constant(3.0)));
    assert_eq!((rates.version(), rates.changes()), (0, Vec::new()));
    assert_eq!(rates.set(Nanos::from_millis(1), 4.0), Ok(Nanos::from_millis(1)));
}

#[test]
fn a_worker_without_arrivals_waits_while_the_rate_may_rise() {
    let rates = begun(0.01);
    let arrivals = Arrivals::constant_rate(0.01, ArrivalProcess::Constant);
    let mut scheduler = scheduler(&rates, &arrivals, (1, 2));
    let second = Nanos::from_secs(1);
    scheduler.hear(second);
    assert_eq!(scheduler.next(second), Next::At(END));
    rates.set(second + RATE_LEAD, 1000.0).unwrap();
    scheduler.hear(second);
    // Process 1 is expected when 0.989 more of an arrival have come: after 989 µs.
    let due = second + RATE_LEAD + Nanos::from_micros(989);
    assert_eq!(scheduler.next(second), Next::At(due));
    assert!(matches!(scheduler.next(due), Next::Issue(DueProcess { process: 1, .. })));
    scheduler.hear(END);
    assert!(matches!(scheduler.next(END), Next::Issue(_)), "it is late, not over");
}

#[test]
fn a_worker_is_over_when_no_change_can_come_before_the_end() {
    let rates = begun(0.01);
    let arrivals = Arrivals::constant_rate(0.01, ArrivalProcess::Constant);
    let mut scheduler = scheduler(&rates, &arrivals, (1, 2));
    let soon = Nanos(END.0 - RATE_LEAD.0);
    scheduler.hear(soon);
    assert_eq!(scheduler.next(soon), Next::Over);
}
