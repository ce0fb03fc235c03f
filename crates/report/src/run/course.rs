//! Section on a run over time: latency and throughput with the events.

use assay_analysis::{IntervalSummary, Series, Summary};

use super::LETTERS;
use super::timeline::Timeline;
use crate::document::{Block, ChartFigure, DocumentSection, FigureLayout, NumberedEvent};
use crate::facts::Facts;
use crate::servers;
use crate::units::{count, duration, moment};
use crate::verdict::{self, Unit};

const LEAD: &str = "Latency stands where an operation was meant to be sent, so a stall is seen \
    while it lasts. What lies beside the measured window is shaded; numbers mark events. Faults \
    are bands; a strip at the foot says when the service was degraded or down.";

/// The course of latency and throughput; a page alone has it.
pub fn section<'a>(
    facts: &'a Facts,
    summary: &'a Summary,
    series: &'a Series,
) -> DocumentSection<'a> {
    let figures = Block::figures(FigureLayout::Stacked, move || {
        let of = match verdict::headline_group(summary).0 {
            Unit::Operations => "",
            Unit::Transactions => " of single requests",
        };
        let timeline = Timeline::new(facts, summary, series);
        vec![
            ChartFigure::lines(format!("Latency{of}"), timeline.latency()),
            ChartFigure::lines(format!("Throughput{of}"), timeline.throughput()),
        ]
    });
    let section = DocumentSection::of_page("course", "Over time", LEAD).listed("Over time");
    section.with(figures).with(Block::on_page(|| events(facts))).with(Block::on_page(|| {
        vec![Block::Fold("Every interval".to_owned(), vec![intervals(series)])]
    }))
}

/// The events, then what was seen of their effects.
fn events<'a>(facts: &Facts) -> Vec<Block<'a>> {
    if facts.events.is_empty() {
        return Vec::new();
    }
    let events = facts.events.iter().map(|event| NumberedEvent {
        when: moment(event.at),
        kind: event.label(),
        text: event.text.clone(),
    });
    let mut blocks = vec![Block::Events(events.collect())];
    let effects = servers::effects(facts, LETTERS);
    if !effects.is_empty() {
        blocks.extend([Block::Heading("Effects".to_owned()), Block::List(effects)]);
    }
    blocks
}

const TITLES: [&str; 13] = [
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

fn intervals<'a>(series: &Series) -> Block<'a> {
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
        let from = [moment(interval.from)].into_iter();
        from.chain(counts.into_iter().map(count)).chain(latencies).collect()
    };
    Block::Dense(&TITLES, series.intervals.iter().map(row).collect())
}
