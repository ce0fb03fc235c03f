//! The study as a document.

use super::rows::{self, DIFFERENCES, MEANING};
use super::{Study, charts};
use crate::document::{
    Block, ChartFigure, Circumstances, Document, DocumentSection, FigureLayout, Finding, Formats,
    Opening,
};
use crate::units::{Letters, count};

const LETTERS: Letters = Letters::Unicode;

/// What is looked at, and what one expects of it.
const ABOUT: [&str; 2] = [
    "A store stops for a second. Three ways to measure look at it: an open load, whose arrivals do \
     not wait, measured from the intended moment; the closed loop of YCSB, measured from the \
     moment of sending (service); and the same closed loop measured from the moment at which it \
     should have sent (intended). The experiments are those of Friedrich, Wingerath, Ritter: \
     “Coordinated Omission in NoSQL Database Benchmarking”, BTW 2017, figures 1, 3, 4 and 5; the \
     store is simulated by its equations (1) and (2), and so is time.",
    "With rate λ, capacity μ and a hiccup of length H, a user waits H at first and nothing more \
     H·μ/(μ−λ) after the hiccup began. Of N threads only N requests ever see the hiccup; the \
     thousands after them queue behind N−1 others and take N/μ each. Every number here is held \
     against these closed forms.",
];

/// The study; the first line of its text is whether it reproduces the closed forms.
pub fn document(study: &Study) -> Document<'_> {
    let title = "The study of coordinated omission";
    let finding = match study.agreement().holds() {
        true => Finding::fine("agreement", rows::headline(study)),
        false => Finding::alarm("no agreement", rows::headline(study)),
    };
    let operations = format!("{} in simulated time", count(study.operations()));
    let facts = [("operations", operations), ("seed", study.seed.to_string())];
    let about = ABOUT.iter().map(|text| Block::Paragraph((*text).to_owned()));
    let about = DocumentSection::of_page("about", "About", "").with_all(about);
    let title_of_differences = "Where our figures are not those of the paper";
    let facts_of_differences = DIFFERENCES.iter().map(|(title, text)| (*title, (*text).to_owned()));
    let differences = DocumentSection::new("differences", title_of_differences, "")
        .of(Formats::Wide)
        .with(Block::facts(facts_of_differences));
    let mut sections = vec![about];
    sections.extend(figures(study));
    sections.extend(late(study));
    sections.extend([numbers(study), differences, DocumentSection::repeat(&study.command)]);
    Document {
        title: title.to_owned(),
        version: study.version.clone(),
        subtitle: format!(
            "{} operations in simulated time · seed {}",
            count(study.operations()),
            study.seed
        ),
        opening: vec![Opening::Finding(finding)],
        circumstances: vec![Circumstances::new(title, facts)],
        is_headed: true,
        sections,
        ..Document::default()
    }
}

const FIGURE_1: &str = "One thread wants to issue every 100 ms; after 10 s the store stops for a \
    second. By YCSB's service time one request was slow. Eleven were due.";
const FIGURE_3: &str = "1000 operations a second at a store that serves 1250. Each point is the \
    slowest operation of 20 ms: of those that were meant to be issued then, or, for service time, \
    of those that were sent then. While the store stands still nothing is sent.";
const FIGURE_4: &str = "The open model has no threads: its line is level. Service time shows the \
    hiccup only as far as there are threads to be hit by it; the lines meet when the hiccup hits \
    as many threads as a percentile looks at.";
const FIGURE_5: &str = "128 threads want 1000 operations a second; the capacity goes from a \
    utilisation of 95 % to one of 10 %. The nearer to its limit the store is, the longer a user \
    feels a second of standstill, and the less service time says of it.";

/// The figures of the paper; a page alone has them, as far as there are runs of them.
fn figures<'a>(study: &'a Study) -> [DocumentSection<'a>; 4] {
    let one = |id, title, lead, draw: fn(&Study) -> Vec<ChartFigure>| {
        let section = DocumentSection::of_page(id, title, lead);
        let stacked = move || vec![Block::Figures(FigureLayout::Stacked, draw(study))];
        section.with(Block::on_page(stacked))
    };
    let several = |id, title, lead, draw: fn(&Study) -> [Vec<ChartFigure>; 2]| {
        let section = DocumentSection::of_page(id, title, lead);
        let multiples = move || {
            let all = draw(study).into_iter();
            all.map(|figures| Block::Figures(FigureLayout::Multiples, figures)).collect()
        };
        section.with(Block::on_page(multiples))
    };
    [
        one("figure-1", "Figure 1: the problem", FIGURE_1, charts::figure_1),
        one("figure-3", "Figure 3: over time", FIGURE_3, charts::figure_3),
        several("figure-4", "Figure 4: by the number of threads", FIGURE_4, charts::figure_4),
        several("figure-5", "Figure 5: by the capacity of the store", FIGURE_5, charts::figure_5),
    ]
}

const LATE: &str = "The paper finds it surprising that the intended latency of 4 threads comes \
    back to normal very late. A client that loses time between an answer and its next request \
    would do that: N threads that need c each give the store at most N/c requests a second, and \
    only what that is above the rate works the backlog off.";

/// Clients that lose time between an answer and their next request.
fn late<'a>(study: &'a Study) -> Option<DocumentSection<'a>> {
    if study.slow.is_empty() {
        return None;
    }
    let note = "1000 operations a second, capacity 1250 a second, a hiccup of 1 s. Without loss \
                every number of threads is back after 5 s.";
    let table = Block::table(rows::slow_clients(&study.slow, LETTERS), "dense");
    let section = DocumentSection::new("late", "Why few threads stabilise late", LATE)
        .with(Block::figures(FigureLayout::Stacked, || charts::late(study)));
    Some(section.with(table).with(Block::Note(note.to_owned())))
}

fn numbers<'a>(study: &Study) -> DocumentSection<'a> {
    let mut section = DocumentSection::new("numbers", "Every number", "");
    for group in rows::groups(study) {
        let table = rows::numbers(&group.runs, LETTERS);
        section
            .blocks
            .extend([Block::Heading(group.title.to_owned()), Block::table(table, "dense")]);
    }
    section.with(Block::Note(MEANING.to_owned()))
}
