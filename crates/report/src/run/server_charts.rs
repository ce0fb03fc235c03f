//! Charts of what was seen of servers, on the same axis of time as the latency.
//!
//! They show the use of the servers' machines, and what servers counted about themselves.

use std::collections::BTreeSet;

use assay_analysis::scraped::ScrapedSeries;
use assay_analysis::servers::Used;
use assay_model::Nanos;

use super::timeline::Timeline;
use crate::chart::axis::Axis;
use crate::chart::line_chart::{Height, Line, LineChart};
use crate::chart::spectrum::{DASHED, DOTTED, LONG, MIXED, SOLID, known};
use crate::document::ChartFigure;
use crate::facts::Facts;
use crate::scraped::name;
use crate::servers::MIB;

/// Charts of metrics that are shown; the run directory has all.
const MOST_CHARTS: usize = 12;
/// Colours of servers and their parts; with each round of them the dashes change.
const COLOURS: [&str; 5] = ["response", "service", "done", "misses", "lag"];
const DASHES: [&[u8]; 5] = [SOLID, DASHED, LONG, MIXED, DOTTED];
/// Lines of one chart of a metric.
const MOST_LINES: usize = COLOURS.len() * DASHES.len();

/// What is drawn of a node over time.
type OfNode = fn(&Used) -> Option<f64>;

/// The figures of nodes by the ids of their charts, with their titles.
const FIGURES: [(&str, &str, OfNode); 6] = [
    ("processors", "Processors in use", |used| used.processors),
    ("memory", "Memory, MiB", |used| used.memory.map(|bytes| bytes / MIB)),
    ("written", "Written to disk, MB per second", |used| used.disk_written.map(|it| it / 1e6)),
    ("read", "Read from disk, MB per second", |used| used.disk_read.map(|bytes| bytes / 1e6)),
    ("received", "Received over TCP, MB per second", |used| used.received.map(|it| it / 1e6)),
    ("sent", "Sent over TCP, MB per second", |used| used.sent.map(|bytes| bytes / 1e6)),
];

/// Values of one server over time, with what its line is called.
type ServerValues = (String, Vec<(Nanos, Option<f64>)>);

/// A chart for each figure that was seen of some node and is not nothing all the time.
pub fn of_machines(facts: &Facts, timeline: &Timeline<'_>) -> Vec<ChartFigure> {
    let chart = |(id, title, of): (&str, &str, OfNode)| {
        let lines = facts.servers.iter().map(|server| {
            let points = server.points.iter().map(|used| (used.at, of(used)));
            (server.name.clone(), points.collect())
        });
        let lines: Vec<ServerValues> = lines.collect();
        let mut values = lines.iter().flat_map(|(_, points)| points);
        let is_observed = values.any(|(_, value)| value.is_some_and(|value| value > 0.0));
        let description = format!("{title} of each node over time");
        is_observed.then(|| drawn(timeline, id, title, description, &lines))
    };
    FIGURES.into_iter().filter_map(chart).collect()
}

/// A chart for each metric that changes, the more telling first.
pub fn of_metrics(facts: &Facts, timeline: &Timeline<'_>) -> Vec<ChartFigure> {
    let mut metrics: Vec<&str> = Vec::new();
    for series in facts.scraped.iter().filter(|series| changes(series)) {
        if !metrics.contains(&series.metric) {
            metrics.push(series.metric);
        }
    }
    let charts = metrics.into_iter().take(MOST_CHARTS).enumerate().map(|(place, metric)| {
        let of_metric = |series: &&ScrapedSeries| series.metric == metric;
        let all: Vec<&ScrapedSeries> =
            facts.scraped.iter().filter(of_metric).take(MOST_LINES).collect();
        let lines: Vec<ServerValues> = all.iter().copied().map(scraped_values).collect();
        let title = name(metric, "", all[0].is_rate);
        let description = format!("{title} of each server over time");
        drawn(timeline, &format!("scraped-{}", place + 1), &title, description, &lines)
    });
    charts.collect()
}

fn changes(series: &ScrapedSeries) -> bool {
    series.points.iter().any(|(_, value)| *value != series.points[0].1)
}

fn scraped_values(series: &ScrapedSeries) -> ServerValues {
    let gap = if series.part.is_empty() { "" } else { " " };
    let points = series.points.iter().map(|(at, value)| (*at, Some(*value)));
    (format!("{}{gap}{}", series.source, series.part), points.collect())
}

/// The values of several servers over the moments of all of them.
fn drawn(
    timeline: &Timeline<'_>,
    id: &str,
    title: &str,
    description: String,
    servers: &[ServerValues],
) -> ChartFigure {
    let all = servers.iter().flat_map(|(_, points)| points);
    let moments: BTreeSet<Nanos> = all.map(|(at, _)| *at).collect();
    let line = |(place, (label, points)): (usize, &ServerValues)| {
        let mut points = points.iter().peekable();
        let values = moments.iter().map(|at| points.next_if(|(other, _)| other == at)?.1);
        let dash = DASHES[place / COLOURS.len() % DASHES.len()];
        Line::new(label.clone(), COLOURS[place % COLOURS.len()], dash, values)
    };
    let lines: Vec<Line> = servers.iter().enumerate().map(line).collect();
    let chart = timeline.chart(id, description, Axis::amount(known(&lines)), lines);
    let xs = moments.iter().map(|at| at.as_secs_f64()).collect();
    ChartFigure::lines(title, LineChart { xs, height: Height::Low, ..chart })
}
