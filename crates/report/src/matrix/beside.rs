//! The figures of others, told in words or as a table.

use assay_analysis::Verdict;
use assay_analysis::matrix::Of;
use assay_analysis::matrix::foreign::{Doubt, ForeignFigure, ForeignMeasure, predictions};
use assay_model::{Kind, Nanos};

use super::Beside;
use crate::table::{Side, Table};
use crate::units::{Letters, count, duration, percent, plural};

/// A system of others, as charts name it.
pub fn system_name(beside: &Beside, system: &str) -> String {
    format!("{system}, {}", beside.name)
}

/// What rules find wrong with the figures, a sentence each.
pub fn doubts(beside: &Beside, letters: Letters) -> Vec<String> {
    let all = assay_analysis::matrix::foreign::doubts(&beside.figures, &beside.terms);
    let told = all.iter().map(|doubt| sentence(beside, doubt, letters));
    told.chain([extent(beside)]).collect()
}

/// How much of it could be held against anything.
fn extent(beside: &Beside) -> String {
    let is_run_time = |figure: &&ForeignFigure| figure.measure == ForeignMeasure::RunTime;
    let told = beside.figures.iter().filter(is_run_time).count() as u64;
    let checked = predictions(&beside.figures, &beside.terms).len() as u64;
    format!(
        "{} of {} could be held against latencies by Little's law; of the others there are none, \
         or this study does not know the workload's mix",
        count(checked),
        plural(told, "run time")
    )
}

fn sentence(beside: &Beside, doubt: &Doubt, letters: Letters) -> String {
    let time = |ns: f64| duration(Nanos(ns.round() as u64), letters);
    match doubt {
        Doubt::SameSeries { system, other, equal, shared } => format!(
            "{system} and {other} are one series under two names: {equal} of {shared} run times \
             are the same"
        ),
        Doubt::Little { system, violated, checked, worst } => {
            let terms = &beside.terms;
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
        Doubt::NodesWithoutEffect { system, largest } => format!(
            "{system}: the number of nodes makes no difference to any workload (at most {} between \
             the longest and the shortest run time)",
            percent(largest - 1.0)
        ),
        Doubt::ScansLikeReads { system, ratio } => format!(
            "{system}: scans take {ratio:.2} times as long as reads of single records, so hardly \
             anything was scanned"
        ),
        Doubt::LikeNothing { system } => format!(
            "{system} behaves as a binding that drops its operations: neither nodes nor scans cost \
             anything. It is shown, and in no ranking"
        ),
        Doubt::NotAsked { system, workload, of } => format!(
            "{system}: a latency of {}s is shown for workload {workload}, which asks none",
            of.name()
        ),
        Doubt::SlippedPoint { figure, likely_ns } => format!(
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

fn of_figure(measure: ForeignMeasure) -> &'static str {
    match measure {
        ForeignMeasure::RunTime => "the whole run",
        ForeignMeasure::Mean(Of::All) => "all operations",
        ForeignMeasure::Mean(Of::ReadModifyWrite) => "read-modify-writes",
        ForeignMeasure::Mean(Of::Kind(kind)) => match kind {
            Kind::Read => "reads",
            Kind::Update => "updates",
            Kind::Insert => "inserts",
            Kind::Scan => "scans",
            _ => kind.name(),
        },
    }
}

/// Run times beside those that follow from the latencies, by Little's law.
pub fn foreign_table(beside: &Beside, letters: Letters) -> Table {
    let mut table = Table::new(&[
        ("system", Side::Left),
        ("workload", Side::Left),
        ("nodes", Side::Right),
        ("run time as published", Side::Right),
        ("as its latencies need", Side::Right),
        ("ratio", Side::Right),
        ("law", Side::Left),
    ]);
    for found in predictions(&beside.figures, &beside.terms) {
        let time = |ns: f64| duration(Nanos(ns.round() as u64), letters);
        table.row(vec![
            found.system.clone(),
            found.workload.clone(),
            found.nodes.to_string(),
            time(found.told_ns),
            time(found.predicted_ns),
            format!("{:.2}", found.told_ns / found.predicted_ns),
            match found.verdict {
                Verdict::Held => "held",
                Verdict::Violated => "violated",
                Verdict::Unknown => "unknown",
            }
            .to_owned(),
        ]);
    }
    table
}
