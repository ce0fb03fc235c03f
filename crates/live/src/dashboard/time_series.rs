//! The course of a run so far, in as much memory for an hour as for a minute.

use assay_model::Nanos;

use crate::interval::LiveInterval;

/// Points beyond this are merged pair by pair, so that none gets lost.
const POINTS: usize = 512;

/// Throughput with p99 over the run.
#[derive(Clone, Debug, Default)]
pub struct TimeSeries {
    points: Vec<Point>,
    /// How many intervals a full point stands for; 0 before the first.
    stride: u64,
}

/// Some intervals of the same length.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Point {
    intervals: u64,
    achieved_sum: f64,
    p99_max: Option<Nanos>,
}

impl Point {
    fn merged(self, other: Point) -> Point {
        Point {
            intervals: self.intervals + other.intervals,
            achieved_sum: self.achieved_sum + other.achieved_sum,
            p99_max: self.p99_max.max(other.p99_max),
        }
    }
}

impl TimeSeries {
    /// Goes on with `interval`.
    pub fn add(&mut self, interval: &LiveInterval) {
        let p99_max = interval.response.or(interval.service).map(|of| of.p99);
        let point = Point { intervals: 1, achieved_sum: interval.achieved_per_s, p99_max };
        self.stride = self.stride.max(1);
        match self.points.last_mut() {
            Some(last) if last.intervals < self.stride => *last = last.merged(point),
            _ => self.points.push(point),
        }
        if self.points.len() > POINTS {
            let pairs = self.points.chunks(2);
            self.points = pairs
                .map(|pair| pair.iter().copied().reduce(Point::merged).unwrap_or_default())
                .collect();
            self.stride *= 2;
        }
    }

    /// Operations done per second, on average over each of at most `columns` stretches.
    pub fn achieved(&self, columns: usize) -> Vec<f64> {
        self.columns(columns).map(|point| point.achieved_sum / point.intervals as f64).collect()
    }

    /// The worst p99 in each of at most `columns` stretches; none where nothing was done.
    pub fn p99(&self, columns: usize) -> Vec<Option<Nanos>> {
        self.columns(columns).map(|point| point.p99_max).collect()
    }

    fn columns(&self, columns: usize) -> impl Iterator<Item = Point> {
        let each = self.points.len().div_ceil(columns.max(1)).max(1);
        let chunks = self.points.chunks(each);
        chunks.map(|chunk| chunk.iter().copied().reduce(Point::merged).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::Quantiles;

    fn interval(achieved_per_s: f64, p99: Option<u64>) -> LiveInterval {
        let quantiles = |us| {
            let us = Nanos::from_micros(us);
            Quantiles { p50: us, p99: us, p999: us, max: us }
        };
        LiveInterval {
            until: Nanos::ZERO,
            length: Nanos::from_secs(1),
            in_flight: 0,
            intended_per_s: None,
            offered_per_s: achieved_per_s,
            achieved_per_s,
            failed: 0,
            dropped: 0,
            missed: 0,
            lag_max: Nanos::ZERO,
            lag_mean: None,
            response: p99.map(quantiles),
            service: None,
            kinds: Default::default(),
        }
    }

    #[test]
    fn means_of_throughput_stand_beside_the_worst_p99() {
        let mut time_series = TimeSeries::default();
        for (achieved, p99) in [(10.0, Some(5)), (30.0, Some(9)), (7.0, None)] {
            time_series.add(&interval(achieved, p99));
        }
        assert_eq!(time_series.achieved(80), [10.0, 30.0, 7.0]);
        assert_eq!(time_series.achieved(2), [20.0, 7.0]);
        assert_eq!(time_series.p99(2), [Some(Nanos::from_micros(9)), None]);
    }

    #[test]
    fn a_long_run_is_merged_without_a_gap() {
        let mut time_series = TimeSeries::default();
        for second in 0..10_000 {
            let p99 = if second == 7_777 { 900 } else { 5 };
            time_series.add(&interval(f64::from(second), Some(p99)));
        }
        assert!(time_series.points.len() <= POINTS, "{}", time_series.points.len());
        let intervals: u64 = time_series.points.iter().map(|point| point.intervals).sum();
        assert_eq!(intervals, 10_000);
        let p99 = time_series.p99(100);
        assert_eq!(p99.iter().filter(|p99| **p99 > Some(Nanos::from_micros(5))).count(), 1);
        assert!(time_series.achieved(100).is_sorted());
    }

    #[test]
    fn an_empty_time_series_has_no_columns() {
        assert!(TimeSeries::default().achieved(10).is_empty());
    }
}
