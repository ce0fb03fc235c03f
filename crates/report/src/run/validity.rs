//! Sections on whether a run is to be trusted: the hallmark, plausibility, availability, values.

use assay_analysis::Summary;
use assay_model::Nanos;

use super::LETTERS;
use crate::document::{Block, DocumentSection};
use crate::facts::Facts;
use crate::hallmark::{self, ShownChecks};
use crate::prose;
use crate::table::Table;
use crate::units::{count, duration, moment, percent};

/// A run whose store pauses all the time has more of them than are useful.
const SILENCES_SHOWN: usize = 100;

const LEAD: &str = "Whether the measurement itself is valid. A figure that a failed check \
    withdraws is struck out on this page.";

/// What was looked at beside the figures, and what was found.
pub fn checks<'a>(facts: &Facts, summary: &Summary) -> DocumentSection<'a> {
    let untold = hallmark::untold(facts);
    let untold = (!untold.is_empty()).then_some(("unchecked", untold));
    let mut lines: Vec<(&str, String)> = untold.into_iter().collect();
    lines.extend(hallmark::floor(facts, LETTERS).map(|text| ("floor", text)));
    lines.push(("in flight", prose::concurrency(summary)));
    lines.extend(prose::availability(summary, LETTERS));
    lines.extend(prose::consistency(facts).map(|text| ("judged", text)));
    if let Some(result) = &facts.consistency {
        let texts = crate::consistency::check_lines(result, LETTERS);
        lines.extend(texts.into_iter().map(|text| ("verdicts", text)));
    }
    lines.extend(prose::value_checks(summary).map(|text| ("values", text)));
    DocumentSection::of_lines("Checks").reference().with(Block::facts(lines))
}

/// The checks of the hallmark: the notable ones as lines, all of them on a page.
pub fn hallmark<'a>(facts: &'a Facts, summary: &'a Summary) -> [DocumentSection<'a>; 2] {
    let notable = Block::Checks(hallmark::checks(facts, ShownChecks::Notable));
    [DocumentSection::of_lines("Hallmark").with(notable), page(facts, summary)]
}

/// The findings of the hallmark's checks, then plausibility, availability, checked values; the
/// passed checks are collapsed.
fn page<'a>(facts: &'a Facts, summary: &'a Summary) -> DocumentSection<'a> {
    let lead = if facts.hallmark.is_some() { LEAD } else { "" };
    let section =
        DocumentSection::of_page("hallmark", "Hallmark and checks", lead).listed("Hallmark");
    let notable = || {
        let rows = hallmark::checks(facts, ShownChecks::Notable);
        if rows.is_empty() { Vec::new() } else { vec![Block::Checks(rows)] }
    };
    let every = move || {
        let rows = hallmark::checks(facts, ShownChecks::All);
        if rows.is_empty() {
            return Vec::new();
        }
        let title = format!("All {} checks of the hallmark", count(rows.len() as u64));
        let floor = hallmark::floor(facts, LETTERS);
        let floor = floor.map(|text| Block::Note(format!("Noise floor: {text}.")));
        vec![Block::Fold(title, [Block::Checks(rows)].into_iter().chain(floor).collect())]
    };
    let section = section.with(Block::on_page(notable));
    section.with(Block::on_page(|| findings(summary))).with(Block::on_page(every))
}

/// Plausibility, availability, and what checking values found.
fn findings<'a>(summary: &Summary) -> Vec<Block<'a>> {
    let mut lines = vec![("in flight", prose::concurrency(summary))];
    lines.extend(prose::availability(summary, LETTERS));
    lines.extend(prose::value_checks(summary).map(|text| ("values", text)));
    let balance = match summary.is_balanced {
        true => "every arrival is accounted for",
        false => "NOT every arrival is accounted for",
    };
    lines.push(("balance", balance.to_owned()));
    let mut blocks = vec![Block::facts(lines)];
    let outages = outage_table(summary);
    if !outages.is_empty() {
        blocks.extend([Block::Heading("Outages".to_owned()), Block::Table(outages)]);
    }
    let silences = silence_table(summary);
    if !silences.is_empty() {
        let title = "Silences longer than chance".to_owned();
        blocks.push(Block::Fold(title, vec![Block::Table(silences)]));
    }
    blocks.extend(success_by_kind(summary));
    blocks
}

fn silence_table(summary: &Summary) -> Table {
    let mut all = summary.availability.silences.clone();
    all.sort_by_key(|silence| std::cmp::Reverse(silence.length()));
    Table::of(all.into_iter().take(SILENCES_SHOWN))
        .right("from", |silence| moment(silence.from))
        .right("until", |silence| moment(silence.until))
        .right("length", |silence| length(silence.length(), silence.is_cut_off))
        .build()
}

/// A length, or that it is longer than was seen.
fn length(length: Nanos, is_cut_off: bool) -> String {
    let at_least = if is_cut_off { "≥ " } else { "" };
    format!("{at_least}{}", duration(length, LETTERS))
}

fn outage_table(summary: &Summary) -> Table {
    let recovered = |after: Nanos| duration(after, LETTERS);
    Table::of(&summary.availability.outages)
        .right("from", |outage| moment(outage.from))
        .right("until", |outage| moment(outage.until))
        .right("length", |outage| length(outage.length(), outage.is_cut_off))
        .right("failed or late", |outage| count(outage.failures))
        .right("recovered after", |outage| {
            outage.recovered_after.map_or("never".to_owned(), recovered)
        })
        .build()
}

fn success_by_kind<'a>(summary: &Summary) -> Option<Block<'a>> {
    if summary.availability.by_kind.len() < 2 {
        return None;
    }
    let rows = Table::of(&summary.availability.by_kind)
        .left("kind", |(kind, _)| kind.name())
        .right("success", |(_, ratio)| percent(*ratio));
    Some(Block::Fold("Success of each kind".to_owned(), vec![rows.build().into()]))
}
