//! Change points of the level of a series.
//!
//! Circular binary segmentation (Olshen, Venkatraman, Lucito, Wigler, Biostatistics 5, 2004): the
//! stretch whose mean is furthest from that of all the rest, by Student's t with pooled variance,
//! is taken if it is significant and large enough, then the parts are searched likewise. A plain
//! split in two, as E-divisive makes it, misses a change that is taken back in the middle. The
//! stretch is the best of many, so the probability is divided by their number; Apache Otava's
//! t-test with p < 0.001 in the place of a permutation test is kept.

use super::theil_sen::slope;
use super::{mean, squares};
use crate::student::student;

/// Shorter stretches are outliers rather than levels.
pub const SHORTEST: usize = 5;

/// What counts as a change.
#[derive(Clone, Copy, Debug)]
pub struct ChangeCriteria {
    /// Probability below which a difference is not chance.
    pub probability: f64,
    /// Least relative size.
    pub size: f64,
}

/// The places at which another level begins, rising.
pub fn changes(values: &[f64], expected: ChangeCriteria) -> Vec<usize> {
    let mut found = Vec::new();
    let mut open = vec![(0, values.len())];
    while let Some((from, until)) = open.pop() {
        let Some((begin, end)) = stretch(&values[from..until], expected) else { continue };
        let edges = [from, from + begin, from + end, until];
        found.extend(edges[1..3].iter().filter(|&&edge| from < edge && edge < until));
        open.extend(edges.windows(2).map(|pair| (pair[0], pair[1])));
    }
    found.sort_unstable();
    if is_rather_a_line(values, &found, expected.probability) { Vec::new() } else { found }
}

/// The stretch that differs most from the rest of `values`, if that counts.
fn stretch(values: &[f64], expected: ChangeCriteria) -> Option<(usize, usize)> {
    let n = values.len();
    let centre = mean(values);
    let total = squares(values);
    let mut sums = vec![0.0];
    sums.extend(values.iter().scan(0.0, |sum, value| {
        *sum += value - centre;
        Some(*sum)
    }));
    let is_edge = |place: usize| {
        place == 0 || place == n || (SHORTEST..=n.saturating_sub(SHORTEST)).contains(&place)
    };
    let mut best = (0.0, (0, n));
    let mut tried = 0;
    for begin in (0..n).filter(|&begin| is_edge(begin)) {
        for end in (begin + SHORTEST..=n).filter(|&end| is_edge(end)) {
            let (inside, length) = (sums[end] - sums[begin], (end - begin) as f64);
            let rest = n as f64 - length;
            if rest < SHORTEST as f64 {
                continue;
            }
            tried += 1;
            // The sum of squares between the two parts, whose sums are opposite.
            let between = inside * inside * (1.0 / length + 1.0 / rest);
            if between > best.0 {
                best = (between, (begin, end));
            }
        }
    }
    let (between, (begin, end)) = best;
    let degrees = (n as f64 - 2.0).max(1.0);
    let t = (between * degrees / (total - between).max(0.0)).sqrt();
    let inside = mean(&values[begin..end]);
    let outside = (centre * n as f64 - inside * (end - begin) as f64) / (n - end + begin) as f64;
    let is_large = (inside - outside).abs() >= expected.size * inside.abs().min(outside.abs());
    // t² of the two parts is what lies between them by what lies within.
    let is_change =
        between > 0.0 && is_large && t > critical(expected.probability / f64::from(tried), n);
    is_change.then_some((begin, end))
}

/// Whether a straight line comes closer to the values than the steps that were found.
fn is_rather_a_line(values: &[f64], found: &[usize], probability: f64) -> bool {
    let edges: Vec<usize> = [&[0], found, &[values.len()]].concat();
    let steps: f64 = edges.windows(2).map(|edge| squares(&values[edge[0]..edge[1]])).sum();
    let line = slope(values, probability).map(|slope| {
        let level = |(place, value): (usize, &f64)| value - slope.median * place as f64;
        squares(&values.iter().enumerate().map(level).collect::<Vec<f64>>())
    });
    line.is_some_and(|line| line < steps)
}

/// |t| that two parts of `n` values exceed by chance with `probability`.
pub fn critical(probability: f64, n: usize) -> f64 {
    student(1.0 - probability, n.saturating_sub(2).max(1) as f64)
}

/// Student's |t| of the two parts of `values` with pooled variance; infinite if both are constant
/// and differ.
pub fn separation(values: &[f64], place: usize) -> f64 {
    let (left, right) = values.split_at(place);
    let (n, m) = (left.len() as f64, right.len() as f64);
    let variance = (squares(left) + squares(right)) / (n + m - 2.0);
    let difference = (mean(left) - mean(right)).abs();
    if difference == 0.0 { 0.0 } else { difference / (variance * (1.0 / n + 1.0 / m)).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::Seed;

    const EXPECTED: ChangeCriteria = ChangeCriteria { probability: 0.001, size: 0.05 };

    fn steps(levels: &[(u64, f64)], seed: u64) -> Vec<f64> {
        let mut values = Vec::new();
        for &(length, level) in levels {
            for _ in 0..length {
                let noise = Seed(seed).draws(1, values.len() as u64).unit() - 0.5;
                values.push(level * (1.0 + 0.1 * noise));
            }
        }
        values
    }

    #[test]
    fn t_is_what_a_textbook_says() {
        // Means 2 and 5, sums of squares 2 and 2, variance 4 / 4, 3 / √(2/3).
        let t = separation(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3);
        assert!((t - 3.0 / (2.0f64 / 3.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn steps_are_found_where_they_are() {
        let values = steps(&[(20, 100.0), (20, 130.0), (20, 90.0)], 1);
        assert_eq!(changes(&values, EXPECTED), [20, 40]);
    }

    #[test]
    fn a_change_that_is_taken_back_is_two() {
        let values = steps(&[(14, 100.0), (12, 130.0), (14, 100.0)], 6);
        assert_eq!(changes(&values, EXPECTED), [14, 26]);
    }

    #[test]
    fn small_steps_and_single_outliers_are_no_changes() {
        assert_eq!(changes(&steps(&[(30, 100.0), (30, 103.0)], 2), EXPECTED), []);
        assert_eq!(changes(&[], EXPECTED), []);
        assert_eq!(changes(&[1.0, 9.0, 1.0, 9.0], EXPECTED), []);
        let mut values = steps(&[(60, 100.0)], 3);
        values[30] = 500.0;
        assert_eq!(changes(&values, EXPECTED), []);
    }

    #[test]
    fn a_slope_is_no_step() {
        let values: Vec<f64> = steps(&[(60, 100.0)], 4)
            .into_iter()
            .zip(0..)
            .map(|(value, place)| value + f64::from(place))
            .collect();
        assert_eq!(changes(&values, EXPECTED), []);
    }

    #[test]
    fn noise_seldom_changes() {
        let alarms = (0..300).filter(|&seed| {
            let noise: Vec<f64> = (0..60).map(|i| Seed(seed).draws(2, i).unit()).collect();
            !changes(&noise, EXPECTED).is_empty()
        });
        assert!(alarms.count() <= 2);
    }
}
