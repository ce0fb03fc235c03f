//! A chart of lines: drawn here as SVG, made movable in the browser from the same numbers.

use std::fmt::Write as _;

use assay_model::named_enum;
use serde_json::{Value, json};

use super::axis::{Axis, AxisScale, AxisUnit, Tick};
use crate::escape::escape;
use crate::units::trimmed;

/// Width of the drawing's own coordinates, whole numbers which are finer than a screen's pixels;
/// the page stretches it.
pub const WIDTH: f64 = 4_000.0;
/// Height of the drawing's own coordinates.
pub const HEIGHT: f64 = 1_200.0;

/// The width of a mark's label, as a share of a chart that is half a page wide.
const LABEL: f64 = 0.06;

/// Lines over a common horizontal axis.
#[derive(Clone, Debug)]
pub struct LineChart {
    /// Unique within the page; letters and dashes only.
    pub id: String,
    /// What it shows, for who cannot see it.
    pub description: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Where the points are on the horizontal axis, rising.
    pub xs: Vec<f64>,
    /// The lines.
    pub lines: Vec<Line>,
    /// Pairs of lines with the space between them filled.
    pub bands: Vec<(usize, usize)>,
    /// Stretches of the horizontal axis that are special.
    pub shades: Vec<Shade>,
    /// Numbered moments on the horizontal axis.
    pub marks: Vec<ChartMark>,
    /// How tall it is on the page.
    pub height: Height,
}

/// One line of a chart.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its name.
    pub label: String,
    /// The colour's name in the style sheet, for example `response`.
    pub colour: &'static str,
    /// Lengths of dash and gap in pixels; empty for a solid line.
    pub dash: &'static [u8],
    /// Whether the space down to zero is filled.
    pub is_filled: bool,
    /// One value for each point; `None` leaves a gap.
    pub values: Vec<Option<f64>>,
}

/// A stretch of the horizontal axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shade {
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub until: f64,
    /// What it is.
    pub kind: ShadeKind,
}

named_enum! {
    /// What a stretch of the horizontal axis is, by the name of its colour in the style sheet.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ShadeKind {
        /// It does not count.
        Beside => "shade",
        /// A fault lasted.
        Fault => "fault",
        /// The service was degraded: a strip at the foot of the chart.
        Degraded => "degraded",
        /// The service was down: likewise.
        Down => "down",
    }
}

impl ShadeKind {
    /// How much of the chart's height it takes from its foot on.
    pub const fn share(self) -> f64 {
        match self {
            ShadeKind::Beside | ShadeKind::Fault => 1.0,
            ShadeKind::Degraded | ShadeKind::Down => 0.05,
        }
    }
}

/// A numbered moment.
#[derive(Clone, Copy, Debug)]
pub struct ChartMark {
    /// Its number in the page's list of events.
    pub number: usize,
    /// Where it is on the horizontal axis.
    pub at: f64,
}

named_enum! {
    /// How tall a chart is on the page.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Height {
        /// The chart that a section is about.
        Tall => "tall",
        /// One that stands beside another.
        Low => "low",
    }
}

impl Line {
    /// A line that is not filled.
    pub fn new(
        label: impl Into<String>,
        colour: &'static str,
        dash: &'static [u8],
        values: impl IntoIterator<Item = Option<f64>>,
    ) -> Line {
        let values = values.into_iter().collect();
        Line { label: label.into(), colour, dash, is_filled: false, values }
    }
}

impl LineChart {
    /// A low chart of lines alone.
    pub fn new(
        id: impl Into<String>,
        description: impl Into<String>,
        [x, y]: [Axis; 2],
        xs: Vec<f64>,
        lines: Vec<Line>,
    ) -> LineChart {
        LineChart {
            id: id.into(),
            description: description.into(),
            x,
            y,
            xs,
            lines,
            bands: Vec::new(),
            shades: Vec::new(),
            marks: Vec::new(),
            height: Height::Low,
        }
    }

    /// The chart that a section is about.
    pub fn tall(self) -> LineChart {
        LineChart { height: Height::Tall, ..self }
    }

    /// The chart as a figure: legend, drawing, labels.
    pub fn html(&self) -> String {
        let labels = frame_labels(&self.x.ticks(), &self.x, &self.y.ticks(), &self.y);
        format!(
            "<div class=\"chart\" id=\"{}\"><div class=\"legend\">{}\
             <output class=\"at\"></output></div>\n{}{}{}</div>\n",
            self.id,
            self.legend(),
            axis_title(&self.y, "y"),
            plot(
                self.height.name(),
                &self.description,
                &self.drawing(),
                &(labels + &self.mark_labels())
            ),
            axis_title(&self.x, "x"),
        )
    }

    /// The chart's numbers for the page's script.
    pub fn json(&self) -> Value {
        let line = |line: &Line| {
            json!({
                "label": line.label,
                "colour": line.colour,
                "dash": line.dash,
                "fill": line.is_filled,
                "dots": self.has_dots(line),
                "values": line.values.iter().map(|v| compact(*v)).collect::<Vec<_>>(),
            })
        };
        let axis = |axis: &Axis| {
            json!({
                "log": axis.scale == AxisScale::Log,
                "unit": match axis.unit {
                    AxisUnit::Latency => "latency",
                    AxisUnit::Rate => "rate",
                    AxisUnit::Time => "time",
                    AxisUnit::Spectrum => "spectrum",
                    AxisUnit::Number | AxisUnit::Few => "number",
                },
                "min": axis.min,
                "max": axis.max,
                "ticks": axis.ticks().iter().map(|tick| json!([
                    tick.at, tick.label, u8::from(tick.is_spare)
                ])).collect::<Vec<_>>(),
            })
        };
        json!({
            "id": self.id,
            "description": self.description,
            "x": axis(&self.x),
            "y": axis(&self.y),
            "xs": self.xs.iter().map(|x| compact(Some(*x))).collect::<Vec<_>>(),
            "lines": self.lines.iter().map(line).collect::<Vec<_>>(),
            "bands": self.bands,
            "shades": self.shades.iter().map(|shade| json!([
                compact(Some(shade.from)), compact(Some(shade.until)),
                shade.kind.name(), shade.kind.share()
            ])).collect::<Vec<_>>(),
            "marks": self.marks.iter().map(|m| json!([m.number, m.at])).collect::<Vec<_>>(),
        })
    }

    fn legend(&self) -> String {
        let mut out = String::new();
        for (place, line) in self.lines.iter().enumerate() {
            let _ = write!(
                out,
                "<button type=\"button\" aria-pressed=\"true\" data-line=\"{place}\">\
                 <svg class=\"swatch\" viewBox=\"0 0 24 8\" aria-hidden=\"true\">\
                 <path class=\"line {colour}\"{dash} d=\"M1 4h22\"/></svg>{label} \
                 <b></b></button>",
                colour = line.colour,
                dash = dash_attribute(line.dash),
                label = escape(&line.label),
            );
        }
        out
    }

    /// Shades, grid, bands, lines, marks, from back to front.
    fn drawing(&self) -> String {
        let mut out = String::new();
        for Shade { from, until, kind } in &self.shades {
            let (from, until) = (self.x_at(*from).max(0.0), self.x_at(*until).min(WIDTH));
            let _ = write!(
                out,
                "<path class=\"{}\" d=\"M{} {}H{}V{HEIGHT}H{}z\"/>",
                kind.name(),
                short(from),
                short(HEIGHT * (1.0 - kind.share())),
                short(until),
                short(from)
            );
        }
        out.push_str(&grid(&self.x.ticks(), &self.x, &self.y.ticks(), &self.y));
        for (upper, lower) in &self.bands {
            out.push_str(&self.band(&self.lines[*upper], &self.lines[*lower]));
        }
        for line in &self.lines {
            out.push_str(&self.line(line));
        }
        for mark in &self.marks {
            let _ =
                write!(out, "<path class=\"mark\" d=\"M{} 0v{HEIGHT}\"/>", self.x_text(mark.at));
        }
        out
    }

    fn line(&self, line: &Line) -> String {
        let runs = self.runs(line);
        let mut out = String::new();
        if line.is_filled {
            for run in &runs {
                let (first, last) = (run[0].0, run[run.len() - 1].0);
                let _ = write!(
                    out,
                    "<path class=\"area {}\" d=\"M{} {HEIGHT}{}L{} {HEIGHT}z\"/>",
                    line.colour,
                    short(first),
                    through(run, 'L'),
                    short(last)
                );
            }
        }
        let path: String = runs.iter().map(|run| through(run, 'M')).collect();
        if !path.is_empty() {
            let dash = dash_attribute(line.dash);
            let _ = write!(out, "<path class=\"line {}\"{dash} d=\"{path}\"/>", line.colour);
        }
        if self.has_dots(line) && !path.is_empty() {
            let dots: String = runs.iter().flatten().map(|dot| through(&[*dot], 'M')).collect();
            let _ = write!(out, "<path class=\"line dot {}\" d=\"{dots}\"/>", line.colour);
        }
        out
    }

    /// The space between two lines, as far as both have values from the first on.
    fn band(&self, upper: &Line, lower: &Line) -> String {
        let both = upper.values.iter().zip(&lower.values).zip(&self.xs);
        let known: Vec<(f64, f64, f64)> = both
            .filter_map(|((high, low), x)| {
                Some((self.x_at(*x), self.y_at((*high)?), self.y_at((*low)?)))
            })
            .collect();
        if known.len() < 2 {
            return String::new();
        }
        let over: Vec<(f64, f64)> = known.iter().map(|(x, high, _)| (*x, *high)).collect();
        let back: Vec<(f64, f64)> = known.iter().rev().map(|(x, _, low)| (*x, *low)).collect();
        let path = through(&over, 'M') + &through(&back, 'L');
        format!("<path class=\"band {}\" d=\"{path}z\"/>", upper.colour)
    }

    /// Stretches of points without a gap.
    fn runs(&self, line: &Line) -> Vec<Vec<(f64, f64)>> {
        let mut runs = vec![Vec::new()];
        for (x, value) in self.xs.iter().zip(&line.values) {
            match (value, runs.last_mut()) {
                (Some(value), Some(run)) => run.push((self.x_at(*x), self.y_at(*value))),
                _ => runs.push(Vec::new()),
            }
        }
        runs.retain(|run| !run.is_empty());
        runs
    }

    /// Whether each point is a measurement of its own, such as a run, that must be visible. Dashed
    /// lines without a gap are laws, limits, or lines beside such ones.
    fn has_dots(&self, line: &Line) -> bool {
        let is_measured = line.dash.is_empty() || line.values.contains(&None);
        is_measured && !matches!(self.x.unit, AxisUnit::Time | AxisUnit::Spectrum)
    }

    /// Numbers above the marks, within the drawing; those that would overlap share a label: `2–4`.
    fn mark_labels(&self) -> String {
        let mut labels: Vec<(f64, &ChartMark, &ChartMark)> = Vec::new();
        for mark in &self.marks {
            let place = self.x.place(mark.at).clamp(LABEL / 2.0, 1.0 - LABEL / 2.0);
            match labels.last_mut() {
                Some((before, _, last)) if place - *before < LABEL => *last = mark,
                _ => labels.push((place, mark, mark)),
            }
        }
        let mut out = String::new();
        for (place, first, last) in labels {
            let text = match first.number == last.number {
                true => first.number.to_string(),
                false => format!("{}–{}", first.number, last.number),
            };
            let place = percent(place);
            let _ = write!(out, "<span class=\"mark\" style=\"left:{place}%\">{text}</span>");
        }
        if out.is_empty() { out } else { format!("<div class=\"over\">{out}</div>") }
    }

    fn x_at(&self, x: f64) -> f64 {
        self.x.place(x) * WIDTH
    }

    fn y_at(&self, y: f64) -> f64 {
        (1.0 - self.y.place(y).clamp(0.0, 1.0)) * HEIGHT
    }

    fn x_text(&self, x: f64) -> String {
        short(self.x_at(x))
    }
}

/// A drawing with the labels around it; `class` says how large it is.
pub fn plot(class: &str, description: &str, drawing: &str, labels: &str) -> String {
    format!(
        "<div class=\"plot {class}\"><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\">{drawing}</svg>{labels}</div>",
        escape(description)
    )
}

/// The title of an axis as text of the page; nothing if it has none.
pub fn axis_title(axis: &Axis, which: &str) -> String {
    match axis.caption() {
        text if text.is_empty() => text,
        text => format!("<p class=\"axis {which}\">{}</p>\n", escape(&text)),
    }
}

/// Grid lines of both axes as one path.
pub fn grid(x_ticks: &[Tick], x: &Axis, y_ticks: &[Tick], y: &Axis) -> String {
    let mut path = String::new();
    for tick in y_ticks {
        let _ = write!(path, "M0 {}h{WIDTH}", short((1.0 - y.place(tick.at)) * HEIGHT));
    }
    for tick in x_ticks {
        let _ = write!(path, "M{} 0v{HEIGHT}", short(x.place(tick.at) * WIDTH));
    }
    format!("<path class=\"grid\" d=\"{path}\"/>")
}

/// The labels of both axes as text of the page, so that they keep their size when it is narrow.
pub fn frame_labels(x_ticks: &[Tick], x: &Axis, y_ticks: &[Tick], y: &Axis) -> String {
    let labels = |ticks: &[Tick], axis: &Axis, side: &str| {
        let label = |tick: &Tick| {
            let spare = if tick.is_spare { " class=\"spare\"" } else { "" };
            let place = percent(axis.place(tick.at));
            format!("<span{spare} style=\"{side}:{place}%\">{}</span>", escape(&tick.label))
        };
        ticks.iter().map(label).collect::<String>()
    };
    format!(
        "<div class=\"ys\" aria-hidden=\"true\">{}</div>\
         <div class=\"xs\" aria-hidden=\"true\">{}</div>",
        labels(y_ticks, y, "bottom"),
        labels(x_ticks, x, "left")
    )
}

/// The attribute that dashes a line; nothing for a solid one.
pub fn dash_attribute(dash: &[u8]) -> String {
    if dash.is_empty() {
        return String::new();
    }
    let lengths: Vec<String> = dash.iter().map(u8::to_string).collect();
    format!(" stroke-dasharray=\"{}\"", lengths.join(" "))
}

/// A path through `points` that begins with `first`; a lone point becomes a dot.
pub fn through(points: &[(f64, f64)], first: char) -> String {
    let mut path = String::new();
    let mut last = (0, 0);
    for (place, (x, y)) in points.iter().enumerate() {
        let here = (x.round() as i64, y.round() as i64);
        // Differences are shorter than places.
        let _ = match place {
            0 => write!(path, "{first}{} {}", here.0, here.1),
            _ => write!(path, "l{} {}", here.0 - last.0, here.1 - last.1),
        };
        last = here;
    }
    if points.len() == 1 {
        path.push_str("h0");
    }
    path
}

/// A coordinate as a whole number.
fn short(number: f64) -> String {
    format!("{number:.0}")
}

/// A share as a percentage for a style: at most two decimals.
pub fn percent(place: f64) -> String {
    trimmed(place * 100.0, 2)
}

/// Five significant digits, which is finer than any chart.
fn compact(value: Option<f64>) -> Value {
    let Some(value) = value.filter(|value| value.is_finite()) else { return Value::Null };
    if value == 0.0 {
        return Value::from(0);
    }
    let digits = 5 - 1 - value.abs().log10().floor() as i32;
    let rounded = if digits > 0 {
        format!("{value:.*}", digits as usize).parse().unwrap_or(value)
    } else {
        let unit = 10_f64.powi(-digits);
        (value / unit).round() * unit
    };
    if rounded.fract() == 0.0 && rounded.abs() < 9e15 {
        return Value::from(rounded as i64);
    }
    Value::from(rounded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(values: Vec<Option<f64>>) -> LineChart {
        LineChart {
            id: "c".to_owned(),
            description: "a <chart>".to_owned(),
            x: Axis::time(0.0, 4.0),
            y: Axis { max: 10.0, ..Axis::rate([1.0].into_iter()) },
            xs: (0..values.len()).map(|x| x as f64).collect(),
            lines: vec![Line::new("a&b", "done", &[4, 2], values)],
            bands: Vec::new(),
            shades: vec![Shade { from: -1.0, until: 1.0, kind: ShadeKind::Beside }],
            marks: vec![ChartMark { number: 1, at: 2.0 }],
            height: Height::Tall,
        }
    }

    fn line_of(values: Vec<Option<f64>>) -> String {
        let chart = chart(values);
        chart.line(&chart.lines[0])
    }

    #[test]
    fn a_gap_in_the_values_is_a_gap_in_the_line() {
        assert_eq!(
            line_of(vec![Some(0.0), Some(10.0), None, Some(5.0)]),
            "<path class=\"line done\" stroke-dasharray=\"4 2\" \
             d=\"M0 1200l1000 -1200M3000 600h0\"/>"
        );
    }

    #[test]
    fn labels_of_events_that_are_near_each_other_are_one() {
        let mut chart = chart(vec![Some(1.0)]);
        let at = [1.0, 1.1, 1.2, 3.0];
        chart.marks = (1..).zip(at).map(|(number, at)| ChartMark { number, at }).collect();
        let labels = chart.mark_labels();
        assert!(labels.contains("left:25%\">1–3</span>"), "{labels}");
        assert!(labels.contains("left:75%\">4</span>"), "{labels}");
        assert_eq!(labels.matches("<span").count(), 2, "{labels}");
    }

    #[test]
    fn labels_of_events_at_the_edges_stay_within_the_drawing() {
        let mut chart = chart(vec![Some(1.0)]);
        let at = [chart.x.min, chart.x.max];
        chart.marks = (1..).zip(at).map(|(number, at)| ChartMark { number, at }).collect();
        let labels = chart.mark_labels();
        assert!(labels.contains("left:3%\">1</span>"), "{labels}");
        assert!(labels.contains("left:97%\">2</span>"), "{labels}");
    }

    #[test]
    fn where_each_point_is_a_run_it_has_a_dot() {
        let mut chart = chart(vec![Some(1.0), Some(2.0), Some(3.0)]);
        assert!(!chart.html().contains("line dot"));
        chart.x = Axis::few(4.0).titled("nodes");
        assert!(!chart.html().contains("line dot"), "a law is a dashed line");
        chart.lines[0].dash = &[];
        let html = chart.html();
        let dots = html.split("line dot done\" d=\"").nth(1).unwrap_or_default();
        let path = dots.split('"').next().unwrap_or_default();
        assert_eq!(path.matches("h0").count(), 3, "{html}");
        assert!(html.contains("<p class=\"axis x\">nodes</p>"), "{html}");
        assert!(html.contains("<p class=\"axis y\">operations per second</p>"), "{html}");
    }

    #[test]
    fn no_values_are_no_line() {
        assert_eq!(line_of(vec![None, None]), "");
    }

    #[test]
    fn a_shade_ends_where_the_chart_ends() {
        let html = chart(vec![Some(1.0)]).html();
        assert!(html.contains("<path class=\"shade\" d=\"M0 0H1000V1200H0z\"/>"), "{html}");
        assert!(html.contains("<span class=\"mark\" style=\"left:50%\">1</span>"), "{html}");
        assert!(html.contains("aria-label=\"a &lt;chart&gt;\""), "{html}");
    }

    #[test]
    fn numbers_for_the_script_are_short() {
        assert_eq!(compact(Some(123_456_789.0)), Value::from(123_460_000));
        assert_eq!(compact(Some(0.123_456_7)), Value::from(0.12346));
        assert_eq!(compact(Some(f64::NAN)), Value::Null);
        assert_eq!(compact(None), Value::Null);
    }
}
