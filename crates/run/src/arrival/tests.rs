//! Processes against theory, schedules against each other, with fixed seeds.

use assay_model::{Nanos, Seed};

use super::places::Places;
use super::*;

const CHAIN: Mmpp2 =
    Mmpp2 { ratio: 10.0, burst: Nanos::from_millis(10), calm: Nanos::from_millis(90) };

/// Every process with every rate profile for which workers or changes could matter.
fn all() -> Vec<Arrivals> {
    let processes = [
        ArrivalProcess::Constant,
        ArrivalProcess::Poisson,
        ArrivalProcess::Jitter(0.7),
        ArrivalProcess::Mmpp2(CHAIN),
        ArrivalProcess::Gamma(2.0),
        ArrivalProcess::Gamma(0.3),
        ArrivalProcess::Lognormal(1.5),
        ArrivalProcess::Recorded(squares()),
    ];
    let stage = |length, from, to| Stage { length: Nanos::from_millis(length), from, to };
    let rate_profiles = [
        RateProfile::constant(12_345.0),
        RateProfile::new(ProfileForm::Stages(vec![
            stage(10, 9e3, 9e3),
            stage(5, 0.0, 0.0),
            stage(30, 0.0, 30e3),
        ])),
        RateProfile::new(ProfileForm::Sine(Sine {
            mean: 10e3,
            amplitude: 10e3,
            period: Nanos::from_millis(20),
        })),
    ];
    let pairs =
        processes.iter().flat_map(|process| rate_profiles.iter().map(move |s| (process, s)));
    pairs
        .map(|(process, rate_profile)| Arrivals {
            rate_profile: rate_profile.clone(),
            process: process.clone(),
        })
        .collect()
}

/// A written schedule: arrival i comes at i² µs, a thousand of them in a second.
fn squares() -> Timetable {
    struct Squares;
    impl ScheduleTimes for Squares {
        fn intended(&mut self, process: u64) -> Result<Option<Nanos>, assay_model::SourceError> {
            Ok((process <= 1000).then(|| Nanos::from_micros(process * process)))
        }
    }
    Timetable::new(1000.0, || Box::new(Squares))
}

fn times(arrivals: &Arrivals, worker: usize, workers: usize, count: usize) -> Vec<u64> {
    let mut schedule = Schedule::new(arrivals, Seed(11), worker, workers);
    let mut times = Vec::new();
    for _ in 0..count {
        times.push(schedule.time().0);
        schedule.advance();
    }
    times
}

/// The first `count` gaps of a process at `rate` per second, in units of the mean gap.
fn gaps(process: ArrivalProcess, rate: f64, count: u64) -> Vec<f64> {
    let rate_profile = RateProfile::constant(rate);
    let mut places = Places::new(&process, Seed(5), &rate_profile);
    let mut last = places.expected(0, &rate_profile, Nanos::NEVER);
    let mut gap = |index| {
        let place = places.expected(index, &rate_profile, Nanos::NEVER);
        place - std::mem::replace(&mut last, place)
    };
    (1..=count).map(&mut gap).collect()
}

fn mean_and_cv(gaps: &[f64]) -> (f64, f64) {
    let count = gaps.len() as f64;
    let mean = gaps.iter().sum::<f64>() / count;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, variance.sqrt() / mean)
}

/// The distance of Kolmogorov and Smirnov from `below`, the probability of a smaller gap.
fn distance(mut gaps: Vec<f64>, below: impl Fn(f64) -> f64) -> f64 {
    gaps.sort_unstable_by(f64::total_cmp);
    let count = gaps.len() as f64;
    let far = |(rank, gap): (usize, &f64)| {
        let target = below(*gap);
        (target - rank as f64 / count).abs().max((target - (rank + 1) as f64 / count).abs())
    };
    gaps.iter().enumerate().map(far).fold(0.0, f64::max)
}

/// What 99.9 % of samples stay below: Kolmogorov's 1.95 / √n.
fn bound(count: usize) -> f64 {
    1.95 / (count as f64).sqrt()
}

/// The regularised lower incomplete gamma function, by its series.
fn gamma_below(rate_profile: f64, x: f64) -> f64 {
    let (mut term, mut sum) = (1.0, 1.0);
    for n in 1..2000 {
        term *= x / (rate_profile + f64::from(n));
        sum += term;
    }
    sum * (rate_profile * x.ln() - x - libm::lgamma(rate_profile + 1.0)).exp()
}

/// Variance over mean of the number of places in windows of `window` units.
fn dispersion(gaps: &[f64], window: f64) -> (f64, usize) {
    let mut place = 0.0;
    let mut counts = vec![0f64; (gaps.iter().sum::<f64>() / window) as usize];
    for gap in gaps {
        place += gap;
        if let Some(count) = counts.get_mut((place / window) as usize) {
            *count += 1.0;
        }
    }
    let number = counts.len() as f64;
    let mean = counts.iter().sum::<f64>() / number;
    let variance = counts.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (number - 1.0);
    (variance / mean, counts.len())
}

#[test]
fn constant_arrivals_are_equally_spaced() {
    let arrivals = Arrivals::constant_rate(1000.0, ArrivalProcess::Constant);
    assert_eq!(times(&arrivals, 0, 1, 3), [0, 1_000_000, 2_000_000]);
}

#[test]
fn constant_arrivals_do_not_drift_at_rates_that_divide_badly() {
    let arrivals = Arrivals::constant_rate(3.0, ArrivalProcess::Constant);
    let late = Schedule::new(&arrivals, Seed(1), 3_000_000, 3_000_001);
    assert_eq!((late.index(), late.time()), (3_000_000, Nanos::from_secs(1_000_000)));
}

#[test]
fn all_workers_together_have_the_schedule_of_one() {
    for arrivals in all() {
        let alone = times(&arrivals, 0, 1, 700);
        for workers in [2, 7] {
            for worker in 0..workers {
                let mine = times(&arrivals, worker, workers, 700 / workers);
                let target: Vec<u64> = alone[worker..].iter().copied().step_by(workers).collect();
                assert_eq!(
                    mine,
                    target[..mine.len()],
                    "worker {worker} of {workers}, {arrivals:?}"
                );
            }
        }
    }
}

#[test]
fn a_worker_that_learns_of_rate_changes_late_has_the_same_schedule() {
    let changes = [(Nanos::from_millis(8), 40e3), (Nanos::from_millis(19), 3e3)];
    for arrivals in all() {
        let known =
            changes.iter().fold(arrivals.rate_profile.clone(), |rate_profile, &(at, rate)| {
                rate_profile.changed(at, rate)
            });
        let target = times(&Arrivals { rate_profile: known, ..arrivals.clone() }, 0, 1, 700);
        for workers in [1, 2, 7] {
            for worker in 0..workers {
                // Each worker is told of a change at another time before it.
                let lead = Nanos::from_micros(1 + 900 * worker as u64);
                let mine = changed(&arrivals, &changes, lead, (worker, workers));
                let target: Vec<u64> = target[worker..].iter().copied().step_by(workers).collect();
                assert_eq!(
                    mine,
                    target[..mine.len()],
                    "worker {worker} of {workers}, {arrivals:?}"
                );
            }
        }
    }
}

/// The arrival times of a worker that is told of each change `lead` before it.
fn changed(
    arrivals: &Arrivals,
    changes: &[(Nanos, f64)],
    lead: Nanos,
    (worker, workers): (usize, usize),
) -> Vec<u64> {
    let mut schedule = Schedule::new(arrivals, Seed(11), worker, workers);
    let (mut rate_profile, mut times) = (arrivals.rate_profile.clone(), Vec::new());
    let mut changes = changes.iter().peekable();
    while times.len() < 600 / workers {
        if let Some((at, rate)) = changes.next_if(|(at, _)| schedule.time() + lead >= *at) {
            rate_profile = rate_profile.changed(*at, *rate);
            schedule.reshape(&rate_profile);
            continue;
        }
        times.push(schedule.time().0);
        schedule.advance();
    }
    times
}

#[test]
fn every_process_has_the_mean_and_the_variation_that_it_says() {
    let cases = [
        (ArrivalProcess::Constant, 1e-9),
        (ArrivalProcess::Jitter(1.0), 0.005),
        (ArrivalProcess::Jitter(0.3), 0.005),
        (ArrivalProcess::Poisson, 0.01),
        (ArrivalProcess::Gamma(0.2), 0.01),
        (ArrivalProcess::Gamma(2.0), 0.02),
        (ArrivalProcess::Lognormal(0.5), 0.01),
        (ArrivalProcess::Lognormal(2.0), 0.1),
        (ArrivalProcess::Mmpp2(CHAIN), 0.02),
    ];
    for (process, allowed) in cases {
        let target = process.cv(1000.0).expect("it is known");
        let (mean, cv) = mean_and_cv(&gaps(process.clone(), 1000.0, 200_000));
        // The mean of independent gaps varies by cv / √n, that of correlated ones by more.
        assert!((mean - 1.0).abs() < 3e-3 * target.max(1e-3) * 4.0, "{process}: mean {mean}");
        assert!((cv - target).abs() <= allowed * target.max(1.0), "{process}: {cv}, not {target}");
    }
}

#[test]
fn poisson_gaps_are_exponential() {
    let gaps = gaps(ArrivalProcess::Poisson, 1.0, 100_000);
    let far = distance(gaps, |gap| 1.0 - (-gap).exp());
    assert!(far < bound(100_000), "distance {far}");
}

#[test]
fn gamma_gaps_are_gamma() {
    for cv in [0.5, 1.0, 2.0] {
        let rate_profile = gamma::rate_profile(cv);
        let gaps = gaps(ArrivalProcess::Gamma(cv), 1.0, 10_000);
        let far = distance(gaps, |gap| gamma_below(rate_profile, rate_profile * gap));
        assert!(far < bound(10_000), "cv {cv}: distance {far}");
    }
}

#[test]
fn lognormal_gaps_are_lognormal() {
    for cv in [0.5, 2.0] {
        let (mu, sigma) = lognormal::parameters(cv);
        let gaps = gaps(ArrivalProcess::Lognormal(cv), 1.0, 100_000);
        let normal = |z: f64| libm::erfc(-z / std::f64::consts::SQRT_2) / 2.0;
        let far = distance(gaps, |gap| normal((gap.ln() - mu) / sigma));
        assert!(far < bound(100_000), "cv {cv}: distance {far}");
    }
}

#[test]
fn jitter_is_uniform_and_keeps_the_beat() {
    let mut places =
        Places::new(&ArrivalProcess::Jitter(0.5), Seed(5), &RateProfile::constant(1.0));
    let rate_profile = RateProfile::constant(1.0);
    let late =
        (0..50_000).map(|i| places.expected(i, &rate_profile, Nanos::NEVER) - i as f64).collect();
    let far = distance(late, |late| (late * 2.0).clamp(0.0, 1.0));
    assert!(far < bound(50_000), "distance {far}");
}

#[test]
fn poisson_counts_are_as_dispersed_as_their_mean() {
    for window in [10.0, 100.0] {
        let (found, windows) = dispersion(&gaps(ArrivalProcess::Poisson, 1.0, 200_000), window);
        // The index of m Poisson counts has a standard deviation of √(2 / (m − 1)).
        let allowed = 3.0 * (2.0 / (windows - 1) as f64).sqrt();
        assert!((found - 1.0).abs() < allowed, "windows of {window}: {found}");
    }
}

#[test]
fn bursts_disperse_counts_as_their_closed_form_says() {
    let gaps = gaps(ArrivalProcess::Mmpp2(CHAIN), 1000.0, 600_000);
    for (millis, allowed) in [(1, 0.02), (10, 0.05), (100, 0.08), (1000, 0.15)] {
        let target = CHAIN.dispersion(1000.0, Nanos::from_millis(millis));
        let (found, _) = dispersion(&gaps, millis as f64);
        assert!((found / target - 1.0).abs() < allowed, "{millis} ms: {found}, not {target}");
    }
}

#[test]
fn the_closed_forms_of_bursts_have_their_limits() {
    // Two rates that are the same are one.
    let even = Mmpp2 { ratio: 1.0, ..CHAIN };
    assert_eq!((even.cv(1e3), even.dispersion(1e3, Nanos::from_secs(1))), (1.0, 1.0));
    // In windows that see no switch, a mixture of two Poisson counts: 1 + λt · Var(rate)/mean².
    let (high, low) = CHAIN.factors();
    let window = Nanos::from_micros(1);
    let mixture = 0.1 * (high - 1.0).powi(2) + 0.9 * (low - 1.0).powi(2);
    let target = 1.0 + 1000.0 * window.as_secs_f64() * mixture;
    assert!((CHAIN.dispersion(1000.0, window) - target).abs() < 1e-6);
    assert!((0.1 * high + 0.9 * low - 1.0).abs() < 1e-15);
}

#[test]
fn bursts_last_as_long_under_any_rate() {
    // Over 1000 s at a rate that rises tenfold: the dispersion in each half is that of its rate.
    let chain = Mmpp2 { ratio: 20.0, burst: Nanos::from_millis(20), calm: Nanos::from_millis(80) };
    let seconds = 200;
    let stage = |rate| Stage { length: Nanos::from_secs(seconds), from: rate, to: rate };
    let rate_profile = RateProfile::new(ProfileForm::Stages(vec![stage(200.0), stage(2000.0)]));
    let arrivals = Arrivals { rate_profile, process: ArrivalProcess::Mmpp2(chain) };
    let mut schedule = Schedule::new(&arrivals, Seed(3), 0, 1);
    let mut counts = vec![0f64; 2 * seconds as usize * 10];
    while let Some(count) = counts.get_mut((schedule.time().0 / 100_000_000) as usize) {
        *count += 1.0;
        schedule.advance();
    }
    for (half, rate) in counts.chunks(seconds as usize * 10).zip([200.0, 2000.0]) {
        let number = half.len() as f64;
        let mean = half.iter().sum::<f64>() / number;
        let variance = half.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (number - 1.0);
        let target = chain.dispersion(rate, Nanos::from_millis(100));
        assert!((mean / (rate / 10.0) - 1.0).abs() < 0.06, "{rate}/s: mean {mean}");
        let found = variance / mean;
        assert!((found / target - 1.0).abs() < 0.12, "{rate}/s: {found}, not {target}");
    }
}

#[test]
fn a_written_schedule_is_replayed_to_the_nanosecond() {
    let replay = |rate| Arrivals::constant_rate(rate, ArrivalProcess::Recorded(squares()));
    let as_written = times(&replay(1000.0), 0, 1, 1001);
    assert!(as_written.iter().enumerate().all(|(i, time)| *time == (i * i) as u64 * 1000));
    let twice_as_fast = times(&replay(2000.0), 0, 1, 1001);
    assert!(twice_as_fast.iter().zip(&as_written).all(|(fast, time)| fast * 2 == *time));
    let mut ended = Schedule::new(&replay(1000.0), Seed(1), 1000, 1001);
    ended.advance();
    assert_eq!(ended.time(), Nanos::NEVER);
}

#[test]
fn a_rate_of_0_for_ever_has_no_arrivals() {
    for process in [ArrivalProcess::Poisson, ArrivalProcess::Mmpp2(CHAIN)] {
        let paused = RateProfile::constant(1000.0).changed(Nanos::from_secs(1), 0.0);
        let mut schedule =
            Schedule::new(&Arrivals { rate_profile: paused.clone(), process }, Seed(2), 0, 1);
        while schedule.time() < Nanos::from_secs(1) {
            schedule.advance();
        }
        assert_eq!(schedule.time(), Nanos::NEVER);
        schedule.reshape(&paused.changed(Nanos::from_secs(5), 1000.0));
        let again = schedule.time();
        assert!((Nanos::from_secs(5)..Nanos::from_secs(6)).contains(&again), "{again}");
    }
}
