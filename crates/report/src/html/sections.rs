//! The sections of the page, one function for each.

use std::fmt::Write as _;

use assay_analysis::hallmark::{Check, CheckVerdict};
use assay_analysis::{
    Counts, Distribution, Group, HeatMap, Interval, IntervalSummary, Latency, LoadModel, Series,
    Summary,
};
use assay_model::{Kind, Nanos};

use super::charts::{INTENDED, SENT};
use super::escape::escape;
use super::heat_chart::heat_chart;
use super::line_chart::LineChart;
use super::scraped::ScrapedChart;
use super::servers::Titled;
use crate::facts::{Facts, WorkloadFigure};
use crate::hallmark::{self, Rows, Time};
use crate::percentile::{DisplayedPercentile, NO_VALUE_MEANING, SAMPLE_MEANING, WITHDRAWN};
use crate::table::{Align, Table};
use crate::units::{Letters, count, duration, moment, percent, percentile_name, rate};
use crate::verdict::{self, Finding, Level, Opening, Unit};
use crate::{prose, tables};

/// The page is always in full Unicode.
const LETTERS: Letters = Letters::Unicode;

/// The beginning of a table whose wide content scrolls by itself; the keyboard can reach it.
const SCROLL: &str = "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\">";

/// Spectra that are shown at once; the others can be opened.
const SPECTRA: usize = 6;

/// The percentiles of the large table.
const PERCENTILES: [f64; 7] = [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 1.0];

/// Title, verdict and the headline figures.
pub fn opening(facts: &Facts, summary: &Summary) -> String {
    let mut out = format!(
        "<header><p class=\"brand\">Assay <span>{version}</span></p>\n<h1>{title}</h1>\n\
         <p class=\"sub\">{started} · {model} loop · {load} · {url}</p></header>\n",
        version = escape(&facts.version),
        title = escape(&facts.title),
        started = escape(&facts.started),
        model = verdict::model_name(summary.load),
        load = escape(&facts.load),
        url = escape(&facts.store.url),
    );
    out += "<section class=\"verdict\" aria-label=\"Verdict\">\n";
    if let Some(line) = hallmark::line(facts) {
        out += &shouted(line.level, line.name, &line.reasons, true);
    }
    for text in hallmark::changed(facts) {
        out += &shouted(Level::Caution, "threshold changed", &text, false);
    }
    let is_examined = facts.hallmark.is_some();
    for (place, line) in verdict::opening(facts, summary, LETTERS).iter().enumerate() {
        out += &match line {
            Opening::Finding(finding) => verdict_line(finding, place == 0 && !is_examined),
            // The cards below show it.
            Opening::Headline(_) => String::new(),
        };
    }
    out + "</section>\n" + &cards(facts, summary)
}

/// One line of a verdict, with a sign; the first one is larger.
pub fn verdict_line(finding: &Finding, is_first: bool) -> String {
    shouted(finding.level, finding.name, &finding.text, is_first)
}

fn shouted(level: Level, name: &str, text: &str, is_first: bool) -> String {
    let (element, sign) = match level {
        Level::Alarm => ("alarm", "!"),
        Level::Caution => ("caution", "!"),
        Level::Fine => ("fine", "✓"),
    };
    let first = if is_first { " first" } else { "" };
    format!(
        "<p class=\"{element}{first}\"><span class=\"sign\" aria-hidden=\"true\">{sign}</span>\
         <span><strong>{}</strong> {}</span></p>\n",
        escape(name),
        grouped(&escape(text))
    )
}

/// Narrow unbreakable blanks within numbers and before their units, so that `12 345 µs` stays on
/// one line.
pub fn grouped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut last = "";
    for word in text.split(' ') {
        if !out.is_empty() {
            out.push(if belongs_together(last, word) { '\u{202f}' } else { ' ' });
        }
        out.push_str(word);
        last = word;
    }
    out
}

/// Whether `word` goes on with the number `last`: as its next three digits or as its unit.
fn belongs_together(last: &str, word: &str) -> bool {
    let number = last.trim_start_matches([WITHDRAWN, '+', '~', '(', '≥', '–', '-', '×']);
    let digits = number.rsplit('–').next().unwrap_or(number);
    if digits.is_empty() || !digits.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return false;
    }
    let word = word.trim_end_matches([',', ';', ')', '.']);
    let (word, _) = word.split_once('/').unwrap_or((word, ""));
    let (word, _) = word.split_once('–').unwrap_or((word, ""));
    let is_group = word.len() == 3 && word.chars().all(|c| c.is_ascii_digit());
    is_group || ["ns", "µs", "ms", "s", "min", "h", "%", "B", "KiB", "MiB", "GiB"].contains(&word)
}

/// A card whose figure the hallmark does not stand behind.
fn struck_card(title: &str, figure: &str, note: &str) -> String {
    let card = card(title, figure, note);
    card.replacen("<p class=\"figure\">", "<p class=\"figure struck\">", 1)
}

/// A figure with its title above, a note below.
pub fn card(title: &str, figure: &str, note: &str) -> String {
    format!(
        "<div class=\"card\"><h3>{title}</h3><p class=\"figure\">{}</p><p>{}</p></div>\n",
        with_small_unit(figure),
        grouped(note)
    )
}

/// A figure whose unit is set smaller than its number.
fn with_small_unit(figure: &str) -> String {
    let last_digit = figure.rfind(|c: char| c.is_ascii_digit());
    let end = last_digit.map_or(figure.len(), |place| place + 1);
    let (number, unit) = figure.split_at(end);
    format!("{}<small>{}</small>", grouped(&escape(number)), escape(unit).replace(' ', "\u{202f}"))
}

fn cards(facts: &Facts, summary: &Summary) -> String {
    let (unit, group) = verdict::headline_group(summary);
    let (rates, counts) = (&group.rates, &group.counts);
    let requested = match (summary.load, rates.target_per_s) {
        (LoadModel::Open { .. }, _) => format!("of {} offered", rate(rates.offered_per_s)),
        (LoadModel::Closed { .. }, Some(target)) => format!("of {} wanted", rate(target)),
        (LoadModel::Closed { sessions, .. }, None) => format!("by {} sessions", count(sessions)),
    };
    let failed = counts.refused + counts.unknown + counts.dropped;
    let kinds_of_failure =
        [(counts.refused, "refused"), (counts.unknown, "unknown"), (counts.dropped, "dropped")];
    let failures: Vec<String> = kinds_of_failure
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, name)| format!("{} {name}", count(*number)))
        .collect();
    let failures = match failures.is_empty() {
        true => format!("of {} offered", count(counts.offered)),
        false => failures.join(", "),
    };
    let mut out = "<section class=\"cards\" aria-label=\"Figures\">\n".to_owned();
    match unit {
        Unit::Operations => {
            let misses = format!("{} misses apart", count(counts.misses));
            out += &card("Throughput", &rate(rates.done_per_s), &requested);
            out += &card("Goodput", &rate(rates.goodput_per_s), &misses);
        }
        Unit::Transactions => {
            out += &card("Transactions", &rate(rates.done_per_s), &requested);
            for figure in &facts.figures {
                out += &figure_card(figure);
            }
        }
    }
    out += &card("Failures", &count(failed), &failures);
    out += &lag_card(summary);
    for quantile in [0.5, 0.99, 0.999, 1.0] {
        out += &latency_card(facts, &group.hits, quantile);
    }
    out + "</section>\n"
}

/// A figure that the workload's own definition requires.
fn figure_card(figure: &WorkloadFigure) -> String {
    let value = count(figure.value.round() as u64);
    card(&escape(&figure.name), &value, &escape(&figure.note))
}

fn latency_card(facts: &Facts, hits: &Latency, quantile: f64) -> String {
    let display = |time: Time, distribution: &Distribution| {
        DisplayedPercentile::of(distribution, quantile, hallmark::withdraws(facts, time, quantile))
    };
    let response = display(Time::Response, &hits.response);
    let service = display(Time::Service, &hits.service);
    let title = format!("Response {}", percentile_name(quantile));
    let note = format!("service {}", service.cell(LETTERS));
    let note = match response.note() {
        "" => note,
        of_value => format!("{of_value}; {note}"),
    };
    match response {
        DisplayedPercentile::Withdrawn(value) => {
            struck_card(&title, &duration(value, LETTERS), &note)
        }
        other => card(&title, &other.cell(LETTERS), &note),
    }
}

fn lag_card(summary: &Summary) -> String {
    let display = |quantile| DisplayedPercentile::of(&summary.lag, quantile, false).cell(LETTERS);
    card("Lag p99", &display(0.99), &format!("median {}", display(0.5)))
}

/// Effective settings of the store and all other facts of the run, collapsed.
pub fn circumstances(facts: &Facts, summary: &Summary) -> String {
    let settings = match facts.store.settings.is_empty() {
        true => "<p class=\"note\">The store reports no settings.</p>\n".to_owned(),
        false => table(&tables::settings(&facts.store.settings), "settings"),
    };
    let mut run = "<dl>".to_owned();
    for (title, text) in prose::circumstances(facts, summary, LETTERS) {
        let _ = writeln!(run, "<dt>{title}</dt><dd>{}</dd>", grouped(&escape(&text)));
    }
    section("circumstances", "What was measured", "")
        + &details("The run, its load, its machine", &(run + "</dl>\n"))
        + &details("Effective store settings", &settings)
        + "</section>\n"
}

/// How to run it once more.
pub fn repetition(facts: &Facts) -> String {
    let mut out = section("repeat", "Reproduce with", "");
    let _ = writeln!(out, "<pre tabindex=\"0\"><code>{}</code></pre>", escape(&facts.command),);
    let mut ids = format!(
        "<dl>\n<dt>run</dt><dd>{}</dd>\n<dt>seed</dt><dd class=\"hash\">{}</dd>\n",
        escape(&facts.run_id),
        facts.seed
    );
    for (title, hash) in [
        ("trace planned", &facts.trace_hash_planned),
        ("trace executed", &facts.trace_hash_executed),
    ] {
        if let Some(hash) = hash {
            let _ = writeln!(ids, "<dt>{title}</dt><dd class=\"hash\">{}</dd>", escape(hash));
        }
    }
    out + &details("Run, seed, hashes", &(ids + "</dl>\n")) + "</section>\n"
}

/// Percentiles of every kind: the spectra with their table.
pub fn percentiles(facts: &Facts, summary: &Summary, spectra: &[(String, LineChart)]) -> String {
    let mut out = section(
        "percentiles",
        "Latency by percentile",
        "Response is what a user waits, from the intended moment on; service is what the store \
         needed. The space between them is waiting. Hits only.",
    );
    let charts: Vec<String> =
        spectra.iter().map(|(name, chart)| figure(&escape(name), &chart.html())).collect();
    let (display, more) = charts.split_at(charts.len().min(SPECTRA));
    out += &multiples(display);
    if !more.is_empty() {
        out += &details("Single requests and more", &multiples(more));
    }
    out += &details("Percentiles with 95 % confidence", &percentile_table(facts, summary));
    out + "</section>\n"
}

/// A chart with its title.
pub fn figure(title: &str, chart: &str) -> String {
    format!("<figure><figcaption>{title}</figcaption>\n{chart}</figure>\n")
}

/// Charts side by side, as far as there is room.
fn multiples(charts: &[String]) -> String {
    format!("<div class=\"multiples\">\n{}</div>\n", charts.concat())
}

fn percentile_table(facts: &Facts, summary: &Summary) -> String {
    let mut out = format!(
        "{SCROLL}<table><thead><tr><td></td><td></td><th scope=\"col\" class=\"n\">count</th>"
    );
    for quantile in PERCENTILES {
        let name = percentile_name(quantile);
        let _ = write!(out, "<th scope=\"col\" class=\"n\">{name}</th>");
    }
    out += "</tr></thead><tbody>\n";
    for (name, group) in tables::all_groups(summary) {
        for (of, latency) in
            [("", &group.hits), (", misses", &group.misses), (", failed", &group.failed)]
        {
            let title = format!("{name}{of}");
            out += &percentile_row(facts, &title, Time::Response, &latency.response);
            out += &percentile_row(facts, "", Time::Service, &latency.service);
        }
    }
    out += &percentile_row(facts, "all operations", Time::Lag, &summary.lag);
    out += "</tbody></table></div>\n<p class=\"note\">";
    out + SAMPLE_MEANING + "; " + NO_VALUE_MEANING + ".</p>\n"
}

fn percentile_row(facts: &Facts, title: &str, time: Time, distribution: &Distribution) -> String {
    if distribution.count == 0 {
        return String::new();
    }
    let mut out = format!(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"n\">{}</td>",
        escape(title),
        time.name(),
        grouped(&count(distribution.count))
    );
    for quantile in PERCENTILES {
        let is_withdrawn = hallmark::withdraws(facts, time, quantile);
        let _ = match DisplayedPercentile::of(distribution, quantile, is_withdrawn) {
            sample @ (DisplayedPercentile::Sample(..) | DisplayedPercentile::NoneBeyond) => {
                let (value, note) = (grouped(&sample.cell(LETTERS)), sample.note());
                write!(out, "<td class=\"n\">{value}<small>{note}</small></td>")
            }
            DisplayedPercentile::Withdrawn(value) => {
                let value = grouped(&duration(value, LETTERS));
                write!(out, "<td class=\"n\"><s>{value}</s><small>withdrawn</small></td>")
            }
            display => {
                let range = confidence(distribution, quantile);
                write!(out, "<td class=\"n\">{}{range}</td>", grouped(&display.cell(LETTERS)))
            }
        };
    }
    out + "</tr>\n"
}

/// The ends of a percentile's interval, small.
fn confidence(distribution: &Distribution, quantile: f64) -> String {
    let found = distribution.percentiles.iter().find(|p| p.quantile == quantile);
    match found.map(|percentile| percentile.interval) {
        Some(Interval::Known { low, high, .. }) => {
            format!("<small>{}</small>", between(low, high))
        }
        _ => String::new(),
    }
}

/// `1.20 – 1.31 ms`: the unit once, if it is the same.
fn between(low: Nanos, high: Nanos) -> String {
    let (low, high) = (duration(low, LETTERS), duration(high, LETTERS));
    let text = match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number}–{high}"),
        _ => format!("{low}–{high}"),
    };
    grouped(&text)
}

/// The course of latency and throughput, with the events of the run.
pub fn time_course(
    facts: &Facts,
    summary: &Summary,
    series: &Series,
    (latency, throughput): (&LineChart, &LineChart),
) -> String {
    let mut out = section(
        "course",
        "Over time",
        "Latency stands where an operation was meant to be sent, so a stall is seen while it \
         lasts. What lies beside the measured window is shaded; numbers mark events. Faults are \
         bands; a strip at the foot says when the service was degraded or down.",
    );
    let of = match verdict::headline_group(summary).0 {
        Unit::Operations => "",
        Unit::Transactions => " of single requests",
    };
    out += &figure(&format!("Latency{of}"), &latency.html());
    out += &figure(&format!("Throughput{of}"), &throughput.html());
    out += &events(facts);
    out += &details("Every interval", &interval_table(series));
    out + "</section>\n"
}

fn events(facts: &Facts) -> String {
    if facts.events.is_empty() {
        return String::new();
    }
    let mut out = "<ol class=\"events\">\n".to_owned();
    for event in &facts.events {
        let _ = writeln!(
            out,
            "<li><span class=\"when\">{}</span> <span class=\"kind\">{}</span> {}</li>",
            grouped(&moment(event.at)),
            event.label(),
            escape(&event.text)
        );
    }
    out += "</ol>\n";
    let effects = crate::servers::effects(facts, LETTERS);
    if !effects.is_empty() {
        out += "<h3>Effects</h3>\n<ul class=\"effects\">\n";
        for text in effects {
            let _ = writeln!(out, "<li>{}</li>", grouped(&escape(&text)));
        }
        out += "</ul>\n";
    }
    out
}

/// Availability of each node; empty if fewer than two are known.
pub fn nodes(facts: &Facts, summary: &Summary) -> String {
    let Some(table) = tables::nodes(facts, summary, LETTERS) else { return String::new() };
    let mut out = section(
        "nodes",
        "Nodes",
        "The operations by the node that answered them, or that they were sent to.",
    );
    out += &self::table(&table, "");
    out + "</section>\n"
}

/// The agents of a fleet; empty for a run of one process.
pub fn agents(facts: &Facts) -> String {
    let Some(table) = crate::agents::table(facts, LETTERS) else { return String::new() };
    let mut out = section(
        "agents",
        "Agents",
        "The processes that shared the run. All figures of this page are of all their operations \
         together; \"began\" is when an agent's epoch certainly was, off that of the run.",
    );
    out += &self::table(&table, "");
    out + "</section>\n"
}

/// The resource use of the store's servers; empty if not observed.
pub fn servers(facts: &Facts, summary: &Summary, charts: &[Titled]) -> String {
    let Some(table) = crate::servers::table(facts, summary) else { return String::new() };
    let mut out = section(
        "servers",
        "Servers",
        "What each node's processes used of their machine under load; the table has \
         means over the measured window, of memory the most. Bytes over TCP count those between \
         nodes too.",
    );
    let figures: Vec<String> =
        charts.iter().map(|Titled { title, chart }| figure(title, &chart.html())).collect();
    out += &multiples(&figures);
    out += &self::table(&table, "");
    out + "</section>\n"
}

/// What servers counted about themselves; empty if nothing was read.
pub fn scraped(facts: &Facts, charts: &[ScrapedChart]) -> String {
    let Some(table) = crate::scraped::table(facts) else { return String::new() };
    let mut out = section(
        "scraped",
        "Numbers of servers",
        "What servers counted about themselves meanwhile, on the same axis of time as the latency: \
         counters as growth per second, levels as they were. The table is about the measured \
         window, and says when the most was read.",
    );
    let figures: Vec<String> =
        charts.iter().map(|named| figure(&named.title, &named.chart.html())).collect();
    out += &multiples(&figures);
    out += &self::table(&table, "");
    out + "</section>\n"
}

fn interval_table(series: &Series) -> String {
    let titles = [
        "from",
        "offered",
        "done",
        "misses",
        "refused",
        "unknown",
        "dropped",
        "response p50",
        "p99",
        "max",
        "service p50",
        "p99",
        "lag p99",
    ];
    let row = |interval: &IntervalSummary| {
        let counts = [
            interval.offered,
            interval.done,
            interval.misses,
            interval.refused,
            interval.unknown,
            interval.dropped,
        ];
        let (response, service) = (&interval.response, &interval.service);
        let latencies =
            [response.p50, response.p99, response.max, service.p50, service.p99, interval.lag.p99];
        let latencies = latencies.into_iter().map(|time| duration(time, LETTERS));
        counts.into_iter().map(count).chain(latencies).collect()
    };
    dense_table(series, &titles, row)
}

/// Where the operations of each moment lie, so that two humps or a saw are seen.
pub fn heat(series: &Series) -> String {
    let mut out = section(
        "heat",
        "Latency heat map",
        "Each cell is a stretch of time and of latency; its colour says how many operations are \
         in it (by square root, so that few are seen too).",
    );
    let maps = [
        ("Response time", INTENDED, &series.response),
        ("Service time", SENT, &series.service),
        ("Response time of misses", INTENDED, &series.misses),
    ];
    let drawn = maps.into_iter().filter_map(|(title, moment, map)| {
        let description = format!("{title} over time, as a map of counts");
        let chart = heat_chart(map, moment, &description, "low");
        (!chart.is_empty()).then(|| figure(title, &chart))
    });
    let drawn: Vec<String> = drawn.collect();
    if drawn.is_empty() {
        return String::new();
    }
    out += &multiples(&drawn);
    out += HEAT_KEY;
    out += &details("Response time: operations in each row", &heat_table(&series.response));
    out + "</section>\n"
}

/// The colours from few to many.
const HEAT_KEY: &str = "<p class=\"key\"><span>few</span><svg viewBox=\"0 0 16 1\" \
     preserveAspectRatio=\"none\" aria-hidden=\"true\"><path class=\"heat h0\" d=\"M0 .5h1\"/>\
     <path class=\"heat h2\" d=\"M1 .5h2\"/><path class=\"heat h4\" d=\"M3 .5h2\"/>\
     <path class=\"heat h6\" d=\"M5 .5h2\"/><path class=\"heat h8\" d=\"M7 .5h2\"/>\
     <path class=\"heat h10\" d=\"M9 .5h2\"/><path class=\"heat h12\" d=\"M11 .5h2\"/>\
     <path class=\"heat h14\" d=\"M13 .5h2\"/><path class=\"heat h15\" d=\"M15 .5h1\"/></svg>\
     <span>many</span></p>\n";

fn heat_table(map: &HeatMap) -> String {
    let mut sums = Table::new(&[
        ("from", Align::Right),
        ("to below", Align::Right),
        ("operations", Align::Right),
    ]);
    for row in (0..map.edges.len().saturating_sub(1)).rev() {
        let sum: u64 = map.columns.iter().map(|column| column[row]).sum();
        if sum > 0 {
            let edge = |place: usize| duration(map.edges[place], LETTERS);
            sums.row(vec![edge(row), edge(row + 1), count(sum)]);
        }
    }
    table(&sums, "")
}

/// The generator's own lateness, collapsed: the card above has its p99.
pub fn lag(series: &Series, over_time: &LineChart, spectrum: Option<&LineChart>) -> String {
    let mut out = section(
        "lag",
        "Our own lag",
        "From the intended moment to the request: what this program, or the bound on operations \
         in flight, added to the response time.",
    );
    let mut charts = vec![figure("Over time", &over_time.html())];
    charts.extend(spectrum.map(|chart| figure("By percentile", &chart.html())));
    let map = heat_chart(&series.lag, INTENDED, "Lag over time, as a map of counts", "low");
    if !map.is_empty() {
        charts.push(figure("Heat map", &map));
    }
    out += &details("Charts of the lag", &multiples(&charts));
    out += &details("Lag of every interval", &lag_table(series));
    out + "</section>\n"
}

fn lag_table(series: &Series) -> String {
    let titles = ["from", "issued", "p50", "p90", "p99", "p99.9", "max"];
    let row = |interval: &IntervalSummary| {
        let lag = &interval.lag;
        let latencies = [lag.p50, lag.p90, lag.p99, lag.p999, lag.max];
        let cells = latencies.into_iter().map(|time| duration(time, LETTERS));
        [count(lag.count)].into_iter().chain(cells).collect()
    };
    dense_table(series, &titles, row)
}

/// One row for each interval, in as few bytes as HTML allows: a series can have 1200 of them.
fn dense_table(
    series: &Series,
    titles: &[&str],
    row: impl Fn(&IntervalSummary) -> Vec<String>,
) -> String {
    let mut out = format!("{SCROLL}<table class=\"dense\"><thead><tr>");
    for title in titles {
        let _ = write!(out, "<th scope=\"col\" class=\"n\">{title}</th>");
    }
    out += "</tr></thead><tbody class=\"n\">\n";
    for interval in &series.intervals {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", grouped(&moment(interval.from)));
        for cell in row(interval) {
            let _ = write!(out, "<td>{}", grouped(&cell));
        }
        out += "\n";
    }
    out + "</tbody></table></div>\n"
}

/// Whole transactions, then single queries; empty for records by key.
pub fn transactions(facts: &Facts, summary: &Summary) -> String {
    let Some(whole) = tables::transactions(facts, summary, LETTERS) else { return String::new() };
    let mut out = section(
        "transactions",
        "Transactions",
        "A transaction lasts from its first intention to its last answer, its commit included. It \
         is as bad as the worst of its queries.",
    );
    out += &table(&whole, "");
    let rules = prose::workload(facts);
    if !rules.is_empty() {
        let items = rules.iter().map(|text| format!("<li>{}</li>\n", escape(text)));
        out += &format!("<ul class=\"rules\">\n{}</ul>\n", items.collect::<String>());
    }
    if let Some(queries) = tables::queries(facts, summary, LETTERS) {
        out += &details("Each query", &table(&queries, ""));
    }
    out + "</section>\n"
}

/// What became of every operation.
pub fn outcomes(summary: &Summary) -> String {
    let mut out = section(
        "outcomes",
        "Outcomes",
        "Every operation that was offered is in exactly one of these.",
    );
    out += "<div class=\"bars\" role=\"img\" aria-label=\"Shares of the outcomes by kind; the \
            table below has the numbers\">\n";
    for (name, group) in tables::groups(summary) {
        out += &bar(name, group);
    }
    out += "</div>\n<p class=\"key\">";
    for name in ["hits", "misses", "refused", "unknown", "dropped"] {
        let _ = write!(out, "<span><i class=\"{name}\"></i>{name}</span>");
    }
    out += "</p>\n";
    if tables::has_failures(summary) {
        out += &table(&tables::reasons(summary), "");
    } else {
        out += "<p class=\"note\">Nothing was refused, unknown or dropped.</p>\n";
    }
    let counts = table(&tables::outcomes(summary), "") + &table(&tables::throughput(summary), "");
    out += &details("Counts and throughput of each kind", &counts);
    out + "</section>\n"
}

fn bar(name: &str, group: &Group) -> String {
    let Counts { hits, misses, refused, unknown, dropped, .. } = group.counts;
    let mut out = format!("<div class=\"bar\"><span>{}</span><div>", escape(name));
    for (class, number) in [
        ("hits", hits),
        ("misses", misses),
        ("refused", refused),
        ("unknown", unknown),
        ("dropped", dropped),
    ] {
        if number > 0 {
            let _ = write!(out, "<i class=\"{class}\" style=\"flex-grow:{number}\"></i>");
        }
    }
    let share = hits as f64 / group.counts.offered.max(1) as f64;
    let _ = writeln!(out, "</div><b>{}</b></div>", grouped(&percent(share)));
    out
}

/// The findings of the hallmark's checks, then plausibility, availability, checked values; the
/// passed checks are collapsed.
pub fn certificate(facts: &Facts, summary: &Summary) -> String {
    let checks: Vec<&Check> = facts.hallmark.iter().flat_map(|hallmark| &hallmark.checks).collect();
    let lead = match checks.is_empty() {
        true => "",
        false => {
            "Whether the measurement itself is valid. A figure that a failed check \
             withdraws is struck out on this page."
        }
    };
    let mut out = section("hallmark", "Hallmark and checks", lead);
    let notable = hallmark::checks(facts, Rows::Notable);
    if !notable.is_empty() {
        let is_notable =
            |check: &&Check| matches!(check.verdict, CheckVerdict::Remark | CheckVerdict::Fail);
        let checks: Vec<&Check> = checks.iter().copied().filter(is_notable).collect();
        out += &certificate_table(&notable, &checks);
    }
    out += &self::checks(summary);
    if !checks.is_empty() {
        let all = certificate_table(&hallmark::checks(facts, Rows::All), &checks);
        let title = format!("All {} checks of the hallmark", count(checks.len() as u64));
        let floor = hallmark::floor(facts, LETTERS).map_or_else(String::new, |text| {
            format!("<p class=\"note\">Noise floor: {}.</p>\n", grouped(&escape(&text)))
        });
        out += &details(&title, &(all + &floor));
    }
    out + "</section>\n"
}

fn certificate_table(rows: &Table, checks: &[&Check]) -> String {
    let mut out = format!("{SCROLL}<table class=\"checks\"><thead><tr><td></td>");
    for title in ["check", "verdict", "found", "threshold", "withdraws"] {
        let _ = write!(out, "<th scope=\"col\">{title}</th>");
    }
    out += "</tr></thead><tbody>\n";
    for (row, check) in rows.rows().iter().zip(checks) {
        out += &certificate_row(row, check);
    }
    out + "</tbody></table></div>\n"
}

fn certificate_row(row: &[String], check: &Check) -> String {
    let tone = match check.verdict {
        CheckVerdict::Pass => "fine",
        CheckVerdict::Remark | CheckVerdict::NotAssessable(_) => "caution",
        CheckVerdict::Fail => "alarm",
        CheckVerdict::NotApplicable(_) => "quiet",
    };
    let cell = |text: &String| if text == "-" { String::new() } else { grouped(&escape(text)) };
    let cells: Vec<String> = row.iter().map(cell).collect();
    let [code, name, verdict, found, threshold, withdraws] = &cells[..] else {
        return String::new();
    };
    format!(
        "<tr class=\"{tone}\"><td>{code}</td><th scope=\"row\">{name}<small>{}</small></th>\
         <td class=\"mark\">{verdict}</td><td>{found}</td><td>{threshold}</td>\
         <td>{withdraws}</td></tr>\n",
        hallmark::what(check.id),
    )
}

/// Plausibility, availability, and what checking values found.
fn checks(summary: &Summary) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<dl>\n<dt>in flight</dt><dd>{}</dd>",
        grouped(&escape(&prose::concurrency(summary)))
    );
    for (title, text) in prose::availability(summary, LETTERS) {
        let _ = writeln!(out, "<dt>{title}</dt><dd>{}</dd>", grouped(&escape(&text)));
    }
    if let Some(text) = prose::value_checks(summary) {
        let _ = writeln!(out, "<dt>values</dt><dd>{}</dd>", grouped(&escape(&text)));
    }
    let balance = if summary.is_balanced {
        "every arrival is accounted for"
    } else {
        "NOT every arrival is accounted for"
    };
    let _ = writeln!(out, "<dt>balance</dt><dd>{balance}</dd>\n</dl>");
    let outages = outage_table(summary);
    if !outages.is_empty() {
        out += "<h3>Outages</h3>\n";
        out += &table(&outages, "");
    }
    let silences = silence_table(summary);
    if !silences.is_empty() {
        out += &details("Silences longer than chance", &table(&silences, ""));
    }
    out + &success_by_kind(summary)
}

/// A run whose store pauses all the time has more of them than are useful.
const SILENCES_SHOWN: usize = 100;

fn silence_table(summary: &Summary) -> Table {
    let columns = [("from", Align::Right), ("until", Align::Right), ("length", Align::Right)];
    let mut rows = Table::new(&columns);
    let mut all = summary.availability.silences.clone();
    all.sort_by_key(|silence| std::cmp::Reverse(silence.length()));
    for silence in all.iter().take(SILENCES_SHOWN) {
        let length = duration(silence.length(), LETTERS);
        rows.row(vec![
            moment(silence.from),
            moment(silence.until),
            if silence.is_cut_off { format!("≥ {length}") } else { length },
        ]);
    }
    rows
}

fn outage_table(summary: &Summary) -> Table {
    let mut rows = Table::new(&[
        ("from", Align::Right),
        ("until", Align::Right),
        ("length", Align::Right),
        ("failed or late", Align::Right),
        ("recovered after", Align::Right),
    ]);
    for outage in &summary.availability.outages {
        let length = duration(outage.length(), LETTERS);
        rows.row(vec![
            moment(outage.from),
            moment(outage.until),
            if outage.is_cut_off { format!("≥ {length}") } else { length },
            count(outage.failures),
            outage.recovered_after.map_or_else(|| "never".to_owned(), |t| duration(t, LETTERS)),
        ]);
    }
    rows
}

fn success_by_kind(summary: &Summary) -> String {
    if summary.availability.by_kind.len() < 2 {
        return String::new();
    }
    let mut rows = Table::new(&[("kind", Align::Left), ("success", Align::Right)]);
    for (kind, ratio) in &summary.availability.by_kind {
        rows.row(vec![Kind::name(*kind).to_owned(), percent(*ratio)]);
    }
    details("Success of each kind", &table(&rows, ""))
}

/// The beginning of a section; the caller ends it.
pub fn section(id: &str, title: &str, lead: &str) -> String {
    let lead =
        if lead.is_empty() { String::new() } else { format!("<p class=\"lead\">{lead}</p>\n") };
    format!("<section id=\"{id}\">\n<h2>{title}</h2>\n{lead}")
}

/// What is folded away.
pub fn details(title: &str, inner: &str) -> String {
    format!("<details><summary>{title}</summary>\n{inner}</details>\n")
}

/// A table whose wide content scrolls by itself instead of widening the page.
pub fn table(table: &Table, class: &str) -> String {
    let side = |side: Align| if side == Align::Right { " class=\"n\"" } else { "" };
    let mut out = format!("{SCROLL}<table class=\"{class}\"><thead><tr>");
    for (title, place) in table.columns() {
        let _ = match title.as_str() {
            "" => write!(out, "<td></td>"),
            title => {
                write!(out, "<th scope=\"col\"{}>{}</th>", side(*place), escape(title))
            }
        };
    }
    out += "</tr></thead><tbody>\n";
    for row in table.rows() {
        out += "<tr>";
        for (place, (cell, (_, column))) in row.iter().zip(table.columns()).enumerate() {
            let text = grouped(&escape(cell));
            let _ = match (place, column) {
                (0, Align::Left) => write!(out, "<th scope=\"row\">{text}</th>"),
                _ => write!(out, "<td{}>{text}</td>", side(*column)),
            };
        }
        out += "</tr>\n";
    }
    out + "</tbody></table></div>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_together_with_their_groups_and_units() {
        let joined = |text: &str| grouped(text).replace('\u{202f}', "_");
        assert_eq!(joined("19 882/s of 20 001/s"), "19_882/s of 20_001/s");
        assert_eq!(joined("p99 480 ms, 7 125 of 1 200 051"), "p99 480_ms, 7_125 of 1_200_051");
        assert_eq!(joined("~2.51 ms (71 %)"), "~2.51_ms (71_%)");
        assert_eq!(joined("6 misses, 64 sessions"), "6 misses, 64 sessions");
        assert_eq!(joined("2026-11-21 18:30"), "2026-11-21 18:30");
    }

    #[test]
    fn a_range_names_a_common_unit_once() {
        assert_eq!(between(Nanos(146_000), Nanos(161_000)), "146–161\u{202f}µs");
        assert_eq!(between(Nanos(383_000), Nanos(38_000_000)), "383\u{202f}µs–38.0\u{202f}ms");
    }
}
