//! First lines of a study's report.

use std::collections::BTreeSet;

use assay_analysis::Verdict;
use assay_analysis::hallmark;
use assay_analysis::matrix::{Cell, DurabilityClass, LatencyStatistic, Metric, OperationFilter};
use assay_model::{Nanos, Setting};

use super::{MatrixStudy, StudyStore};
use crate::document::{Finding, Level};
use crate::units::{Letters, count, duration, percent, plural, rate};

/// Settings by what they say, with the names that drivers have for it.
const SETTINGS: [(&str, &[&str]); 4] = [
    ("server", &["server", "version"]),
    ("durability", &["durability"]),
    ("replication", &["replication", "backups", "replicas", "copies"]),
    (
        "consistency",
        &["visibility", "consistency", "read", "isolation", "atomicity", "write_sync", "lwt"],
    ),
];

/// What the settings say about `which`, one of the four columns of the table.
pub fn setting_of(settings: &[Setting], which: &str) -> String {
    let names = SETTINGS.iter().find(|(name, _)| *name == which).map_or(&[][..], |(_, all)| *all);
    let is_about = |setting: &&Setting| {
        let first = setting.name.split(" of ").next().unwrap_or_default();
        names.iter().any(|name| first == *name || first.ends_with(&format!("_{name}")))
    };
    let text = |setting: &Setting| match (which, setting.name.as_str()) {
        ("server" | "durability", _) => setting.value.clone(),
        (_, name) if name == which => setting.value.clone(),
        (_, name) => format!("{name} {}", setting.value),
    };
    settings.iter().filter(is_about).map(text).collect::<Vec<_>>().join(", ")
}

/// The name of a figure as a column or chart has it.
pub fn metric_name(metric: Metric) -> String {
    let named = |time: &str, of: OperationFilter, at: LatencyStatistic| match of {
        OperationFilter::All => format!("{time} {}", at.name()),
        of => format!("{} {time} {}", of.name(), at.name()),
    };
    match metric {
        Metric::Throughput => "throughput".to_owned(),
        Metric::RunTime => "run time".to_owned(),
        Metric::TimePerOperation => "run time per operation".to_owned(),
        Metric::Response(of, at) => named("response", of, at),
        Metric::Service(of, at) => named("service", of, at),
    }
}

/// What a figure is, in a sentence's part.
pub fn metric_text(metric: Metric) -> String {
    let operations = |of: OperationFilter| match of {
        OperationFilter::All => "operations".to_owned(),
        OperationFilter::ReadModifyWrite => "read-modify-writes as wholes".to_owned(),
        OperationFilter::Kind(kind) => format!("{}s", kind.name()),
    };
    let name = |statistic: LatencyStatistic| match statistic {
        LatencyStatistic::Mean => "mean",
        LatencyStatistic::P50 => "median",
        LatencyStatistic::P99 => "99th percentile",
    };
    match metric {
        Metric::Throughput => {
            "operations, or an application's transactions, done per second; more is better"
                .to_owned()
        }
        Metric::RunTime => "how long the whole run took; less is better".to_owned(),
        Metric::TimePerOperation => {
            "how long the whole run took, divided by its operations; less is better".to_owned()
        }
        Metric::Response(of, at) => {
            let (of, at) = (operations(of), name(at));
            format!("{at} of the response time of {of} that hit: what a user waits; less is better")
        }
        Metric::Service(of, at) => {
            let (of, at) = (operations(of), name(at));
            format!(
                "{at} of the service time of {of} that hit: what the store needs; less is better"
            )
        }
    }
}

/// A figure's value with its unit.
pub fn value(metric: Metric, value: f64, letters: Letters) -> String {
    match metric {
        Metric::Throughput => rate(value),
        _ => duration(Nanos(value.max(0.0).round() as u64), letters),
    }
}

/// The checks of one run in a few words: nothing to say if all hold.
pub fn verdict_of_checks(cell: &Cell) -> String {
    let mut words = Vec::new();
    if cell.is_no_op {
        words.push("no-op".to_owned());
    }
    if cell.figures.little.verdict == Verdict::Violated {
        words.push("contradicts Little's law".to_owned());
    }
    if cell.figures.failed > 0.0 {
        words.push(format!("{} failed", percent(cell.figures.failed)));
    }
    if let Some((of, share)) = cell.figures.least_found()
        && share < 1.0
    {
        let of = match of {
            OperationFilter::All => String::new(),
            of => format!(" of {}s", of.name()),
        };
        words.push(format!("{}{of} missed", percent(1.0 - share)));
    }
    words.join(", ")
}

/// What a reader must know first, the worst first.
pub fn findings(study: &MatrixStudy, letters: Letters) -> Vec<Finding> {
    let mut findings = vec![extent(study, letters)];
    if study.is_interrupted {
        let text = "somebody stopped the study; the same command goes on with what is missing";
        findings.push(Finding::alarm("interrupted", text));
    }
    if !study.failed.is_empty() {
        let failed = plural(study.failed.len() as u64, "run");
        findings.push(Finding::alarm("failed", format!("{failed} failed; the list says why")));
    }
    let classes = durability_classes(study);
    findings.extend(classes.map(|text| Finding::caution("durability differs", text)));
    findings.extend(no_ops(study).into_iter().map(|store| {
        let text = format!(
            "{store} keeps nothing and finds nothing: what it shows is the cost of issuing, so it \
             is in no ranking"
        );
        Finding::caution("no-op", text)
    }));
    let labelled = study.stores.iter().filter(|store| !store.label.is_empty());
    let label = |store: &StudyStore| format!("{}: {}", store.name, store.label);
    findings.extend(labelled.map(|store| Finding::caution("label", label(store))));
    if !study.is_as_drawn {
        let text = "cells were issued in several goes, not in the order that was drawn, so what \
                    changed with time may look like a difference between stores; the page has the \
                    order";
        findings.push(Finding::caution("order", text));
    }
    if study.scale != 1.0 {
        let text = format!(
            "every run issued {} of the operations, or for that share of the time, that the study \
             file says; one that measured for less than 10 s has no hallmark",
            percent(study.scale)
        );
        findings.push(Finding::caution("scaled", text));
    }
    let is_lying = |cell: &&Cell| cell.figures.little.verdict == Verdict::Violated;
    let lying = study.matrix.cells.iter().filter(is_lying).count();
    if lying > 0 {
        let text = format!(
            "in {} runs throughput, latency and number of clients contradict each other",
            count(lying as u64)
        );
        findings.push(Finding::alarm("Little's law", text));
    }
    findings.extend(hallmarks(study));
    findings.extend(study.notes.iter().map(|note| Finding::caution("note", note)));
    findings
}

fn extent(study: &MatrixStudy, letters: Letters) -> Finding {
    let (done, planned) = (study.matrix.cells.len(), study.planned);
    let took = duration(study.took, letters);
    let text = format!(
        "{} of {} runs came to their ends, in {took} of work",
        count(done as u64),
        count(planned as u64)
    );
    if done > 0 && believable(study) == 0 {
        let text = format!("{text}; none of them is valid");
        return Finding::alarm("no valid run", text);
    }
    match done == planned {
        true => Finding::fine("complete", text),
        false => Finding::caution("incomplete", text),
    }
}

/// How many runs have a hallmark, with or without remarks.
pub fn believable(study: &MatrixStudy) -> usize {
    let verdicts = study.matrix.cells.iter().filter_map(|cell| cell.figures.hallmark);
    verdicts.filter(|verdict| verdict.is_valid()).count()
}

fn durability_classes(study: &MatrixStudy) -> Option<String> {
    let classes = study.matrix.durability_classes();
    let of = |durability: &DurabilityClass| {
        let cells = study.matrix.cells.iter();
        let own = cells.filter(|cell| cell.durability == *durability && !cell.is_no_op);
        let names: BTreeSet<&str> =
            own.map(|cell| study.stores[cell.setup.store].name.as_str()).collect();
        let names = Vec::from_iter(names).join(", ");
        format!("{} ({names})", durability_text(*durability))
    };
    let all: Vec<String> = classes.iter().map(of).collect();
    (classes.len() > 1).then(|| {
        format!(
            "the stores do not keep an answered write alike, so a faster one may only have \
             promised less: {}",
            all.join("; ")
        )
    })
}

/// What an answered write survives.
pub fn durability_text(durability: DurabilityClass) -> &'static str {
    match durability {
        DurabilityClass::Untold => "does not tell",
        DurabilityClass::Nothing => "lost with its processes",
        DurabilityClass::Moments => "a crash takes the last moments",
        DurabilityClass::Process => "survives the process, not the power",
        DurabilityClass::Interval => "loss of power takes the last moments",
        DurabilityClass::EveryWrite => "on disk before the answer",
    }
}

fn no_ops(study: &MatrixStudy) -> Vec<&str> {
    let cells = study.matrix.cells.iter().filter(|cell| cell.is_no_op);
    let places: BTreeSet<usize> = cells.map(|cell| cell.setup.store).collect();
    places.into_iter().map(|place| study.stores[place].name.as_str()).collect()
}

fn hallmarks(study: &MatrixStudy) -> Option<Finding> {
    let cells = &study.matrix.cells;
    let of = |expected: hallmark::Verdict| {
        cells.iter().filter(|cell| cell.figures.hallmark == Some(expected)).count() as u64
    };
    let (valid, all) = (believable(study) as u64, cells.len() as u64);
    let (invalid, untold) = (of(hallmark::Verdict::Invalid), of(hallmark::Verdict::NotAssessable));
    if valid == all {
        return (all > 0).then(|| Finding::fine("hallmarks", "every run has one"));
    }
    let text = format!(
        "{} of {} runs have one, {} are invalid, {} not assessable; † marks figures of setups with \
         a run that has none",
        count(valid),
        count(all),
        count(invalid),
        count(untold)
    );
    let level = if invalid > 0 { Level::Caution } else { Level::Fine };
    Some(Finding::new(level, "hallmarks", text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(name: &str, value: &str) -> Setting {
        Setting { name: name.into(), value: value.into(), meaning: String::new() }
    }

    #[test]
    fn settings_of_drivers_are_gathered_into_four_columns() {
        let settings = [
            setting("server", "Cassandra 5.0.6"),
            setting("durability", "commitlog_sync=periodic 10000ms"),
            setting("replication of ycsb", "class=NetworkTopologyStrategy dc1=3"),
            setting("read_consistency", "QUORUM"),
            setting("visibility", "2 + 2 > 3"),
            setting("connections", "1"),
        ];
        let of = |which: &str| setting_of(&settings, which);
        assert_eq!(of("server"), "Cassandra 5.0.6");
        assert_eq!(of("replication"), "replication of ycsb class=NetworkTopologyStrategy dc1=3");
        assert_eq!(of("consistency"), "read_consistency QUORUM, visibility 2 + 2 > 3");
        assert_eq!(of("durability"), "commitlog_sync=periodic 10000ms");
        assert_eq!(setting_of(&[setting("backups", "1")], "replication"), "backups 1");
    }

    #[test]
    fn figures_have_names_and_units() {
        let scan =
            Metric::Response(OperationFilter::Kind(assay_model::Kind::Scan), LatencyStatistic::P99);
        assert_eq!(metric_name(scan), "scan response p99");
        assert_eq!(value(scan, 1_234_000.0, Letters::Unicode), "1.23 ms");
        assert_eq!(
            metric_name(Metric::Service(OperationFilter::All, LatencyStatistic::Mean)),
            "service mean"
        );
        assert_eq!(value(Metric::Throughput, 12_345.6, Letters::Ascii), "12 346/s");
        assert!(metric_text(Metric::RunTime).contains("less is better"));
    }
}
