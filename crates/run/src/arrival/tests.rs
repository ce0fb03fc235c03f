//! The schedule against theory, with fixed seeds.

use super::*;

fn times(process: ArrivalProcess, rate: f64, lane: usize, lanes: usize, count: usize) -> Vec<u64> {
    let mut schedule = Schedule::new(Arrivals { rate, process }, Seed(11), lane, lanes);
    let mut times = Vec::new();
    for _ in 0..count {
        times.push(schedule.time().0);
        schedule.advance();
    }
    times
}

#[test]
fn constant_arrivals_are_equally_spaced() {
    assert_eq!(times(ArrivalProcess::Constant, 1000.0, 0, 1, 3), [0, 1_000_000, 2_000_000]);
}

#[test]
fn constant_arrivals_do_not_drift_at_rates_that_divide_badly() {
    let late = times(ArrivalProcess::Constant, 3.0, 0, 1, 3_000_001);
    assert_eq!(*late.last().expect("there are arrivals"), 1_000_000_000_000_000);
}

#[test]
fn lanes_see_the_same_schedule_however_many_there_are() {
    for process in [ArrivalProcess::Constant, ArrivalProcess::Poisson] {
        let alone = times(process, 12_345.0, 0, 1, 700);
        for lanes in [2, 7] {
            let mut merged: Vec<u64> = (0..lanes)
                .flat_map(|lane| times(process, 12_345.0, lane, lanes, 700 / lanes))
                .collect();
            merged.sort_unstable();
            assert_eq!(merged, alone[..merged.len()], "{process:?} on {lanes} lanes");
        }
    }
}

#[test]
fn poisson_gaps_are_exponential() {
    let times = times(ArrivalProcess::Poisson, 1e6, 0, 1, 100_001);
    let mut gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    gaps.sort_unstable_by(f64::total_cmp);
    let count = gaps.len() as f64;
    let distance = gaps
        .iter()
        .enumerate()
        .map(|(rank, gap)| (1.0 - (-gap / 1000.0).exp() - rank as f64 / count).abs())
        .fold(0.0, f64::max);
    // Kolmogorov–Smirnov: 99.9 % of samples stay below 1.95 / sqrt(n); the times are whole
    // nanoseconds, which adds up to 1/1000 of the mean gap.
    assert!(distance < 1.95 / count.sqrt() + 1e-3, "KS distance {distance}");
}

#[test]
fn poisson_counts_are_as_dispersed_as_their_mean() {
    let times = times(ArrivalProcess::Poisson, 1000.0, 0, 1, 200_000);
    let mut counts = vec![0f64; 1900];
    for time in times {
        if let Some(count) = counts.get_mut((time / 100_000_000) as usize) {
            *count += 1.0;
        }
    }
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    let variance =
        counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / (counts.len() - 1) as f64;
    // The index of dispersion of m Poisson counts has a standard deviation of sqrt(2 / (m - 1)).
    let bound = 3.0 * (2.0 / (counts.len() - 1) as f64).sqrt();
    assert!((variance / mean - 1.0).abs() < bound, "dispersion {}", variance / mean);
}
