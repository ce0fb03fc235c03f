//! Axis of a chart, with ticks at round numbers.

use assay_model::Nanos;

use crate::units::{Letters, round_duration, trimmed};

/// How numbers lie on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxisScale {
    /// Equal differences are equally far apart.
    Linear,
    /// Equal ratios are equally far apart.
    Log,
}

/// What the numbers on an axis are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxisUnit {
    /// Latencies in nanoseconds.
    Latency,
    /// Operations per second.
    Rate,
    /// Seconds since the run's epoch.
    Time,
    /// 1 / (1 − quantile).
    Spectrum,
    /// How many of something.
    Number,
    /// How many of something of which there are few: every whole number has a tick.
    Few,
}

/// An axis from `min` to `max`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    /// How numbers lie on it.
    pub scale: AxisScale,
    /// What the numbers are.
    pub unit: AxisUnit,
    /// The number at the axis's beginning.
    pub min: f64,
    /// The number at its end.
    pub max: f64,
    /// Its title; empty if its labels suffice.
    pub title: &'static str,
}

/// A labelled number on an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// The number.
    pub at: f64,
    /// How it reads.
    pub label: String,
    /// Whether it can be left out where there is little room.
    pub is_spare: bool,
}

/// The most that a linear axis is divided into.
const DIVISIONS: f64 = 5.0;

/// Up to this number each one by itself has room for a label.
const FEW: f64 = 12.0;

impl Axis {
    /// A logarithmic latency axis around all positive `values`, from one 1-2-5 step to another.
    pub fn latency(values: impl Iterator<Item = f64>) -> Axis {
        let (mut min, mut max) = (f64::INFINITY, 0.0_f64);
        for value in values.filter(|value| *value > 0.0) {
            min = min.min(value);
            max = max.max(value);
        }
        if max == 0.0 {
            (min, max) = (1_000.0, 1_000_000.0);
        }
        let (min, max) = (step_below(min), step_above(max));
        let max = if max > min { max } else { min * 10.0 };
        Axis { scale: AxisScale::Log, unit: AxisUnit::Latency, min, max, title: "latency" }
    }

    /// A linear axis of rates from zero to a little above the largest of `values`.
    pub fn rate(values: impl Iterator<Item = f64>) -> Axis {
        let max = values.fold(0.0_f64, f64::max);
        let max = if max > 0.0 { max * 1.08 } else { 1.0 };
        let title = "operations per second";
        Axis { scale: AxisScale::Linear, unit: AxisUnit::Rate, min: 0.0, max, title }
    }

    /// A linear latency axis from zero to a little above the largest of `values`.
    pub fn linear_latency(values: impl Iterator<Item = f64>) -> Axis {
        let max = values.fold(0.0_f64, f64::max);
        let max = if max > 0.0 { max * 1.05 } else { 1_000_000.0 };
        Axis { scale: AxisScale::Linear, unit: AxisUnit::Latency, min: 0.0, max, title: "latency" }
    }

    /// A logarithmic axis of numbers from `min` to `max`, both above zero.
    pub fn numbers(min: f64, max: f64) -> Axis {
        Axis { scale: AxisScale::Log, unit: AxisUnit::Number, min, max, title: "" }
    }

    /// A linear axis of how much there is of something, from zero to a little above the largest.
    pub fn amount(values: impl Iterator<Item = f64>) -> Axis {
        Axis { unit: AxisUnit::Number, title: "", ..Axis::rate(values) }
    }

    /// A linear axis from zero to `last` of something that is counted one by one.
    pub fn few(last: f64) -> Axis {
        let unit = if last <= FEW { AxisUnit::Few } else { AxisUnit::Number };
        Axis { scale: AxisScale::Linear, unit, min: 0.0, max: last, title: "" }
    }

    /// A linear axis of seconds.
    pub fn time(from: f64, until: f64) -> Axis {
        let max = if until > from { until } else { from + 1.0 };
        Axis { scale: AxisScale::Linear, unit: AxisUnit::Time, min: from, max, title: "time" }
    }

    /// A percentile axis that ends with the largest of `count` values.
    pub fn spectrum(count: u64) -> Axis {
        let max = (count as f64).max(10.0);
        Axis { scale: AxisScale::Log, unit: AxisUnit::Spectrum, min: 1.0, max, title: "percentile" }
    }

    /// An axis of things side by side, with what stands below each.
    pub fn side_by_side<'a>(
        labels: impl ExactSizeIterator<Item = &'a String>,
    ) -> (Axis, Vec<Tick>) {
        let axis = Axis { unit: AxisUnit::Number, ..Axis::few(labels.len().max(1) as f64) };
        let tick = |(place, label): (usize, &String)| Tick {
            at: place as f64 + 0.5,
            label: label.clone(),
            is_spare: false,
        };
        (axis, labels.enumerate().map(tick).collect())
    }

    /// The same axis with another title.
    pub fn titled(self, title: &'static str) -> Axis {
        Axis { title, ..self }
    }

    /// Its title, with its scale if that is not linear.
    pub fn caption(&self) -> String {
        match (self.title, self.scale) {
            (title, AxisScale::Linear) => title.to_owned(),
            ("", AxisScale::Log) => "log scale".to_owned(),
            (title, AxisScale::Log) => format!("{title}, log scale"),
        }
    }

    /// Where `value` lies: 0 at the beginning, 1 at the end, beyond that outside.
    pub fn place(&self, value: f64) -> f64 {
        match self.scale {
            AxisScale::Linear => (value - self.min) / (self.max - self.min),
            AxisScale::Log => (value / self.min).ln() / (self.max / self.min).ln(),
        }
    }

    /// Whether `value` lies on it.
    pub fn holds(&self, value: f64) -> bool {
        (self.min..=self.max).contains(&value)
    }

    /// The ticks from the beginning to the end.
    pub fn ticks(&self) -> Vec<Tick> {
        match self.unit {
            AxisUnit::Latency if self.scale == AxisScale::Linear => {
                let step = round_step((self.max - self.min) / DIVISIONS);
                self.linear_ticks(step, short_latency)
            }
            AxisUnit::Latency => self.latency_ticks(),
            AxisUnit::Number if self.scale == AxisScale::Log => self.number_ticks(),
            AxisUnit::Spectrum => self.spectrum_ticks(),
            AxisUnit::Few => self.few_ticks(),
            AxisUnit::Rate | AxisUnit::Number => {
                let step = round_step((self.max - self.min) / DIVISIONS);
                self.linear_ticks(step, short_rate)
            }
            AxisUnit::Time => {
                let step = time_step((self.max - self.min) / (DIVISIONS + 3.0));
                self.linear_ticks(step, short_time)
            }
        }
    }

    fn linear_ticks(&self, step: f64, label: impl Fn(f64) -> String) -> Vec<Tick> {
        let first = (self.min / step - 1e-9).ceil() as i64;
        let last = (self.max / step + 1e-9).floor() as i64;
        let tick = |place: i64| {
            let at = place as f64 * step;
            Tick { at, label: label(at), is_spare: place % 2 != 0 }
        };
        (first..=last).map(tick).collect()
    }

    /// Powers of ten; twos and fives between them where the axis is short.
    fn latency_ticks(&self) -> Vec<Tick> {
        let decades = (self.max / self.min).log10();
        let factors: &[f64] = if decades <= 2.2 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let mut ticks = Vec::new();
        for power in self.min.log10().floor() as i32..=self.max.log10().ceil() as i32 {
            for factor in factors {
                let at = factor * 10_f64.powi(power);
                if at >= self.min * 0.999 && at <= self.max * 1.001 {
                    ticks.push(Tick { at, label: short_latency(at), is_spare: *factor != 1.0 });
                }
            }
        }
        ticks
    }

    /// Powers of two, which numbers of threads usually are; ones, twos and fives where those
    /// would be too many.
    fn number_ticks(&self) -> Vec<Tick> {
        let tick = |at: f64, is_spare: bool| Tick { at, label: short_rate(at), is_spare };
        let is_within = |tick: &Tick| tick.at >= self.min * 0.999 && tick.at <= self.max * 1.001;
        if self.max <= 512.0 {
            let powers = (0..10).map(|power| tick(f64::from(1 << power), power % 2 == 1));
            return powers.filter(is_within).collect();
        }
        let decades = self.min.log10().floor() as i32..=self.max.log10().ceil() as i32;
        let steps = decades.flat_map(|power| [1.0, 2.0, 5.0].map(|f| f * 10_f64.powi(power)));
        steps.map(|at| tick(at, false)).filter(is_within).collect()
    }

    /// Whole numbers; the even ones are spare, for clusters have odd numbers of nodes.
    fn few_ticks(&self) -> Vec<Tick> {
        let mut ticks = self.linear_ticks(1.0, short_rate);
        ticks.iter_mut().for_each(|tick| tick.is_spare = !tick.is_spare);
        ticks
    }

    fn spectrum_ticks(&self) -> Vec<Tick> {
        let labels = ["0 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %", "99.9999 %"];
        let mut ticks: Vec<Tick> = labels
            .iter()
            .enumerate()
            .map(|(place, label)| Tick {
                at: 10_f64.powi(place as i32),
                label: (*label).to_owned(),
                is_spare: place > 3 && place % 2 == 0,
            })
            .collect();
        ticks.insert(1, Tick { at: 2.0, label: "50 %".to_owned(), is_spare: true });
        ticks.retain(|tick| tick.at <= self.max * 1.001);
        ticks
    }
}

/// The largest of 1, 2, 5 × 10^n that is not above `value`.
fn step_below(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let factor = [5.0, 2.0, 1.0].into_iter().find(|factor| factor * power <= value * 1.000_001);
    factor.unwrap_or(1.0) * power
}

/// The smallest of 1, 2, 5 × 10^n that is not below `value`.
fn step_above(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= value * 0.999_999);
    factor.unwrap_or(10.0) * power
}

/// A step of 1, 2 or 5 × 10^n that is at least `expected`.
fn round_step(expected: f64) -> f64 {
    step_above(expected.max(f64::MIN_POSITIVE))
}

/// A step that divides seconds, minutes or hours well.
fn time_step(expected: f64) -> f64 {
    const STEPS: [f64; 14] = [
        1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1_800.0, 3_600.0,
        7_200.0,
    ];
    if expected < 1.0 {
        return round_step(expected);
    }
    let hours = || round_step(expected / 3_600.0) * 3_600.0;
    STEPS.into_iter().find(|step| *step >= expected).unwrap_or_else(hours)
}

/// `100 µs`, without decimals that are zero.
fn short_latency(ns: f64) -> String {
    round_duration(Nanos(ns.round() as u64), Letters::Unicode)
}

/// `15k`, `1.5M`.
fn short_rate(rate: f64) -> String {
    let (number, suffix) = match rate {
        r if r >= 1e6 => (r / 1e6, "M"),
        r if r >= 1e3 => (r / 1e3, "k"),
        r => (r, ""),
    };
    format!("{}{suffix}", trimmed(number, 2))
}

/// `30 s`, `2:30 min`, `1:30 h`.
fn short_time(seconds: f64) -> String {
    if seconds.fract().abs() > 1e-6 {
        return format!("{} s", format!("{seconds:.3}").trim_end_matches('0'));
    }
    let whole = seconds as u64;
    match whole {
        s if s < 120 => format!("{s} s"),
        s if s < 7_200 => format!("{}:{:02}", s / 60, s % 60),
        s => format!("{}:{:02} h", s / 3_600, s % 3_600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: Axis) -> String {
        let labels: Vec<String> = axis.ticks().into_iter().map(|tick| tick.label).collect();
        labels.join(" | ")
    }

    #[test]
    fn a_short_latency_axis_has_twos_and_fives() {
        let axis = Axis::latency([130_000.0, 4_000_000.0].into_iter());
        assert_eq!((axis.min, axis.max), (100_000.0, 5_000_000.0));
        assert_eq!(labels(axis), "100 µs | 200 µs | 500 µs | 1 ms | 2 ms | 5 ms");
    }

    #[test]
    fn a_long_latency_axis_has_powers_of_ten() {
        let axis = Axis::latency([0.0, 400.0, 2e9].into_iter());
        assert_eq!(labels(axis), "1 µs | 10 µs | 100 µs | 1 ms | 10 ms | 100 ms | 1 s");
    }

    #[test]
    fn an_axis_without_values_is_still_an_axis() {
        assert_eq!(labels(Axis::latency(std::iter::empty())).split(" | ").count(), 4);
        assert_eq!(labels(Axis::rate(std::iter::empty())), "0 | 0.2 | 0.4 | 0.6 | 0.8 | 1");
        assert!(Axis::time(5.0, 5.0).ticks().len() > 1);
    }

    #[test]
    fn rates_and_times_are_short() {
        assert_eq!(labels(Axis::rate([20_000.0].into_iter())), "0 | 5k | 10k | 15k | 20k");
        assert_eq!(
            labels(Axis::time(10.0, 70.0)),
            "10 s | 20 s | 30 s | 40 s | 50 s | 60 s | 70 s"
        );
        assert_eq!(labels(Axis::time(0.0, 600.0)), "0 s | 2:00 | 4:00 | 6:00 | 8:00 | 10:00");
        assert_eq!(labels(Axis::time(0.0, 0.5)), "0 s | 0.1 s | 0.2 s | 0.3 s | 0.4 s | 0.5 s");
    }

    #[test]
    fn few_of_something_are_counted_one_by_one() {
        assert_eq!(labels(Axis::few(7.0)), "0 | 1 | 2 | 3 | 4 | 5 | 6 | 7");
        let ticks = Axis::few(7.0).ticks();
        assert!(ticks.iter().all(|tick| tick.is_spare == (tick.at % 2.0 == 0.0)));
        assert_eq!(labels(Axis::few(40.0)), "0 | 10 | 20 | 30 | 40");
    }

    #[test]
    fn a_linear_latency_axis_begins_at_zero() {
        let axis = Axis::linear_latency([1e9].into_iter());
        assert_eq!(labels(axis), "0 ns | 500 ms | 1 s");
    }

    #[test]
    fn numbers_are_powers_of_two_as_long_as_there_are_few() {
        assert_eq!(labels(Axis::numbers(1.0, 16.0)), "1 | 2 | 4 | 8 | 16");
        assert_eq!(labels(Axis::numbers(1_000.0, 10_000.0)), "1k | 2k | 5k | 10k");
    }

    #[test]
    fn an_axis_says_what_it_is_and_that_it_is_logarithmic() {
        assert_eq!(Axis::latency([1e6].into_iter()).caption(), "latency, log scale");
        assert_eq!(Axis::rate([1e6].into_iter()).caption(), "operations per second");
        assert_eq!(Axis::numbers(1.0, 64.0).titled("clients").caption(), "clients, log scale");
        assert_eq!(Axis::few(7.0).caption(), "");
    }

    #[test]
    fn percentiles_get_rarer_to_the_right() {
        assert_eq!(labels(Axis::spectrum(5_000)), "0 % | 50 % | 90 % | 99 % | 99.9 %");
        let axis = Axis::spectrum(1_000);
        assert!((axis.place(10.0) - 1.0 / 3.0).abs() < 1e-9);
    }
}
