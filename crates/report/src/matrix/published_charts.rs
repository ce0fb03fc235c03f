//! The figures of others beside ours, where both are of the same thing.

use std::collections::BTreeSet;

use assay_analysis::matrix::published::PublishedMeasure;
use assay_analysis::matrix::{LatencyStatistic, Metric, Setup};

use super::charts::{barred_note, colour, figure};
use super::published::{figure_warnings, foreign_table, system_name};
use super::words::{metric_name, metric_text};
use super::{MatrixStudy, PublishedFigures};
use crate::chart::axis::AxisUnit;
use crate::chart::bar_chart::{BarChart, BarSeries};
use crate::document::{Block, DocumentSection, FigureLayout, Formats};
use crate::units::{Letters, count};

const LETTERS: Letters = Letters::Unicode;

/// The figures of others beside ours, with what is wrong in them.
pub fn section<'a>(study: &'a MatrixStudy) -> Option<DocumentSection<'a>> {
    let published = study.published.as_ref()?;
    let name = &published.name;
    let lead = format!(
        "{name}, from {} published figures, beside our runs of the same name. Theirs are dashed \
         outlines. What rules find wrong in them comes first.",
        count(published.examined.figures.len() as u64)
    );
    let head = |title: String| Block::Only(Formats::Lines, vec![Block::Heading(title)]);
    let warnings = figure_warnings(published, LETTERS);
    let warned = (!warnings.is_empty()).then(|| head(format!("Problems of {name}")));
    let section = DocumentSection::new("published", "Published figures", lead);
    let section = section.with_all(warned).with(Block::List(warnings));
    let table = foreign_table(published, LETTERS);
    let compared = format!("{name}: run times compared with its own latencies");
    let section = section.with_all((!table.is_empty()).then(|| head(compared)));
    let title = "Every run time held against its latencies, by Little's law".to_owned();
    let table = (!table.is_empty()).then(|| Block::Fold(title, vec![Block::table(table, "dense")]));
    let section = section.with_all(table);
    Some(section.with(Block::on_page(|| beside(study, published))))
}

/// Charts of theirs beside ours, where the load is the same.
fn beside<'a>(study: &MatrixStudy, published: &PublishedFigures) -> Vec<Block<'a>> {
    let Some(load) = same_load(study, published) else {
        return vec![Block::Note(no_such_load(published))];
    };
    let note = barred_note(study, &setups_beside(study, published, load));
    let measures: BTreeSet<PublishedMeasure> =
        published.examined.figures.iter().map(|figure| figure.measure).collect();
    let charts = measures.into_iter().map(|measure| charts(study, published, measure, load));
    note.map(Block::Note).into_iter().chain(charts).collect()
}

/// Our closed loop of as many clients as theirs had; no other is comparable.
fn same_load(study: &MatrixStudy, published: &PublishedFigures) -> Option<usize> {
    let is_same = |clients: u32| f64::from(clients) == published.examined.terms.clients;
    study.loads.iter().position(|load| load.clients.is_some_and(is_same))
}

fn no_such_load(published: &PublishedFigures) -> String {
    format!(
        "No chart: theirs are of {} clients that wait for their answers, and no load of this study \
         is. Add closed = [{}] to a [[load]] to see both beside each other.",
        count(published.examined.terms.clients as u64),
        published.examined.terms.clients
    )
}

/// Our runs that stand beside a figure of theirs with this load.
fn setups_beside(study: &MatrixStudy, published: &PublishedFigures, load: usize) -> Vec<Setup> {
    let has_name = |setup: &Setup| published.workloads[setup.workload].is_some();
    let setups = study.setups_of(load).into_iter();
    setups.filter(|setup| has_name(setup) && !study.is_no_op(*setup)).collect()
}

/// What their measure is compared by, with what must be said of that.
///
/// Run times of other numbers of operations are no more than that: those are compared per
/// operation.
fn compared_by(
    study: &MatrixStudy,
    published: &PublishedFigures,
    measure: PublishedMeasure,
    load: usize,
) -> (Metric, String) {
    if let PublishedMeasure::Mean(of) = measure {
        return (Metric::Response(of, LatencyStatistic::Mean), String::new());
    }
    let setups = setups_beside(study, published, load);
    let runs = setups.into_iter().flat_map(|setup| study.matrix.runs(setup));
    let requested: BTreeSet<u64> = runs.map(|cell| cell.figures.requested()).collect();
    let (Some(least), Some(most)) = (requested.first(), requested.last()) else {
        return (Metric::RunTime, String::new());
    };
    let theirs = published.examined.terms.operations as u64;
    if (*least, *most) == (theirs, theirs) {
        return (Metric::RunTime, String::new());
    }
    let ours = match least == most {
        true => count(*least),
        false => format!("{} to {}", count(*least), count(*most)),
    };
    let text = format!(
        ". Per operation, since the runs are not of the same length: ours ran {ours} operations \
         each, theirs {}",
        count(theirs)
    );
    (Metric::TimePerOperation, text)
}

/// A chart for each number of nodes: run times first, the others can be opened.
fn charts<'a>(
    study: &MatrixStudy,
    published: &PublishedFigures,
    measure: PublishedMeasure,
    load: usize,
) -> Block<'a> {
    let all = published.examined.figures.iter();
    let of_measure = all.filter(|figure| figure.measure == measure);
    let nodes: BTreeSet<usize> = of_measure.map(|figure| figure.nodes).collect();
    let (metric, said) = compared_by(study, published, measure, load);
    let mut figures = Vec::new();
    for count in nodes {
        let drawn = chart(study, published, metric, (count, load));
        if !drawn.is_empty() {
            let plural = if count == 1 { "node" } else { "nodes" };
            let title = format!("{}, {count} {plural}", metric_name(metric));
            figures.push(figure(&title, &format!("{}{said}", metric_text(metric)), &drawn));
        }
    }
    let figures = Block::Figures(FigureLayout::Stacked, figures);
    match measure {
        PublishedMeasure::RunTime => figures,
        PublishedMeasure::Mean(_) => {
            Block::Fold(format!("{} by nodes", metric_name(metric)), vec![figures])
        }
    }
}

fn chart(
    study: &MatrixStudy,
    published: &PublishedFigures,
    metric: Metric,
    (nodes, load): (usize, usize),
) -> BarChart {
    let theirs = |system: &str, workload: usize| {
        let name = published.workloads[workload].as_ref()?;
        published.examined.get((system, name, nodes), metric)
    };
    let workloads = 0..study.workloads.len();
    // A store whose nodes nobody counted stands beside single ones.
    let nodes_of_ours = [Some(nodes), None].into_iter().filter(|own| own.is_some() || nodes == 1);
    let setups = |store: usize, workload: usize| {
        nodes_of_ours.clone().map(move |nodes| Setup { store, workload, nodes, load })
    };
    let value = |setup: Setup| {
        let spread = study.figures.get(setup, metric).cloned();
        spread.filter(|_| !study.is_no_op(setup))
    };
    let is_barred = |setup: Setup| study.matrix.refused(setup).is_some();
    let ours = (0..study.stores.len()).map(|store| {
        let of = |workload: usize| setups(store, workload);
        BarSeries {
            label: study.stores[store].name.clone(),
            colour: colour(store),
            strength: 1.0,
            is_foreign: false,
            values: workloads.clone().map(|workload| of(workload).find_map(value)).collect(),
            barred: workloads.clone().map(|workload| of(workload).any(is_barred)).collect(),
        }
    });
    let others = published.examined.systems.iter().enumerate().map(|(place, system)| {
        let plain = system.split('(').next().unwrap_or(system);
        let own = study.stores.iter().position(|store| store.name == plain);
        BarSeries {
            label: system_name(published, system),
            colour: colour(own.unwrap_or(study.stores.len() + place)),
            strength: 1.0,
            is_foreign: true,
            values: workloads.clone().map(|workload| theirs(system, workload)).collect(),
            barred: vec![false; study.workloads.len()],
        }
    });
    BarChart {
        description: format!("{} on {nodes} nodes, ours and theirs", metric_name(metric)),
        unit: AxisUnit::Latency,
        groups: study.workloads.clone(),
        series: ours.chain(others).collect(),
    }
    .without_gaps()
}
