//! Charts of a study: columns by workload and store, lines over nodes and over clients.

use std::collections::BTreeSet;

use assay_analysis::matrix::{LatencyStatistic, Metric, OperationFilter, Setup};
use assay_analysis::usl::EXPLAINED_MIN;

use super::MatrixStudy;
use super::rows::{
    MetricCurve, barred, counts_transactions, looks_at, over_clients, scaling, setup_name,
};
use super::words::{metric_name, metric_text};
use crate::chart::axis::{Axis, AxisScale, AxisUnit};
use crate::chart::bar_chart::{BarChart, BarSeries};
use crate::chart::line_chart::{Line, LineChart};
use crate::chart::spectrum::known;
use crate::document::ChartFigure;

/// Colours of stores, one after the other.
const COLOURS: [&str; 8] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];

/// A chart with more closed loads than this is a line over clients, not a chart for each.
const LOADS_MAX: usize = 3;

const SOLID: &[u8] = &[];
const DASHED: &[u8] = &[5, 4];

pub fn colour(place: usize) -> &'static str {
    COLOURS[place % COLOURS.len()]
}

/// Whether what the study asks is how stores go on as clients become more.
pub fn is_sweep(study: &MatrixStudy) -> bool {
    study.loads.iter().filter(|load| load.clients.is_some()).count() > LOADS_MAX
}

/// The loads that have charts of columns: all, but of a sweep over clients or rates the last.
pub fn shown_loads(study: &MatrixStudy) -> Vec<usize> {
    let is_closed = |load: &usize| study.loads[*load].clients.is_some();
    let (closed, open): (Vec<usize>, Vec<usize>) = (0..study.loads.len()).partition(is_closed);
    let mut shown: Vec<usize> = [closed, open]
        .iter()
        .flat_map(|sort| if sort.len() > LOADS_MAX { &sort[sort.len() - 1..] } else { &sort[..] })
        .copied()
        .collect();
    shown.sort_unstable();
    shown
}

/// Charts of one load: throughput first, latencies by kind; then the rest.
pub fn of_load(study: &MatrixStudy, load: usize) -> [Vec<ChartFigure>; 2] {
    let setups = study.setups_of(load);
    let [mut first, mut more] = [Vec::new(), Vec::new()];
    if setups.is_empty() {
        return [first, more];
    }
    for metric in looks_at(study) {
        let chart = columns(study, &setups, metric);
        if !chart.is_empty() {
            let into = if is_first(study, load, metric) { &mut first } else { &mut more };
            into.push(figure(&metric_name(metric), &metric_text(metric), &chart));
        }
    }
    [first, more]
}

/// What the striped columns are, with the reason of each.
pub fn barred_note(study: &MatrixStudy, setups: &[Setup]) -> Option<String> {
    let reasons = barred(study, setups);
    (!reasons.is_empty())
        .then(|| format!("Striped columns do not compete: {}.", reasons.join("; ")))
}

fn is_first(study: &MatrixStudy, load: usize, metric: Metric) -> bool {
    match metric {
        // Where the rate is given, all do as much.
        Metric::Throughput => study.loads[load].clients.is_some(),
        // Of transactions what users wait for is the whole.
        Metric::Response(of, LatencyStatistic::P99) => {
            (of == OperationFilter::All) == counts_transactions(study)
        }
        _ => false,
    }
}

/// A chart of columns with what its metric is.
pub fn figure(name: &str, text: &str, chart: &BarChart) -> ChartFigure {
    let axis = match chart.axis().scale {
        AxisScale::Log => {
            " Logarithmic axis: equal steps are equal ratios, so compare where columns end, not \
             how long they are."
        }
        AxisScale::Linear => "",
    };
    ChartFigure { note: format!("{text}.{axis}"), ..ChartFigure::still(name, chart.html()) }
}

const fn unit_of(metric: Metric) -> AxisUnit {
    match metric {
        Metric::Throughput => AxisUnit::Rate,
        _ => AxisUnit::Latency,
    }
}

/// A column for each store and number of nodes, a group for each workload.
fn columns(study: &MatrixStudy, setups: &[Setup], metric: Metric) -> BarChart {
    let kind = |setup: &Setup| (setup.store, setup.nodes);
    let no_ops = setups.iter().filter(|setup| study.is_no_op(**setup));
    let no_ops: Vec<(usize, Option<usize>)> = no_ops.map(kind).collect();
    // What does nothing would only make the others small.
    let is_shown = |kind: &(usize, Option<usize>)| !no_ops.contains(kind);
    let kinds: BTreeSet<_> = setups.iter().map(kind).filter(is_shown).collect();
    let series = kinds.iter().map(|&(store, nodes)| {
        let of_store: Vec<_> = kinds.iter().filter(|(other, _)| *other == store).collect();
        let place = of_store.iter().position(|(_, other)| *other == nodes).unwrap_or(0);
        let strength = match of_store.len() {
            1 => 1.0,
            many => place as f64 / (many - 1) as f64,
        };
        let load = setups[0].load;
        let setup = |workload: usize| Setup { store, workload, nodes, load };
        let all = || (0..study.workloads.len()).map(setup);
        BarSeries {
            label: setup_name(study, setup(0)),
            colour: colour(store),
            strength,
            is_foreign: false,
            values: all().map(|setup| study.figures.get(setup, metric).cloned()).collect(),
            barred: all().map(|setup| study.matrix.refused(setup).is_some()).collect(),
        }
    });
    let load = &study.loads[setups[0].load].text;
    BarChart {
        description: format!("{} by workload and store, {load}", metric_name(metric)),
        unit: unit_of(metric),
        groups: study.workloads.clone(),
        series: series.collect(),
    }
    .without_gaps()
}

/// Throughput and latency over numbers of nodes, where stores have several.
pub fn curves(study: &MatrixStudy) -> Vec<ChartFigure> {
    let mut charts = Vec::new();
    for load in 0..study.loads.len() {
        let metric = study.ranked_by(load);
        for workload in 0..study.workloads.len() {
            let curves = scaling(study, workload, load, metric);
            let id = format!("nodes-{load}-{workload}");
            let title = format!(
                "{} over nodes: {}, {}",
                metric_name(metric),
                study.workloads[workload],
                study.loads[load].name
            );
            charts.extend(lines(study, id, title, &curves, (metric, "nodes"), Vec::new()));
        }
    }
    charts
}

/// Throughput over clients, with the fitted law where there is one.
pub fn sweeps(study: &MatrixStudy) -> Vec<ChartFigure> {
    let closed = study.loads.iter().filter(|load| load.clients.is_some()).count();
    if closed < 2 {
        return Vec::new();
    }
    let rows = &study.figures.fits;
    let nodes: BTreeSet<Option<usize>> = rows.iter().map(|row| row.nodes).collect();
    let mut charts = Vec::new();
    for nodes in nodes {
        for workload in 0..study.workloads.len() {
            let mut curves = over_clients(study, workload, nodes, Metric::Throughput);
            curves.retain(|curve| rows.iter().any(|row| row.store == curve.store));
            let laws = rows.iter().filter(|row| (row.workload, row.nodes) == (workload, nodes));
            let laws = laws.filter_map(|row| {
                let fit = row.fit.as_ref().ok()?;
                (fit.explained >= EXPLAINED_MIN).then_some((row.store, fit.law))
            });
            let of = nodes.map_or(String::new(), |nodes| format!(" on {nodes} nodes"));
            let title = format!("throughput over clients: {}{of}", study.workloads[workload]);
            let id = format!("clients-{}-{workload}", nodes.unwrap_or(0));
            let over = (Metric::Throughput, "clients");
            charts.extend(lines(study, id, title, &curves, over, laws.collect()));
        }
    }
    charts
}

fn lines(
    study: &MatrixStudy,
    id: String,
    title: String,
    curves: &[MetricCurve],
    (metric, of): (Metric, &'static str),
    laws: Vec<(usize, assay_analysis::usl::Usl)>,
) -> Option<ChartFigure> {
    let mut xs: Vec<f64> =
        curves.iter().flat_map(|curve| curve.points.iter().map(|(x, _)| *x)).collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    let (first, last) = (*xs.first()?, *xs.last()?);
    if last <= first {
        return None;
    }
    let at = |curve: &MetricCurve, x: f64| {
        curve.points.iter().find(|(other, _)| *other == x).map(|(_, spread)| spread.mean)
    };
    let mut all: Vec<Line> = Vec::new();
    for curve in curves {
        let name = &study.stores[curve.store].name;
        all.push(Line::new(name, colour(curve.store), SOLID, xs.iter().map(|x| at(curve, *x))));
    }
    for (store, law) in laws {
        let name = format!("{}, law", study.stores[store].name);
        let values = xs.iter().map(|x| Some(law.throughput(*x)));
        all.push(Line::new(name, colour(store), DASHED, values));
    }
    let y = match metric {
        Metric::Throughput => Axis::rate(known(&all)),
        _ => Axis::latency(known(&all)),
    };
    let x = match last / first > 8.0 {
        true => Axis::numbers(first, last),
        false => Axis::few(last),
    };
    let x = x.titled(of);
    let chart = LineChart::new(id, title.clone(), [x, y], xs, all);
    Some(ChartFigure::lines(title, chart))
}
