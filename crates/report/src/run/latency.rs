//! Sections on the throughput and the latency of a run, by percentile and as maps of counts.

use assay_analysis::{Distribution, HeatMap, Interval, IntervalSummary, Series, Summary};
use assay_model::Nanos;

use super::timeline::{self, INTENDED, SENT, Timeline};
use super::{LETTERS, drawn, notes};
use crate::chart::heat_chart::heat_chart;
use crate::chart::line_chart::Height;
use crate::document::{Block, ChartFigure, DocumentSection, FigureLayout, PageCell, PageTable};
use crate::facts::Facts;
use crate::hallmark;
use crate::percentile::{DisplayedPercentile, NO_VALUE_MEANING, SAMPLE_MEANING};
use crate::table::Table;
use crate::tables;
use crate::units::{count, duration, moment, percentile_name};
use assay_analysis::slo::Stretch;

/// Spectra that are shown at once; the others can be opened.
const SPECTRA: usize = 6;

/// The percentiles of the large table.
const PERCENTILES: [f64; 7] = [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 1.0];

const LEAD: &str = "Response is what a user waits, from the intended moment on; service is what \
    the store needed. The space between them is waiting. Hits only.";

const HEAT_LEAD: &str = "Each cell is a stretch of time and of latency; its colour says how many \
    operations are in it (by square root, so that few are seen too).";

const LAG_LEAD: &str = "From the intended moment to the request: what this program, or the bound \
    on operations in flight, added to the response time.";

/// Throughput and latency as tables; a page has the spectra and the heat maps instead.
pub fn sections<'a>(
    facts: &'a Facts,
    summary: &'a Summary,
    series: &'a Series,
) -> Vec<DocumentSection<'a>> {
    let queries = tables::queries(facts, summary, LETTERS);
    let requests = if queries.is_some() { " of single requests" } else { "" };
    let throughput = DocumentSection::of_lines(format!("Throughput{requests}"));
    let latency = tables::latency(facts, summary, LETTERS);
    let legend = notes(&latency);
    let of_latency = DocumentSection::of_lines("Latency").with(latency.into()).with_all(legend);
    let percentiles = DocumentSection::of_page("percentiles", "Latency by percentile", LEAD);
    let table = || percentile_table(facts, summary);
    let mut sections = vec![
        throughput.with(tables::throughput(summary).into()),
        of_latency,
        percentiles.listed("Percentiles").with(Block::on_page(|| spectra(summary))).with(
            Block::on_page(move || {
                vec![Block::Fold("Percentiles with 95 % confidence".to_owned(), table())]
            }),
        ),
    ];
    sections.extend(heat(series));
    sections.extend(queries.map(|table| DocumentSection::of_lines("Queries").with(table.into())));
    sections
}

/// One spectrum for the headline's operations, then one for each part of them.
fn spectra<'a>(summary: &Summary) -> Vec<Block<'a>> {
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
        let chart = timeline::spectrum(&format!("spectrum-{place}"), title, group, Height::Low);
        spectra.extend(chart.map(|chart| ChartFigure::lines(title, chart)));
    }
    let more = spectra.split_off(spectra.len().min(SPECTRA));
    let mut blocks = vec![Block::Figures(FigureLayout::Multiples, spectra)];
    if !more.is_empty() {
        let title = "Single requests and more".to_owned();
        blocks.push(Block::Fold(title, vec![Block::Figures(FigureLayout::Multiples, more)]));
    }
    blocks
}

fn percentile_table<'a>(facts: &Facts, summary: &Summary) -> Vec<Block<'a>> {
    let quantiles = PERCENTILES.map(|quantile| (percentile_name(quantile), true));
    let titles = [(String::new(), false), (String::new(), false), ("count".to_owned(), true)];
    let mut rows = Vec::new();
    let mut row = |title: &str, time: Stretch, distribution: &Distribution| {
        if distribution.count > 0 {
            rows.push(percentile_row(facts, title, time, distribution));
        }
    };
    for (name, group) in tables::all_groups(summary) {
        for (of, latency) in
            [("", &group.hits), (", misses", &group.misses), (", failed", &group.failed)]
        {
            row(&format!("{name}{of}"), Stretch::Response, &latency.response);
            row("", Stretch::Service, &latency.service);
        }
    }
    row("all operations", Stretch::Lag, &summary.lag);
    let columns = titles.into_iter().chain(quantiles).collect();
    let meaning = format!("{SAMPLE_MEANING}; {NO_VALUE_MEANING}.");
    vec![Block::PageTable(PageTable { class: "", columns, rows }), Block::Note(meaning)]
}

fn percentile_row(
    facts: &Facts,
    title: &str,
    time: Stretch,
    distribution: &Distribution,
) -> Vec<PageCell> {
    let text = |text: &str| PageCell::Text(text.to_owned(), String::new());
    let first = [PageCell::Title(title.to_owned()), text(time.name())];
    let cell = |quantile: f64| {
        let is_withdrawn = hallmark::withdraws(facts, time, quantile);
        match DisplayedPercentile::of(distribution, quantile, is_withdrawn) {
            sample @ (DisplayedPercentile::Sample(..) | DisplayedPercentile::NoneBeyond) => {
                PageCell::Text(sample.cell(LETTERS), sample.note().to_owned())
            }
            DisplayedPercentile::Withdrawn(value) => {
                PageCell::Struck(duration(value, LETTERS), "withdrawn")
            }
            display => PageCell::Text(display.cell(LETTERS), confidence(distribution, quantile)),
        }
    };
    let count = [text(&count(distribution.count))];
    first.into_iter().chain(count).chain(PERCENTILES.map(cell)).collect()
}

/// The ends of a percentile's interval.
fn confidence(distribution: &Distribution, quantile: f64) -> String {
    match distribution.percentile_at(quantile).map(|percentile| percentile.interval) {
        Some(Interval::Known { low, high, .. }) => between(low, high),
        _ => String::new(),
    }
}

/// `1.20–1.31 ms`: the unit once, if it is the same.
fn between(low: Nanos, high: Nanos) -> String {
    let (low, high) = (duration(low, LETTERS), duration(high, LETTERS));
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number}–{high}"),
        _ => format!("{low}–{high}"),
    }
}

/// Where the operations of each moment lie, so that two humps or a saw are seen; none without one.
fn heat<'a>(series: &'a Series) -> Option<DocumentSection<'a>> {
    let maps = [
        ("Response time", INTENDED, &series.response),
        ("Service time", SENT, &series.service),
        ("Response time of misses", INTENDED, &series.misses),
    ];
    if maps.iter().all(|(_, _, map)| map.columns.is_empty() || map.peak == 0) {
        return None;
    }
    let figures = move || {
        let figures = maps.into_iter().filter_map(|(title, moment, map)| {
            let description = format!("{title} over time, as a map of counts");
            drawn(title, heat_chart(map, moment, &description, "low"))
        });
        figures.collect()
    };
    let section =
        DocumentSection::of_page("heat", "Latency heat map", HEAT_LEAD).listed("Heat map");
    let rows = || {
        let table = heat_table(&series.response).into();
        vec![Block::Fold("Response time: operations in each row".to_owned(), vec![table])]
    };
    let section = section.with(Block::figures(FigureLayout::Multiples, figures));
    Some(section.with(Block::HeatKey).with(Block::on_page(rows)))
}

fn heat_table(map: &HeatMap) -> Table {
    let sum = |row: usize| map.columns.iter().map(|column| column[row]).sum::<u64>();
    let edge = |place: usize| duration(map.edges[place], LETTERS);
    let rows = (0..map.edges.len().saturating_sub(1)).rev();
    Table::of(rows.map(|row| (row, sum(row))).filter(|(_, sum)| *sum > 0))
        .right("from", |(row, _)| edge(*row))
        .right("to below", |(row, _)| edge(row + 1))
        .right("operations", |(_, sum)| count(*sum))
        .build()
}

/// The generator's own lateness, collapsed: the card above has its p99.
pub fn lag<'a>(facts: &'a Facts, summary: &'a Summary, series: &'a Series) -> DocumentSection<'a> {
    let figures = move || {
        let over_time = Timeline::new(facts, summary, series).lag();
        let mut figures = vec![ChartFigure::lines("Over time", over_time)];
        let spectrum = timeline::lag_spectrum(summary);
        figures.extend(spectrum.map(|chart| ChartFigure::lines("By percentile", chart)));
        let description = "Lag over time, as a map of counts";
        figures.extend(drawn("Heat map", heat_chart(&series.lag, INTENDED, description, "low")));
        figures
    };
    let charts = Block::figures(FigureLayout::Multiples, figures);
    let intervals = Block::on_page(|| vec![lag_table(series)]);
    let section = DocumentSection::of_page("lag", "Our own lag", LAG_LEAD).listed("Lag");
    let section = section.with(Block::Fold("Charts of the lag".to_owned(), vec![charts]));
    section.with(Block::Fold("Lag of every interval".to_owned(), vec![intervals]))
}

fn lag_table<'a>(series: &Series) -> Block<'a> {
    let row = |interval: &IntervalSummary| {
        let lag = &interval.lag;
        let latencies = [lag.p50, lag.p90, lag.p99, lag.p999, lag.max];
        let cells = latencies.into_iter().map(|time| duration(time, LETTERS));
        [moment(interval.from), count(lag.count)].into_iter().chain(cells).collect()
    };
    let titles = &["from", "issued", "p50", "p90", "p99", "p99.9", "max"];
    Block::Dense(titles, series.intervals.iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_names_a_common_unit_once() {
        assert_eq!(between(Nanos(146_000), Nanos(161_000)), "146–161 µs");
        assert_eq!(between(Nanos(383_000), Nanos(38_000_000)), "383 µs–38.0 ms");
    }
}
