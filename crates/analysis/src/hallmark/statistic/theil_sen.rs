//! The slope of a series, whatever a few outliers do.
//!
//! The median of the slopes of all pairs (H. Theil 1950; P. K. Sen, "Estimates of the regression
//! coefficient based on Kendall's tau", JASA 63, 1968), with Sen's interval: of the N slopes, the
//! ones (N ± z · √(n (n − 1) (2 n + 5) / 18)) / 2 from below.

use crate::student::normal;

/// The slope per step of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// The median.
    pub median: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Slope {
    /// How steep it is at least, either way; 0 if it may be level.
    pub fn at_least(&self) -> f64 {
        if self.low > 0.0 { self.low } else { (-self.high).max(0.0) }
    }
}

/// The slope of `values`; an interval of it misses the truth with `probability`. `None` with fewer
/// than three values.
pub fn slope(values: &[f64], probability: f64) -> Option<Slope> {
    if values.len() < 3 {
        return None;
    }
    let mut slopes = Vec::with_capacity(values.len() * (values.len() - 1) / 2);
    for (place, first) in values.iter().enumerate() {
        let later = values[place + 1..].iter().zip(1..);
        slopes.extend(later.map(|(value, steps)| (value - first) / f64::from(steps)));
    }
    let n = values.len() as f64;
    let number = slopes.len() as f64;
    let deviation = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    let reach = normal(1.0 - probability) * deviation;
    let last = slopes.len() - 1;
    // Of a hundred thousand slopes four are wanted: no need to sort them all.
    let mut at = |rank: f64| {
        let place = (rank.max(0.0) as usize).min(last);
        *slopes.select_nth_unstable_by(place, f64::total_cmp).1
    };
    let middle = last as f64 / 2.0;
    let median = f64::midpoint(at(middle.floor()), at(middle.ceil()));
    // Too few values for the wanted certainty: the interval has no ends among the slopes.
    if reach >= number {
        return Some(Slope { median, low: f64::NEG_INFINITY, high: f64::INFINITY });
    }
    let (low, high) = ((number - reach) / 2.0, f64::midpoint(number, reach));
    Some(Slope { median, low: at(low.floor() - 1.0), high: at(high.ceil()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::Seed;

    #[test]
    fn a_line_has_its_slope_although_a_point_is_off() {
        let mut line: Vec<f64> = (0..30).map(|i| 5.0 + 2.0 * f64::from(i)).collect();
        line[7] = 1e6;
        let found = slope(&line, 0.001).unwrap();
        assert!((found.median - 2.0).abs() < 1e-9, "{found:?}");
        assert!((found.at_least() - 2.0).abs() < 0.1, "{found:?}");
        assert!(slope(&[1.0, 2.0], 0.001).is_none());
    }

    #[test]
    fn noise_may_be_level() {
        let steep = (0..200).filter(|&seed| {
            let noise: Vec<f64> = (0..40).map(|i| Seed(seed).draws(1, i).unit()).collect();
            slope(&noise, 0.001).unwrap().at_least() > 0.0
        });
        assert!(steep.count() <= 2);
    }

    #[test]
    fn falling_is_as_steep_as_rising() {
        let falling: Vec<f64> = (0..30).map(|i| 100.0 - 3.0 * f64::from(i)).collect();
        assert!((slope(&falling, 0.001).unwrap().at_least() - 3.0).abs() < 1e-9);
    }
}
