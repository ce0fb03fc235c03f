//! Report of one run as a document.

mod cards;
mod consistency;
mod course;
mod latency;
mod server_charts;
mod timeline;
mod validity;

use assay_analysis::{Counts, Group, Series, Summary};

use crate::document::Finding;
use crate::document::{
    Bar, Block, ChartFigure, Circumstances, Document, DocumentSection, FigureLayout, Formats,
    Opening, opening,
};
use crate::facts::Facts;
use crate::hallmark;
use crate::table::Table;
use crate::units::{Letters, percent};
use crate::verdict;
use crate::{agents, prose, recovery, scraped, servers, tables};
use timeline::Timeline;

/// Documents are in full Unicode.
const LETTERS: Letters = Letters::Unicode;

/// The result of one run; the first line of its text is the verdict.
///
/// `timeline` is the series to show over time; give one that was analyzed over all phases so that
/// warm-up is seen (shaded), or `None` for the summary's own.
pub fn document<'a>(
    facts: &'a Facts,
    summary: &'a Summary,
    timeline: Option<&'a Series>,
) -> Document<'a> {
    let series = timeline.unwrap_or(&summary.series);
    let circumstances = prose::circumstances(facts, summary, LETTERS);
    let mut sections = vec![course::section(facts, summary, series)];
    sections.extend(transactions(facts, summary));
    sections.extend(latency::sections(facts, summary, series));
    sections.push(outcomes(summary));
    sections.extend(store_side(facts, summary, series));
    sections.extend(facts.availability.as_ref().map(recovery::section));
    sections.push(validity::checks(facts, summary));
    let rules = DocumentSection::of_lines("The workload's own rules").reference();
    sections.extend(listed(rules, prose::workload(facts)));
    if let Some(result) = &facts.consistency {
        let course = move || Timeline::new(facts, summary, series);
        sections.push(consistency::section(result, course));
    }
    sections.push(latency::lag(facts, summary, series));
    sections.extend(validity::hallmark(facts, summary));
    sections.push(settings(facts));
    sections.push(repeat(facts));
    Document {
        title: facts.title.clone(),
        version: facts.version.clone(),
        subtitle: format!(
            "{} · {} loop · {} · {}",
            facts.started,
            verdict::model_name(summary.load),
            facts.load,
            facts.store.url
        ),
        opening: first_lines(facts, summary),
        cards: cards::cards(facts, summary),
        circumstances: vec![Circumstances::new(facts.title.clone(), circumstances)],
        sections,
        ..Document::default()
    }
}

/// Hallmark, what to change, findings with the headline.
fn first_lines(facts: &Facts, summary: &Summary) -> Vec<Opening> {
    let changed = hallmark::changed(facts).into_iter();
    let changed = changed.map(|text| Finding::caution("threshold changed", text));
    let mut lines = opening(hallmark::line(facts).into_iter().collect());
    lines.extend(hallmark::next_steps(facts, &summary.load).into_iter().map(Opening::Next));
    lines.extend(opening(changed.collect()));
    lines.extend(verdict::opening(facts, summary, LETTERS));
    lines
}

/// Whole transactions, then single queries; none for records by key.
fn transactions<'a>(facts: &Facts, summary: &Summary) -> Option<DocumentSection<'a>> {
    let whole = tables::transactions(facts, summary, LETTERS)?;
    let legend = notes(&whole);
    let mut on_page = vec![Block::List(prose::workload(facts))];
    on_page.extend(queries(facts, summary));
    let lead = "A transaction lasts from its first intention to its last answer, its commit \
                included. It is as bad as the worst of its queries.";
    let section = DocumentSection::new("transactions", "Transactions", lead).listed("Transactions");
    let section = section.with(Block::Table(whole)).with(Block::Only(Formats::Lines, legend));
    Some(section.with(Block::Only(Formats::Page, on_page)))
}

fn queries<'a>(facts: &Facts, summary: &Summary) -> Option<Block<'a>> {
    let table = tables::queries(facts, summary, LETTERS)?;
    Some(Block::Fold("Each query".to_owned(), vec![Block::Table(table)]))
}

/// What the marks in the cells of `table` mean.
fn notes<'a>(table: &Table) -> Vec<Block<'a>> {
    tables::legend(table).into_iter().map(|meaning| Block::Note(meaning.to_owned())).collect()
}

/// What became of every operation.
fn outcomes<'a>(summary: &'a Summary) -> DocumentSection<'a> {
    let lead = "Every operation that was offered is in exactly one of these.";
    let section = DocumentSection::new("outcomes", "Outcomes", lead).listed("Outcomes");
    let section = section
        .with(Block::Only(Formats::Lines, vec![Block::Table(tables::outcomes(summary))]))
        .with(Block::on_page(|| vec![Block::Bars(&OUTCOMES, bars(summary))]));
    let reasons = match tables::has_failures(summary) {
        true => Block::Table(tables::reasons(summary)),
        false => {
            let none = "Nothing was refused, unknown or dropped.".to_owned();
            Block::Only(Formats::Page, vec![Block::Note(none)])
        }
    };
    section.with(reasons).with(Block::on_page(|| {
        let counts = [tables::outcomes(summary), tables::throughput(summary)];
        let title = "Counts and throughput of each kind".to_owned();
        vec![Block::Fold(title, counts.map(Block::Table).into())]
    }))
}

/// The outcomes, whose names are those of their colours.
const OUTCOMES: [&str; 5] = ["hits", "misses", "refused", "unknown", "dropped"];

fn bars(summary: &Summary) -> Vec<Bar> {
    let bar = |(name, group): (&str, &Group)| {
        let Counts { hits, misses, refused, unknown, dropped, offered, .. } = group.counts;
        Bar {
            title: name.to_owned(),
            parts: vec![hits, misses, refused, unknown, dropped],
            text: percent(hits as f64 / offered.max(1) as f64),
        }
    };
    tables::groups(summary).into_iter().map(bar).collect()
}

/// What was done to the store and seen of its servers and nodes.
fn store_side<'a>(
    facts: &'a Facts,
    summary: &'a Summary,
    series: &'a Series,
) -> Vec<DocumentSection<'a>> {
    let mut sections = Vec::new();
    let effects = servers::effects(facts, LETTERS);
    sections.extend(listed(DocumentSection::of_lines("Effects"), effects));
    let section = |id: &'static str, title: &'static str, lead: &str| {
        DocumentSection::new(id, title, lead).listed(title)
    };
    let charts = |draw: fn(&Facts, &Timeline<'_>) -> Vec<ChartFigure>| {
        let course = move || Timeline::new(facts, summary, series);
        Block::figures(FigureLayout::Multiples, move || draw(facts, &course()))
    };
    if let Some(table) = agents::table(facts, LETTERS) {
        sections.push(section("agents", "Agents", AGENTS).with(table.into()));
    }
    if let Some(table) = servers::table(facts) {
        let section = section("servers", "Servers", SERVERS);
        sections.push(section.with(charts(server_charts::of_machines)).with(table.into()));
    }
    if let Some(table) = scraped::table(facts) {
        let section = section("scraped", "Numbers of servers", SCRAPED);
        sections.push(section.with(charts(server_charts::of_metrics)).with(table.into()));
    }
    if let Some(table) = tables::nodes(facts, summary, LETTERS) {
        sections.push(section("nodes", "Nodes", NODES).with(table.into()));
    }
    sections
}

const AGENTS: &str = "The processes that shared the run. All figures of this page are of all their \
    operations together; \"began\" is when an agent's epoch certainly was, off that of the run.";
const SERVERS: &str = "What each node's processes used of their machine under load; the table has \
    means over the measured window, of memory the most. Bytes over TCP count those between nodes \
    too.";
const SCRAPED: &str = "What servers counted about themselves meanwhile, on the same axis of time \
    as the latency: counters as growth per second, levels as they were. The table is about the \
    measured window, and says when the most was read.";
const NODES: &str = "The operations by the node that answered them, or that they were sent to.";

/// A section of sentences, if there are any.
fn listed<'a>(section: DocumentSection<'a>, texts: Vec<String>) -> Option<DocumentSection<'a>> {
    (!texts.is_empty()).then(|| section.with(Block::List(texts)))
}

/// The store's effective settings, which a page folds away.
fn settings<'a>(facts: &Facts) -> DocumentSection<'a> {
    let section =
        DocumentSection::new("settings", "Store settings", "").listed("Settings").reference();
    match facts.store.settings.is_empty() {
        true => {
            let none = Block::Note("The store reports no settings.".to_owned());
            section.with(Block::Only(Formats::Page, vec![none]))
        }
        false => {
            let settings = Block::Settings(facts.store.settings.clone());
            section.with(Block::Fold("Effective settings".to_owned(), vec![settings]))
        }
    }
}

/// How to run it once more.
fn repeat<'a>(facts: &Facts) -> DocumentSection<'a> {
    let hashes = [
        ("trace planned", &facts.trace_hash_planned),
        ("trace executed", &facts.trace_hash_executed),
    ];
    let hashes = hashes.into_iter().filter_map(|(title, hash)| Some((title, hash.clone()?)));
    let ids = [("run", facts.run_id.clone()), ("seed", facts.seed.to_string())];
    let ids = Block::facts(ids.into_iter().chain(hashes));
    let ids = Block::Fold("Run, seed, hashes".to_owned(), vec![ids]);
    DocumentSection::repeat(&facts.command)
        .listed("Repeat")
        .with(Block::Only(Formats::Page, vec![ids]))
}

/// A chart with its title, if there is one.
fn drawn(title: &str, drawing: String) -> Option<ChartFigure> {
    (!drawing.is_empty()).then(|| ChartFigure::still(title, drawing))
}

#[cfg(test)]
pub(crate) mod tests;
