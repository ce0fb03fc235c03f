//! Lines over an axis of percentiles, and what lines have in common.

use assay_analysis::Distribution;
use assay_model::Nanos;

use super::axis::Axis;
use super::line_chart::{Height, Line, LineChart};

/// Points for each power of ten of a spectrum: enough that the line looks smooth.
const POINTS_PER_DECADE: u32 = 20;

/// Short dashes.
pub const DASHED: &[u8] = &[6, 4];
/// Dots.
pub const DOTTED: &[u8] = &[2, 4];
/// Long dashes.
pub const LONG: &[u8] = &[12, 4];
/// Dashes with dots between them.
pub const MIXED: &[u8] = &[8, 3, 2, 3];
/// No dashes.
pub const SOLID: &[u8] = &[];

/// Lines over an axis of percentiles.
pub fn spectrum_chart(
    id: String,
    description: String,
    count: u64,
    xs: Vec<f64>,
    lines: Vec<Line>,
    height: Height,
) -> LineChart {
    let axes = [Axis::spectrum(count), Axis::latency(known(&lines))];
    LineChart { height, ..LineChart::new(id, description, axes, xs, lines) }
}

/// 1 / (1 − q) from 1 to the number of values, beyond which nothing is known.
pub fn spectrum_points(count: u64) -> Vec<f64> {
    let decades = (count as f64).log10();
    let last = (decades * f64::from(POINTS_PER_DECADE)).floor() as u32;
    let point = |place: u32| 10_f64.powf(f64::from(place) / f64::from(POINTS_PER_DECADE));
    let mut points: Vec<f64> = (0..=last).map(point).collect();
    if points.last().is_none_or(|point| *point < count as f64) {
        points.push(count as f64);
    }
    points
}

/// One distribution at every percentile.
pub fn percentile_line(
    label: &str,
    colour: &'static str,
    dash: &'static [u8],
    distribution: &Distribution,
    xs: &[f64],
) -> Line {
    let value = |x: &f64| {
        let quantile = 1.0 - 1.0 / x;
        positive(Nanos(distribution.histogram.value_at_quantile(quantile)))
    };
    Line::new(label, colour, dash, xs.iter().map(value))
}

/// All values of all lines.
pub fn known(lines: &[Line]) -> impl Iterator<Item = f64> {
    lines.iter().flat_map(|line| line.values.iter().flatten().copied())
}

/// A latency for an axis that has no zero.
pub fn positive(time: Nanos) -> Option<f64> {
    (time.0 > 0).then_some(time.0 as f64)
}
