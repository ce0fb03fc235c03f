//! The picture: what is where on the screen.

mod text;
mod tone;

use assay_fleet::StatusRow;
use assay_model::Nanos;
use assay_report::Letters;
use assay_report::units::{duration, rate};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::symbols::bar;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Sparkline};

use crate::dashboard::Caption;
use crate::dashboard::board::text::Section;
use crate::dashboard::board::tone::{ASCII_BARS, ASCII_BORDER, Tone, paint};
use crate::dashboard::keys;
use crate::dashboard::time_series::TimeSeries;
use crate::dashboard::warnings::Warnings;
use crate::interval::{LiveInterval, Totals};

/// Charts higher than this show nothing more.
const CHART_ROWS_MAX: u16 = 8;

/// Everything that is to be seen.
pub struct BoardView<'a> {
    /// What holds for the whole run.
    pub caption: &'a Caption,
    /// Now, on the run's time axis.
    pub at: Nanos,
    /// Processes in flight now.
    pub in_flight: u64,
    /// The rate that is intended now; open load only.
    pub rate: Option<f64>,
    /// The figures of the last interval, as soon as there is one.
    pub latest: Option<&'a LiveInterval>,
    /// Counts since the beginning.
    pub totals: &'a Totals,
    /// The course so far.
    pub time_series: &'a TimeSeries,
    /// What was said.
    pub warnings: &'a Warnings,
    /// Whether no more operations are issued.
    pub is_ending: bool,
    /// The agents of a fleet; none if this process issues everything itself.
    pub agents: &'a [StatusRow],
    /// Whether the keys are explained.
    pub shows_help: bool,
}

/// A place on the screen that is filled from the top.
struct Rest(Rect);

impl Rest {
    /// Takes the upper `rows`, or what is left of them.
    fn take(&mut self, rows: u16) -> Rect {
        let rows = rows.min(self.0.height);
        let taken = Rect { height: rows, ..self.0 };
        self.0.y += rows;
        self.0.height -= rows;
        taken
    }
}

/// Draws `view` over the whole frame, whatever its size.
pub fn draw(frame: &mut Frame<'_>, view: &BoardView<'_>) {
    let area = frame.area();
    if area.height == 0 || area.width == 0 {
        return;
    }
    let (above, below) = (area.height - 1, Rect { y: area.bottom() - 1, height: 1, ..area });
    frame.render_widget(Paragraph::new(text::keys(view)), below);
    let mut rest = Rest(Rect { height: above, ..area });
    let sections = text::sections(view, area.width);
    // However small the screen: what was said last is seen.
    let said = u16::from(!view.warnings.last(1).is_empty());
    let (sections, has_gaps) = fitting(sections, above.saturating_sub(said));
    for section in sections {
        let rows = section.lines.len() as u16;
        frame.render_widget(Paragraph::new(section.lines), rest.take(rows));
        rest.take(u16::from(has_gaps));
    }
    draw_rest(frame, view, rest);
    if view.shows_help {
        draw_help(frame, view);
    }
}

/// The sections that fit into `rows`, the least important left out first, and whether there is
/// an empty line after each.
fn fitting(mut sections: Vec<Section>, rows: u16) -> (Vec<Section>, bool) {
    let height = |sections: &[Section]| -> usize {
        sections.iter().map(|section| section.lines.len()).sum()
    };
    while height(&sections) > usize::from(rows) && sections.len() > 1 {
        let least = sections.iter().map(|section| section.rank).max();
        sections.retain(|section| Some(section.rank) != least);
    }
    let has_gaps = height(&sections) + sections.len() + 4 <= usize::from(rows);
    (sections, has_gaps)
}

/// Charts and notices share what the figures leave.
fn draw_rest(frame: &mut Frame<'_>, view: &BoardView<'_>, mut rest: Rest) {
    let rows = rest.0.height;
    let warnings = view.warnings.last(usize::from(rows));
    // Without room for charts the notices may have all of it.
    let for_notices = if rows < 6 { rows } else { (warnings.len() as u16 + 1).min(rows / 3) };
    let charts = (rows - for_notices) / 2;
    if charts >= 2 {
        let chart_rows = (charts - 1).min(CHART_ROWS_MAX);
        draw_throughput(frame, view, &mut rest, chart_rows);
        draw_p99(frame, view, &mut rest, chart_rows);
        rest.take(u16::from(rest.0.height > 1));
    }
    let lines = view.warnings.last(usize::from(rest.0.height));
    let lines: Vec<Line<'_>> =
        lines.into_iter().map(|line| Line::styled(line, paint(view, Tone::Notice))).collect();
    frame.render_widget(Paragraph::new(lines), rest.0);
}

fn draw_throughput(frame: &mut Frame<'_>, view: &BoardView<'_>, rest: &mut Rest, rows: u16) {
    let achieved = view.time_series.achieved(usize::from(rest.0.width));
    let most = achieved.iter().copied().fold(0.0, f64::max);
    let title = format!("achieved over the run, up to {}", rate(most.round()));
    let bars = achieved.iter().map(|per_s| per_s.round() as u64).collect();
    draw_chart(frame, view, (title, Tone::Throughput), bars, [rest.take(1), rest.take(rows)]);
}

fn draw_p99(frame: &mut Frame<'_>, view: &BoardView<'_>, rest: &mut Rest, rows: u16) {
    let p99 = view.time_series.p99(usize::from(rest.0.width));
    let worst = p99.iter().flatten().max();
    let worst = worst.map(|worst| duration(*worst, view.caption.style.letters));
    let worst = worst.map_or_else(String::new, |worst| format!(", up to {worst}"));
    let (bars, scale) = heights(&p99);
    let title = format!("p99 of response over the run{worst}{scale}");
    draw_chart(frame, view, (title, Tone::Latency), bars, [rest.take(1), rest.take(rows)]);
}

/// The heights of latencies, and what to say about their scale.
///
/// One stall would press everything else to the ground, so beyond a factor of ten the logarithm
/// is shown, from half of the least.
fn heights(latencies: &[Option<Nanos>]) -> (Vec<u64>, &'static str) {
    let known = || latencies.iter().flatten().map(|latency| latency.0.max(1) as f64);
    let least = known().fold(f64::INFINITY, f64::min);
    let is_wide = known().fold(0.0, f64::max) > 10.0 * least;
    let height = |latency: &Option<Nanos>| match latency {
        None => 0,
        Some(latency) if is_wide => (1e3 * (2.0 * latency.0.max(1) as f64 / least).log2()) as u64,
        Some(latency) => latency.0,
    };
    let scale = if is_wide { ", log scale" } else { "" };
    (latencies.iter().map(height).collect(), scale)
}

fn draw_chart(
    frame: &mut Frame<'_>,
    view: &BoardView<'_>,
    (title, tone): (String, Tone),
    bars: Vec<u64>,
    [above, below]: [Rect; 2],
) {
    frame.render_widget(Line::styled(title, paint(view, Tone::Label)), above);
    let set = match view.caption.style.letters {
        Letters::Unicode => bar::NINE_LEVELS,
        Letters::Ascii => ASCII_BARS,
    };
    let most = bars.iter().copied().max().unwrap_or(0).max(1);
    let chart = Sparkline::default().data(bars).max(most).bar_set(set).style(paint(view, tone));
    frame.render_widget(chart, below);
}

fn draw_help(frame: &mut Frame<'_>, view: &BoardView<'_>) {
    let area = frame.area();
    let (width, height) = (60.min(area.width), (keys::HELP.len() as u16 + 2).min(area.height));
    let place = Rect { x: (area.width - width) / 2, y: (area.height - height) / 2, width, height };
    let line = |(key, meaning): &(&'static str, &'static str)| {
        let key = Span::styled(format!(" {key:<7}"), paint(view, Tone::Strong));
        Line::from(vec![key, Span::raw(*meaning)])
    };
    let block = match view.caption.style.letters {
        Letters::Unicode => Block::bordered(),
        Letters::Ascii => Block::bordered().border_set(ASCII_BORDER),
    };
    let lines: Vec<Line<'_>> = keys::HELP.iter().map(line).collect();
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(lines).block(block.title(" keys ")), place);
}

#[cfg(test)]
mod tests;
