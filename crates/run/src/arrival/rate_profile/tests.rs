//! Rate, integral, inverse against each other, against plain numbers.

use super::*;

const fn secs(seconds: u64) -> Nanos {
    Nanos::from_secs(seconds)
}

fn stages(stages: &[(u64, f64, f64)]) -> RateProfile {
    let stage = |&(seconds, from, to)| Stage { length: secs(seconds), from, to };
    RateProfile::new(ProfileForm::Stages(stages.iter().map(stage).collect()))
}

fn spike(usual: f64, peak: f64, at: u64, seconds: u64) -> RateProfile {
    RateProfile::new(ProfileForm::Spike(Spike { usual, peak, at: secs(at), length: secs(seconds) }))
}

fn sine(mean: f64, amplitude: f64, seconds: u64) -> RateProfile {
    RateProfile::new(ProfileForm::Sine(Sine { mean, amplitude, period: secs(seconds) }))
}

fn all() -> Vec<RateProfile> {
    vec![
        RateProfile::constant(1234.5),
        stages(&[(30, 1e3, 1e3), (120, 1e3, 20e3), (300, 20e3, 20e3)]),
        stages(&[(10, 0.0, 500.0), (10, 500.0, 0.0), (5, 0.0, 0.0), (20, 3.0, 3.0)]),
        spike(1e3, 10e3, 30, 5),
        spike(0.0, 10.0, 0, 5),
        sine(5e3, 4e3, 60),
        sine(5e3, 5e3, 7),
        sine(100.0, 30.0, 60).changed(secs(31), 700.0).changed(secs(50), 20.0),
        RateProfile::constant(50.0).changed(secs(3), 0.0).changed(secs(9), 1e6),
    ]
}

#[test]
fn stages_run_evenly_from_rate_to_rate_then_stay() {
    let rate_profile = stages(&[(30, 1e3, 1e3), (120, 1e3, 20e3), (300, 20e3, 20e3)]);
    let rates = [0, 29, 30, 90, 150, 449, 450, 9999].map(|at| rate_profile.rate(secs(at)));
    assert_eq!(rates, [1e3, 1e3, 1e3, 10_500.0, 20e3, 20e3, 20e3, 20e3]);
    let counts = [30, 90, 150, 450].map(|at| rate_profile.integral(secs(at)));
    assert_eq!(counts, [30e3, 375e3, 1_290e3, 7_290e3]);
    assert_eq!(rate_profile.end(), Some(secs(450)));
}

#[test]
fn a_spike_adds_what_is_above_the_base() {
    let rate_profile = spike(1e3, 10e3, 30, 5);
    let rates = [29, 30, 34, 35, 99].map(|at| rate_profile.rate(secs(at)));
    assert_eq!(rates, [1e3, 10e3, 10e3, 1e3, 1e3]);
    assert_eq!(rate_profile.integral(secs(60)), 60e3 + 5.0 * 9e3);
    assert_eq!(rate_profile.end(), None);
}

#[test]
fn a_sine_has_its_mean_over_whole_periods() {
    let rate_profile = sine(5e3, 4e3, 60);
    let rates = [0, 15, 30, 45, 60].map(|at| rate_profile.rate(secs(at)).round());
    assert_eq!(rates, [5e3, 9e3, 5e3, 1e3, 5e3]);
    assert_eq!(rate_profile.integral(secs(36_000)), 5e3 * 36e3);
    assert_eq!(rate_profile.mean_rate(secs(60), secs(180)), 5e3);
    let half = 5e3 * 30.0 + 4e3 * 60.0 / std::f64::consts::PI;
    assert!((rate_profile.integral(secs(30)) - half).abs() < 1e-6);
}

#[test]
fn the_integral_is_that_of_the_rate() {
    for rate_profile in all() {
        // Simpson's rule over tenths of a second; edges of stages lie on its points.
        let mut sum = 0.0;
        for tenth in 0..600u64 {
            let at = |half: u64| Nanos((2 * tenth + half) * 50_000_000);
            let before_edge = Nanos(at(2).0 - 1);
            let weighed = rate_profile.rate(at(0))
                + 4.0 * rate_profile.rate(at(1))
                + rate_profile.rate(before_edge);
            sum += weighed * 0.1 / 6.0;
            let integral = rate_profile.integral(at(2));
            let allowed = 1e-5 * sum.max(1.0);
            assert!(
                (integral - sum).abs() < allowed,
                "{rate_profile} at {}: {integral}, {sum}",
                at(2)
            );
        }
    }
}

#[test]
fn a_moment_is_where_the_integral_reaches_its_count() {
    for rate_profile in all() {
        let total = rate_profile.integral(secs(70));
        let mut near = 0;
        let mut last = Nanos::ZERO;
        for step in 0..=3000 {
            let target = total * f64::from(step) / 3000.0;
            let moment = rate_profile.moment_near(target, &mut near);
            if moment == Nanos::NEVER {
                continue;
            }
            let error = (rate_profile.integral(moment) - target).abs();
            // Half a nanosecond of rounding, times the rate there.
            let allowed = rate_profile.rate(moment).max(1.0) * 1e-9 + target * 1e-14;
            assert!(error <= allowed, "{rate_profile}: count {target} at {moment}, off by {error}");
            assert!(moment >= last, "{rate_profile}: time goes back at count {target}");
            assert_eq!(
                moment,
                rate_profile.moment(target),
                "{rate_profile}: remembering changes nothing"
            );
            last = moment;
        }
    }
}

#[test]
fn moments_are_exact_after_hours_at_a_million_per_second() {
    assert_eq!(RateProfile::constant(1e6).moment(3.6e10), secs(36_000));
    assert_eq!(RateProfile::constant(1e6).moment(3.6e10 + 1.0), Nanos(36_000_000_001_000));
    let hours = [
        sine(1e6, 1e6, 60),
        sine(1e6, 3e5, 86_400),
        stages(&[(36_000, 0.0, 2e6)]),
        stages(&[(10, 1e6, 1e6), (36_000, 1e6, 1_000_001.0)]),
    ];
    for rate_profile in hours {
        for second in [35_990u64, 35_999] {
            for offset in [0, 1, 777, 123_456_789] {
                let moment = Nanos(second * 1_000_000_000 + offset);
                let found = rate_profile.moment(rate_profile.integral(moment));
                let error = found.0.abs_diff(moment.0);
                // Where the rate nearly vanishes, one arrival in 10^10 stands for more than 1 ns.
                let per_ns = rate_profile.rate(moment) / 1e9;
                assert!(
                    error as f64 * per_ns < 2e-5,
                    "{rate_profile} at {moment}: off by {error} ns"
                );
                assert!(
                    per_ns < 1e-4 || error <= 1,
                    "{rate_profile} at {moment}: off by {error} ns"
                );
            }
        }
    }
}

#[test]
fn nothing_arrives_in_silence() {
    let rate_profile = stages(&[(10, 100.0, 100.0), (10, 0.0, 0.0), (10, 100.0, 0.0)]);
    assert_eq!(rate_profile.moment(999.0), Nanos::from_millis(9990));
    // The thousandth would come when the stretch of rate 0 begins; it comes when that ends.
    assert_eq!(rate_profile.moment(1000.0), secs(20));
    assert_eq!(rate_profile.moment(1500.0), Nanos::NEVER);
    assert_eq!(rate_profile.moment(f64::INFINITY), Nanos::NEVER);
    assert!(rate_profile.is_silent_from(secs(30)) && !rate_profile.is_silent_from(secs(15)));
}

#[test]
fn a_change_leaves_what_was_before() {
    let rate_profile = sine(100.0, 30.0, 60);
    let changed = rate_profile.changed(secs(40), 700.0);
    for count in [0.0, 10.5, 3_000.0, 4_100.0] {
        assert_eq!(changed.moment(count), rate_profile.moment(count), "count {count}");
    }
    let before = rate_profile.integral(secs(40));
    assert_eq!(changed.moment(before + 700.0), secs(41));
    assert_eq!(changed.changed(secs(40), 7.0).moment(before + 7.0), secs(41));
    assert_eq!(RateProfile::constant(5.0).changed(Nanos::ZERO, 9.0).constant_rate(), Some(9.0));
}

#[test]
fn lengths_are_written_in_the_greatest_unit_that_fits() {
    let texts = [0, 1, 1_500, 250_000, 90_000_000_000, 120_000_000_000];
    let texts = texts.map(|length| Length(Nanos(length)).to_string());
    assert_eq!(texts, ["0s", "1ns", "1500ns", "250us", "90s", "2m"]);
}

#[test]
#[should_panic(expected = "a rate is a number from 0")]
fn a_rate_below_zero_is_refused() {
    RateProfile::constant(-1.0);
}
