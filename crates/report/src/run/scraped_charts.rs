//! Charts of what servers counted about themselves, on the same axis of time as the latency.

use assay_analysis::scraped::ScrapedSeries;
use assay_model::Nanos;

use super::timeline::Timeline;
use crate::chart::axis::Axis;
use crate::chart::line_chart::{Height, Line, LineChart};
use crate::chart::spectrum::{DASHED, DOTTED, LONG, MIXED, SOLID, known};
use crate::document::ChartFigure;
use crate::facts::Facts;
use crate::scraped::name;

/// Charts that are shown; the run directory has all.
const MOST_CHARTS: usize = 12;
/// Colours of servers and their parts; with each round of them the dashes change.
const COLOURS: [&str; 5] = ["response", "service", "done", "misses", "lag"];
const DASHES: [&[u8]; 5] = [SOLID, DASHED, LONG, MIXED, DOTTED];
/// Lines of one chart.
const MOST_LINES: usize = COLOURS.len() * DASHES.len();
/// Ids of the charts on the page.
const IDS: [&str; MOST_CHARTS] = [
    "scraped-1",
    "scraped-2",
    "scraped-3",
    "scraped-4",
    "scraped-5",
    "scraped-6",
    "scraped-7",
    "scraped-8",
    "scraped-9",
    "scraped-10",
    "scraped-11",
    "scraped-12",
];

/// A chart for each metric that changes, the more telling first.
pub fn charts(facts: &Facts, timeline: &Timeline<'_>) -> Vec<ChartFigure> {
    let mut metrics: Vec<&str> = Vec::new();
    for series in facts.scraped.iter().filter(|series| changes(series)) {
        if !metrics.contains(&series.metric) {
            metrics.push(series.metric);
        }
    }
    let charts = metrics.into_iter().zip(IDS).map(|(metric, id)| {
        let of_metric = |series: &&ScrapedSeries| series.metric == metric;
        let series: Vec<&ScrapedSeries> =
            facts.scraped.iter().filter(of_metric).take(MOST_LINES).collect();
        chart(id, metric, &series, timeline)
    });
    charts.collect()
}

fn changes(series: &ScrapedSeries) -> bool {
    series.points.iter().any(|(_, value)| *value != series.points[0].1)
}

fn chart(
    id: &'static str,
    metric: &str,
    all: &[&ScrapedSeries],
    timeline: &Timeline<'_>,
) -> ChartFigure {
    let mut moments: Vec<Nanos> =
        all.iter().flat_map(|series| &series.points).map(|(at, _)| *at).collect();
    moments.sort_unstable();
    moments.dedup();
    let lines: Vec<Line> =
        all.iter().enumerate().map(|(place, series)| line(place, series, &moments)).collect();
    let title = name(metric, "", all[0].is_rate);
    let description = format!("{title} of each server over time");
    let chart = timeline.chart(id, description, Axis::amount(known(&lines)), lines);
    let xs = moments.iter().map(|at| at.as_secs_f64()).collect();
    ChartFigure::lines(title, LineChart { xs, height: Height::Low, ..chart })
}

fn line(place: usize, series: &ScrapedSeries, moments: &[Nanos]) -> Line {
    let mut points = series.points.iter().peekable();
    let values = moments.iter().map(|at| Some(points.next_if(|(other, _)| other == at)?.1));
    let gap = if series.part.is_empty() { "" } else { " " };
    Line::new(
        format!("{}{gap}{}", series.source, series.part),
        COLOURS[place % COLOURS.len()],
        DASHES[place / COLOURS.len() % DASHES.len()],
        values,
    )
}
