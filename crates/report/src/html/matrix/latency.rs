//! Latency over throughput, a chart for each number of nodes.

use std::fmt::Write as _;

use super::super::axis::Axis;
use super::super::curve_chart::{CurveChart, CurveLine, CurvePoint};
use super::super::escape::escape;
use super::super::sections;
use super::{LETTERS, colour};
use crate::matrix::{LatencyCurve, MatrixStudy, latency_curves, latency_table, setup_name};
use crate::units::{duration, percent, plural, rate};
use assay_model::Nanos;

/// Lines of workloads: solid, then dashed in other ways.
const DASHES: [&[u8]; 4] = [&[], &[5, 4], &[1, 4], &[9, 3, 2, 3]];

/// A chart has no more curves than this; a study with more has one for each workload.
const CURVES_MAX: usize = 8;

/// The section; empty where no store has closed loops with two numbers of clients.
pub fn section(study: &MatrixStudy) -> String {
    let curves = latency_curves(study);
    if curves.is_empty() {
        return String::new();
    }
    let lead = "Each dot is a number of clients in a closed loop, which stands at both ends of the \
                line: means of the runs. Once a store is saturated, more clients only wait longer, \
                so its line rises, or turns back where throughput falls. The table has the share \
                that failed (refused, unknown or dropped), which an application calls aborted, and \
                the rows of a scan, which is how long its lists were.";
    let mut out = sections::section("latency", "Latency over throughput", lead);
    let charts = charts(study, &curves);
    let class = if charts.len() > 1 { " class=\"multiples\"" } else { "" };
    let _ = writeln!(out, "<div{class}>");
    for (title, chart) in charts {
        let title = escape(&title);
        let _ = write!(out, "<figure><figcaption>{title}</figcaption>\n{chart}</figure>\n");
    }
    out += "</div>\n";
    let table = sections::table(&latency_table(study, LETTERS), "dense");
    out + &sections::details("Every point", &table) + "</section>\n"
}

/// The charts with their titles, all with the same axes.
fn charts(study: &MatrixStudy, curves: &[LatencyCurve]) -> Vec<(String, String)> {
    let by_workload = curves.len() > CURVES_MAX;
    let group =
        |curve: &LatencyCurve| (curve.setup.nodes, by_workload.then_some(curve.setup.workload));
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let x = Axis::rate(points().map(|(_, point)| point.throughput.mean)).titled("done per second");
    let y = Axis::latency(points().map(|(_, point)| point.p99.mean)).titled("response p99");
    let mut groups: Vec<_> = curves.iter().map(group).collect();
    groups.sort_unstable();
    groups.dedup();
    let chart = |of: (Option<usize>, Option<usize>)| {
        let (nodes, workload) = of;
        let mut title = "response p99 over throughput".to_owned();
        if let Some(workload) = workload {
            title += &format!(": {}", study.workloads[workload]);
        }
        if let Some(nodes) = nodes.filter(|_| groups.len() > 1) {
            title += &format!(", {}", plural(nodes as u64, "node"));
        }
        let own = curves.iter().filter(|curve| group(curve) == of);
        let curves = own.map(|curve| line(study, curve, workload.is_some())).collect();
        (title.clone(), CurveChart { description: title, x, y, curves }.html())
    };
    groups.iter().copied().map(chart).collect()
}

fn line(study: &MatrixStudy, curve: &LatencyCurve, is_alone: bool) -> CurveLine {
    let setup = curve.setup;
    let store = setup_name(study, setup);
    let label = match is_alone || study.workloads.len() == 1 {
        true => store,
        false => format!("{store}, {}", study.workloads[setup.workload]),
    };
    let points = curve.points.iter().map(|(clients, point)| CurvePoint {
        x: point.throughput.mean,
        y: point.p99.mean,
        label: clients.to_string(),
        about: format!(
            "{label}: {}, {}, p99 {}, {} failed",
            plural((*clients).into(), "client"),
            rate(point.throughput.mean),
            duration(Nanos(point.p99.mean.round() as u64), LETTERS),
            percent(point.failed)
        ),
    });
    let points = points.collect();
    let dash = if is_alone { DASHES[0] } else { DASHES[setup.workload % DASHES.len()] };
    CurveLine { label, colour: colour(setup.store), dash, points }
}
