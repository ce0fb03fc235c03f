//! Charts of the servers' use of their machines, on the same axis of time as the latency.

use assay_analysis::servers::{ServerTimeSeries, Used};

use super::timeline::Timeline;
use crate::chart::axis::Axis;
use crate::chart::line_chart::{Height, Line, LineChart};
use crate::chart::spectrum::{DASHED, DOTTED, LONG, MIXED, SOLID, known};
use crate::document::ChartFigure;
use crate::facts::Facts;
use crate::servers::MIB;

/// Colours of nodes; with each round of them the dashes change.
const COLOURS: [&str; 5] = ["response", "service", "done", "misses", "lag"];
const DASHES: [&[u8]; 5] = [SOLID, DASHED, LONG, MIXED, DOTTED];

/// What is drawn of a node over time.
struct Drawn {
    id: &'static str,
    title: &'static str,
    of: fn(&Used) -> Option<f64>,
}

const FIGURES: [Drawn; 6] = [
    Drawn { id: "processors", title: "Processors in use", of: |used| used.processors },
    Drawn { id: "memory", title: "Memory, MiB", of: |used| used.memory.map(|b| b / MIB) },
    Drawn {
        id: "written",
        title: "Written to disk, MB per second",
        of: |used| used.disk_written.map(|bytes| bytes / 1e6),
    },
    Drawn {
        id: "read",
        title: "Read from disk, MB per second",
        of: |used| used.disk_read.map(|bytes| bytes / 1e6),
    },
    Drawn {
        id: "received",
        title: "Received over TCP, MB per second",
        of: |used| used.received.map(|bytes| bytes / 1e6),
    },
    Drawn {
        id: "sent",
        title: "Sent over TCP, MB per second",
        of: |used| used.sent.map(|bytes| bytes / 1e6),
    },
];

/// A chart for each figure that was seen of some node and is not nothing all the time.
pub fn charts(facts: &Facts, timeline: &Timeline<'_>) -> Vec<ChartFigure> {
    let mut moments: Vec<_> =
        facts.servers.iter().flat_map(|server| &server.points).map(|used| used.at).collect();
    moments.sort_unstable();
    moments.dedup();
    let xs: Vec<f64> = moments.iter().map(|at| at.as_secs_f64()).collect();
    let chart = |figure: &Drawn| {
        let lines: Vec<Line> = facts
            .servers
            .iter()
            .enumerate()
            .map(|(place, server)| line(place, server, figure, &moments))
            .collect();
        let is_observed = known(&lines).any(|value| value > 0.0);
        is_observed.then(|| {
            let y = Axis::amount(known(&lines));
            let description = format!("{} of each node over time", figure.title);
            let chart = timeline.chart(figure.id, description, y, lines);
            let chart = LineChart { xs: xs.clone(), height: Height::Low, ..chart };
            ChartFigure::lines(figure.title, chart)
        })
    };
    FIGURES.iter().filter_map(chart).collect()
}

fn line(
    place: usize,
    server: &ServerTimeSeries,
    figure: &Drawn,
    moments: &[assay_model::Nanos],
) -> Line {
    let mut points = server.points.iter().peekable();
    let values = moments.iter().map(|at| {
        let used = points.next_if(|used| used.at == *at)?;
        (figure.of)(used)
    });
    Line::new(
        server.name.clone(),
        COLOURS[place % COLOURS.len()],
        DASHES[place / COLOURS.len() % DASHES.len()],
        values,
    )
}
