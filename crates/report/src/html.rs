//! A result as one HTML file that needs no network.
//!
//! Everything essential is text, tables and SVG that are drawn here, so it is there without
//! JavaScript, in print and in a mail program. Where a browser runs scripts, the line charts are
//! made movable by uPlot, which is part of the file. The same input gives the same bytes.

mod axis;
mod bar_chart;
mod box_chart;
mod charts;
pub mod compare;
mod consistency;
mod curve_chart;
pub(crate) mod escape;
mod heat_chart;
mod line_chart;
pub mod matrix;
pub mod precision;
mod recovery;
mod scraped;
mod sections;
mod servers;
pub mod study;
pub mod tune;

use assay_analysis::{Series, Summary};

use crate::facts::Facts;
use crate::tables;
use charts::Timeline;
use escape::{escape, script_json};
use line_chart::{Height, LineChart};

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");
const UPLOT_STYLE: &str = include_str!("../vendor/uplot-1.6.32/uPlot.min.css");
const UPLOT: &str = include_str!("../vendor/uplot-1.6.32/uPlot.iife.min.js");
const UPLOT_LICENCE: &str = include_str!("../vendor/uplot-1.6.32/LICENSE");

/// Nothing is loaded from anywhere; only what is in the file itself may run.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// The sections that the page's beginning points to.
const CONTENTS: [(&str, &str); 15] = [
    ("course", "Over time"),
    ("scraped", "Numbers of servers"),
    ("availability", "Availability"),
    ("transactions", "Transactions"),
    ("percentiles", "Percentiles"),
    ("heat", "Heat map"),
    ("agents", "Agents"),
    ("nodes", "Nodes"),
    ("servers", "Servers"),
    ("outcomes", "Outcomes"),
    ("consistency", "Consistency"),
    ("lag", "Lag"),
    ("hallmark", "Hallmark"),
    ("circumstances", "Settings"),
    ("repeat", "Repeat"),
];

/// The report as one file.
///
/// `timeline` is the series to show over time; give one that was analyzed over all phases so that
/// warm-up is seen (shaded), or `None` for the summary's own.
pub fn html(facts: &Facts, summary: &Summary, timeline: Option<&Series>) -> String {
    let series = timeline.unwrap_or(&summary.series);
    let time_course = Timeline::new(facts, summary, series);
    let (latency, throughput, lag) =
        (time_course.latency(), time_course.throughput(), time_course.lag());
    let spectra = spectra(summary);
    let lag_spectrum = charts::lag_spectrum(summary);
    let servers = servers::charts(facts, &time_course);
    let scraped = scraped::charts(facts, &time_course);
    let judged = facts.consistency.as_ref();
    let judged = judged.map(|result| (result, consistency::charts(result, &time_course)));

    let mut body = sections::time_course(facts, summary, series, (&latency, &throughput));
    body += &sections::scraped(facts, &scraped);
    body += &recovery::availability(facts.availability.as_ref());
    body += &sections::transactions(facts, summary);
    body += &sections::percentiles(facts, summary, &spectra);
    body += &sections::heat(series);
    body += &sections::agents(facts);
    body += &sections::nodes(facts, summary);
    body += &sections::servers(facts, summary, &servers);
    body += &sections::outcomes(summary);
    if let Some((result, charts)) = &judged {
        body += &consistency::consistency(result, charts);
    }
    body += &sections::lag(series, &lag, lag_spectrum.as_ref());
    body += &sections::certificate(facts, summary);
    body += &sections::circumstances(facts, summary);
    body += &sections::repetition(facts);

    let over_time = [&latency, &throughput, &lag];
    let movable = spectra.iter().map(|(_, chart)| chart).chain(over_time).chain(&lag_spectrum);
    let movable = movable.chain(servers.iter().map(|titled| &titled.chart));
    let movable = movable.chain(scraped.iter().map(|named| &named.chart));
    let of_verdicts = judged.iter().flat_map(|(_, charts)| charts.all());
    let movable = movable.chain(of_verdicts.flatten());
    let body = sections::opening(facts, summary) + &contents(&body) + &body;
    page(&facts.title, &body, &movable.collect::<Vec<_>>())
}

/// One spectrum for the headline's operations, then one for each part of them.
fn spectra(summary: &Summary) -> Vec<(String, LineChart)> {
    let mut groups = tables::all_groups(summary);
    let is_sum =
        |(name, _): &(String, _)| [tables::ALL, tables::ALL_TRANSACTIONS].contains(&name.as_str());
    if let Some(place) = groups.iter().position(is_sum) {
        let sum = groups.remove(place);
        groups.insert(0, sum);
    }
    let mut spectra = Vec::new();
    for (place, (name, group)) in groups.iter().enumerate() {
        let title = if name == tables::ALL { "all operations" } else { name };
        let chart = charts::spectrum(&format!("spectrum-{place}"), title, group, Height::Low);
        spectra.extend(chart.map(|chart| (title.to_owned(), chart)));
    }
    spectra
}

/// Links to those sections that `body` has.
fn contents(body: &str) -> String {
    let is_there = |(id, _): &&(&str, &str)| body.contains(&format!("<section id=\"{id}\""));
    let link = |(id, title): &(&str, &str)| format!("<a href=\"#{id}\">{title}</a>");
    let links: Vec<String> = CONTENTS.iter().filter(is_there).map(link).collect();
    format!("<nav aria-label=\"Contents\">{}</nav>\n", links.join("\n"))
}

/// What the head of each page begins with, and its main part: a server adds to them.
pub(crate) const HEAD: &str = "<meta charset=\"utf-8\">\n";
pub(crate) const MAIN: &str = "<main>\n";

pub(crate) fn page(title: &str, body: &str, charts: &[&LineChart]) -> String {
    let charts: Vec<serde_json::Value> = charts.iter().map(|chart| chart.json()).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n{HEAD}\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title} – Assay</title>\n<style>\n{UPLOT_STYLE}\n{STYLE}</style>\n</head>\n\
         <body>\n{MAIN}{body}</main>\n\
         <footer><p>Measured with Assay. This file needs no network.</p></footer>\n\
         <script type=\"application/json\" id=\"charts\">{charts}</script>\n\
         <script>\n/*\n{UPLOT_LICENCE}\n*/\n{UPLOT}\n{SCRIPT}</script>\n</body>\n</html>\n",
        title = escape(title),
        charts = script_json(&serde_json::Value::from(charts)),
    )
}

#[cfg(test)]
mod tests;
