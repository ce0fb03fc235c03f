//! Report of a search for the highest sustained rate, or of a sweep over rates.

mod charts;
mod json;
mod words;

use assay_analysis::Verdict;
use assay_analysis::slo::Objective;
use assay_analysis::sweep::{Point, Sweep};
use assay_analysis::tune::{Bracket, Inversion, Plan, SearchEnd, Step};
use assay_model::Nanos;

use crate::document::{Block, Circumstances, Document, DocumentSection, FigureLayout, opening};
use crate::table::{Align, Table};
use crate::units::{Letters, count, duration, rate};

pub(crate) use json::TuneObject;
pub use json::{SCHEMA, json};
use words::{findings, name};
pub use words::{outcome, term, value};

/// Everything that is known of a tune.
///
/// All texts are shown as they are, so secrets must be gone from them already.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuning {
    /// A headline of a few words, for example `ycsb-b on redis`.
    pub title: String,
    /// The command that repeats it, as one line for a shell.
    pub command: String,
    /// The directory that keeps a run directory for each step.
    pub dir: String,
    /// The store's URL without secrets.
    pub url: String,
    /// Whether the store keeps nothing: its figures are a floor, no ranking.
    pub is_no_op: bool,
    /// The load of a step, in words.
    pub load: String,
    /// The seed from which everything random followed.
    pub seed: u64,
    /// The client machine.
    pub machine: String,
    /// The version of this program.
    pub version: String,
    /// What was promised; a sweep may have none.
    pub objective: Option<Objective>,
    /// What was done.
    pub time_course: TuneKind,
    /// The steps in the order in which they were made.
    pub steps: Vec<Step>,
    /// The throughput–latency curve.
    pub curve: Vec<Point>,
    /// Where it bends.
    pub knee: Option<Point>,
    /// The rates between which the result lies.
    pub bracket: Bracket,
    /// Steps that failed below a rate that held.
    pub inversions: Vec<Inversion>,
    /// Whether it was stopped.
    pub is_interrupted: bool,
    /// What a reader must know besides, one sentence each.
    pub warnings: Vec<String>,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TuneKind {
    /// A search.
    Search {
        /// What was searched.
        plan: Plan,
        /// How it ended, if it did.
        ending: Option<SearchEnd>,
        /// The highest rate that held and was not contradicted.
        best: Option<f64>,
    },
    /// A sweep.
    Sweep {
        /// Over which rates.
        sweep: Sweep,
        /// The highest rate up to which every step held.
        held: Option<f64>,
    },
}

/// The steps as a table.
fn steps(tuning: &Tuning, letters: Letters) -> Table {
    let terms = tuning.objective.iter().flat_map(|objective| &objective.terms);
    let found = |step: &&Step| -> Vec<String> {
        let value = |place| Some(value(step.outcome.terms.get(place)?, letters));
        (0..terms.clone().count()).map(|place| value(place).unwrap_or("-".to_owned())).collect()
    };
    let p99 = |step: &&Step| duration(step.outcome.figures.p99, letters);
    Table::of(&tuning.steps)
        .right("step", |step| step.request.number + 1)
        .left("for", |step| step.request.purpose.name())
        .right("rate", |step| rate(step.request.rate))
        .right("long", |step| seconds(step.outcome.figures.seconds))
        .right("done", |step| rate(step.outcome.figures.done_per_s))
        .right("p50", |step| duration(step.outcome.figures.p50, letters))
        .right_if(tuning.objective.is_none(), "p99", p99)
        .columns(Align::Right, terms.clone().map(words::name), found)
        .left("met", |step| held(step.outcome.verdict))
        .build()
}

/// How long a step was: `60 s`, `2.5 s`.
pub fn seconds(seconds: f64) -> String {
    match seconds {
        short if short < 9.95 => format!("{} s", (short * 10.0).round() / 10.0),
        long => format!("{} s", count(long.round() as u64)),
    }
}

/// Whether a rate is sustained, in one word.
pub const fn held(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Held => "yes",
        Verdict::Violated => "no",
        Verdict::Unknown => "?",
    }
}

/// Why steps did not hold: the step's number with its reasons.
fn reasons(tuning: &Tuning, letters: Letters) -> Vec<(String, String)> {
    let steps = tuning.steps.iter().filter(|step| !step.outcome.reasons.is_empty());
    steps
        .map(|step| {
            let text = outcome(&step.outcome, letters);
            (format!("step {}", step.request.number + 1), text)
        })
        .collect()
}

/// Workload, store and load, as titled lines.
fn circumstances(tuning: &Tuning, letters: Letters) -> Vec<(&'static str, String)> {
    let mut lines = vec![("store", tuning.url.clone())];
    if let Some(objective) = &tuning.objective {
        let terms: Vec<String> = objective.terms.iter().map(|one| term(one, letters)).collect();
        lines.push(("objective", terms.join(", ")));
    }
    lines.push(("load", tuning.load.clone()));
    lines.push(("seed", tuning.seed.to_string()));
    lines.push(("machine", tuning.machine.clone()));
    lines.push(("version", tuning.version.clone()));
    lines.push(("kept in", tuning.dir.clone()));
    lines
}

const LEAD: &str = "Every point is a run. Where a rate was issued more than once, the line goes \
                    through the middle one; a rate that did not hold has a line of its own, \
                    and so has one of which the client could not tell.";

/// A tune; the first line of its text is the verdict.
pub fn document(tuning: &Tuning) -> Document<'_> {
    let letters = Letters::Unicode;
    let curve = DocumentSection::of_page("curve", "Latency over rate", LEAD)
        .with(Block::figures(FigureLayout::Stacked, || charts::figures(tuning)))
        .with(Block::on_page(|| vec![Block::Events(charts::legend(tuning))]));
    let lead = "Each is a fresh run with a run directory of its own.";
    let steps = Block::table(steps(tuning, letters), "dense");
    let reasons = reasons(tuning, letters);
    let reasons = (!reasons.is_empty()).then(|| Block::facts(reasons));
    let sections = [
        Some(curve),
        Some(DocumentSection::new("steps", "Steps", lead).with(steps)),
        DocumentSection::new("reasons", "Failed steps", "").with_all(reasons).filled(),
        Some(DocumentSection::repeat(&tuning.command)),
    ];
    let circumstances = Circumstances::new(tuning.title.clone(), circumstances(tuning, letters));
    Document {
        title: tuning.title.clone(),
        version: tuning.version.clone(),
        subtitle: tuning.load.clone(),
        opening: opening(findings(tuning, letters)),
        circumstances: vec![circumstances],
        sections: sections.into_iter().flatten().collect(),
        ..Document::default()
    }
}

/// The steps as a table with commas: one line for each, times in nanoseconds.
pub fn csv(tuning: &Tuning) -> String {
    let latency = |latency: Option<Nanos>| latency.map_or(String::new(), |ns| ns.0.to_string());
    Table::of(tuning.steps.iter().map(|step| (step, &step.outcome.figures)))
        .right("step", |(step, _)| step.request.number)
        .left("purpose", |(step, _)| step.request.purpose.name())
        .right("rate_per_s", |(step, _)| step.request.rate)
        .right("seconds", |(_, figures)| figures.seconds)
        .right("offered_per_s", |(_, figures)| figures.offered_per_s)
        .right("done_per_s", |(_, figures)| figures.done_per_s)
        .right("p50_ns", |(_, figures)| figures.p50.0)
        .right("p99_ns", |(_, figures)| figures.p99.0)
        .right("p999_ns", |(_, figures)| figures.p999.0)
        .right("lag_p99_ns", |(_, figures)| figures.lag_p99.0)
        .right("latency_ns", |(_, figures)| latency(figures.latency))
        .left("verdict", |(step, _)| step.outcome.verdict.name())
        .build()
        .csv()
}

#[cfg(test)]
pub(crate) mod tests;
