//! A map of counts by time, by latency: the square root of a count is its colour.

use std::fmt::Write as _;

use assay_analysis::HeatMap;

use super::axis::{Axis, AxisScale, AxisUnit};
use super::line_chart::{HEIGHT, WIDTH, axis_title, frame_labels, grid, plot};

/// How many colours there are; the style sheet has a class for each.
const COLOURS: u64 = 16;

/// The map as an SVG drawing with labels, or nothing if the map is empty.
///
/// `moment` is the title of the time axis; `description` is for screen readers.
pub fn heat_chart(map: &HeatMap, moment: &'static str, description: &str, class: &str) -> String {
    let (Some(first), Some(last)) = (map.edges.first(), map.edges.last()) else {
        return String::new();
    };
    if map.columns.is_empty() || map.peak == 0 {
        return String::new();
    }
    let from = map.from.as_secs_f64();
    let width = map.column_width.as_secs_f64() * map.columns.len() as f64;
    let x = Axis::time(from, from + width).titled(moment);
    let y = Axis {
        scale: AxisScale::Log,
        unit: AxisUnit::Latency,
        min: first.0.max(1) as f64,
        max: last.0.max(2) as f64,
        title: "latency",
    };
    let (columns, rows) = (map.columns.len(), map.edges.len() - 1);
    let drawing = format!(
        "{}<svg width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox=\"0 -.5 {columns} {rows}\" \
         preserveAspectRatio=\"none\">{}</svg>",
        grid(&x.ticks(), &x, &y.ticks(), &y),
        cells(map, rows),
    );
    let labels = frame_labels(&x.ticks(), &x, &y.ticks(), &y);
    let plot = plot(&format!("{class} heat"), description, &drawing, &labels);
    format!("{}{plot}{}\n", axis_title(&y, "y"), axis_title(&x, "x"))
}

/// One path for each colour; neighbours of one colour in a row are one stroke.
fn cells(map: &HeatMap, rows: usize) -> String {
    let mut strokes = vec![Strokes::default(); COLOURS as usize];
    for row in (0..rows).rev() {
        let mut column = 0;
        while column < map.columns.len() {
            let colour = colour(map.columns[column][row], map.peak);
            let run = map.columns[column..]
                .iter()
                .take_while(|cells| self::colour(cells[row], map.peak) == colour)
                .count();
            if let Some(colour) = colour {
                // Rows rise, the drawing's coordinates fall.
                strokes[colour].push(column, rows - 1 - row, run);
            }
            column += run;
        }
    }
    let mut out = String::new();
    for (colour, Strokes { path, .. }) in strokes.iter().enumerate() {
        if !path.is_empty() {
            let _ = write!(out, "<path class=\"heat h{colour}\" d=\"{path}\"/>");
        }
    }
    out
}

/// Horizontal strokes as one path, in as few letters as possible.
#[derive(Clone, Debug, Default)]
struct Strokes {
    path: String,
    end: Option<(usize, usize)>,
}

impl Strokes {
    /// Appends a stroke; strokes come line by line, from left to right.
    fn push(&mut self, column: usize, line: usize, length: usize) {
        let _ = match self.end {
            Some((end, last)) if last == line => {
                write!(self.path, "m{} 0h{length}", column - end)
            }
            _ => write!(self.path, "M{column} {line}h{length}"),
        };
        self.end = Some((column + length, line));
    }
}

/// The colour of a count; none for zero, so that a single slow operation is still seen.
fn colour(count: u64, peak: u64) -> Option<usize> {
    if count == 0 {
        return None;
    }
    let share = (count as f64 / peak as f64).sqrt();
    Some(((share * COLOURS as f64) as u64).min(COLOURS - 1) as usize)
}

#[cfg(test)]
mod tests {
    use assay_model::Nanos;

    use super::*;

    fn map(columns: Vec<Vec<u64>>) -> HeatMap {
        HeatMap {
            from: Nanos::ZERO,
            column_width: Nanos::from_secs(1),
            edges: vec![Nanos(1_000), Nanos(10_000), Nanos(100_000)],
            peak: columns.iter().flatten().copied().max().unwrap_or(0),
            columns,
        }
    }

    #[test]
    fn neighbours_of_one_colour_are_one_stroke() {
        let map = map(vec![vec![100, 0], vec![100, 1], vec![25, 0], vec![100, 0]]);
        assert_eq!(
            cells(&map, 2),
            "<path class=\"heat h1\" d=\"M1 0h1\"/><path class=\"heat h8\" d=\"M2 1h1\"/>\
             <path class=\"heat h15\" d=\"M0 1h2m1 0h1\"/>"
        );
    }

    #[test]
    fn colours_follow_the_square_root() {
        assert_eq!(colour(0, 100), None);
        assert_eq!(colour(1, 1_000_000), Some(0));
        assert_eq!(colour(25, 100), Some(8));
        assert_eq!(colour(100, 100), Some(15));
    }

    #[test]
    fn an_empty_map_is_nothing() {
        assert_eq!(heat_chart(&HeatMap::default(), "", "", "tall"), "");
        assert_eq!(heat_chart(&map(vec![vec![0, 0]]), "", "", "tall"), "");
    }
}
