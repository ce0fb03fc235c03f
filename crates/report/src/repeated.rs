//! The runs of one set-up as one result: how they spread first, then their medians.

mod json;

use assay_analysis::compare::{Figure, Measure, Spread};
use assay_model::Kind;

use crate::compare::words::{figure_name, value, variation};
use crate::compare::{ComparedSetup, charts};
use crate::document::Finding;
use crate::document::{Block, Circumstances, Document, DocumentSection, FigureLayout, opening};
use crate::prose;
use crate::table::Table;
use crate::units::Letters;

pub(crate) use json::RepeatObject;
pub use json::{SCHEMA, json};

/// Repeated runs of one set-up.
#[derive(Clone, Debug)]
pub struct RepeatedRuns {
    /// Its runs, at least one.
    pub side: ComparedSetup,
    /// How many runs were wanted.
    pub expected: usize,
    /// In which state each run met the store, in a sentence.
    pub meeting: String,
    /// The command that repeats the group, as one line for a shell.
    pub command: String,
    /// The figures that all runs have, with their spread.
    pub figures: Vec<(Figure, Spread)>,
}

impl RepeatedRuns {
    fn figure(&self, measure: Measure) -> Option<&Spread> {
        let expected = Figure::overall(measure);
        self.figures.iter().find(|(figure, _)| *figure == expected).map(|(_, spread)| spread)
    }

    /// The figures that a reader needs: those of a single kind repeat those of all operations.
    fn display(&self) -> impl Iterator<Item = &(Figure, Spread)> {
        let has = |kind: Kind| self.figures.iter().any(|(figure, _)| figure.of == Some(kind));
        let kinds = Kind::ALL.into_iter().filter(|kind| has(*kind)).count();
        self.figures.iter().filter(move |(figure, spread)| {
            let is_nothing = figure.measure.is_share() && spread.max == 0.0;
            !(is_nothing || kinds < 2 && figure.of.is_some())
        })
    }
}

/// What must be known before any figure.
pub fn findings(group: &RepeatedRuns, letters: Letters) -> Vec<Finding> {
    let hallmark = crate::compare::hallmark_of("", &group.side);
    // Each run prints its own hallmark.
    let mut findings: Vec<Finding> =
        hallmark.into_iter().filter(|one| !one.name.starts_with("HALLMARK VALID")).collect();
    findings.extend(crate::compare::of_side("", &group.side, letters));
    let runs = group.side.runs.len();
    if runs < group.expected {
        let text = format!("{runs} of {} runs came to their end", group.expected);
        findings.push(Finding::alarm("incomplete", text));
    }
    if runs < FEW {
        let text = format!("{runs} runs say little about how runs differ; take at least {FEW}");
        findings.push(Finding::caution("few runs", text));
    }
    let first = Finding::fine("repeated", headline(group, letters));
    findings.insert(0, first);
    // The sort is stable: among equals the order above stays.
    findings.sort_by_key(|finding| finding.level);
    findings
}

/// Fewer runs than this leave run-level intervals very wide.
const FEW: usize = 5;

/// `5 runs: between runs response p99 varies by 3.1 %; its median is 2.31 ms (mean 2.20 to …)`.
fn headline(group: &RepeatedRuns, letters: Letters) -> String {
    let runs = group.side.runs.len();
    let Some(p99) = group.figure(Measure::Response(0.99)) else {
        return format!("{runs} runs without a single hit");
    };
    let latency = |ns: f64| value(Measure::Response(0.99), ns, letters);
    let interval = match p99.interval {
        Some((low, high)) => format!(
            ", 95 % interval of the runs' mean {} to {}",
            latency(low.max(0.0)),
            latency(high)
        ),
        None => String::new(),
    };
    let throughput = group
        .figure(Measure::Throughput)
        .map(|found| format!(", {} done", value(Measure::Throughput, found.median, letters)))
        .unwrap_or_default();
    format!(
        "between runs response p99 varies by {}; median of {runs} runs' p99 \
         {}{interval}{throughput}",
        variation(p99),
        latency(p99.median),
    )
}

/// One row per figure; how it varies comes first.
fn table(group: &RepeatedRuns, letters: Letters) -> Table {
    let text = |figure: &Figure, number: f64| value(figure.measure, number, letters);
    let interval = |(figure, spread): &(Figure, Spread)| {
        let (low, high) = spread.interval?;
        let (low, high) = (text(figure, low.max(0.0)), text(figure, high));
        Some(format!("{low}{}{high}", letters.pick(" – ", " to ")))
    };
    Table::of(group.display())
        .left("", |(figure, _)| figure_name(*figure))
        .right("spread", |(_, spread)| variation(spread))
        .right("lowest", |(figure, spread)| text(figure, spread.min))
        .right("highest", |(figure, spread)| text(figure, spread.max))
        .right("median", |(figure, spread)| text(figure, spread.median))
        .right("95 % interval of the mean", |row| interval(row).unwrap_or("-".to_owned()))
        .build()
}

/// What the columns of [`table`] are.
fn meaning(group: &RepeatedRuns) -> String {
    format!(
        "Each of the {} runs has its own figure: spread is their standard deviation as a share of \
         their mean, median the median of them, the interval that of their mean \
         (t · s / √r). None is a percentile of all operations together.",
        group.side.runs.len()
    )
}

/// The group; the first line of its text is the verdict.
pub fn document(group: &RepeatedRuns) -> Document<'_> {
    let letters = Letters::Unicode;
    let run = group.side.typical();
    let title = format!("{}, {} runs", run.facts.title, group.side.runs.len());
    let circumstances = prose::circumstances(&run.facts, &run.summary, letters);
    let meeting = [("repeated", group.meeting.clone())];
    let between = DocumentSection::new("between", "Between runs", "")
        .with(table(group, letters).into())
        .with(Block::Note(meaning(group)));
    let percentiles =
        DocumentSection::of_page("percentiles", "Response time by percentile", "Hits only.")
            .with(Block::figures(FigureLayout::Stacked, || charts::spectrum_of_runs(&group.side)));
    let lead = "From the measured start on.";
    let course = DocumentSection::of_page("course", "Response p99 over time", lead)
        .with(Block::figures(FigureLayout::Stacked, || charts::course_of_runs(&group.side)));
    Document {
        title: title.clone(),
        version: run.facts.version.clone(),
        subtitle: group.meeting.clone(),
        opening: opening(findings(group, letters)),
        circumstances: vec![Circumstances::new(title, circumstances.into_iter().chain(meeting))],
        sections: vec![between, percentiles, course, DocumentSection::repeat(&group.command)],
        ..Document::default()
    }
}

/// One row per figure and run, with the columns `figure,run,value`; times are nanoseconds.
pub fn csv(group: &RepeatedRuns) -> String {
    let mut out = "figure,run,value\n".to_owned();
    for (figure, spread) in &group.figures {
        for (place, number) in spread.values.iter().enumerate() {
            out += &format!("{},{},{number}\n", figure_name(*figure), place + 1);
        }
    }
    out
}
