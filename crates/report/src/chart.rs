//! Charts as SVG drawings with labels, which need no script.

pub mod axis;
pub mod bar_chart;
pub mod box_chart;
pub mod curve_chart;
pub mod heat_chart;
pub mod line_chart;
pub mod spectrum;
