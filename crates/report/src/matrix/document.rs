//! The study as a document.

use assay_analysis::matrix::OperationFilter;

use super::charts::{self, barred_note, is_sweep, shown_loads};
use super::rows::{
    Detail, checks, durability, failures, figures, has_rivals, ranking, refusals, usl_fits,
};
use super::words::{believable, findings, metric_name};
use super::{MatrixStudy, latency_charts, published_charts};
use crate::document::{
    Block, Circumstances, Document, DocumentSection, FigureCard, FigureLayout, Formats,
    NumberedEvent, opening,
};
use crate::units::{Letters, count, duration, percent, plural};

const LETTERS: Letters = Letters::Unicode;

/// The study; the first line of its text is how much of it there is.
pub fn document(study: &MatrixStudy) -> Document<'_> {
    let size = format!(
        "{} × {} × {}, {} each",
        plural(study.stores.len() as u64, "store"),
        plural(study.workloads.len() as u64, "workload"),
        plural(study.loads.len() as u64, "load"),
        plural(study.repetitions.into(), "run"),
    );
    let facts = [
        ("cells", size.clone()),
        ("machine", study.machine.clone()),
        ("seed", study.seed.to_string()),
        ("version", study.version.clone()),
    ];
    let (before, after) = match is_sweep(study) {
        true => (latency_charts::section(study), None),
        false => (None, latency_charts::section(study)),
    };
    let mut sections = Vec::from_iter(about(study));
    sections.extend([kept(study), rankings(study)]);
    sections.extend(before);
    sections.extend(shown_loads(study).into_iter().map(|load| of_load(study, load)));
    sections.push(over_nodes(study));
    sections.extend(after);
    sections.push(by_clients(study));
    sections.extend(published_charts::section(study));
    sections.push(checked(study));
    sections.extend(failed(study));
    sections.extend([numbers(study), repetition(study)]);
    Document {
        title: study.title.clone(),
        version: study.version.clone(),
        subtitle: format!("{size} · {}", study.machine),
        opening: opening(findings(study, LETTERS)),
        cards: cards(study),
        circumstances: vec![Circumstances::new(study.title.clone(), facts)],
        is_headed: true,
        sections,
    }
}

fn cards(study: &MatrixStudy) -> Vec<FigureCard> {
    let cells = &study.matrix.cells;
    let all = cells.iter().filter_map(|cell| cell.figures.of(OperationFilter::All));
    let operations: u64 = all.map(|of| of.counts.offered).sum();
    let failed = study.failed.len() as u64;
    let of = format!("of {}, {} failed", count(study.planned as u64), count(failed));
    let scale = match study.scale == 1.0 {
        true => "as the study file says".to_owned(),
        false => format!("{} of what the study file says", percent(study.scale)),
    };
    let valid = count(believable(study) as u64);
    let took = duration(study.took, LETTERS);
    vec![
        FigureCard::new("Runs", count(cells.len() as u64), of),
        FigureCard::new("Time", took, "with starting and filling the stores"),
        FigureCard::new("Operations", count(operations), scale),
        FigureCard::new("Hallmarks", valid, "runs with valid figures"),
    ]
}

/// What the author says of the study.
fn about<'a>(study: &MatrixStudy) -> Option<DocumentSection<'a>> {
    let section = DocumentSection::new("about", "About", "").of(Formats::Wide);
    let paragraphs = study.about.split("\n\n").filter(|text| !text.is_empty());
    let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    section.with_all(paragraphs.map(|text| Block::Paragraph(joined(text)))).filled()
}

fn kept<'a>(study: &MatrixStudy) -> DocumentSection<'a> {
    let lead = "As each store tells it of itself after the runs. A store that promises less has \
                less to do: compare those that promise the same.";
    let table = durability(study);
    let table = (!table.is_empty()).then(|| Block::table(table, "promises"));
    DocumentSection::new("durability", "What an answered write survives", lead).with_all(table)
}

fn rankings<'a>(study: &MatrixStudy) -> DocumentSection<'a> {
    let lead = "Means of the runs. ≈ says that the 95 % interval is not apart from that of the \
                place before; ? that nobody can tell, since one of the two has a single run and so \
                no interval; † that a run has no hallmark. Behind each figure, how many times \
                better the first place is.";
    let displayed = shown_loads(study);
    let [mut shown, mut more] = [Vec::new(), Vec::new()];
    for (place, load) in study.loads.iter().enumerate() {
        let Some(table) = ranking(study, place, LETTERS) else { continue };
        let title = format!("{}, by {}", load.text, metric_name(study.ranked_by(place)));
        let into = if displayed.contains(&place) { &mut shown } else { &mut more };
        into.extend([Block::Heading(title), Block::table(table, "dense ranks")]);
    }
    if !more.is_empty() {
        shown.push(Block::Fold("With other loads".to_owned(), more));
    }
    if shown.is_empty() {
        let why = match has_rivals(study) {
            true => {
                "Wherever stores have workload, load and number of nodes in common, fewer than two \
                 of them may be ranked."
            }
            false => {
                "No two stores have workload, load and number of nodes in common, so there is \
                 nothing to rank."
            }
        };
        shown.push(Block::Note(why.to_owned()));
    } else {
        let signs = "≈: not apart from the place before; ?: nobody can tell; †: a run has no \
                     hallmark";
        shown.push(Block::Only(Formats::Lines, vec![Block::Note(signs.to_owned())]));
    }
    let refused = refusals(study);
    if !refused.is_empty() {
        shown.extend([Block::Heading("In no ranking".to_owned()), Block::List(refused)]);
    }
    DocumentSection::new("ranking", "Ranking", lead).with_all(shown)
}

/// Charts of one load; a page alone has them.
fn of_load<'a>(study: &'a MatrixStudy, load: usize) -> DocumentSection<'a> {
    let lead = "Columns are means of the runs' own figures, dots the runs, bars across the 95 % \
                interval of the mean by Student's t. One axis each.";
    let blocks = move || {
        let note = barred_note(study, &study.setups_of(load)).map(Block::Note);
        let [first, more] = charts::of_load(study, load);
        let mut blocks = Vec::from_iter(note);
        blocks.push(Block::Figures(FigureLayout::Stacked, first));
        if !more.is_empty() {
            let title = "Run time, means, medians, service times".to_owned();
            let more = Block::Figures(FigureLayout::Stacked, more);
            blocks.push(Block::Fold(title, vec![more]));
        }
        blocks
    };
    let title = study.loads[load].text.clone();
    DocumentSection::of_page(format!("load-{load}"), title, lead).with(Block::on_page(blocks))
}

fn over_nodes<'a>(study: &'a MatrixStudy) -> DocumentSection<'a> {
    let lead = "Means of the runs. The load is the same on every number of nodes, so throughput \
                that falls, or latency that rises, shows what agreement between nodes costs, not \
                that the store cannot grow. What is in no ranking is left out. All nodes share \
                one machine.";
    let figures = Block::figures(FigureLayout::Multiples, || charts::curves(study));
    DocumentSection::of_page("nodes", "Over nodes", lead).with(figures)
}

fn by_clients<'a>(study: &'a MatrixStudy) -> DocumentSection<'a> {
    let lead = "The universal scalability law, X(N) = γN / (1 + α(N − 1) + βN(N − 1)): γ is the \
                throughput of one client, α the contention (the serial share of the work), β the \
                coherency cost of each pair of clients. With β above zero throughput falls beyond \
                a peak. Stores that are not ranked are left out. In brackets 95 % intervals by \
                Student's t; a peak is reported only where that of β excludes 0.";
    let fits = match usl_fits(study) {
        Ok(table) => Block::table(table, "dense"),
        Err(reason) => Block::Note(reason),
    };
    let figures = Block::figures(FigureLayout::Multiples, || charts::sweeps(study));
    DocumentSection::new("usl", "Scalability by clients (USL)", lead).with(figures).with(fits)
}

fn checked<'a>(study: &MatrixStudy) -> DocumentSection<'a> {
    let lead = "Little's law: throughput × mean service time is how many requests were in flight, \
                which cannot be more than there were clients, or, where arrivals do not wait, than \
                may be in flight (--in-flight). A hit ratio below 100 % means that \
                something was requested that was not there; where reads, scans or updates by \
                themselves found less than all operations together, theirs is shown.";
    let table = checks(study);
    let table = (!table.is_empty()).then(|| Block::table(table, "dense"));
    let title = format!("{} runs", count(study.matrix.cells.len() as u64));
    let section = DocumentSection::new("checks", "Checks of each run", lead).of(Formats::Wide);
    section.with_all(table.map(|table| Block::Fold(title, vec![table])))
}

fn failed<'a>(study: &MatrixStudy) -> Option<DocumentSection<'a>> {
    let lead = "They are in no figure. `assay study … --retry-failed` issues them again; those \
                whose run directory cannot be read, once their directory is removed.";
    let section = DocumentSection::new("failed", "Failed", lead);
    (!study.failed.is_empty()).then(|| section.with(Block::table(failures(study), "settings")))
}

fn numbers<'a>(study: &MatrixStudy) -> DocumentSection<'a> {
    let lead = "Means of the runs' own figures with the 95 % interval of the mean; cells.csv and \
                cells.parquet in the study's directory have every run.";
    let [brief, full] = [Detail::Brief, Detail::Full]
        .map(|detail| Block::table(figures(study, LETTERS, detail), "dense"));
    let full = Block::Fold("The table".to_owned(), vec![full]);
    DocumentSection::new("figures", "Figures, means over the runs", lead)
        .with(Block::Only(Formats::Text, vec![brief]))
        .with(Block::Only(Formats::Wide, vec![full]))
}

fn repetition<'a>(study: &'a MatrixStudy) -> DocumentSection<'a> {
    let drawn = "clusters and cells in them in an order drawn from";
    let seed = study.seed;
    let lead = match study.is_as_drawn {
        true if study.repetitions > 1 => format!(
            "Repetition after repetition, {drawn} seed {seed}, so that no store has all its runs \
             together."
        ),
        true => format!(
            "One repetition, {drawn} seed {seed}: all runs on one cluster follow each other, so \
             what changed with time may look like a difference between clusters."
        ),
        false => "Some cells were issued apart from the others, so the order is not the one that \
                  was drawn: what changed with time may look like a difference between stores."
            .to_owned(),
    };
    let order = || {
        let cell = |id: &String| NumberedEvent { when: String::new(), kind: "", text: id.clone() };
        let cells = Block::Events(study.order.iter().map(cell).collect());
        vec![Block::Fold("The order".to_owned(), vec![cells])]
    };
    let single = || {
        let commands = study.facts.iter().flat_map(|facts| {
            [Block::Heading(facts.id.clone()), Block::Command(facts.commands.join("\n"))]
        });
        vec![Block::Fold("One run by itself".to_owned(), commands.collect())]
    };
    let section = DocumentSection { lead, ..DocumentSection::repeat(&study.command) };
    section.with(Block::on_page(order)).with(Block::on_page(single))
}
