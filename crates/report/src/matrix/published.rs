//! Published figures, in words or as a table.

use assay_analysis::matrix::OperationFilter;
use assay_analysis::matrix::published::{FigureWarning, PublishedFigure, PublishedMeasure};
use assay_model::{Kind, Nanos};

use super::PublishedFigures;
use crate::table::Table;
use crate::units::{Letters, count, duration, percent, plural};

/// A system of others, as charts name it.
pub fn system_name(published: &PublishedFigures, system: &str) -> String {
    format!("{system}, {}", published.name)
}

/// What rules find wrong with the figures, a sentence each.
pub fn figure_warnings(published: &PublishedFigures, letters: Letters) -> Vec<String> {
    let all = published.examined.warnings.iter();
    let reported = all.map(|figure_warning| sentence(published, figure_warning, letters));
    reported.chain([extent(published)]).collect()
}

/// How much of it could be held against anything.
fn extent(published: &PublishedFigures) -> String {
    let is_run_time = |figure: &&PublishedFigure| figure.measure == PublishedMeasure::RunTime;
    let reported = published.examined.figures.iter().filter(is_run_time).count() as u64;
    let checked = published.examined.predictions.len() as u64;
    format!(
        "{} of {} could be held against latencies by Little's law; of the others there are none, \
         or this study does not know the workload's mix",
        count(checked),
        plural(reported, "run time")
    )
}

fn sentence(
    published: &PublishedFigures,
    figure_warning: &FigureWarning,
    letters: Letters,
) -> String {
    let time = |ns: f64| duration(Nanos(ns.round() as u64), letters);
    match figure_warning {
        FigureWarning::SameSeries { system, other, equal, shared } => format!(
            "{system} and {other} are one series under two names: {equal} of {shared} run times \
             are the same"
        ),
        FigureWarning::Little { system, violated, checked, worst } => {
            let terms = &published.examined.terms;
            let way = match worst < &1.0 {
                true => format!("{:.2} of", worst),
                false => format!("{worst:.1} times"),
            };
            format!(
                "{system}: {violated} of {checked} run times are more than a third off what {} \
                 operations of its own mean latencies take {} clients; the furthest is {way} that",
                count(terms.operations as u64),
                count(terms.clients as u64)
            )
        }
        FigureWarning::NodesWithoutEffect { system, largest } => format!(
            "{system}: the number of nodes makes no difference to any workload (at most {} between \
             the longest and the shortest run time)",
            percent(largest - 1.0)
        ),
        FigureWarning::ScansLikeReads { system, ratio } => format!(
            "{system}: scans take {ratio:.2} times as long as reads of single records, so hardly \
             anything was scanned"
        ),
        FigureWarning::LikeNothing { system } => format!(
            "{system} behaves as a binding that drops its operations: neither nodes nor scans cost \
             anything. It is shown, and in no ranking"
        ),
        FigureWarning::NotIssued { system, workload, of } => format!(
            "{system}: a latency of {}s is shown for workload {workload}, which has no such \
             operation",
            of.name()
        ),
        FigureWarning::SlippedPoint { figure, likely_ns } => format!(
            "{}: the figure of {} with workload {} on {} fits its neighbours if its decimal point \
             has slipped ({} for {})",
            figure.system,
            of_figure(figure.measure),
            figure.workload,
            match figure.nodes {
                1 => "1 node".to_owned(),
                many => format!("{many} nodes"),
            },
            time(figure.value_ns),
            time(*likely_ns)
        ),
    }
}

fn of_figure(measure: PublishedMeasure) -> &'static str {
    match measure {
        PublishedMeasure::RunTime => "the whole run",
        PublishedMeasure::Mean(OperationFilter::All) => "all operations",
        PublishedMeasure::Mean(OperationFilter::ReadModifyWrite) => "read-modify-writes",
        PublishedMeasure::Mean(OperationFilter::Kind(kind)) => match kind {
            Kind::Read => "reads",
            Kind::Update => "updates",
            Kind::Insert => "inserts",
            Kind::Scan => "scans",
            _ => kind.name(),
        },
    }
}

/// Run times beside those that follow from the latencies, by Little's law.
pub fn foreign_table(published: &PublishedFigures, letters: Letters) -> Table {
    let time = |ns: f64| duration(Nanos(ns.round() as u64), letters);
    Table::of(&published.examined.predictions)
        .left("system", |found| &found.system)
        .left("workload", |found| &found.workload)
        .right("nodes", |found| found.nodes)
        .right("run time as published", |found| time(found.simulated_ns))
        .right("as its latencies need", |found| time(found.predicted_ns))
        .right("ratio", |found| format!("{:.2}", found.ratio()))
        .left("law", |found| found.verdict.name())
        .build()
}
