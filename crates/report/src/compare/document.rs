//! Two set-ups side by side as a document.

use assay_analysis::compare::IntervalBasis;
use assay_model::Nanos;

use super::words::{self, change, change_between, figure_name};
use super::{ComparedSetup, Contrast, Difference, charts, findings};
use crate::document::{
    Block, Circumstances, Document, DocumentSection, FigureCard, FigureLayout, Formats, opening,
};
use crate::prose;
use crate::table::{Align, Table};
use crate::units::{Letters, duration, percentile_name};
use crate::verdict::model_name;

const LETTERS: Letters = Letters::Unicode;

/// The percentiles of the table.
const PERCENTILES: [f64; 6] = [0.5, 0.9, 0.99, 0.999, 0.9999, 1.0];

const PERCENTILES_LEAD: &str = "Response is what a user waits, from the intended moment on; \
    service is what the store needed. In a closed loop a session waits with the store: look at the \
    space between its two lines. Hits only; of several runs, the one with the median p99.";

const COURSE_LEAD: &str = "Both on one axis that begins with the measured part. Move over one \
    chart, or focus it and use the arrow keys, and the others follow.";

/// The comparison; the first line of its text is the verdict.
pub fn document(contrast: &Contrast) -> Document<'_> {
    let titles = [&contrast.old, &contrast.new].map(|side| side.typical().facts.title.as_str());
    let title = match titles[0] == titles[1] {
        true => titles[0].to_owned(),
        false => titles.join(" / "),
    };
    let percentiles =
        DocumentSection::of_page("percentiles", "Latency by percentile", PERCENTILES_LEAD)
            .with(Block::figures(FigureLayout::Stacked, || charts::spectrum(contrast)))
            .with(Block::on_page(|| percentiles(contrast)));
    let course = DocumentSection::of_page("course", "Over time", COURSE_LEAD)
        .with(Block::figures(FigureLayout::Stacked, || charts::courses(contrast)));
    let figures = DocumentSection::new("figures", "Figures", "")
        .with(words::table(&contrast.comparison, LETTERS).into())
        .with(Block::Note(words::meaning(&contrast.comparison)));
    let sections = [
        not_alike(&contrast.differences),
        Some(percentiles),
        Some(course),
        between(contrast),
        Some(figures),
        Some(repeat(contrast)),
    ];
    Document {
        title: format!("{title}, compared"),
        version: contrast.new.typical().facts.version.clone(),
        subtitle: subtitle(contrast),
        opening: opening(findings(contrast, LETTERS)),
        cards: cards(contrast),
        circumstances: vec![
            circumstances("BASE", "old", &contrast.old),
            circumstances("NEW", "new", &contrast.new),
        ],
        is_headed: true,
        sections: sections.into_iter().flatten().collect(),
    }
}

fn circumstances(name: &str, colour: &'static str, side: &ComparedSetup) -> Circumstances {
    let run = side.typical();
    let count = match side.runs.len() {
        1 => String::new(),
        runs => format!(", {runs} runs"),
    };
    let model = model_name(run.summary.load);
    let title = format!("{name}: {model} loop, {} ({}{count})", run.facts.title, side.name);
    let facts = prose::circumstances(&run.facts, &run.summary, LETTERS);
    let brief = &["store", "model", "load"];
    Circumstances { colour, brief, ..Circumstances::new(title, facts) }
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
fn cards(contrast: &Contrast) -> Vec<FigureCard> {
    let count = contrast.comparison.requested().count();
    let rows = contrast.comparison.requested().enumerate();
    rows.map(|(place, row)| {
        let measure = row.figure.measure;
        let [old, new] =
            [&row.old, &row.new].map(|side| words::median(measure, side.as_ref(), LETTERS));
        let interval = change_between(row).unwrap_or_else(|| words::uncertain(row).to_owned());
        let note = format!("{old} → {new}; {interval}");
        let title = format!("{}: {}", figure_name(row.figure), words::finding_name(row.finding));
        let columns = match (count % 4, count - place) {
            (1, 1) => "1/-1",
            (2, 1 | 2) | (3, 1) => "span 2",
            _ => "auto",
        };
        FigureCard { columns, ..FigureCard::new(title, change(measure, row.effect), note) }
    })
    .collect()
}

fn not_alike<'a>(differences: &[Difference]) -> Option<DocumentSection<'a>> {
    if differences.is_empty() {
        return None;
    }
    let table = Table::of(differences)
        .left("", |found| &found.what)
        .left("BASE", |found| &found.old)
        .left("NEW", |found| &found.new)
        .build();
    let line =
        |found: &Difference| (found.what.clone(), format!("{}  /  {}", found.old, found.new));
    let lines = Block::facts(differences.iter().map(line));
    let lead = "In what the two differ beside their figures.";
    let section = DocumentSection::new("alike", "Not alike", lead);
    let section = section.with(Block::Only(Formats::Lines, vec![lines]));
    Some(section.with(Block::Only(Formats::Page, vec![Block::table(table, "settings")])))
}

/// How the runs of each side differ, where both have several.
fn between<'a>(contrast: &Contrast) -> Option<DocumentSection<'a>> {
    let title = "Between runs (standard deviation of the runs' own figures)";
    let section = DocumentSection::new("between", title, "");
    (contrast.comparison.basis == IntervalBasis::Runs)
        .then(|| section.with(words::spreads(&contrast.comparison).into()))
}

fn percentiles<'a>(contrast: &Contrast) -> Vec<Block<'a>> {
    let both = charts::both(contrast);
    let rows = both.iter().flat_map(|displayed| {
        let hits = &displayed.run.summary.overall.hits;
        [(displayed.label.as_str(), "response", &hits.response), ("", "service", &hits.service)]
    });
    // As they were, however few values tell them: how sure they are, is in the table of figures.
    let time = |time: Nanos| duration(time, LETTERS);
    let table = Table::of(rows)
        .left("", |(label, ..)| *label)
        .left("", |(_, name, _)| *name)
        .columns(Align::Right, PERCENTILES.map(percentile_name), |(.., distribution)| {
            PERCENTILES.map(|quantile| distribution.value(quantile).map_or("-".to_owned(), time))
        });
    let note = "As observed; the table of every figure says how sure.";
    vec![table.build().into(), Block::Note(note.to_owned())]
}

/// How to run both once more.
fn repeat<'a>(contrast: &Contrast) -> DocumentSection<'a> {
    let sides = [("BASE", &contrast.old), ("NEW", &contrast.new)];
    let commands = sides.into_iter().flat_map(|(title, side)| {
        let command = side.typical().facts.command.clone();
        [Block::Heading(title.to_owned()), Block::Command(command)]
    });
    DocumentSection::of_page("repeat", "Reproduce with", "").reference().with_all(commands)
}
