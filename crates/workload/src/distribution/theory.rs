//! Expectations of statistics about a sample, for tests with fixed seeds.

use assay_model::{Draws, Seed};

/// Counts how often each number below `cells` is drawn; larger numbers fall into the last cell.
pub(crate) fn counted(
    samples: u64,
    cells: usize,
    mut draw: impl FnMut(&mut Draws) -> u64,
) -> Vec<u64> {
    let mut counts = vec![0; cells];
    for index in 0..samples {
        let number = draw(&mut Seed(20_260_101).draws(99, index));
        counts[usize::try_from(number).unwrap().min(cells - 1)] += 1;
    }
    counts
}

/// Asserts that a chi-square test at 0.1 % does not tell the sample from the theory.
///
/// Neighbouring cells are merged until at least ten hits are expected in each. The critical value
/// is Wilson and Hilferty's cube of a normal deviate (1931), exact within 1 % for 3 degrees up.
pub(crate) fn chi_square_holds(counts: &[u64], probability: impl Fn(usize) -> f64) {
    let samples = counts.iter().sum::<u64>() as f64;
    let (mut statistic, mut cells) = (0.0, 0);
    let (mut expected, mut found) = (0.0, 0.0);
    for (cell, &count) in counts.iter().enumerate() {
        expected += probability(cell) * samples;
        found += count as f64;
        if expected >= 10.0 {
            statistic += (found - expected) * (found - expected) / expected;
            (expected, found, cells) = (0.0, 0.0, cells + 1);
        }
    }
    let freedom = f64::from(cells - 1);
    let spread = 2.0 / (9.0 * freedom);
    let critical = freedom * (1.0 - spread + 3.0902 * spread.sqrt()).powi(3);
    assert!(cells >= 4, "a test needs at least four cells");
    assert!(statistic < critical, "chi-square {statistic:.1} of {critical:.1} ({cells} cells)");
}

/// Asserts that a Kolmogorov–Smirnov test at 0.1 % does not tell the sample from the theory.
pub(crate) fn kolmogorov_smirnov_holds(sample: &mut [f64], cumulative: impl Fn(f64) -> f64) {
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    let distance = sample.iter().enumerate().fold(0.0f64, |worst, (place, &x)| {
        let expected = cumulative(x);
        worst
            .max((expected - place as f64 / n).abs())
            .max(((place + 1) as f64 / n - expected).abs())
    });
    assert!(distance < 1.95 / n.sqrt(), "distance {distance} of {}", 1.95 / n.sqrt());
}
