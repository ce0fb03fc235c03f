//! Latency over throughput, a chart for each number of nodes.

use std::collections::BTreeSet;

use assay_model::Nanos;

use super::MatrixStudy;
use super::charts::colour;
use super::latency_curves::{LatencyCurve, latency_curves, latency_table, load_label, load_text};
use super::rows::setup_name;
use crate::chart::axis::Axis;
use crate::chart::curve_chart::{CurveChart, CurveLine, CurvePoint};
use crate::document::{Block, ChartFigure, DocumentSection, FigureLayout, Formats};
use crate::units::{Letters, duration, percent, plural, rate};

const LETTERS: Letters = Letters::Unicode;

/// Lines of workloads: solid, then dashed in other ways.
const DASHES: [&[u8]; 4] = [&[], &[5, 4], &[1, 4], &[9, 3, 2, 3]];

/// A chart has no more curves than this; a study with more has one for each workload.
const CURVES_MAX: usize = 8;

/// What the charts of one sort have in common: nodes, whether arrivals do not wait, the workload.
type Group = (Option<usize>, bool, Option<usize>);

/// Latency over throughput of each store; a terminal has no room for it. None where no store has
/// two loads of one sort.
pub fn section<'a>(study: &'a MatrixStudy) -> Option<DocumentSection<'a>> {
    let lead = "Each dot is a number of clients in a closed loop, which stands at both ends of the \
                line, or a rate of arrivals: means of the runs. Once a store is saturated, more \
                clients only wait longer, so its line rises, or turns back where throughput \
                falls. The table has the share that failed (refused, unknown or dropped), which \
                an application calls aborted, and the rows of a scan, which is how long its lists \
                were.";
    let table = latency_table(study, LETTERS);
    if table.is_empty() {
        return None;
    }
    let figures = || {
        let figures = charts(study, &latency_curves(study));
        let layout =
            if figures.len() > 1 { FigureLayout::Multiples } else { FigureLayout::Stacked };
        vec![Block::Figures(layout, figures)]
    };
    let table = Block::table(table, "dense");
    let section = DocumentSection::new("latency", "Latency over throughput", lead);
    let section = section.of(Formats::Wide).with(Block::on_page(figures));
    Some(section.with(Block::Fold("Every point".to_owned(), vec![table])))
}

/// The charts with their titles; those of one sort of load have the same axes.
fn charts(study: &MatrixStudy, curves: &[LatencyCurve]) -> Vec<ChartFigure> {
    let count = |is_open: bool| curves.iter().filter(|curve| curve.is_open == is_open).count();
    let by_workload = count(true).max(count(false)) > CURVES_MAX;
    let group = |curve: &LatencyCurve| -> Group {
        (curve.setup.nodes, curve.is_open, by_workload.then_some(curve.setup.workload))
    };
    let groups: BTreeSet<Group> = curves.iter().map(group).collect();
    let several_nodes = curves.iter().any(|curve| curve.setup.nodes != curves[0].setup.nodes);
    let chart = |of: Group| {
        let (nodes, is_open, workload) = of;
        let sort = if is_open { "arrivals by the clock" } else { "clients that wait" };
        let mut title = format!("response p99 over throughput, {sort}");
        if let Some(workload) = workload {
            title += &format!(": {}", study.workloads[workload]);
        }
        if let Some(nodes) = nodes.filter(|_| several_nodes) {
            title += &format!(", {}", plural(nodes as u64, "node"));
        }
        let alike = || curves.iter().filter(|curve| curve.is_open == is_open);
        let points = || alike().flat_map(|curve| &curve.points).map(|(_, point)| point);
        let done = points().map(|point| point.throughput.mean);
        let x = Axis::rate(done).titled("done per second");
        let y = Axis::latency(points().map(|point| point.p99.mean)).titled("response p99");
        let own = curves.iter().filter(|curve| group(curve) == of);
        let curves = own.map(|curve| line(study, curve, workload.is_some())).collect();
        ChartFigure::still(title.clone(), CurveChart { description: title, x, y, curves }.html())
    };
    groups.into_iter().map(chart).collect()
}

fn line(study: &MatrixStudy, curve: &LatencyCurve, is_alone: bool) -> CurveLine {
    let setup = curve.setup;
    let store = setup_name(study, setup);
    let label = match is_alone || study.workloads.len() == 1 {
        true => store,
        false => format!("{store}, {}", study.workloads[setup.workload]),
    };
    let points = curve.points.iter().map(|(load, point)| CurvePoint {
        x: point.throughput.mean,
        y: point.p99.mean,
        label: load_label(study, *load),
        about: format!(
            "{label}: {}, {}, p99 {}, {} failed",
            load_text(study, *load),
            rate(point.throughput.mean),
            duration(Nanos(point.p99.mean.round() as u64), LETTERS),
            percent(point.failed)
        ),
    });
    let points = points.collect();
    let dash = if is_alone { DASHES[0] } else { DASHES[setup.workload % DASHES.len()] };
    CurveLine { label, colour: colour(setup.store), dash, points }
}
