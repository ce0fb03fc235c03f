//! Figures that others have published, read from a CSV file, with what is known of them.

use std::collections::BTreeSet;
use std::path::Path;

use assay_analysis::matrix::OperationFilter;
use assay_analysis::matrix::published::{
    ExaminedFigures, PublishedFigure, PublishedMeasure, Terms, WorkloadMix,
};
use assay_report::matrix::PublishedFigures;

use crate::error::{StudyError, invalid};
use crate::file::PublishedSection;
use crate::plan::StudyPlan;

/// The columns that the file must have, in any order.
const COLUMNS: [&str; 6] = ["system", "workload", "nodes", "metric", "unit", "value"];

/// Units of time, with their nanoseconds.
const UNITS: [(&str, f64); 6] =
    [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9)];

/// Reads `system,workload,nodes,metric,unit,value`: metrics are `runtime` and `KIND_mean`.
///
/// # Errors
/// If the file cannot be read, or a line is invalid.
pub fn read(path: &Path) -> Result<Vec<PublishedFigure>, StudyError> {
    let displayed = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| invalid(format!("--published: cannot read {displayed}: {error}")))?;
    parse(&text).map_err(|reason| invalid(format!("--published: {displayed}{reason}")))
}

fn parse(text: &str) -> Result<Vec<PublishedFigure>, String> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let header = lines.next().map_or("", |(_, line)| line);
    let titles: Vec<&str> = header.split(',').map(str::trim).collect();
    let mut places = [0; COLUMNS.len()];
    for (place, column) in places.iter_mut().zip(COLUMNS) {
        let found = titles.iter().position(|title| *title == column);
        *place = found.ok_or_else(|| {
            format!(":1: there is no column {column}; the first line is {}", COLUMNS.join(","))
        })?;
        if titles[*place + 1..].contains(&column) {
            return Err(format!(":1: there are two columns {column}; leave one out"));
        }
    }
    let figure = |(number, line): (usize, &str)| {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let figure = match cells.len() == titles.len() {
            true => figure(places.map(|place| cells[place])),
            false => Err(format!("{} values for {} columns", cells.len(), titles.len())),
        };
        figure.map_err(|reason| format!(":{}: {reason}", number + 1))
    };
    let figures: Vec<PublishedFigure> = lines.map(figure).collect::<Result<_, _>>()?;
    match figures.is_empty() {
        true => Err(": there is no figure in it".to_owned()),
        false => Ok(figures),
    }
}

fn figure(
    [system, workload, nodes, metric, unit, value]: [&str; 6],
) -> Result<PublishedFigure, String> {
    let measure = measure(metric).ok_or_else(|| {
        format!("metric {metric:?} is neither runtime nor a kind with _mean, such as read_mean")
    })?;
    let unit =
        UNITS.iter().find(|(name, _)| *name == unit).map(|(_, ns)| *ns).ok_or_else(|| {
            format!("unit {unit:?} is no unit of time; write ns, us, ms, s or min")
        })?;
    let number = value.parse::<f64>().ok().filter(|value| *value > 0.0);
    let number = number.ok_or_else(|| format!("value {value:?} is no number above zero"))?;
    let value_ns = number * unit;
    if !(SHORTEST_NS..=LONGEST_NS).contains(&value_ns) {
        return Err(format!("value {value:?} is no time between a picosecond and a year"));
    }
    let nodes = nodes.parse().map_err(|_| format!("nodes {nodes:?} is no whole number"))?;
    Ok(PublishedFigure {
        system: system.to_owned(),
        workload: workload.to_owned(),
        nodes,
        measure,
        value_ns,
    })
}

/// The shortest plausible time.
const SHORTEST_NS: f64 = 1e-3;

/// The longest.
const LONGEST_NS: f64 = 366.0 * 86_400.0 * 1e9;

/// What a metric's name means; what stands behind `runtime_` says where it was read.
fn measure(metric: &str) -> Option<PublishedMeasure> {
    if metric == "runtime" || metric.starts_with("runtime_") {
        return Some(PublishedMeasure::RunTime);
    }
    let kind = metric.strip_suffix("_mean")?.replace('_', "-");
    OperationFilter::every().find(|of| of.name() == kind).map(PublishedMeasure::Mean)
}

/// Refuses names that no rule could use: nothing would be found wrong in figures that nobody held
/// against each other.
fn require_known(
    plan: &StudyPlan,
    section: &PublishedSection,
    figures: &[PublishedFigure],
) -> Result<(), StudyError> {
    if section.operations == 0 || section.clients == 0 {
        return Err(invalid("[beside]: operations and clients are at least 1"));
    }
    if section.workloads.is_empty() {
        return Err(invalid(
            "[beside]: say which of their workloads is which of ours: workloads = \
             { ycsb-a = \"A\" }",
        ));
    }
    for (ours, theirs) in &section.workloads {
        if !plan.file.names_workload(ours) {
            return Err(invalid(format!("[beside] workloads: the study has no workload {ours}")));
        }
        if !figures.iter().any(|figure| figure.workload == *theirs) {
            return Err(invalid(format!(
                "[beside] workloads: no figure is of workload {theirs:?}, which {ours} is to be \
                 beside; they are of {}",
                listed(figures)
            )));
        }
    }
    Ok(())
}

/// The workloads that figures are of.
fn listed(figures: &[PublishedFigure]) -> String {
    let names: BTreeSet<&str> = figures.iter().map(|figure| figure.workload.as_str()).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// The figures of others with what is known of how they came about.
///
/// # Errors
/// If the study file does not say that.
pub fn with_terms(
    plan: &StudyPlan,
    figures: Vec<PublishedFigure>,
) -> Result<PublishedFigures, StudyError> {
    let section = plan.file.published.as_ref().ok_or_else(|| {
        invalid(
            "--published: the study file has no section [beside], which says how many operations \
             and \
             clients the figures are of:\n  [beside]\n  name = \"the paper\"\n  operations = \
             \"100k\"\n  clients = 4\n  workloads = { ycsb-a = \"A\" }",
        )
    })?;
    require_known(plan, section, &figures)?;
    let name_of = |ours: &str| section.workloads.get(ours).cloned();
    let mixes = plan.workloads.iter().filter_map(|workload| {
        let theirs = name_of(&workload.name)?;
        (!workload.mix.is_empty())
            .then(|| WorkloadMix { workload: theirs, shares: workload.mix.clone() })
    });
    let terms = Terms {
        operations: section.operations as f64,
        clients: section.clients as f64,
        mixes: mixes.collect(),
    };
    Ok(PublishedFigures {
        name: section.name.clone(),
        examined: ExaminedFigures::new(figures, terms),
        workloads: plan.workloads.iter().map(|workload| name_of(&workload.name)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use assay_model::Kind;

    use super::*;

    #[test]
    fn figures_are_read_with_their_units() {
        let text = "system,workload,nodes,metric,unit,value\netcd,A,3,runtime,s,908\n\
                    etcd,A,3,read_mean,us,6227\ntikv,A,3,runtime_chart,s,908\n\n";
        let figures = parse(text).unwrap();
        let found: Vec<(PublishedMeasure, f64)> =
            figures.iter().map(|figure| (figure.measure, figure.value_ns)).collect();
        let read = PublishedMeasure::Mean(OperationFilter::Kind(Kind::Read));
        let run_time = PublishedMeasure::RunTime;
        assert_eq!(found, [(run_time, 908e9), (read, 6_227e3), (run_time, 908e9)]);
    }

    #[test]
    fn lines_that_are_invalid_say_why() {
        let head = "system,workload,nodes,metric,unit,value\n";
        for (text, part) in [
            ("a,b\n".to_owned(), ":1: there is no column system"),
            ("value,".to_owned() + head, ":1: there are two columns value; leave one out"),
            (head.to_owned(), "there is no figure in it"),
            (format!("{head}x,A,3,runtime,s\n"), ":2: 5 values for 6 columns"),
            (format!("{head}x,A,3,speed,s,1\n"), "neither runtime nor a kind"),
            (format!("{head}x,A,3,runtime,h,1\n"), "no unit of time"),
            (format!("{head}x,A,3,runtime,s,-1\n"), "no number above zero"),
            (format!("{head}x,A,many,runtime,s,1\n"), "nodes \"many\""),
        ] {
            let reported = parse(&text).unwrap_err();
            assert!(reported.contains(part), "{text}: {reported}");
        }
    }
}
