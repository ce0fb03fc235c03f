//! The section on consistency: verdicts, staleness, witnesses drawn in time.

use assay_model::Outcome;

use super::timeline::Timeline;
use crate::chart::axis::Axis;
use crate::chart::line_chart::{Height, Line, LineChart};
use crate::chart::spectrum::{DASHED, DOTTED, LONG, MIXED, SOLID, known};
use crate::consistency::{self, ConsistencyResult, ViolationClass, Witnessed};
use crate::document::{Block, ChartFigure, DocumentSection, FigureLayout, PageCell, PageTable};
use crate::units::{Letters, duration};

const LEAD: &str = "What the answers show about the store's promises. That no violation was found \
    is no proof that there is none: the remark says how rare one must be.";

/// The section of `result` on the page of a run with this course.
pub fn section<'a>(
    result: &'a ConsistencyResult,
    course: impl Fn() -> Timeline<'a> + 'a,
) -> DocumentSection<'a> {
    let section =
        DocumentSection::of_page("consistency", "Consistency", LEAD).listed("Consistency");
    let charts = Block::figures(FigureLayout::Stacked, move || {
        let visibility = || visibility(result).filter(|_| result.staleness.stale_reads > 0);
        let titled = [
            ("Violations over time", violations(result, &course())),
            ("Visibility of writes", visibility()),
        ];
        titled
            .into_iter()
            .filter_map(|(title, chart)| Some(ChartFigure::lines(title, chart?)))
            .collect()
    });
    let section = section.with(Block::on_page(|| verdicts(result))).with(charts);
    section.with(Block::on_page(|| witnesses(result)))
}

/// Verdicts with their checks, then staleness and lost writes.
fn verdicts<'a>(result: &ConsistencyResult) -> Vec<Block<'a>> {
    let mut blocks = vec![consistency::verdicts(result, Letters::Unicode).into()];
    let checks = consistency::checks(result, Letters::Unicode);
    if !checks.is_empty() {
        blocks.push(Block::Fold("Checks of the verdicts".to_owned(), vec![checks.into()]));
    }
    let staleness = consistency::staleness(result, Letters::Unicode);
    blocks.extend(staleness.into_iter().chain(consistency::lost_writes(result)).map(Block::Note));
    blocks
}

/// The witnesses: the first is shown, the others can be opened.
fn witnesses<'a>(result: &ConsistencyResult) -> Vec<Block<'a>> {
    let mut blocks = Vec::new();
    for (place, (title, operations)) in consistency::witnesses(result).iter().enumerate() {
        let drawn = witness(result, operations);
        let title = consistency::title(result, *title, Letters::Unicode);
        match place {
            0 => blocks.extend([Block::Heading(title), drawn]),
            _ => blocks.push(Block::Fold(title, vec![drawn])),
        }
    }
    blocks
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
        Line::new(class.name, colour, dash, counts.map(|count| Some(count as f64)))
    };
    let seen = classes.iter().filter(|class| !class.per_second.is_empty());
    let lines: Vec<Line> = seen.zip(LINES).map(line).collect();
    if lines.is_empty() {
        return None;
    }
    let y = Axis::amount(known(&lines)).titled("violations per interval");
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
    let lines =
        vec![Line::new("reads that saw the newest write", "done", DASHED, bins.iter().map(share))];
    Some(LineChart::new(
        "visibility",
        "Share of reads that saw the newest write, over its age",
        [
            Axis::latency(xs.iter().copied()).titled("time since the write was answered"),
            Axis { max: 100.0, ..Axis::amount(std::iter::once(100.0)) }.titled("% of the reads"),
        ],
        xs,
        lines,
    ))
}

/// The operations of a witness as bars over time, one row each.
fn witness<'a>(result: &ConsistencyResult, operations: &[&Witnessed]) -> Block<'a> {
    let has_nodes = operations.iter().any(|one| result.node_name(one).is_some());
    let node = has_nodes.then_some(("node", false));
    let columns = [("operation", true), ("session", true)].into_iter().chain(node);
    let columns =
        columns.chain([("did", false), ("started", true), ("took", true), ("in time", false)]);
    let text = |text: String| PageCell::Text(text, String::new());
    let names_record = consistency::are_of_several_records(operations);
    let bars = bars(operations);
    let row = |(operation, bar): (&&Witnessed, String)| {
        let [index, session, did, started, _] =
            consistency::cells(result, operation, names_record, Letters::Unicode).map(text);
        let took = match operation.times() {
            _ if operation.is_load() => String::new(),
            (started, ended, Outcome::Done) => duration(ended.since(started), Letters::Unicode),
            (.., other) => other.name().to_owned(),
        };
        let node = result.node_name(operation).unwrap_or_default().to_owned();
        let node = has_nodes.then(|| text(node));
        let rest = [did, started, text(took), PageCell::Drawn(bar)];
        [index, session].into_iter().chain(node).chain(rest).collect()
    };
    Block::PageTable(PageTable {
        class: "witness",
        columns: columns.map(|(title, is_number)| (title.to_owned(), is_number)).collect(),
        rows: operations.iter().zip(bars).map(row).collect(),
    })
}

/// A bar for each operation of the run, from its start to its end on one axis of time.
fn bars(operations: &[&Witnessed]) -> Vec<String> {
    let end = |operation: &Witnessed| match operation.times() {
        (_, ended, Outcome::Done) => ended,
        (started, ..) => started,
    };
    let start = |operation: &Witnessed| operation.times().0;
    let during = || operations.iter().filter(|operation| !operation.is_load());
    let from = during().map(|operation| start(operation)).min().unwrap_or_default();
    let until = during().map(|operation| end(operation)).max().unwrap_or_default();
    let span = until.since(from).0.max(1) as f64;
    let bar = |operation: &&Witnessed| {
        if operation.is_load() {
            return String::new();
        }
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
    operations.iter().map(bar).collect()
}
