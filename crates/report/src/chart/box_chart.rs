//! Boxes with whiskers side by side over a logarithmic axis of latencies.

use std::fmt::Write as _;

use assay_analysis::Boxplot;
use assay_model::Nanos;

use super::axis::Axis;
use super::line_chart::{HEIGHT, WIDTH, axis_title, frame_labels, grid, plot};

/// Half of a box's width, as a share of the space that it has.
const HALF: f64 = 0.24;

/// Half of the width of a whisker's end, likewise.
const HALF_WHISKER: f64 = 0.1;

/// A chart of boxes.
#[derive(Clone, Debug)]
pub struct BoxChart<'a> {
    /// What it shows, for who cannot see it.
    pub description: &'a str,
    /// The name of the colour in the style sheet.
    pub colour: &'a str,
    /// Each box with what stands below it; `None` leaves its place empty.
    pub boxes: Vec<(String, Option<Boxplot>)>,
    /// A value with a line across.
    pub limit: Option<Nanos>,
}

impl BoxChart<'_> {
    /// The chart as an SVG drawing with labels; the box is what is between the 25th and the 75th
    /// percentile, its line the median, the whiskers reach from the 5th to the 95th.
    pub fn html(&self) -> String {
        let (x, x_ticks) = Axis::side_by_side(self.boxes.iter().map(|(label, _)| label));
        let known = self.boxes.iter().filter_map(|(_, found)| *found);
        let values = known.flat_map(|found| found.quantiles);
        let y = Axis::latency(values.chain(self.limit).map(|time| time.0 as f64));
        let y_ticks = y.ticks();
        let boxes = self.boxes.iter().enumerate();
        let drawn: String = boxes
            .filter_map(|(place, (_, found))| Some(self.draw(place, &(*found)?, &y)))
            .collect();
        let limit = self.limit.map_or_else(String::new, |limit| {
            format!("<path class=\"mark\" d=\"M0 {}h{WIDTH}\"/>", height(&y, limit))
        });
        let drawing = grid(&[], &x, &y_ticks, &y) + &limit + &drawn;
        let labels = frame_labels(&x_ticks, &x, &y_ticks, &y);
        axis_title(&y, "y") + &plot("tall boxes", self.description, &drawing, &labels) + "\n"
    }

    fn draw(&self, place: usize, found: &Boxplot, y: &Axis) -> String {
        let space = WIDTH / self.boxes.len() as f64;
        let at = |share: f64| ((place as f64 + 0.5 + share) * space).round();
        let [low, first, median, third, high] = found.quantiles.map(|time| height(y, time));
        let (left, right) = (at(-HALF), at(HALF));
        let width = right - left;
        let (middle, end) = (at(0.0), at(-HALF_WHISKER));
        let ends = at(HALF_WHISKER) - end;
        let colour = self.colour;
        let mut out = format!(
            "<path class=\"band {colour}\" d=\"M{left} {third}h{width}V{first}h-{width}z\"/>\
             <path class=\"line {colour}\" d=\"M{left} {third}h{width}V{first}h-{width}z"
        );
        let _ = write!(
            out,
            "M{middle} {third}V{high}M{end} {high}h{ends}M{middle} {first}V{low}M{end} {low}h{ends}\
             \"/><path class=\"line median {colour}\" d=\"M{left} {median}h{width}\"/>"
        );
        out
    }
}

/// Where a latency is, from above; what is beyond the axis is at its end.
fn height(y: &Axis, time: Nanos) -> f64 {
    ((1.0 - y.place(time.0.max(1) as f64).clamp(0.0, 1.0)) * HEIGHT).round()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(boxes: Vec<(String, Option<Boxplot>)>) -> String {
        let limit = Some(Nanos::from_millis(1));
        BoxChart { description: "late <b>", colour: "lag", boxes, limit }.html()
    }

    #[test]
    fn a_box_lies_between_its_whiskers() {
        let quantiles = [1_000, 10_000, 100_000, 200_000, 1_000_000].map(Nanos);
        let found = Boxplot { count: 9, quantiles, max: Nanos(2_000_000) };
        let html = chart(vec![("×1".to_owned(), Some(found)), ("×5".to_owned(), None)]);
        // Three decades on 1200: a decade is 400 high.
        assert!(html.contains("M520 280h960V800h-960z"), "{html}");
        assert!(html.contains("M1000 280V0M800 0h400M1000 800V1200M800 1200h400"), "{html}");
        assert!(html.contains("d=\"M520 400h960\""), "{html}");
        assert!(html.contains(">×5</span>") && html.contains("late &lt;b&gt;"), "{html}");
    }

    #[test]
    fn a_chart_without_boxes_has_its_axis() {
        assert!(chart(vec![("×1".to_owned(), None)]).contains("1 ms"));
        assert!(chart(Vec::new()).contains("1 ms"));
    }
}
