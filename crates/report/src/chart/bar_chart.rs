//! Grouped columns over one axis, each with its runs as dots.

use std::fmt::Write as _;

use assay_analysis::compare::Spread;

use super::axis::{Axis, AxisScale, AxisUnit, Tick};
use super::line_chart::{HEIGHT, WIDTH, axis_title, frame_labels, grid, plot};
use crate::escape::escape;

/// The share of a group's space that its columns take.
const FILLED: f64 = 0.86;

/// The share of a column's space that it takes.
const COLUMN: f64 = 0.84;

/// A column is never wider than this share of the chart, however few there are.
const WIDEST: f64 = 0.06;

/// A linear axis shows nothing of values this many times smaller than the largest.
const RATIO_MAX: f64 = 25.0;

/// The space between the stripes of a column that does not compete.
const STRIPE: f64 = 40.0;

/// The faintest of several columns of one colour.
const FAINT: f64 = 0.42;

/// A chart of columns in groups.
#[derive(Clone, Debug)]
pub struct BarChart {
    /// What it shows, for who cannot see it.
    pub description: String,
    /// What the numbers are.
    pub unit: AxisUnit,
    /// What stands below each group.
    pub groups: Vec<String>,
    /// The columns of every group, in order.
    pub series: Vec<BarSeries>,
}

/// One column of every group.
#[derive(Clone, Debug)]
pub struct BarSeries {
    /// Its name.
    pub label: String,
    /// The colour's name in the style sheet.
    pub colour: &'static str,
    /// How strong the colour is, from 0 for the faintest to 1.
    pub strength: f64,
    /// Whether others have measured it.
    pub is_foreign: bool,
    /// What was found in each group; `None` leaves its place empty.
    pub values: Vec<Option<Spread>>,
    /// Groups whose column does not compete; it is drawn striped.
    pub barred: Vec<bool>,
}

impl BarSeries {
    fn is_barred(&self, group: usize) -> bool {
        self.barred.get(group).copied().unwrap_or(false)
    }
}

impl BarChart {
    /// Groups and series without any value only take room.
    pub fn without_gaps(mut self) -> BarChart {
        self.series.retain(|series| series.values.iter().any(Option::is_some));
        let has = |group: usize| self.series.iter().any(|series| series.values[group].is_some());
        let kept: Vec<usize> = (0..self.groups.len()).filter(|group| has(*group)).collect();
        self.groups = kept.iter().map(|group| self.groups[*group].clone()).collect();
        for series in &mut self.series {
            series.values = kept.iter().map(|group| series.values[*group].clone()).collect();
            series.barred = kept.iter().map(|group| series.barred[*group]).collect();
        }
        self
    }

    /// Whether there is anything to show.
    pub fn is_empty(&self) -> bool {
        self.series.iter().all(|series| series.values.iter().all(Option::is_none))
    }

    /// The vertical axis: from zero, or logarithmic where the small values would not be seen.
    pub fn axis(&self) -> Axis {
        let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
        let mut top = 0.0_f64;
        for spread in self.series.iter().flat_map(|series| series.values.iter().flatten()) {
            low = low.min(spread.min.min(spread.mean));
            high = high.max(spread.max.max(spread.mean));
            top = top.max(spread.interval.map_or(0.0, |(_, end)| end));
        }
        // An interval of two runs may reach beyond everything that was seen.
        let top = top.clamp(high, high * 1.5);
        let is_log = low > 0.0 && low.is_finite() && high / low > RATIO_MAX;
        match (is_log, self.unit) {
            (true, AxisUnit::Latency) => Axis::latency([low * 0.8, top].into_iter()),
            (true, _) => {
                let floor = 10_f64.powf((low * 0.8).log10().floor());
                let ceiling = 10_f64.powf(top.log10().ceil());
                Axis {
                    scale: AxisScale::Log,
                    min: floor,
                    max: ceiling.max(floor * 10.0),
                    ..Axis::rate([top].into_iter())
                }
            }
            (false, AxisUnit::Latency) => Axis::linear_latency([top].into_iter()),
            (false, _) => Axis::rate([top].into_iter()),
        }
    }

    /// The chart as a figure: legend, drawing, labels.
    pub fn html(&self) -> String {
        let y = self.axis();
        let y_ticks = ticks(&y);
        let (x, x_ticks) = Axis::side_by_side(self.groups.iter());
        let drawing = grid(&[], &x, &y_ticks, &y) + &self.fences() + &self.columns(&y);
        let labels = frame_labels(&x_ticks, &x, &y_ticks, &y);
        let plot = plot("tall columns", &self.description, &drawing, &labels);
        let title = axis_title(&y, "y");
        format!("<div class=\"legend\">{}</div>\n{title}{plot}\n", self.legend())
    }

    /// Lines between the groups.
    fn fences(&self) -> String {
        let space = WIDTH / self.groups.len().max(1) as f64;
        let lines = (1..self.groups.len())
            .map(|place| format!("M{:.0} 0v{HEIGHT}", place as f64 * space))
            .collect::<String>();
        format!("<path class=\"tick\" d=\"{lines}\"/>")
    }

    fn columns(&self, y: &Axis) -> String {
        let space = WIDTH / self.groups.len().max(1) as f64;
        let many = self.series.len().max(1) as f64;
        let step = (space * FILLED / many).min(WIDTH * WIDEST);
        let mut out = String::new();
        for (number, series) in self.series.iter().enumerate() {
            let at = |group: usize| {
                (group as f64 + 0.5) * space + (number as f64 + 0.5 - many / 2.0) * step
            };
            let known = series.values.iter().enumerate().filter_map(|(group, value)| {
                Some(Column {
                    at: at(group),
                    spread: value.as_ref()?,
                    is_barred: series.is_barred(group),
                })
            });
            out += &draw(series, known, step * COLUMN, y);
        }
        out
    }

    fn legend(&self) -> String {
        let mut out = String::new();
        for series in &self.series {
            let _ = write!(
                out,
                "<button type=\"button\" disabled><svg class=\"swatch\" viewBox=\"0 0 24 8\" \
                 aria-hidden=\"true\"><path class=\"{}\"{} d=\"M3 0h18v8h-18z\"/></svg>{}\
                 </button>",
                classes(series),
                opacity(series),
                escape(&series.label)
            );
        }
        out
    }
}

/// On a logarithmic axis of rates, powers of ten; else what the axis has.
fn ticks(y: &Axis) -> Vec<Tick> {
    if y.scale == AxisScale::Linear || y.unit == AxisUnit::Latency {
        return y.ticks();
    }
    let steps = y.min.log10().round() as i32..=y.max.log10().round() as i32;
    let tick = |power: i32| {
        let at = 10_f64.powi(power);
        Tick { at, label: short(at), is_spare: false }
    };
    steps.map(tick).collect()
}

fn short(number: f64) -> String {
    match number {
        n if n >= 1e6 => format!("{:.0}M", n / 1e6),
        n if n >= 1e3 => format!("{:.0}k", n / 1e3),
        n if n >= 1.0 => format!("{n:.0}"),
        n => format!("{n}"),
    }
}

fn classes(series: &BarSeries) -> String {
    let published = if series.is_foreign { " foreign" } else { "" };
    format!("column{published} {}", series.colour)
}

fn opacity(series: &BarSeries) -> String {
    let strength = FAINT + (1.0 - FAINT) * series.strength.clamp(0.0, 1.0);
    match series.is_foreign {
        true => String::new(),
        false => format!(" fill-opacity=\"{strength:.2}\""),
    }
}

/// One column of a series.
struct Column<'a> {
    /// Where its middle is.
    at: f64,
    spread: &'a Spread,
    is_barred: bool,
}

/// The outline of a column with stripes across.
fn striped(left: f64, top: f64, width: f64) -> String {
    let mut out = format!("M{left:.0} {HEIGHT}V{top:.0}h{width:.0}V{HEIGHT}z");
    let mut height = HEIGHT - STRIPE;
    while height > top {
        let _ = write!(out, "M{left:.0} {height:.0}h{width:.0}");
        height -= STRIPE;
    }
    out
}

/// The columns of one series, then intervals, then dots.
fn draw<'a>(
    series: &BarSeries,
    known: impl Iterator<Item = Column<'a>>,
    width: f64,
    y: &Axis,
) -> String {
    let height = |value: f64| {
        let place = y.place(value.max(y.min.max(f64::MIN_POSITIVE))).clamp(0.0, 1.0);
        (1.0 - place) * HEIGHT
    };
    let [mut columns, mut barred, mut reaches, mut dots] = [const { String::new() }; 4];
    let half = width / 2.0;
    for Column { at, spread, is_barred } in known {
        let top = height(spread.mean);
        match is_barred {
            true => barred += &striped(at - half, top, width),
            false => {
                let _ = write!(columns, "M{:.0} {HEIGHT}V{top:.0}h{width:.0}V{HEIGHT}z", at - half);
            }
        }
        if let Some((low, high)) = spread.interval {
            let end = half * 0.5;
            let _ = write!(reaches, "M{at:.0} {:.0}V{:.0}", height(low), height(high));
            // What goes on beyond the axis has no end to be drawn.
            for value in [low, high].into_iter().filter(|value| y.holds(*value)) {
                let (from, width) = (at - end, end * 2.0);
                let _ = write!(reaches, "M{from:.0} {:.0}h{width:.0}", height(value));
            }
        }
        if spread.values.len() > 1 {
            for value in &spread.values {
                let _ = write!(dots, "M{at:.0} {:.0}h0", height(*value));
            }
        }
    }
    let mut out =
        format!("<path class=\"{}\"{} d=\"{columns}\"/>", classes(series), opacity(series));
    let striped = format!("column barred {}", series.colour);
    for (class, path) in
        [(striped.as_str(), &barred), ("reach", &reaches), ("dots under", &dots), ("dots", &dots)]
    {
        if !path.is_empty() {
            let _ = write!(out, "<path class=\"{class}\" d=\"{path}\"/>");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use assay_analysis::compare::spread;

    use super::*;

    fn chart(values: &[&[f64]], unit: AxisUnit) -> BarChart {
        let series = BarSeries {
            label: "a<b>".to_owned(),
            colour: "s0",
            strength: 1.0,
            is_foreign: false,
            values: values.iter().map(|runs| (!runs.is_empty()).then(|| spread(runs))).collect(),
            barred: Vec::new(),
        };
        BarChart {
            description: "x".to_owned(),
            unit,
            groups: values.iter().enumerate().map(|(place, _)| place.to_string()).collect(),
            series: vec![series],
        }
    }

    #[test]
    fn a_column_begins_at_zero_and_its_runs_are_dots() {
        let chart = chart(&[&[90.0, 110.0, 100.0], &[]], AxisUnit::Rate);
        let axis = chart.axis();
        assert_eq!((axis.scale, axis.min), (AxisScale::Linear, 0.0));
        let html = chart.html();
        let dots = html.split("class=\"dots\" d=\"").nth(1).and_then(|rest| rest.split('"').next());
        assert_eq!(dots.map(|path| path.matches("h0").count()), Some(3), "{html}");
        assert!(html.contains("a&lt;b&gt;") && html.contains("class=\"reach\""), "{html}");
    }

    #[test]
    fn values_far_apart_have_a_logarithmic_axis() {
        let wide = chart(&[&[300.0], &[80_000.0]], AxisUnit::Rate).axis();
        assert_eq!((wide.scale, wide.min, wide.max), (AxisScale::Log, 100.0, 100_000.0));
        let times = chart(&[&[3e5], &[8e8]], AxisUnit::Latency).axis();
        assert_eq!((times.scale, times.min, times.max), (AxisScale::Log, 2e5, 1e9));
        assert!(chart(&[&[300.0], &[80_000.0]], AxisUnit::Rate).html().contains(">10k</span>"));
    }

    #[test]
    fn a_chart_without_values_is_empty() {
        assert!(chart(&[&[], &[]], AxisUnit::Rate).is_empty());
        assert!(!chart(&[&[1.0]], AxisUnit::Rate).is_empty());
    }

    #[test]
    fn a_column_that_does_not_compete_is_striped() {
        let mut chart = chart(&[&[90.0], &[80.0]], AxisUnit::Rate);
        assert!(!chart.html().contains("barred"));
        chart.series[0].barred = vec![false, true];
        let html = chart.html();
        let path = |class: &str| {
            let rest = html.rsplit(&format!("class=\"{class}\"")).next().unwrap_or_default();
            rest.split("d=\"").nth(1).unwrap_or_default().split('"').next().unwrap_or_default()
        };
        assert_eq!(path("column s0").matches('z').count(), 1, "{html}");
        let striped = path("column barred s0");
        assert_eq!(striped.matches('z').count(), 1, "{html}");
        assert!(striped.matches('M').count() > 5, "{html}");
    }
}
