//! Two set-ups on one page, or the repeated runs of one.

use std::fmt::Write as _;

use assay_analysis::compare::IntervalBasis;
use assay_analysis::{Distribution, IntervalSummary, Quick};
use assay_model::Nanos;

use super::axis::Axis;
use super::charts::{
    DASHED, DOTTED, LONG, SOLID, known, percentile_line, positive, spectrum_chart, spectrum_points,
};
use super::escape::escape;
use super::line_chart::{Height, Line, LineChart};
use super::{page, sections};
use crate::compare::words::{self, change, change_between, figure_name};
use crate::compare::{ComparedSetup, Contrast, Difference, Run};
use crate::prose;
use crate::repeated::{self, Group};
use crate::table::{Align, Table};
use crate::units::{Letters, duration, percentile_name};
use crate::verdict::{Finding, model_name, quantile as quantile_of};

const LETTERS: Letters = Letters::Unicode;

/// The percentiles of the table.
const PERCENTILES: [f64; 6] = [0.5, 0.9, 0.99, 0.999, 0.9999, 1.0];

/// Points of a course over time; finer is not seen.
const MOST_POINTS: usize = 1_200;

/// Colours of repeated runs, one after the other.
const COLOURS: [&str; 6] = ["old", "new", "done", "lag", "misses", "dropped"];

/// A run as charts show it.
struct DisplayedPercentile<'a> {
    /// `BASE, open`.
    label: String,
    colour: &'static str,
    run: &'a Run,
}

/// The comparison as one file that needs no network.
pub fn compare_html(contrast: &Contrast) -> String {
    let displayed = [
        display("BASE", "old", contrast.old.typical()),
        display("NEW", "new", contrast.new.typical()),
    ];
    let titles = displayed.each_ref().map(|displayed| displayed.run.facts.title.as_str());
    let title = match titles[0] == titles[1] {
        true => titles[0].to_owned(),
        false => format!("{} / {}", titles[0], titles[1]),
    };
    let charts = charts(&displayed);
    let findings = crate::compare::findings(contrast, LETTERS);
    let mut body = header(&title, &subtitle(contrast), &findings, &displayed[1]);
    body += &cards(contrast);
    body += &percentiles(&displayed, &charts[0]);
    body += &time_course(&charts[1..]);
    body += &figures(contrast);
    body += &not_alike(&contrast.differences);
    body += &sides(contrast);
    body += &repetition(&[("BASE", &contrast.old), ("NEW", &contrast.new)]);
    page(&format!("{title}, compared"), &body, &charts.iter().collect::<Vec<_>>())
}

/// The repeated runs as one file that needs no network.
pub fn group_html(group: &Group) -> String {
    let displayed: Vec<DisplayedPercentile> = group
        .side
        .runs
        .iter()
        .zip(COLOURS.iter().cycle())
        .enumerate()
        .map(|(place, (run, colour))| DisplayedPercentile {
            label: format!("run {}", place + 1),
            colour,
            run,
        })
        .collect();
    let title = format!("{}, {} runs", group.side.typical().facts.title, displayed.len());
    let charts = [runs_spectrum(&displayed), runs_course(&displayed)];
    let findings = repeated::findings(group, LETTERS);
    let mut body = header(&title, &group.meeting, &findings, &displayed[0]);
    body += &sections::section("between", "Between runs", &escape(&repeated::meaning(group)));
    body += &sections::table(&repeated::table(group, LETTERS), "");
    body += "</section>\n";
    body += &sections::section("percentiles", "Response time by percentile", "Hits only.");
    body += &figure(&charts[0]);
    body += "</section>\n";
    body += &sections::section("course", "Response p99 over time", "From the measured start on.");
    body += &figure(&charts[1]);
    body += "</section>\n";
    body += &sections::section("repeat", "Reproduce with", "");
    body += &command(&group.command);
    body += "</section>\n";
    page(&title, &body, &charts.iter().collect::<Vec<_>>())
}

fn display<'a>(name: &str, colour: &'static str, run: &'a Run) -> DisplayedPercentile<'a> {
    DisplayedPercentile { label: format!("{name} {}", model_name(run.summary.load)), colour, run }
}

fn header(title: &str, sub: &str, findings: &[Finding], by: &DisplayedPercentile) -> String {
    let mut out = format!(
        "<header><p class=\"brand\">Assay <span>{}</span></p>\n<h1>{}</h1>\n\
         <p class=\"sub\">{}</p></header>\n<section class=\"verdict\" aria-label=\"Verdict\">\n",
        escape(&by.run.facts.version),
        escape(title),
        escape(sub),
    );
    for (place, finding) in findings.iter().enumerate() {
        out += &sections::verdict_line(finding, place == 0);
    }
    out + "</section>\n"
}

fn subtitle(contrast: &Contrast) -> String {
    let side = |title: &str, side: &ComparedSetup| match side.runs.len() {
        1 => format!("{title}: {}", side.name),
        runs => format!("{title}: {}, {runs} runs", side.name),
    };
    let basis = match contrast.comparison.basis {
        IntervalBasis::Runs => "intervals from run to run",
        IntervalBasis::WithinRun => "intervals within a run only",
    };
    format!("{} · {} · {basis}", side("BASE", &contrast.old), side("NEW", &contrast.new))
}

/// The compared figures. The last ones fill the rest of their row, whether it has four cards or
/// two, so that no part of it is empty.
fn cards(contrast: &Contrast) -> String {
    let mut out = "<section class=\"cards\" aria-label=\"Figures\">\n".to_owned();
    let count = contrast.comparison.requested().count();
    for (place, row) in contrast.comparison.requested().enumerate() {
        let measure = row.figure.measure;
        let [old, new] =
            [&row.old, &row.new].map(|side| words::median(measure, side.as_ref(), LETTERS));
        let interval = change_between(row).unwrap_or_else(|| words::uncertain(row).to_owned());
        let note = format!("{old} → {new}; {interval}");
        let title = format!("{}: {}", figure_name(row.figure), words::finding_name(row.finding));
        let card = sections::card(&title, &change(measure, row.effect), &note);
        let wide = match (count % 4, count - place) {
            (1, 1) => "1/-1",
            (2, 1 | 2) | (3, 1) => "span 2",
            _ => "auto",
        };
        out += &card.replacen('>', &format!(" style=\"grid-column:{wide}\">"), 1);
    }
    out + "</section>\n"
}

fn sides(contrast: &Contrast) -> String {
    let mut out = sections::section("sides", "What was compared", "");
    out += "<div class=\"pair\">";
    for (title, colour, side) in [("BASE", "old", &contrast.old), ("NEW", "new", &contrast.new)] {
        let run = side.typical();
        let model = model_name(run.summary.load);
        let _ = write!(out, "<div><h3 class=\"{colour}\">{title}: {model} loop</h3>\n<dl>");
        for (title, text) in prose::circumstances(&run.facts, &run.summary, LETTERS) {
            let text = sections::grouped(&escape(&text));
            let _ = writeln!(out, "<dt>{title}</dt><dd>{text}</dd>");
        }
        out += "</dl></div>\n";
    }
    out + "</div>\n</section>\n"
}

fn not_alike(differences: &[Difference]) -> String {
    if differences.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[("", Align::Left), ("BASE", Align::Left), ("NEW", Align::Left)]);
    for found in differences {
        table.row(vec![found.what.clone(), found.old.clone(), found.new.clone()]);
    }
    sections::section("alike", "Not alike", "In what the two differ beside their figures.")
        + &sections::table(&table, "settings")
        + "</section>\n"
}

fn figures(contrast: &Contrast) -> String {
    let comparison = &contrast.comparison;
    let mut out = sections::section("figures", "Every figure", "");
    out += &sections::table(&words::table(comparison, LETTERS), "");
    let _ = writeln!(out, "<p class=\"note\">{}</p>", escape(&words::meaning(comparison)));
    if comparison.basis == IntervalBasis::Runs {
        out += "<h3>Standard deviation from run to run</h3>\n";
        out += &sections::table(&words::spreads(comparison), "");
    }
    out + "</section>\n"
}

fn percentiles(displayed: &[DisplayedPercentile], chart: &LineChart) -> String {
    let mut out = sections::section(
        "percentiles",
        "Latency by percentile",
        "Response is what a user waits, from the intended moment on; service is what the store \
         needed. In a closed loop a session waits with the store: look at the space between its \
         two lines. Hits only; of several runs, the one with the median p99.",
    );
    out += &figure(chart);
    let mut titles = vec![("".to_owned(), Align::Left), ("".to_owned(), Align::Left)];
    titles.extend(PERCENTILES.map(|quantile| (percentile_name(quantile), Align::Right)));
    let titles: Vec<(&str, Align)> =
        titles.iter().map(|(title, side)| (title.as_str(), *side)).collect();
    let mut table = Table::new(&titles);
    for displayed in displayed {
        let hits = &displayed.run.summary.overall.hits;
        for (name, distribution) in [("response", &hits.response), ("service", &hits.service)] {
            let label = if name == "response" { displayed.label.clone() } else { String::new() };
            let cells = PERCENTILES.map(|quantile| observed(distribution, quantile));
            table.row([label, name.to_owned()].into_iter().chain(cells).collect());
        }
    }
    out += &sections::table(&table, "");
    out + "<p class=\"note\">As observed; the table of every figure says how sure.</p></section>\n"
}

/// A percentile as it was, however few values tell it: how sure it is, is in the table of figures.
fn observed(distribution: &Distribution, quantile: f64) -> String {
    let found = quantile_of(distribution, quantile);
    found.map_or_else(|| "-".to_owned(), |time| duration(time, LETTERS))
}

fn time_course(charts: &[LineChart]) -> String {
    let mut out = sections::section(
        "course",
        "Over time",
        "Both on one axis that begins with the measured part. Move over one chart, or focus it \
         and use the arrow keys, and the others follow.",
    );
    let titles = ["Response time", "Service time", "Throughput, operations per second"];
    for (chart, title) in charts.iter().zip(titles) {
        out += &captioned(title, chart);
    }
    out + "</section>\n"
}

/// A chart with its caption.
fn figure(chart: &LineChart) -> String {
    captioned(&chart.description, chart)
}

fn captioned(title: &str, chart: &LineChart) -> String {
    let caption = escape(title);
    format!("<figure><figcaption>{caption}</figcaption>\n{}</figure>\n", chart.html())
}

fn repetition(sides: &[(&str, &ComparedSetup)]) -> String {
    let mut out = sections::section("repeat", "Reproduce with", "");
    for (title, side) in sides {
        let _ = writeln!(out, "<h3>{title}</h3>");
        out += &command(&side.typical().facts.command);
    }
    out + "</section>\n"
}

fn command(text: &str) -> String {
    format!("<pre tabindex=\"0\"><code>{}</code></pre>\n", escape(text))
}

fn charts(displayed: &[DisplayedPercentile; 2]) -> Vec<LineChart> {
    let latency = |id: &str, title: &str, of: fn(&IntervalSummary) -> &Quick| {
        let lines = |displayed: &DisplayedPercentile, grid: &Grid| {
            let line = |name: &str, dash, at: fn(&Quick) -> Nanos| Line {
                label: format!("{} {name}", displayed.label),
                colour: displayed.colour,
                dash,
                is_filled: false,
                values: grid.values(displayed.run, |interval| positive(at(of(interval)))),
            };
            vec![
                line("max", DOTTED, |quick| quick.max),
                line("p99", LONG, |quick| quick.p99),
                line("p50", SOLID, |quick| quick.p50),
            ]
        };
        over_time(id, title, displayed, lines, |lines| Axis::latency(known(lines)))
    };
    vec![
        both_spectra(displayed),
        latency("response", "Response time of both over time", |interval| &interval.response),
        latency("service", "Service time of both over time", |interval| &interval.service),
        throughput(displayed),
    ]
}

/// Response and service time of both at every percentile.
fn both_spectra(displayed: &[DisplayedPercentile]) -> LineChart {
    let count = longest(displayed);
    let xs = spectrum_points(count);
    let lines = displayed.iter().flat_map(|displayed| {
        let hits = &displayed.run.summary.overall.hits;
        let line = |name: &str, dash, distribution| {
            let label = format!("{} {name}", displayed.label);
            beyond_nothing(
                percentile_line(&label, displayed.colour, dash, distribution, &xs),
                displayed,
                &xs,
            )
        };
        [line("response", SOLID, &hits.response), line("service", DASHED, &hits.service)]
    });
    let lines: Vec<Line> = lines.collect();
    let description = "Response and service time of both at every percentile".to_owned();
    spectrum_chart("spectrum".to_owned(), description, count, xs.clone(), lines, Height::Tall)
}

fn runs_spectrum(displayed: &[DisplayedPercentile]) -> LineChart {
    let count = longest(displayed);
    let xs = spectrum_points(count);
    let line = |displayed: &DisplayedPercentile| {
        let response = &displayed.run.summary.overall.hits.response;
        let line = percentile_line(&displayed.label, displayed.colour, SOLID, response, &xs);
        beyond_nothing(line, displayed, &xs)
    };
    let lines = displayed.iter().map(line).collect();
    let description = "Response time of each run at every percentile".to_owned();
    spectrum_chart("spectrum".to_owned(), description, count, xs.clone(), lines, Height::Tall)
}

/// The most values that a run has.
fn longest(displayed: &[DisplayedPercentile]) -> u64 {
    let counts =
        displayed.iter().map(|displayed| displayed.run.summary.overall.hits.response.count);
    counts.max().unwrap_or(0).max(1)
}

/// A line that ends where its run has no more values.
fn beyond_nothing(mut line: Line, displayed: &DisplayedPercentile, xs: &[f64]) -> Line {
    let count = displayed.run.summary.overall.hits.response.count as f64;
    for (value, x) in line.values.iter_mut().zip(xs) {
        if *x > count {
            *value = None;
        }
    }
    line
}

fn runs_course(displayed: &[DisplayedPercentile]) -> LineChart {
    let lines = |displayed: &DisplayedPercentile, grid: &Grid| {
        vec![Line {
            label: displayed.label.clone(),
            colour: displayed.colour,
            dash: SOLID,
            is_filled: false,
            values: grid.values(displayed.run, |interval| positive(interval.response.p99)),
        }]
    };
    let description = "Response p99 of each run over time";
    over_time("response", description, displayed, lines, |lines| Axis::latency(known(lines)))
}

fn throughput(displayed: &[DisplayedPercentile]) -> LineChart {
    let lines = |displayed: &DisplayedPercentile, grid: &Grid| {
        let line = |name: &str, dash, of: fn(&IntervalSummary) -> u64| {
            let summary = &displayed.run.summary;
            let rate = |interval: &IntervalSummary| {
                let left = summary.window.until.since(interval.from);
                let seconds = summary.series.width.min(left).as_secs_f64();
                // Operations that end after the window are the remainder, no rate.
                (seconds > 0.0).then(|| of(interval) as f64 / seconds)
            };
            Line {
                label: format!("{} {name}", displayed.label),
                colour: displayed.colour,
                dash,
                is_filled: false,
                values: grid.values(displayed.run, rate),
            }
        };
        vec![
            line("done", SOLID, |interval| interval.done),
            line("offered", DOTTED, |interval| interval.offered),
        ]
    };
    let description = "Operations offered and done of both over time";
    over_time("throughput", description, displayed, lines, |lines| Axis::rate(known(lines)))
}

fn over_time(
    id: &str,
    description: &str,
    displayed: &[DisplayedPercentile],
    lines: impl Fn(&DisplayedPercentile, &Grid) -> Vec<Line>,
    y: impl Fn(&[Line]) -> Axis,
) -> LineChart {
    let grid = Grid::of(displayed);
    let lines: Vec<Line> = displayed.iter().flat_map(|displayed| lines(displayed, &grid)).collect();
    LineChart {
        id: format!("over-time-{id}"),
        description: description.to_owned(),
        x: Axis::time(0.0, grid.step * grid.points as f64).titled(match id {
            "response" => "seconds since the measured start, by intended moment",
            "service" => "seconds since the measured start, by moment of sending",
            _ => "seconds since the measured start",
        }),
        y: y(&lines),
        xs: grid.xs(),
        lines,
        bands: Vec::new(),
        shades: Vec::new(),
        marks: Vec::new(),
        height: Height::Tall,
    }
}

/// Moments since the measured start that several runs have in common.
struct Grid {
    step: f64,
    points: usize,
}

impl Grid {
    /// As fine as the finest series, as long as the longest.
    fn of(displayed: &[DisplayedPercentile]) -> Grid {
        let width =
            |displayed: &DisplayedPercentile| displayed.run.summary.series.width.as_secs_f64();
        let length = |displayed: &DisplayedPercentile| {
            let series = &displayed.run.summary.series;
            let until = series.width.as_secs_f64() * series.intervals.len() as f64;
            series.from.as_secs_f64() + until - displayed.run.summary.window.from.as_secs_f64()
        };
        let finest = displayed.iter().map(width).fold(f64::INFINITY, f64::min);
        let longest = displayed.iter().map(length).fold(0.0, f64::max);
        let step = finest.max(longest / MOST_POINTS as f64).max(1e-9);
        Grid { step, points: ((longest / step).ceil() as usize).clamp(1, MOST_POINTS) }
    }

    fn xs(&self) -> Vec<f64> {
        (0..self.points).map(|place| (place as f64 + 0.5) * self.step).collect()
    }

    /// What the run's intervals that hold the moments say.
    fn values(&self, run: &Run, of: impl Fn(&IntervalSummary) -> Option<f64>) -> Vec<Option<f64>> {
        let series = &run.summary.series;
        let offset = run.summary.window.from.as_secs_f64() - series.from.as_secs_f64();
        let width = series.width.as_secs_f64();
        let value = |x: f64| {
            let place = (x + offset) / width;
            let interval = (place >= 0.0).then(|| series.intervals.get(place as usize))??;
            of(interval)
        };
        self.xs().into_iter().map(value).collect()
    }
}
