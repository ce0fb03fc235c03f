//! Where the level of a series changes for good.
//!
//! Binary segmentation: the split that sets the means of both sides furthest apart, by Student's t
//! with pooled variance, is taken if it is significant and large enough, then both sides are
//! searched likewise (the scheme of Matteson, James, "A nonparametric approach for multiple change
//! point analysis", JASA 109, 2014, with the t-test that Apache Otava puts in the place of its
//! permutation test). The split is the best of many, so the probability is divided by their number.

use super::{mean, squares};
use crate::compare::student::student;

/// Shorter stretches are outliers rather than levels.
pub const SHORTEST: usize = 5;

/// What counts as a change.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Probability below which a difference is not chance.
    pub probability: f64,
    /// Least relative size.
    pub size: f64,
}

/// The places at which another level begins, rising.
pub fn changes(values: &[f64], wanted: Wanted) -> Vec<usize> {
    let mut found = Vec::new();
    let mut open = vec![(0, values.len())];
    while let Some((from, until)) = open.pop() {
        if let Some(place) = split(&values[from..until], wanted) {
            found.push(from + place);
            open.extend([(from, from + place), (from + place, until)]);
        }
    }
    found.sort_unstable();
    found
}

fn split(values: &[f64], wanted: Wanted) -> Option<usize> {
    let candidates = SHORTEST..(values.len() + 1).saturating_sub(SHORTEST);
    let number = candidates.len();
    let separations = candidates.map(|place| (separation(values, place), place));
    let (t, place) = separations.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let (before, after) = (mean(&values[..place]), mean(&values[place..]));
    let level = before.abs().min(after.abs());
    let is_large = (after - before).abs() >= wanted.size * level && after != before;
    let limit = critical(wanted.probability / number as f64, values.len());
    (is_large && t > limit).then_some(place)
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

    const WANTED: Wanted = Wanted { probability: 0.001, size: 0.05 };

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
        assert_eq!(changes(&values, WANTED), [20, 40]);
    }

    #[test]
    fn small_steps_and_single_outliers_are_no_changes() {
        assert_eq!(changes(&steps(&[(30, 100.0), (30, 103.0)], 2), WANTED), []);
        let mut values = steps(&[(60, 100.0)], 3);
        values[30] = 500.0;
        assert_eq!(changes(&values, WANTED), []);
    }

    #[test]
    fn noise_seldom_changes() {
        let alarms = (0..300).filter(|&seed| {
            let noise: Vec<f64> = (0..60).map(|i| Seed(seed).draws(2, i).unit()).collect();
            !changes(&noise, WANTED).is_empty()
        });
        assert!(alarms.count() <= 2);
    }
}
