//! The sections of the page, one function for each.

use std::fmt::Write as _;

use assay_analysis::hallmark::{Check, CheckVerdict};
use assay_analysis::{
    Counts, Distribution, Group, HeatMap, Interval, IntervalSummary, Series, Summary,
};
use assay_model::{Kind, Nanos};

use super::escape::escape;
use super::heat_chart::heat_chart;
use super::line_chart::LineChart;
use super::servers::Titled;
use crate::facts::Facts;
use crate::hallmark::{self, Rows, Time};
use crate::percentile::{DisplayedPercentile, TOO_FEW, TOO_FEW_MEANING, WITHDRAWN};
use crate::table::{Side, Table};
use crate::units::{Letters, count, duration, moment, percent, percentile_name, rate};
use crate::verdict::{self, Finding, Level, Opening};
use crate::{prose, tables};

/// The page is always in full Unicode.
const LETTERS: Letters = Letters::Unicode;

/// The percentiles of the large table.
const PERCENTILES: [f64; 7] = [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 1.0];

/// Title, verdict and the figures that everybody requests first.
pub fn opening(facts: &Facts, summary: &Summary) -> String {
    let mut out = format!(
        "<header><p class=\"brand\">Assay <span>{version}</span></p>\n<h1>{title}</h1>\n\
         <p class=\"sub\">{started} · {model} loop · {load}</p></header>\n",
        version = escape(&facts.version),
        title = escape(&facts.title),
        started = escape(&facts.started),
        model = verdict::model_name(summary.load),
        load = escape(&facts.load),
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
    let rates = &summary.overall.rates;
    let counts = &summary.overall.counts;
    let requested = match summary.load {
        assay_analysis::LoadModel::Open { .. } => {
            format!("of {} offered", rate(rates.offered_per_s))
        }
        assay_analysis::LoadModel::Closed { target: Some(target), .. } => {
            format!("of {} wanted", rate(target))
        }
        assay_analysis::LoadModel::Closed { target: None, sessions } => {
            format!("by {} sessions", count(sessions))
        }
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
    let misses = format!("{} misses apart", count(counts.misses));
    let mut out = "<section class=\"cards\" aria-label=\"Figures\">\n".to_owned();
    out += &card("Throughput", &rate(rates.done_per_s), &requested);
    out += &card("Goodput", &rate(rates.goodput_per_s), &misses);
    out += &card("Failures", &count(failed), &failures);
    out += &lag_card(summary);
    for quantile in [0.5, 0.99, 0.999, 1.0] {
        out += &latency_card(facts, summary, quantile);
    }
    out + "</section>\n"
}

fn latency_card(facts: &Facts, summary: &Summary, quantile: f64) -> String {
    let hits = &summary.overall.hits;
    let display = |time: Time, distribution: &Distribution| {
        DisplayedPercentile::of(distribution, quantile, hallmark::withdraws(facts, time, quantile))
    };
    let response = display(Time::Response, &hits.response);
    let service = display(Time::Service, &hits.service);
    let title = format!("Response {}", percentile_name(quantile));
    match response {
        DisplayedPercentile::TooFew(_) => card(&title, TOO_FEW, &response.note(LETTERS)),
        DisplayedPercentile::Withdrawn(value) => {
            let note = format!("withdrawn; service {}", service.phrase(LETTERS));
            struck_card(&title, &duration(value, LETTERS), &note)
        }
        DisplayedPercentile::Nothing | DisplayedPercentile::Value(_) => {
            let note = format!("service {}", service.phrase(LETTERS));
            card(&title, &response.cell(LETTERS), &note)
        }
    }
}

fn lag_card(summary: &Summary) -> String {
    let display = |quantile| DisplayedPercentile::of(&summary.lag, quantile, false);
    let median = format!("median {}", display(0.5).phrase(LETTERS));
    match display(0.99) {
        few @ DisplayedPercentile::TooFew(_) => card("Lag p99", TOO_FEW, &few.note(LETTERS)),
        p99 => card("Lag p99", &p99.cell(LETTERS), &median),
    }
}

/// Effective settings of the store and everything else about the run.
pub fn circumstances(facts: &Facts, summary: &Summary) -> String {
    let mut out = section("circumstances", "What was measured", "");
    out += "<div class=\"pair\"><div>";
    out += "<h3>Effective store settings</h3>\n";
    if facts.store.settings.is_empty() {
        out += "<p class=\"note\">The store tells nothing about its settings.</p>";
    } else {
        out += &table(&tables::settings(&facts.store.settings), "settings");
    }
    out += "</div>\n<div><h3>The run</h3>\n<dl>";
    for (title, text) in prose::circumstances(facts, summary, LETTERS) {
        let _ = writeln!(out, "<dt>{title}</dt><dd>{}</dd>", grouped(&escape(&text)));
    }
    out += "</dl></div></div>\n</section>\n";
    out
}

/// How to run it once more.
pub fn repetition(facts: &Facts) -> String {
    let mut out = section("repeat", "To repeat it", "");
    let _ = write!(
        out,
        "<pre tabindex=\"0\"><code>{}</code></pre>\n<dl>\n<dt>run</dt><dd>{}</dd>\n\
         <dt>seed</dt><dd class=\"hash\">{}</dd>\n",
        escape(&facts.command),
        escape(&facts.run_id),
        facts.seed
    );
    for (title, hash) in [
        ("trace planned", &facts.trace_hash_planned),
        ("trace executed", &facts.trace_hash_executed),
    ] {
        if let Some(hash) = hash {
            let _ = writeln!(out, "<dt>{title}</dt><dd class=\"hash\">{}</dd>", escape(hash));
        }
    }
    out + "</dl>\n</section>\n"
}

/// Percentiles of every kind: the spectra with their table.
pub fn percentiles(facts: &Facts, summary: &Summary, spectra: &[(String, LineChart)]) -> String {
    let mut out = section(
        "percentiles",
        "Latency by percentile",
        "Response is what a user waits, from the intended moment on; service is what the store \
         needed. The space between them is waiting. Hits only.",
    );
    for (place, (name, chart)) in spectra.iter().enumerate() {
        if place == 1 {
            out += "<div class=\"multiples\">\n";
        }
        let _ = write!(
            out,
            "<figure><figcaption>{}</figcaption>\n{}</figure>\n",
            escape(name),
            chart.html()
        );
    }
    if spectra.len() > 1 {
        out += "</div>\n";
    }
    out += &details("Percentiles with 95 % confidence", &percentile_table(facts, summary));
    out + "</section>\n"
}

fn percentile_table(facts: &Facts, summary: &Summary) -> String {
    let mut out = "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th></th><th></th>\
                   <th class=\"n\">count</th>"
        .to_owned();
    for quantile in PERCENTILES {
        let _ = write!(out, "<th class=\"n\">{}</th>", percentile_name(quantile));
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
    out + TOO_FEW_MEANING + ".</p>\n"
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
            few @ DisplayedPercentile::TooFew(_) => {
                let note = grouped(&few.note(LETTERS));
                write!(out, "<td class=\"n\">{TOO_FEW}<small>{note}</small></td>")
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
    series: &Series,
    latency: &LineChart,
    throughput: &LineChart,
) -> String {
    let mut out = section(
        "course",
        "Over time",
        "What lies beside the measured window is shaded; numbers mark events. \
         Move over one chart, or focus it and use the arrow keys, and the others follow.",
    );
    let _ = write!(
        out,
        "<figure><figcaption>Latency</figcaption>\n{}</figure>\n\
         <figure><figcaption>Throughput, operations per second</figcaption>\n{}</figure>\n",
        latency.html(),
        throughput.html()
    );
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
            event.kind.name(),
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

/// What the store's servers used; empty where nobody looked.
pub fn servers(facts: &Facts, summary: &Summary, charts: &[Titled]) -> String {
    let Some(table) = crate::servers::table(facts, summary) else { return String::new() };
    let mut out = section(
        "servers",
        "Servers",
        "What each node's processes used of their machine under load; the table has \
         means over the measured window, of memory the most. Bytes over TCP count those between \
         nodes too.",
    );
    for Titled { title, chart } in charts {
        let _ =
            write!(out, "<figure><figcaption>{title}</figcaption>\n{}</figure>\n", chart.html());
    }
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
        "Each cell is a stretch of time and of latency; the darker, the more operations \
         (by square root, so that few are seen too).",
    );
    let maps = [
        ("Response time", &series.response, "tall"),
        ("Service time", &series.service, "tall"),
        ("Response time of misses", &series.misses, "low"),
    ];
    let mut drawn = 0;
    for (title, map, class) in maps {
        let chart = heat_chart(map, &format!("{title} over time, as a map of counts"), class);
        if !chart.is_empty() {
            drawn += 1;
            let _ = write!(out, "<figure><figcaption>{title}</figcaption>\n{chart}</figure>\n");
        }
    }
    if drawn == 0 {
        return String::new();
    }
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
        ("from", Side::Right),
        ("to below", Side::Right),
        ("operations", Side::Right),
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

/// The generator's own lateness.
pub fn lag(series: &Series, over_time: &LineChart, spectrum: Option<&LineChart>) -> String {
    let mut out = section(
        "lag",
        "Our own lag",
        "From the intended moment to the request: what this program, or the bound on operations \
         in flight, added to the response time.",
    );
    out += "<div class=\"multiples\">\n";
    let _ =
        write!(out, "<figure><figcaption>Over time</figcaption>\n{}</figure>\n", over_time.html());
    if let Some(chart) = spectrum {
        let _ = write!(
            out,
            "<figure><figcaption>By percentile</figcaption>\n{}</figure>\n",
            chart.html()
        );
    }
    out += "</div>\n";
    let map = heat_chart(&series.lag, "Lag over time, as a map of counts", "low");
    if !map.is_empty() {
        let _ = write!(out, "<figure><figcaption>Heat map</figcaption>\n{map}</figure>\n");
    }
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
    let mut out =
        "<div class=\"scroll\" tabindex=\"0\"><table class=\"dense\"><thead><tr>".to_owned();
    for title in titles {
        let _ = write!(out, "<th class=\"n\">{title}</th>");
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

/// Whole transactions, then single queries; empty if records were requested by key.
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
    out += "<div class=\"pair\"><div>\n";
    out += &table(&tables::outcomes(summary), "");
    out += "</div>\n<div>\n";
    if tables::has_failures(summary) {
        out += &table(&tables::reasons(summary), "");
    } else {
        out += "<p class=\"note\">Nothing was refused, unknown or dropped.</p>\n";
    }
    out += "</div></div>\n";
    out += &details("Throughput of each kind", &table(&tables::throughput(summary), ""));
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

/// Every check of the hallmark, with what it withdraws.
pub fn certificate(facts: &Facts) -> String {
    let rows = hallmark::checks(facts, Rows::All);
    if rows.is_empty() {
        return String::new();
    }
    let mut out = section(
        "hallmark",
        "Hallmark",
        "Whether the measurement itself may be believed: each check with what decided it. A figure \
         that a failed check withdraws is struck out on this page.",
    );
    out += "<div class=\"scroll\" tabindex=\"0\"><table class=\"checks\"><thead><tr><th></th>\
            <th>check</th><th>verdict</th><th>found</th><th>threshold</th><th>withdraws</th>\
            </tr></thead><tbody>\n";
    let all = facts.hallmark.iter().flat_map(|hallmark| &hallmark.checks);
    for (row, check) in rows.rows().iter().zip(all) {
        out += &certificate_row(row, check);
    }
    out += "</tbody></table></div>\n";
    if let Some(text) = hallmark::floor(facts, LETTERS) {
        let _ = writeln!(out, "<p class=\"note\">Noise floor: {}.</p>", grouped(&escape(&text)));
    }
    out + "</section>\n"
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
pub fn checks(summary: &Summary) -> String {
    let mut out = section("checks", "Checks", "");
    let _ = writeln!(
        out,
        "<dl>\n<dt>in flight</dt><dd>{}</dd>\n<dt>available</dt><dd>{}</dd>",
        grouped(&escape(&prose::concurrency(summary))),
        grouped(&escape(&prose::availability(summary, LETTERS)))
    );
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
    out += &success_by_kind(summary);
    out + "</section>\n"
}

fn outage_table(summary: &Summary) -> Table {
    let mut rows = Table::new(&[
        ("from", Side::Right),
        ("until", Side::Right),
        ("length", Side::Right),
        ("failed", Side::Right),
        ("recovered after", Side::Right),
    ]);
    for outage in &summary.availability.outages {
        let length = duration(outage.until.since(outage.from), LETTERS);
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
    let mut rows = Table::new(&[("kind", Side::Left), ("success", Side::Right)]);
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
    let side = |side: Side| if side == Side::Right { " class=\"n\"" } else { "" };
    let mut out =
        format!("<div class=\"scroll\" tabindex=\"0\"><table class=\"{class}\"><thead><tr>");
    for (title, place) in table.columns() {
        let _ = write!(out, "<th{}>{}</th>", side(*place), escape(title));
    }
    out += "</tr></thead><tbody>\n";
    for row in table.rows() {
        out += "<tr>";
        for (place, (cell, (_, column))) in row.iter().zip(table.columns()).enumerate() {
            let text = grouped(&escape(cell));
            let _ = match (place, column) {
                (0, Side::Left) => write!(out, "<th scope=\"row\">{text}</th>"),
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
