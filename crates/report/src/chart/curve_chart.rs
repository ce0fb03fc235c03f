//! Latency over throughput: a line through the points of one set-up, which may turn back.

use std::fmt::Write as _;

use super::axis::Axis;
use super::line_chart::{
    HEIGHT, WIDTH, axis_title, dash_attribute, frame_labels, grid, percent, plot, through,
};
use crate::escape::escape;

/// A chart of lines whose points have both their numbers.
#[derive(Clone, Debug)]
pub struct CurveChart {
    /// What it shows, for who cannot see it.
    pub description: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The lines.
    pub curves: Vec<CurveLine>,
}

/// One line.
#[derive(Clone, Debug)]
pub struct CurveLine {
    /// Its name.
    pub label: String,
    /// The colour's name in the style sheet.
    pub colour: &'static str,
    /// Lengths of dash and gap in pixels; empty for a solid line.
    pub dash: &'static [u8],
    /// Its points, in the order in which they are joined.
    pub points: Vec<CurvePoint>,
}

/// A point.
#[derive(Clone, Debug)]
pub struct CurvePoint {
    /// Where it is on the horizontal axis.
    pub x: f64,
    /// Where it is on the vertical axis.
    pub y: f64,
    /// What stands beside it where it is the first or the last.
    pub label: String,
    /// What it says when it is pointed at.
    pub about: String,
}

impl CurveChart {
    /// The chart as a figure: legend, drawing, labels.
    pub fn html(&self) -> String {
        let (x_ticks, y_ticks) = (self.x.ticks(), self.y.ticks());
        let curves: String = self.curves.iter().map(|curve| self.curve(curve)).collect();
        let ends: String = self.curves.iter().map(|curve| self.ends(curve)).collect();
        let drawing = grid(&x_ticks, &self.x, &y_ticks, &self.y) + &curves;
        let labels = frame_labels(&x_ticks, &self.x, &y_ticks, &self.y);
        let labels = format!("{labels}<div class=\"ends\" aria-hidden=\"true\">{ends}</div>");
        format!(
            "<div class=\"legend\">{}</div>\n{}{}\n{}",
            self.legend(),
            axis_title(&self.y, "y"),
            plot("tall", &self.description, &drawing, &labels),
            axis_title(&self.x, "x"),
        )
    }

    fn legend(&self) -> String {
        let mut out = String::new();
        for CurveLine { label, colour, dash, .. } in &self.curves {
            let _ = write!(
                out,
                "<button type=\"button\" disabled><svg class=\"swatch\" viewBox=\"0 0 24 8\" \
                 aria-hidden=\"true\"><path class=\"line {colour}\"{} d=\"M1 4h22\"/></svg>{}\
                 </button>",
                dash_attribute(dash),
                escape(label)
            );
        }
        out
    }

    fn curve(&self, curve: &CurveLine) -> String {
        let places: Vec<(f64, f64)> = curve.points.iter().map(|point| self.place(point)).collect();
        let mut out = format!(
            "<path class=\"line {}\"{} d=\"{}\"/>",
            curve.colour,
            dash_attribute(curve.dash),
            through(&places, 'M')
        );
        for (point, place) in curve.points.iter().zip(places) {
            let _ = write!(
                out,
                "<path class=\"line dot {}\" d=\"{}\"><title>{}</title></path>",
                curve.colour,
                through(&[place], 'M'),
                escape(&point.about)
            );
        }
        out
    }

    /// Labels of the first and the last point.
    fn ends(&self, curve: &CurveLine) -> String {
        let ends = [curve.points.first(), curve.points.last()];
        let label = |point: &CurvePoint| {
            format!(
                "<span style=\"left:{}%;bottom:{}%\">{}</span>",
                percent(self.x.place(point.x)),
                percent(self.y.place(point.y)),
                escape(&point.label)
            )
        };
        ends.into_iter().flatten().map(label).collect()
    }

    fn place(&self, point: &CurvePoint) -> (f64, f64) {
        let y = self.y.place(point.y).clamp(0.0, 1.0);
        (self.x.place(point.x) * WIDTH, (1.0 - y) * HEIGHT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_may_turn_back_and_names_its_ends() {
        let point = |x: f64, y: f64, clients: u32| CurvePoint {
            x,
            y,
            label: clients.to_string(),
            about: format!("{clients} <clients>"),
        };
        let points = vec![point(50.0, 1e6, 1), point(100.0, 1e7, 2), point(75.0, 1e8, 4)];
        let curve = CurveLine { label: "a & b".into(), colour: "s0", dash: &[], points };
        let chart = CurveChart {
            description: "curve".into(),
            x: Axis { max: 100.0, ..Axis::rate([100.0].into_iter()) },
            y: Axis::latency([1e6, 1e8].into_iter()),
            curves: vec![curve],
        };
        let html = chart.html();
        assert!(html.contains("d=\"M2000 1200l2000 -600l-1000 -600\""), "{html}");
        assert!(html.contains("left:50%;bottom:0%\">1</span>"), "{html}");
        assert!(html.contains("left:75%;bottom:100%\">4</span>"), "{html}");
        assert!(!html.contains(">2</span>") && html.contains("2 &lt;clients&gt;"), "{html}");
        assert!(html.contains("a &amp; b"), "{html}");
    }
}
