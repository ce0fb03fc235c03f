//! Charts of the servers' use of their machines, on the same axis of time as the latency.

use assay_analysis::servers::{ServerTimeSeries, Used};

use super::axis::Axis;
use super::charts::{DASHED, DOTTED, LONG, MIXED, SOLID, Timeline, known};
use super::line_chart::{Height, Line, LineChart};
use crate::facts::Facts;
use crate::servers::MIB;

/// Colours of nodes; with each round of them the dashes change.
const COLOURS: [&str; 5] = ["response", "service", "done", "misses", "lag"];
const DASHES: [&[u8]; 5] = [SOLID, DASHED, LONG, MIXED, DOTTED];

/// A chart with what it is called on the page.
pub struct Titled {
    pub title: &'static str,
    pub chart: LineChart,
}

/// A figure of a node over time.
struct Figure {
    id: &'static str,
    title: &'static str,
    of: fn(&Used) -> Option<f64>,
}

const FIGURES: [Figure; 6] = [
    Figure { id: "processors", title: "Processors in use", of: |used| used.processors },
    Figure { id: "memory", title: "Memory, MiB", of: |used| used.memory.map(|b| b / MIB) },
    Figure {
        id: "written",
        title: "Written to disk, MB per second",
        of: |used| used.disk_written.map(|bytes| bytes / 1e6),
    },
    Figure {
        id: "read",
        title: "Read from disk, MB per second",
        of: |used| used.disk_read.map(|bytes| bytes / 1e6),
    },
    Figure {
        id: "received",
        title: "Received over TCP, MB per second",
        of: |used| used.received.map(|bytes| bytes / 1e6),
    },
    Figure {
        id: "sent",
        title: "Sent over TCP, MB per second",
        of: |used| used.sent.map(|bytes| bytes / 1e6),
    },
];

/// A chart for each figure that was seen of some node and is not nothing all the time.
pub fn charts(facts: &Facts, timeline: &Timeline<'_>) -> Vec<Titled> {
    let mut moments: Vec<_> =
        facts.servers.iter().flat_map(|server| &server.points).map(|used| used.at).collect();
    moments.sort_unstable();
    moments.dedup();
    let xs: Vec<f64> = moments.iter().map(|at| at.as_secs_f64()).collect();
    let chart = |figure: &Figure| {
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
            Titled {
                title: figure.title,
                chart: LineChart { xs: xs.clone(), height: Height::Low, ..chart },
            }
        })
    };
    FIGURES.iter().filter_map(chart).collect()
}

fn line(
    place: usize,
    server: &ServerTimeSeries,
    figure: &Figure,
    moments: &[assay_model::Nanos],
) -> Line {
    let mut points = server.points.iter().peekable();
    let values = moments.iter().map(|at| {
        let used = points.next_if(|used| used.at == *at)?;
        (figure.of)(used)
    });
    Line {
        label: server.name.clone(),
        colour: COLOURS[place % COLOURS.len()],
        dash: DASHES[place / COLOURS.len() % DASHES.len()],
        is_filled: false,
        values: values.collect(),
    }
}
