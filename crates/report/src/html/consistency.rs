//! The section on consistency: verdicts, staleness, witnesses drawn in time.

use std::fmt::Write as _;

use assay_model::Outcome;

use super::axis::Axis;
use super::charts::{DASHED, DOTTED, LONG, MIXED, SOLID, Timeline};
use super::escape::escape;
use super::line_chart::{Height, Line, LineChart};
use super::sections::{details, grouped, section, table};
use crate::consistency::{self, ConsistencyResult, ViolationClass, Witnessed};
use crate::units::{Letters, duration};

/// Charts of the section, which the page's script makes movable.
pub struct ConsistencyCharts {
    /// Violations over the run's time, stale reads among them.
    pub violations: Option<LineChart>,
    /// The share of reads that saw a write, over the time since its answer.
    pub visibility: Option<LineChart>,
}

/// The charts of `result`.
pub fn charts(result: &ConsistencyResult, course: &Timeline<'_>) -> ConsistencyCharts {
    let staleness = &result.staleness;
    let is_stale = staleness.stale_reads > 0;
    ConsistencyCharts {
        violations: violations(result, course),
        visibility: is_stale.then(|| visibility(result)).flatten(),
    }
}

impl ConsistencyCharts {
    /// Those that there are.
    pub fn all(&self) -> [&Option<LineChart>; 2] {
        [&self.violations, &self.visibility]
    }
}

/// Colours and dashes of the classes of violations.
const LINES: [(&str, &[u8]); 5] = [
    ("refused", SOLID),
    ("unknown", DASHED),
    ("service", LONG),
    ("misses", MIXED),
    ("lag", DOTTED),
];

fn violations(result: &ConsistencyResult, course: &Timeline<'_>) -> Option<LineChart> {
    let classes = result.violation_classes();
    let line = |(class, (colour, dash)): (&ViolationClass, (&'static str, &'static [u8]))| {
        let counts = course.per_interval(&class.per_second).into_iter();
        Line {
            label: class.name.to_owned(),
            colour,
            dash,
            is_filled: false,
            values: counts.map(|count| Some(count as f64)).collect(),
        }
    };
    let seen = classes.iter().filter(|class| !class.per_second.is_empty());
    let lines: Vec<Line> = seen.zip(LINES).map(line).collect();
    if lines.is_empty() {
        return None;
    }
    let y = Axis::amount(super::charts::known(&lines)).titled("violations per interval");
    let chart = course.chart("violations", "Violations over time".to_owned(), y, lines);
    Some(LineChart { height: Height::Low, ..chart })
}

fn visibility(result: &ConsistencyResult) -> Option<LineChart> {
    let bins = &result.staleness.visibility;
    let xs: Vec<f64> = bins.iter().map(|bin| bin.from.0.max(1) as f64).collect();
    if xs.len() < 2 {
        return None;
    }
    let share = |bin: &assay_consistency::register::VisibilityBin| {
        (bin.reads > 0).then(|| 100.0 * bin.visible as f64 / bin.reads as f64)
    };
    let lines = vec![Line {
        label: "reads that saw the newest write".to_owned(),
        colour: "done",
        dash: DASHED,
        is_filled: false,
        values: bins.iter().map(share).collect(),
    }];
    Some(LineChart {
        id: "visibility".to_owned(),
        description: "Share of reads that saw the newest write, over its age".to_owned(),
        x: Axis::latency(xs.iter().copied()).titled("time since the write was answered"),
        y: Axis { max: 100.0, ..Axis::amount(std::iter::once(100.0)) }.titled("% of the reads"),
        xs,
        lines,
        bands: Vec::new(),
        shades: Vec::new(),
        marks: Vec::new(),
        height: Height::Low,
    })
}

/// The section of `result` with its `charts`.
pub fn consistency(result: &ConsistencyResult, charts: &ConsistencyCharts) -> String {
    let mut out = section(
        "consistency",
        "Consistency",
        "What the answers show about the store's promises. That no violation was found is no proof \
         that there is none: the remark says how rare one must be.",
    );
    out += &table(&consistency::verdicts(result, Letters::Unicode), "");
    let checks = consistency::checks(result, Letters::Unicode);
    if !checks.is_empty() {
        out += &details("Checks of the verdicts", &table(&checks, ""));
    }
    let staleness = consistency::staleness(result, Letters::Unicode);
    for line in staleness.into_iter().chain(consistency::lost_writes(result)) {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", grouped(&escape(&line)));
    }
    let titled = [
        ("Violations over time", &charts.violations),
        ("Visibility of writes", &charts.visibility),
    ];
    for (title, chart) in titled {
        if let Some(chart) = chart {
            let _ = write!(out, "<h3>{title}</h3>\n{}", chart.html());
        }
    }
    for (place, (title, operations)) in consistency::witnesses(result).iter().enumerate() {
        let drawn = witness(result, operations);
        let title = escape(&consistency::title(result, *title, Letters::Unicode));
        match place {
            0 => out += &format!("<h3>{title}</h3>\n{drawn}"),
            _ => out += &details(&title, &drawn),
        }
    }
    out + "</section>\n"
}

/// The operations of a witness as bars over time, one row each.
fn witness(result: &ConsistencyResult, operations: &[&Witnessed]) -> String {
    let end = |operation: &Witnessed| match operation.times() {
        (_, ended, Outcome::Done) => ended,
        (started, ..) => started,
    };
    let start = |operation: &Witnessed| operation.times().0;
    let during = || operations.iter().filter(|operation| !operation.is_load());
    let from = during().map(|operation| start(operation)).min().unwrap_or_default();
    let until = during().map(|operation| end(operation)).max().unwrap_or_default();
    let span = until.since(from).0.max(1) as f64;
    let bar = |operation: &Witnessed| {
        let left = start(operation).since(from).0 as f64 / span * 980.0;
        let width = end(operation).since(start(operation)).0 as f64 / span * 980.0;
        let class = if operation.writes() { "done" } else { "service" };
        format!(
            "<svg viewBox=\"0 0 1000 20\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
             <rect class=\"{class}\" x=\"{left:.0}\" y=\"3\" width=\"{:.0}\" height=\"14\"/>\
             </svg>",
            width.max(8.0)
        )
    };
    let has_nodes = operations.iter().any(|one| result.node_name(one).is_some());
    let head = if has_nodes { "<th scope=\"col\">node</th>" } else { "" };
    let mut out = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Operations\">\
         <table class=\"witness\"><thead><tr><th scope=\"col\" class=\"n\">operation</th>\
         <th scope=\"col\" class=\"n\">session</th>{head}<th scope=\"col\">did</th>\
         <th scope=\"col\" class=\"n\">started</th><th scope=\"col\" class=\"n\">took</th>\
         <th scope=\"col\">in time</th></tr></thead><tbody>\n",
    );
    for operation in operations {
        let [index, session, did, started, _] =
            consistency::cells(result, operation, Letters::Unicode)
                .map(|cell| grouped(&escape(&cell)));
        let took = match operation.times() {
            _ if operation.is_load() => String::new(),
            (started, ended, Outcome::Done) => duration(ended.since(started), Letters::Unicode),
            (.., other) => other.name().to_owned(),
        };
        let node = match has_nodes {
            true => format!("<td>{}</td>", escape(result.node_name(operation).unwrap_or_default())),
            false => String::new(),
        };
        let bar = if operation.is_load() { String::new() } else { bar(operation) };
        let _ = writeln!(
            out,
            "<tr><td class=\"n\">{index}</td><td class=\"n\">{session}</td>{node}<td>{did}</td>\
             <td class=\"n\">{started}</td><td class=\"n\">{}</td>\
             <td class=\"span\">{bar}</td></tr>",
            grouped(&escape(&took)),
        );
    }
    out + "</tbody></table></div>\n"
}
