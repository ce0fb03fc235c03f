//! The waiting time in a queue with random arrivals where every service takes the same time.

/// P(wait ≤ `wait_s`) in M/D/1: Poisson arrivals of `rate` per second, services of `service_s`
/// seconds each, without the own service.
///
/// Source: G. J. Franx, "A simple solution for the M/D/c waiting time distribution", Operations
/// Research Letters 29 (2001), for one server. Only sums of positive terms, unlike Erlang's
/// formula (1909), whose terms cancel each other until no digit is left.
pub fn waits_at_most(wait_s: f64, rate: f64, service_s: f64) -> f64 {
    let services = (wait_s / service_s).floor() as usize + 1;
    let rest = rate * (services as f64 * service_s - wait_s);
    let customers = customers(services + 1, rate * service_s);
    // Sums of P(at most n wait): an operation in service does not wait.
    let mut waiting = vec![customers[0] + customers[1]];
    for place in 2..customers.len() {
        waiting.push(waiting[place - 2] + customers[place]);
    }
    let mut term = (-rest).exp();
    let mut sum = 0.0;
    for arrivals in 0..services {
        sum += waiting[services - 1 - arrivals] * term;
        term *= rest / (arrivals + 1) as f64;
    }
    sum
}

/// P(n customers are there) for n up to `most`, at a load of `load` below 1.
///
/// Source: H. C. Tijms, "A First Course in Stochastic Models" (2003), §9.2.1, the stable recursion
/// for M/G/1 with a constant service.
fn customers(most: usize, load: f64) -> Vec<f64> {
    let mut poisson = (-load).exp();
    let mut sum = 0.0;
    let mut later = Vec::new();
    for arrivals in 0..=most {
        sum += poisson;
        later.push(1.0 - sum);
        poisson *= load / (arrivals + 1) as f64;
    }
    let mut there = vec![1.0 - load];
    for n in 1..=most {
        let before: f64 = (1..n).map(|k| later[n - k] * there[k]).sum();
        there.push((later[n - 1] * there[0] + before) / (1.0 - later[0]));
    }
    there
}

/// The highest rate at which a share of `quantile` waits less than `limit_s`.
pub fn highest_rate(quantile: f64, limit_s: f64, service_s: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0 / service_s);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        match waits_at_most(limit_s, middle, service_s) > quantile {
            true => low = middle,
            false => high = middle,
        }
    }
    low
}

#[test]
fn the_queue_agrees_with_what_was_computed_to_sixty_digits() {
    // Erlang's formula in decimal arithmetic of sixty digits, services of 0.8 ms, 20 ms of wait.
    for (rate, expected) in [(1_100.0, 0.998_243_635_230_451), (1_130.0, 0.993_463_471_405_224)] {
        let found = waits_at_most(0.02, rate, 0.000_8);
        assert!((found - expected).abs() < 1e-12, "{rate}: {found}");
    }
}

#[test]
fn waits_for_the_server_are_bounded() {
    assert!((waits_at_most(0.0, 500.0, 0.001) - 0.5).abs() < 1e-12, "P(no wait) is 1 − ρ");
    assert!((waits_at_most(0.2, 500.0, 0.001) - 1.0).abs() < 1e-9);
    // The mean wait ρ·S/(2(1 − ρ)) is the area above the distribution.
    let step = 1e-5;
    let above = |place: u32| 1.0 - waits_at_most((f64::from(place) + 0.5) * step, 700.0, 0.001);
    let mean: f64 = (0..5_000).map(above).sum::<f64>() * step;
    let expected = 0.7 * 0.001 / (2.0 * 0.3);
    assert!((mean / expected - 1.0).abs() < 1e-3, "{mean}");
}
